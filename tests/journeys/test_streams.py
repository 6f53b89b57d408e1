"""`kill -9` while an answer stands in a stream of Slack's: the next process completes it, once."""

from __future__ import annotations

import asyncio

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World
from tests.patience import PATIENCE

SENTENCE = "This is a sentence of the answer, and it takes a moment to read. "
ANSWER = f"{SENTENCE * 20}It ends with end-of-answer."


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("startStream", "before"),
        ("startStream", "after"),
        ("appendStream", "before"),
        ("appendStream", "after"),
        ("stopStream", "before"),
        ("stopStream", "after"),
    ],
)
async def test_a_kill_during_a_stream_leaves_one_whole_answer(
    world: World, process: Process, method: str, fault: str
) -> None:
    slack, killed = world.slack, asyncio.Event()
    slack.channel("C1", "general")
    slack.person("U1", "ann")
    slack.faults.add("chat.update", Fault(status=429, retry_after=400))

    def script(body: RawJson) -> Reply:
        if "first" in str(body["messages"][-1]["content"]):
            return Reply(ANSWER, words_per_second=100)
        return Reply(ANSWER, words_per_second=100 if killed.is_set() else 25)

    world.model.script = script
    await process.start()
    await slack.sockets.until_connected(1)
    # The edits of this workspace are refused for a while, so the next answer is a stream.
    slack.say("C1", f"<@{slack.bot_user_id}> first", person="U1")
    await slack.screen.until(lambda screen: any("end-of-answer" in one.text for one in screen.of("C1")), 60)
    let_go = asyncio.Event()
    held = Fault(hold_after=let_go) if fault == "after" else Fault(hold=let_go)
    slack.faults.add(f"chat.{method}", held)
    question = slack.say("C1", f"<@{slack.bot_user_id}> second", person="U1")
    async with asyncio.timeout(PATIENCE):
        await held.reached.wait()
    await process.kill()
    killed.set()
    let_go.set()
    await process.start()
    await slack.sockets.until_connected(since=2)
    await slack.screen.until(lambda screen: [one.text for one in screen.of("C1", thread=question)] == [ANSWER], 60)
    assert await process.stop() == 0

    [shown] = slack.screen.of("C1", thread=question)
    assert shown.text == ANSWER and not shown.live
    assert slack.refusals == 1, "the one that was asked for"
