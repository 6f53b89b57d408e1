"""The page in a real browser: a tab that tests drive, on a playground with a bot that does nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from playground.child import BOT
from playground.show import Playground
from tests.conftest import RawJson, RawObject
from tests.patience import PATIENCE

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")
NEEDS_BROWSER = pytest.mark.skipif(
    not BROWSER, reason="no Chromium is installed, so the page cannot be tried in a browser"
)

THREE_CHATS = "document.querySelectorAll('.pane').length === 3"
IDLE = (sys.executable, "-c", "input()")
"""A bot that does nothing: what it would show is put on the screens by the tests."""


class Tab:
    """One browser tab, driven over the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        """Addresses of requests, from `Network.enable` on."""

    async def send(self, method: str, **parameters: RawJson) -> RawObject:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=PATIENCE)
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(json.dumps(told["params"])[:500])
            if told.get("method") == "Network.requestWillBeSent":
                self.requests.append(told["params"]["request"]["url"])
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answering(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Playground]:
    """A playground with the real bot, for all tests of a module: starting it takes most of their time."""
    async with Playground(port=0, data=tmp_path_factory.mktemp("data"), command=BOT, environ={}) as playground:
        yield playground


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The DevTools address of one browser for all tests of this process; each test has a profile of its own in it."""
    profile = tmp_path_factory.mktemp("browser")
    process = subprocess.Popen(
        [
            *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"),
            *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
            *(f"--user-data-dir={profile}", "--remote-debugging-port=0", "--window-size=1400,900", "about:blank"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while (line := process.stderr.readline()) and "DevTools listening on " not in line:
        pass
    assert line, "the browser ended"
    draining = threading.Thread(target=process.stderr.read)
    draining.start()
    yield line.partition("DevTools listening on ")[2].strip()
    process.kill()
    process.wait()
    draining.join()
    process.stderr.close()


@pytest.fixture
async def tab(playground: Playground, browser: str) -> AsyncIterator[Tab]:
    async with opened(browser, playground.url) as tab:
        yield tab


@asynccontextmanager
async def opened(browser: str, url: str, before: str = "", shown: str = THREE_CHATS) -> AsyncIterator[Tab]:
    """A tab that shows the page at `url`, in a new profile.

    Args:
        before: JavaScript that runs before the page's own.
        shown: when the page stands.
    """
    pages = browser.replace("/devtools/browser/", "/devtools/page/").rpartition("/")[0]
    async with aiohttp.ClientSession() as session, session.ws_connect(browser, max_msg_size=0) as control:
        whole = Tab(control)
        profile = (await whole.send("Target.createBrowserContext"))["browserContextId"]
        size = {"width": 1400, "height": 900, "newWindow": True}
        opened = await whole.send("Target.createTarget", url="about:blank", browserContextId=profile, **size)
        try:
            async with session.ws_connect(f"{pages}/{opened['targetId']}", max_msg_size=0) as socket:
                tab = Tab(socket)
                for domain in ("Page", "Runtime", "Log"):
                    await tab.send(f"{domain}.enable")
                await tab.send("Page.addScriptToEvaluateOnNewDocument", source=before)
                await tab.send("Page.navigate", url=url)
                await tab.until(shown)
                yield tab
        finally:
            await whole.send("Target.disposeBrowserContext", browserContextId=profile)


def texts(window: str) -> str:
    """JavaScript for the bodies of a window's messages."""
    return f"[...document.querySelectorAll('[data-skin={window}] .body')].map((body) => body.innerText)"
