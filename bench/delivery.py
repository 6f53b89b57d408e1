"""How replies reach readers under a platform's limits, at bursts and at steady load, beside what would be possible.

    python -m bench.delivery --chats 1 20 100 500
    python -m bench.delivery --platform telegram slack --chats 20 --steady 1 --per-second 8 --save /tmp/figures.json
    python -m bench.delivery --platform slack --chats 100 --within 2 5 20
    python -m bench.delivery --platform telegram --chats 100 --left 150000 --wait 60
    python -m bench.delivery --long --chats 1
    python -m bench.delivery --platform telegram --chats 100 --processes 3

The bot runs as `python -m bot run` against an emulator with the platform's limits and with what the documented set-up
grants, and with the default quotas (a day has more tokens only where more is asked than the default is for); the model,
in a process of its own, writes `--tokens` tokens at `--rate` a second. Bursts: so many questions at once, and within
`--within` seconds. `--left`: so many of the day's tokens are left when the first question comes (`75%`: a quarter is
spent), for everybody but admins, after ten questions of that day; `unlimited`: there are no quotas. Steady: questions
at random (the same ones each time, by `--seed`), at `--load` percent of what the limits carry (a first and a last call
for each reply: `bench.limits`) and at `--per-second`, for `--steady` minutes each. `bench.everything` runs all loads
for publishing.

*Request*: from the question to the request that the model gets. *Reader waits*: seconds between the model's first token
and the whole answer in which a quick reader has nothing new to read (`bench.reader`). *First words*: from the question
to three whole words. *Gap*: the longest time without a new word. *Skimmer waits*: those of who is three times as quick.
*Stale*: how long ago the model had written what stood on the screen, on average. *Lag*: from the model's last token to
the whole answer. *Edits*: changes on the screen after the first, a reply.
*Calls*: to the platform, a reply, and the share of each limit they used. *Bench*: the share of a processor that the
emulators used, and the model; above 80 % they, and not the bot, may have kept a reader waiting. *Held up*: the share of
the time for which the bot, the emulators and the model were ready to run and other processes had the processor: much of
it, and the figures are those of a machine that does something else.

Under each row stands what a schedule that knows every end could reach with the same questions and tokens
(`bench.bound`), and the mean below which no schedule gets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench import bound
from bench.loads import Load, arrivals, bursts, steady
from bench.processes import Process, held_up
from bench.reader import Answer, Sight, read, sights, squeeze
from bench.server import open_server
from bench.setups import SETUPS, Setup
from bench.writer import WARM_UP, Writer, Written, answer_of, tokens_of
from bot.contract import SystemClock
from bot.contract.limits import LIMITS
from bot.policy import DAY, EVERYBODY, OTHERS
from bot.settings import QuotaSettings
from bot.store import Amount, Limit, Store

LONG_TOKENS, LONG_RATE = 2100, 300.0
"""About 12,000 characters."""
QUESTION_TOKENS = 5_000
"""More than a question with its answer takes: 3,400 for the prompt with its tools, and 300."""
DAYS_TOKENS: int = QuotaSettings.model_fields["tokens_per_day"].default
UNLIMITED = "unlimited"
EARLIER = 10
"""Questions that a day has answered before its tokens run short."""


@dataclass
class Figures:
    """What one run came to; lists have an entry for each reply, in seconds."""

    setup: str
    load: str
    asked: int
    whole: int = 0
    request: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    skims: list[float] = field(default_factory=list)
    stale: list[float] = field(default_factory=list)
    lag: list[float] = field(default_factory=list)
    edits: list[int] = field(default_factory=list)
    calls: float = 0.0
    used: dict[str, float] = field(default_factory=dict)
    refused: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    """By what the refused calls were for."""
    model_calls: int = 0
    cpu: float = 0.0
    memory: float = 0.0
    bench: float = 0.0
    model: float = 0.0
    held_up: list[float] = field(default_factory=list)
    bound: dict[str, Any] = field(default_factory=dict)

    def rows(self) -> str:
        """The run's row of the table, and the one of what was possible."""
        used = ", ".join(f"{name} {share:.0%}" for name, share in self.used.items())
        refused = ", ".join(f"{many} {what}" for what, many in self.refusals.items())
        mine = (
            f"| {self.setup} | {self.load} | {self.whole}/{self.asked} | {pair(self.request)} | {pair(self.waits)} "
            f"| {pair(self.first)} "
            f"| {pair(self.gap)} | {pair(self.skims)} | {pair(self.stale)} | {pair(self.lag)} | {mean(self.edits):.1f} "
            f"| {self.calls:.1f} ({used or '-'}) "
            f"| {refused or self.refused} | {self.model_calls} | {self.cpu:.3f} | {self.memory:.0f} "
            f"| {self.bench:.0%} + {self.model:.0%} | {', '.join(f'{share:.0%}' for share in self.held_up)} |"
        )
        if not self.bound:
            return mine
        possible = self.bound
        used = ", ".join(f"{name} {share:.0%}" for name, share in possible["used"].items())
        return (
            f"{mine}\n| | possible (mean {mean(possible['waits']):.2f} for {mean(self.waits):.2f}, never under "
            f"{possible['floor']:.2f}) | | | {pair(possible['waits'])} | {pair(possible['first'])} "
            f"| {pair(possible['gap'])} | | | {pair(possible['lag'])} | {possible['edits']:.1f} | ({used or '-'}) "
            "| | | | | | |"
        )


