"""Stand-ins for everything outside the program, made from a recording: a model, tools, and a platform in memory."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

from bot.agent import REPEATED
from bot.contract import (
    AssistantEntry,
    CallCost,
    Deliver,
    DeliveryError,
    Drawn,
    File,
    MessageRef,
    MessageSent,
    Page,
    ReplyTarget,
    Surface,
    SurfaceLimits,
)
from bot.safety import without_boundaries
from bot.store import CallRecord, Recording
from bot.turn import asks_from_outside
from tools.calling.registry import ToolRegistry
from tools.contract.base import Arguments, Json, ToolCall, ToolContext, ToolResult, ToolSpec

NO_MORE: Final = "(the recording has no further pass)"
_HEAD: Final = re.compile(r"^\[(\d{1,3})\](?=[ \t])", re.MULTILINE)
_TURN_SECONDS: Final = 2.0
"""The longest that a call waits until it is stored that it began, and for one that ended before it."""
_REFUSED: Final = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_LONGEST: Final = 64 * 1024 * 1024
_PAPER: Final = SurfaceLimits(page_length=3000, hard_length=4000, measure=len)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model says when it is asked: one pass."""

    entry: AssistantEntry
    finish: str = ""
    """Why it ends; empty: it is complete, or requests its calls."""
    hangs: bool = False
    """It never ends: the person stops the turn."""
    fails: bool = False
    """The model's server breaks off, or refuses the request if nothing is said."""
    pictures: tuple[bytes, ...] = ()
    """What stands for the pictures that it makes."""


class RecordedModel:
    """A model server on this machine, in the form of Chat Completions, that answers with the recorded passes."""

    def __init__(self, passes: Sequence[Said], asked: Callable[[], None] = lambda: None) -> None:
        """
        Args:
            asked: called when everything is said of a pass that never ends.
        """
        self._passes = passes
        self._asked = asked
        self.requests: list[dict[str, Json]] = []
        self.base_url = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[RecordedModel]:
        """Listen on a free port of the loopback address."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=_LONGEST)
        async with server:
            self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            found = re.search(r"(?i)^content-length: *(\d+)", head, re.MULTILINE)
            body = await reader.readexactly(int(found[1]) if found else 0)
            if not head.startswith("POST"):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            asked = json.loads(body)
            # An empty answer is asked for once more.
            if not self.requests or asked.get("messages") != self.requests[-1].get("messages"):
                self.requests.append(asked)
            number = len(self.requests) - 1
            one = self._passes[number] if number < len(self._passes) else Said(AssistantEntry(NO_MORE))
            events = _list_events(one)
            said = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
            if one.fails and not events:
                writer.write(_REFUSED)
                return
            begin = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            writer.write((begin + said + ("" if one.hangs else "data: [DONE]\n\n")).encode())
            await writer.drain()
            if one.hangs:
                self._asked()
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


def _list_events(said: Said) -> list[Json]:
    """Return the events of a pass; one that hangs has no last one, and one that fails with nothing said has none."""
    entry = said.entry
    text, calls = (entry.written or entry.text, ()) if not entry.native or entry.written else (entry.text, entry.calls)
    deltas: list[Json] = [{"reasoning_content": entry.reasoning}] if entry.reasoning else []
    deltas += [{"content": text}] if text else []
    deltas += [
        {
            "tool_calls": [
                {
                    "index": index,
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
                }
            ]
        }
        for index, call in enumerate(calls)
    ]
    deltas += (
        [{"images": [{"b64_json": base64.b64encode(one).decode()} for one in said.pictures]}] if said.pictures else []
    )
    finish = said.finish or ("tool_calls" if calls else "stop")
    chunks: list[Json] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if said.fails:
        return [*chunks, {"error": {"code": 401, "message": "recorded"}}] if chunks else []
    if not said.hangs:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return chunks


@dataclass(frozen=True, slots=True)
class _Declared:
    """A tool that is declared and never runs: the registry answers for it."""

    spec: ToolSpec

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        raise AssertionError("a recorded tool is never run")

    async def close(self) -> None:
        return None


class RecordedTools(ToolRegistry):
    """The tools of a recording: each call gets its stored result, and none runs."""

    def __init__(
        self, recording: Recording, own: Mapping[str, ToolSpec], begun: Callable[[ToolCall], Awaitable[None]]
    ) -> None:
        """
        Args:
            own: the declarations of the program's own tools; another one accepts any arguments.
            begun: waits until it is stored that a call began. From then on calls are numbered in the order in which
                they end; before, those that began early are numbered in the order of their pass.
        """
        turns = list(recording.all)
        calls = [record for one in turns for record in one.calls]
        asks = {record.call.name for one in turns for record in one.calls if record.call.id == one.asked}
        outside = {name for name in asks if any(one.asked and asks_from_outside(one.visible) for one in turns)}
        effects = {record.call.name for record in calls if record.effects}
        specs = dict(own)
        given: dict[str, dict[str, Json]] = {record.call.name: {} for record in calls}
        for record in calls:
            given[record.call.name] |= {name: {} for name in record.call.arguments}
        for name in given.keys() - own.keys():
            specs[name] = ToolSpec(
                name=name,
                purpose="A recorded tool.",
                parameters={"type": "object", "properties": given[name]},
                effects=name in effects,
                asks=name in asks - outside,
                outside=name in outside,
            )
        super().__init__([_Declared(spec) for spec in specs.values()])
        self._begun = begun
        self._returned = asyncio.Event()
        self._left = [record for record in calls if record.result is not None]
        self._open = [record for one in turns if one.ends_early for record in one.calls if record.result is None]

    async def _wait_for_turn(self, record: CallRecord) -> None:
        """Wait until the call has begun, and those of the same pass have their results whose sources have lower
        numbers: they ended before it."""
        number = _first_number(record)
        with suppress(TimeoutError):
            async with asyncio.timeout(_TURN_SECONDS):
                await self._begun(record.call)
                while number and any(
                    one.passnumber == record.passnumber and 0 < _first_number(one) < number for one in self._left
                ):
                    self._returned.clear()
                    await self._returned.wait()

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Return the stored result of this call; a failure if none is stored. One that its turn's end cut off never
        ends."""
        for record in self._left:
            if is_same(record.call, call):
                await self._wait_for_turn(record)
                self._left.remove(record)
                self._returned.set()
                return as_returned(record)
        if any(is_same(record.call, call) for record in self._open):
            await asyncio.Event().wait()
        return ToolResult.failed("the recording has no such call.", own_words=False)


