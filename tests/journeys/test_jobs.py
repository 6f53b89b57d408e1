"""`/job`: an hour's work in one message, beside the chat's other questions, on every platform."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise

import pytest

from bot.app import App
from bot.contract import Pace
from bot.policy.budgets import DAY
from bot.turn import conversation, merging
from bot.turn.queue import Running
from playground.choices import NO_QUOTAS
from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_controls import ADA, GO_ON, PLATFORMS, STOP, Room
from tests.ownagents import Working

STEPS = ["Count the teas", "Weigh them", "Write it down"]


@pytest.fixture(params=PLATFORMS)
def room(request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr(conversation, "JOB_PACE", Pace(apart=0.05, fresh=0.05, ahead=0.3))
    monkeypatch.setattr(conversation, "JOB_FRESH_SECONDS", 0.01)
    return Room(world, request.param)


def people(body: RawJson) -> list[str]:
    return [str(one["content"]) for one in body["messages"] if one["role"] == "user"]


def is_job(body: RawJson) -> bool:
    return "Count all" in people(body)[0] or any("Count all" in text for text in people(body))


def results(body: RawJson) -> int:
    return sum(one["role"] == "tool" for one in body["messages"])


def work(body: RawJson) -> Reply:
    """Plan, work, tick off, answer: each is a pass."""
    if not is_job(body):
        return Reply("Milk is white.")
    done = results(body)
    if done == 0:
        return Reply("I begin.", calls=(("plan", {"steps": STEPS}),))
    if done == 1:
        return Reply("I count.", calls=(("calculator", {"expression": "6*7"}),))
    if done == 2:
        return Reply(calls=(("plan", {"steps": STEPS, "done": 1}),))
    return Reply("There are 42 teas.")


def job_of(bot: App) -> Running:
    [job] = [one for several in bot.dispatcher.queue._beside.values() for one in several]
    return job


async def test_a_job_shows_its_plan_and_ends_in_a_new_message(room: Room, start: Start, world: World) -> None:
    world.model.script = work
    async with start(room.platform) as bot:
        await room.ready(1)
        held = [world.model.faults.add("*", Fault(hold=asyncio.Event())) for _ in range(4)]

        async def release(number: int) -> None:
            await held[number].reached.wait()
            hold = held[number].hold
            assert hold is not None
            hold.set()

        room.ask("/job Count all teas")
        await release(0)
        await held[1].reached.wait()
        await room.until(lambda: room.shown and "☐ Weigh them" in room.shown[0].text)
        [first] = room.shown
        assert "☐ Count the teas" in first.text and "I begin." in first.text and first.buttons == [STOP]
        await release(1)
        await held[2].reached.wait()
        await room.until(lambda: "I count." in first.text)
        assert first.buttons == [STOP], "the text looks complete, and is not"
        await release(2)
        await held[3].reached.wait()
        await room.until(lambda: "☑ Count the teas" in first.text)
        assert len(room.shown) == 1 and "I count." in first.text and "I begin." not in first.text
        await release(3)
        last = await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()

    assert room.shown == [last] and last.id != first.id
    assert "plan" in str(world.model.requests[0].body["tools"])


async def test_beside_a_job_the_chat_goes_on(room: Room, start: Start, world: World) -> None:
    world.model.script = work
    async with start(room.platform) as bot:
        await room.ready(1)
        held = world.model.faults.add("*", Fault(hold=asyncio.Event()))
        room.ask("/job Count all teas")
        await held.reached.wait()
        room.ask("What is milk like?")
        await room.answered("Milk is white.")
        assert "plan" not in str(world.model.requests[1].body.get("tools"))
        assert held.hold is not None
        held.hold.set()
        await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()


async def test_what_its_person_adds_is_heard_at_the_next_pass(room: Room, start: Start, world: World) -> None:
    """A reply to its message, or `/job` again; on Slack there are no replies."""
    world.model.script = work
    async with start(room.platform) as bot:
        await room.ready(1)
        held = [world.model.faults.add("*", Fault(hold=asyncio.Event())) for _ in range(4)]
        room.ask("/job Count all teas")
        for number, words in enumerate(("/job And the coffees.", "The green ones only.")):
            await held[number].reached.wait()
            await room.until(lambda: room.shown)
            job = job_of(bot)
            if words.startswith("/") or room.platform == "slack":
                room.ask(words if words.startswith("/") else f"/job {words}")
            else:
                room.reply(room.shown[0], words)
            await room.until(partial(len, job.said))
            hold = held[number].hold
            assert hold is not None
            hold.set()
        for one in held[2:]:
            await one.reached.wait()
            assert one.hold is not None
            one.hold.set()
        await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()

    told = [people(request.body) for request in world.model.requests]
    assert len(told) == 4, "nothing else was asked"
    assert "coffees" not in told[0][-1] and told[1][-1].endswith("And the coffees.")
    assert told[2][-1].endswith("The green ones only.") and told[2][-2].endswith("And the coffees.")


async def test_what_came_too_late_for_a_job_is_asked_after_it(room: Room, start: Start, world: World) -> None:
    world.model.script = lambda body: work(body) if "late" not in people(body)[-1] else Reply("You are late.")
    async with start(room.platform) as bot:
        await room.ready(1)
        held = [world.model.faults.add("*", Fault(hold=asyncio.Event())) for _ in range(4)]
        room.ask("/job Count all teas")
        for one in held[:3]:
            await one.reached.wait()
            assert one.hold is not None
            one.hold.set()
        await held[3].reached.wait()
        room.ask("/job Am I late?")
        job = job_of(bot)
        await room.until(lambda: job.said)
        assert held[3].hold is not None
        held[3].hold.set()
        await room.answered("There are 42 teas.")
        await room.answered("You are late.")
        await bot.dispatcher.wait_idle()


async def test_what_is_too_long_for_a_job_is_asked_after_it(
    room: Room, start: Start, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "LONGEST_TEXT", 20)
    world.model.script = lambda body: work(body) if "late" not in people(body)[-1] else Reply("You are late.")
    async with start(room.platform) as bot:
        await room.ready(1)
        held = world.model.faults.add("*", Fault(hold=asyncio.Event()))
        room.ask("/job Count all teas")
        await held.reached.wait()
        room.ask("/job Am I late?")
        await room.until(partial(len, job_of(bot).said))
        assert held.hold is not None
        held.hold.set()
        await room.answered("There are 42 teas.")
        await room.answered("You are late.")
        await bot.dispatcher.wait_idle()


async def test_an_orderly_end_leaves_a_job_to_the_next_process(room: Room, start: Start, world: World) -> None:
    world.model.script = work
    async with start(room.platform):
        await room.ready(1)
        held = [world.model.faults.add("*", Fault(hold=asyncio.Event())) for _ in range(2)]
        room.ask("/job Count all teas")
        await held[0].reached.wait()
        assert held[0].hold is not None
        held[0].hold.set()
        await held[1].reached.wait()
        await room.until(lambda: room.shown and "☐ Weigh them" in room.shown[0].text)
        world.model.faults.clear()
    async with start(room.platform) as bot:
        await room.ready(2)
        await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()

    assert [one.text for one in room.shown] == ["There are 42 teas."]


async def test_a_press_stops_a_job_and_its_plan_stays(room: Room, start: Start, world: World) -> None:
    world.model.script = work
    async with start(room.platform) as bot:
        await room.ready(1)
        held = [world.model.faults.add("*", Fault(hold=asyncio.Event())) for _ in range(2)]
        room.ask("/job Count all teas")
        await held[0].reached.wait()
        assert held[0].hold is not None
        held[0].hold.set()
        await held[1].reached.wait()
        await room.until(lambda: room.shown and "Weigh them" in room.shown[0].text and room.shown[0].buttons == [STOP])
        room.press(room.shown[0], STOP)
        await bot.dispatcher.wait_idle()
        await room.until(lambda: "Stopped" in room.shown[0].text)

    [message] = room.shown
    assert "☐ Weigh them" in message.text
    assert len(world.model.requests) <= 2


async def test_a_job_whose_quota_is_used_up_keeps_its_plan_and_goes_on_at_a_press(
    room: Room, start: Start, world: World
) -> None:
    def script(body: RawJson) -> Reply:
        if "where your last answer" in people(body)[-1]:
            return Reply("There are 42 teas.")
        calls = (("plan", {"steps": STEPS, "done": min(results(body), 2)}),)
        return Reply("I read.", calls=calls, usage={"prompt_tokens": 3_000, "completion_tokens": 100})

    world.model.script = script
    async with start(room.platform, TOKENS_PER_DAY_PERSON="9000") as bot:
        await room.ready(1)
        room.ask("/job Count all teas")
        await room.until(lambda: room.shown and "resets in" in room.shown[-1].text and GO_ON in room.shown[-1].buttons)
        await bot.dispatcher.wait_idle()
        [message] = room.shown
        asked = len(world.model.requests)
        spent = await bot.store.spending.list_top("person ", DAY, 1)
    async with start(room.platform, TOKENS_PER_DAY_PERSON="90000") as bot:
        await room.ready(2)
        room.press(message, GO_ON)
        last = await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()

    assert "☑ Count the teas" in message.text and "☐ Weigh them" in message.text
    assert message.text.count("resets in") == 1 and "press Continue then, or write" in message.text
    assert spent[0][1].tokens <= 9_000 and asked < len(world.model.requests)
    assert last.text == "There are 42 teas." and "plan" in str(world.model.requests[-1].body["tools"])


async def killed_at(passes: Sequence[int], world: World, process: Process, platform: str) -> None:
    """Kill the process whenever it has asked for one of these passes; at the end, look at what is shown and stored."""
    room, last = Room(world, platform), max(passes) + 1
    go_on = asyncio.Event()

    def script(body: RawJson) -> Reply:
        done = results(body)
        if done == last:
            return Reply("There are 42 teas.")
        plan = ("plan", {"steps": [f"Count shelf {number}" for number in range(16)], "done": done // 2})
        calls = (plan if done % 2 == 0 else ("calculator", {"expression": f"{done}+1"}),)
        if done in passes and not go_on.is_set():
            return Reply(hang_before_headers=True, until=go_on)
        return Reply(calls=calls)

    world.model.script = script
    others = {"telegram": "TELEGRAM_BOT_TOKEN", "slack": "SLACK_BOT_TOKEN", "discord": "DISCORD_BOT_TOKEN"}
    # A hundred thousand tokens a day, as many as are given out by default, are read by twenty passes.
    world.settings |= {name: "" for other, name in others.items() if other != platform} | dict(NO_QUOTAS)
    await process.start()
    await room.ready(1)
    room.ask("/job Count all teas")
    # A post that the process dies in, Telegram cannot find again.
    await room.until(partial(posted, world))
    for start, number in enumerate(passes, 2):
        await room.until(partial(reached, world, number))
        await process.kill()
        go_on.set()
        await asyncio.sleep(0)
        go_on = asyncio.Event()
        world.model.requests.clear()
        passes = [one for one in passes if one != number]
        await process.start()
        await room.ready(start)
    await room.answered("There are 42 teas.")

    await room.until(lambda: [one.text for one in room.shown] == ["There are 42 teas."])
    assert await process.stop() == 0
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        calls = db.execute("SELECT name, status FROM calls").fetchall()
    assert len(calls) == last and {status for _, status in calls} == {"completed"}


def posted(world: World) -> bool:
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        return bool(db.execute("SELECT 1 FROM pages WHERE message IS NOT NULL").fetchall())


def reached(world: World, number: int) -> bool:
    return any(results(request.body) == number for request in world.model.requests)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_job_outlives_more_kills_than_a_turn_may(world: World, process: Process, platform: str) -> None:
    """Each process brought it on by a pass, so none of them counts as one that died of it."""
    await killed_at([1, 2, 3, 4], world, process, platform)


@pytest.mark.soak
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_job_outlives_thirty_kills(world: World, process: Process, platform: str) -> None:
    await killed_at(range(1, 31), world, process, platform)


async def test_a_job_of_a_slash_command_outlives_its_token(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "JOB_PACE", Pace(apart=0.05, fresh=0.05, ahead=0.3))
    world.model.script = work
    room = Room(world, "discord")
    async with start("discord") as bot:
        await room.ready(1)
        held = [world.model.faults.add("*", Fault(hold=asyncio.Event())) for _ in range(4)]
        object.__setattr__(world.discord.limits, "token_lives", 1.0)
        world.discord.slash("job", {"task": "Count all teas"}, int(room.chat), ADA)
        for one in held:
            await one.reached.wait()
            await asyncio.sleep(0.5)
            assert one.hold is not None
            one.hold.set()
        await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()
    assert sum("42 teas" in one.text for one in room.shown) == 1


async def test_an_agent_of_ones_own_works_for_long(room: Room, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Working, "go_on", go_on := {step: asyncio.Event() for step in Working.steps})
    monkeypatch.setattr(Working, "seconds", [])
    async with start(room.platform, AGENT="tests.ownagents:Working") as bot:
        await room.ready(1)
        room.ask("Count all teas")
        await room.until(lambda: room.shown and "☐ Read" in room.shown[0].text)
        [first] = room.shown
        assert "I begin to read." in first.text and first.buttons == [STOP] and Working.seconds[0] > 3500
        go_on["Read"].set()
        await room.until(lambda: "☑ Read" in first.text)
        assert "begin to read" not in first.text
        go_on["Write"].set()
        last = await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()

    assert room.shown == [last] and last.id != first.id


@pytest.mark.soak
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_an_hour_of_work_is_shown_every_few_seconds(world: World, start: Start, platform: str) -> None:
    """Neither Slack's five minutes for a stream nor Discord's quarter of an hour can be seen."""
    room, passes, planned = Room(world, platform), 13, dict[int, float]()
    now = asyncio.get_running_loop().time

    def script(body: RawJson) -> Reply:
        done = results(body)
        if any("Weigh all" in text for text in people(body)):
            done = 0 if body["messages"][-1]["role"] == "user" else 1
        else:
            planned[done] = now()
        if done == passes:
            return Reply("There are 42 teas.")
        steps = [f"Count shelf {number}" for number in range(passes)]
        words = " ".join(f"word{number}" for number in range(12))
        plan = ("plan", {"steps": steps, "done": done})
        return Reply(words, calls=(plan,), words_per_second=1 / 23, whole_calls=True)

    world.model.script = script
    async with start(platform) as bot:
        await room.ready(1)
        room.ask("/job Count all teas")
        async with asyncio.timeout(4_500):
            while not any(one.text == "There are 42 teas." for one in room.shown):
                await asyncio.sleep(10.0)
        await bot.dispatcher.wait_idle()
        first, last = [one for one in room.screen.messages if one.chat == room.chat and one.author == "bot"]
        room.ask("/job Weigh all teas")
        async with asyncio.timeout(400):
            while not (room.shown[-1] is not last and STOP in room.shown[-1].buttons):
                await asyncio.sleep(1.0)
        second, pressed = room.shown[-1], now()
        room.press(second, STOP)
        await room.until(lambda: "Stopped" in second.text)
        await bot.dispatcher.wait_idle()

    assert second.versions[-1].at - pressed <= 1.0
    assert first.deleted and first not in room.shown and planned[passes] - planned[0] > 3_500
    assert list(planned) == list(range(passes + 1)), "a step was made twice"
    changes = [version.at for version in first.versions]
    assert min(later - earlier for earlier, later in pairwise(changes[1:])) >= 4.9
    for number in range(2, passes):
        ticked = next(one.at for one in first.versions if one.text.count("☑") == number - 1)
        assert ticked - planned[number] <= 10.0
