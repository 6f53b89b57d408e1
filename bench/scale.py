"""What one process carries on SQLite, and one, two and three on PostgreSQL: turns, waits, kills, processor time.

    python -m bench.scale
    python -m bench.scale --chats 100 --turns 20 --kills 20 --idle 30

The bot runs as in `parley run`, but on a platform without limits (`bench.member`); questions are spread over its
processes. The model, in a process of its own, answers `--tokens` tokens at once. The PostgreSQL server is the bench's
own, with its defaults. Everything shares this machine's processors.

*Turns*: `--chats` people ask `--turns` questions each, the next when the answer is there. *Answer*: from the question
to the whole answer. *Processor*: milliseconds a turn of all processes of the bot, and of the database server;
*commits* a turn, reads too. *Idle*: the share of a processor that one process uses, and the server, while nobody asks.
*Later*: after `kill -9` of a process in the midst of answers of a second, how much later than others its answers were
whole. A process that was killed is started again at once; where there is no other, its answers wait for that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from bench.delivery import quantile
from bench.processes import Process
from bench.server import MissingServerError, Server, open_server
from bench.writer import Writer, question

SETUPS = {"sqlite": 1, "postgresql-1": 1, "postgresql-2": 2, "postgresql-3": 3}
"""Name → how many processes."""
SLOW = 1.0
"""Seconds that an answer takes in which a process is killed."""
PATIENCE = 120.0
HEAD = (
    "| database, processes | turns a second | answer p50 / p95 | processor a turn: bot + server | commits a turn "
    "| idle: a process + server | later after a kill p50 / p95 |\n|---|---|---|---|---|---|---|"
)


@dataclass
class Figures:
    """What one setup came to, in seconds."""

    name: str
    turns: float = 0.0
    """A second."""
    answers: list[float] = field(default_factory=list)
    bot: float = 0.0
    """Processor seconds a turn."""
    server: float = 0.0
    commits: float = 0.0
    idle: float = 0.0
    """The share of a processor that a process uses while nobody asks."""
    server_idle: float = 0.0
    later: list[float] = field(default_factory=list)

    def row(self) -> str:
        """The row of the table."""
        many = SETUPS[self.name]
        name = "SQLite, 1" if self.name == "sqlite" else f"PostgreSQL, {many}"
        server = self.name != "sqlite"
        return (
            f"| {name} | {self.turns:.0f} | {_pair(self.answers, 1000, 0)} ms "
            f"| {self.bot * 1000:.1f}{f' + {self.server * 1000:.1f}' if server else ''} ms "
            f"| {f'{self.commits:.1f}' if server else '-'} "
            f"| {self.idle:.1%}{f' + {self.server_idle:.1%}' if server else ''} "
            f"| {_pair(self.later, 1, 2)} s |"
        )


def _pair(values: Sequence[float], by: int, digits: int) -> str:
    if not values:
        return "-"
    return " / ".join(f"{quantile(values, share) * by:.{digits}f}" for share in (0.5, 0.95))


class Bot:
    """Its processes, and what they answer."""

    def __init__(self, settings: dict[str, str], many: int) -> None:
        self._settings = settings
        self.processes: list[Process | None] = [None] * many
        self._stack = AsyncExitStack()
        self._readers: list[asyncio.Task[None]] = []
        self._waiting: dict[tuple[str, str], asyncio.Future[int]] = {}
        """By chat, and how the answer begins."""
        self._used = 0.0
        """Processor seconds of the processes that were killed."""

    async def __aenter__(self) -> Bot:
        await asyncio.gather(*(self.start(number) for number in range(len(self.processes))))
        return self

    async def __aexit__(self, *exc: object) -> None:
        for process in self.running:
            await process.__aexit__(*exc)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    @property
    def running(self) -> list[Process]:
        """Those that were not killed."""
        return [process for process in self.processes if process is not None]

    async def start(self, number: int) -> None:
        """Start a process, and wait until it takes questions."""
        process = Process("-m", "bench.member", environment=self._settings)
        await process.__aenter__()
        listening = asyncio.Event()
        self._readers.append(asyncio.create_task(self._read(number, process, listening)))
        async with asyncio.timeout(PATIENCE):
            await listening.wait()
        self.processes[number] = process

    async def kill(self, number: int) -> None:
        """End a process with SIGKILL."""
        process = self.processes[number]
        assert process is not None
        self.processes[number] = None
        self._used += process.cpu()
        await process.kill()

    def cpu(self) -> float:
        """The processor seconds that all processes have used."""
        return self._used + sum(process.cpu() for process in self.running)

    async def ask(self, chat: int, number: int) -> tuple[float, int]:
        """Ask a question; how long its answer took, and which process gave it."""
        running = self.running
        answered = self._waiting[str(chat), f"Answer {number}"] = asyncio.get_running_loop().create_future()
        began = time.monotonic()
        running[chat % len(running)].write(json.dumps([str(chat), question(number)]) + "\n")
        async with asyncio.timeout(PATIENCE):
            by = await answered
        return time.monotonic() - began, by

    async def _read(self, number: int, process: Process, listening: asyncio.Event) -> None:
        while True:
            try:
                chat, text = json.loads(await process.line())
            except RuntimeError:
                return  # it has ended
            if not text:
                listening.set()  # what a killed process left may be answered before
                continue
            # After a kill an answer is shown again, also while the next question is answered.
            answered = text.split(":")[0]
            waiting = self._waiting.get((chat, answered))
            if not answered.startswith("Answer "):
                print(f"chat {chat}: {text}", file=sys.stderr)
            elif waiting is not None and not waiting.done():
                waiting.set_result(number)


@asynccontextmanager
async def opened(name: str, server: Server | None, tokens: int, rate: float) -> AsyncIterator[tuple[Bot, str]]:
    """The bot on an empty database, and the name of that."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"{name}-{tokens}-{rate:.0f}"
        url = f"sqlite:///{folder}/bench.db" if server is None else server.make_database(database)
        async with Writer(tokens, rate) as writer, Bot(settings(url, writer.base_url), SETUPS[name]) as bot:
            yield bot, database


