"""What real adapters stored on the emulated platforms comes out the same offline: `parley replay`."""

from __future__ import annotations

import pytest

from bot.cli.replay import kept_settings, load, repeat
from bot.contract import reference_of
from bot.settings import configure
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
