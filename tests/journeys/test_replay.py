"""What real adapters stored on the emulated platforms comes out the same offline: `parley replay`."""

from __future__ import annotations

import random

import pytest

from bot.cli.replay import kept_settings, load, repeat
from bot.contract import reference_of
from bot.settings import configure
from playground.faults import Fault
from playground.model import Reply
from playground.model.texts import long_answer
from tests.journeys.conftest import Start, World
from tests.journeys.test_platforms import WAYS, person

SEARCH = ("search_web", {"query": "green tea price Kyoto"})
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
