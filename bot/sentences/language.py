"""Which language a person writes."""

from __future__ import annotations

import re

from tools.languages import Language, language_of_tag, script_of_tag


def chinese(text: str) -> bool:
    """Whether a person who writes `text` reads Chinese: a fifth of its letters are Han and none is kana."""
    letters = [sign for sign in text if sign.isalpha()]
    han = sum("\u4e00" <= sign <= "\u9fff" for sign in letters)
    kana = sum("\u3040" <= sign <= "\u30ff" for sign in letters)
    return bool(han) and not kana and han * 5 >= len(letters)


def language_of(text: str, hint: str = "") -> Language:
    """The language to answer in: that of what the person wrote, else that which the platform says of them (`hint`)."""
    if re.search(r"[^\W\d_]", text):
        return (script_of_tag(hint) or "zh-Hans") if chinese(text) else "en"
    return language_of_tag(hint)
