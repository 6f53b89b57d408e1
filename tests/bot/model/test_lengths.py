"""Answers are limited to what a request allows, by each server's own rules for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.contract.errors import ContextTooLong, ModelRefused
from bot.contract.transcript import UserEntry
from bot.model import Models, lengths
from bot.model.base import Request
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, Open
from tests.conftest import RawJson, RawObject

LEAF = "a leaf and a stone " * 400


@pytest.fixture
def limited(question: Request) -> Request:
    return replace(question, max_tokens=2_000)


async def test_the_server_is_asked_for_no_more_than_the_request_allows(
    server: ModelServer, opened: Open, asking: Ask, limited: Request
) -> None:
    server.reply(Reply("x " * 9_000))
    openai, deepseek = opened(), opened("deepseek:scripted")

    asked = await asking(openai, limited)
    await asking(deepseek, limited)

    assert asked.answer.finish == "length"
    assert asked.answer.usage.completion <= 2_000
    assert server.requests[0]["max_completion_tokens"] == 2_000
    assert server.requests[1]["max_tokens"] == 2_000


async def test_an_operators_own_limit_counts_where_it_is_lower(
    server: ModelServer, opened: Open, asking: Ask, limited: Request
) -> None:
    models = opened(max_tokens=99)

    await asking(models, limited)
    await asking(models, replace(limited, max_tokens=50))

    assert [request["max_completion_tokens"] for request in server.requests] == [99, 50]


async def test_responses_is_limited_too(server: ModelServer, opened: Open, asking: Ask, limited: Request) -> None:
    server.models.append("gpt-5.4")
    dice = (await _dice(),)
    models = opened("openai:gpt-5.4", reasoning_effort="low")

    await asking(models, replace(limited, tools=dice))

    assert server.requests[0].path.endswith("/responses")
    assert server.requests[0]["max_output_tokens"] == 2_000


async def _dice() -> Any:
    from tools.contract.base import ToolSpec

    return ToolSpec(name="roll_dice", purpose="Roll dice.", parameters={"type": "object", "properties": {}})


@pytest.mark.parametrize(
    ("model", "takes"), [("openai:scripted", "max_tokens"), ("deepseek:scripted", "max_completion_tokens")]
)
async def test_a_server_that_knows_only_the_other_name_is_asked_by_it_from_then_on(
    server: ModelServer, opened: Open, asking: Ask, limited: Request, model: str, takes: str
) -> None:
    server.completion_tokens_name = takes
    models = opened(model)

    for _ in range(2):
        assert (await asking(models, limited)).answer.text

    assert [takes in request.body for request in server.requests] == [False, True, True]


async def test_a_server_that_knows_neither_name_is_asked_without_and_stopped_by_us(
    server: ModelServer, opened: Open, asking: Ask, limited: Request
) -> None:
    def script(body: RawJson) -> Reply:
        named = lengths.name_in(body)
        return Reply.refusal(422, f"Extra inputs are not permitted: {named}") if named else Reply(LEAF, endless=True)

    server.script = script
    models = opened("vllm:scripted")

    for _ in range(2):
        answer = (await asking(models, limited)).answer
        assert answer.finish == "cut"
        assert 2_000 <= answer.usage.completion <= 4_000  # what had arrived by then counts too

    assert len(server.requests) == 4


async def test_a_server_that_takes_the_limit_and_writes_on_is_stopped(
    server: ModelServer, models: Models, asking: Ask, limited: Request
) -> None:
    server.reply(Reply(LEAF, endless=True))

    answer = (await asking(models, limited)).answer

    assert answer.finish == "cut"
    assert 2_500 <= answer.usage.completion <= 5_000


@pytest.mark.parametrize("arguments", [True, False])
async def test_thoughts_and_arguments_count(
    server: ModelServer, models: Models, asking: Ask, limited: Request, tool_question: Request, arguments: bool
) -> None:
    call = Reply(calls=(("roll_dice", {"why": LEAF}),), endless=True)
    server.reply(call if arguments else Reply(reasoning=LEAF, endless=True))

    answer = (await asking(models, replace(limited, tools=tool_question.tools))).answer

    assert (answer.finish, answer.calls) == ("cut", ())
    assert 2_500 <= answer.usage.completion <= 5_000


async def test_the_longest_answer_of_a_model_is_learned(
    server: ModelServer, opened: Open, asking: Ask, limited: Request
) -> None:
    server.completion_tokens = 500
    models = opened()

    for _ in range(2):
        assert (await asking(models, limited)).answer.text

    assert [request["max_completion_tokens"] for request in server.requests] == [2_000, 500, 500]


async def test_an_answer_is_limited_to_what_the_window_holds_beside_the_prompt(
    server: ModelServer, opened: Open, asking: Ask, limited: Request
) -> None:
    server.context_tokens = 2_100
    models = opened()

    for words in (100, 100, 500):
        request = replace(limited, entries=(UserEntry("stone " * words),))
        assert (await asking(models, request)).answer.text

    assert models.window(models.name) == 2_100
    assert [request.status for request in server.requests] == [400, 200, 200, 200]


async def test_a_prompt_that_leaves_no_room_is_too_long(
    server: ModelServer, models: Models, asking: Ask, limited: Request
) -> None:
    server.context_tokens = 200
    request = replace(limited, entries=(UserEntry("stone " * 500),))

    assert isinstance((await asking(models, request)).error, ContextTooLong)


WORDS = [
    ("max_tokens is too large: 30000. This model supports at most 16384 completion tokens, whereas", 16_384, True),
    ("max_tokens: 30000 > 8192, which is the maximum allowed number of output tokens for claude", 8_192, True),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192, True),
    ("Range of max_tokens should be [1, 8192]", 8_192, True),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`", 8_192, True),
    ("it has a maxOutputTokens value of 30000 but the supported range is from 1 (inclusive) to 8193 (exclusive)", 8_192,
     True),
    ("You requested up to 30000 tokens, but can only afford 1234", 1_234, False),
    ("'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum context length is 8192 tokens "
     "and your request has 192 input tokens (30000 > 8192 - 192).", 8_000, False),
    ("This model's maximum context length is 8192 tokens. However, you requested 30192 tokens (192 in the messages, "
     "30000 in the completion). Please reduce the length of the messages or completion.", 8_000, False),
    ("This model's maximum context length is 8192 tokens. However, you requested 30000 output tokens and your prompt "
     "contains at least 192 input tokens, for a total of at least 30192 tokens.", 8_000, False),
    ("This endpoint's maximum context length is 8192 tokens. However, you requested about 30192 tokens (192 of text "
     "input, 30000 in the output).", 8_000, False),
    ("max_tokens=30000cannot be greater than max_model_len=max_total_tokens=8192. Please request fewer output tokens. "
     "(parameter=max_tokens, value=30000)", 8_192, True),
    ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 192 `inputs` tokens and 30000 "
     "`max_new_tokens`", 8_000, False),
    ("input length and `max_tokens` exceed context limit: 192 + 30000 > 8192, decrease input length", 8_000, False),
]  # fmt: skip


@pytest.mark.parametrize(("words", "most", "lasting"), WORDS)
@pytest.mark.parametrize("status", [400, 402, 422])
async def test_every_server_s_words_for_an_answer_too_long_are_understood(
    server: ModelServer, opened: Open, asking: Ask, question: Request, words: str, most: int, lasting: bool, status: int
) -> None:
    models = opened("vllm:scripted")
    server.reply(Reply.refusal(status, words), Reply("Of course."))

    asked = await asking(models, replace(question, max_tokens=30_000))
    await asking(models, replace(question, max_tokens=30_000))

    assert asked.answer.text == "Of course."
    assert server.requests[1]["max_tokens"] == most
    assert server.requests[2]["max_tokens"] == (most if lasting else server.requests[2]["max_tokens"])


@pytest.mark.parametrize(("prompt", "room"), [(20_000, 8_000), (200, 8_000), (60_000, 0)])
async def test_a_server_that_counts_a_prompt_only_as_far_as_it_must_is_not_asked_for_one_token_less_each_time(
    server: ModelServer, opened: Open, asking: Ask, question: Request, prompt: int, room: int
) -> None:
    """vLLM 0.20 says of a prompt only that it has more tokens than fit beside the answer."""
    window = 28_001

    def script(body: RawObject) -> Reply:
        most = body["max_tokens"]
        if prompt + most <= window:
            return Reply("Of course.")
        return Reply.refusal(
            400,
            f"This model's maximum context length is {window} tokens. However, you requested {most} output tokens and "
            f"your prompt contains at least {window - most + 1} input tokens, for a total of at least {window + 1} "
            "tokens.",
        )

    server.script = script

    asked = await asking(opened("vllm:scripted"), replace(question, max_tokens=27_000))

    assert len(server.requests) <= 5
    if room:
        assert asked.answer.text == "Of course." and server.requests[-1]["max_tokens"] <= window - prompt
    else:
        assert isinstance(asked.error, ContextTooLong) and asked.error.window == window


async def test_a_limit_that_is_refused_again_and_again_is_not_asked_for_without_end(
    server: ModelServer, models: Models, asking: Ask, limited: Request
) -> None:
    server.script = lambda body: Reply.refusal(400, "This model supports at most 700 completion tokens")

    assert isinstance((await asking(models, limited)).error, ModelRefused)
    assert len(server.requests) == 2


async def test_an_empty_answer_is_asked_for_again_only_with_what_is_left_and_both_are_charged_for(
    server: ModelServer, opened: Open, asking: Ask, question: Request
) -> None:
    used = {"prompt_tokens": 100, "completion_tokens": 700, "total_tokens": 800}
    server.reply(Reply("", usage=used), Reply("Yes.", usage=used), Reply("", usage=used))
    models = opened()

    twice = (await asking(models, replace(question, max_tokens=2_000))).answer
    once = (await asking(models, replace(question, max_tokens=1_500))).answer

    assert [request["max_completion_tokens"] for request in server.requests] == [2_000, 1_200, 1_500]
    assert (twice.text, twice.usage.prompt, twice.usage.completion) == ("Yes.", 200, 1_400)
    assert (once.text, once.usage.completion) == ("", 700)
