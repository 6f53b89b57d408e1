"""What the event loop does in one piece: nobody waits for anybody else's text, whatever it is."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import random
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from types import FrameType

import pytest

from bot.contract.limits import Limits
from playground.model import Reply
from playground.model.images import png
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE, slowed

MOST = 0.05
"""Seconds of processor time in one piece."""
LISTED = 12
OTHERS = frozenset({"playground", "tests"})
SHORT = 0.005
"""What is not worth a line."""
PLATFORMS = ("telegram", "slack", "discord")
LONG = 40_000
"""Characters of an answer, all that one may have."""


def filled(text: str, most: int = LONG) -> str:
    return (text * (most // len(text) + 1))[:most]


ANSWERS = {
    "words": filled("It rained for a day and a night, and nobody knew why. "),
    "paragraphs": filled("Tea is a leaf.\n\n"),
    "marks": filled("**bold _and `code`_** ~~gone~~ "),
    "openings": filled("**`[("),
    "table": "| leaf | price |\n| --- | --- |\n" + filled("| green *tea* | 12 € |\n"),
    "code": "```python\n" + filled("def tea(leaf: int) -> int: return leaf\n") + "\n```",
    "lists": filled("1. one\n   - two\n     - three\n"),
    "chinese": filled("茶是一种叶子，来自中国。"),
    "emoji": filled("👩‍👩‍👧‍👦🇯🇵🏳️‍🌈 "),
    "links": filled("[tea](https://known.example/tea?leaf=1) https://other.example/ "),
    "html": filled("<b>&amp;lt;</b> &#8203;<!-- a -->"),
    "spaces": filled(" \u3000\t"),
    "calls": filled('<tool_call>{"name": "nothing", "arguments": {"a": [1, 2]}} '),
}
SERVER = Path(__file__).parents[1] / "tools" / "mcp" / "servers" / "plain.py"
RESULTS = ("dense", "wordy", "enormous")
"""Large results of a server: of many values, written out in one text, in one line of 14 MB."""


def table(rows: int) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows((row, "tea", f"{row * 7} €", 'said "so"') for row in range(rows))
    return written.getvalue().encode()


FILES = (
    ("notes.txt", "text/plain", filled("It rained for a day and a night. 茶是一种叶子。\n", 500_000).encode()),
    ("line.txt", "text/plain", filled("<tool_call> [data **`", 500_000).encode()),
    ("prices.csv", "text/csv", table(20_000)),
    ("rows.json", "application/json", json.dumps([{"leaf": [[], {}], "price": 12.5}] * 20_000).encode()),
    ("page.html", "text/html", filled("<div><p>Tea &amp; <b>leaves</b><br></div>", 500_000).encode()),
    ("tea.png", "image/png", png("tea") + random.Random(1).randbytes(2_000_000)),
    ("tea.pdf", "application/pdf", b"%PDF-1.7\n" + filled("1 0 obj << /Tea [1 2 3] >> endobj\n", 500_000).encode()),
    ("noise.bin", "application/octet-stream", random.Random(2).randbytes(2_000_000)),
)


class Steps:
    """How long this thread computes in each step of a task of the bot's own; the emulators run beside it."""

    def __init__(self) -> None:
        self.kind = ""
        self._found: list[tuple[float, str, str]] = []

    @property
    def longest(self) -> float:
        return max((seconds for seconds, *_ in self._found), default=0.0)

    def lines(self) -> str:
        """The longest ones, a line each."""
        longest = sorted(self._found, reverse=True)[:LISTED]
        return "\n".join(f"{seconds * 1000:6.1f} ms  {kind}: {what}" for seconds, kind, what in longest)

    def check(self) -> None:
        """Fail on a longer one. Caches that others empty slow down what computes, to about the half."""
        assert self.longest < min(slowed(MOST), 2 * MOST), self.lines()

    def note(self, seconds: float, task: asyncio.Task[object], before: list[FrameType]) -> None:
        frames = before or _frames_of(task)
        files = [Path(frame.f_code.co_filename) for frame in frames]
        if any(OTHERS.intersection(file.parts) or file.name == "web_protocol.py" for file in files):
            return
        calls = " > ".join(f"{one.f_code.co_name} ({Path(one.f_code.co_filename).name})" for one in frames[-3:])
        self._found.append((seconds, self.kind, f"{task.get_name()}: {calls}"[:160]))


def _frames_of(task: asyncio.Task[object]) -> list[FrameType]:
    """Where a task waits, the outermost frame first."""
    at: RawJson = task.get_coro()
    frames = []
    while (frame := getattr(at, "cr_frame", None) or getattr(at, "ag_frame", None)) is not None:
        frames.append(frame)
        at = getattr(at, "cr_await", None) or getattr(at, "ag_await", None)
    return frames


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    steps, run = Steps(), asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        task = getattr(getattr(handle, "_callback", None), "__self__", None)
        if not isinstance(task, asyncio.Task) or not steps.kind:
            run(handle)
            return
        before, began = _frames_of(task), time.thread_time()
        run(handle)
        if (seconds := time.thread_time() - began) > SHORT:
            steps.note(seconds, task, before)

    monkeypatch.setattr(asyncio.Handle, "_run", measured)
    yield steps
    print(steps.lines())


