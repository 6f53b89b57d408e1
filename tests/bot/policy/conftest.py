"""Model calls on quotas that a real store counts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bot.contract.limits import Limits
from bot.contract.messages import ChatId
from bot.contract.transcript import Usage, UserEntry
from bot.model.base import Answer, Piece, Request
from bot.model.usage import WIDE_TOKENS
from bot.policy.budgets import ANSWER_TOKENS, DAY, PROMPT_MARGIN, Payer
from bot.policy.metering import MeteredModel
from bot.policy.prices import Prices
from bot.policy.quotas import Quotas, charge
from bot.store import Store
from tests.conftest import FakeClock
from tests.letters import count_letters
from tests.quotas import quotas_of

ADA = Payer("telegram:7", ChatId("telegram", "42", "7"))
ADA_ELSEWHERE = Payer("telegram:7", ChatId("telegram", "42", "-50", "3"))
BOB_ELSEWHERE = Payer("telegram:8", ChatId("telegram", "42", "-50", "9"))
OWNER = Payer("telegram:1", ChatId("telegram", "42", "1"), admin=True)
QUESTION = Request(entries=(UserEntry("w" * 94),))
PROMPT = 100
"""Tokens of `QUESTION`: one a character, and what an entry costs beside its text."""
RESERVED = int(PROMPT * PROMPT_MARGIN)
LEAST = RESERVED + ANSWER_TOKENS
WISHED = int(QUESTION.max_output_chars * WIDE_TOKENS)


class Scripted:
    """A model that says its pieces; what it is given as an error it raises."""

    name = "openai:gpt-5-mini"

    def __init__(self, *pieces: Piece | Exception | Callable[[], Awaitable[object]]) -> None:
        self.pieces = pieces
        self.asked = 0
        self.allowed: list[int] = []
        """The tokens that each request was allowed."""

    async def stream(self, request: Request, *, longest_wait: float = 0.0) -> AsyncGenerator[Piece, None]:
        self.asked += 1
        self.allowed.append(request.max_tokens)
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            if callable(piece):
                await piece()
            else:
                yield piece


def answer(prompt: int, completion: int, model: str = Scripted.name) -> Answer:
    return Answer(text="x", finish="stop", usage=Usage(prompt, completion), model=model, native=True)


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    clock.started = 1_800_000_000.0 // DAY * DAY + 1_000  # so that the day is young
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as opened:
        yield opened


Make = Callable[..., Quotas]


async def is_owner(person: str) -> bool:
    return person == OWNER.person


@pytest.fixture
def make(store: Store, clock: FakeClock) -> Make:
    def make(prices: Prices | None = None, *, admin_share: float = 0.0, **most: float) -> Quotas:
        limits = Limits(admin_share=admin_share)
        return Quotas(
            spending=store.spending,
            clock=clock,
            settings=quotas_of(**most),
            limits=limits,
            prices=prices or Prices(),
            admin=is_owner,
        )

    return make


async def ask(quotas: Quotas, model: Scripted, payer: Payer | None = ADA) -> list[Piece]:
    metered = MeteredModel(model, quotas, count_letters)
    if payer is None:
        return [piece async for piece in metered.stream(QUESTION)]
    with charge(payer):
        return [piece async for piece in metered.stream(QUESTION)]


async def spent(store: Store, key: str = "person telegram:7") -> int:
    [spent] = await store.spending.list_spent([key], DAY)
    return spent.tokens
