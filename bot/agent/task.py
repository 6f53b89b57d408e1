"""The task of a turn: one question with everything that the tool loop needs to answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from bot.contract import AssistantEntry, Entry, File, Permits, Usage, allow_everything
from bot.model import Model
from tools.contract.base import ToolCall, ToolContext, ToolResult, ToolSpec

CallKey: TypeAlias = tuple[int, str]
"""The number of a pass, from 1, and a call's id: some servers name the first call of every pass `call_0`."""


async def nothing_more() -> Sequence[Entry]:
    """Return nothing: the asker has added nothing."""
    return ()


class Meter(Protocol):
    """Pays for an agent that asks models by itself: an estimate is reserved, and settled by what it reports."""

    async def reserve(self, seen: str = "") -> None:
        """Reserve for the next request, unless that is done already; `seen` is a part of its answer, which may outgrow
        its reservation.

        Raises:
            Unaffordable: a quota is used up.
        """
        ...

    async def read(self, result: str) -> None:
        """Reserve for the request that reads a tool's result.

        Raises:
            Unaffordable: a quota is used up.
        """
        ...

    async def settle(self, model: str, used: Usage, dollars: float | None) -> None:
        """Count what has been used since the last report; `dollars` None: by the model's price."""
        ...

    async def close(self) -> None:
        """Return what is reserved; count an estimate if nothing was ever reported."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A person's decision about one call."""

    call: ToolCall
    allowed: bool
    tool: str
    """The digest of the tool's declaration when the person was asked; if it differs now, the allowed call is not
    made."""
    origin: str
    """The origin of the words that led to the call."""
    asked_as: str = ""
    """The call's id when the person was asked."""
    state: str = ""
    """The state that an agent of another author gave to the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question, ready to be asked."""

    entries: tuple[Entry, ...]
    """The model's input before this turn's own passes: our words, the history, the question."""
    model: Model
    tools: tuple[ToolSpec, ...]
    """The tools offered; empty for a question that needs none."""
    others: tuple[ToolSpec, ...] = ()
    """Tools that the model knows only by name; it may call them."""
    permits: Permits = allow_everything
    """Allows the tools that the asker may use; no other tool runs."""
    context: ToolContext
    deadline: float
    """Monotonic time at which the turn ends."""
    most_passes: int = 0
    """Model calls at most; 0: the usual number."""
    tool_choice: str = "auto"
    begin_with: ToolCall | None = None
    """A call before the first pass: the person named it, or the question plainly needs it."""
    decision: Decision | None = None
    """The decision about `begin_with`."""
    may_ask: bool = True
    """A person can be asked here whether a call may be made."""
    passes: tuple[AssistantEntry, ...] = ()
    """Passes already made before a restart, in order."""
    results: Mapping[CallKey, ToolResult] = field(default_factory=dict)
    """The stored results of the calls of these passes."""
    listen: Callable[[], Awaitable[Sequence[Entry]]] = nothing_more
    """Called before each further pass: returns what the person has said meanwhile."""
    outcome_unknown: frozenset[CallKey] = frozenset()
    """Calls with effects that had begun when the process died: not repeated."""
    turn: int = 0
    attempt: int = 1
    """How many processes have begun the turn, this one included."""
    name: str = ""
    """What the asker is called."""
    files: tuple[File, ...] = ()
    """The files of the question, for an agent of another author; so is the rest."""
    checkpoint: str = ""
    meter: Meter | None = None
