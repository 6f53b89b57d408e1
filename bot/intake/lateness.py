"""Tell of a question that it waited for a start of the program."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.contract import Incoming, MessageSent

LATE_AFTER: Final = 15 * 60.0
"""Of a question that was written longer than this before a start, the answer says how long ago."""


def with_wait(incoming: Incoming, now: float, answered_since: float) -> Incoming:
    """Return a question with how long it waited, where it was written long before anybody answered here.

    Its own time counts, as the platform tells it: a platform keeps messages while the program is away, and so does the
    inbox. A command is done, and a reminder has a time of its own.
    """
    if not isinstance(incoming, MessageSent) or incoming.command or incoming.scheduled or incoming.waited:
        return incoming
    if not incoming.sent_at or incoming.sent_at + LATE_AFTER >= min(now, answered_since):
        return incoming
    return replace(incoming, waited=now - incoming.sent_at)
