"""read_page as the model calls it."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.fetch.conftest import Site
from tools.calling.parts import in_parts
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, Source, ToolCall, ToolContext, ToolResult, Unavailable
from tools.fetch.client import Fetcher
from tools.read_page import ReadPage, open_tool
from tools.settings import ReadPageSettings

LONG = "<html><head><title>Long</title></head><body><article>" + "".join(
    f"<p>Paragraph {number} tells of a bridge with {number} towers, and of the wind that blows there.</p>"
    for number in range(200)
)


@pytest.fixture
async def registry(fetcher: Fetcher) -> AsyncIterator[ToolRegistry]:
    made = ToolRegistry([ReadPage(fetcher=fetcher)], result_chars=4000)
    yield made
    await made.close()


async def read(registry: ToolRegistry, **arguments: Json) -> ToolResult:
    return await registry.run(ToolCall("1", "read_page", arguments), ToolContext())


async def test_a_page_is_read_with_its_address_as_a_source(registry: ToolRegistry, site: Site) -> None:
    url = site.page(
        "/bridges", "<html><title>Bridges</title><p>They hang from cables, high above the water.</p></html>"
    )

    result = await read(registry, url=f" {url} ")

    assert result.ok
    assert result.untrusted
    assert result.sources == (Source("Bridges", url),)
    assert result.text.startswith(f"Title: Bridges\nAddress: {url}\n")
    assert "They hang from cables" in result.text


async def test_a_long_page_is_read_part_by_part_and_fetched_once(registry: ToolRegistry, site: Site) -> None:
    url = site.page("/long", LONG)

    first = await read(registry, url=url)
    number = int(first.text.split("Part 1 of ")[1].split(";")[0])
    parts = [first, *[await read(registry, url=url, part=part) for part in range(2, number + 1)]]

    assert "call again with part=2 to read on" in first.text
    assert "the last" in parts[-1].text
    assert all(len(part.text) <= 4000 for part in parts)
    found = "\n".join(part.text for part in parts)
    for paragraph in range(200):
        assert f"Paragraph {paragraph} tells" in found
    assert len(site.requests) == 1


async def test_few_pages_are_fetched_at_once(registry: ToolRegistry, site: Site) -> None:
    """A hundred chats that open large PDFs at once do not take all memory."""
    waiting, most, enough = 0, 0, asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        if waiting == 8:
            enough.set()
        await enough.wait()
        await asyncio.sleep(0)
        waiting -= 1
        return web.Response(text="bridges", content_type="text/plain")

    urls = [site.page(f"/{number}", "") for number in range(12)]
    for number in range(12):
        site.answers[f"/{number}"] = answer

    results = await asyncio.gather(
        *(
            registry.run(ToolCall("1", "read_page", {"url": url}), ToolContext(scope=str(number)))
            for number, url in enumerate(urls)
        )
    )

    assert [result.ok for result in results] == [True] * 12
    assert most == 8


async def test_without_the_library_for_them_pdfs_are_refused(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pypdfium2" else True)
    tool = open_tool(ReadPageSettings(fetch_allow=site.allowed))

    result = await ToolRegistry([tool]).run(
        ToolCall("1", "read_page", {"url": site.page("/", b"%PDF-1.7", "application/pdf")}), ToolContext()
    )
    await tool.close()

    assert "The address leads to application/pdf" in result.text


async def test_a_part_that_is_not_there_is_refused_with_how_many_there_are(registry: ToolRegistry, site: Site) -> None:
    result = await read(registry, url=site.page("/", "<html><p>Only a short page here.</p></html>"), part=2)

    assert not result.ok
    assert "The page has 1 part; there is no part 2" in result.text


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost/", "http://169.254.169.254/latest/meta-data/"])
async def test_what_is_not_public_is_refused_in_a_sentence(url: str, registry: ToolRegistry) -> None:
    result = await read(registry, url=url)

    assert not result.ok
    assert "not on the public internet" in result.text


async def test_an_operator_may_name_a_page_of_its_own_network(site: Site) -> None:
    tool = open_tool(ReadPageSettings(fetch_allow=f" other.example:80 , {site.allowed}"))
    site.page("/", "<html><title>Wiki</title><p>For us alone, about our bridges.</p></html>")

    result = await tool.run({"url": site.url("/")}, ToolContext())
    await tool.close()

    assert "For us alone" in result.text


async def test_without_its_libraries_it_is_not_offered_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(Unavailable, match="it needs trafilatura: pip install trafilatura"):
        open_tool(None)


def test_opening_the_tools_loads_no_parser() -> None:
    code = (
        "import sys, tools\n"
        "tools.open_registry({})\n"
        "print([name for name in ('trafilatura', 'lxml', 'pypdfium2', 'aiohttp', 'ddgs') if name in sys.modules])"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


@given(st.text(alphabet="ab .\n。!", max_size=400), st.integers(1, 50))
def test_parts_hold_everything_and_none_is_too_long(text: str, room: int) -> None:
    parts = in_parts(text, room)

    assert all(len(part) <= room for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_parts_end_with_paragraphs() -> None:
    text = "\n\n".join(f"Paragraph {number} is about as long as the others are." for number in range(30))

    assert all(part.endswith("are.") for part in in_parts(text, 200))
