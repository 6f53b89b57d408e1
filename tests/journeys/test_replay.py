"""What real adapters stored on the emulated platforms comes out the same offline: `parley replay`."""

from __future__ import annotations

import asyncio
import random
import runpy
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.cli.replay import kept_settings, load, repeat
from bot.cli.replaytest import record
from bot.contract import SystemClock, reference_of
from bot.settings import configure
from bot.store import Store, TurnRecord
from playground.faults import Fault
from playground.model import Reply
from playground.model.texts import long_answer
from playground.screen import Shown
from tests.journeys.conftest import Start, World
from tests.journeys.test_controls import AGAIN, BAD, GO_ON, PLATFORMS, Room
from tests.journeys.test_platforms import WAYS, person

SEARCH = ("search_web", {"query": "green tea price Kyoto"})
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
SCRIPTS = {
    "plain": (Reply("Tea is a **leaf**.", reasoning="They ask about tea."),),
    "search": (Reply(calls=(SEARCH,)), Reply("It costs 800 yen [1].")),
    "several tools": (
        Reply(
            "One moment.",
            calls=(SEARCH, ("calculator", {"expression": "6*7"}), ("calculator", {"expression": "1/0"})),
        ),
        Reply(calls=(("search_web", {"query": "matcha"}),)),
        Reply("Tea [1], and 42."),
    ),
    "written calls": (
        Reply(calls=(("calculator", {"expression": "2+3"}),), text_calls="hermes"),
        Reply("It is 5."),
    ),
    "long": (Reply(long_answer()),),
}


@pytest.mark.parametrize("way", WAYS)
async def test_what_was_stored_of_a_real_platform_comes_out_the_same(way: str, world: World, start: Start) -> None:
    ada = person(world, way)
    async with start(ada.platform, SHOW_TOOLS="line", SHOW_REASONING="quote") as bot:
        for replies in SCRIPTS.values():
            world.model.reply(*replies)
            await ada.ask(bot, "please look up what green tea costs in Kyoto")
    core = configure().core

    found = {}
    for number, kind in enumerate(SCRIPTS, 1):
        recording = await load(core.database_url, reference_of(number))
        assert len(recording.stands) == recording.pages
        found[kind] = await repeat(recording, kept_settings(core))

    assert found == {kind: [] for kind in SCRIPTS}


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_answers_that_a_person_rates_as_bad_become_tests(
    platform: str, world: World, start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room, picture = Room(world, platform), {"image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    drawn = Reply(chunks=({"content": "A cat."}, {"images": [picture]}))
    async with start(platform, MESSAGES_PER_MINUTE="0") as bot:

        async def rated(words: str) -> Shown:
            """Wait for an answer, and press 👎 under it."""
            await room.until(lambda: any(words in one.text and BAD in one.buttons for one in room.shown))
            await bot.dispatcher.wait_idle()
            answer = next(one for one in room.shown if words in one.text)
            room.press(answer, BAD)
            await room.until(lambda: rated_in(world) == len(rates) + 1)
            rates.append(words)
            return answer

        rates = list[str]()
        world.model.reply(Reply("Tea is a leaf that", finish_reason="length"))
        room.ask("What is tea?")
        cut = await rated("Tea is a leaf that")
        world.model.reply(Reply("grows in Uji."))
        room.press(cut, GO_ON)
        further = await rated("grows in Uji.")
        world.model.reply(Reply(calls=(SEARCH,)), Reply("grows in Kyoto [1]."))
        room.press(further, AGAIN)
        await rated("grows in Kyoto")
        world.model.reply(drawn)
        room.ask("Draw a cat.")
        await rated("A cat.")
        core = configure().core
        async with Store.open(core.database_url, clock=SystemClock()) as store:
            turns = [one.id async for one in bad(store)]

    for turn in turns:
        file = tmp_path / f"test_{turn}.py"
        assert await record(configure(), reference_of(turn), str(file), str) == 0, capsys.readouterr().out
        await asyncio.to_thread(runpy.run_path(str(file))["test_the_turn_comes_out_the_same"])
    assert len(turns) == 4


def rated_in(world: World) -> int:
    """Return how many turns are rated."""
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM turns WHERE rating <> ''").fetchone()[0])


async def bad(store: Store) -> AsyncIterator[TurnRecord]:
    """Yield the turns that a person rated as bad."""
    for turn in range(1, await store.turns.find_newest() + 1):
        one = await store.turns.find_record(turn)
        if one is not None and one.rating == "bad":
            yield one


TURNS = 334
"""Stored turns of each platform, together a thousand; about a quarter of an hour for each."""
TEXT = "tea Kyoto **Uji** `matcha` [1] 800 yen. 茶 é 🍵 a_b *and* 1. - # > https://example.org/a?b=c <b> | done"
WORDS = TEXT.split()


def _vary(seed: random.Random) -> tuple[Reply, ...]:
    """Return what a model says to one question: some passes with calls, native or written, then an answer."""
    passes = []
    for _ in range(seed.choice((0, 0, 1, 1, 2))):
        searches = [("search_web", {"query": " ".join(seed.choices(WORDS, k=3))}) for _ in range(4)]
        sums = [f"{seed.randrange(99)}*{seed.randrange(99)}", "1/0", f"{seed.randrange(99)}+1"]
        calls = [*searches, *(("calculator", {"expression": one}) for one in sums)]
        calls = seed.sample(calls, seed.randrange(1, 6))
        said = seed.choice(("", "One moment.", "I look it up, **at once**."))
        passes.append(Reply(said, calls=tuple(calls), text_calls=seed.choice(("", "", "hermes"))))
    many = seed.choice((5, 40, 200, 900))
    lines = [" ".join(seed.choices(WORDS, k=min(many, 60))) for _ in range(1 + many // 60)]
    answer = "Well: " + seed.choice(("\n", "\n\n")).join(lines)
    return (*passes, Reply(answer, reasoning=seed.choice(("", "They ask about tea."))))


@pytest.mark.soak
@pytest.mark.parametrize("way", ["telegram", "slack direct", "discord direct"])
async def test_a_thousand_stored_turns_come_out_the_same(way: str, world: World, start: Start) -> None:
    seed, ada = random.Random(way), person(world, way)
    unlimited = dict.fromkeys(("MESSAGES_PER_MINUTE", "TOKENS_PER_DAY", "TOKENS_PER_DAY_PERSON"), "0")
    world.tavily.per_minute = 1_000_000
    # Of several searches at once, the order in which they end decides their numbers.
    world.tavily.faults.source = lambda _: Fault(delay=seed.choice((0.0, 0.0, 0.02, 0.05, 0.2)))
    async with start(ada.platform, SHOW_TOOLS="line", SUMMARY_AT="1.0", **unlimited) as bot:
        for number in range(TURNS):
            world.model.reply(*_vary(seed))
            await ada.ask(bot, f"please look up {seed.choice(WORDS)}, number {number}")
    core, found = configure().core, {}

    for number in range(1, TURNS + 1):
        if differences := await repeat(await load(core.database_url, reference_of(number)), kept_settings(core)):
            found[number] = differences

    assert not found
