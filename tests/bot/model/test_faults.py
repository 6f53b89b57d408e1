"""Everything a model's server may do wrong, and what a caller sees of it: partial text, and an error with a name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing

import pytest
from aiohttp import web

from bot.contract.errors import (
    AccountEmpty,
    CallRefused,
    ContentRefused,
    ContextTooLong,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelRefused,
    ModelSlow,
)
from bot.contract.limits import Limits
from bot.model import Models
from bot.model.base import Request, TextPiece
from bot.model.causes import find_wait
from bot.model.failures import KeyRefused, reset_in
from playground.faults import Fault
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, Events, Open, RawServer, RecordingClock
from tests.conftest import RawJson
from tests.patience import PATIENCE

TEXT = "The news is good. " * 10


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (Reply(TEXT, drop_after=60), True),
        (Reply(TEXT, drop_after=60, half_line=True), True),
        (Reply(TEXT, cut_after=60), True),
        (Reply(TEXT, reset_after=60), True),
        (Reply(TEXT, malformed_line=60), True),
        (Reply(TEXT, error_object=60), True),
        (Reply(only_done=True), False),
        (Reply(TEXT, malformed_line=0), False),
    ],
    ids=["dropped", "dropped in a line", "cut", "reset", "no JSON", "an error", "only done", "none at all"],
)  # fmt: skip
async def test_a_broken_stream_is_a_drop_and_keeps_what_came(
    server: ModelServer, opened: Open, question: Request, asking: Ask, reply: Reply, shown: bool
) -> None:
    server.reply(reply)

    asked = await asking(opened(), question)

    assert isinstance(asked.error, ModelDropped)
    assert bool(asked.text) is shown
    assert TEXT.startswith(asked.text)
    assert len(server.requests) == 1


async def test_an_error_in_the_stream_before_any_text_has_its_own_name(
    server: ModelServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    error = {"message": "The server is overloaded.", "type": "overloaded_error", "code": None}
    server.reply(*[Reply(TEXT, error_object=0, error=error)] * 3)

    asked = await asking(opened(), question)

    assert isinstance(asked.error, ModelBusy)
    assert len(server.requests) == 3


async def test_comments_forever_do_not_keep_a_turn_waiting(
    server: ModelServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    server.reply(Reply(comments_forever=True))
    task = asyncio.create_task(asking(opened(limits=Limits(first_token_seconds=8.0)), question))
    request = await server.asked()
    await asyncio.sleep(0.05)  # the stream has begun; only comments come

    await clock.advance(19.0)
    assert not task.done()
    await clock.advance(2.0)

    assert isinstance((await task).error, ModelSlow)
    await asyncio.wait_for(request.ended.wait(), PATIENCE)
    assert request.closed_early


async def test_a_server_that_never_answers_costs_the_first_token_time(
    server: ModelServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    server.reply(Reply(hang_before_headers=True))
    task = asyncio.create_task(asking(opened(limits=Limits(first_token_seconds=8.0)), question))
    request = await server.asked()

    await clock.advance(21.0)

    error = (await task).error
    assert isinstance(error, ModelSlow)
    assert "20 s" in str(error)
    await asyncio.wait_for(request.ended.wait(), PATIENCE)


async def test_silence_in_the_middle_costs_the_idle_time_and_keeps_the_text(
    server: ModelServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    server.reply(Reply(TEXT, hang_after=30, comments_forever=True))
    seen = asyncio.Event()
    models = opened(limits=Limits(idle_seconds=10.0))
    text: list[str] = []

    async def read() -> None:
        async with aclosing(models.stream(question)) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextPiece):
                    text.append(piece.text)
                    if len("".join(text)) >= 30:
                        seen.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(seen.wait(), PATIENCE)
    await clock.advance(9.0)
    assert not task.done()
    await clock.advance(11.0)

    with pytest.raises(ModelSlow, match="10 s"):
        await task
    assert TEXT.startswith("".join(text))


async def test_a_slow_reader_is_not_taken_for_a_silent_server(
    server: ModelServer, opened: Open, question: Request, clock: RecordingClock
) -> None:
    server.reply(Reply(TEXT))
    models = opened(limits=Limits(idle_seconds=10.0))

    async with aclosing(models.stream(question)) as pieces:
        first = await anext(pieces)
        await clock.advance(120.0)
        rest = [piece async for piece in pieces]

    assert "".join(piece.text for piece in (first, *rest[:-1]) if isinstance(piece, TextPiece)) == TEXT


async def test_the_turn_s_deadline_ends_a_stream_that_still_moves(
    server: ModelServer, opened: Open, question: Request, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(Reply(TEXT, endless=True))
    request = Request(entries=question.entries, deadline=clock.monotonic() + 5.0, max_output_chars=10**9)

    with pytest.raises(ModelSlow, match="deadline"):
        async with aclosing(opened().stream(request)) as pieces:
            async for _ in pieces:
                await clock.advance(1.0)


async def test_the_turn_s_time_counts_from_the_request_when_it_has_no_deadline(
    server: ModelServer, opened: Open, question: Request, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(Reply(TEXT, endless=True))
    endless = Request(entries=question.entries, max_output_chars=10**9)

    with pytest.raises(ModelSlow):
        async with aclosing(opened(turn_seconds=3.0).stream(endless)) as pieces:
            async for _ in pieces:
                await clock.advance(1.0)


async def test_endless_output_is_cut_and_its_stream_closed(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply(TEXT, endless=True))
    request = Request(entries=question.entries, max_output_chars=1_000)

    asked = await asking(models, request)

    assert asked.answer.finish == "cut"
    assert len(asked.text) == len(asked.answer.text) == 1_000
    await asyncio.wait_for(server.requests[0].ended.wait(), PATIENCE)
    assert server.requests[0].closed_early


async def test_closing_the_iterator_closes_the_connection_at_once(
    server: ModelServer, models: Models, question: Request
) -> None:
    server.reply(Reply(TEXT, hang_after=20))

    async with aclosing(models.stream(question)) as pieces:
        await anext(pieces)

    await asyncio.wait_for(server.requests[0].ended.wait(), 1)
    assert server.requests[0].closed_early


async def test_cancelling_the_reader_closes_the_connection(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply(hang_before_headers=True))
    task = asyncio.create_task(asking(models, question))
    request = await server.asked()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(request.ended.wait(), 1)


async def test_a_busy_server_is_asked_twice_more_with_growing_waits(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(Reply.refusal(503, "Overloaded"), Reply.refusal(500, "Oops"), Reply("Here."))

    asked = await asking(models, question)

    assert asked.answer.text == "Here."
    assert len(clock.slept) == 2
    assert 0.3 < clock.slept[0] < clock.slept[1] < 1.5


async def test_a_busy_server_is_given_up_after_three_requests(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(*[Reply.refusal(502, "Bad gateway")] * 3)

    asked = await asking(models, question)

    assert isinstance(asked.error, ModelBusy)
    assert len(server.requests) == 3


async def test_a_named_wait_is_kept_when_it_fits_the_turn(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(Reply.rate_limited(12), Reply("Here."))

    asked = await asking(models, question)

    assert asked.answer.text == "Here."
    assert clock.slept == [12]


async def test_a_named_wait_beyond_the_turn_is_an_error_at_once(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    server.reply(Reply.rate_limited(120))
    request = Request(entries=question.entries, deadline=clock.monotonic() + 60)

    asked = await asking(models, request)

    assert isinstance(asked.error, ModelBusy)
    assert asked.error.retry_after == 120
    assert clock.slept == []


async def test_a_wait_named_as_a_date_is_understood(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    from email.utils import formatdate

    from aiohttp import web

    async def busy(request: web.Request) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": formatdate(clock.wall() + 500, usegmt=True)})

    url = await raw_server(busy)

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert isinstance(asked.error, ModelBusy)
    assert asked.error.retry_after == pytest.approx(500, abs=1)


async def test_a_server_out_of_reach_is_named_with_what_may_help(
    opened: Open, question: Request, asking: Ask, clock: RecordingClock, unused_tcp_port_factory: Callable[[], int]
) -> None:
    clock.instant = True
    url = f"http://127.0.0.1:{unused_tcp_port_factory()}"

    asked = await asking(opened("ollama:qwen3", base_urls={"ollama": url}), question)

    assert isinstance(asked.error, ModelBusy)
    assert "ollama serve" in str(asked.error)
    assert len(clock.slept) == 2


async def test_a_connection_dropped_before_the_headers_is_tried_again(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    server.faults.add("chat.completions", Fault(drop="before"))
    server.reply(Reply("Here."))

    assert (await asking(models, question)).answer.text == "Here."


async def test_an_empty_answer_is_asked_for_once_more(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply(""), Reply("Here."))

    assert (await asking(models, question)).answer.text == "Here."


@pytest.mark.parametrize("text", ["\u2800", "&nbsp;", "<!-- -->", "\u200d"])
async def test_an_answer_in_which_nothing_can_be_seen_is_asked_for_once_more(
    server: ModelServer, models: Models, question: Request, asking: Ask, text: str
) -> None:
    server.reply(Reply(text), Reply("Here."))

    assert (await asking(models, question)).answer.text == "Here."


async def test_a_second_empty_answer_is_given_as_it_is(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply(""), Reply(" "))

    asked = await asking(models, question)

    assert asked.answer.finish == "stop"
    assert not asked.answer.text.strip()
    assert len(server.requests) == 2


async def test_a_filtered_answer_is_not_asked_for_again(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply("", finish_reason="content_filter"))

    assert (await asking(models, question)).answer.finish == "content_filter"
    assert len(server.requests) == 1


CAUSES: dict[str, tuple[int, RawJson, type[ModelError]]] = {
    "Azure, content": (
        400,
        {"error": {"code": "content_filter", "message": "Filtered.", "status": 400}},
        ContentRefused,
    ),
    "Ark, content": (
        400,
        {"error": {"code": "InputTextSensitiveContentDetected", "type": "BadRequest", "message": "…"}},
        ContentRefused,
    ),
    "DashScope, content": (
        400,
        {"error": {"code": "data_inspection_failed", "type": "data_inspection_failed", "message": "Input data may …"}},
        ContentRefused,
    ),
    "Zhipu, content": (
        400,
        {"contentFilter": [{"level": 1, "role": "user"}], "error": {"code": "1301", "message": "系统检测到不安全内容"}},
        ContentRefused,
    ),
    "DeepSeek, content": (
        400,
        {"error": {"message": "Content Exists Risk", "type": "invalid_request_error", "code": "invalid_request_error"}},
        ContentRefused,
    ),
    "OpenRouter, content": (
        403,
        {
            "error": {
                "code": 403,
                "message": "x requires moderation. Your input was flagged",
                "metadata": {"reasons": ["x"]},
            }
        },
        ContentRefused,
    ),
    "OpenAI, no money": (
        429,
        {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota, please try again in 2s"}},
        AccountEmpty,
    ),
    "Zhipu, no money": (429, {"error": {"code": "1113", "message": "您的账户已欠费，请充值后重试。"}}, AccountEmpty),
    "Ark, a limit of the owner's": (
        429,
        {"error": {"code": "SetLimitExceeded", "type": "TooManyRequests", "message": "Your account …"}},
        AccountEmpty,
    ),
    "Ark, overdue": (
        403,
        {"error": {"code": "AccountOverdueError", "type": "Forbidden", "message": "…"}},
        AccountEmpty,
    ),
    "DashScope, overdue": (400, {"code": "Arrearage", "message": "Access denied", "request_id": "1"}, AccountEmpty),
    "DashScope, free tier": (
        403,
        {"error": {"code": "AllocationQuota.FreeTierOnly", "message": "The free tier is used up"}},
        AccountEmpty,
    ),
    "SiliconFlow, no money": (403, {"code": 30001, "message": "Sorry, …", "data": None}, AccountEmpty),
    "new-api, no money": (403, {"error": {"code": "insufficient_user_quota", "message": "用户额度不足"}}, AccountEmpty),
    "one-api, no money": (
        403,
        {"error": {"message": "预扣费额度失败, 用户剩余额度: ＄0.01", "type": "one_api_error"}},
        AccountEmpty,
    ),
    "Gemini, one minute": (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [{"retryDelay": "0.2s"}],
                    "message": "You exceeded your current quota, please check your plan. Please retry in 0.2s.",
                }
            }
        ],
        ModelBusy,
    ),
    "Gemini, one day": (
        429,
        [{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 13h4m5.2s."}}],
        AccountEmpty,
    ),
    "Moonshot, too long": (
        400,
        {"error": {"type": "invalid_request_error", "message": "Your request exceeded model token limit: 8192"}},
        ContextTooLong,
    ),
    "SiliconFlow, too long": (
        400,
        {
            "code": 20015,
            "message": "length of prompt_tokens (9000) must be less than max_seq_len (8192).",
            "data": None,
        },
        ContextTooLong,
    ),
    "Zhipu, too long": (400, {"error": {"code": "1261", "message": "Prompt 超长"}}, ContextTooLong),
    "Groq, its own call": (
        400,
        {"error": {"code": "tool_use_failed", "failed_generation": "<x>", "message": "Failed to call a function."}},
        CallRefused,
    ),
    "Groq, a call of an undeclared tool": (
        400,
        {
            "error": {
                "message": "Failed: attempted to call tool 'listFiles' which was not in request.tools",
                "type": "invalid_request_error",
            }
        },
        CallRefused,
    ),
    "llama.cpp, its own call": (
        500,
        {"error": {"code": 500, "message": "Failed to parse input at pos 12: </tool_call>", "type": "server_error"}},
        CallRefused,
    ),
    "Ollama, its own call": (500, {"error": "error parsing tool call: raw='{\"a\": 1}]', err=invalid"}, CallRefused),
    "vLLM, its own call": (
        500,
        {"error": {"message": 'unexpected tokens remaining in message header: Some("to=functions.x")', "code": 500}},
        CallRefused,
    ),
    "xAI, no money": (
        429,
        {
            "code": "Some resource has been exhausted",
            "error": "Your team has either used all available credits or reached its monthly spending limit.",
        },
        AccountEmpty,
    ),
    "Zhipu, the plan's limit": (429, {"error": {"code": "1308", "message": "已达到 5 小时的使用上限。"}}, AccountEmpty),
    "a key": (401, {"error": {"code": "invalid_api_key", "message": "Wrong key; see billing"}}, KeyRefused),
    "what nobody knows": (418, {"error": {"code": "brewing", "message": "short and stout"}}, ModelRefused),
}
"""Status, body and error, as people who met them have written them down."""


@pytest.mark.parametrize("name", CAUSES)
async def test_each_cause_of_a_refusal_is_known_by_its_code(
    opened: Open, raw_server: RawServer, question: Request, asking: Ask, clock: RecordingClock, name: str
) -> None:
    status, body, kind = CAUSES[name]
    clock.instant = True

    async def refuse(request: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    error = (await asking(opened(base_urls={"openai": await raw_server(refuse)}), question)).error

    assert type(error) is kind, error
    assert "billing page" not in str(error) or kind is AccountEmpty
    if isinstance(error, ContextTooLong):
        assert error.window in (0, 8192)
    # A wait that only words tell is waited for.
    assert set(clock.slept) == ({0.2} if kind is ModelBusy else set())


@pytest.mark.parametrize(
    "words", ["The model has crashed without additional information. (Exit code: 1844674407)", "Channel Error"]
)
async def test_a_model_that_its_server_has_to_load_anew_is_asked_again(
    server: ModelServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock, words: str
) -> None:
    """LM Studio."""
    clock.instant = True
    server.reply(Reply.refusal(400, words), Reply("Hello."))

    assert (await asking(opened("vllm:scripted"), question)).answer.text == "Hello."


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset": "1800000009000"}, 9.0),
        ({"x-ratelimit-reset": "1800000009"}, 9.0),
        ({"x-ratelimit-reset": "9"}, 9.0),
        ({"x-ratelimit-reset": "nan"}, None),
        ({"x-ratelimit-reset": "1700000000"}, None),
        ({"x-ratelimit-reset-tokens": "1m2.5s", "x-ratelimit-remaining-tokens": "0"}, 62.5),
        ({"x-ratelimit-reset-tokens": "9.2s", "x-ratelimit-remaining-tokens": "17"}, None),
        ({"x-ratelimit-reset-requests": "soon", "x-ratelimit-remaining-requests": "0"}, None),
        ({}, None),
    ],
)
def test_when_a_limit_is_reset_is_read_from_headers(headers: dict[str, str], seconds: float | None) -> None:
    found = reset_in(headers, 1_800_000_000.0)

    assert found == seconds if seconds is None else found == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("please retry in 2.3s.", 2.3),
        ("'retrydelay': '17s'", 17.0),
        ("try again in 20ms", 0.02),
        ("try again in 1m2.5s.", 62.5),
        ("retry after 5 seconds", 5.0),
        ("please retry in 13h4m5.2s.", 47_045.2),
        ("please wait 3600 seconds before retrying", 3_600.0),
        ("try again later", None),
        ("retry " * 20_000, None),
    ],
)
def test_how_long_to_wait_is_read_from_words(words: str, seconds: float | None) -> None:
    found = find_wait(words)

    assert found == seconds if seconds is None else found == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (Reply.refusal(401, "Incorrect API key provided: sk-secret-key-of-ours"), ModelRefused, "OPENAI_API_KEY"),
        (Reply.refusal(403, "Country not supported"), ModelRefused, "OPENAI_API_KEY"),
        (Reply.refusal(404, "The model `x` does not exist", code="model_not_found"), ModelRefused, "not known"),
        (Reply.refusal(400, "x is not a valid model ID"), ModelRefused, "not known"),
        (Reply.refusal(402, "Insufficient credits"), ModelRefused, "quota"),
        (Reply.refusal(429, "You exceeded your current quota", code="insufficient_quota"), ModelRefused, "quota"),
        (Reply.filtered(), ModelRefused, "content"),
        (Reply.refusal(400, "temperature is out of range for What is the news?"), ModelRefused, "refuses the request"),
        (Reply.too_long(), ContextTooLong, "too long"),
    ],
)
async def test_each_refusal_has_its_name_and_is_not_repeated(
    server: ModelServer, models: Models, question: Request, asking: Ask, reply: Reply, kind: type, says: str
) -> None:
    server.reply(reply)

    error = (await asking(models, question)).error

    assert type(error).__mro__.count(kind)
    assert says in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("the request exceeds the available context size. try increasing the context size", 0),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4_096),
        ("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", 4_096),
        ("This endpoint's maximum context length is 131,072 tokens. You requested about 200000 tokens.", 131_072),
        ("Requested tokens (1043) exceed context window of 512", 512),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("Your input exceeds the context window of this model. Please adjust your input and try again.", 0),
        ("This model's maximum prompt length is 131072 but the request contains 150000 tokens.", 131_072),
        ("Please reduce the length of the messages or completion. Current length is 9001 while limit is 8192", 8_192),
        ("Total tokens of image and text exceed max message tokens", 0),
        ("Range of input length should be [1, 30720]", 30_720),
        ("Input is too long for requested model.", 0),
        ("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.", 0),
    ],
)
@pytest.mark.parametrize("status", [400, 429, 500])
async def test_every_server_s_words_for_too_long_are_understood(
    server: ModelServer, models: Models, question: Request, asking: Ask, words: str, window: int, status: int
) -> None:
    before = models.window(models.name)
    server.reply(Reply.refusal(status, words))

    error = (await asking(models, question)).error

    assert isinstance(error, ContextTooLong)
    assert error.window == window
    assert models.window(models.name) == (window or before)


async def test_a_window_is_learned_for_the_model_that_told_it_and_never_exceeds_what_the_operator_allows(
    server: ModelServer, opened: Open, question: Request, asking: Ask
) -> None:
    server.models.append("other")
    models = opened(fallbacks=("openai:other",))
    server.reply(Reply.too_long(limit=8192))

    await asking(models, question)

    assert models.window("openai:scripted") == 8192
    assert models.window("openai:other") == 128_000
    assert [models.window("openai:scripted", most) for most in (4_000, 50_000)] == [4_000, 8192]
    assert models.window("openai:other", 4_000) == 4_000


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 200])
async def test_no_error_repeats_the_key_or_the_conversation(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock, status: int
) -> None:
    import traceback

    from aiohttp import web

    clock.instant = True
    words = "Bad key sk-secret-key-of-ours for: What is the news?"

    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": words, "code": words, "type": words}}, status=status)

    error = (await asking(opened(base_urls={"openai": await raw_server(refuse)}), question)).error

    assert isinstance(error, ModelError)
    shown = "".join(traceback.format_exception(error))
    assert "sk-secret" not in str(error)
    assert "the news" not in str(error)
    assert "sk-secret" not in shown
    assert "the news" not in shown


async def test_a_server_that_ignores_streaming_is_still_understood(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask
) -> None:
    from aiohttp import web

    async def whole(request: web.Request) -> web.Response:
        choice = {"index": 0, "message": {"role": "assistant", "content": "Here."}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})

    asked = await asking(opened(base_urls={"openai": await raw_server(whole)}), question)

    assert asked.answer.text == asked.text == "Here."
    assert asked.answer.usage.prompt == 7


async def test_events_without_the_blank_line_between_them_are_told_apart(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask
) -> None:
    from aiohttp import web

    def chunk(text: str, finish: str | None = None) -> str:
        return json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})

    async def handle(request: web.Request) -> web.Response:
        lines = [f"data: {chunk('Here ')}", f"data: {chunk('it is.', 'stop')}", "data: [DONE]"]
        return web.Response(text="\n".join(lines), content_type="text/event-stream")

    asked = await asking(opened(base_urls={"openai": await raw_server(handle)}), question)

    assert asked.answer.text == "Here it is."


def _said(text: str, finish: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([_said("It ") + _said("is "), _said("here.", "stop")], "It is here."),
        ([_said("It ") + "\tdata: " + _said("is "), _said("here.", "stop")], "It is here."),
        ([_said("It "), _said("is ")[:60] + _said("here.", "stop")], "It here."),
        ([_said("It "), _said("is ")[:60] + "data: " + _said("here.", "stop")], "It here."),
        ([_said("It "), _said("is ") + _said("is ")[:30] + _said("here.", "stop")], "It is here."),
        ([_said("It "), _said("is here.") + "[DONE]"], "It is here."),
        ([_said("It "), _said("is here.") + "data: [DONE]"], "It is here."),
        ([_said("It "), _said("is here.") + "\ndata: [DONE]"], "It is here."),
        *(
            ([_said("It "), _said("is {here} ")[:cut] + glue + _said("here.", "stop")], "It here.")
            for cut in (1, 2, 9, 12, 13, 14, 15, 40, 50, 56, 62)
            for glue in ("", "data: ")
        ),
    ],
)
async def test_of_several_objects_in_one_line_each_whole_one_counts(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events, lines: list[str], text: str
) -> None:
    """GLM's server at times cuts a frame off and sends the next one in the same line."""
    asked = await asking(opened(base_urls={"openai": await raw_server(events(*lines))}), question)

    assert asked.answer.text == text


