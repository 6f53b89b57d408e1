"""A model server and real `openai` clients that never retry, so that a test sees each answer."""

from collections.abc import AsyncIterator

import httpx2
import openai
import pytest

from playground.model import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(words_per_second=0) as server:
        yield server


@pytest.fixture
async def client(server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    timeout = httpx2.Timeout(20, connect=5)
    async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0, timeout=timeout) as client:
        yield client
