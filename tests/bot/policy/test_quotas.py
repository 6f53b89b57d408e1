"""Quotas: reserved before a model call, settled after it, whatever becomes of the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bot.commands.usage import write_usage
from bot.contract.errors import ContextTooLong, ModelBusy, ModelDropped, StoreError, Unaffordable
from bot.contract.messages import ChatId
from bot.contract.transcript import Usage
from bot.model.base import Answer, Piece, ReasoningPiece, Request, TextPiece
from bot.policy.budgets import ANSWER_TOKENS, DAY, WISHED_TOKENS, Day, Payer
from bot.policy.metering import DayPurse, MeteredModel
from bot.policy.once import Once
from bot.policy.prices import Prices, read_prices
from bot.policy.quotas import GONE_SECONDS, LOOK_SECONDS, WAIT_SECONDS, Quotas, charge, once_per_window
from bot.store import Amount, Limit, Refused, Reserved, Store
from tests.bot.policy.conftest import (
    ADA,
    ADA_ELSEWHERE,
    BOB_ELSEWHERE,
    LEAST,
    OWNER,
    PROMPT,
    QUESTION,
    RESERVED,
    WISHED,
    Make,
    Scripted,
    answer,
    ask,
    spent,
)
from tests.conftest import FakeClock
from tests.letters import count_letters
from tests.quotas import quotas_of
from tools.contract.base import Unpaid


@pytest.fixture
def once(store: Store, clock: FakeClock) -> Once:
    return Once(store.access.claim, clock)


async def test_what_a_call_used_is_counted_for_person_chat_and_everybody(store: Store, make: Make) -> None:
    quotas = make()

    pieces = await ask(quotas, Scripted(TextPiece("hello"), answer(300, 40)), ADA_ELSEWHERE)

    assert [type(piece) for piece in pieces] == [TextPiece, Answer]
    # A group's topics share one quota.
    for key in ("person telegram:7", "chat telegram:42/-50", "*"):
        [found] = await store.spending.list_spent([key], DAY)
        assert found.tokens == 340
        assert found.dollars == pytest.approx(300 * 0.25e-6 + 40 * 2e-6)


async def test_what_a_call_may_use_is_set_aside_and_the_model_is_allowed_no_more(store: Store, make: Make) -> None:
    quotas = make(tokens_per_day_person=RESERVED + WISHED + LEAST + 10_000)
    hold = asyncio.Event()
    held = Scripted(hold.wait, answer(10, 10))
    running = [asyncio.create_task(ask(quotas, held)) for _ in range(2)]
    while held.asked < 2:
        await asyncio.sleep(0)

    # The second takes half of what is left beyond what a first answer may need: as much may be wanted by a third.
    assert held.allowed == [WISHED, WISHED_TOKENS + (ANSWER_TOKENS + 10_000 - WISHED_TOKENS) // 2]
    assert await spent(store) == sum(held.allowed) + 2 * RESERVED

    hold.set()
    await asyncio.gather(*running)
    assert await spent(store) == 40


async def test_a_call_waits_where_what_is_left_is_only_set_aside(make: Make) -> None:
    quotas = make(tokens_per_day_person=LEAST)
    hold = asyncio.Event()
    held, second = Scripted(hold.wait, answer(10, 10)), Scripted(answer(10, 10))
    running = asyncio.create_task(ask(quotas, held))
    while not held.asked:
        await asyncio.sleep(0)
    waiting = asyncio.create_task(ask(quotas, second))
    assert await quotas.find_exhausted(ADA) is None
    assert (await quotas.report(ADA)).person.spent.tokens == 0
    assert second.asked == 0

    hold.set()
    await running
    with pytest.raises(Unaffordable):  # 20 are spent for good, so the rest is less than a call can use
        await waiting
    assert second.asked == 0


async def test_a_call_that_waited_is_made_with_what_comes_back(make: Make) -> None:
    quotas = make(tokens_per_day_person=LEAST + 500)
    hold = asyncio.Event()
    held, second = Scripted(hold.wait, answer(10, 10)), Scripted(answer(10, 10))
    running = asyncio.create_task(ask(quotas, held))
    while not held.asked:
        await asyncio.sleep(0)
    waiting = asyncio.create_task(ask(quotas, second))
    hold.set()
    await asyncio.gather(running, waiting)

    assert held.allowed == [ANSWER_TOKENS + 500]
    assert second.allowed == [ANSWER_TOKENS + 480]


async def test_a_call_waits_no_longer_than_people_do(make: Make, clock: FakeClock) -> None:
    quotas = make(tokens_per_day_person=LEAST)
    held = Scripted(asyncio.Event().wait)
    running = asyncio.create_task(ask(quotas, held))
    while not held.asked:
        await asyncio.sleep(0)
    waiting = asyncio.create_task(ask(quotas, Scripted(answer(1, 1))))
    await clock.settle()
    await clock.advance(WAIT_SECONDS)
    with pytest.raises(Unaffordable):
        await waiting
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await quotas.close()


async def test_a_call_for_which_enough_is_spent_already_is_refused_at_once(make: Make) -> None:
    quotas = make(tokens_per_day_person=3 * LEAST)
    await ask(quotas, Scripted(answer(LEAST, LEAST + 10)))
    held = Scripted(asyncio.Event().wait)
    with pytest.raises(Unaffordable):
        await ask(quotas, held)


async def test_money_limits_an_answer_too(make: Make) -> None:
    prices = Prices(read_prices([f"{Scripted.name}=0/0/1000"]))
    model = Scripted(answer(10, 10))
    quotas = make(prices, money_per_day_person=5.0)

    await ask(quotas, model)

    assert model.allowed == [5_000]


async def test_a_model_asked_for_few_words_may_still_think(make: Make) -> None:
    model = Scripted(answer(1, 1))
    with charge(ADA):
        async for _ in MeteredModel(model, make(), count_letters).stream(replace(QUESTION, max_output_chars=200)):
            pass

    assert model.allowed == [4_000]


class Writing(Scripted):
    """Writes all it is allowed."""

    async def stream(self, request: Request, *, longest_wait: float = 0.0) -> AsyncGenerator[Piece, None]:
        self.allowed.append(request.max_tokens)
        await asyncio.sleep(0)
        yield answer(PROMPT, request.max_tokens)


@pytest.mark.parametrize("limits", [{"tokens_per_day": 100_000}, {"money_per_day": 0.15}])
async def test_two_hundred_calls_at_once_spend_no_more_than_there_is(
    store: Store, make: Make, limits: dict[str, float]
) -> None:
    quotas, model = make(**limits), Writing()
    payers = [Payer(f"telegram:{number}", ChatId("telegram", "42", str(number))) for number in range(200)]

    outcomes = await asyncio.gather(*(ask(quotas, model, payer) for payer in payers), return_exceptions=True)

    [all_] = await store.spending.list_spent(["*"], DAY)
    assert all(isinstance(outcome, list | Unaffordable) for outcome in outcomes)
    assert 0 < all_.tokens <= limits.get("tokens_per_day", 1e9)
    assert 0 < all_.dollars <= limits.get("money_per_day", 1e9)
    assert min(model.allowed) >= ANSWER_TOKENS
    assert sum(isinstance(outcome, list) for outcome in outcomes) == len(model.allowed) > 5


async def test_two_hundred_short_calls_at_once_are_all_made(make: Make) -> None:
    """As many as the ordinary quota of a day lets: what is set aside for long answers comes back."""
    quotas = make(tokens_per_day=2_000_000)
    payers = [Payer(f"telegram:{number}", ChatId("telegram", "42", str(number))) for number in range(200)]

    outcomes = await asyncio.gather(*(ask(quotas, Scripted(answer(100, 300)), payer) for payer in payers))

    assert len(outcomes) == 200


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
    quotas = make()
    model = Scripted(TextPiece("12345"), asyncio.Event().wait)
    running = asyncio.create_task(ask(quotas, model))
    while not model.asked:
        await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await quotas.close()

    assert await spent(store) == PROMPT + 5


async def test_what_was_written_before_a_server_gave_up_is_counted(store: Store, make: Make) -> None:
    with pytest.raises(ModelBusy):
        await ask(make(), Scripted(TextPiece("12345"), ModelBusy("overloaded")))

    assert await spent(store) == PROMPT + 5


async def test_a_call_stopped_while_it_is_refused_gives_back_nothing(store: Store, make: Make) -> None:
    quotas = make(tokens_per_day_person=1500)
    await ask(quotas, Scripted(answer(1000, 500)))
    running = asyncio.create_task(ask(quotas, Scripted(answer(1, 1))))
    await asyncio.sleep(0)  # it waits for the database now
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await quotas.close()

    assert await spent(store) == 1500


async def test_a_call_stopped_before_it_was_made_leaves_nothing_set_aside(store: Store, make: Make) -> None:
    quotas = make()
    model = Scripted(answer(1, 1))
    running = asyncio.create_task(ask(quotas, model))
    await asyncio.sleep(0)  # it waits for the database now
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await quotas.close()

    assert model.asked == 0
    assert await spent(store) == 0


async def test_of_what_a_killed_process_set_aside_the_prompts_count(store: Store, make: Make) -> None:
    """They may have been read, and are counted as long as they can be as nothing is known of the model; of these
    answers nothing was shown, and the rest is there for people again."""
    killed = make()
    calls = [asyncio.create_task(ask(killed, Scripted(asyncio.Event().wait))) for _ in range(3)]
    while await spent(store) < 3 * WISHED:
        await asyncio.sleep(0)
    await make().settle_killed()  # by the next process
    await make().settle_killed()

    assert await spent(store) == 3 * RESERVED
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await killed.close()
    assert await spent(store) == 3 * RESERVED, "what is settled already is not settled again"


async def test_what_a_process_held_that_died_is_given_back_by_another(
    tmp_path: Path, store: Store, make: Make, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Also after the database was away for a moment; what those hold that are alive stays theirs."""
    alive: list[set[str] | StoreError | None] = [StoreError("away"), {"run", "other"}, {"run"}, None]

    async def living() -> set[str] | None:
        found = alive.pop(0)
        if isinstance(found, StoreError):
            raise found
        return found

    gone = asyncio.Event()

    async def until_gone() -> None:
        await gone.wait()

    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock, worker="other") as other:
        await other.spending.reserve([Limit("person telegram:7", DAY, Amount(9_000))], Amount(1_000), Amount(5_000))
        watching = asyncio.create_task(make().settle_gone(store.allowances, living, until_gone))
        spent_then = []
        for _ in range(3):
            await clock.settle()
            spent_then.append(await spent(store))
            await clock.advance(1.0)
        assert alive, "nothing was told of"
        gone.set()
        await clock.settle()
        spent_then.append(await spent(store))
        gone.clear()
        await clock.advance(GONE_SECONDS)
        await watching

    assert spent_then == [5_000, 5_000, 5_000, 1_000]
    assert "are returned later: away" in caplog.text


