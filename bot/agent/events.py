"""What the agent reports while it works: a closed union, matched by `turn/events.py`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TypeAlias

from bot.contract import AssistantEntry, File, Usage
from tools.contract.base import Source, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Visible text that goes to the end of the reply. Never tool syntax, never reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWithdrawn:
    """The latest texts of this pass were thoughts, of which only the end was marked."""

    count: int
    """How many `TextDelta`s."""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """What the model thinks: stored, never shown in the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class PassEnded:
    """One model call ended; `entry` is what history keeps of it. Arrives before the calls it asks for start."""

    entry: AssistantEntry
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class EarlyCall:
    """A call without effects has begun while the pass that asks for it still streams.

    Nothing is stored of it before its pass is: then `ToolStarted` follows, unless the pass does without the call.
    """

    call: ToolCall
    status: str | None
    """The line a person sees meanwhile; None: it is no longer announced under this id."""
    dollars: float = 0.0
    """Dollars that a call cost whose result nobody uses."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is about to run, or has begun early; `status` is the line a person sees meanwhile."""

    call: ToolCall
    status: str
    allowed: bool = False
    """A person allowed it, this once."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result (also when it failed, timed out or was cancelled)."""

    call: ToolCall
    result: ToolResult
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelReplaced:
    """The model broke off in the middle of its text; another one goes on where it stopped."""


@dataclass(frozen=True, slots=True)
class FileProduced:
    """A tool made a file that belongs to the reply."""

    file: File


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that a person has to allow before it runs."""

    call: ToolCall
    """As the tool would get it, under the id that the model gave it."""
    origin: str
    """Whose words led to it."""
    tool: str
    """The digest of the tool as it is declared now."""
    host: str = ""
    """The host that it would open, as it is looked up: `xn--…` where its name has other letters; empty for none."""
    outside: bool = False
    """It is asked about because the conversation holds words from outside."""
    changed: bool = False
    """It was allowed, and the tool has changed since."""
    not_up: bool = False
    """It was allowed, and the tool's server is not up."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete."""

    cut: str = ""
    """Why it stops short, as a key of `bot.sentences`; empty when it is whole."""
    asks: Asked | None = None
    """It ends with a question to the person; what is decided begins another turn."""


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, or no complete one, can be had."""

    sentence: str
    """What the person is told: a key of `bot.sentences`."""
    detail: str
    """For the operator: no message text, no key."""
    retry: bool = True
    """Asking again may help."""
    tools: tuple[str, ...] = ()
    """The tools that ran."""
    until: float = 0.0
    """Wall-clock time before which asking again is of no use; 0 where there is none."""
    window: int = 0
    """Tokens that the model takes at most, where that is the reason and its server said so."""


Event: TypeAlias = (
    TextDelta
    | TextWithdrawn
    | ReasoningDelta
    | ModelReplaced
    | PassEnded
    | EarlyCall
    | ToolStarted
    | ToolFinished
    | FileProduced
    | Finished
    | Failed
)


async def answer_with(sentence: str) -> AsyncGenerator[Event, None]:
    """The events of a turn whose answer is a sentence of our own: no model is asked."""
    yield TextDelta(sentence)
    yield Finished()
