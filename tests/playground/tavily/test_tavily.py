"""The Tavily server through the real client: related pages, refusals, limits and faults."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator

import httpx
import pytest
from tavily import AsyncTavilyClient
from tavily.errors import BadRequestError, ForbiddenError, InvalidAPIKeyError, UsageLimitExceededError
from tavily.errors import TimeoutError as TavilyTimeoutError

from playground.faults import Fault
from playground.tavily import TavilyServer
from tests.conftest import RawJson, RawObject

NOW = datetime.datetime(2026, 5, 4, 12, tzinfo=datetime.UTC)


@pytest.fixture
async def server() -> AsyncIterator[TavilyServer]:
    async with TavilyServer(key="tvly-test", now=lambda: NOW) as server:
        yield server


@pytest.fixture
async def client(server: TavilyServer) -> AsyncIterator[AsyncTavilyClient]:
    async with AsyncTavilyClient("tvly-test", api_base_url=server.base_url) as client:
        yield client


@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("the latest news about solar power", "https://energy.example/solar-record"),
        ("What is the weather in Paris today?", "https://weather.example/paris"),
        ("weather tokyo", "https://weather.example/tokyo"),
        ("巴黎的天气", "https://tianqi.example/paris"),
        ("北京今天天气怎么样", "https://tianqi.example/beijing"),
        ("太阳能的最新新闻", "https://nengyuan.example/taiyangneng"),
        ("electric car range in winter", "https://cars.example/electric-range"),
        ("who won the football final", "https://sport.example/final"),
        ("stock market today", "https://markets.example/stocks-today"),
        ("长城有多长", "https://changcheng.example/lishi"),
        ("how do I bake sourdough bread", "https://kitchen.example/sourdough"),
        ("small AI language models", "https://models.example/small-language-models"),
    ],
)
async def test_a_query_finds_the_page_it_means(client: AsyncTavilyClient, query: str, url: str) -> None:
    found = await client.search(query)

    assert found["results"][0]["url"] == url
    scores = [result["score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    assert found["answer"] is None


async def test_a_search_that_finds_nothing_says_so_plainly(client: AsyncTavilyClient, server: TavilyServer) -> None:
    found = await client.search("zygomorphic quux")
    server.last_resort = None
    empty = await client.search("zygomorphic quux")

    assert "knows no page about this" in found["results"][0]["title"]
    assert empty["results"] == []


async def test_answer_and_depth_come_on_request(client: AsyncTavilyClient) -> None:
    found = await client.search("paris weather", search_depth="advanced", include_answer=True)

    assert found["answer"].startswith("Paris, France")
    assert " [...] " in found["results"][0]["content"]


async def test_topic_time_and_domains_narrow_the_search(client: AsyncTavilyClient) -> None:
    async def urls(query: str, **options: RawJson) -> list[str]:
        return [result["url"] for result in (await client.search(query, **options))["results"]]

    assert all("energy" in url for url in await urls("solar power", topic="news", include_domains=["energy.example"]))
    assert "https://energy.example/batteries" not in await urls("solar batteries", time_range="week")
    assert "https://energy.example/batteries" in await urls("solar batteries", time_range="month")
    assert "https://weather.example/paris" not in await urls("paris weather", exclude_domains=["weather.example"])
    assert await urls("stocks", topic="finance") == ["https://markets.example/stocks-today"]
    assert len(await urls("weather", max_results=1)) == 1


async def test_news_carry_their_date(client: AsyncTavilyClient) -> None:
    found = await client.search("solar power", topic="news")

    assert found["results"][0]["published_date"] == "Sat, 02 May 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("query", "options", "words"),
    [
        ("", {}, "Query is missing"),
        ("a" * 401, {}, "too long"),
        ("a", {"search_depth": "deep"}, "Invalid search_depth"),
        ("a", {"topic": "sports"}, "Invalid topic"),
        ("a", {"time_range": "hour"}, "Invalid time_range"),
        ("a", {"max_results": 21}, "between 0 and 20"),
        ("a", {"include_answer": "long"}, "Invalid include_answer"),
        ("a", {"include_images": 1}, "Invalid include_images"),
        ("a", {"start_date": "4 May"}, "YYYY-MM-DD"),
        ("a", {"include_domains": ["a.example"] * 301}, "Max 300"),
        ("a", {"topic": "news", "country": "france"}, "only available with topic 'general'"),
    ],
)
async def test_a_search_out_of_range_is_refused(
    client: AsyncTavilyClient, query: str, options: RawObject, words: str
) -> None:
    with pytest.raises(BadRequestError, match=words):
        await client.search(query, **options)


async def test_a_wrong_key_is_refused_and_every_request_is_kept(server: TavilyServer) -> None:
    async with AsyncTavilyClient("tvly-wrong", api_base_url=server.base_url) as client:
        with pytest.raises(InvalidAPIKeyError):
            await client.search("solar")

    assert [(seen.path, seen.body["query"], seen.status) for seen in server.requests] == [("/search", "solar", 401)]


async def test_too_many_requests_and_an_empty_plan_are_refused(client: AsyncTavilyClient, server: TavilyServer) -> None:
    server.credits = 1
    await client.search("solar")
    with pytest.raises(ForbiddenError, match="usage limit"):
        await client.search("solar")
    server.per_minute = 2
    with pytest.raises(UsageLimitExceededError, match="excessive"):
        await client.search("solar")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, InvalidAPIKeyError),
        (403, ForbiddenError),
        (432, ForbiddenError),
        (433, ForbiddenError),
        (429, UsageLimitExceededError),
        (500, httpx.HTTPStatusError),
        (503, httpx.HTTPStatusError),
    ],
)
async def test_each_error_status_can_be_asked_for(
    client: AsyncTavilyClient, server: TavilyServer, status: int, error: type[Exception]
) -> None:
    server.faults.add("search", Fault(status=status))

    with pytest.raises(error):
        await client.search("solar")
    assert (await client.search("solar"))["results"]


async def test_a_search_can_hang_and_a_connection_can_drop(client: AsyncTavilyClient, server: TavilyServer) -> None:
    hold = asyncio.Event()
    server.faults.add("search", Fault(hold=hold))
    server.faults.add("search", Fault(drop="after"))

    with pytest.raises(TavilyTimeoutError):
        await client.search("solar", timeout=0.2)
    with pytest.raises(httpx.TransportError):
        await client.search("solar")
