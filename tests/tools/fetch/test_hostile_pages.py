"""Pages made to cost more than they are worth: the loop turns all the while, and time grows with their length alone."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from bot.safety.untrusted import wrap_as_data
from tests.patience import slowed
from tests.tools.fetch.conftest import Site
from tools.calling.parts import in_parts
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext, ToolError
from tools.fetch import encodings, reader
from tools.fetch.client import PDF_BYTES, Fetched, Fetcher
from tools.fetch.extraction import extract
from tools.read_page import ReadPage

MOST = 2_000_000
SHAPES = {
    "spaces": " ",
    "tabs": "\t",
    "lines": "\n",
    "blank lines": "\n ",
    "returns": "\r",
    "controls": "\x01",
    "word": "a",
    "ideographs": "橋",
    "marks": "e\u0301\u0301\u0301",
    "brackets": "[",
    "links": "[a](<#",
    "backticks": "`",
    "quotes": "\"'",
    "tags": "<",
    "entities": "&",
    "roles": "<|im_start|",
    "sentences": ". ",
}
HTML = {
    "deep": "<div>" * 200_000 + "deep",
    "deep bold": "<p>" + "<b>" * 200_000 + "deep",
    "links": "<article>" + "<p>word <a href='x/y'>link</a> word</p>" * 100_000,
    "open links": "<p>" + "<a href='x'>[" * 50_000,
    "links in code": "<pre><code>" + "<a href='x'>name</a>\n" * 60_000,
    "cells": "<table>" + "<tr><td>x" * 100_000,
    "items": "<ul>" + "<li>" * 150_000,
    "breaks": "<p>" + "x<br>" * 150_000,
    "word": "<html><body><p>" + "a" * MOST,
    "spaces": "<html><body><p>x" + " " * MOST + "y",
    "spaces in code": "<article><p>" + "word " * 100 + "</p><pre>x" + " " * 600_000 + "y</pre>",
    "entities": "<!DOCTYPE html [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]><p>&b;&b;</p>",
    "brackets": "<html><body>" + "](" * 500_000,
    "pictures": "<html><body><p>" + "![" * 300_000 + "</p>",
    "scripts": "<html><body><p>x</p>" + "<script>" * 250_000,
    "open tags": "<html><body><p>x</p>" + "<script " * 250_000,
    "comments": "<html><body>" + "<!--" * 500_000,
    "title": "<html><head><title>" + "t " * 1_000_000 + "</title><body><p>x</p>",
    "metas": "<html><head>" + "<meta name=author content=x>" * 70_000 + "</head><body><p>x",
    "data": "<html><head><script type='application/ld+json'>" + "[" * 600_000 + "</script></head><body><p>x",
    "dates": "<html><body><p>" + "2020-01-02 3 May 2021 " * 90_000,
}


class Loop:
    """How long the event loop was held up at most, in processor time of its thread."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Measure from now on: what the test itself computed before does not count."""
        self.longest, self._last = 0.0, time.thread_time()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(0.005)
            # What this thread computed; how long it waited for a processor says nothing of the reader.
            now = time.thread_time()
            self.longest, self._last = max(self.longest, now - self._last), now


@pytest.fixture
async def loop() -> AsyncIterator[Loop]:
    made = Loop()
    watching = asyncio.create_task(made.watch())
    yield made
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


EACH = ("deep", "links", "cells", "word", "entities", "scripts", "dates")
"""One of each kind: the others differ to the reader alone, which is a process of its own."""


