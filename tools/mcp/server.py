"""The owner task of one MCP server: connect, keep the list of tools, and reconnect.

Everything of a connection is entered and left in this one task, as the SDK demands. Calls come from other tasks and use
the connection while it is up.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from tools.contract.base import ToolError, ToolSpec
from tools.contract.credentials import hidden
from tools.mcp.config import Endpoint, ServerConfig
from tools.mcp.errors import LastWords, ServerGone
from tools.mcp.listed import ListedTool
from tools.mcp.plain import plain_text
from tools.mcp.tool import McpTool, offers_of
from tools.programs.cancelling import Contained

if TYPE_CHECKING:
    from tools.mcp.session import Session

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
STEADY_SECONDS = 30.0
"""A connection that lasted this long did not fail at the start: the next pause is the shortest again."""
LIST_SECONDS = 1.0
"""The least time between two readings of the list, however often a server reports changes."""
POLL_SECONDS = 300.0
"""How often a service is asked for its list without a notification."""
LONGEST_WAIT = 10.0
"""How long a call waits for a starting server."""

REASON_CHARS = 400

_ADDRESS = re.compile(r"https?://\S+")

Sleep = Callable[[float], Awaitable[None]]


class McpServer:
    """One server and its present state."""

    def __init__(self, config: ServerConfig, *, sleep: Sleep = asyncio.sleep) -> None:
        self.config = config
        self._sleep = sleep
        self._session: Session | None = None
        self._up = asyncio.Event()
        self._woken = asyncio.Event()
        self._ended = False
        self._stopped = False
        self.tools: dict[str, McpTool] = {}
        """Its tools as last listed, even while it is down."""
        self._said: set[str] = set()
        """Lines logged about its present tools."""
        self.tried = asyncio.Event()
        """Set once the first attempt to connect has ended, successfully or not."""
        self.problem = "it is being started"
        """Why it offers nothing; empty while it is up."""

    @property
    def up(self) -> bool:
        return self._session is not None

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that can be called now."""
        return tuple(tool.spec for tool in self.tools.values()) if self.up else ()

    async def session(self, seconds: float) -> Session:
        """Return the connection, waiting a little while it is being made.

        Raises:
            ToolError: there is none.
        """
        if self._session is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LONGEST_WAIT, seconds / 2)):
                    await self._up.wait()
        if self._session is None:
            raise ToolError(
                f"The MCP server {self.config.name!r} is not running now, and is started again from time to time. "
                "Answer without it.",
                retry=False,
            )
        return self._session

    async def wait_up(self) -> None:
        """Wait until it is up, for as long as its start may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.start_seconds):
                await self._up.wait()

    def doubt(self) -> None:
        """Check soon whether the connection still works."""
        self._woken.set()

    def stop(self) -> None:
        """Announce that `run` is about to be cancelled: an error of the SDK may swallow the cancellation."""
        self._stopped = True

    async def run(self) -> None:
        """Own the server until cancelled."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            started = loop.time()
            words = LastWords()
            try:
                with Contained():
                    await self._connected(words)
            except Exception as error:  # the edge around a server: any exception of its connection ends only that
                self._down(_reason(error, self.config, words))
                log.debug("the MCP server %r", self.config.name, exc_info=True)
            except BaseException:
                self._down("it was stopped")
                raise
            if self._stopped:
                return
            if loop.time() - started > STEADY_SECONDS:
                pause = FIRST_PAUSE
            log.warning("MCP server %r: %s; next attempt in %g s", self.config.name, self.problem, pause)
            await self._sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    async def _connected(self, words: LastWords) -> None:
        """Connect, and keep the list of tools current while the connection lasts."""
        # Importing the SDK takes seconds of the processor: in a thread, or every chat would stand still.
        module: Any = await asyncio.to_thread(importlib.import_module, "tools.mcp.session")
        self._woken.clear()
        self._ended = False
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self.config.start_seconds):
                session = await stack.enter_async_context(
                    module.open_session(self.config, self._woken.set, self._note_end, words)
                )
                listed = await session.list_tools()
            await self._take(session.title, listed)
            stack.callback(self._disconnect)
            self._session, self.problem = session, ""
            self._up.set()
            self.tried.set()
            log.info("MCP server %r is up with %d tools", self.config.name, len(self.tools))
            await self._follow(session)

    async def _follow(self, session: Session) -> None:
        poll = POLL_SECONDS if isinstance(self.config.reach, Endpoint) else None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(poll):
                    await self._woken.wait()
            self._woken.clear()
            if self._ended:
                raise ServerGone("it ended")
            async with asyncio.timeout(self.config.start_seconds):
                await self._take(session.title, await session.list_tools())
            await self._sleep(LIST_SECONDS)

    async def _take(self, title: str, listed: list[ListedTool]) -> None:
        """Replace the tools, keeping the objects of unchanged ones."""
        # Hundreds of large schemas take a second of the processor.
        offers, sentences = await asyncio.to_thread(offers_of, self.config, title, listed)
        for sentence in sentences:
            if sentence not in self._said:
                log.warning("MCP server %r: the tool %s", self.config.name, sentence)
        self._said = set(sentences)
        old = self.tools
        self.tools = {
            offer.spec.name: old[offer.spec.name]
            if offer.spec.name in old and old[offer.spec.name].offer == offer
            else McpTool(self, self.config.name, offer)
            for offer in offers
        }

    def _note_end(self) -> None:
        self._ended = True
        self._woken.set()

    def _disconnect(self) -> None:
        self._session = None
        self._up.clear()

    def _down(self, reason: str) -> None:
        self._disconnect()
        self.problem = reason
        self.tried.set()


def _reason(error: Exception, config: ServerConfig, words: LastWords) -> str:
    """Return one sentence for the operator: the innermost error and the program's last lines, without keys."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    match error:
        case TimeoutError():
            told = "it did not answer in time"
        case FileNotFoundError() | PermissionError() | NotADirectoryError():
            return f"it cannot be started: {error.strerror}: {error.filename!r}"
        case ServerGone():
            told = str(error)
        case _:
            told = f"{type(error).__name__}: {error}".rstrip(": ")
    text = f"{told}; {words.sentence()}" if words.sentence() else told
    return plain_text(_ADDRESS.sub("…", hidden(text, config.secrets)), REASON_CHARS)
