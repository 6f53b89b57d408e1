"""The task of a turn: one question with everything that the tool loop needs to answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.contract import AssistantEntry, Entry
from bot.model import Model
from bot.policy import Permits, allow_everything
from tools.contract.base import ToolCall, ToolContext, ToolResult, ToolSpec

CallKey: TypeAlias = tuple[int, str]
"""The number of a pass, from 1, and a call's id: some servers call the first call of every pass `call_0`."""


async def nothing_more() -> Sequence[Entry]:
    """Return nothing: who asked says no more."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided about one call."""

    call: ToolCall
    allowed: bool
    tool: str
    """The digest of the tool as it was declared when the person was asked; an allowed call of another is not made."""
    origin: str
    """Whose words led to the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question, ready to be asked."""

    entries: tuple[Entry, ...]
    """Everything the model is told before this turn's own passes: our words, the history, the question."""
    model: Model
    tools: tuple[ToolSpec, ...]
    """The tools offered; empty for a question that needs none."""
    others: tuple[ToolSpec, ...] = ()
    """Tools that the model knows by name alone; it may call them."""
    permits: Permits = allow_everything
    """Allows the tools that the person who asks may use; no other tool runs."""
    context: ToolContext
    deadline: float
    """Monotonic time at which the turn ends."""
    tool_choice: str = "auto"
    begin_with: ToolCall | None = None
    """A call that is made before the first pass: the person named it, or the question plainly needs it."""
    decision: Decision | None = None
    """What was decided about `begin_with`."""
    may_ask: bool = True
    """A person can be asked here whether a call may be made."""
    passes: tuple[AssistantEntry, ...] = ()
    """Passes already made before a restart, in order."""
    results: Mapping[CallKey, ToolResult] = field(default_factory=dict)
    """The stored results of the calls of these passes."""
    listen: Callable[[], Awaitable[Sequence[Entry]]] = nothing_more
    """Asked before each further pass: what the person has said meanwhile."""
    outcome_unknown: frozenset[CallKey] = frozenset()
    """Calls with effects that had begun when the process died: not made again."""
