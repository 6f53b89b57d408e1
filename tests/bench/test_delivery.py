"""What the bench makes of what an emulator recorded, without a bot and without waiting."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bench import everything
from bench.delivery import UNLIMITED, Figures, Model, Watch, count, environment, evaluate, loads_of, options_of, spend
from bench.reader import Answer
from bench.setups import SETUPS, Setup
from bench.writer import Written, question
from bot.contract import ChatId, SystemClock
from bot.policy import DAY, OTHERS, Payer, Quotas
from bot.settings import QuotaSettings
from bot.store import Amount, Limit, Store
from playground.screen import Shown, Version
from playground.telegram.call import Call

MODEL = Model(tokens=20, rate=10.0)


async def recorded(setup: Setup, messages: list[Shown], *, begin: float) -> tuple[Watch, Figures]:
    """A run of one question, asked a second before its model began, of which these messages came."""
    setup.meet(0)
    answers = {0: Answer(MODEL.answer(0))}
    watch = Watch(setup, answers)
    for message in messages:
        setup.server.screen.add(message)
    await asyncio.sleep(0)
    figures = Figures(setup.name, "1 at once", 1)
    written = [Written(0, begin - 0.5, begin, begin + 1.9)]
    await asyncio.gather(watch.until_whole([0], 0.0))
    evaluate(figures, setup, watch, answers, {0: begin - 1.0}, written, begin + 9.0, MODEL)
    await watch.close()
    return watch, figures


def message(place: str, *versions: tuple[float, str], id: str = "1", author: str = "bot") -> Shown:
    return Shown(id, place, author, versions=[Version(at, text) for at, text in versions])


async def test_a_reply_is_measured_from_what_stood_on_the_screen() -> None:
    begin, text = time.monotonic(), MODEL.answer(0)
    beginning = " ".join(text.split()[:4])

    shown = message("100000", (begin + 0.5, beginning), (begin + 2.0, text))
    watch, figures = await recorded(SETUPS["telegram"](), [shown], begin=begin)

    assert watch.whole == {0}
    assert figures.first == pytest.approx([1.5])
    assert figures.lag == pytest.approx([0.1])
    assert figures.edits == [1]
    assert 0.5 < figures.waits[0] < 2.0
    assert figures.bound["waits"][0] < figures.waits[0]


async def test_pages_of_a_reply_are_one_answer_and_what_people_write_is_none() -> None:
    begin, words = time.monotonic(), MODEL.answer(0).split()
    pages = [
        message("100000", (begin + 0.1, MODEL.answer(0)), id="0", author="100000"),
        message("100000", (begin + 1.0, " ".join(words[:10])), id="1"),
        message("100000", (begin + 2.0, " ".join(words[10:])), id="2"),
    ]

    watch, figures = await recorded(SETUPS["telegram"](), pages, begin=begin)

    assert watch.whole == {0}
    assert figures.lag == pytest.approx([0.1])
    assert figures.waits[0] >= 1.0


async def test_the_quoted_question_of_a_command_is_nothing_to_read() -> None:
    begin = time.monotonic()
    shown = message("200000", (begin + 0.1, question(0)), (begin + 3.0, f"{question(0)}\n\n{MODEL.answer(0)}"), id="1")

    watch, figures = await recorded(SETUPS["discord"](), [shown], begin=begin)

    assert watch.whole == {0}
    assert figures.waits == pytest.approx([3.0])


async def test_a_reply_that_never_is_whole_is_not_counted_as_whole_and_has_no_lag() -> None:
    begin = time.monotonic()

    watch, figures = await recorded(SETUPS["telegram"](), [], begin=begin)

    assert (watch.whole, figures.lag, figures.first) == (set(), [], [])
    assert figures.waits == pytest.approx([9.0])


def test_calls_that_are_made_for_no_reply_are_not_counted() -> None:
    figures = Figures("Telegram private", "2 at once", 2)
    polls = [Call(0.0, "getUpdates", "", {})] * 9
    calls = [
        Call(0.0, "sendMessage", "7", {}),
        Call(0.0, "editMessageText", "7", {}, 429),
        Call(0.0, "sendMessage", "8", {}),
    ]

    count(figures, SETUPS["telegram"](), [*polls, *calls], 1.0)

    assert figures.calls == 1.5
    assert figures.refusals == {"editMessageText": 1}
    assert figures.used == {"bot": 0.1}


@pytest.mark.parametrize(
    ("left", "earlier", "tokens"),
    [("150000", 0, 150_000), ("150000", 3_000, 150_000), ("25%", 3_000, 400_000), ("", 3_000, 1_597_000)],
)
async def test_a_run_begins_with_so_many_of_the_days_tokens_as_are_left(
    tmp_path: Path, left: str, earlier: int, tokens: int
) -> None:
    """Those of everybody but admins, whatever earlier questions took."""
    database = f"sqlite:///{tmp_path}/bench.db"
    async with Store.open(database, clock=SystemClock()) as store:
        await store.spending.count([Limit(OTHERS, DAY, Amount())], Amount(earlier))
    await spend(database, left)

    async with Store.open(database, clock=SystemClock()) as store:
        quotas = Quotas(spending=store.spending, clock=SystemClock(), settings=QuotaSettings.model_construct())
        day = (await quotas.report(Payer("telegram:7", ChatId("telegram", "42", "7")))).others
    assert day.most.tokens - day.spent.tokens == tokens


def test_without_quotas_nothing_is_counted() -> None:
    setup = SETUPS["telegram"]()
    limited, unlimited = (environment(setup, "", "sqlite:///x", 900, left) for left in ("", UNLIMITED))

    assert limited["TOKENS_PER_DAY"] == "5625000" and "TOKENS_PER_DAY_PERSON" not in limited
    assert (unlimited["TOKENS_PER_DAY"], unlimited["TOKENS_PER_DAY_PERSON"]) == ("0", "0")
    assert "TOKENS_PER_DAY" not in environment(setup, "", "sqlite:///x", 900, "75%")


def test_one_command_runs_all_loads_for_publishing() -> None:
    parts = [options_of(given.split()) for _, given in everything.PARTS]
    names = [load.name for options in parts for load in loads_of(SETUPS["slack"](), options)]

    assert names[:3] == ["1 at once", "20 at once", "100 at once"]
    assert {"100 within 2 s", "100 within 20 s", "8 a second", "500 at once", "2.92 a second (90 %)"} < set(names)
    assert len(names) == 3 + 3 + 1 + 1 + 4
    assert [set(options.platform) for options in parts if options.chats != [500]] == [set(SETUPS)] * 3
