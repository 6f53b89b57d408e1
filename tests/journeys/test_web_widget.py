"""The page of the examples in a real browser, served beside the bot's own address as its comment says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.playground.conftest import NEEDS_BROWSER, Tab, browser, opened
from tests.web import free_port

__all__ = ["browser"]
pytestmark = NEEDS_BROWSER
WIDGET = Path(__file__).parents[2] / "examples" / "web-widget.html"
TOKEN = "0123456789abcdef0123456789abcdef"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> **tea** & `x`"


async def at_once() -> None:
    """Wait for nothing."""


class Site:
    """A server with the page, which passes on `/agui`; it can lose a connection in the middle of an answer."""

    def __init__(self, bot: int) -> None:
        self.bot, self.address = bot, ""
        self.asked = 0
        self.losing = 0
        """How many of the next answers lose their connection."""
        self.waits: Callable[[], Awaitable[None]] = at_once
        """Awaited before a request is passed on."""

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text=WIDGET.read_text(encoding="utf-8"), content_type="text/html")

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        await self.waits()
        headers = {"Authorization": request.headers["Authorization"]}
        address = f"http://127.0.0.1:{self.bot}/agui"
        async with (
            aiohttp.ClientSession() as session,
            session.post(address, data=await request.read(), headers=headers) as answer,
        ):
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await response.prepare(request)
            async for line in answer.content:
                await response.write(line)
                if self.losing and b"TEXT_MESSAGE_CONTENT" in line:
                    self.losing -= 1
                    assert request.transport is not None
                    request.transport.abort()
                    break
        return response


@pytest.fixture
async def site(world: World) -> AsyncIterator[Site]:
    site, port = Site(free_port()), free_port()
    world.settings |= {"WEB_TOKEN": TOKEN, "WEB_PORT": str(site.bot), "TOOL_MODE": "native"}
    app = web.Application()
    app.router.add_get("/", site.page)
    app.router.add_post("/agui", site.pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    site.address = f"http://127.0.0.1:{port}/"
    yield site
    await runner.cleanup()


LINES = "[...document.querySelectorAll('main p:not(.you)')].map((one) => one.textContent)"
KNOWN = f"sessionStorage.token = {TOKEN!r}"


async def ask(tab: Tab, text: str) -> None:
    """Type a question, and send it with the button."""
    await tab.value("document.querySelector('textarea').focus()")
    await tab.send("Input.insertText", text=text)
    await tab.value("document.querySelector('form button').click()")


async def test_an_answer_is_shown_as_text_and_never_as_html(
    world: World, start: Start, site: Site, browser: str
) -> None:
    world.model.reply(Reply(HOSTILE), Reply("It is green."))
    async with start("web"), opened(browser, site.address, KNOWN, "document.querySelector('form')") as tab:
        await ask(tab, "<b>what</b> is tea?")
        await tab.until(f"{LINES}.length === 1 && {LINES}[0].endsWith('`x`')")
        await ask(tab, "and what colour?")
        await tab.until(f"{LINES}[1] === 'It is green.'")

        assert await tab.value(f"{LINES}[0]") == HOSTILE
        assert await tab.value("document.querySelector('main').children.length") == 4
        assert await tab.value("document.querySelectorAll('main img, main script, main b').length") == 0
        assert await tab.value("document.title") == "Ask Parley"
    assert HOSTILE[:20] in str(world.model.requests[1].body["messages"])


async def test_a_lost_connection_is_taken_up_and_the_answer_stands_once(
    world: World, start: Start, site: Site, browser: str
) -> None:
    text = " ".join(f"word{number}" for number in range(300))
    world.model.reply(Reply(text, words_per_second=300))
    site.losing = 2
    async with start("web"), opened(browser, site.address, KNOWN, "document.querySelector('form')") as tab:
        await ask(tab, "what is tea?")
        await tab.until(f"{LINES}.length === 1 && {LINES}[0].endsWith('word299')")
        assert await tab.value(LINES) == [text]

    assert site.asked == 3 and len(world.model.requests) == 1


async def test_what_a_tool_does_is_shown_while_it_runs_and_a_lost_connection_leaves_nothing_twice(
    world: World, start: Start, site: Site, browser: str
) -> None:
    world.model.reply(Reply("I look.", calls=(("search_web", {"query": "green tea"}),)), Reply("It is green."))
    search = world.tavily.faults.add("search", Fault(hold=asyncio.Event()))
    async with start("web") as bot, opened(browser, site.address, KNOWN, "document.querySelector('form')") as tab:
        await ask(tab, "what is tea?")
        await tab.until(f"{LINES}.length === 2 && {LINES}[1].includes('green tea')")
        assert await tab.value(f"{LINES}[0]") == "I look."
        site.losing, site.waits = 1, bot.dispatcher.wait_idle
        assert search.hold is not None
        search.hold.set()
        await tab.until(f"{LINES}.at(-1).endsWith('It is green.') && document.querySelectorAll('.step').length === 0")

        # It comes as it was shown, or as one text if it is complete by then.
        assert " ".join(await tab.value(LINES)).split() == ["I", "look.", "It", "is", "green."] and site.asked == 2


async def test_a_tool_is_allowed_with_a_button_and_a_wrong_token_is_told(
    world: World, start: Start, site: Site, browser: str
) -> None:
    world.model.reply(Reply("I look.", calls=(("search_web", {"query": "green tea"}),)), Reply("It is green."))
    wrong = "sessionStorage.token ||= 'wrong'; window.prompt = () => 'wrong'"
    async with start("web", CONFIRM_TOOLS="search_web"):
        async with opened(browser, site.address, wrong, "document.querySelector('form')") as tab:
            await ask(tab, "what is tea?")
            await tab.until(f"{LINES}.length === 1 && {LINES}[0].includes('WEB_TOKEN')")
        async with opened(browser, site.address, KNOWN, "document.querySelector('form')") as tab:
            await ask(tab, "look for green tea")
            await tab.until("document.querySelectorAll('main button').length === 2")
            assert world.tavily.requests == []
            await tab.value("document.querySelector('main button').click()")
            await tab.until(f"{LINES}.at(-1) === 'It is green.'")
            assert await tab.value("document.querySelectorAll('main button').length") == 0

    assert len(world.tavily.requests) == 1
