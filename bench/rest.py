"""What a start costs, and what the program holds at rest: one platform, shipped defaults, a model that answers at once.

    python -m bench.rest --runs 5
    python -m bench.rest --runs 5 --strangers 400
    python -m bench.rest --runs 5 --libraries

*First poll*: from the start of the process to the first `getUpdates` that Telegram's emulator is asked, and the
*processor* seconds of that. *Rest*: the
memory (PSS, MiB) ten seconds after it, before anybody has asked. *First words*: from the very first question of the
process's life to the first words on the screen. *Second*: the same for the next question, so that nothing is hidden
that the first person pays. *After*: the memory ten seconds after those answers. PSS counts a page that several
processes share, as Python's own, by its share; so it is less beside other Python programs. *Own* is what the process
alone has written, the same beside whatever else runs.

`--strangers`: so many people who may not write do so at the same moment, two seconds after the first poll; *first
words* are those of the one who may, behind them.

`--libraries`: what the given libraries hold without any of our code: openai, python-telegram-bot, aiosqlite and
pydantic-settings, imported as usual, with a client of each.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence

from bench.delivery import environment
from bench.processes import Process
from bench.setups import TelegramPrivate
from bench.writer import Writer

_REST_SECONDS = 10.0
_CROWD_SECONDS = 2.0
_NAMES = ("first poll", "processor", "rest", "rest, own", "first words", "second", "after", "after, own")
_LIBRARIES = """
import aiosqlite, openai, pydantic_settings, sys, telegram.ext

class Settings(pydantic_settings.BaseSettings):
    token: str = ""

Settings(), openai.AsyncOpenAI(api_key="-"), telegram.ext.Application.builder().token("1:-").build()
print(flush=True)
sys.stdin.read()
"""


async def measure(rest: float = _REST_SECONDS) -> tuple[float, ...]:
    """One start: the values of `_NAMES`."""
    setup = TelegramPrivate()
    async with setup.server as server, Writer(20, 1000.0) as writer:
        for number in (1, 2):
            setup.meet(number)
        with tempfile.TemporaryDirectory() as folder:
            settings = environment(setup, writer.base_url, f"sqlite:///{folder}/rest.db", 2)
            began = time.monotonic()
            async with Process("-m", "bot", "run", environment=settings) as program:
                while not any(call.method == "getUpdates" for call in server.calls):
                    await asyncio.sleep(0.002)
                poll = time.monotonic() - began
                processor = program.cpu()
                await asyncio.sleep(rest)
                quiet, words = program.held(), []
                for number in (1, 2):
                    words.append(await _first_words(setup, number))
                    await asyncio.sleep(2.0)
                await asyncio.sleep(rest)
                return poll, processor, *quiet, *words, *program.held()


async def measure_crowd(strangers: int) -> tuple[float]:
    """One start: the first words of a permitted person behind so many strangers."""
    setup = TelegramPrivate()
    async with setup.server as server, Writer(20, 1000.0) as writer:
        for number in range(strangers + 1):
            setup.meet(number)
        with tempfile.TemporaryDirectory() as folder:
            settings = environment(setup, writer.base_url, f"sqlite:///{folder}/crowd.db", 1)
            del settings["ALLOW_ALL"]
            async with Process("-m", "bot", "run", environment=settings | {"ALLOWED_USERS": "telegram:100000"}):
                while not any(call.method == "getUpdates" for call in server.calls):
                    await asyncio.sleep(0.002)
                await asyncio.sleep(_CROWD_SECONDS)
                for number in range(1, strangers + 1):
                    setup.ask(number)
                return (await _first_words(setup, 0),)


async def measure_libraries() -> tuple[float, float]:
    """The memory of the libraries alone."""
    async with Process("-c", _LIBRARIES) as program:
        await program.line()
        return program.held()


async def _first_words(setup: TelegramPrivate, number: int) -> float:
    """Ask, and return how long it took until the answer stood on the screen in part."""
    queue = setup.server.screen.listen()
    asked = time.monotonic()
    setup.ask(number)
    while True:
        changed = await queue.get()
        if changed.author == "bot" and "Answer" in changed.text:
            setup.server.screen.unlisten(queue)
            return float(changed.versions[-1].at - asked)


def table(runs: Sequence[Sequence[float]], names: Sequence[str] = _NAMES) -> str:
    """Each value's median, and in brackets the least and the most."""
    columns = [sorted(column) for column in zip(*runs, strict=True)]
    shown = (f"{one[len(one) // 2]:.2f} ({one[0]:.2f} to {one[-1]:.2f})" for one in columns)
    return "\n".join(f"{name:12} {value}" for name, value in zip(names, shown, strict=True))


def main() -> None:
    """Measure so many starts, one after the other."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--strangers", type=int, default=0)
    arguments.add_argument("--libraries", action="store_true")
    options = arguments.parse_args()
    names: Sequence[str] = _NAMES
    if options.libraries:
        names = ("libraries", "own")
    elif options.strangers:
        names = ("first words",)
    runs: list[tuple[float, ...]] = []
    for number in range(options.runs):
        if options.libraries:
            runs.append(asyncio.run(measure_libraries()))
        else:
            runs.append(asyncio.run(measure_crowd(options.strangers) if options.strangers else measure()))
        print(number + 1, " ".join(f"{value:.2f}" for value in runs[-1]), file=sys.stderr)
    print(table(runs, names))


if __name__ == "__main__":
    main()