async def test_what_another_process_holds_is_waited_for(tmp_path: Path, make: Make, clock: FakeClock) -> None:
    """It ends there, and is noticed here within a second."""
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock, worker="elsewhere") as other:
        elsewhere = Quotas(spending=other.spending, clock=clock, settings=quotas_of(tokens_per_day_person=LEAST + 500))
        hold = asyncio.Event()
        held, second = Scripted(hold.wait, answer(10, 10)), Scripted(answer(10, 10))
        running = asyncio.create_task(ask(elsewhere, held))
        while not held.asked:
            await asyncio.sleep(0)
        waiting = asyncio.create_task(ask(make(tokens_per_day_person=LEAST + 500), second))
        await clock.settle()
        await clock.advance(5)
        assert not second.asked

        hold.set()
        await running
        await clock.advance(LOOK_SECONDS)
        await waiting

    assert second.allowed == [ANSWER_TOKENS + 480]


async def test_two_processes_share_what_is_left(tmp_path: Path, store: Store, clock: FakeClock) -> None:
    limits = [Limit("person", DAY, Amount(10_000))]
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock, worker="elsewhere") as other:
        first = await other.spending.reserve(limits, Amount(1_000), Amount(5_000))
        second = await store.spending.reserve(limits, Amount(1_000), Amount(5_000))
        third = await other.spending.reserve(limits, Amount(2_000))

        assert isinstance(first, Reserved) and first.amount.tokens == 5_000
        assert isinstance(second, Reserved) and second.amount.tokens == 1_000 + 2_000
        assert isinstance(third, Reserved)
        refused = await store.spending.reserve(limits, Amount(1_000))
        assert isinstance(refused, Refused)
        assert (refused.held, refused.calls, refused.elsewhere) == (Amount(10_000), 3, 2)
        assert await other.spending.settle_killed("run") == 1
        assert await other.spending.list_used(["person"], DAY) == [Amount(1_000)]