HEAD = (
    "| asked by | load | whole | request p50 / p95 | reader waits p50 / p95 | first words p50 / p95 | gap p50 / p95 "
    "| skimmer waits p50 / p95 | stale p50 / p95 | lag p50 / p95 "
    "| edits | calls (of the limits) | refused | model calls | CPU a reply | MiB | bench | held up |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of `values` do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def pair(values: Sequence[float]) -> str:
    """Median and 95th percentile."""
    return f"{quantile(values, 0.5):.2f} / {quantile(values, 0.95):.2f}" if values else "-"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class Watch:
    """What stands on the screen under each question, and when an answer was whole."""

    def __init__(self, setup: Setup, answers: dict[int, Answer]) -> None:
        self._setup, self._answers = setup, answers
        self.messages: dict[int, list[Any]] = {}
        self.whole: set[int] = set()
        self._queue = setup.server.screen.listen()
        self._task = asyncio.create_task(self._follow())

    async def until_whole(self, numbers: Sequence[int], seconds: float) -> None:
        """Wait until these answers are whole, at most so long."""
        until = time.monotonic() + seconds
        while not self.whole.issuperset(numbers) and time.monotonic() < until:
            await asyncio.sleep(0.05)

    async def close(self) -> None:
        self._setup.server.screen.unlisten(self._queue)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            changed = await self._queue.get()
            number = self._setup.numbers.get(changed.chat)
            if number is None or changed.author != "bot":
                continue
            messages = self.messages.setdefault(number, [])
            if changed not in messages:
                messages.append(changed)
            if changed.deleted:
                messages.remove(changed)
            texts = [self._setup.answer_in(number, message.text) for message in messages]
            answer = self._answers[number].squeezed
            if sum(map(len, texts)) >= len(answer) and squeeze("".join(texts)) == answer:
                self.whole.add(number)

    def seen(self, number: int) -> list[Sight]:
        """What stood on the screen under a question, and when."""
        return sights(
            [(version.at, self._setup.answer_in(number, version.text)) for version in message.versions]
            for message in self.messages.get(number, [])
        )


@dataclass(frozen=True, slots=True)
class Model:
    """How the emulated model writes."""

    tokens: int = 200
    rate: float = 50.0

    def answer(self, number: int) -> str:
        return answer_of(number, self.tokens)


async def measure(
    setup: Setup, load: Load, model: Model, wait: float, processes: int = 1, url: str = "", left: str = ""
) -> Figures:
    """Ask the questions of `load`, each in its own place, and see what their readers see.

    Args:
        left: what is left of the day's tokens; see `spend`.
        processes: how many share the database of this `url`; empty: a file of their own.
    """
    first = range(WARM_UP, WARM_UP + 1 + (0 if left in ("", UNLIMITED) else EARLIER))
    answers = {number: Answer(model.answer(number)) for number in (*range(len(load.times)), *first)}
    async with setup.server as server, Writer(model.tokens, model.rate) as writer:
        for number in answers:
            setup.meet(number)
        with tempfile.TemporaryDirectory() as folder:
            database = url or f"sqlite:///{folder}/bench.db"
            settings = environment(setup, writer.base_url, database, len(load.times), left)
            async with AsyncExitStack() as stack:
                programs = [Process("-m", "bot", "run", environment=settings) for _ in range(processes)]
                for program in programs:
                    await stack.enter_async_context(program)
                await setup.ready()
                for program in programs:
                    while processes > 1 and not any("logged in" in line for line in program.log):
                        await asyncio.sleep(0.05)
                watch = Watch(setup, answers)
                # One question first: libraries are loaded then.
                for number in first:
                    setup.ask(number)
                await watch.until_whole(first, 60.0)
                await spend(database, left)
                await asyncio.sleep(1.5)
                await writer.report()
                calls, refused = len(server.calls), server.refusals
                spent, start = _spent(programs, writer), time.monotonic()
                asked = await _ask(setup, load)
                await watch.until_whole(range(len(load.times)), wait)
                end = time.monotonic()
                figures = Figures(setup.name, load.name, len(load.times), whole=len(watch.whole.difference(first)))
                cpu, figures.bench, figures.model, *figures.held_up = (
                    (now - before) / (end - start) for now, before in zip(_spent(programs, writer), spent, strict=True)
                )
                figures.cpu = cpu * (end - start) / len(load.times)
                await asyncio.sleep(0.3)
                figures.memory, figures.refused = sum(one.memory() for one in programs), server.refusals - refused
                written = await writer.report()
                await watch.close()
        for program in programs:
            told = [line for line in program.log if " INFO " not in line]
            print("".join(told[-5:]), end="", file=sys.stderr)
    count(figures, setup, server.calls[calls:], end - start)
    evaluate(figures, setup, watch, answers, asked, written, end, model)
    return figures


def _spent(programs: Sequence[Process], writer: Writer) -> tuple[float, ...]:
    """The processor seconds of the bot, the emulators and the model, and those for which they had to wait for one."""
    used = (sum(one.cpu() for one in programs), time.process_time(), writer.process.cpu())
    waited = sum(one.held_up() for one in programs) / len(programs)
    return (*used, waited, held_up(os.getpid()), writer.process.held_up())


async def spend(database: str, left: str) -> None:
    """Spend of the day's tokens what is not to be `left` to all but admins: a number, or percent; else nothing."""
    if left in ("", UNLIMITED):
        return
    day = int(DAYS_TOKENS * (1 - LIMITS.admin_share))
    rest = int(day * float(left[:-1]) / 100) if left.endswith("%") else int(left)
    async with Store.open(database, clock=SystemClock()) as store:
        keys = [Limit(key, DAY, Amount()) for key in (EVERYBODY, OTHERS)]
        spent = await store.spending.list_spent([OTHERS], DAY)
        await store.spending.count(keys, Amount(day - rest) - spent[0])


def environment(setup: Setup, base_url: str, database: str, asked: int, left: str = "") -> dict[str, str]:
    """The bot's settings: the defaults, but for what lets strangers ask so much.

    Args:
        asked: how many questions; a day has tokens for more of them only where the default is not enough.
        left: what is left of the day's tokens.
    """
    # Nobody here is an admin, for whom a part of each day is kept.
    day, known = int(asked * QUESTION_TOKENS / (1 - LIMITS.admin_share)), DAYS_TOKENS
    more = {"TOKENS_PER_DAY": str(day)} if day > known and not left else {}
    return {
        **setup.environment,
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": "sk-loopback-bench",
        "OPENAI_BASE_URL": base_url,
        "ALLOW_ALL": "true",
        "DATABASE_URL": database,
        "PARLEY_ENV_FILE": "",
        "LOG_LEVEL": "WARNING" if database.startswith("sqlite:") else "INFO",
        "PRICES": "openai:scripted=0/0/0",
        **({"TOKENS_PER_DAY": "0", "TOKENS_PER_DAY_PERSON": "0"} if left == UNLIMITED else more),
    }


async def _ask(setup: Setup, load: Load) -> dict[int, float]:
    """Ask each question at its time; when each was asked."""
    start, asked = time.monotonic(), {}
    for number, at in enumerate(load.times):
        if (pause := start + at - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        asked[number] = time.monotonic()
        setup.ask(number)
    return asked


def count(figures: Figures, setup: Setup, calls: Sequence[Any], seconds: float) -> None:
    """How many calls were made, and what share of the limits they were."""
    purses = Counter(purse for call in calls if (purse := setup.purse(call)))
    figures.calls = purses.total() / figures.asked
    figures.used = used(setup, purses, seconds)
    figures.refusals = dict(Counter(setup.called(call) for call in calls if call.status == 429))


def used(setup: Setup, purses: dict[str, int], seconds: float) -> dict[str, float]:
    """The share of each shared limit that so many calls in so many seconds are."""
    return {
        rate.name: purses.get(rate.name, 0) / (rate.calls * max(1.0, seconds / rate.seconds))
        for rate in setup.limits.shared
    }


def evaluate(
    figures: Figures,
    setup: Setup,
    watch: Watch,
    answers: dict[int, Answer],
    asked: dict[int, float],
    written: Sequence[Written],
    end: float,
    model: Model,
) -> None:
    """Read each reply as a reader does, and compute what would have been possible."""
    figures.model_calls = len(written)
    writings = []
    # Where the model was asked twice the first time counts; where it never answered there is nothing to read.
    begun = {one.number: one for one in sorted(written, key=lambda one: -one.at) if one.first_at}
    for one in begun.values():
        messages = watch.messages.get(one.number, [])
        reading = read(answers[one.number], watch.seen(one.number), one.first_at, one.last_at, end)
        figures.request.append(one.at - asked[one.number])
        figures.waits.append(reading.waits)
        figures.gap.append(reading.gap)
        figures.skims.append(reading.skims)
        figures.stale.append(reading.stale)
        if reading.first_words is not None:
            figures.first.append(reading.first_words - asked[one.number])
        if reading.whole is not None:
            figures.lag.append(max(0.0, reading.whole - one.last_at))
        figures.edits.append(sum(len(message.versions) - 1 for message in messages))
        answer, shares = answers[one.number], _shares(model, one.number)
        writings.append(bound.Writing(asked[one.number], one.first_at, one.last_at, shares, answer.first_words))
    if writings:
        found = bound.best(setup.limits, writings)
        figures.bound = {
            "waits": found.waits,
            "first": found.first,
            "gap": found.gaps,
            "lag": found.lags,
            "edits": found.edits,
            "used": used(setup, found.used, end - min(asked.values())),
            "floor": bound.floor(setup.limits, writings),
        }


@cache
def _shares(model: Model, number: int) -> tuple[float, ...]:
    text = model.answer(number)
    return bound.shares_of(Answer(text), tokens_of(text))


def run(setup: Setup, load: Load, model: Model, options: argparse.Namespace) -> Figures:
    """Measure with as many processes as were asked for."""
    if options.processes == 1:
        return asyncio.run(measure(setup, load, model, options.wait, left=options.left))
    with open_server() as server:
        url = server.make_database("bench")
        return asyncio.run(measure(setup, load, model, options.wait, options.processes, url))


def loads_of(setup: Setup, options: argparse.Namespace) -> Iterator[Load]:
    """The loads that were asked for."""
    yield from bursts(options.chats)
    yield from arrivals(options.chats[-1:], options.within, options.seed)
    if options.steady:
        rates = [(setup.limits.carries * load / 100, f"{load:g} %") for load in options.load]
        rates += [(rate, "") for rate in options.per_second]
        yield from (steady(rate, 60 * options.steady, options.seed, note) for rate, note in rates)


def options_of(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--platform", nargs="+", default=list(SETUPS), choices=list(SETUPS))
    arguments.add_argument("--chats", type=int, nargs="*", default=[1, 20, 100], help="bursts")
    arguments.add_argument(
        "--within", type=float, nargs="*", default=[], help="seconds, for the last of these numbers spread out"
    )
    arguments.add_argument("--steady", type=float, default=0.0, help="minutes of each steady load (5 for publishing)")
    arguments.add_argument("--load", type=float, nargs="*", default=[25, 50, 75, 90], help="percent of the limits")
    arguments.add_argument("--per-second", type=float, nargs="*", default=[8.0], help="questions")
    arguments.add_argument(
        "--left", default="", help="of the day's tokens at the first question: 150000, 25%%, unlimited"
    )
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--tokens", type=int, default=200)
    arguments.add_argument("--rate", type=float, default=50.0, help="tokens a second")
    arguments.add_argument("--long", action="store_true", help="12,000 characters at 300 tokens a second")
    arguments.add_argument("--processes", type=int, default=1, help="several share a PostgreSQL of the bench's own")
    arguments.add_argument("--wait", type=float, default=120.0, help="seconds after the last question")
    arguments.add_argument("--save", type=Path, help="all figures as JSON, for bench.chart")
    return arguments.parse_args(given)


def run_platform(platform: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Print the table of one platform, a line when it is measured; return its figures."""
    model = Model(LONG_TOKENS, LONG_RATE) if options.long else Model(options.tokens, options.rate)
    found: list[dict[str, Any]] = []
    print(f"\n{HEAD}")
    for load in loads_of(SETUPS[platform](), options):
        setup = SETUPS[platform]()
        figures = run(setup, load, model, options)
        print(figures.rows(), flush=True)
        found.append(asdict(figures) | {"platform": platform, "rate": load.rate, "ground": setup.ground})
    return found


def main() -> None:
    """Print the tables."""
    options = options_of()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start")
    found: list[dict[str, Any]] = []
    for platform in options.platform:
        found += run_platform(platform, options)
        print(f"\n{found[-1]['setup']}: {found[-1]['ground']}")
        if options.save:
            options.save.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
