"""A process of several is asked to end, as at each deploy: another completes what it was answering."""

from __future__ import annotations

import asyncio

from bot.sentences import say
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import World
from tests.journeys.test_fleet import Fleet, fleet  # noqa: F401 - a fixture
from tests.journeys.test_kill import PLATFORMS, Chats, name_of

STEPS = 3


async def test_a_process_that_is_stopped_hands_its_answers_over_at_their_next_stage(
    world: World,
    fleet: Fleet,  # noqa: F811
) -> None:
    chats, let_go, gone = Chats(world), asyncio.Event(), asyncio.Event()
    held: set[str] = set()

    def script(body: RawJson) -> Reply:
        name, step = name_of(body), sum(one["role"] == "tool" for one in body["messages"])
        if step == STEPS:
            return Reply(f"That is all for {name}.")
        held.add(name)
        call = ("search_web", {"query": f"tea {step} for {name}"})
        return Reply(f"Step {step} for {name}.", calls=(call,), hang_after=4, until=gone if step else let_go)

    world.model.script = script
    await fleet.start(chats)
    chats.ask()
    await chats.until(lambda: len(held) == len(PLATFORMS))
    serving = {name: fleet.serving(name) for name in PLATFORMS}
    stopped = serving["slack"]
    assert stopped is not None

    stopping = asyncio.create_task(stopped.stop())
    handed = [name for name, process in serving.items() if process is stopped]
    await chats.until(lambda: stopped.said.count("is handed over") == len(handed))
    let_go.set()
    assert await stopping == 0, "it waits for no more than one stage"
    gone.set()
    await chats.until(lambda: all(f"That is all for {name}." in "".join(chats.texts(name)) for name in PLATFORMS))

    for name in PLATFORMS:
        [text] = chats.texts(name)
        assert [text.count(f"Step {step}") for step in range(STEPS)] == [1] * STEPS, text
        assert say("shutdown", "en") not in text
    assert len(world.model.requests) == len(PLATFORMS) * (STEPS + 1)
    assert len(world.tavily.requests) == len(PLATFORMS) * STEPS