def settings(url: str, model: str) -> dict[str, str]:
    """The defaults, but for what lets a chat ask so much."""
    return {
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": "sk-loopback-bench",
        "OPENAI_BASE_URL": model,
        "PRICES": "openai:scripted=0/0/0",
        "ALLOW_ALL": "true",
        "DATABASE_URL": url,
        "PARLEY_ENV_FILE": "",
        "LOG_LEVEL": "WARNING",
        "CODE_BACKEND": "off",
        "MESSAGES_PER_MINUTE": "1000000",
        "TOKENS_PER_DAY": "0",
        "TOKENS_PER_DAY_PERSON": "0",
    }


async def measure(name: str, server: Server | None, options: argparse.Namespace) -> Figures:
    """Measure one setup."""
    figures = Figures(name)
    async with opened(name, server, options.tokens, 100_000.0) as (bot, database):
        await carry(figures, bot, server, database, options)
    if options.kills:
        async with opened(name, server, 100, 100 / SLOW) as (bot, _):
            await kill(figures, bot, options)
    return figures


async def carry(figures: Figures, bot: Bot, server: Server | None, database: str, options: argparse.Namespace) -> None:
    """Measure idle processes, and then busy ones."""

    def spent() -> tuple[float, float, float]:
        return bot.cpu(), server.cpu() if server else 0.0, time.monotonic()

    await bot.ask(0, 0)  # libraries are loaded then
    await asyncio.sleep(min(3.0, options.idle))
    before = spent()
    await asyncio.sleep(options.idle)
    used, used_by_server, took = (now - then for now, then in zip(spent(), before, strict=True))
    figures.idle, figures.server_idle = used / took / len(bot.processes), used_by_server / took

    async def chat(number: int) -> None:
        for turn in range(options.turns):
            took, _ = await bot.ask(number, number * options.turns + turn)
            figures.answers.append(took)

    await asyncio.gather(*(bot.ask(number, number) for number in range(options.chats)))
    commits = server.commits(database) if server else 0
    before = spent()
    await asyncio.gather(*(chat(number) for number in range(options.chats)))
    used, used_by_server, took = (now - then for now, then in zip(spent(), before, strict=True))
    turns = options.chats * options.turns
    figures.turns, figures.bot, figures.server = turns / took, used / turns, used_by_server / turns
    if server:
        await asyncio.sleep(1.5)  # a backend tells of what it has done at most once a second
        figures.commits = (server.commits(database) - commits) / turns


async def kill(figures: Figures, bot: Bot, options: argparse.Namespace) -> None:
    """Measure how much later than without a kill the answers of a process are whole that is killed."""
    chats = range(3 * len(bot.processes))
    usual: list[float] = []
    await asyncio.gather(*(bot.ask(chat, 2_000) for chat in chats))  # libraries are loaded then
    for round in range(options.kills):
        answers = await asyncio.gather(*(bot.ask(chat, round) for chat in chats))
        usual += [took for took, _ in answers]
        victim = max(range(len(bot.processes)), key=[by for _, by in answers].count)
        asking = [asyncio.create_task(bot.ask(chat, 1_000 + round)) for chat in chats]
        await asyncio.sleep(SLOW / 2)
        await bot.kill(victim)
        starting = asyncio.create_task(bot.start(victim))
        took = [(await answer)[0] for answer in asking]
        hit = [seconds for seconds, (_, by) in zip(took, answers, strict=True) if by == victim]
        figures.later += [seconds - quantile(usual, 0.5) for seconds in hit]
        await starting


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--setups", nargs="+", default=list(SETUPS), choices=list(SETUPS))
    arguments.add_argument("--chats", type=int, default=50)
    arguments.add_argument("--turns", type=int, default=20, help="of each chat")
    arguments.add_argument("--tokens", type=int, default=50, help="of an answer")
    arguments.add_argument("--kills", type=int, default=10)
    arguments.add_argument("--idle", type=float, default=10.0, help="seconds in which nobody asks")
    options = arguments.parse_args()
    wants_server = any(name != "sqlite" for name in options.setups)
    try:
        with open_server() if wants_server else nullcontext() as server:
            print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start\n\n{HEAD}", flush=True)
            for name in options.setups:
                found = asyncio.run(measure(name, None if name == "sqlite" else server, options))
                print(found.row(), flush=True)
    except MissingServerError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
