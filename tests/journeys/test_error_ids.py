"""A sentence about a failure names the failure by an id that the log knows, and tells nothing of the inside."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from bot import sentences
from bot.contract.errors import StoreError
from bot.contract.limits import Limits
from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

ID = re.compile(r"[0-9a-f]{6}")
INSIDE = re.compile(
    r"https?:|127\.0\.0\.1|\bline \d|Traceback|\.py\b|/work|/tmp|/home|Error\b|Exception|You are Parley|sk-"
)
LEAKY = 'POST https://user@host.example/v1/chat failed in /srv/app/client.py, line 7: "You are Parley, an assistant"'
BRIEF = Limits(first_token_seconds=0.8, idle_seconds=2.0)
SHORT = {"TOOL_MODE": "native"}
FAILURES = (
    *(
        "busy",
        "away",
        "dropped",
        "slow",
        "refused",
        "too_long",
        "too_long_for_window",
        "window_too_small",
        "too_much_found",
    ),
    *("empty", "empty_after_tools", "failed", "store"),
)


@dataclass(frozen=True)
class Case:
    """One way to fail, and how the sentence about it begins."""

    name: str
    replies: tuple[Reply, ...]
    begins: str


CASES = (
    Case("key refused", (Reply.refusal(401, LEAKY),), "The model is not set up correctly."),
    Case("request refused", (Reply.refusal(400, LEAKY),), "The model is not set up correctly."),
    Case("server fails", (Reply.refusal(500, LEAKY),) * 4, "The model is overloaded right now."),
    Case("error in the stream", (Reply("x", error_object=0, error={"message": LEAKY}),) * 4, "The model"),
    Case(
        "dropped", (Reply("Half of it", drop_after=4), Reply("x", drop_after=0)), "The model's answer broke off here."
    ),
    Case("silent", (Reply(hang_before_headers=True),), "The model did not answer in time."),
    Case("too long", (Reply.too_long(),) * 3, "The model takes only"),
    Case("empty", (Reply(""),) * 3, "The model gave no answer."),
    Case("invisible", (Reply("\u200b\u2060"),) * 3, "The model gave no answer."),
    Case(
        "nothing after a tool",
        (Reply(calls=(("calculator", {"expression": "1+1"}),)), *[Reply("")] * 4),
        "I used calculator, but could not write an answer",
    ),
    Case(
        "no answer to the last question after a tool",
        (Reply(calls=(("calculator", {"expression": "1+1"}),)), Reply(""), Reply(""), *[Reply.refusal(500, LEAKY)] * 4),
        "I used calculator, but could not write an answer",
    ),
)


def assert_fits(text: str, begins: str, said: str) -> None:
    """The sentence is there, with an id that stands in the log, and nothing of the inside."""
    sentence = text[text.index(begins) :]
    references = ID.findall(sentence)
    assert len(references) == 1, text
    assert references[0] in said, f"{references[0]} is not in the log: {said[-500:]}"
    assert not INSIDE.search(text), text


async def test_every_failure_of_a_model_is_told_with_an_id_and_nothing_else(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = {str(100 + number): list(case.replies) for number, case in enumerate(CASES)}

    def script(body: RawJson) -> Reply:
        asked = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
        return waiting[re.findall(r"as number (\d+)", " ".join(asked))[-1]].pop(0)

    world.model.script = script
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        for number in range(100, 100 + len(CASES)):
            world.telegram.person(number, "Ada")
            world.telegram.say(number, f"please fail as number {number}", person=number)
        async with asyncio.timeout(PATIENCE):
            while not all(world.telegram.screen.of(str(number)) for number in range(100, 100 + len(CASES))):
                await asyncio.sleep(0.01)
        await bot.dispatcher.wait_idle()

    for number, case in enumerate(CASES, 100):
        text = "\n".join(message.text for message in world.telegram.screen.of(str(number)))
        assert_fits(text, case.begins, caplog.text)


async def broken(*given: object, **named: object) -> object:
    raise RuntimeError(LEAKY)


async def locked(*given: object, **named: object) -> object:
    raise StoreError(LEAKY)


@pytest.mark.parametrize(
    ("place", "fault", "begins"),
    [
        ("turns.load", broken, "Something went wrong on my side"),
        ("turns.load", locked, "I can't save messages right now"),
        ("intake.take_in", locked, "I can't save messages right now"),
    ],
)
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_failure_of_our_own_is_told_with_an_id_and_nothing_else(
    platform: str,
    place: str,
    fault: Callable[..., Any],
    begins: str,
    world: World,
    start: Start,
    caplog: pytest.LogCaptureFixture,
) -> None:
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    world.telegram.person(7, "Ada")
    chats = {"telegram": "7", "slack": world.slack.direct("U7"), "discord": world.discord.direct(7).id}
    world.model.script = lambda body: Reply("Well again.")
    async with start(platform) as bot:
        part, _, name = place.partition(".")
        owner = getattr(bot.store, part)
        kept = getattr(owner, name)
        setattr(owner, name, fault)
        server, chat = getattr(world, platform), chats[platform]
        server.say(
            int(chat) if platform == "telegram" else chat, "please fail", person="U7" if platform == "slack" else 7
        )
        await server.screen.until(lambda screen: any(begins in one.text for one in screen.of(chat)))
        text = next(one.text for one in server.screen.of(chat) if begins in one.text)
        setattr(owner, name, kept)

    assert_fits(text, begins, caplog.text)


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_model_that_cannot_be_reached_is_called_so(
    platform: str, world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not busy, and whoever runs the bot finds the address in the log."""
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    world.telegram.person(7, "Ada")
    chat = {"telegram": "7", "slack": world.slack.direct("U7"), "discord": world.discord.direct(7).id}[platform]
    server, begins = getattr(world, platform), "The model cannot be reached right now."
    async with start(platform, OPENAI_BASE_URL="http://127.0.0.1:9/v1") as bot:
        server.say(
            int(chat) if platform == "telegram" else chat, "what is tea?", person="U7" if platform == "slack" else 7
        )
        await server.screen.until(lambda screen: any(begins in one.text for one in screen.of(chat)))
        await bot.dispatcher.wait_idle()

    text = next(one.text for one in server.screen.of(chat) if begins in one.text)
    assert_fits(text, begins, caplog.text)
    assert "openai:scripted cannot be reached at 127.0.0.1:9" in caplog.text


