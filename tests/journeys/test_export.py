"""`/export` on every platform: the chat comes as a file, after its sentence, once, also after `kill -9`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_files import PLATFORMS, POSTS, PRIVATE, Place, answered, places, ready
from tests.patience import PATIENCE

EXPORT = {
    "telegram private": "/export",
    "telegram group": "/export",
    "slack direct": "export json",
    "slack mention": "export",
    "slack command": "export json",
    "discord direct": "/export json",
    "discord mention": "/export",
}


def in_one_thread(world: World, place: Place) -> Place:
    """The same place, where Slack keeps one conversation: in the thread of its first message."""
    ts: list[str] = []

    def say(text: str) -> None:
        mention = f"<@{world.slack.bot_user_id}>"
        ts.append(world.slack.say("C1", f"{mention} {text}", person="U7", thread_ts=ts[0] if ts else ""))

    return replace(place, say=say)


FILE_POSTS = POSTS | {"telegram": "sendDocument"}
FILE_POSTS.pop("discord")  # it knows a repeated post again
TEXT_POSTS = {"telegram": "sendMessage", "slack": "chat.postMessage"}


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.01)


async def files_in(*everywhere: Place) -> None:
    await until(lambda: all(place.files for place in everywhere))


async def test_a_chat_comes_as_a_file_in_every_kind_of_place(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Tea is brewed.")
    everywhere = {name: place for name, place in places(world).items() if name in EXPORT}
    everywhere["slack mention"] = in_one_thread(world, everywhere["slack mention"])
    slash = places(world)["discord slash"]
    async with start(*PLATFORMS) as bot:
        await world.discord.screen.until(lambda _: world.discord.commands.registered.get(""))
        for place in (*everywhere.values(), slash):
            place.say("What is tea?")
        await answered(bot, *everywhere.values(), slash)
        for name, place in everywhere.items():
            if name == "telegram group":
                world.telegram.say(-50, f"/export@{world.telegram.bot['username']} json", person=7)
            else:
                place.say(EXPORT[name])
        world.discord.slash("export", {"how": "json"}, 12, 7)
        await files_in(*everywhere.values(), slash)
        await bot.dispatcher.wait_idle()

    for label, place in (*everywhere.items(), ("discord slash", slash)):
        [(name, _, content)] = place.files
        if name == "chat.json":
            [turn] = json.loads(content)
            assert (turn["question"], turn["answer"]) == ("What is tea?", "Tea is brewed."), label
        else:
            assert name == "chat.md" and "> What is tea?\n\nTea is brewed." in content.decode(), label
        told = ("1 question with the answers.", "your questions in this chat, with their answers: 1.")
        assert any(one in place.text for one in told) and "chat\\" not in place.text, label
        assert [bool(message.files) for message in place.messages][-1], f"{label}: the file stands last"
    assert len(world.model.requests) == len(everywhere) + 1, "no model is asked"


@pytest.mark.parametrize("held", ["the sentence", "the file on its way", "the file that arrived"])
async def test_an_exported_file_arrives_once_over_a_kill(held: str, world: World, process: Process) -> None:
    """Where a platform cannot say whether a file arrived, its person is told so, and it is not posted again."""
    world.model.script = lambda body: Reply("Tea is brewed.")
    everywhere = [places(world)[name] for name in PRIVATE]
    await process.start()
    await ready(world)
    for place in everywhere:
        place.say("What is tea?")
    await until(lambda: all("Tea is brewed." in place.text for place in everywhere))
    let_go = asyncio.Event()
    methods = FILE_POSTS if held != "the sentence" else TEXT_POSTS
    faults = [
        getattr(world, platform).faults.add(
            method, Fault(hold=let_go) if held == "the file on its way" else Fault(hold_after=let_go)
        )
        for platform, method in methods.items()
    ]
    for place in everywhere:
        place.say("/export" if place.platform != "slack" else "export")
    await until(lambda: all(fault.reached.is_set() for fault in faults))
    await process.kill()
    for platform in PLATFORMS:
        getattr(world, platform).faults.clear()

    await process.start()
    await ready(world, starts=2)
    told = [place for place in everywhere if held != "the sentence" and place.platform != "discord"]
    await until(lambda: all("I cannot tell whether the file chat.md arrived" in place.text for place in told))
    await until(lambda: all(place.files for place in everywhere if place not in told))
    # Whatever else would come, comes before the next answer.
    world.model.script = lambda body: Reply("And on.")
    for place in everywhere:
        place.say("please go on")
    await until(lambda: all("And on." in place.text for place in everywhere))
    assert await process.stop() == 0
    let_go.set()

    for place in everywhere:
        arrived = 0 if place in told and held == "the file on its way" else 1
        assert [file[0] for file in place.files] == ["chat.md"] * arrived, place.platform
