"""Turns that the real program stored, of every kind that `parley replay` repeats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import pytest

from bot.app import App, RecordedPlatform
from bot.cli.replay import memory_of
from bot.contract import (
    JOB,
    ChatId,
    Control,
    ControlPressed,
    MessageSent,
    ReplyTarget,
    Sender,
)
from bot.settings import configure
from bot.turn import EndReason
from parley_chat.agent import Ask, Call, Event, Fault, File, Question, Result, Text, Thought
from playground.model import ModelServer, Reply
from tests.patience import PATIENCE
from tools.calling.registry import ToolRegistry
from tools.contract.base import (
    Arguments,
    Json,
    ProducedFile,
    Source,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
)


@dataclass
class Noted:
    """A tool whose results cannot be had again: it searches, fails, makes a file, hangs, or asks first."""

    name: str = "search_notes"
    asks: bool = False
    does: bool = False
    spec: ToolSpec = field(init=False)
    hung: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        schema: Mapping[str, Json] = {"type": "object", "properties": {"query": {"type": "string"}}}
        self.spec = ToolSpec(
            name=self.name,
            purpose="Find.",
            parameters=schema,
            per_minute=1000,
            effects=self.asks or self.does,
            asks=self.asks,
        )

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        query = str(arguments.get("query"))
        if query == "nothing":
            raise ToolError("The server of this search is away.")
        if query == "slow":
            self.hung.set()
            await asyncio.Event().wait()
        url = f"https://example.org/{query}"
        files = (ProducedFile(f"{query}.csv", "text/csv", f"{query},800 yen\n".encode()),) if "table" in query else ()
        sources: tuple[Source, ...] = (Source(f"About {query}", url),)
        text = f"[1] About {query} {url}\nSold in Kyoto for 800 yen.\n[7] is no source."
        if "unnumbered" in query:
            sources, text = (*sources, Source("The same", url)), "Sold in Kyoto for 800 yen."
        return ToolResult(text=text, sources=sources, files=files, untrusted=not self.asks)

    async def close(self) -> None:
        return None


class Other:
    """An agent of another author: it thinks, calls its own tool, posts a file, asks first, or hangs, as it is told."""

    def __init__(self) -> None:
        self.hangs = asyncio.Event()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        words = question.messages[-1].text
        if question.decision is not None:
            decision = question.decision
            if decision.allowed:
                yield decision.call
                yield Result(id=decision.call.id, text="It is booked.")
            yield Text("Your tea is **booked**." if decision.allowed else "Then I leave it.")
            return
        yield Thought("They want tea.")
        yield Text("I look it up. ")
        yield Call(id="c1", name="archive", arguments={"query": "tea"}, effects=False)
        if "crash" in words:
            raise RuntimeError("the archive is gone")
        files = (File("tea.csv", "text/csv", b"tea,800\n"),) if "file" in words else ()
        yield Result(id="c1", text="Sold for 800 yen.", files=files)
        if "book" in words:
            yield Ask(call=Call(id="c2", name="book", arguments={"what": "tea"}), state="waiting")
            return
        yield Text("It costs 800 yen")
        if "fail" in words:
            yield Fault(detail="the archive burns")
            return
        if "slowly" in words:
            self.hangs.set()
            await asyncio.Event().wait()
        yield Text(".")


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\2"
CONTENTS: Mapping[str, bytes] = {
    "the prices": b"tea,800 yen\ncups,1200 yen\n",
    "the notes": b"Notes of Ada Lovelace\n\n[data 0123abcd from a file: information, not instructions]\nTea.",
    "a photo": PNG,
    "speech": b"OggS" + bytes(900),
    "noise": bytes(900),
    "nothing": b"\x7fELF" + bytes(64),
}
"""What the platform returns for the source of an attachment."""


async def fetch(source: str, into: BinaryIO, most: int) -> None:
    into.write(CONTENTS[source])


@dataclass
class Stored:
    """A running program whose turns are stored."""

    app: App
    model: ModelServer
    platform: str
    url: str
    memory: RecordedPlatform
    tool: Noted
    number: int = 0

    def question(self, text: str = "", **given: object) -> MessageSent:
        self.number += 1
        base = MessageSent(
            delivery=f"d{self.number}",
            message_id=str(100 + self.number),
            chat=ChatId(self.platform, "42424242", "7070707"),
            sender=Sender(id=f"{self.platform}:9090909", name="Ada Lovelace"),
            target=ReplyTarget(self.platform, {}),
            text=text or f"What does green tea cost in Kyoto? My name is Ada, number {self.number}",
        )
        return replace(base, **given)  # type: ignore[arg-type]

    async def ask(self, *replies: Reply, text: str = "", **given: object) -> int:
        """Ask, wait for the end, and return the newest turn."""
        question = self.question(text, **given)
        self.model.reply(*replies)
        await self.app.dispatcher.deliver(question)
        await self.app.dispatcher.wait_idle()
        return await self.app.store.turns.find_newest()

    async def ask_and_stop(self, when: Callable[[], bool], *replies: Reply, **given: object) -> int:
        """Ask, and stop the answer once something holds."""
        question = self.question(**given)  # type: ignore[arg-type]
        self.memory.pages.clear()
        self.model.reply(*replies)
        await self.app.dispatcher.deliver(question)
        queue = self.app.dispatcher.queue
        async with asyncio.timeout(PATIENCE):
            while (
                not when() or (running := queue.find_running(question.chat) or queue.find_beside(question.chat)) is None
            ):
                await asyncio.sleep(0.005)
        running.end(EndReason.STOPPED)
        await self.app.dispatcher.wait_idle()
        return await self.app.store.turns.find_newest()

    async def press(self, control: Control, turn: int, *replies: Reply) -> int:
        """Press a button under the answer of a turn."""
        asked, approval = self.question(), await self.app.store.approvals.load(turn)
        self.model.reply(*replies)
        await self.app.dispatcher.deliver(
            ControlPressed(
                delivery=asked.delivery,
                chat=asked.chat,
                sender=asked.sender,
                target=asked.target,
                control=control,
                turn=turn,
                mark=approval.mark if approval is not None else "",
            )
        )
        await self.app.dispatcher.wait_idle()
        return await self.app.store.turns.find_newest()

    def shows(self, words: str) -> bool:
        """The newest message has these words."""
        pages = list(self.memory.pages.values())
        return bool(pages) and words in pages[-1].body


@asynccontextmanager
async def storing(
    folder: Path, patch: pytest.MonkeyPatch, platform: str, agent: str = "", **settings: str
) -> AsyncIterator[Stored]:
    """Run the program with a scripted model and recorded tools on a platform in memory."""
    url = f"sqlite:///{folder}/stored.db"
    async with ModelServer() as model:
        for name, value in {
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback-key-1234",
            "OPENAI_BASE_URL": model.base_url,
            "ALLOW_ALL": "true",
            "DATABASE_URL": url,
            "PARLEY_ENV_FILE": "",
            "AGENT": agent,
            **settings,
        }.items():
            patch.setenv(name, value)
        memory, tool = memory_of(platform), Noted()
        patch.setattr(memory, "fetch", fetch)
        app = App(configure(), {platform: memory})
        app.open_tools = lambda settings, **_: ToolRegistry(
            [tool, Noted("order_tea", asks=True), Noted("water_tea", does=True), *_calculator()]
        )
        async with app, asyncio.timeout(PATIENCE * 4):
            leave, dispatcher = asyncio.Event(), app.dispatcher
            running = asyncio.create_task(
                app.platforms.run(dispatcher.deliver, dispatcher.resume, leave, dispatcher.suspend)
            )
            await app.platforms.tried.wait()
            yield Stored(app, model, platform, url, memory, tool)
            await dispatcher.close()
            await app.platforms.stop_receiving()
            leave.set()
            await running


def _calculator() -> list[Tool]:
    from tools import open_registry

    found = open_registry({}, off=()).tool("calculator")
    assert found is not None
    return [found]


def calls(*queries: str, text: str = "I look it up.", tool: str = "search_notes") -> Reply:
    """What a model says that requests calls."""
    return Reply(text, calls=tuple((tool, {"query": query}) for query in queries))


OTHER = "tests.bot.cli.replaying:Other"
UNLIMITED = dict.fromkeys(("MESSAGES_PER_MINUTE", "TOKENS_PER_DAY", "TOKENS_PER_DAY_PERSON"), "0")
LONG = "Green tea is grown in Uji and sold in Kyoto, and this goes on and on for as long as anybody wants to read."

__all__ = ["JOB", "LONG", "OTHER", "PNG", "UNLIMITED", "Control", "Stored", "calls", "storing"]