async def test_a_file_that_cannot_be_posted_is_told_with_the_turn(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.telegram.person(7, "Ada")
    refusal = '{"ok":false,"error_code":400,"description":"Bad Request: can\'t parse entities: /srv/bot.py"}'
    for method in ("sendPhoto", "sendDocument"):
        world.telegram.faults.add(method, Fault(status=400, body=refusal))
    world.model.reply(Reply(calls=(("generate_image", {"prompt": "a fox"}),)), Reply("Here."))
    async with start("telegram", TOOL_MODE="native", IMAGE_MODEL="openai:gpt-image-1") as bot:
        world.telegram.say(7, "please draw a fox", person=7)
        await world.telegram.screen.until(lambda screen: len(screen.of("7")) > 1)
        await bot.dispatcher.wait_idle()

    _, sentence = [message.text for message in world.telegram.screen.of("7")]
    assert re.fullmatch(r"The file image-\S+ could not be posted here\. \(Reference (t\d+)\)", sentence)
    assert f"turn {re.findall(r't[0-9]+', sentence)[0]}: file" in caplog.text


@pytest.mark.parametrize("key", FAILURES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_sentence_about_a_failure_has_room_for_its_id(key: str, language: str) -> None:
    words = {"retry": "/retry", "new": "/new", "tools": "calculator", "tokens": "9,000", "window": "8,192"}
    said = sentences.say(key, language, id="abc123", **words)

    assert "abc123" in said
