"""The buttons under a reply: Stop while it is written, then the actions on a finished answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bot.contract import Button, Control
from bot.sentences import say

ENDS: Final = (".", "!", "?", "…", "。", "！", "？", ")", "）", "```")
"""How a complete text may end."""


@dataclass(frozen=True, slots=True)
class ReplyButtons:
    """The buttons of a growing reply, and those for a text that looks complete: its end may then need no further
    call."""

    growing: tuple[Button, ...] = ()
    whole: tuple[Button, ...] = ()

    @classmethod
    def of_answer(cls, turn: int, language: str, *, speaks: bool) -> ReplyButtons:
        """Return the buttons of an answer that is being written; see `buttons_when_done`."""
        done = buttons_when_done(turn, language, goes_on=False, speaks=speaks)
        return cls(_buttons(turn, language, Control.STOP), done)


def buttons_when_done(turn: int, language: str, *, goes_on: bool, speaks: bool) -> tuple[Button, ...]:
    """Return the buttons of a finished reply.

    Args:
        goes_on: it was cut off, and can be continued.
        speaks: it can be spoken.
    """
    more = (*((Control.CONTINUE,) if goes_on else ()), *((Control.SPEAK,) if speaks else ()))
    return _buttons(turn, language, Control.REGENERATE, *more, Control.GOOD, Control.BAD)


def _buttons(turn: int, language: str, *controls: Control) -> tuple[Button, ...]:
    return tuple(Button(control, turn, _label(control, language)) for control in controls)


@lru_cache(256)
def _label(control: Control, language: str) -> str:
    return say(f"button_{control}", language)
