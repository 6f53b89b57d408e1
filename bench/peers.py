"""Measure another bot, in its own environment, on the emulators and with the model of `bench.delivery`.

    python -m bench.peers telegram --chats 1 20 --folder ../other -- ../other/.venv/bin/python bot/main.py
    python -m bench.peers telegram --chats 1 20

Without a command, Parley itself. The program is run by `bench/redirect.py`, which leads its library to the emulator.
It finds the tokens in `TELEGRAM_BOT_TOKEN` and so on, and the model in `OPENAI_BASE_URL`; `--set NAME=VALUE` adds a
setting of its own, in which `{model}` is the model's address.

*First words*, *longest gap*, *reader waits*, *lag*: as in `bench.delivery`, from the same watching of the screen.
*Whole*: answers that stand there word for word. *Refused*: calls that the platform refused for their number. *After a
kill*: of so many answers (`--kill`), each with SIGKILL for the program in the middle of it and a restart, those that
stand there whole within `--wait` seconds, and those of which two messages bear the beginning. *Away*: of five questions
that are asked while the program does not run for so many seconds (`--away`), those answered so after its start.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.delivery import Figures, Model, Watch, count, environment, evaluate, pair
from bench.loads import Load, bursts
from bench.processes import Process
from bench.reader import Answer, squeeze
from bench.setups import SETUPS, DiscordMention, Setup
from bench.writer import WARM_UP, Writer

HEAD = (
    "| asked | whole | first words p50 / p95 | longest gap p50 / p95 | reader waits p50 / p95 | lag p50 / p95 | calls "
    "| refused | model calls |\n|---|---|---|---|---|---|---|---|---|"
)
MESSAGE_CONTENT = 1 << 15
_AWAY = 5
"""Questions that are asked while it does not run, each in a chat of its own."""
PLATFORMS = ("telegram", "telegram-group", "slack", "discord-mention")


@dataclass(frozen=True)
class Program:
    """What is measured: a command in a folder, with settings of its own; no command: Parley."""

    command: Sequence[str] = ()
    folder: Path = Path()
    settings: Sequence[str] = ()

    def started(self, setup: Setup, model: str, database: str, asked: int) -> Process:
        """Its process, which is started when it is entered."""
        found = environment(setup, model, database, asked)
        if not self.command:
            return Process("-m", "bot", "run", environment=found)
        own = (setting.partition("=")[::2] for setting in self.settings)
        extra = {name: value.replace("{model}", model) for name, value in own}
        python, *rest = self.command
        python = str(Path(python).absolute()) if "/" in python else python
        redirect = str(Path(__file__).with_name("redirect.py"))
        known = {**setup.environment, "OPENAI_API_KEY": "sk-loopback-bench", "OPENAI_BASE_URL": model, **extra}
        # A program of an environment of its own: nothing of this one is on its path.
        return Process(redirect, *rest, environment={**known, "PYTHONPATH": ""}, program=python, folder=self.folder)


def allow(setup: Setup, program: Program) -> None:
    """Grant on Discord the intent to read messages, which other bots tell their operators to switch on."""
    if program.command and isinstance(setup, DiscordMention):
        setup.server.privileged_intents = MESSAGE_CONTENT


async def ready(setup: Setup, program: Program) -> None:
    """Wait until questions are received; another bot has commands of its own on Discord."""
    if program.command and isinstance(setup, DiscordMention):
        await setup.server.gateway.until_ready(1, 120.0)
    else:
        await setup.ready()


async def measure(setup: Setup, program: Program, load: Load, model: Model, wait: float) -> Figures:
    """Ask the questions of `load`, each in its own place, and see what their readers see."""
    asked = len(load.times)
    answers = {number: Answer(model.answer(number)) for number in (*range(asked), WARM_UP)}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(setup.server)
        writer = await stack.enter_async_context(Writer(model.tokens, model.rate))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for number in answers:
            setup.meet(number)
        allow(setup, program)
        process = program.started(setup, writer.base_url, f"sqlite:///{folder}/bench.db", asked)
        await stack.enter_async_context(process)
        watch = await begun(setup, program, answers, process)
        await writer.report()
        calls, refused, begin = len(setup.server.calls), setup.server.refusals, time.monotonic()
        asked_at = {}
        for number in range(asked):
            asked_at[number] = time.monotonic()
            setup.ask(number)
        await watch.until_whole(range(asked), wait)
        end = time.monotonic()
        figures = Figures(setup.name, load.name, asked, whole=len(watch.whole - {WARM_UP}))
        figures.refused, written = setup.server.refusals - refused, await writer.report()
        await watch.close()
    print("".join(list(process.log)[-3:]) if figures.whole < asked else "", end="", file=sys.stderr)
    count(figures, setup, setup.server.calls[calls:], end - begin)
    evaluate(figures, setup, watch, answers, asked_at, written, end, model)
    return figures


async def begun(setup: Setup, program: Program, answers: dict[int, Answer], process: Process) -> Watch:
    """Ask one question first: libraries are loaded then."""
    await ready(setup, program)
    watch = Watch(setup, answers)
    setup.ask(WARM_UP)
    await watch.until_whole([WARM_UP], 60.0)
    if WARM_UP not in watch.whole:
        raise SystemExit(f"it answers nothing:\n{''.join(process.log)}")
    await asyncio.sleep(1.5)
    return watch


async def interrupt(setup: Setup, program: Program, times: int, model: Model, wait: float) -> tuple[int, int]:
    """Kill the program in the middle of each of so many answers, restart it; return how many are whole, and doubled."""
    async with restarted(setup, program, times, model) as (watch, process, start):
        for number in range(times):
            setup.ask(number)
            await asyncio.sleep(model.tokens / model.rate / 2)
            await process.kill()
            process = await start()
            await watch.until_whole([number], wait)
        await process.__aexit__()
    return judge(setup, watch, times, model)


async def be_away(
    setup: Setup, program: Program, times: int, away: float, model: Model, wait: float
) -> tuple[int, int]:
    """Kill the program, ask so many questions, restart it so many seconds later; return as `interrupt`."""
    async with restarted(setup, program, times, model) as (watch, process, start):
        await process.kill()
        for number in range(times):
            setup.ask(number)
        await asyncio.sleep(away)
        process = await start()
        await watch.until_whole(range(times), wait)
        await process.__aexit__()
    return judge(setup, watch, times, model)


@asynccontextmanager
async def restarted(
    setup: Setup, program: Program, times: int, model: Model
) -> AsyncIterator[tuple[Watch, Process, Callable[[], Awaitable[Process]]]]:
    """The program after its first answer, and what starts it again on the same data."""
    answers = {number: Answer(model.answer(number)) for number in (*range(times), WARM_UP)}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(setup.server)
        writer = await stack.enter_async_context(Writer(model.tokens, model.rate))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for number in answers:
            setup.meet(number)
        allow(setup, program)

        async def start() -> Process:
            process = program.started(setup, writer.base_url, f"sqlite:///{folder}/bench.db", times)
            return await process.__aenter__()

        process = await start()
        watch = await begun(setup, program, answers, process)
        yield watch, process, start
        await watch.close()


def judge(setup: Setup, watch: Watch, times: int, model: Model) -> tuple[int, int]:
    """How many answers stand there whole, and how many twice."""
    found = []
    for number in range(times):
        texts = [setup.answer_in(number, one.text) for one in watch.messages.get(number, [])]
        found.append(outcome(model.answer(number), texts))
    return sum(whole for whole, _ in found), sum(doubled for _, doubled in found)


def outcome(answer: str, texts: Sequence[str]) -> tuple[bool, bool]:
    """Whether an answer stands there whole, in one message or in several, and whether two messages begin it."""
    shown, sought = [squeeze(text) for text in texts], squeeze(answer)
    whole = any(sought in text for text in (*shown, "".join(shown)))
    return whole, sum(text.startswith(sought[:9]) for text in shown) > 1


def row(figures: Figures) -> str:
    """A line of the table."""
    return (
        f"| {figures.asked} | {figures.whole} | {pair(figures.first)} | {pair(figures.gap)} | {pair(figures.waits)} "
        f"| {pair(figures.lag)} | {figures.calls:.1f} | {figures.refused} | {figures.model_calls} |"
    )


def options_of(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("platform", choices=PLATFORMS)
    arguments.add_argument("--chats", type=int, nargs="*", default=[1, 20], help="questions at once")
    arguments.add_argument("--kill", type=int, default=0, help="answers in the middle of which it is killed")
    arguments.add_argument("--away", type=float, nargs="*", default=[], help="seconds for which it does not run")
    arguments.add_argument("--folder", type=Path, default=Path(), help="where the command is run")
    arguments.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the program")
    arguments.add_argument("--tokens", type=int, default=200)
    arguments.add_argument("--rate", type=float, default=50.0, help="tokens a second")
    arguments.add_argument("--wait", type=float, default=60.0, help="seconds after the last question")
    arguments.epilog = "After `--`: the command, an interpreter and the program's script."
    words = list(sys.argv[1:] if given is None else given)
    end = words.index("--") if "--" in words else len(words)
    return arguments.parse_args(words[:end], argparse.Namespace(command=words[end + 1 :]))


def main() -> None:
    """Print a table."""
    options = options_of()
    program = Program(options.command, options.folder, options.set)
    model = Model(options.tokens, options.rate)
    print(HEAD)
    for load in bursts(options.chats):
        setup = SETUPS[options.platform]()
        print(row(asyncio.run(measure(setup, program, load, model, options.wait))), flush=True)
    if options.kill:
        told = asyncio.run(interrupt(SETUPS[options.platform](), program, options.kill, model, options.wait))
        print(f"\nAfter a kill: {told[0]} of {options.kill} whole, {told[1]} doubled.")
    for away in options.away:
        setup = SETUPS[options.platform]()
        told = asyncio.run(be_away(setup, program, _AWAY, away, model, options.wait))
        print(f"\nAfter {away:.0f} s away: {told[0]} of {_AWAY} whole, {told[1]} doubled.")


if __name__ == "__main__":
    main()
