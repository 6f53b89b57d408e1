"""What servers really stream, on every platform and in both modes, is shown once and whole."""

from __future__ import annotations

import base64
import json

import pytest

from playground.model import Reply
from tests.conftest import RawJson, RawObject
from tests.journeys.conftest import Start, World, more_than

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE: RawObject = {"image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}}
SAID = "It is 391."
ARGUMENTS = '{"expression": "17*23"}'
DONE = "data: [DONE]"


def event(finish: str | None = None, *, index: int = 0, message: RawJson = None, **delta: RawJson) -> str:
    choice: RawObject = {"index": index, "delta": delta, "finish_reason": finish}
    return json.dumps({"choices": [choice | ({"message": message} if message else {})]})


def data(*events: str) -> tuple[str, ...]:
    return (*(f"data: {one}" for one in events), DONE)


def call(arguments: RawJson, identifier: str = "", name: str = "") -> str:
    function: RawObject = {"arguments": arguments, **({"name": name} if name else {})}
    return event(tool_calls=[{"index": 0, "function": function, **({"id": identifier} if identifier else {})}])


TEXTS = {
    "[DONE] without a reason": data(event(content="It is "), event(content="391.")),
    "a whole message at the end": data(
        event(content="It is "), event(content="391."), event("stop", message={"role": "assistant", "content": SAID})
    ),
    "an index that counts": data(event(content="It is ", index=0), event("stop", content="391.", index=1)),
    "two events in a line": data(event(content="It is ") + event(content="391."), event("stop")),
    "a frame cut off": data(event(content="It is "), event(content="x")[:40] + event("stop", content="391.")),
}
CALLS = {
    "arguments sent anew": [call('{"expression"', "a", "calculator"), call('{"expression": "17'), call(ARGUMENTS)],
    "the whole once more": [call('{"expression"', "a", "calculator"), call(': "17*23"}'), call(ARGUMENTS)],
    "empty ones first": [call("{}", "a", "calculator"), call(ARGUMENTS)],
    "objects in parts": [call({}, "a", "calculator"), call({"expression": "17*23"})],
    "an unknown ending": [call(ARGUMENTS, "a", "calculator"), event("unknown")],
}


@pytest.mark.parametrize("mode", ["native", "prompt"])
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_every_shape_is_shown_once_and_whole(world: World, start: Start, platform: str, mode: str) -> None:
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    place = {"telegram": "7", "slack": world.slack.direct("U7"), "discord": str(world.discord.direct(7).id)}[platform]
    screens = {"telegram": world.telegram.screen, "slack": world.slack.screen, "discord": world.discord.screen}
    screen = screens[platform]
    texts, calls = list(TEXTS.values()), [data(*lines) for lines in CALLS.values()] if mode == "native" else []

    def say(text: str) -> None:
        match platform:
            case "telegram":
                world.telegram.say(7, text, person=7)
            case "slack":
                world.slack.say(place, text, person="U7")
            case _:
                world.discord.say(int(place), text, person=7)

    def answer(body: RawJson) -> Reply:
        last = body["messages"][-1]
        if last["role"] == "tool":
            assert "391" in last["content"]
            return Reply(SAID)
        number = int(str(last["content"]).split()[-1])
        if number == len(texts) + len(calls):
            return Reply(chunks=({"content": SAID}, {"images": [PICTURE]}, {"images": [PICTURE]}))
        return Reply(lines=(*texts, *calls)[number])

    world.model.script = answer
    async with start(platform, TOOL_MODE=mode, REPLY_BUTTONS="false") as bot:
        for number in range(len(texts) + len(calls) + 1):
            before = len(screen.of(place))
            say(f"what is 17*23, in shape {number}")
            await screen.until(more_than(before, place))
            await bot.dispatcher.wait_idle()
            shown = screen.of(place)[before:]
            assert "".join(message.text for message in shown).strip() == SAID, number
        assert [file[2] for message in screen.of(place) for file in message.files] == [PNG]


async def test_a_server_that_wants_its_reasoning_back_answers_from_the_result_on_every_platform(
    world: World, start: Start
) -> None:
    world.model.wants_reasoning = "calls"
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    slack, discord = world.slack.direct("U7"), world.discord.direct(7).id
    places = ((world.telegram.screen, "7"), (world.slack.screen, slack), (world.discord.screen, str(discord)))

    def answer(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply(SAID)
        return Reply(reasoning="I had better calculate it.", calls=(("calculator", json.loads(ARGUMENTS)),))

    world.model.script = answer
    async with start("telegram", "slack", "discord", TOOL_MODE="native") as bot:
        for number in range(2):
            world.telegram.say(7, "what is 17*23?", person=7)
            world.slack.say(slack, "what is 17*23?", person="U7")
            world.discord.say(discord, "what is 17*23?", person=7)
            for screen, place in places:
                await screen.until(more_than(number, place))
            await bot.dispatcher.wait_idle()

    for screen, place in places:
        assert [message.text for message in screen.of(place)] == [SAID] * 2, place
    refused = [request.status for request in world.model.requests].count(400)
    assert 1 <= refused <= 3, "once for each question that was under way when it was learned"
