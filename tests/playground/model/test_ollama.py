"""The model server as an Ollama: its own interface, and what does not fit into its window."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import openai
import pytest

from playground.model import ModelServer, Reply
from playground.model.ollama import Ollama
from tests.conftest import RawJson

LONG: list[RawJson] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "The word is Rosebud."},
    {"role": "user", "content": "word " * 6000},
]


@pytest.fixture
def ollama(server: ModelServer) -> Ollama:
    server.ollama = Ollama()
    return server.ollama


Post = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
async def post(server: ModelServer) -> AsyncIterator[Post]:
    async with aiohttp.ClientSession() as session:

        async def call(path: str, **body: RawJson) -> tuple[int, str]:
            url = server.base_url.removesuffix("/v1") + path
            async with session.post(url, json={"model": "scripted", **body}) as answer:
                return answer.status, await answer.text()

        yield call


async def test_what_does_not_fit_is_gone_without_a_word(
    server: ModelServer, ollama: Ollama, post: Post, client: openai.AsyncOpenAI
) -> None:
    seen: list[RawJson] = []

    def script(body: RawJson) -> Reply:
        seen.append([message["content"][:20] for message in body["messages"]])
        return Reply("Yes.")

    server.script = script

    await client.chat.completions.create(model="scripted", messages=LONG)
    status, _ = await post("/api/chat", messages=LONG, options={"num_ctx": 16_384}, stream=True)

    assert status == 200 and [len(messages) for messages in seen] == [2, 3]
    assert seen[0][0] == "Be brief." and "Rosebud" not in str(seen[0]) and "Rosebud" in str(seen[1])
    assert ollama.loads == [4096, 16_384]


async def test_it_refuses_instead_where_it_is_asked_to(server: ModelServer, ollama: Ollama, post: Post) -> None:
    status, said = await post("/api/chat", messages=LONG, truncate=False, stream=True)

    assert (status, said) == (400, '{"error": "the input length exceeds the context length"}')


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}],
        [{"role": "user", "content": "a"}, {"role": "tool", "tool_name": "a", "content": "1"}],
        [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
    ],
)
async def test_a_message_in_another_interfaces_form_is_refused(
    messages: RawJson, server: ModelServer, ollama: Ollama, post: Post
) -> None:
    status, _ = await post("/api/chat", messages=messages, stream=True)

    assert status == 400


async def test_a_server_that_is_no_ollama_knows_nothing_of_it(server: ModelServer, post: Post) -> None:
    assert (await post("/api/show"))[0] == (await post("/api/chat"))[0] == 404
