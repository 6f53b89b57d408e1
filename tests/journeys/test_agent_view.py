"""Slack's own forms in a running program: an agent's conversations, and the cards of tools above a stream."""

from __future__ import annotations

from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World

SENTENCE = "This is a sentence of the answer, and it takes a moment to read. "
ANSWER = f"{SENTENCE * 20}It ends with end-of-answer."


async def test_an_agents_conversation_begins_with_suggestions_and_keeps_its_title(
    world: World, process: Process
) -> None:
    """Also when the program is killed between two questions."""
    slack = world.slack
    slack.scopes.add("assistant:write")
    slack.subscriptions.update({"agent_session_stopped", "app_home_opened"})
    slack.person("U1", "ann")
    channel = slack.direct("U1")
    world.model.script = lambda _: Reply("It is steamed.", reasoning=SENTENCE, words_per_second=12)
    await process.start()
    await slack.sockets.until_connected(1)
    slack.open_messages_tab("U1")
    await slack.screen.until(lambda screen: any("What can you do for me?" in what for _, _, what in screen.notices))
    root = slack.say(channel, "why is tea green", person="U1")
    await slack.screen.until(lambda screen: len(screen.of(channel, thread=root)) == 1, 60)
    await process.kill()
    await process.start()
    await slack.sockets.until_connected(since=2)
    slack.say(channel, "and why is it black", person="U1", thread_ts=root)
    await slack.screen.until(
        lambda screen: (
            [one.text for one in screen.of(channel)] == ["It is steamed."] * 2
            and slack.workspace.sessions.get((channel, root)) == "active"
        ),
        60,
    )
    assert await process.stop() == 0

    assert [one.thread for one in slack.screen.of(channel)] == [root] * 2
    assert slack.workspace.titles == {(channel, root): "why is tea green"}
    assert len(slack.workspace.prompts) == 1


async def test_a_tool_is_a_card_above_the_stream_of_its_answer(world: World, process: Process) -> None:
    slack = world.slack
    slack.channel("C1", "general")
    slack.person("U1", "ann")
    slack.faults.add("chat.update", Fault(status=429, retry_after=400))

    def script(body: RawJson) -> Reply:
        last = body["messages"][-1]
        if "second" in str(last["content"]) and last["role"] == "user":
            return Reply(calls=(("calculator", {"expression": "2 + 2"}),))
        return Reply(ANSWER, words_per_second=100)

    world.model.script = script
    await process.start()
    await slack.sockets.until_connected(1)
    # The edits of this workspace are refused for a while, so the next answer is a stream.
    slack.say("C1", f"<@{slack.bot_user_id}> first", person="U1")
    await slack.screen.until(lambda screen: any("end-of-answer" in one.text for one in screen.of("C1")), 60)
    question = slack.say("C1", f"<@{slack.bot_user_id}> second: what is 2 + 2", person="U1")
    await slack.screen.until(lambda screen: [one.text for one in screen.of("C1", thread=question)] == [ANSWER], 60)
    assert await process.stop() == 0

    [shown] = slack.screen.of("C1", thread=question)
    assert len(shown.cards) == 1 and shown.cards[0].startswith("✓ ") and not shown.live
