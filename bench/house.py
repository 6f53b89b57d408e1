"""How heavy the house is: rooms and arrows, code lines, and the calls of our own functions that a question costs.

    python -m bench.house
    python -m bench.house --most 30

A room is a folder or a file of a package; an arrow leads from a room to one that it imports, late imports and those for
types included; floors are the longest way down. A code line is one that is neither empty nor a comment nor a docstring.

The questions are asked on emulated Telegram of the whole bot in this process, and answered by the emulated model: what
is counted between the question and the end of its turn are the calls of functions of `bot`, `adapters` and `tools`, in
every thread. A coroutine counts once, however often it waits, and a comprehension never. The median of several
questions is told, after one that is not counted. `--most` lists the functions that are called most often.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

from bot import app
from bot.intake import alarm
from bot.settings.configuration import configure, open_adapters
from playground.model import ModelServer, Reply
from playground.screen import Screen
from playground.tavily import TavilyServer
from playground.telegram import TelegramServer

ROOT = Path(__file__).parent.parent
OWN = ("bot", "adapters", "tools")
_FOLDERS = tuple(f"{ROOT / package}{os.sep}" for package in OWN)
TIMES = 5
PLAIN = (Reply("Tea is made of leaves and hot water."),)
SEARCH = (
    Reply("Let me look.", calls=(("search_web", {"query": "green tea"}),)),
    Reply("Green tea is not fermented [1]."),
)


def code_lines(path: Path) -> int:
    """Count the lines of a module that hold code."""
    text = path.read_text(encoding="utf-8")
    quiet: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            quiet |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        number not in quiet and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )


def arrows_of(package: str) -> dict[str, set[str]]:
    """Return which rooms each room of a package imports."""
    folder = ROOT / package
    arrows: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == package:
                inside = node.module.split(".")[1:2]
                named |= set(inside or (name.name for name in node.names))
        arrows.setdefault(room, set()).update(named - {room})
    known = {room for room in arrows if room != "__init__"}
    return {room: arrows[room] & known for room in sorted(known)}


def floors_of(arrows: dict[str, set[str]]) -> int:
    """Count the floors: the longest way along arrows, in rooms; 0 where they lead in a circle."""
    left, floors = dict(arrows), 0
    while ends := [room for room, to in left.items() if not to & left.keys()]:
        left = {room: to for room, to in left.items() if room not in ends}
        floors += 1
    return 0 if left else floors


class Calls:
    """Counts calls of our own functions, in each thread that starts later too, while it is entered."""

    def __init__(self) -> None:
        self.made: Counter[CodeType] = Counter()
        self._own: dict[CodeType, bytes] = {}
        """The bytes of each function that was seen; empty where it is not one of ours."""
        self._counts = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See what this thread calls, and each that starts meanwhile."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def __enter__(self) -> Calls:
        self.made.clear()
        self._counts = True
        return self

    def __exit__(self, *_: object) -> None:
        self._counts = False

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not self._counts:
            return
        code = frame.f_code
        if (held := self._own.get(code)) is None:
            held = self._own[code] = code.co_code if _is_own(code) else b""
        # The argument of RESUME tells the first time from the next ones, after it has waited.
        if held and held[frame.f_lasti + 1] == 0:
            self.made[code] += 1


def _is_own(code: CodeType) -> bool:
    """Tell whether it is a function of ours, and no comprehension or generator expression in one."""
    named = not code.co_name.startswith("<") or code.co_name == "<lambda>"
    return named and code.co_filename.startswith(_FOLDERS)


def _has_more(chat: int, seen: int, screen: Screen) -> bool:
    return len(screen.of(str(chat))) > seen


async def count(calls: Calls, scripts: tuple[tuple[Reply, ...], ...], times: int = TIMES) -> list[Counter[CodeType]]:
    """Ask each script's question several times; return for each the calls of its median time."""
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer())
        model = await stack.enter_async_context(ModelServer())
        tavily = await stack.enter_async_context(TavilyServer(least_score=0.5))
        data = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ |= {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "TELEGRAM_API_BASE_URL": telegram.base_url,
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": model.key or "sk-loopback-key",
            "OPENAI_BASE_URL": model.base_url,
            "TAVILY_API_KEY": tavily.key or "tvly-loopback-key",
            "TAVILY_API_BASE_URL": tavily.base_url,
            "CODE_BACKEND": "off",
            "ALLOW_ALL": "true",
            "DATABASE_URL": f"sqlite:///{data}/parley.db",
            "PARLEY_ENV_FILE": "",
        }
        stack.enter_context(calls.watching())
        # What looks for troubles every three seconds is no part of a question.
        stack.enter_context(patch.object(alarm, "LOOK_SECONDS", 3600.0))
        configuration = configure()
        stop = asyncio.Event()
        bot = await stack.enter_async_context(app.App(configuration, open_adapters(configuration, ["telegram"])))
        serving = asyncio.create_task(bot.serve(stop))
        while bot.platforms.state["telegram"] != "listening":
            await asyncio.sleep(0.01)
        found = []
        for asker, script in enumerate(scripts, 1):
            telegram.person(asker, "Ada")
            counted = []
            for _ in range(times + 1):
                model.reply(*script)
                with calls:
                    telegram.say(asker, "What is green tea made of?", person=asker)
                    await telegram.screen.until(partial(_has_more, asker, len(telegram.screen.of(str(asker)))))
                    await bot.dispatcher.wait_idle()
                    counted.append(calls.made.copy())
                await asyncio.sleep(1)  # what follows an answer is no part of the next question
            counted = sorted(counted[1:], key=Counter.total)
            found.append(counted[len(counted) // 2])
        stop.set()
        await serving
        return found


def describe(name: str, made: Counter[CodeType], most: int) -> str:
    """Say what a question cost."""
    files = {code.co_filename for code in made}
    lines = [f"{name}: {made.total():,} calls of {len(made)} own functions in {len(files)} files"]
    for code, times in made.most_common(most):
        lines.append(f"  {times:5} {Path(code.co_filename).relative_to(ROOT)}: {code.co_qualname}")
    return "\n".join(lines)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Count rooms, arrows, code lines and the calls of a question.")
    parser.add_argument("--most", type=int, default=0, metavar="N", help="list the N functions called most often")
    most = parser.parse_args().most
    total = 0
    for package in OWN:
        files = sorted((ROOT / package).rglob("*.py"))
        lines = [code_lines(path) for path in files]
        total += sum(lines)
        arrows = arrows_of(package)
        print(
            f"{package}: {len(arrows)} rooms, {sum(map(len, arrows.values()))} arrows, "
            f"{floors_of(arrows) or 'no'} floors; "
            f"{len(files)} files, {sum(lines):,} code lines, {sum(count < 40 for count in lines)} files under 40 "
            f"(median {statistics.median(lines):g})"
        )
    print(f"together: {total:,} code lines")
    calls = Calls()
    for name, made in zip(("plain question", "search"), asyncio.run(count(calls, (PLAIN, SEARCH))), strict=True):
        print(describe(name, made, most))


if __name__ == "__main__":
    main()
