"""How replies arrive with many chats at once: whole, first words, lag, staleness, refusals, CPU, memory.

    python -m bench.delivery --platform telegram slack discord --chats 1 20 100 500

The bot runs as `python -m bot run` against the emulators, with each platform's limits; the model writes 200 words
at 50 words a second. Lag: from the model's last token to the whole answer on screen. Staleness: how old what is
visible is against what the model has written, the median over the time it writes. Figures are seconds. Under each row
stands the bound: what the best scheduler could reach under these limits without a network (`bench.bound`), had its
models written when those of the row did; then what it could reach had they all written at the moment of the question.
On Telegram both are those of a scheduler that posts no whole text at once, as ours: a post cannot be repeated safely.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import bound
from playground.discord import DiscordServer
from playground.model import ModelServer, Reply
from playground.model.server import ModelRequest
from playground.slack import SlackServer
from playground.telegram import TelegramServer

WORDS = 200
PACE = 50.0


@dataclass
class Figures:
    """What one run came to."""

    chats: int
    whole: int
    first: list[float]
    lag: list[float]
    stale: list[float]
    ask: list[float]
    token_to_screen: list[float]
    share: float
    refusals: int
    model_calls: int
    cpu: float
    memory: float
    seconds: float
    writings: list[bound.Writing]

    def row(self) -> str:
        def p(values: list[float], share: float) -> str:
            return f"{sorted(values)[min(len(values) - 1, int(share * len(values)))]:.2f}" if values else "-"

        return (
            f"| {self.chats} | {self.whole}/{self.chats} | {p(self.first, 0.5)} / {p(self.first, 0.95)} "
            f"| {p(self.lag, 0.5)} / {p(self.lag, 0.95)} | {p(self.stale, 0.5)} | {self.share:.0%} "
            f"| {p(self.ask, 0.5)} | {p(self.token_to_screen, 0.5)} | {self.refusals} | {self.model_calls} "
            f"| {self.cpu / max(1, self.chats):.3f} | {self.memory:.0f} | {self.seconds:.1f} |"
        )


HEAD = (
    "| chats | whole | first words p50 / p95 | lag p50 / p95 | staleness | budget for progress | question → request "
    "| token → screen | refused | model calls | CPU a reply | MB | all whole after |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def answer_of(number: int) -> str:
    """A different answer of 200 words for each chat."""
    return f"Answer {number}: " + " ".join(f"word{index}" for index in range(WORDS - 3)) + f" end{number}"


class Bot:
    """The bot as its own process."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = {**environment, "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
        if "PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        self.process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Bot:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=self.environment, stderr=asyncio.subprocess.PIPE
        )
        self.log: list[str] = []
        self.reader = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        assert self.process is not None and self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.log.append(line.decode())

    async def __aexit__(self, *exc: object) -> None:
        assert self.process is not None
        self.process.terminate()
        await self.process.wait()
        await self.reader

    def cpu(self) -> float:
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        assert self.process is not None
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0


def staleness(versions: list[tuple[float, int]], request: ModelRequest, length: int) -> float:
    """Median age of what is visible, from the model's first to its last token.

    Counted in words, which the model writes at an even pace: those at the beginning have fewer characters.
    """
    if not request.first_at:
        return 0.0
    written = request.last_at - request.first_at
    ages = []
    steps = 200
    index = -1
    for step in range(1, steps):
        now = request.first_at + written * step / steps
        while index + 1 < len(versions) and versions[index + 1][0] <= now:
            index += 1
        shown = versions[index][1] if index >= 0 else 0
        # When the model had written just as much as is visible now.
        ages.append(max(0.0, now - (request.first_at + written * min(1.0, shown / length))))
    return statistics.median(ages)


def progress_share(drive: Drive, chats: int, requests: list[ModelRequest]) -> float:
    """Of the calls that the limits allow while the model writes, those spent on neither first words nor the end."""
    begin, end = min(request.first_at for request in requests), max(request.last_at for request in requests)
    calls = 0
    for number in range(chats):
        times = sorted(version.at for message in drive.shown(number) for version in message.versions)
        calls += sum(begin <= at <= end for at in times[1:-1])
    return calls / bound.allowed(drive.limits, chats, end - begin)