@pytest.mark.parametrize(
    "html", [pytest.param(html, marks=() if name in EACH else pytest.mark.soak, id=name) for name, html in HTML.items()]
)
async def test_a_hostile_page_never_holds_up_the_loop(html: str, loop: Loop) -> None:
    """Whatever comes of it: the loop turns all the while, and it ends at the limit."""
    try:
        await extract(Fetched("https://e.example/a/", "text/html", "", html.encode()[:MOST], False), seconds=1.0)
    except ToolError:
        pass

    assert loop.longest < slowed(0.1)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=() if name in ("spaces", "marks", "brackets", "roles") else pytest.mark.soak, id=name)
        for name, shape in SHAPES.items()
    ],
)
async def test_a_packed_text_of_one_sign_is_read_without_holding_up_the_loop(
    shape: str, site: Site, fetcher: Fetcher, loop: Loop
) -> None:
    """All the way from the wire to what a model is told: two megabytes that came as two kilobytes."""
    text = (shape * (MOST // len(shape.encode())) + "end").encode()
    url = site.page("/", gzip.compress(text), "text/plain; charset=utf-8", Content_Encoding="gzip")
    registry = ToolRegistry([ReadPage(fetcher=fetcher)])
    loop.begin()

    result = await registry.run(ToolCall("1", "read_page", {"url": url}), ToolContext())
    wrap_as_data(result.text, "0" * 8, "read_page")
    await asyncio.sleep(0.01)
    await registry.close()

    assert result.ok
    assert loop.longest < slowed(0.1)


async def test_a_packed_pdf_is_unpacked_without_holding_up_the_loop(site: Site, fetcher: Fetcher, loop: Loop) -> None:
    body = gzip.compress(b"%PDF-1.7".ljust(PDF_BYTES))
    url = site.page("/", body, "application/pdf", Content_Encoding="gzip")
    loop.begin()

    fetched = await fetcher.get(url, pdf=True)

    assert len(fetched.body) == PDF_BYTES
    assert loop.longest < slowed(0.05)


def seconds(function: Callable[[Any], object], given: Any) -> float:
    """The processor time that `function` takes for this."""
    started = time.thread_time()
    function(given)
    return time.thread_time() - started


TRIES = 20
LITTLE = 0.0025
"""Seconds for the long text that are not judged."""
MOST_TIMES = 8.0
"""How many times longer four times as much may take: a square takes sixteen times, and a tree that fits into no cache
some more for each of its elements."""


def grows_evenly(function: Callable[[Any], object], made: Callable[[int], Any], length: int = 100_000) -> bool:
    """Whether `function` takes at most `MOST_TIMES` times as long for four times as much.

    What a busy machine adds to one measurement, the least of several of each length does not have.
    """
    short = long = float("inf")
    for _ in range(TRIES):
        short = min(short, seconds(function, made(length // 4)))
        long = min(long, seconds(function, made(length)))
        if long < max(MOST_TIMES * short, LITTLE):
            return True
    return False


def test_a_square_does_not_grow_evenly() -> None:
    assert grows_evenly(lambda count: sum(range(count)), lambda length: length)
    assert not grows_evenly(lambda count: sum(range(count)), lambda length: length**2 // 10_000)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    "function",
    [
        reader.tidy,
        reader.parse_html,
        lambda text: encodings.decode_body(text.encode(), "punycode"),
        lambda text: in_parts(text, 4000),
        lambda text: wrap_as_data(text, "0" * 8, "x"),
    ],
    ids=["tidy", "parsed", "decoded", "parts", "data"],
)
def test_the_time_for_a_text_grows_with_its_length_alone(function: Callable[[str], object], shape: str) -> None:
    assert grows_evenly(function, lambda length: "x" + (shape * length)[: length - 2] + "x")


PIECES = {
    "links": "<a href='x/y'>link</a> word ",
    "links nowhere": "<a href='#x'>link</a> word ",
    "links in code": "<pre><code><a href='x'>name</a>",
    "lines of code": "<code>x<br>y<br>",
    "code": "<code>x</code> ",
    "breaks": "x<br>",
    "items": "<li>x",
    "deep": "<div>x",
    "bold": "<b>x</b> ",
    "cells": "<tr><td>x",
    "bases": "<base href='/'>",
    "metas": "<meta name='author' content='x'>",
    "times": "<article><time datetime='2020'>x</time>",
    "titles": "<title>x</title><h1>x</h1>",
    "data": "<script type='application/ld+json'>[{\"author\": [{}]}]</script>",
    "blanks": "<p> \n </p> ",
    "brackets": "[x]( ",
}


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize(
    "function",
    [
        reader.read_metadata,
        reader.flatten_code,
        lambda tree: reader.resolve_links(tree, "https://e.example/a/b"),
        lambda tree: reader.extract_all_text(tree, frozenset({"script"})),
    ],
    ids=["described", "code", "links", "text"],
)
def test_the_time_for_a_page_grows_with_its_length_alone(function: Callable[[Any], object], piece: str) -> None:
    # What nested elements cost grows faster than the page, and no further from about 2,000 of them on.
    assert grows_evenly(
        function, lambda length: reader.parse_html("<body>" + piece * (length // len(piece)) + "end"), 200_000
    )
