"""The events of the agent: a closed union, matched by `turn/events.py`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.contract import AssistantEntry, Entry, File, Usage
from tools.contract.base import Json, Source, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Visible text that goes to the end of the reply. Never tool syntax, never reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWithdrawn:
    """The latest texts of this pass were thoughts that only had an end mark."""

    count: int
    """How many `TextDelta`s."""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The model's reasoning: stored, never shown in the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class PassEnded:
    """One model call ended; `entry` is its history entry. Arrives before its calls start."""

    entry: AssistantEntry
    model: str
    usage: Usage
    asked: str = ""
    """The model that was asked first; another one may have answered."""
    finish: str = ""
    """See `Answer.finish`; empty if no model was asked."""
    dollars: float | None = None
    """What it cost, where that was reported; None: by the model's price."""


@dataclass(frozen=True, slots=True)
class EarlyCall:
    """A call without effects has begun while its pass still streams.

    Nothing is stored of it before its pass is: then `ToolStarted` follows, unless the pass does not request the call.
    """

    call: ToolCall
    status: str | None
    """The status line for the person meanwhile; None: it is no longer announced under this id."""
    dollars: float = 0.0
    """Dollars for a call whose result is not used."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is about to run, or has begun early; `status` is the line for the person meanwhile."""

    call: ToolCall
    status: str
    allowed: bool = False
    """A person allowed it, for this once."""
    effects: bool = False
    """It changes something: it is not repeated after a restart."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result (also if it failed, timed out or was cancelled)."""

    call: ToolCall
    result: ToolResult
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelReplaced:
    """The model broke off in the middle of its text; another one continues."""


@dataclass(frozen=True, slots=True)
class StateKept:
    """An agent of another author has a state that it wants back after a restart."""

    state: str


@dataclass(frozen=True, slots=True)
class FileProduced:
    """A tool made a file that belongs to the reply."""

    file: File


@dataclass(frozen=True, slots=True)
class Heard:
    """The model reads in its next pass what the person has added meanwhile."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that a person must allow before it runs."""

    call: ToolCall
    """As the tool would get it, with the model's id."""
    origin: str
    """The origin of the words that led to it."""
    tool: str
    """The digest of the tool's present declaration."""
    host: str = ""
    """The host that it would open, as it is looked up: `xn--…` if its name has other letters; empty if none."""
    outside: bool = False
    """It asks because the conversation contains words from outside."""
    changed: bool = False
    """It was allowed, and the tool has changed since."""
    not_up: bool = False
    """It was allowed, and the tool's server is not running."""
    state: str = ""
    """What an agent of another author needs to go on."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete."""

    cut: str = ""
    """Why it is incomplete, as a key of `bot.sentences`; empty if it is complete."""
    asks: Asked | None = None
    """It ends with a question to the person; the decision begins another turn."""


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no answer, or only an incomplete one."""

    sentence: str
    """The sentence for the person: a key of `bot.sentences`."""
    detail: str
    """For the operator: no message text, no key."""
    retry: bool = True
    """Asking again may help."""
    tools: tuple[str, ...] = ()
    """The tools that ran."""
    until: float = 0.0
    """Wall-clock time before which asking again is useless; 0: none."""
    window: int = 0
    """The model's limit in tokens, if that is the reason and its server named it."""
    asked: str = ""
    """The model that was asked and failed; empty if none was."""

    def to_json(self, now: float) -> dict[str, Json]:
        """Return it as JSON, without its detail; `now` is the wall-clock time."""
        return {
            "sentence": self.sentence,
            "retry": self.retry,
            "tools": list(self.tools),
            "wait": max(1.0, self.until - now) if self.until else 0.0,
            "window": self.window,
            "asked": self.asked,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], now: float) -> Failed:
        """Read what `to_json` returned."""
        until = now + value["wait"] if value["wait"] else 0.0
        tools, retry, window = tuple(value["tools"]), value["retry"], value["window"]
        return cls(value["sentence"], "", retry, tools, until, window, value["asked"])


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
    | StateKept
    | Heard
    | Finished
    | Failed
)


async def answer_with(sentence: str) -> AsyncGenerator[Event, None]:
    """Yield the events of a turn whose answer is a sentence of our own: no model is asked."""
    yield TextDelta(sentence)
    yield Finished()
