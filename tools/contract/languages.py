"""The languages of the program's texts, and the choice by a tag."""

from __future__ import annotations

import re
from string import Formatter
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
    """Return the language of an IETF tag: `zh-TW` is traditional Chinese, any language but Chinese counts as
    English."""
    return script_of_tag(tag) or ("zh-Hans" if is_chinese(tag) else "en")


def is_chinese(tag: str) -> bool:
    """Return True if a tag means Chinese, in any script."""
    return re.match(r"zh(?:[-_]|$)", tag, re.IGNORECASE) is not None


def script_of_tag(tag: str) -> Language | None:
    """Return the Chinese script of a tag, named by itself or by its region; None if there is none."""
    if not is_chinese(tag):
        return None
    # A script comes before a region and is more specific: zh-Hans-HK is simplified.
    return next((_REGIONS[part] for part in re.split(r"[-_]", tag.lower())[1:] if part in _REGIONS), None)


def in_language(words: Words | str, language: str) -> str:
    """Return the text in `words` for a language tag; a plain string is the same in every language."""
    if isinstance(words, str):
        return words
    return words[LANGUAGES.index(language if language in LANGUAGES else language_of_tag(language))]


def phrase(words: Words | str, language: str, **values: object) -> str:
    """Return the text in `words` for a language tag with its values; `{count:turn|turns}` is a number with its noun."""
    return _NOUNS.vformat(in_language(words, language), (), values)


class _Nouns(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        one, bar, several = format_spec.partition("|")
        if not bar:
            return format(value, format_spec)
        return f"{value} {one if value in (1, '1') else several}"


_NOUNS: Final = _Nouns()