@pytest.mark.parametrize(
    ("limits", "whose", "others"),
    [
        ({"tokens_per_day_person": 1500}, "person", True),
        ({"tokens_per_day": 1500}, "all", False),
        ({"money_per_day_person": 0.0025}, "person", True),
        ({"money_per_day": 0.0025}, "all", False),
    ],
)
async def test_each_quota_refuses_those_it_concerns(
    make: Make, limits: dict[str, float], whose: str, others: bool
) -> None:
    quotas = make(**limits)
    await ask(quotas, Scripted(answer(100, 1000)), ADA_ELSEWHERE)

    with pytest.raises(Unaffordable) as refused:
        await ask(quotas, Scripted(answer(1, 1)), ADA_ELSEWHERE)
    assert refused.value.whose == whose
    if others:
        await ask(quotas, Scripted(answer(1, 1)), BOB_ELSEWHERE)
    else:
        with pytest.raises(Unaffordable):
            await ask(quotas, Scripted(answer(1, 1)), BOB_ELSEWHERE)


@pytest.mark.parametrize("limits", [{"tokens_per_day": 100_000}, {"money_per_day": 0.1}])
async def test_what_strangers_spend_leaves_the_owner_a_share(make: Make, limits: dict[str, float]) -> None:
    prices = Prices(read_prices([f"{Scripted.name}=1/1/1"]))
    quotas = make(prices, admin_share=0.2, **limits)
    for number in range(10):
        stranger = Payer(f"telegram:{100 + number}", ChatId("telegram", "42", str(100 + number)))
        for _ in range(4):
            with suppress(Unaffordable):
                await ask(quotas, Scripted(answer(1_000, 9_000)), stranger)

    assert await quotas.find_exhausted(ADA) is not None
    assert await quotas.find_exhausted(OWNER) is None
    assert await quotas.find_exhausted(replace(OWNER, admin=False)) is None, "it is looked up before anybody is told"
    assert (await quotas.report(OWNER)).others.spent.tokens == 80_000
    await ask(quotas, Scripted(answer(1_000, 9_000)), OWNER)
    await ask(quotas, Scripted(answer(1_000, 9_000)), OWNER)
    with pytest.raises(Unaffordable):
        await ask(quotas, Scripted(answer(1, 1)), OWNER)


