"""`ask` reads a model's stream to its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest

from bot.contract import ModelBusy, ModelDropped, UserEntry
from bot.model import Answer, Piece, ReasoningPiece, Request, TextPiece, ask

QUESTION = Request(entries=(UserEntry("What is tea?"),))
LEAF = Answer(text="A leaf.", finish="stop", model="openai:scripted", native=True)


@dataclass
class Scripted:
    """A model that yields these pieces; an error is raised in its place."""

    pieces: tuple[Piece | Exception, ...]
    log: list[str] = field(default_factory=list)
    name: str = "openai:scripted"

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        try:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
            self.log.append("read to the end")
        finally:
            self.log.append("closed")


async def test_the_answer_is_what_the_stream_ends_with_and_the_stream_is_read_and_closed() -> None:
    model = Scripted((ReasoningPiece("Hm."), TextPiece("A leaf."), LEAF))

    assert await ask(model, QUESTION) == LEAF
    assert model.log == ["read to the end", "closed"]


async def test_a_stream_without_an_answer_is_a_dropped_one() -> None:
    with pytest.raises(ModelDropped, match="openai:scripted"):
        await ask(Scripted((TextPiece("A le"),)), QUESTION)


async def test_what_the_model_fails_with_is_raised_and_the_stream_is_closed() -> None:
    model = Scripted((TextPiece("A le"), ModelBusy("busy")))

    with pytest.raises(ModelBusy):
        await ask(model, QUESTION)
    assert model.log == ["closed"]
