"""What goes wrong with a stream, as the real client meets it: the facts the bot has to live with."""

from __future__ import annotations

import asyncio
import json

import httpx2
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.model import ModelServer, Reply
from tests.conftest import RawJson
from tests.patience import PATIENCE, slowed

ASK: list[RawJson] = [{"role": "user", "content": "hi"}]
TEXT = "These are the words of an answer."


async def read(client: openai.AsyncOpenAI, into: list[str]) -> str | None:
    """Read a stream to its end into `into`; the finish reason, if there was one."""
    finish = None
    async for chunk in await client.chat.completions.create(model="scripted", messages=ASK, stream=True):
        if chunk.choices:
            into.append(chunk.choices[0].delta.content or "")
            finish = chunk.choices[0].finish_reason or finish
    return finish


@pytest.mark.parametrize("half_line", [False, True])
async def test_a_dropped_stream_ends_cleanly_without_a_finish_reason(
    server: ModelServer, client: openai.AsyncOpenAI, half_line: bool
) -> None:
    server.reply(Reply(TEXT, drop_after=9, half_line=half_line))
    text: list[str] = []

    assert await read(client, text) is None
    assert "".join(text) == TEXT[:9]


@pytest.mark.parametrize("reply", [Reply(TEXT, cut_after=9), Reply(TEXT, reset_after=9)], ids=["cut", "reset"])
async def test_a_cut_or_reset_connection_is_an_error_after_the_text(
    server: ModelServer, client: openai.AsyncOpenAI, reply: Reply
) -> None:
    server.reply(reply)
    text: list[str] = []

    with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
        await read(client, text)

    assert TEXT[:9].startswith("".join(text))


async def test_a_malformed_line_stands_in_the_middle_of_the_stream(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    server.reply(Reply(TEXT, malformed_line=9))
    text: list[str] = []

    with pytest.raises(json.JSONDecodeError):
        await read(client, text)

    assert "".join(text) == TEXT[:9]


async def test_an_error_object_in_the_stream_is_an_api_error(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply(TEXT, error_object=9, error={"message": "overloaded", "type": "overloaded_error"}))
    text: list[str] = []

    with pytest.raises(openai.APIError, match="overloaded"):
        await read(client, text)

    assert "".join(text) == TEXT[:9]


@pytest.mark.parametrize("reply", [Reply(TEXT, html_200=True), Reply(TEXT, only_done=True), Reply("")])
async def test_html_with_200_and_only_done_and_an_empty_answer_hold_no_text(
    server: ModelServer, client: openai.AsyncOpenAI, reply: Reply
) -> None:
    server.reply(reply)
    text: list[str] = []

    await read(client, text)

    assert "".join(text) == ""


async def test_comments_keep_a_connection_alive_without_a_word(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """The client's read timeout never fires, because bytes keep coming."""
    until = asyncio.Event()
    server.reply(Reply(TEXT, comments_forever=True, until=until))
    text: list[str] = []
    silence = slowed(0.1)
    task = asyncio.ensure_future(read(client.with_options(timeout=httpx2.Timeout(PATIENCE, read=silence)), text))

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(task), 3 * silence)
    until.set()

    assert await task == "stop"
    assert "".join(text) == TEXT


async def test_pings_between_chunks_change_nothing(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply(TEXT, pings=True))
    text: list[str] = []

    assert await read(client, text) == "stop"
    assert "".join(text) == TEXT


async def test_a_stream_hangs_until_it_is_released(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    until = asyncio.Event()
    server.reply(Reply(TEXT, hang_after=9, until=until))
    stream = await client.chat.completions.create(model="scripted", messages=ASK, stream=True)
    text = ""

    async for chunk in stream:
        text += chunk.choices[0].delta.content or ""
        if len(text) >= 9:
            break
    assert text == TEXT[:9]
    assert server.requests[0].sent == 9
    until.set()
    async for chunk in stream:
        text += chunk.choices[0].delta.content or ""

    assert text == TEXT


async def test_an_endless_answer_goes_on_until_the_client_leaves(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    server.reply(Reply(TEXT, endless=True))
    size = 0

    async with await client.chat.completions.create(model="scripted", messages=ASK, stream=True) as stream:
        async for chunk in stream:
            size += len(chunk.choices[0].delta.content or "")
            if size > 20 * len(TEXT):
                break
    await asyncio.wait_for(server.requests[0].ended.wait(), PATIENCE)

    assert server.requests[0].closed_early


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8"), max_size=40), size=st.integers(1, 7))
async def test_bytes_cut_anywhere_join_to_the_same_text(
    server: ModelServer, client: openai.AsyncOpenAI, text: str, size: int
) -> None:
    server.reply(Reply(text, chunk_bytes=size))
    read_text: list[str] = []

    await read(client, read_text)

    assert "".join(read_text) == text


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (Reply.refuses_tools("x"), openai.BadRequestError, "registry.ollama.ai/library/x does not support tools"),
        (Reply.too_long(), openai.BadRequestError, "maximum context length is 8192 tokens"),
        (Reply.filtered(), openai.BadRequestError, "content management policy"),
        (Reply.rate_limited(12), openai.RateLimitError, "Rate limit reached"),
        (Reply(status=503), openai.InternalServerError, "The server failed"),
    ],
)
async def test_refusals_come_as_the_services_write_them(
    server: ModelServer, client: openai.AsyncOpenAI, reply: Reply, error: type[openai.APIStatusError], words: str
) -> None:
    server.reply(reply)

    with pytest.raises(error, match=words) as raised:
        await client.chat.completions.create(model="scripted", messages=ASK, stream=True)

    if reply.retry_after:
        assert raised.value.response.headers["retry-after"] == "12"


async def test_a_conversation_beyond_the_window_is_refused(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.context_tokens = 50

    with pytest.raises(openai.BadRequestError) as error:
        await client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": "word " * 200}])

    assert error.value.code == "context_length_exceeded"