async def test_what_the_owner_spends_is_not_taken_from_the_others(make: Make) -> None:
    quotas = make(tokens_per_day=100_000, admin_share=0.2)
    await ask(quotas, Scripted(answer(10_000, 10_000)), OWNER)

    for _ in range(8):
        await ask(quotas, Scripted(answer(5_000, 5_000)), BOB_ELSEWHERE)
    with pytest.raises(Unaffordable) as refused:
        await ask(quotas, Scripted(answer(1, 1)), BOB_ELSEWHERE)
    assert refused.value.whose == "all"


async def test_a_side_task_of_nobody_is_on_everybodys_quota(store: Store, make: Make) -> None:
    await ask(make(), Scripted(answer(5, 5)), None)

    assert await spent(store, "*") == 10
    assert await spent(store) == 0


async def test_a_model_of_unknown_price_costs_no_money_but_all_its_tokens(store: Store, make: Make) -> None:
    quotas = make(money_per_day_person=0.000_001)
    model = Scripted(answer(50, 50, "vendor:unheard"))
    model.name = "vendor:unheard"

    for _ in range(3):
        await ask(quotas, model)

    assert await store.spending.list_spent(["person telegram:7"], DAY) == [Amount(300)]


async def test_the_model_that_answered_is_paid_not_the_one_that_was_asked(store: Store, make: Make) -> None:
    prices = Prices(read_prices(["openai:gpt-5-mini=1000/1000/1000", "ark:cheap=1/1/1"]))
    await ask(make(prices), Scripted(answer(50, 50, "ark:cheap")))

    assert (await store.spending.list_spent(["person telegram:7"], DAY))[0].dollars == pytest.approx(0.0001)


async def test_twenty_messages_a_minute_and_no_more(make: Make, clock: FakeClock) -> None:
    quotas = make(messages_per_minute=20)

    assert all([await quotas.count_question(ADA) for _ in range(20)])
    assert not await quotas.count_question(ADA_ELSEWHERE)
    assert await quotas.count_question(BOB_ELSEWHERE)

    clock.started += 60
    assert await quotas.count_question(ADA)


