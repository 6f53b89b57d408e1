"""Every sentence of our own that a person may read in a chat, in English, simplified and traditional Chinese.

A sentence says plainly what happened and what helps, without a path, address, key or stack trace. Each is a row of
three texts in the module of its subject. A tool's sentences are in the tool's file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from bot.sentences import answers, approvals, attached, commands, limits, people, receipts, spoken, tools
from bot.sentences.labels import label_of
from bot.sentences.language import chinese, is_certain, language_of
from bot.sentences.scripts import any_of, phrases, simplified
from tools.contract.languages import Words, phrase

_MODULES: Final = (answers, approvals, attached, commands, limits, people, receipts, spoken, tools)
TABLE: Final[Mapping[str, Words]] = {key: words for module in _MODULES for key, words in module.SENTENCES.items()}


def say(key: str, language: str, **values: object) -> str:
    """Return the sentence `key` in the language of a tag, or in English if there is no translation."""
    return phrase(TABLE[key], language, **values)


_REFUSALS: Final = ("not_yours", "admins_only", "owners_only")


def refuses(text: str, language: str) -> bool:
    """Whether a text is one of the refusals: not yours, admins only, owners only."""
    return text in [say(key, language) for key in _REFUSALS]


def how_long(seconds: float, language: str) -> str:
    """Return a waiting time in words: `40 seconds`, `5 minutes`, `3 h 20 min`."""
    minutes = math.ceil(seconds / 60)
    if seconds <= 90:
        count = math.ceil(seconds)
        return say("seconds", language, count=count)
    if minutes < 100:
        return say("minutes", language, count=minutes)
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return say("days", language, count=round(hours / 24))
    return say("hours", language, hours=hours, minutes=rest)
