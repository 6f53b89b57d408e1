"""Which language a person writes, and in which Chinese script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.contract.languages import Language, is_chinese, script_of_tag

_LETTER = re.compile(r"[^\W\d_]")


def chinese(text: str) -> bool:
    """Whether the writer of `text` reads Chinese: at least a fifth of its letters are Han, and none is kana."""
    letters = [sign for sign in text if sign.isalpha()]
    han = sum("\u4e00" <= sign <= "\u9fff" for sign in letters)
    kana = sum("\u3040" <= sign <= "\u30ff" for sign in letters)
    return bool(han) and not kana and han * 5 >= len(letters)


def script(text: str) -> Language | None:
    """The script of a Chinese text; None where its characters belong to both.

    Mainland China's and Taiwan's first character sets (GB 2312, Big5) contain only the characters in daily use on each
    side. A character that only one of them contains belongs to that script.
    """
    mainland, taiwan = _held(text, "gb2312"), _held(text, "big5")
    simplified, traditional = len(mainland - taiwan), len(taiwan - mainland)
    if simplified == traditional:
        return None
    return "zh-Hans" if simplified > traditional else "zh-Hant"


def _held(text: str, codec: str) -> set[str]:
    """The Han characters of `text` that a character set contains."""
    return {sign for sign in text.encode(codec, "ignore").decode(codec) if "\u4e00" <= sign <= "\u9fff"}


def language_of(text: str, hint: str = "", before: Sequence[str] = ()) -> Language:
    """The language to answer a person in.

    It is the language of the text; if the text has no words, of the person's earlier messages; otherwise the
    platform's. The text's characters decide between the Chinese scripts, then the platform, then the earlier messages.

    Args:
        hint: the platform's IETF tag for the person's language.
        before: the person's earlier messages, newest first.
    """
    said = next((one for one in (text, *before) if _LETTER.search(one)), None)
    if not (is_chinese(hint) if said is None else chinese(said)):
        return "en"
    found = (script(text), script_of_tag(hint), *map(script, before))
    return next((one for one in found if one is not None), "zh-Hans")


def is_certain(text: str, hint: str) -> bool:
    """Whether `language_of` gives the same result without the person's earlier messages."""
    if not _LETTER.search(text):
        return False
    return not chinese(text) or bool(script(text) or script_of_tag(hint))
