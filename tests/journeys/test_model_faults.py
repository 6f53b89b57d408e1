"""Everything a model's stream can do wrong, and what a person reads of it in Telegram.

The rule for each: what was shown stays, one plain sentence stands below it within five seconds of the fault or the
deadline, nothing is on screen twice, and the chat answers the next question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from bot.contract.limits import Limits
from playground.discord import DiscordServer
from playground.model import ModelServer, Reply
from playground.screen import Shown
from playground.slack import SlackServer
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World, more_than
from tests.patience import PATIENCE

ADA = 7
HALF = "Half of the answer is here"
WHOLE = f"{HALF} and the rest never comes"
BRIEF = Limits(first_token_seconds=0.8, idle_seconds=1.0)
SHORT = {"TURN_SECONDS": "6", "TOOL_MODE": "prompt"}
BROKE_OFF = "The model's answer broke off here. Write /retry to ask again."
SLOW = "The model did not answer in time. Write /retry to ask again."
REFUSED = "The model is not set up correctly."
CONTENT = "The model's provider refuses to answer this, and it is not sent again."
EMPTY_ACCOUNT = "The account that pays for the model is empty."
EMPTY = "The model gave no answer. Write /retry to ask again."
WITHHELD = "The model's provider withheld the rest of this answer."
BUSY = "The model is overloaded right now."


@dataclass(frozen=True)
class Case:
    """A fault, and what the screen shows after it."""

    name: str
    replies: Sequence[Reply]
    shown: str
    """What was shown of the answer and stays."""
    sentence: str
    asked: int = 1
    """Requests the model gets."""


def half(**fault: Any) -> Reply:
    return Reply(WHOLE, words_per_second=80, **fault)


NO_MORE = Reply("x", drop_after=0)
"""The answer of a model that is asked to go on with what broke off, and cannot."""
CASES = [
    Case("closed without a finish reason", [half(drop_after=len(HALF)), NO_MORE], HALF, BROKE_OFF),
    Case("closed inside a line", [half(drop_after=len(HALF), half_line=True), NO_MORE], HALF, BROKE_OFF),
    Case("a chunked body cut short", [half(cut_after=len(HALF)), NO_MORE], HALF, BROKE_OFF),
    Case("the connection reset", [half(reset_after=len(HALF)), NO_MORE], HALF, BROKE_OFF),
    Case("a malformed line", [half(malformed_line=len(HALF)), NO_MORE], HALF, BROKE_OFF),
    Case("an error object after text", [half(error_object=len(HALF)), NO_MORE], HALF, BROKE_OFF),
    Case("silence after text", [half(hang_after=len(HALF)), NO_MORE], HALF, SLOW),
    Case("comments for ever after text", [half(hang_after=len(HALF), comments_forever=True), NO_MORE], HALF, SLOW),
    Case("comments for ever before text", [Reply(comments_forever=True)], "", SLOW),
    Case("silence before the headers", [Reply(hang_before_headers=True)], "", SLOW),
    Case("only [DONE]", [Reply(only_done=True)] * 2, "", EMPTY, 2),
    Case("dropped before the first word", [Reply(WHOLE, drop_after=0)] * 2, "", EMPTY, 2),
    Case("a web page with status 200", [Reply(html_200=True)], "", REFUSED),
    Case("a refusal with status 200", [Reply(body='{"code": 401, "msg": "token invalid"}')], "", REFUSED),
    Case("a wrong path with status 200", [Reply(body='{"detail": "Not Found"}')], "", REFUSED),
    Case("no choice at all", [Reply(lines=('data: {"id": "x", "choices": []}', "data: [DONE]"))], "", REFUSED),
    Case(
        "an error object before text",
        [Reply("x", error_object=0, error={"message": "It broke.", "type": "odd"})] * 2,
        "",
        EMPTY,
        2,
    ),
    Case("an overloaded server that says so in the stream", [Reply("x", error_object=0)] * 3, "", BUSY, 3),
    Case("nothing at all", [Reply("")] * 2, "", EMPTY, 2),
    Case("nothing but blanks", [Reply(" \n ")] * 2, "", EMPTY, 2),
    Case("a wait of an hour", [Reply.rate_limited(3600)], "", BUSY),
    Case("a wait of half a minute", [Reply.rate_limited(30)], "", BUSY),
    Case("a server that fails three times", [Reply.refusal(500, "no")] * 3, "", BUSY, 3),
    Case("a refused key", [Reply.refusal(401, "no")], "", REFUSED),
    Case("refused content", [Reply.filtered()], "", CONTENT),
    Case("an empty account", [Reply.refusal(429, "您的账户已欠费", code="1113")], "", EMPTY_ACCOUNT),
    Case(
        "a call that its server cannot read",
        [Reply.refusal(400, "x", code="tool_use_failed")] * 2,
        "",
        EMPTY,
        2,
    ),
    Case(
        "filtered in the middle",
        [Reply(HALF, finish_reason="content_filter")],
        HALF,
        WITHHELD,
    ),
    Case("the model's own limit", [Reply(HALF, finish_reason="length")], HALF, "The answer stops here"),
    Case("a full window", [Reply(HALF, finish_reason="model_context_window_exceeded")], HALF, "The answer stops here"),
    Case("withheld for a reason", [Reply(HALF, finish_reason="content_filter: SAFETY")], HALF, WITHHELD),
    Case("an ending nobody knows", [Reply(HALF, finish_reason="abort"), NO_MORE], HALF, BROKE_OFF),
]


class Chat:
    """Ada's chat with the bot."""

    def __init__(self, world: World, number: int = ADA) -> None:
        self.world, self.number = world, number
        world.telegram.person(number, "Ada")

    def say(self, text: str) -> None:
        self.world.telegram.say(self.number, text, person=self.number)

    @property
    def messages(self) -> list[Shown]:
        return list(self.world.telegram.screen.of(str(self.number)))

    async def until(self, text: str, seconds: float = PATIENCE) -> float:
        """Wait until a message ends with or holds `text`; the event loop's time then."""
        await self.world.telegram.screen.until(lambda _: any(text in one.text for one in self.messages), seconds)
        return asyncio.get_running_loop().time()


