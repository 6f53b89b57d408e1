"""A model that cannot answer is replaced before its first word, and never after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.contract.errors import ContextTooLong, ModelDropped, ModelRefused, SettingsError
from bot.model import ModelOptions, Models
from bot.model.base import Request
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, Open, RecordingClock
from tests.conftest import RawObject


@pytest.fixture
async def other() -> AsyncIterator[ModelServer]:
    async with ModelServer(words_per_second=0) as server:
        server.models = ["spare"]
        server.script = lambda body: Reply("From the other.")
        yield server


@pytest.fixture
def both(opened: Open, server: ModelServer, other: ModelServer) -> Models:
    return opened(
        fallbacks=("vllm:spare",), base_urls={"openai": server.base_url, "vllm": other.base_url}, keys={"openai": "k"}
    )


@pytest.mark.parametrize(
    "reply",
    [
        Reply.refusal(401, "Bad key"),
        Reply.refusal(404, "No such model", code="model_not_found"),
        Reply.refusal(429, "No quota", code="insufficient_quota"),
        Reply(html_200=True),
        Reply(only_done=True),
        Reply.rate_limited(30),
    ],
)
async def test_the_next_model_answers_when_the_first_cannot(
    server: ModelServer, both: Models, question: Request, asking: Ask, reply: Reply, clock: RecordingClock
) -> None:
    server.reply(reply)

    asked = await asking(both, question)

    assert asked.answer.text == "From the other."
    assert asked.answer.model == "vllm:spare"
    assert len(server.requests) == 1
    assert clock.slept == []


async def test_a_first_model_that_is_silent_is_replaced_after_its_time(
    server: ModelServer, other: ModelServer, both: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    server.reply(Reply(hang_before_headers=True))
    task = asyncio.create_task(asking(both, question))
    await server.asked()

    await clock.advance(200.0)

    assert (await task).answer.text == "From the other."


async def test_a_model_that_broke_off_after_its_first_words_is_not_replaced(
    server: ModelServer, other: ModelServer, both: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply("Once upon a time", drop_after=6))

    asked = await asking(both, question)

    assert isinstance(asked.error, ModelDropped)
    assert (asked.error.failed, asked.error.next) == ("openai:scripted", "vllm:spare"), "it names who may go on"
    assert "Once upon a time".startswith(asked.text)
    assert other.requests == []


async def test_who_goes_on_is_asked_without_those_that_failed_and_at_last_it_is_the_same(
    server: ModelServer, other: ModelServer, both: Models, question: Request, asking: Ask
) -> None:
    other.reply(Reply("Once upon a time", drop_after=6))

    error = (await asking(both, replace(question, first="vllm:spare"))).error

    assert isinstance(error, ModelDropped) and (error.failed, error.next) == ("vllm:spare", "vllm:spare")
    assert (len(server.requests), len(other.requests)) == (0, 1)


@pytest.mark.parametrize(("reply", "kind"), [(Reply.filtered(), ModelRefused), (Reply.too_long(), ContextTooLong)])
async def test_refused_content_and_a_full_window_are_the_caller_s_affair(
    server: ModelServer, other: ModelServer, both: Models, question: Request, asking: Ask, reply: Reply, kind: type
) -> None:
    server.reply(reply)

    assert isinstance((await asking(both, question)).error, kind)
    assert other.requests == []


async def test_when_nobody_answers_the_first_model_s_error_is_told(
    server: ModelServer, other: ModelServer, both: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(Reply.refusal(401, "Bad key"))
    other.script = lambda body: Reply.refusal(503, "Overloaded")

    error = (await asking(both, question)).error

    assert isinstance(error, ModelRefused)
    assert "openai:scripted" in str(error)


async def test_a_chat_s_own_model_is_asked_first_and_the_configured_ones_stand_behind_it(
    server: ModelServer, other: ModelServer, both: Models, question: Request, asking: Ask
) -> None:
    chosen = both.choose("vllm:spare")
    other.script = lambda body: Reply.refusal(404, "No such model")
    server.reply(Reply("From the first."))

    assert chosen.name == "vllm:spare"
    assert (await asking(chosen, question)).answer.model == "openai:scripted"
    assert both.choose("").name == both.name == "openai:scripted"
    assert both.names == ("openai:scripted", "vllm:spare")


async def test_a_choice_that_cannot_be_is_one_clear_sentence(both: Models) -> None:
    with pytest.raises(SettingsError, match="no known provider"):
        both.choose("nobody:x")
    with pytest.raises(SettingsError, match="GEMINI_API_KEY"):
        both.choose("gemini:x")


async def test_what_one_chain_learned_the_others_know(
    server: ModelServer, both: Models, tool_question: Request, asking: Ask
) -> None:
    server.supports_tools = False

    await asking(both, tool_question)
    await asking(both.choose("openai:scripted"), tool_question)

    assert ["tools" in request.body for request in server.requests] == [True, False, False]


async def test_many_requests_at_once_do_not_wait_for_each_other(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    gate = asyncio.Event()
    server.script = lambda body: Reply("Here.", hang_before_headers=True, until=gate)
    tasks = [asyncio.create_task(asking(models, question)) for _ in range(30)]

    await server.asked(30)
    gate.set()

    assert {(await task).answer.text for task in tasks} == {"Here."}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "gpt-5-mini"}, "MODEL is 'gpt-5-mini', but must be written provider:name"),
        ({"name": "openai:"}, "provider:name"),
        ({"name": "nobody:x"}, "'nobody' is no known provider"),
        ({"name": "openai:x"}, "OPENAI_API_KEY must hold its API key"),
        ({"name": "ollama:x", "fallbacks": ("deepseek:x",)}, "FALLBACK_MODELS names 'deepseek', so DEEPSEEK_API_KEY"),
        ({"name": "ollama:x", "fallbacks": ("x",)}, "FALLBACK_MODELS is 'x'"),
        ({"name": "ollama:x", "base_urls": {"ollama": "localhost:11434"}}, "OLLAMA_API_URL: 'localhost:11434' lacks"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_should_hold(
    options: RawObject, says: str, clock: RecordingClock
) -> None:
    with pytest.raises(SettingsError) as raised:
        Models(ModelOptions(tool_mode="auto", turn_seconds=300.0, **options), clock)

    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
