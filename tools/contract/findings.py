"""The findings of `parley doctor`: one of four words, and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The state of a thing, as far as it was tried."""

    OK = "ok"
    """It was asked and answered."""
    NOTE = "note"
    """It works less than it could, or in a way that an operator should know."""
    NOT_ASKED = "not asked"
    """Nobody tried it."""
    BAD = "BAD"
    """It is configured and does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `parley doctor`."""

    verdict: Verdict
    text: str
    """The finding, and the fix if there is one."""

    @classmethod
    def ok(cls, text: str) -> Finding:
        return cls(Verdict.OK, text)

    @classmethod
    def note(cls, text: str) -> Finding:
        return cls(Verdict.NOTE, text)

    @classmethod
    def not_asked(cls, text: str) -> Finding:
        return cls(Verdict.NOT_ASKED, text)

    @classmethod
    def bad(cls, text: str) -> Finding:
        return cls(Verdict.BAD, text)

    @property
    def well(self) -> bool:
        return self.verdict is not Verdict.BAD
