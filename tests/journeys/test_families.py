"""A model that writes its calls as text, in every family there is: the call runs, the answer comes, no syntax shows."""

from __future__ import annotations

from playground.model import Reply
from playground.model.textcalls import FORMATS
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World

# What only call syntax holds; the answers and the words around the calls hold none of it.
SYNTAX = (
    "calculator",
    "17 * 23",
    "17*23",
    "tool",
    "arg",
    "invoke",
    "function",
    "{",
    "}",
    "|",
    "｜",
    "<",
    "[",
    "使用工具",
)


async def test_every_family_is_executed_and_never_shown(world: World, start: Start) -> None:
    names = sorted(FORMATS)

    def answer(body: RawJson) -> Reply:
        last = str(body["messages"][-1]["content"])
        if body["messages"][-1]["role"] == "tool" or "<tool_result" in last:
            assert "391" in last, last
            asked = next(m["content"] for m in reversed(body["messages"]) if str(m["content"]).startswith("sum "))
            return Reply(f"It makes three hundred and ninety one, by way of {asked.split()[1]}.", words_per_second=200)
        family = names[int(last.split()[1])]
        return Reply(
            calls=(("calculator", {"expression": "17 * 23"}),), text_calls=family, words_per_second=150
        )  # fmt: skip

    world.model.script = answer
    async with start("telegram", TOOL_MODE="prompt") as bot:
        for number, _ in enumerate(names):
            world.telegram.person(100 + number, f"P{number}")
            world.telegram.say(100 + number, f"sum {number} please", person=100 + number)
        await world.telegram.screen.until(
            lambda screen: all(screen.of(str(100 + number)) for number in range(len(names))), 60
        )
        await bot.dispatcher.wait_idle()

    wrong = {}
    for number, name in enumerate(names):
        messages = world.telegram.screen.of(str(100 + number))
        final = f"It makes three hundred and ninety one, by way of {number}."
        shown = [version.text for message in messages for version in message.versions]
        # The status line names the sum that is being made; it is no call syntax.
        leaks = [text for text in shown if not text.startswith("🧮") and any(piece in text for piece in SYNTAX)]
        if [message.text for message in messages] != [final] or leaks:
            wrong[name] = (shown, leaks)
    assert not wrong
    assert len(names) >= 30