@pytest.mark.parametrize("line", ["{", '{"choices": [', "{}{", "[" * 90_000, "{" * 90_000, '{"a":' * 30_000, "x{}"])
async def test_a_line_without_a_whole_object_at_its_end_is_a_drop(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events, line: str
) -> None:
    asked = await asking(opened(base_urls={"openai": await raw_server(events(_said("It "), line))}), question)

    assert isinstance(asked.error, ModelDropped)
    assert asked.text == "It "


async def test_a_stream_that_is_complete_but_never_closed_ends_soon(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    from aiohttp import web

    sent, leave = asyncio.Event(), asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"choices": [{"delta": {"content": "Here."}, "finish_reason": "stop"}]}\n\n')
        sent.set()
        await leave.wait()
        return response

    task = asyncio.create_task(asking(opened(base_urls={"openai": await raw_server(handle)}), question))
    await asyncio.wait_for(sent.wait(), PATIENCE)
    await asyncio.sleep(0.05)
    await clock.advance(12.0)

    assert (await asyncio.wait_for(task, PATIENCE)).answer.text == "Here."
    leave.set()


async def test_characters_survive_any_cut_of_the_bytes(
    server: ModelServer, models: Models, question: Request, asking: Ask
) -> None:
    server.reply(Reply("早安 😀 é\u0301 مرحبا", reasoning="想一想 🤔", chunk_bytes=1, pings=True))

    asked = await asking(models, question)

    assert asked.text == asked.answer.text == "早安 😀 é\u0301 مرحبا"
    assert asked.reasoning == asked.answer.reasoning == "想一想 🤔"


async def test_one_connection_serves_one_request_after_another(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    ports: set[object] = set()
    done = events('{"choices": [{"delta": {"content": "Here."}, "finish_reason": "stop"}]}', "[DONE]")

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername"))
        return await done(request)

    models = opened(base_urls={"openai": await raw_server(handle)})
    for _ in range(3):
        await asking(models, question)

    assert len(ports) == 1
