"""What our sentences in a stored answer say about how it ended."""

from __future__ import annotations

from typing import Final

from bot.sentences import say
from tools.contract.languages import LANGUAGES

_STOPPED: Final = frozenset(f"({say('stopped', language)})" for language in LANGUAGES)
_FINISHES: Final = {"length": "length", "filtered": "content_filter", "cut": "cut"}


def is_stop_note(text: str) -> bool:
    """Return True if a history entry only says that its turn was stopped."""
    return text in _STOPPED


def finish_told(visible: str) -> str:
    """Return why an answer ended early, as it says: `length` or `content_filter` by the model's server, `cut` by us
    because it became too long; empty if it does not."""
    return next((finish for key, finish in _FINISHES.items() if _says(visible, key, "retry", "new")), "")


def asks_from_outside(visible: str) -> bool:
    """Return True if an answer ends with a question about a call because of words from outside."""
    return _says(visible, "approval_head_outside", "name")


def _says(visible: str, key: str, *words: str) -> bool:
    """Return True if a text contains the beginning of a sentence, in any language, up to its first other word."""
    mark = dict.fromkeys(words, "\0")
    return any(say(key, language, **mark).partition("\0")[0] in visible for language in LANGUAGES)
