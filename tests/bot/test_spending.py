"""Budgets: reserved before a model call, settled after it, whatever becomes of the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.errors import ContextTooLong, ModelBusy, ModelDropped, Unaffordable
from bot.messages import ChatId
from bot.model.base import Answer, Piece, ReasoningPiece, Request, TextPiece
from bot.prices import Prices, read_prices
from bot.spending import ANSWER_TOKENS, DAY, BudgetLimits, Budgets, MeteredModel, Payer, paid_by
from bot.store import Amount, Store
from bot.transcript import Usage, UserEntry

ADA = Payer("telegram:7", ChatId("telegram", "42", "7"))
ADA_ELSEWHERE = Payer("telegram:7", ChatId("telegram", "42", "-50", "3"))
BOB_ELSEWHERE = Payer("telegram:8", ChatId("telegram", "42", "-50", "9"))
QUESTION = Request(entries=(UserEntry("w" * 94),))
PROMPT = 100
"""Tokens of `QUESTION`: one a character, and what an entry costs beside its text."""
EXPECTED = PROMPT + ANSWER_TOKENS


class Scripted:
    """A model that says its pieces; what it is given as an error it raises."""

    name = "openai:gpt-5-mini"

    def __init__(self, *pieces: Piece | Exception | Callable[[], Any]) -> None:
        self.pieces = pieces
        self.asked = 0

    async def stream(self, request: Request) -> AsyncIterator[Piece]:
        self.asked += 1
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
async def store(tmp_path: Path, clock: Any) -> AsyncIterator[Store]:
    clock.started = 1_800_000_000.0 // DAY * DAY + 1_000  # so that the day is young
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as opened:
        yield opened


Make = Callable[..., Budgets]


@pytest.fixture
def make(store: Store, clock: Any) -> Make:
    def make(prices: Prices | None = None, **limits: Any) -> Budgets:
        none = {"messages_per_minute": 0, "tokens_person": 0, "tokens_all": 0}
        return Budgets(store.spending, store.access.once, clock, BudgetLimits(**(none | limits)), prices)

    return make


async def ask(budgets: Budgets, model: Scripted, payer: Payer | None = ADA) -> list[Piece]:
    metered = MeteredModel(model, budgets, len)
    if payer is None:
        return [piece async for piece in metered.stream(QUESTION)]
    with paid_by(payer):
        return [piece async for piece in metered.stream(QUESTION)]


async def spent(store: Store, key: str = "person telegram:7") -> int:
    [spent] = await store.spending.spent([key], DAY)
    return spent.tokens


async def test_what_a_call_used_is_counted_for_person_chat_and_everybody(store: Store, make: Make) -> None:
    budgets = make()

    pieces = await ask(budgets, Scripted(TextPiece("hello"), answer(300, 40)), ADA_ELSEWHERE)

    assert [type(piece) for piece in pieces] == [TextPiece, Answer]
    # A group's topics share one budget.
    for key in ("person telegram:7", "chat telegram:42/-50", "*"):
        [found] = await store.spending.spent([key], DAY)
        assert found.tokens == 340
        assert found.money == pytest.approx(300 * 0.25e-6 + 40 * 2e-6)


async def test_what_a_call_may_need_is_set_aside_while_it_runs(store: Store, make: Make) -> None:
    budgets = make(tokens_person=2 * EXPECTED)
    hold = asyncio.Event()
    held = Scripted(hold.wait, answer(10, 10))
    running = [asyncio.create_task(ask(budgets, held)) for _ in range(2)]
    while held.asked < 2:
        await asyncio.sleep(0)

    assert await spent(store) == 2 * EXPECTED
    third = Scripted(answer(10, 10))
    with pytest.raises(Unaffordable):
        await ask(budgets, third)
    assert third.asked == 0

    hold.set()
    await asyncio.gather(*running)
    assert await spent(store) == 40
    await ask(budgets, third)
    assert await spent(store) == 60


@pytest.mark.parametrize("error", [ModelBusy("429"), ContextTooLong("too long")])
async def test_a_call_that_is_turned_away_costs_nothing(store: Store, make: Make, error: Exception) -> None:
    with pytest.raises(type(error)):
        await ask(make(), Scripted(error))

    assert await spent(store) == 0


async def test_a_stream_that_breaks_off_costs_the_prompt_and_what_was_written(store: Store, make: Make) -> None:
    with pytest.raises(ModelDropped):
        await ask(make(), Scripted(ReasoningPiece("12345"), TextPiece("123"), ModelDropped("gone")))

    assert await spent(store) == PROMPT + 8


async def test_a_stopped_call_is_settled_too(store: Store, make: Make) -> None:
    budgets = make()
    model = Scripted(TextPiece("12345"), asyncio.Event().wait)
    running = asyncio.create_task(ask(budgets, model))
    while not model.asked:
        await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await budgets.close()

    assert await spent(store) == PROMPT + 5


async def test_a_call_stopped_before_it_was_made_leaves_nothing_set_aside(store: Store, make: Make) -> None:
    budgets = make()
    model = Scripted(answer(1, 1))
    running = asyncio.create_task(ask(budgets, model))
    await asyncio.sleep(0)  # it waits for the database now
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await budgets.close()

    assert model.asked == 0
    assert await spent(store) == 0


async def test_what_a_killed_process_set_aside_counts_until_the_day_ends(store: Store, make: Make, clock: Any) -> None:
    budgets = make(tokens_person=2 * EXPECTED - 1)
    with paid_by(ADA):
        await budgets.reserve("openai:gpt-5-mini", Usage(PROMPT, ANSWER_TOKENS))

    with pytest.raises(Unaffordable) as refused:
        await ask(budgets, Scripted(answer(1, 1)))
    assert refused.value.whose == "person"
    assert refused.value.until % DAY == 0

    clock.started += refused.value.until - clock.wall()
    await ask(budgets, Scripted(answer(1, 1)))


@pytest.mark.parametrize(
    ("limits", "whose", "others"),
    [
        ({"tokens_person": 1500}, "person", True),
        ({"tokens_chat": 1500}, "chat", False),
        ({"tokens_all": 1500}, "all", False),
        ({"money_person": 0.0025}, "person", True),
        ({"money_all": 0.0025}, "all", False),
    ],
)
async def test_each_budget_refuses_those_it_concerns(
    make: Make, limits: dict[str, float], whose: str, others: bool
) -> None:
    budgets = make(**limits)
    await ask(budgets, Scripted(answer(100, 1000)), ADA_ELSEWHERE)

    with pytest.raises(Unaffordable) as refused:
        await ask(budgets, Scripted(answer(1, 1)), ADA_ELSEWHERE)
    assert refused.value.whose == whose
    if others:
        await ask(budgets, Scripted(answer(1, 1)), BOB_ELSEWHERE)
    else:
        with pytest.raises(Unaffordable):
            await ask(budgets, Scripted(answer(1, 1)), BOB_ELSEWHERE)


async def test_a_side_task_of_nobody_is_on_everybodys_budget(store: Store, make: Make) -> None:
    await ask(make(), Scripted(answer(5, 5)), None)

    assert await spent(store, "*") == 10
    assert await spent(store) == 0


async def test_a_model_of_unknown_price_costs_no_money_but_all_its_tokens(store: Store, make: Make) -> None:
    budgets = make(money_person=0.000_001)
    model = Scripted(answer(50, 50, "vendor:unheard"))
    model.name = "vendor:unheard"

    for _ in range(3):
        await ask(budgets, model)

    assert await store.spending.spent(["person telegram:7"], DAY) == [Amount(300)]


async def test_the_model_that_answered_is_paid_not_the_one_that_was_asked(store: Store, make: Make) -> None:
    prices = Prices(read_prices(["openai:gpt-5-mini=1000/1000/1000", "ark:cheap=1/1/1"]))
    await ask(make(prices), Scripted(answer(50, 50, "ark:cheap")))

    assert (await store.spending.spent(["person telegram:7"], DAY))[0].money == pytest.approx(0.0001)


async def test_twenty_messages_a_minute_and_no_more(make: Make, clock: Any) -> None:
    budgets = make(messages_per_minute=20)

    assert all([await budgets.message(ADA) for _ in range(20)])
    assert not await budgets.message(ADA_ELSEWHERE)
    assert await budgets.message(BOB_ELSEWHERE)

    clock.started += 60
    assert await budgets.message(ADA)


async def test_a_spent_budget_is_known_before_a_turn_begins_and_told_once_a_window(make: Make, clock: Any) -> None:
    budgets = make(tokens_person=1200)
    assert await budgets.exhausted(ADA) is None
    await ask(budgets, Scripted(answer(1000, 500)))

    refusal = await budgets.exhausted(ADA)
    assert refusal is not None
    told = []
    for one in (ADA, ADA, ADA_ELSEWHERE, ADA):
        told.append(await budgets.first_refusal(refusal.whose, refusal.until, one))
        clock.started += 0.1  # a time that no float holds exactly
    assert told == [True, False, False, False]
    assert await budgets.exhausted(BOB_ELSEWHERE) is None

    clock.started += refusal.until - clock.wall()
    assert await budgets.exhausted(ADA) is None


async def test_a_chats_spent_budget_is_told_the_chat_once_not_each_of_its_people(make: Make) -> None:
    budgets = make(tokens_chat=10)
    await ask_anyway(budgets, ADA_ELSEWHERE)

    told = []
    for payer in (ADA_ELSEWHERE, BOB_ELSEWHERE):
        refusal = await budgets.exhausted(payer)
        assert refusal is not None
        assert refusal.whose == "chat"
        told.append(await budgets.first_refusal(refusal.whose, refusal.until, payer))
    assert told == [True, False]


async def ask_anyway(budgets: Budgets, payer: Payer) -> None:
    """Spend 100 tokens whatever the budgets say: as a call does that used more than was set aside."""
    with paid_by(payer):
        reserved = await budgets.reserve("x:y", Usage(1, 1))
        await budgets.settle(reserved, "x:y", Usage(60, 40))


async def test_today_as_a_person_and_as_an_admin_sees_it(make: Make) -> None:
    budgets = make(tokens_person=1000)
    for payer, times in ((ADA, 1), (BOB_ELSEWHERE, 2)):
        for _ in range(times):
            await budgets.message(payer)
            await ask_anyway(budgets, payer)

    seen = await budgets.report(ADA)
    assert (seen.person.spent.tokens, seen.person.spent.messages, seen.person.most.tokens) == (100, 1, 1000)
    assert seen.top == ()
    assert 0 < seen.resets_in <= DAY

    whole = await budgets.report(ADA, everybody=True)
    assert (whole.everybody.spent.tokens, whole.everybody.spent.messages) == (300, 3)
    assert [(person, amount.tokens) for person, amount in whole.top] == [("telegram:8", 200), ("telegram:7", 100)]


async def test_a_database_that_fails_while_settling_costs_nobody_an_answer(
    make: Make, store: Store, monkeypatch: Any, caplog: Any
) -> None:
    from bot.errors import StoreError

    async def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store.spending, "settle", broken)
    pieces = await ask(make(), Scripted(answer(1, 1)))

    assert isinstance(pieces[-1], Answer)
    assert "the disk is full" in caplog.text
