"""Which language a person writes, and in which Chinese script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.contract.languages import Language, is_chinese, script_of_tag

_LETTER = re.compile(r"[^\W\d_]")


def chinese(text: str) -> bool:
    """Whether a person who writes `text` reads Chinese: a fifth of its letters are Han and none is kana."""
    letters = [sign for sign in text if sign.isalpha()]
    han = sum("\u4e00" <= sign <= "\u9fff" for sign in letters)
    kana = sum("\u3040" <= sign <= "\u30ff" for sign in letters)
    return bool(han) and not kana and han * 5 >= len(letters)


def script(text: str) -> Language | None:
    """The script of a Chinese text; None where its characters belong to both.

    Mainland China's and Taiwan's first character sets hold what is in daily use on each side, and no more: what only
    one of them holds is written in that script only.
    """
    mainland, taiwan = _held(text, "gb2312"), _held(text, "big5")
    simplified, traditional = len(mainland - taiwan), len(taiwan - mainland)
    if simplified == traditional:
        return None
    return "zh-Hans" if simplified > traditional else "zh-Hant"


def _held(text: str, codec: str) -> set[str]:
    """The Han characters of `text` that a character set holds."""
    return {sign for sign in text.encode(codec, "ignore").decode(codec) if "\u4e00" <= sign <= "\u9fff"}


def language_of(text: str, hint: str = "", before: Sequence[str] = ()) -> Language:
    """The language to answer a person in.

    It is that of the text; where that has no words, of what the person wrote before; else what the platform says. Among
    the scripts of Chinese the text's characters decide; then the platform; then what the person wrote before.

    Args:
        hint: the IETF tag by which the platform calls the person's language.
        before: what the person wrote before, the newest first.
    """
    said = next((one for one in (text, *before) if _LETTER.search(one)), None)
    if not (is_chinese(hint) if said is None else chinese(said)):
        return "en"
    found = (script(text), script_of_tag(hint), *map(script, before))
    return next((one for one in found if one is not None), "zh-Hans")


def is_certain(text: str, hint: str) -> bool:
    """Whether what the person wrote before would change nothing in `language_of`."""
    if not _LETTER.search(text):
        return False
    return not chinese(text) or bool(script(text) or script_of_tag(hint))
