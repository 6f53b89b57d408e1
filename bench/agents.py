"""How agents of frameworks reach readers, beside Parley's own, in one run.

    python -m bench.agents
    python -m bench.agents --platform slack --questions 10 --agent native ag_ui

The bot runs as `python -m bot run` against the emulators, as in `bench.delivery`, once with each agent: Parley's own
(*native*), one without a framework (*own*), and the agents of `tests/frameworks`, each with its framework installed.
Questions come one after another, `--apart` seconds apart, or with `--apart 0` at once, each in a place of its own; the
model writes 200 tokens at 50 a second. *Reader waits*: as there; the ratio is that of the means. *CPU*: processor
seconds of an answer, the framework's own included, and those beyond the native agent's. *Stop*: from the moment at
which `/stop` is sent in Telegram to the end of the connection to the model, the longest of `--stops`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence

from bench.delivery import UNLIMITED, Figures, Model, environment, mean, measure, pair
from bench.loads import Load
from bench.processes import Process
from bench.setups import SETUPS, Setup, TelegramPrivate
from playground.model import ModelServer, Reply

AGENTS = {
    "native": ("", ""),
    "own": ("tests.ownagents:Searching", ""),
    "pydantic": ("tests.frameworks.pydantic:Searching", "pydantic_ai"),
    "langgraph": ("tests.frameworks.langgraph:Searching", "langgraph"),
    "openai_agents": ("tests.frameworks.openai_agents:Searching", "agents"),
    "ag_ui": ("tests.frameworks.ag_ui:Searching", "aiohttp"),
}
"""Name → the value of AGENT, and the module that it needs."""
_LONG = " ".join(f"word{number}" for number in range(4_000))


def with_agent(kind: Callable[[], Setup], agent: str) -> Setup:
    """Return a way to ask whose bot has this agent."""

    assert isinstance(kind, type)

    class WithAgent(kind):  # type: ignore[misc,valid-type] # one of several
        @property
        def environment(self) -> Mapping[str, str]:
            return {**super().environment, "AGENT": agent}

    made: Setup = WithAgent()
    return made


async def time_stops(agent: str, count: int) -> list[float]:
    """Return the seconds from each `/stop` to the end of the connection to the model."""
    setup, seconds = with_agent(TelegramPrivate, agent), list[float]()
    async with setup.server as server, ModelServer() as model:
        model.script = lambda body: Reply(_LONG, words_per_second=50)
        with tempfile.TemporaryDirectory() as folder:
            settings = environment(setup, model.base_url, f"sqlite:///{folder}/bench.db", count, UNLIMITED)
            async with Process("-m", "bot", "run", environment={**settings, "OPENAI_API_KEY": model.key or "sk-bench"}):
                await setup.ready()
                for number in range(count + 1):
                    setup.meet(number)
                    person = 100_000 + number
                    server.say(person, "tell me all about tea", person=person)
                    async with asyncio.timeout(60):
                        await server.screen.until(lambda screen, at=person: _shows(screen.of(str(at))))
                        sent, request = time.monotonic(), model.requests[-1]
                        server.say(person, "/stop", person=person)
                        while not request.closed_early:
                            await asyncio.sleep(0.001)
                    seconds.append(time.monotonic() - sent)
    return seconds[1:]  # libraries are loaded by the first


def _shows(messages: Sequence[object]) -> bool:
    return any("word9" in str(getattr(one, "text", "")) for one in messages)


def run(platform: str, agent: str, options: argparse.Namespace) -> Figures:
    """Measure one agent on one platform."""
    times = tuple(options.apart * number for number in range(options.questions))
    load = Load(f"{options.questions} one after another", times)
    return asyncio.run(measure(with_agent(SETUPS[platform], agent), load, Model(), 60.0, left=UNLIMITED))


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--platform", nargs="+", default=["telegram", "slack", "discord"], choices=list(SETUPS))
    arguments.add_argument("--agent", nargs="+", default=list(AGENTS), choices=list(AGENTS))
    arguments.add_argument("--questions", type=int, default=6)
    arguments.add_argument("--apart", type=float, default=6.0)
    arguments.add_argument("--stops", type=int, default=5)
    options = arguments.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    missing = [name for name in options.agent if (need := AGENTS[name][1]) and importlib.util.find_spec(need) is None]
    for name in missing:
        print(f"{name} is left out: {AGENTS[name][1]} is not installed")
    agents = [name for name in options.agent if name not in missing]
    for platform in options.platform:
        print(f"\n| {platform} | whole | reader waits p50 / p95 | mean | to native | CPU | beyond native | held up |")
        print("|---|---|---|---|---|---|---|---|")
        native: Figures | None = None
        for name in agents:
            found = run(platform, AGENTS[name][0], options)
            native = native or found
            ratio = mean(found.waits) / mean(native.waits) if mean(native.waits) else 0.0
            held_up = ", ".join(f"{one:.0%}" for one in found.held_up)
            print(
                f"| {name} | {found.whole}/{found.asked} | {pair(found.waits)} | {mean(found.waits):.2f} | {ratio:.2f} "
                f"| {found.cpu:.2f} | {found.cpu - native.cpu:+.2f} | {held_up} |",
                flush=True,
            )
    print("\n| agent | stop, seconds, the longest of several |\n|---|---|")
    for name in agents if options.stops else ():
        print(f"| {name} | {max(asyncio.run(time_stops(AGENTS[name][0], options.stops))):.3f} |", flush=True)


if __name__ == "__main__":
    main()
