"""What tools that are left to some people found: told in their turns, and in nobody else's."""

from __future__ import annotations

from bot.context import withhold
from bot.contract import AssistantEntry, Entry, ToolEntry, UserEntry
from playground.model import Reply
from tests.bot.conftest import InGroup, OpenRig
from tools.contract.base import ToolCall

ADA, BOB = "telegram:5", "telegram:6"
GROUP: InGroup = {"chat": "-50", "group": True}
LEFT_OUT = "left out"


async def test_what_a_limited_tool_found_is_told_only_to_who_may_use_it(rig: OpenRig) -> None:
    async with rig(TOOLS_FOR=f"calculator={ADA}") as it:
        it.model.reply(Reply(calls=(("calculator", {"expression": "1234*1000"}),)), Reply("It is more than a million."))
        await it.say("1234*1000?", person=ADA, **GROUP)
        for person in (BOB, ADA):
            it.model.reply(Reply(f"Hello {person}."))
            await it.say("And tea?", person=person, **GROUP)
        bobs, adas = (str(request.body["messages"]) for request in it.model.requests[-2:])

    assert LEFT_OUT in bobs and "more than a million" in bobs
    assert "1234000" not in bobs and "1234*1000'" not in bobs.replace('"', "'").replace("1234*1000?", "")
    assert "1234000" in adas and LEFT_OUT not in adas


async def test_a_summary_is_not_made_from_what_a_limited_tool_found(rig: OpenRig) -> None:
    async with rig(TOOLS_FOR=f"calculator={ADA}", SUMMARY_AT="200") as it:
        it.model.reply(Reply(calls=(("calculator", {"expression": "1234*1000"}),)), Reply("A million. " * 200))
        await it.say("1234*1000?", person=ADA, **GROUP)
        it.model.script = lambda body: Reply("It rained. " * 200)
        for _ in range(3):
            await it.say("And the weather?", person=ADA, **GROUP)
            await it.bot.summaries.wait_idle()
        asked = [str(one.body) for one in it.model.requests if "keep the memory" in str(one.body)]

    assert asked and "A million." in asked[0]
    assert "1234000" not in "".join(asked)


def test_calls_of_other_tools_stay_as_they_are() -> None:
    calls = (ToolCall("1", "calculator", {"expression": "6*7"}), ToolCall("2", "get_time", {"zone": "Asia/Tokyo"}))
    asked = AssistantEntry(text="I look.", calls=calls, written="<call>6*7</call>", raw={"tool_calls": ["6*7"]})
    history: list[Entry] = [
        UserEntry("6*7?"),
        asked,
        ToolEntry("1", "calculator", "42", whole="42"),
        ToolEntry("2", "get_time", "9"),
    ]

    user, call, left_out, kept = withhold(history, lambda name: name == "get_time")

    assert user is history[0] and kept is history[3]
    assert isinstance(call, AssistantEntry) and isinstance(left_out, ToolEntry)
    assert [dict(one.arguments) for one in call.calls] == [{}, {"zone": "Asia/Tokyo"}]
    assert (call.text, call.written, call.raw) == ("I look.", "", {})
    assert LEFT_OUT in left_out.text and left_out.whole == "" and left_out.call_id == "1"
    assert withhold(history, lambda name: True) == history