class Drive:
    """One emulated platform with as many private chats as wanted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.server: Any = {"telegram": TelegramServer, "slack": SlackServer, "discord": DiscordServer}[name]()
        self.limits = {"telegram": bound.TELEGRAM, "slack": bound.SLACK, "discord": bound.DISCORD}[name]
        self.places: dict[int, str] = {}
        self.numbers: dict[str, int] = {}

    @property
    def environment(self) -> dict[str, str]:
        match self.name:
            case "telegram":
                return {
                    "TELEGRAM_BOT_TOKEN": self.server.token,
                    "TELEGRAM_API_BASE_URL": self.server.base_url,
                }
            case "slack":
                return {
                    "SLACK_BOT_TOKEN": self.server.bot_token,
                    "SLACK_APP_TOKEN": self.server.app_token,
                    "SLACK_API_BASE_URL": self.server.base_url,
                }
        return {"DISCORD_BOT_TOKEN": self.server.token, "DISCORD_API_BASE_URL": self.server.base_url}

    async def ready(self) -> None:
        async with asyncio.timeout(20):
            match self.name:
                case "telegram":
                    while not any(call.method == "getUpdates" for call in self.server.calls):
                        await asyncio.sleep(0.02)
                case "slack":
                    await self.server.sockets.until_connected(1)
                case "discord":
                    await self.server.gateway.until_ready(1)
                    await asyncio.sleep(0.5)

    def meet(self, number: int) -> None:
        """A person with a private chat."""
        match self.name:
            case "telegram":
                self.server.person(1000 + number, f"P{number}")
                self.places[number] = str(1000 + number)
            case "slack":
                self.server.person(f"U{1000 + number}", f"P{number}")
                self.places[number] = self.server.direct(f"U{1000 + number}")
            case "discord":
                self.server.person(1000 + number, f"P{number}")
                self.places[number] = self.server.direct(1000 + number).id
        self.numbers[self.places[number]] = number

    def ask(self, number: int) -> None:
        person = f"U{1000 + number}" if self.name == "slack" else 1000 + number
        place = 1000 + number if self.name == "telegram" else self.places[number]
        self.server.say(place, f"please explain number {number}", person=person)

    def shown(self, number: int) -> list[Any]:
        return list(self.server.screen.of(self.places[number]))


async def measure(
    platform: str, chats: int, text_of: Any = answer_of, pace: float = PACE, wait: float = 90.0
) -> Figures:
    """One question in each of `chats` private chats, all at once."""
    drive = Drive(platform)
    async with drive.server as server, ModelServer() as model:
        model.script = lambda body: Reply(
            text_of(int(str(body["messages"][-1]["content"]).rsplit(" ", 1)[1])), words_per_second=pace
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **drive.environment,
                "MODEL": "openai:scripted",
                "OPENAI_API_KEY": "sk-loopback-bench",
                "OPENAI_BASE_URL": model.base_url,
                "ALLOW_ALL": "true",
                "DATABASE_URL": f"sqlite:///{folder}/bench.db",
                "PARLEY_ENV_FILE": "",
                "LOG_LEVEL": "WARNING",
                "TOKENS_PER_DAY": "0",
            }
            async with Bot(environment) as bot:
                await drive.ready()
                for number in range(chats + 1):
                    drive.meet(number)
                # One question first: libraries are loaded then.
                drive.ask(chats)
                await _whole(drive, {chats: text_of(chats)}, wait)
                await asyncio.sleep(1.5)
                model.requests.clear()
                server.calls.clear()
                refused, cpu, start = server.refusals, bot.cpu(), time.monotonic()
                asked: dict[int, float] = {}
                for number in range(chats):
                    asked[number] = time.monotonic()
                    drive.ask(number)
                done = await _whole(drive, {number: text_of(number) for number in range(chats)}, wait)
                seconds = time.monotonic() - start
                await asyncio.sleep(0.3)
                result = Figures(chats, len(done), [], [], [], [], [], 0.0, 0, len(model.requests), 0, 0, seconds, [])
                for request in model.requests:
                    number = int(str(request.messages[-1]["content"]).rsplit(" ", 1)[1])
                    messages = drive.shown(number)
                    if not messages:
                        continue
                    result.ask.append(request.at - asked[number])
                    result.writings.append(bound.Writing(asked[number], request.first_at, request.last_at))
                    versions = [(v.at, len(v.text.split())) for v in messages[0].versions]
                    result.first.append(versions[0][0] - asked[number])
                    result.token_to_screen.append(versions[0][0] - request.first_at)
                    if number in done:
                        result.lag.append(max(0.0, done[number] - request.last_at))
                    if len(messages) == 1:
                        result.stale.append(staleness(versions, request, len(text_of(number).split())))
                result.share = progress_share(drive, chats, model.requests)
                result.refusals = server.refusals - refused
                result.cpu, result.memory = bot.cpu() - cpu, bot.memory()
        if bot.log:
            print("".join(bot.log[-5:]), file=sys.stderr)
        return result


async def _whole(drive: Drive, wanted: dict[int, str], seconds: float) -> dict[int, float]:
    """When each answer stood whole on the screen."""
    squeezed = {number: "".join(text.split()) for number, text in wanted.items()}
    done: dict[int, float] = {}
    deadline = time.monotonic() + seconds
    screen = drive.server.screen
    queue = screen.listen()

    def look(number: int) -> None:
        messages = drive.shown(number)
        if number not in done and "".join("".join(m.text.split()) for m in messages) == squeezed[number]:
            done[number] = max(message.versions[-1].at for message in messages)

    try:
        for number in wanted:
            look(number)
        while len(done) < len(wanted) and time.monotonic() < deadline:
            try:
                async with asyncio.timeout(1.0):
                    changed = await queue.get()
            except TimeoutError:
                continue
            changed_number = drive.numbers.get(changed.chat)
            if changed_number in wanted:
                look(changed_number)
    finally:
        screen.unlisten(queue)
    return done


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--platform", nargs="+", default=["telegram"], choices=["telegram", "slack", "discord"])
    arguments.add_argument("--chats", type=int, nargs="+", default=[1, 20, 100])
    arguments.add_argument("--wait", type=float, default=120.0, help="seconds after which an answer counts as lost")
    options = arguments.parse_args()
    for platform in options.platform:
        print(f"\n{platform}\n\n{HEAD}")
        for chats in options.chats:
            figures = asyncio.run(measure(platform, chats, wait=options.wait))
            print(figures.row(), flush=True)
            limits, once = Drive(platform).limits, platform == "telegram"
            print(_row("the bound", bound.best(limits, figures.writings, once=once)))
            together = bound.together(chats, WORDS / PACE)
            print(_row("the bound, all written at once", bound.best(limits, together, once=once)), flush=True)


def _row(name: str, limit: bound.Bound) -> str:
    return (
        f"| {name} | | {limit.first[0]:.2f} / {limit.first[1]:.2f} | {limit.lag[0]:.2f} / {limit.lag[1]:.2f} "
        f"| {limit.stale:.2f} | {limit.share:.0%} | | | | | | | |"
    )


if __name__ == "__main__":
    main()