def asked(message: RawJson) -> str:
    """What a person asked; the same question with a word on the unreadable call behind it is the same."""
    return str(message["content"]).partition("\n\nThe call you wrote could not be read")[0]


async def meet(case: Case, world: World, number: int) -> None:
    """One person meets one fault, then asks something else."""
    chat = Chat(world, number)
    loop = asyncio.get_running_loop()
    since = loop.time()
    chat.say(f"please answer {number}")
    shown_at = await chat.until(case.sentence)
    [message] = chat.messages
    requests = [one for one in world.model.requests if asked(one.messages[-1]).endswith(f"answer {number}")]
    assert len(requests) == case.asked, case.name
    ended = requests[-1].last_at or requests[-1].at
    waited = 2.0 if case.sentence == SLOW else 0.0
    assert shown_at - max(ended, since) <= 5 + waited, case.name
    assert message.text.startswith(case.shown), f"{case.name}: {message.text!r}"
    assert case.sentence in message.text[len(case.shown) :], f"{case.name}: {message.text!r}"
    for version in message.versions:
        assert version.text.count("Half") <= 1 and version.text.count("Write /") <= 1, f"{case.name}: {version.text!r}"
    chat.say(f"please go on {number}")
    await chat.until("Of course.")
    [next_one] = [one for one in world.model.requests if str(one.messages[-1]["content"]).endswith(f"go on {number}")]
    sent_again = f"answer {number}" in str(next_one.messages)
    assert sent_again is (case.sentence != CONTENT), "refused content would be refused again, with all that follows it"


async def test_every_fault_of_a_stream_keeps_what_was_shown_and_says_one_sentence(world: World, start: Start) -> None:
    """All at once, one person each, so that none can hold another up either."""
    waiting = {str(100 + index): list(case.replies) for index, case in enumerate(CASES)}

    def script(body: RawJson) -> Reply:
        said = [asked(one) for one in body["messages"]]
        words = (said[-3] if "interrupted" in said[-1] else said[-1]).split()
        queue = waiting.get(words[-1], [])
        return queue.pop(0) if queue and words[-2] == "answer" else Reply("Of course.")

    world.model.script = script
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        async with asyncio.TaskGroup() as everybody:
            for index, case in enumerate(CASES):
                everybody.create_task(meet(case, world, 100 + index))
        await bot.dispatcher.wait_idle()
    assert world.telegram.refusals == 0