async def test_commands_are_counted_apart_and_are_no_questions_of_the_day(make: Make) -> None:
    quotas = make(messages_per_minute=2)

    assert [await quotas.count_question(ADA) for _ in range(3)] == [True, True, False]
    assert [await quotas.count_command(ADA) for _ in range(3)] == [True, True, False]
    assert (await quotas.report(ADA)).person.spent.messages == 2


async def test_a_spent_quota_is_known_before_a_turn_begins_and_told_once_a_window(
    make: Make, once: Once, clock: FakeClock
) -> None:
    quotas = make(tokens_per_day_person=1500)
    assert await quotas.find_exhausted(ADA) is None
    await ask(quotas, Scripted(answer(1000, 500)))

    refusal = await quotas.find_exhausted(ADA)
    assert refusal is not None
    told = []
    for one in (ADA, ADA, ADA_ELSEWHERE, ADA):
        told.append(await once.claim(once_per_window(refusal.whose, refusal.until, one)))
        clock.started += 0.1  # a time that no float holds exactly
    assert told == [True, False, False, False]
    assert await quotas.find_exhausted(BOB_ELSEWHERE) is None

    clock.started += refusal.until - clock.wall()
    assert await quotas.find_exhausted(ADA) is None


async def ask_anyway(quotas: Quotas, payer: Payer) -> None:
    """Spend 100 tokens whatever the quotas say: as a call does that used more than was set aside."""
    with charge(payer):
        reserved = await quotas.reserve("ollama:y", Usage(1, 1))
        await quotas.settle(reserved, "ollama:y", Usage(60, 40))


async def test_today_as_a_person_and_as_an_admin_sees_it(make: Make) -> None:
    quotas = make(tokens_per_day_person=1000)
    for payer, times in ((ADA, 1), (BOB_ELSEWHERE, 2)):
        for _ in range(times):
            await quotas.count_question(payer)
            await ask_anyway(quotas, payer)

    seen = await quotas.report(ADA)
    assert (seen.person.spent.tokens, seen.person.spent.messages, seen.person.most.tokens) == (100, 1, 1000)
    assert seen.top == ()
    assert 0 < seen.resets_in <= DAY

    whole = await quotas.report(ADA, everybody=True)
    assert (whole.everybody.spent.tokens, whole.everybody.spent.messages) == (300, 3)
    assert [(person, amount.tokens) for person, amount in whole.top] == [("telegram:8", 200), ("telegram:7", 100)]


