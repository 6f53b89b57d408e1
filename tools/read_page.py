"""Read one page or PDF of the public web as Markdown, part by part where it is long."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import time
from typing import TYPE_CHECKING, Any

from tools.calling.function import FunctionTool
from tools.calling.parts import in_parts
from tools.contract.base import Source, ToolContext, ToolError, ToolResult, Unavailable
from tools.contract.findings import Finding
from tools.contract.late import Late
from tools.contract.newest import Newest
from tools.settings import ReadPageSettings

if TYPE_CHECKING:
    from tools.fetch.client import Fetcher
    from tools.fetch.extraction import Page
    from tools.fetch.readers import Readers

KEPT_SECONDS = 600.0
KEPT_PAGES = 16
_READERS = 2
"""Pages parsed at once; each takes a processor."""
_PAGES = 8
"""Pages fetched at once; each may take the memory of a large PDF twice."""
"""How sentences end."""
_EXAMPLES = (
    {"url": "https://example.org/article"},
    {"url": "https://example.org/report.pdf", "part": 2},
)
_ASKED = (
    "Summarise https://example.org/article",
    "And what does the second part of https://example.org/report.pdf say?",
)
_KEYWORDS = (
    *("read", "open", "page", "link", "url", "http", "www", "article", "summarise this", "summarize this", "pdf"),
    *("website", "打开", "网页", "链接", "网址", "文章", "读一下", "总结这篇", "总结一下这个", "看看这个"),
)


def open_tool(settings: ReadPageSettings | None) -> ReadPage:
    """The reader; the libraries are only looked for, not loaded.

    Raises:
        Unavailable: the one for web pages is not installed. Without the one for PDFs these are refused.
    """
    if importlib.util.find_spec("trafilatura") is None:
        raise Unavailable("it needs trafilatura: pip install trafilatura lxml_html_clean pypdfium2")
    return ReadPage(settings.fetch_allow if settings is not None else "")


class ReadPage(FunctionTool):
    """`read_page`."""

    def __init__(self, allow: str = "", fetcher: Fetcher | None = None) -> None:
        self._fetcher: Late[Fetcher] = Late(lambda: _fetcher(allow), fetcher)
        self._pdf = importlib.util.find_spec("pypdfium2") is not None
        self._places = asyncio.Semaphore(_PAGES)
        self._turns = asyncio.Semaphore(_READERS)
        self._readers: Late[Readers] = Late(_readers)
        self._kept: Newest[str, tuple[float, Page]] = Newest(KEPT_PAGES)
        super().__init__(
            self.read,
            self._fetcher,
            name="read_page",
            category="web",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="fetch read open scrape extract url page web webpage website html markdown text content "
            "| url webpage website html",
            icon="📄",
            verb=("Reading a page", "正在阅读网页", "正在閱讀網頁"),
            label=("Read a web page or a PDF", "阅读网页或 PDF", "閱讀網頁或 PDF"),
            subject="url",
            address="url",
            cache_seconds=KEPT_SECONDS,
            timeout=25.0,
        )

    async def read(self, context: ToolContext, url: str, part: int = 1) -> ToolResult:
        """Read a page or PDF of the public web: its title, date and text in Markdown with its links.

        Use when: the person gives an address, or a search result must be read in full to answer.
        Not for: finding pages (search_web), pages behind a login, pictures, or addresses you only guess.
        Source: the page itself

        Args:
            url: The whole address, with http:// or https://. Example: "https://example.org/article"
            part: Which part of a long page; the result says how many there are.
        """
        if part < 1:
            raise ToolError("part must be at least 1.")
        page = await self._page(url.strip(), context)
        head = _head(page)
        parts = in_parts(page.text, max(400, context.chars - len(head) - 120))
        if part > len(parts):
            raise ToolError(f"The page has {len(parts)} part{'s' if len(parts) > 1 else ''}; there is no part {part}.")
        where = ""
        if len(parts) > 1:
            where = f"Part {part} of {len(parts)}"
            where += f"; call again with part={part + 1} to read on.\n" if part < len(parts) else ", the last.\n"
        return ToolResult(
            text=f"{head}{where}\n{parts[part - 1]}",
            sources=(Source(page.title or page.url, page.url),),
            untrusted=True,
        )

    async def _page(self, url: str, context: ToolContext) -> Page:
        """The page, read now or a moment ago: its further parts must not be another version's."""
        kept = self._kept.get(url)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        fetcher = await self._fetcher.get()
        extraction: Any = importlib.import_module("tools.fetch.extraction")
        async with self._places:
            fetched = await fetcher.get(url, pdf=self._pdf, follow=context.follow)
            async with self._turns:
                page: Page = await extraction.extract(fetched, start=self._started)
        self._kept.put(url, (time.monotonic() + KEPT_SECONDS, page))
        return page

    async def prove(self) -> str:
        """Where pages are read, as far as it shows in a moment."""
        return await (await self._readers.get()).proven("text")

    async def check(self, *, offline: bool = False) -> Finding:
        """Where pages are read, and what is not, for the operator. No page is opened, `offline` or not."""
        readers = await self._readers.get()
        text = f"no page was opened, which needs the public internet; {await readers.proven('html')}"
        if not self._pdf:
            return Finding.note(f"{text}; PDFs are refused: pypdfium2 is not installed (pip install pypdfium2)")
        return Finding.not_asked(text) if readers.confined else Finding.note(text)

    async def _started(self) -> asyncio.subprocess.Process:
        from tools.sandbox.cell import SandboxFailed

        try:
            return await (await self._readers.get()).start()
        except SandboxFailed as failure:
            raise ToolError(f"The page cannot be read now: {failure}. Try once more.") from failure


def _readers() -> Readers:
    from tools.fetch.readers import Readers

    return Readers()


def _fetcher(allow: str) -> Fetcher:
    from tools.fetch.client import Fetcher

    return Fetcher(allow=allow.split(","))


def _head(page: Page) -> str:
    lines = [f"Title: {page.title}" if page.title else "(no title)", f"Address: {page.url}"]
    about = (("Date", page.date), ("Author", page.author), ("Site", page.site))
    lines += [f"{name}: {value}" for name, value in about if value]
    if page.note:
        lines.append(f"Note: {page.note}")
    return "\n".join(lines) + "\n"