def _first_number(record: CallRecord) -> int:
    """Return the number of a result's first source; 0 if it has none, or is that of an equal call once more."""
    result = record.result
    if result is None or bare(result.text).startswith(REPEATED):
        return 0
    return min((one.number for one in result.sources if one.number), default=0) if result.ok else 0


def is_same(one: ToolCall, other: ToolCall) -> bool:
    """Return True if two calls have the same name and arguments."""
    return one.name == other.name and dict(one.arguments) == dict(other.arguments)


def as_returned(record: CallRecord) -> ToolResult:
    """Return the result of a stored call as its tool returned it: without boundary, its sources numbered from 1."""
    result = record.result
    assert result is not None
    text, number = bare(result.text), _first_number(record)
    listed = "".join(f"[{one.number}] {one.title} {one.url}\n" for one in result.sources)
    if number and text.startswith(f"{listed}\n"):  # not by the tool: its sources were listed before its text
        text = text[len(listed) + 1 :]
    elif number:
        text = _numbered_from_one(text, number)
    return replace(result, text=text, sources=tuple(replace(one, number=0) for one in result.sources))


def _numbered_from_one(text: str, first: int) -> str:
    """Return a text whose entries, numbered one after another from `first`, are numbered from 1."""
    due = first

    def head(found: re.Match[str]) -> str:
        nonlocal due
        if int(found[1]) != due:
            return found[0]
        due += 1
        return f"[{due - first}]"

    return _HEAD.sub(head, text)


def bare(text: str) -> str:
    """Return a stored result without the boundary that it has for models."""
    inside = without_boundaries(text)
    return inside.removesuffix("\n") if inside != text else text


@dataclass(frozen=True, slots=True)
class _Sheet(Drawn):
    page: Page
    text: str

    @property
    def said(self) -> str:
        return self.text


class _Place(Surface):
    """One chat in memory, whose pages are as long as the platform's."""

    def __init__(self, memory: RecordedPlatform) -> None:
        self._memory = memory
        self._limits = replace(memory.limits, typing_seconds=0.0)

    @property
    def limits(self) -> SurfaceLimits:
        return self._limits

    def draw(self, page: Page) -> Drawn:
        return _Sheet(page, self._memory.draws(page).said if self._memory.draws is not None else "")

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return CallCost()

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, _Sheet)
        id = at.id if at is not None else str(len(self._memory.pages) + 1)
        self._memory.pages[id] = drawn.page
        return MessageRef(id)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        id = f"file {len(self._memory.files) + 1}"
        self._memory.files[id] = file
        return MessageRef(id)

    async def remove(self, at: MessageRef) -> None:
        self._memory.pages.pop(at.id, None)


@dataclass
class RecordedPlatform:
    """A platform in memory, by the name and with the page lengths of a real one."""

    platform: str
    limits: SurfaceLimits = _PAPER
    draws: Callable[[Page], Drawn] | None = None
    """Draws a page as the real platform shows it; None: nobody compares how it looks."""
    pages: dict[str, Page] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    targets: list[ReplyTarget] = field(default_factory=list)
    """Every place to which something was to be written."""
    listening: bool = False
    conflicts: int = 0
    entrance: None = None

    async def __aenter__(self) -> RecordedPlatform:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def listen(self, deliver: Deliver) -> None:
        self.listening = True
        await asyncio.Event().wait()

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        raise DeliveryError("a recording has no files")

    def earlier(self, message: MessageSent) -> None:
        return None

    def surface(self, target: ReplyTarget) -> Any:
        self.targets.append(target)
        return _Place(self)
