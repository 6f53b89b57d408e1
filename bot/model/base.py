"""What the agent asks of a model and what it gets back; the same for every provider and wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from bot.contract import Entry, ModelDropped, Usage
from tools.contract.base import Json, ProducedFile, ToolCall, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One pass: what the model is told, and which tools it may ask for."""

    entries: tuple[Entry, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of one tool. With `none` the tools stay known (history may hold
    their calls), but the model may call nothing."""
    deadline: float = float("inf")
    """Monotonic time at which the whole turn ends."""
    max_output_chars: int = 40_000
    """Text beyond it is not read: the stream is closed and `Answer.finish` is `cut`."""
    max_tokens: int = 0
    """The server is asked to write no more than this, thoughts included; 0: as much as it likes."""
    reminder: str = ""
    """A sentence added at the end for this pass only."""
    first: str = ""
    """Ask only this model and those that stand behind it: those before it have failed already."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text as the model writes it; may hold calls written as text."""

    text: str
    prompted: bool = False
    """Calls can come in no other way: the model was taught to write them, and no tools were declared to its server."""


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """What a provider reports as thinking, apart from the text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A native call that is whole although the stream goes on. The `Answer` has it again, and what it says counts."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """Nobody could see anything of what came so far, and the model is asked once more: what follows stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end of a pass: always the last piece of a stream that ended well."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Native calls, assembled; a call that cannot run says why in `problem`."""
    pictures: tuple[ProducedFile, ...] = ()
    """Those that the model made."""
    finish: str
    """`stop`, `tool_calls`, `length`, `content_filter` or `cut`; an answer that ended otherwise is none."""
    usage: Usage = field(default_factory=Usage)
    """As the server counted it; our own estimate where it reported none."""
    model: str
    """`provider:name` of the model that answered."""
    native: bool
    """Tools were offered natively; else by the prompt protocol."""
    provider: str = ""
    raw: Mapping[str, Json] = field(default_factory=dict)
    """The provider's assistant message as it must be sent back."""


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
    """Read a model's stream to its end, for who wants the whole answer and nothing before it.

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
