"""The states of pages, turns and deliveries: the same words in memory and in the database."""

from __future__ import annotations

from enum import StrEnum


class PageState(StrEnum):
    """How far the delivery of one page, or of one file, has come."""

    SENDING = "sending"
    """About to be posted, or posted without our knowing."""
    SHOWN = "shown"
    FINAL = "final"
    """Shown for good."""
    UNCLEAR = "unclear"
    """Its post may or may not have arrived."""
    GONE = "gone"
    """It is taken away; of a file: it surely did not arrive."""
    DELETED = "deleted"
    """Somebody deleted it while the reply was written: nothing more is shown of any page."""
    LOST = "lost"
    """Nothing more is shown of it."""


class TurnState(StrEnum):
    """Whether a turn runs, and how it ended."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """By a person, or because nobody can read it any more."""


class InboxState(StrEnum):
    """What became of a delivery."""

    NEW = "new"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    REFUSED = "refused"
    """Its sender may not ask, or asks too much."""
    OFFLINE = "offline"
    """It came while the program was not running, too long ago for an earlier version to answer it."""


class ApprovalState(StrEnum):
    """What became of a call that a person was asked about."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    """Nobody decided in time."""
    WITHDRAWN = "withdrawn"
    """It is not asked any more."""


TURN_ENDS = frozenset(TurnState) - {TurnState.RUNNING}
INBOX_ENDS = frozenset(InboxState) - {InboxState.NEW, InboxState.RUNNING}
UNFINISHED = f"state IN ('{InboxState.NEW}', '{InboxState.RUNNING}')"
"""Condition on rows of `inbox`, worded as in the index `inbox_waiting`, which serves no other wording."""
