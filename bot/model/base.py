"""The interface between agent and model; the same for every provider and wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from bot.contract import Entry, ModelDropped, Usage
from tools.contract.base import Json, ProducedFile, ToolCall, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One pass: the model's input, and the tools that it may call."""

    entries: tuple[Entry, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of one tool. With `none` the tools stay declared (history may contain
    their calls), but the model may call none."""
    deadline: float = float("inf")
    """Monotonic time at which the whole turn ends."""
    max_output_chars: int = 40_000
    """Text beyond it is not read: the stream is closed and `Answer.finish` is `cut`."""
    max_tokens: int = 0
    """The limit on the answer's tokens for the server, thoughts included; 0: no limit."""
    reminder: str = ""
    """A sentence added at the end for this pass only."""
    first: str = ""
    """Ask only this model and the later ones: those before it have already failed."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text as the model writes it; it may contain calls written as text."""

    text: str
    prompted: bool = False
    """Calls can only come as text: the model was taught to write them, and no tools were declared to its server."""


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A provider's separate thinking text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A native call that is complete although the stream continues. The `Answer` has it again, and is authoritative."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """Nothing so far was visible, and the model is asked once more: the following pieces start a new answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end of a pass: always the last piece of a successful stream."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    """The native calls; a call that cannot run says why in `problem`."""
    pictures: tuple[ProducedFile, ...] = ()
    """The pictures that the model made."""
    finish: str
    """`stop`, `tool_calls`, `length`, `content_filter` or `cut`; an answer with another ending is an error."""
    usage: Usage = field(default_factory=Usage)
    """The server's count; our own estimate if it reported none."""
    model: str
    """`provider:name` of the model that answered."""
    native: bool
    """Tools were offered natively; otherwise by the prompt protocol."""
    provider: str = ""
    raw: Mapping[str, Json] = field(default_factory=dict)
    """The provider's assistant message in the form that must be sent back."""


Piece: TypeAlias = TextPiece | ReasoningPiece | CallPiece | AskedAgain | Answer


class Model(Protocol):
    """Something that answers a request: one model, or a chain of them."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Ask, and yield pieces until one `Answer`.

        Closing the generator closes the HTTP stream. Retries and falls back only before the first piece.

        Raises:
            ModelBusy, ModelDropped, ModelSlow, ModelRefused, ContextTooLong: see `bot.contract.errors`.
        """
        ...


async def ask(model: Model, request: Request) -> Answer:
    """Read a model's stream to its end, for callers who want only the whole answer.

    Raises:
        ModelDropped: the stream ended without an answer.
        ModelBusy, ModelSlow, ModelRefused, ContextTooLong: see `Model.stream`.
    """
    answer: Answer | None = None
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Answer):
                answer = piece
    if answer is None:
        raise ModelDropped(f"the stream of {model.name} ended without an answer")
    return answer
