"""Web search: the real Tavily client against the emulated service."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from playground.faults import Fault
from playground.tavily import PAGES, CannedPage, TavilyServer
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext, ToolError, Unavailable
from tools.search_web import WebSearch, open_tool
from tools.settings import SearchSettings

KEY = "tvly-secret-key"


def settings(base_url: str, key: str = KEY, **more: Any) -> SearchSettings:
    return SearchSettings.model_construct(tavily_api_key=SecretStr(key), tavily_api_base_url=base_url, **more)


@pytest.fixture
async def tavily() -> AsyncIterator[TavilyServer]:
    async with TavilyServer(key=KEY) as server:
        yield server


@pytest.fixture
async def search(tavily: TavilyServer) -> AsyncIterator[WebSearch]:
    tool = open_tool(settings(tavily.base_url))
    yield tool
    await tool.close()


def test_without_a_key_it_is_not_offered_and_says_what_it_needs() -> None:
    for none in (None, settings("https://api.tavily.com", ""), settings("https://api.tavily.com", "  ")):
        with pytest.raises(Unavailable, match="TAVILY_API_KEY"):
            open_tool(none)


async def test_a_quick_search_gives_three_numbered_results_with_their_addresses(
    tavily: TavilyServer, search: WebSearch
) -> None:
    result = await search.run({"query": "solar  power\nrecord"}, ToolContext())

    assert result.ok
    assert result.untrusted
    assert result.text.startswith("Search results for 'solar power record':\n\n[1] Solar power grows faster")
    assert "Source: https://energy.example/solar-record" in result.text
    assert "[3]" in result.text or len(result.sources) < 3
    assert result.sources[0].url == "https://energy.example/solar-record"
    body = tavily.requests[-1].body
    assert (body["search_depth"], body["max_results"], "include_answer" in body) == ("basic", 3, False)
    assert tavily.requests[-1].headers["Authorization"] == f"Bearer {KEY}"


async def test_a_deep_search_gives_the_services_own_summary_first(tavily: TavilyServer, search: WebSearch) -> None:
    result = await search.run({"query": "solar power", "mode": "deep"}, ToolContext())

    assert result.text.index("Summary by the search service: Solar farms added") < result.text.index("[1]")
    body = tavily.requests[-1].body
    assert (body["search_depth"], body["max_results"], body["include_answer"]) == ("advanced", 10, True)


async def test_news_carry_their_date(search: WebSearch) -> None:
    result = await search.run({"query": "solar power", "topic": "news", "time_range": "month"}, ToolContext())

    assert "\nDate: " in result.text


async def test_domains_are_taken_as_addresses_too(tavily: TavilyServer, search: WebSearch) -> None:
    result = await search.run(
        {
            "query": "weather",
            "include_domains": ["https://weather.example/paris?x=1", "weather.example", " "],
            "exclude_domains": ["Tianqi.example"],
        },
        ToolContext(),
    )

    body = tavily.requests[-1].body
    assert body["include_domains"] == ["weather.example"]
    assert body["exclude_domains"] == ["tianqi.example"]
    assert {source.url for source in result.sources} <= {page.url for page in PAGES if "weather.example" in page.url}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"query": "  \n"}, "empty"),
        ({"query": "x" * 401}, "401 characters, at most 400"),
        ({"query": "x", "include_domains": ["the web"]}, "not 'the web'"),
        ({"query": "x", "include_domains": [f"{n}.example" for n in range(51)]}, "51 domains, at most 50"),
    ],
)
async def test_what_the_service_would_refuse_is_not_sent(
    tavily: TavilyServer, search: WebSearch, arguments: dict[str, str | list[str]], reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        await search.run(arguments, ToolContext())  # type: ignore[arg-type]  # JSON all the same

    assert not tavily.requests


async def test_nothing_found_says_so(tavily: TavilyServer, search: WebSearch) -> None:
    tavily.last_resort = None

    result = await search.run({"query": "xyzzy plugh"}, ToolContext())

    assert result.ok
    assert "Nothing was found for 'xyzzy plugh'" in result.text
    assert result.sources == ()


async def test_long_excerpts_are_shortened_before_a_result_is_left_out(tavily: TavilyServer, search: WebSearch) -> None:
    """Each of them was paid for."""
    tavily.per_minute = 10_000
    tavily.pages = [
        CannedPage(f"https://long.example/{n}", f"Rivers, part {n}", f"Rivers {n}. " + "water " * (20 + 40 * n))
        for n in range(8)
    ]
    whole = await search.run({"query": "rivers", "mode": "deep"}, ToolContext(chars=100_000))

    for chars in range(700, len(whole.text) + 1, 50):
        result = await search.run({"query": "rivers", "mode": "deep"}, ToolContext(chars=chars))
        shown = len(result.sources)
        assert len(result.text) <= chars
        assert result.text.count("\nSource: ") == shown
        if shown < 8:
            assert result.text.endswith(f"({shown} of 8 results are shown.)")
        if chars >= 2000:
            assert shown == 8
        if 2500 <= chars < len(whole.text):
            assert len(result.text) > chars - 30, "the room is used"


async def test_the_relevance_of_each_result_is_told(search: WebSearch) -> None:
    result = await search.run({"query": "solar power record"}, ToolContext())

    assert re.search(r"\nRelevance: 0\.\d\d\n", result.text)


async def test_labels_are_in_the_language_of_the_question(search: WebSearch) -> None:
    simplified = await search.run({"query": "solar power"}, ToolContext(language="zh-CN"))
    traditional = await search.run({"query": "solar power"}, ToolContext(language="zh-Hant-TW"))

    assert simplified.text.startswith("“solar power”的搜索结果：") and "\n来源：https://" in simplified.text
    assert traditional.text.startswith("「solar power」的搜尋結果：") and "\n來源：https://" in traditional.text


async def test_a_quick_search_that_finds_little_is_made_once_more_deep(tavily: TavilyServer) -> None:
    tool = open_tool(settings(tavily.base_url), again_below=1.0)

    result = await tool.run({"query": "solar power"}, ToolContext())
    deep = await tool.run({"query": "solar power", "mode": "deep"}, ToolContext())
    tavily.credits = 1.0
    kept = await tool.run({"query": "solar power"}, ToolContext())
    await tool.close()

    depths = [request.body["search_depth"] for request in tavily.requests]
    assert depths == ["basic", "advanced", "advanced", "basic", "advanced"]
    assert "Summary by the search service" in result.text and deep.text == result.text
    assert kept.ok and "Summary by the search service" not in kept.text and kept.sources


async def test_when_not_even_one_entry_fits_a_part_of_it_is_shown(tavily: TavilyServer, search: WebSearch) -> None:
    tavily.pages = [CannedPage("https://long.example/1", "Rivers", "Rivers " * 500)]

    result = await search.run({"query": "rivers"}, ToolContext(chars=300))

    assert len(result.text) <= 300
    assert "https://long.example/1" in result.text
    assert result.text.endswith(" […]")


@pytest.mark.parametrize(
    ("fault", "reason", "retry"),
    [
        (Fault(status=401), "refuses the bot's key", False),
        (Fault(status=403), "credits are used up", False),
        (Fault(status=432), "credits are used up", False),
        (Fault(status=433), "credits are used up", False),
        (Fault(status=429), "limit is reached", False),
        (Fault(status=400, body='{"detail": {"error": "Query is odd"}}'), "Query is odd. Change it", True),
        (Fault(status=400, body="<html>"), "no reason given", True),
        (Fault(status=422, body="{}"), "fewer filters", True),
        (Fault(status=404, body="{}"), "not where it should be", False),
        (Fault(status=500, body="oops"), "fault of its own", True),
        (Fault(status=503, body="oops"), "fault of its own", True),
        (Fault(status=204, body=""), "no search result", False),
        (Fault(status=200, body="<html>hello</html>"), "no search result", False),
        (Fault(status=200, body="[1, 2]"), "no search result", False),
        (Fault(status=200, body='{"results": 5}'), "no search result", False),
        (Fault(status=302, body=""), "not where it should be", False),
        (Fault(drop="before"), "cannot be reached", False),
        (Fault(drop="after"), "cannot be reached", False),
    ],
    ids=lambda value: str(value.status or value.drop) if isinstance(value, Fault) else None,
)
async def test_every_failure_says_what_to_do_and_nothing_of_ours(
    tavily: TavilyServer, search: WebSearch, fault: Fault, reason: str, retry: bool
) -> None:
    tavily.faults.add("search", fault)

    with pytest.raises(ToolError, match=reason) as error:
        await search.run({"query": "weather"}, ToolContext())

    assert error.value.retry is retry
    assert KEY not in str(error.value)
    assert "127.0.0.1" not in str(error.value)


async def test_an_error_that_quotes_the_key_is_told_without_it(tavily: TavilyServer, search: WebSearch) -> None:
    tavily.faults.add("search", Fault(status=400, body=f'{{"detail": {{"error": "bad {KEY} at {tavily.base_url}"}}}}'))

    with pytest.raises(ToolError) as error:
        await search.run({"query": "weather"}, ToolContext())

    assert "bad *** at ***" in str(error.value)


async def test_a_service_that_does_not_answer_is_a_sentence_not_a_traceback(
    tavily: TavilyServer, search: WebSearch
) -> None:
    tavily.faults.add("search", Fault(hold=asyncio.Event()))

    with pytest.raises(ToolError, match=r"did not answer within 0\.05 s"):
        await search.run({"query": "weather"}, ToolContext(seconds=0.05))


async def test_a_service_that_is_gone_is_a_sentence() -> None:
    async with TavilyServer(key=KEY) as server:
        address = server.base_url
    tool = open_tool(settings(address))

    with pytest.raises(ToolError, match="cannot be reached"):
        await tool.run({"query": "weather"}, ToolContext())
    await tool.close()


async def test_an_address_that_is_none_is_a_sentence() -> None:
    tool = open_tool(settings("not an address"))

    with pytest.raises(ToolError, match="cannot be reached"):
        await tool.run({"query": "weather"}, ToolContext())
    await tool.close()


async def test_a_result_without_an_address_that_opens_is_left_out(tavily: TavilyServer, search: WebSearch) -> None:
    body = (
        '{"answer": 5, "results": [{"title": "a", "url": "javascript:alert(1)"}, {"title": "b", "url": null}, 7, '
        '{"title": "x\\ny", "url": "https://good.example/", "content": "one\\n\\n\\ntwo"}, {"url": "https://bare.example"}]}'
    )
    tavily.faults.add("search", Fault(status=200, body=body))

    result = await search.run({"query": "weather"}, ToolContext())

    assert [source.url for source in result.sources] == ["https://good.example/", "https://bare.example"]
    assert "[1] x y\nSource: https://good.example/\none\ntwo\n" in result.text
    assert "[2] (no title)\nSource: https://bare.example\n(no excerpt)" in result.text


async def test_the_same_search_within_minutes_asks_once(tavily: TavilyServer) -> None:
    registry = ToolRegistry([open_tool(settings(tavily.base_url))])
    call = ToolCall("1", "search_web", {"query": "weather in Paris"})

    first, shared = await asyncio.gather(registry.run(call, ToolContext()), registry.run(call, ToolContext()))
    again = await registry.run(call, ToolContext())

    assert len(tavily.requests) == 1
    assert [first.status, shared.status, again.status] == ["completed", "cached", "cached"]
    assert first.text == shared.text == again.text
    await registry.close()


async def test_it_can_be_closed_twice_and_used_again(tavily: TavilyServer, search: WebSearch) -> None:
    await search.run({"query": "weather"}, ToolContext())
    await search.close()
    await search.close()

    assert (await search.run({"query": "weather"}, ToolContext())).ok


def test_the_library_is_not_loaded_before_the_first_search() -> None:
    code = (
        "import sys; from tools import open_registry; from tools.settings import SearchSettings;"
        "registry = open_registry({'search_web': SearchSettings(tavily_api_key='k')});"
        "assert registry.spec('search_web'), registry.unavailable;"
        "print([name for name in ('tavily', 'httpx', 'tiktoken', 'requests') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )

    assert done.stdout.strip() == "[]"
