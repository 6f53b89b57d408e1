"""Tell the answer how long its question waited for a start of the program."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.contract import Incoming, MessageSent

LATE_AFTER: Final = 15 * 60.0
"""If a question was written longer than this before a start, the answer says how long ago."""


def with_wait(incoming: Incoming, now: float, answered_since: float) -> Incoming:
    """Return a question with its waiting time if it was written long before any process could answer.

    The platform's timestamp counts: platforms keep messages while the program is down, and so does the inbox. A command
    is just executed, and a reminder has its own time.
    """
    if not isinstance(incoming, MessageSent) or incoming.command or incoming.scheduled or incoming.waited:
        return incoming
    if not incoming.sent_at or incoming.sent_at + LATE_AFTER >= min(now, answered_since):
        return incoming
    return replace(incoming, waited=now - incoming.sent_at)
