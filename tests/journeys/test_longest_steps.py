"""What the event loop does in one piece: nobody waits for anybody else's text, whatever it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from types import FrameType

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.patience import slowed

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
    async with start("telegram", "slack", "discord", MESSAGES_WAITING="0") as bot:
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

    # Caches that others empty slow down what computes, to about the half.
    assert steps.longest < min(slowed(MOST), 2 * MOST), steps.lines()