async def test_a_database_that_fails_while_settling_costs_nobody_an_answer(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    quotas = make()
    with monkeypatch.context() as patched:
        patched.setattr(store.spending, "settle", broken)
        pieces = await ask(quotas, Scripted(answer(1, 1)))

    assert isinstance(pieces[-1], Answer)
    assert "the disk is full" in caplog.text
    await ask(quotas, Scripted(answer(10, 10)))
    assert await spent(store) == 2 + 20, "it is counted with the next one"


async def test_what_tools_buy_is_on_the_quotas_of_who_asks(store: Store, make: Make) -> None:
    quotas = make(money_per_day_person=0.10, admin_share=0.2)
    purse = DayPurse(quotas)
    with charge(ADA):
        async with purse.pay("generate_image", 0.06) as payment:
            [during] = await store.spending.list_spent(["person telegram:7"], DAY)
            payment.dollars = 0.042
        async with purse.pay("search_web", 0.008) as payment:
            pass
        with pytest.raises(ValueError):
            async with purse.pay("search_web", 0.008), _nothing():
                raise ValueError("it broke")
        with pytest.raises(Unpaid) as refused:
            async with purse.pay("generate_image", 0.06):
                pass

    assert during.dollars == pytest.approx(0.06)
    assert not refused.value.retry
    for key in ("person telegram:7", "chat telegram:42/7", "* but admins", "*"):
        assert (await store.spending.list_spent([key], DAY))[0].dollars == pytest.approx(0.058)
    report = await quotas.report(ADA)
    assert [(tool, used.messages, round(used.dollars, 3)) for tool, used in report.tools] == [
        ("search_web", 2, 0.016),
        ("generate_image", 1, 0.042),
    ]
    said = write_usage(report, "en", priced=True, everybody=False)
    assert "- of this for tools: search_web 2 × $0.0080, generate_image 1 × $0.0420" in said
    assert "$0.0580 of $0.10" in said


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


async def test_a_request_that_costs_nothing_in_the_end_leaves_no_trace(store: Store, make: Make) -> None:
    quotas = make(money_per_day_person=0.10)
    with charge(ADA):
        async with DayPurse(quotas).pay("search_web", 0.008) as payment:
            payment.dollars = 0.0

    assert (await store.spending.list_spent(["person telegram:7"], DAY))[0].dollars == pytest.approx(0.0)
    assert (await quotas.report(ADA)).tools == ()


async def test_a_paid_request_that_is_stopped_counts_as_made(store: Store, make: Make) -> None:
    quotas = make()
    begun = asyncio.Event()

    async def buy() -> None:
        with charge(ADA):
            async with DayPurse(quotas).pay("generate_image", 0.25):
                begun.set()
                await asyncio.Event().wait()

    buying = asyncio.create_task(buy())
    await begun.wait()
    buying.cancel()
    await asyncio.gather(buying, return_exceptions=True)
    await quotas.close()

    assert (await store.spending.list_spent(["person telegram:7"], DAY))[0].dollars == pytest.approx(0.25)


async def test_two_hundred_purchases_at_once_spend_no_more_than_there_is(store: Store, make: Make) -> None:
    purse, bought = DayPurse(make(money_per_day=1.0, admin_share=0.2)), 0

    async def buy(number: int) -> None:
        nonlocal bought
        with charge(Payer(f"telegram:{number}", ChatId("telegram", "42", str(number)))), suppress(Unpaid):
            async with purse.pay("generate_image", 0.167) as payment:
                bought += 1
                await asyncio.sleep(0)
                payment.dollars = 0.042

    await asyncio.gather(*(buy(number) for number in range(200)))

    [spent] = await store.spending.list_spent(["*"], DAY)
    assert spent.dollars == pytest.approx(bought * 0.042)
    assert 0.8 - 0.167 < spent.dollars <= 0.8


async def test_a_workspace_that_has_spent_its_day_leaves_the_others_theirs(make: Make) -> None:
    """Whoever asks there, and in whatever chat of it."""
    quotas = make(Prices(read_prices(["ollama:m=1000/1000/1000"])), money_per_day_workspace=5.0)
    ada, bob = (Payer(f"slack:T1/{who}", ChatId("slack", "T1", f"C{who}")) for who in "AB")
    eve = Payer("slack:T2/E", ChatId("slack", "T2", "C1"))
    with charge(ada):
        await quotas.settle(await quotas.reserve("ollama:m", Usage(1_000, 500)), "ollama:m", Usage(4_000, 1_500))
    with charge(bob), pytest.raises(Unaffordable) as refused:
        await quotas.reserve("ollama:m", Usage(1_000, 500))
    spent = await quotas.find_exhausted(bob)
    assert refused.value.whose == "workspace" and spent is not None and spent.whose == "workspace"
    assert once_per_window("workspace", 1.0, bob).key == "spent workspace chat slack:T1/CB 1"
    with charge(eve):
        await quotas.settle(await quotas.reserve("ollama:m", Usage(1_000, 500)), "ollama:m", Usage(10, 10))
    assert await quotas.find_exhausted(eve) is None


async def test_usage_shows_what_a_workspace_may_spend_where_that_is_limited(make: Make) -> None:
    """A Telegram or Discord bot serves everybody by one account, which is nobody's workspace."""
    quotas = make(Prices(read_prices(["ollama:y=1000/1000/1000"])), money_per_day_workspace=5.0)
    ada, eve = Payer("slack:T1/A", ChatId("slack", "T1", "C1")), Payer("slack:T2/E", ChatId("slack", "T2", "C1"))
    for payer in (ada, replace(ada, person="slack:T1/B"), eve, ADA):
        await quotas.count_question(payer)
        await ask_anyway(quotas, payer)
    seen = await quotas.report(ada)
    assert seen.workspace == Day(Amount(200, 2, 0.2), Amount(dollars=5.0))
    shown = write_usage(seen, "en", priced=True, everybody=False)
    assert "\n- this workspace: 2 questions, 200 tokens, $0.20 of $5.00 ($4.80 left)" in shown
    assert (await quotas.report(ADA)).workspace is None
    assert (await make().report(ada)).workspace is None
