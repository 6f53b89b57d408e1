"""How long an answer may be, through the real `openai` client."""

from __future__ import annotations

import openai
import pytest

from playground.model import ModelServer, Reply
from tests.conftest import RawJson

ASK: list[RawJson] = [{"role": "user", "content": "hi"}]
TOOL: RawJson = {"type": "function", "function": {"name": "write", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_an_answer_ends_at_the_tokens_asked_for(
    server: ModelServer, client: openai.AsyncOpenAI, name: str
) -> None:
    server.reply(Reply("a leaf " * 50), Reply("叶" * 50), Reply("x" * 200), Reply("short"))

    answers = [
        await client.chat.completions.create(model="scripted", messages=ASK, **{name: 10})  # type: ignore[call-overload]
        for _ in range(4)
    ]

    assert [len(answer.choices[0].message.content) for answer in answers] == [36, 10, 40, 5]
    assert [answer.choices[0].finish_reason for answer in answers] == ["length", "length", "length", "stop"]
    assert all(answer.usage.completion_tokens <= 10 for answer in answers)


async def test_thoughts_count_first_and_a_call_is_cut_in_its_arguments(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    server.reply(Reply("It is four.", reasoning="hm " * 100), Reply(calls=(("write", {"text": "a leaf " * 50}),)))

    thought = await client.chat.completions.create(model="scripted", messages=ASK, max_tokens=20)
    called = await client.chat.completions.create(model="scripted", messages=ASK, tools=[TOOL], max_tokens=20)

    assert thought.choices[0].message.content is None
    assert thought.choices[0].finish_reason == called.choices[0].finish_reason == "length"
    [call] = called.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.arguments.startswith('{"text": "a leaf')
    assert not call.function.arguments.endswith("}")


async def test_responses_ends_incomplete(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply("a leaf " * 50))

    answer = await client.responses.create(model="scripted", input="hi", max_output_tokens=16)

    assert (answer.status, answer.incomplete_details and answer.incomplete_details.reason) == (
        "incomplete",
        "max_output_tokens",
    )
    assert answer.output_text == ("a leaf " * 10)[:64]


@pytest.mark.parametrize(
    ("setting", "value", "asked", "words"),
    [
        ("completion_tokens", 100, {"max_tokens": 101}, "supports at most 100 completion tokens"),
        ("completion_tokens_name", "max_completion_tokens", {"max_tokens": 9}, "Use 'max_completion_tokens' instead"),
        ("completion_tokens_name", "max_tokens", {"max_completion_tokens": 9}, "Use 'max_tokens' instead"),
        ("context_tokens", 500, {"max_tokens": 499}, r"\(\d+ in the messages, 499 in the completion\)"),
    ],
)
async def test_what_a_model_cannot_write_is_refused(
    server: ModelServer, client: openai.AsyncOpenAI, setting: str, value: RawJson, asked: dict[str, int], words: str
) -> None:
    setattr(server, setting, value)

    with pytest.raises(openai.BadRequestError, match=words):
        await client.chat.completions.create(model="scripted", messages=ASK, **asked)  # type: ignore[call-overload]


async def test_a_server_may_write_on_whatever_was_asked(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.keeps_to_max_tokens = False
    server.reply(Reply("a leaf " * 50))

    answer = await client.chat.completions.create(model="scripted", messages=ASK, max_tokens=10)

    assert answer.choices[0].finish_reason == "stop"
