"""The steps of turns, and what is done beside them, as watchers are told of them: counts, names and times, no words of
people, models or tools.

Times are monotonic, by the clock of the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.contract.clock import Clock
from bot.contract.errors import StoreError
from bot.contract.messages import ChatId
from bot.contract.transcript import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginStep:
    """A process begins to answer a question, or tries again."""

    turn: int
    """The inbox row's id: a process has at most one try of it at a time."""
    chat: ChatId
    attempt: int
    came_at: float
    """When the question came; `at` if that is unknown."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PassStep:
    """A model was asked, and answered or failed."""

    turn: int
    asked: str
    """`provider:name` of the model that was asked first."""
    model: str = ""
    """`provider:name` of the model that answered; empty if none did."""
    usage: Usage = field(default_factory=Usage)
    finish: str = ""
    error: str = ""
    """The key of the sentence about its failure; empty if it answered."""
    began: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStep:
    """A tool call has its result."""

    turn: int
    tool: str
    """Empty if there is no such tool: the name is a model's word then."""
    status: str
    began: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EndStep:
    """The try is over: the answer is complete, or is left to another try or process."""

    turn: int
    state: str
    """The stored state of the turn; empty if it goes on elsewhere."""
    error: str = ""
    """The key of the sentence about its failure; empty if there is none."""
    usage: Usage = field(default_factory=Usage)
    dollars: float = 0.0
    pages: int = 0
    edits: int = 0
    first_words: float | None = None
    """Seconds from the question to the first words of the answer on screen; None: unknown."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AsideStep:
    """Something beside turns is done: a command, or a summary of a chat."""

    chat: ChatId
    command: str = ""
    """The word of a command of ours."""
    model: str = ""
    """`provider:name` of the model that was asked for a summary."""
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    """`store`, `cancelled` or `failed`; empty if it was done."""
    began: float
    at: float


Step: TypeAlias = BeginStep | PassStep | CallStep | EndStep | AsideStep
Watcher: TypeAlias = Callable[[Step], None]
"""Is told of every step at once, in order within a turn; it neither waits nor raises."""


@contextmanager
def tell_aside(
    watchers: Sequence[Watcher], clock: Clock, chat: ChatId, *, command: str = "", model: str = ""
) -> Iterator[list[Usage]]:
    """Tell watchers what the block did, when it ends; yield a list for the usage of its model."""
    began, error, used = clock.monotonic(), "failed", list[Usage]()
    try:
        yield used
        error = ""
    except StoreError:
        error = "store"
        raise
    except asyncio.CancelledError:
        error = "cancelled"
        raise
    finally:
        usage, at = sum(used, Usage()), clock.monotonic()
        for watch in watchers:
            watch(AsideStep(chat=chat, command=command, model=model, usage=usage, error=error, began=began, at=at))