async def test_no_step_of_the_loop_computes_for_long_whatever_comes(world: World, start: Start, steps: Steps) -> None:
    answers = {"warm up": "Warm.", **ANSWERS}
    world.model.script = lambda body: Reply(next(text for kind, text in answers.items() if f"({kind})" in str(body)))
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "ada")
    direct = world.slack.direct("U7")
    world.discord.guild(10, "Library")
    world.discord.person(1, "Ada")
    world.discord.channel(20, 10, "general")

    def ask(kind: str, platform: str, text: str) -> None:
        question = f"({kind}) What is tea? {text}"
        if platform == "telegram":
            world.telegram.say(7, question[:4_000], person=7)
        elif platform == "slack":
            world.slack.say(direct, question, person="U7")
        else:
            world.discord.say("20", f"{world.discord.mention()} {question[:1_900]}", person=1)

    steps.kind = "start"
    world.limits = Limits(waiting_per_person=0)
    async with start("telegram", "slack", "discord") as bot:
        for platform in PLATFORMS:
            ask("warm up", platform, "")
        await asyncio.sleep(1.0)
        await bot.dispatcher.wait_idle()
        for kind, platform in zip(ANSWERS, cycle(PLATFORMS)):
            steps.kind = f"{kind} on {platform}"
            ask(kind, platform, ANSWERS[kind][:20_000])
            await asyncio.sleep(1.0)
            await bot.dispatcher.wait_idle()
        for command in ("why", "context", "tools", "usage", "memory", "export", "retry", "new"):
            steps.kind = f"/{command}"
            world.telegram.say(7, f"/{command}", person=7)
            await asyncio.sleep(1.0)
            await bot.dispatcher.wait_idle()
        for kind in ("openings", "marks", "spaces", "html"):
            steps.kind = f"a question of {kind}"
            world.slack.say(direct, "(warm up) " + filled(ANSWERS[kind], 90_000), person="U7")
            await asyncio.sleep(1.0)
            await bot.dispatcher.wait_idle()

    steps.check()


async def test_no_step_computes_for_long_whatever_file_or_result_comes(
    world: World, start: Start, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.turn.conversation.SERVERS_SECONDS", PATIENCE)
    servers = {kind: {"command": sys.executable, "args": [str(SERVER), kind]} for kind in RESULTS}
    (world.data / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    big = filled("Tea is a leaf. [1] <tool_call> ", 15_000)

    def answer(body: RawJson) -> Reply:
        last = body["messages"][-1]
        asked = next((kind for kind in RESULTS if f"the {kind} server" in str(last)), "")
        if last["role"] == "user" and asked:
            return Reply(calls=((f"{asked}__echo", {}),))
        if last["role"] == "user" and "calculate" in str(last):
            return Reply(calls=(("calculator", {"expression": big}), ("search_web", {"query": big})))
        return Reply("Tea is a leaf.")

    world.model.script = answer
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "ada")
    direct = world.slack.direct("U7")
    world.discord.guild(10, "Library")
    world.discord.person(1, "Ada")
    world.discord.channel(20, 10, "general")

    def ask(platform: str, text: str, files: tuple[tuple[str, str, bytes], ...] = ()) -> None:
        if platform == "telegram":
            world.telegram.say(7, text, person=7, files=files)
        elif platform == "slack":
            world.slack.say(direct, text, person="U7", files=files)
        else:
            world.discord.say("20", f"{world.discord.mention()} {text}", person=1, files=files)

    world.limits = Limits(waiting_per_person=0)
    settings = {"TOKENS_PER_DAY_PERSON": "0", "TOKENS_PER_DAY": "0"}
    async with start(*PLATFORMS, TOOL_MODE="native", MCP_CONFIG=f"{world.data}/mcp.json", **settings) as bot:
        for platform in PLATFORMS:
            ask(platform, "warm up", FILES[:1])
        await asyncio.sleep(1.0)
        await bot.dispatcher.wait_idle()
        for kind, platform in zip((*RESULTS, "calculate"), cycle(PLATFORMS)):
            steps.kind = f"{kind} on {platform}"
            ask(platform, f"please use the echo tool of the {kind} server, or calculate")
            await asyncio.sleep(1.0)
            await bot.dispatcher.wait_idle()
        for platform in PLATFORMS:
            for file in FILES:
                steps.kind = f"{file[0]} on {platform}"
                ask(platform, "what is in this file?", (file,))
                await asyncio.sleep(1.0)
                await bot.dispatcher.wait_idle()

    called = [
        call["function"]["name"]
        for one in world.model.requests
        for message in one.messages
        for call in message.get("tool_calls") or ()
    ]
    assert {*(f"{kind}__echo" for kind in RESULTS), "calculator", "search_web"} <= set(called)
    steps.check()