async def test_the_sentence_stands_on_the_other_platforms_too(world: World, start: Start) -> None:
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    slack, discord = world.slack.direct("U7"), world.discord.direct(7).id
    places: tuple[tuple[SlackServer | DiscordServer, str, Callable[[], object]], ...] = (
        (world.slack, slack, lambda: world.slack.say(slack, "please answer me", person="U7")),
        (world.discord, discord, lambda: world.discord.say(discord, "please answer me", person=7)),
    )
    world.limits = BRIEF
    async with start("slack", "discord", **SHORT) as bot:
        names = ("closed without a finish reason", "silence after text", "no choice at all", "an ending nobody knows")
        for number, case in enumerate(case for case in CASES if case.name in names):
            for server, place, say in places:
                world.model.reply(*case.replies)
                say()
                await server.screen.until(more_than(number, place))
                await bot.dispatcher.wait_idle()
                text = server.screen.of(place)[number].text
                assert text.startswith(case.shown), (place, case.name)
                assert case.sentence.split("/")[0].split(" Write")[0] in text, (place, case.name)


async def test_an_endless_answer_is_cut_and_its_stream_closed(world: World, start: Start) -> None:
    world.model.reply(Reply("more and more ", endless=True), Reply("Of course."))
    chat = Chat(world)
    world.limits = Limits(answer_chars=2_000)
    async with start("telegram") as bot:
        chat.say("please write for ever")
        await chat.until("The answer was cut here because it became too long.")
        async with asyncio.timeout(PATIENCE):
            await world.model.requests[0].ended.wait()
        await bot.dispatcher.wait_idle()
        [message] = chat.messages
        chat.say("please go on")
        await chat.until("Of course.")

    assert world.model.requests[0].closed_early
    assert 2000 <= len(message.text) <= 2100


async def test_retry_after_a_fault_answers_the_question_anew(world: World, start: Start) -> None:
    world.model.reply(half(drop_after=len(HALF)), NO_MORE, Reply("The whole answer."))
    chat = Chat(world)
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        chat.say("please answer me")
        await chat.until(BROKE_OFF)
        await bot.dispatcher.wait_idle()
        chat.say("/retry")
        await chat.until("The whole answer.")

    assert [message["content"] for message in world.model.requests[2].messages[1:]] == ["please answer me"]


async def test_a_conversation_that_became_too_long_is_answered_without_its_oldest_part(
    world: World, start: Start
) -> None:
    world.model.reply(Reply("One."), Reply("Two."), Reply.too_long(), Reply("Three."))
    chat = Chat(world)
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        for words, answer in (("first", "One."), ("second", "Two."), ("third", "Three.")):
            chat.say(f"please answer the {words} question")
            await chat.until(answer)
            await bot.dispatcher.wait_idle()

    told = [str(message["content"]) for message in world.model.requests[-1].messages]
    assert not any("first question" in one for one in told)
    assert any("third question" in one for one in told)


async def test_a_first_message_too_long_for_the_model_is_told_so_with_its_window(world: World, start: Start) -> None:
    world.model.context_tokens = 6_000
    world.model.script = lambda body: Reply("Of course.")
    chat = Chat(world)
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        chat.say("please read this: " + "a stone and a leaf " * 1_800)
        await chat.until("This message is too long for the model: about ")
        await bot.dispatcher.wait_idle()
        chat.say("please answer me")
        await chat.until("Of course.")
        await bot.dispatcher.wait_idle()
        chat.say("/context")
        await chat.until("tokens of 6,000")

    said = next(one.text for one in chat.messages if "too long" in one.text)
    assert "the model takes 6,000 with my instructions." in said and "/new" not in said


