"""The languages in which a person is spoken to, and one text written in each of them."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, get_args

Language: TypeAlias = Literal["en", "zh-Hans", "zh-Hant"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
Words: TypeAlias = tuple[str, str, str]
"""One text in English, in simplified and in traditional Chinese: a column for each of `LANGUAGES`."""

_REGIONS: Final[dict[str, Language]] = {
    **dict.fromkeys(("hans", "cn", "sg", "my"), "zh-Hans"),
    **dict.fromkeys(("hant", "tw", "hk", "mo"), "zh-Hant"),
}


def language_of_tag(tag: str) -> Language:
    """The language that an IETF tag stands for: `zh-TW` is traditional Chinese, what is not Chinese is English."""
    return script_of_tag(tag) or ("zh-Hans" if is_chinese(tag) else "en")


def is_chinese(tag: str) -> bool:
    """Whether a tag means Chinese, in whatever script."""
    return re.match(r"zh(?:[-_]|$)", tag, re.IGNORECASE) is not None


def script_of_tag(tag: str) -> Language | None:
    """The Chinese script that a tag names, by itself or by its region; None where it names none."""
    if not is_chinese(tag):
        return None
    # A script is written before a region and says more: zh-Hans-HK is simplified.
    return next((_REGIONS[part] for part in re.split(r"[-_]", tag.lower())[1:] if part in _REGIONS), None)


def in_language(words: Words | str, language: str) -> str:
    """The column of `words` for a language, given by any tag; a text alone is the same in every language."""
    return words if isinstance(words, str) else words[LANGUAGES.index(language_of_tag(language))]
