"""The page in a real browser: typed keys, a growing reply, Chinese input, and no error in its console."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from playground.model.images import png
from playground.show import Playground
from tests.conftest import RawJson, RawObject

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")
pytestmark = pytest.mark.skipif(
    not BROWSER, reason="no Chromium is installed, so the page cannot be tried in a browser"
)

IDLE = (sys.executable, "-c", "input()")
"""A bot that does nothing: what it would show is put on the screens by the tests."""


class Tab:
    """One browser tab, driven over the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.errors: list[str] = []

    async def send(self, method: str, **parameters: RawJson) -> RawObject:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=30)
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(json.dumps(told["params"])[:500])
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: RawObject = told["result"]
                return result

    async def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to; promises are waited for."""
        told = await self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until an expression holds, looking again at each frame the browser draws."""
        look = f"const look = () => ({expression}) ? done(1) : requestAnimationFrame(look)"
        await self.value(f"new Promise((done) => {{ {look}; look() }})")

    async def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, "")
        code = {"Enter": 13}.get(key, 0)
        await self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)


@pytest.fixture
async def playground(tmp_path: Path) -> AsyncIterator[Playground]:
    async with Playground(port=0, data=tmp_path / "data", command=IDLE, environ={}) as playground:
        yield playground


@pytest.fixture
async def tab(playground: Playground, tmp_path: Path) -> AsyncIterator[Tab]:
    profile = tmp_path / "profile"
    process = await asyncio.create_subprocess_exec(
        *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={profile}", "--remote-debugging-port=0", "--window-size=1400,900", "about:blank"),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(60):
            while b"DevTools listening on" not in (line := await process.stderr.readline()):
                assert line, "the browser ended"
        port = int(line.split(b":")[2].split(b"/")[0])
        draining = asyncio.create_task(process.stderr.read())
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                address = next(one["webSocketDebuggerUrl"] for one in await answer.json() if one["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                tab = Tab(socket)
                for domain in ("Page", "Runtime", "Log"):
                    await tab.send(f"{domain}.enable")
                await tab.send("Page.navigate", url=playground.url)
                await tab.until("document.querySelectorAll('.window').length === 3")
                yield tab
    finally:
        process.kill()
        await process.wait()
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)


def texts(window: str) -> str:
    """JavaScript for the bodies of a window's messages."""
    return f"[...document.querySelectorAll('[data-name={window}] .body')].map((body) => body.innerText)"


async def test_a_person_writes_with_the_keyboard_alone_and_sees_the_reply_grow(
    playground: Playground, tab: Tab
) -> None:
    await tab.send("Input.insertText", text="hello")
    await tab.press("Enter")
    await tab.until(f"{texts('telegram')}[0] === 'hello'")
    chat = playground.telegram.screen
    token = f"{playground.telegram.base_url}/bot{playground.telegram.token}"
    async with aiohttp.ClientSession() as bot:

        async def call(method: str, **body: RawJson) -> Any:
            async with bot.post(f"{token}/{method}", json={"chat_id": 1001, "parse_mode": "HTML", **body}) as answer:
                return (await answer.json())["result"]

        await call("sendChatAction", action="typing")
        await tab.until("document.querySelector('[data-name=telegram] .sign').textContent.includes('typing')")
        sent = await call("sendMessage", text="<b>First</b>")
        await tab.until(f"{texts('telegram')}[1] === 'First'")
        code = '<b>First</b> and <pre><code class="language-python">a &lt; b</code></pre>'
        await call("editMessageText", message_id=sent["message_id"], text=code)
        await tab.until("document.querySelector('[data-name=telegram] pre code.language-python')")

    assert len(chat.messages) == 2
    assert await tab.value("document.querySelector('[data-name=telegram] [data-author=bot] .edits').textContent") == (
        "edited 1×"
    )
    assert await tab.value("document.querySelector('[data-name=telegram] textarea').value") == ""
    assert tab.errors == []


async def test_enter_that_ends_a_chinese_composition_does_not_send(playground: Playground, tab: Tab) -> None:
    await tab.send("Input.imeSetComposition", text="ni", selectionStart=2, selectionEnd=2)
    await tab.send("Input.dispatchKeyEvent", type="rawKeyDown", key="Process", windowsVirtualKeyCode=229)
    await tab.send("Input.insertText", text="你好")
    assert playground.telegram.screen.messages == []
    await tab.press("Enter")
    await tab.until(f"{texts('telegram')}[0] === '你好'")

    assert [message.text for message in playground.telegram.screen.messages] == ["你好"]


async def test_a_slack_thread_is_shown_under_its_message_and_written_in(playground: Playground, tab: Tab) -> None:
    window = "document.querySelector('[data-name=slack]')"
    await tab.value(f"{window}.querySelector('textarea').focus()")
    await tab.send("Input.insertText", text="question")
    await tab.press("Enter")
    await tab.until(f"{window}.querySelector('.message')")
    first = playground.slack.screen.messages[0]
    assert first.text == "@parley question"
    await tab.value(f"{window}.querySelector('.answer').click()")
    await tab.send("Input.insertText", text="more")
    await tab.press("Enter")
    await tab.until(f"{window}.querySelector('.replies .message')")

    assert playground.slack.screen.messages[1].thread == first.id
    assert tab.errors == []


async def test_what_is_written_in_a_thread_far_above_is_in_sight_and_so_is_its_answer(
    playground: Playground, tab: Tab
) -> None:
    window = "document.querySelector('[data-name=slack]')"
    replies = f"[...{window}.querySelectorAll('.replies .message')]"
    log = f"{window}.querySelector('.messages').getBoundingClientRect()"
    slack = playground.slack
    first = slack.say("C0GENERAL", "question")
    await tab.until(f"{window}.querySelector('.answer')")
    await tab.value(f"{window}.querySelector('.answer').click()")
    for number in range(30):
        slack.say("C0GENERAL", f"something else {number}")
    await tab.until(f"{window}.querySelectorAll('.message').length === 31")

    await tab.send("Input.insertText", text="more")
    await tab.press("Enter")
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {slack.bot_token}"}) as bot:
        for number, body in enumerate(("Well.", "Well. " * 300), 2):
            answer = {"channel": "C0GENERAL", "text": body, "thread_ts": first}
            async with bot.post(f"{slack.base_url}chat.postMessage", json=answer) as posted:
                assert (await posted.json())["ok"]
            await tab.until(f"{replies}.length === {number}")
            end = f"{replies}.at(-1).getBoundingClientRect().bottom"
            assert await tab.value(f"{log}.top < {end} && {end} <= {log}.bottom + 1"), number

    assert tab.errors == []


async def test_hostile_text_is_shown_and_not_obeyed(playground: Playground, tab: Tab) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    say: dict[str, Callable[[], object]] = {
        "telegram": lambda: playground.telegram.say(1001, hostile),
        "slack": lambda: playground.slack.say("C0GENERAL", hostile),
        "discord": lambda: playground.windows["discord"].say(playground.windows["discord"].places[0].id, hostile, ""),
    }
    for name, write in say.items():
        write()
        await tab.until(f"{texts(name)}.length === 1")
        assert "onerror" in await tab.value(f"{texts(name)}[0]")

    assert await tab.value("document.querySelectorAll('main img, main script').length") == 0
    assert tab.errors == []


async def test_buttons_are_reached_and_named(playground: Playground, tab: Tab) -> None:
    assert "Scripted model" in await tab.value("document.querySelector('#model').innerText")
    controls = "[...document.querySelectorAll('button, textarea, summary')]"
    assert await tab.value(f"{controls}.filter((one) => !one.textContent.trim() && !one.ariaLabel).length") == 0
    await tab.value("document.querySelector('#kill').click()")
    await tab.until("document.querySelector('#phase').textContent.includes('kill -9')")

    assert tab.errors == []


async def test_a_picture_stands_in_the_chat_without_an_empty_bubble(playground: Playground, tab: Tab) -> None:
    form = aiohttp.FormData({"chat_id": "1001"})
    form.add_field("photo", png("a fox"), filename="fox.png", content_type="image/png")
    token = f"{playground.telegram.base_url}/bot{playground.telegram.token}"
    async with aiohttp.ClientSession() as bot, bot.post(f"{token}/sendPhoto", data=form) as answer:
        assert answer.status == 200, await answer.text()
    message = "document.querySelector('[data-name=telegram] .message')"

    await tab.until(f"{message}?.querySelector('.files img')?.naturalWidth > 100")
    assert await tab.value(f"getComputedStyle({message}.querySelector('.body')).display") == "none"
    assert tab.errors == []