async def test_a_window_that_does_not_even_hold_our_own_words_is_the_operators_affair(
    world: World, start: Start
) -> None:
    world.model.context_tokens = 100
    chat = Chat(world)
    world.limits = BRIEF
    async with start("telegram", **SHORT):
        chat.say("please answer me")
        await chat.until("The model takes only 100 tokens")


@pytest.fixture
async def spare(world: World) -> AsyncIterator[ModelServer]:
    """A second server behind the first, named in FALLBACK_MODELS."""
    async with ModelServer() as server:
        server.models = ["spare"]
        world.settings |= {"FALLBACK_MODELS": "vllm:spare", "VLLM_BASE_URL": server.base_url}
        yield server


BEFORE_TEXT = [
    Reply.refusal(500, "no"),
    Reply.refusal(401, "no"),
    Reply.rate_limited(60),
    Reply(html_200=True),
    Reply(hang_before_headers=True),
    Reply(comments_forever=True),
    Reply("x", reasoning="I think about it", drop_after=10),
]


async def test_another_model_takes_over_before_the_first_words_and_nobody_notices(
    world: World, start: Start, spare: ModelServer
) -> None:
    waiting = {str(100 + index): reply for index, reply in enumerate(BEFORE_TEXT)}
    world.model.script = lambda body: waiting[str(body["messages"][-1]["content"]).split()[-1]]
    spare.script = lambda body: Reply("From the spare one.")

    async def ask(number: int) -> None:
        chat = Chat(world, number)
        chat.say(f"please answer {number}")
        await chat.until("From the spare one.")
        assert [one.text for one in chat.messages] == ["From the spare one."]

    world.limits = BRIEF

    async with start("telegram", **SHORT), asyncio.TaskGroup() as everybody:
        for index in range(len(BEFORE_TEXT)):
            everybody.create_task(ask(100 + index))


async def test_a_model_that_breaks_off_goes_on_itself_where_none_stands_behind_it(world: World, start: Start) -> None:
    """In the same message, in the middle of its sentence and of its code, and it is remembered as one answer."""
    fence = "```py\ntea = 1"
    world.model.reply(
        half(drop_after=len(HALF)),
        Reply("and so is the rest.", words_per_second=80),
        Reply(f"{fence}\nmilk = 2\n```", drop_after=len(fence) + 1),
        Reply("milk = 2\n```"),
        Reply("Of course."),
    )
    chat = Chat(world)
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        for words, until in (("answer me", "rest."), ("write code", "milk"), ("go on", "Of course.")):
            chat.say(f"please {words}")
            await chat.until(until)
            await bot.dispatcher.wait_idle()

    assert [one.text for one in chat.messages][::2] == [f"{HALF} and so is the rest.", "Of course."]
    assert chat.messages[1].text == "tea = 1\nmilk = 2"
    remembered = [one["content"] for one in world.model.requests[-1].messages if one["role"] == "assistant"]
    assert remembered == [f"{HALF} and so is the rest.", f"{fence}\nmilk = 2\n```"]


@pytest.mark.parametrize("fault", [{"drop_after": len(HALF)}, {"hang_after": len(HALF)}], ids=["drop", "silence"])
async def test_another_model_goes_on_honestly_after_the_first_words(
    fault: dict[str, int], world: World, start: Start, spare: ModelServer
) -> None:
    world.model.reply(half(**fault))
    spare.reply(Reply("and the rest came after all.", words_per_second=50))
    chat = Chat(world)
    world.limits = BRIEF
    async with start("telegram", **SHORT) as bot:
        chat.say("please answer me")
        await chat.until("came after all.")
        await bot.dispatcher.wait_idle()
        world.model.reply(Reply("Of course."))
        chat.say("please go on")
        await chat.until("Of course.")

    note = "(The model broke off here; another one continues.)"
    first = chat.messages[0].text
    assert first.startswith(HALF) and first.endswith(f"\n\n{note}\n\nand the rest came after all.")
    assert first.count("Half") == 1
    told = spare.requests[0].messages
    assert told[-2]["role"] == "assistant" and told[-2]["content"].startswith(HALF)
    remembered = [one["content"] for one in world.model.requests[-1].messages if one["role"] == "assistant"]
    assert len(remembered) == 1 and note not in remembered[0] and remembered[0].endswith("after all.")
