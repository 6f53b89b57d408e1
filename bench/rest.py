"""What a start costs, and what the program holds at rest: one platform, shipped defaults, a model that answers at once.

    python -m bench.rest --runs 5

*First poll*: from the start of the process to the first `getUpdates` that Telegram's emulator is asked, and the
*processor* seconds of that. *Rest*: the
memory (PSS, MiB) ten seconds after it, before anybody has asked. *First words*: from the very first question of the
process's life to the first words on the screen. *Second*: the same for the next question, so that nothing is hidden
that the first person pays. *After*: the memory ten seconds after those answers.
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
_NAMES = ("first poll", "processor", "rest", "first words", "second", "after")


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
                quiet, words = program.shared_memory(), []
                for number in (1, 2):
                    words.append(await _first_words(setup, number))
                    await asyncio.sleep(2.0)
                await asyncio.sleep(rest)
                return poll, processor, quiet, *words, program.shared_memory()


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


def table(runs: Sequence[Sequence[float]]) -> str:
    """Each value's median, and in brackets the least and the most."""
    columns = [sorted(column) for column in zip(*runs, strict=True)]
    shown = (f"{one[len(one) // 2]:.2f} ({one[0]:.2f} to {one[-1]:.2f})" for one in columns)
    return "\n".join(f"{name:12} {value}" for name, value in zip(_NAMES, shown, strict=True))


def main() -> None:
    """Measure so many starts, one after the other."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=5)
    runs = []
    for number in range(arguments.parse_args().runs):
        runs.append(asyncio.run(measure()))
        print(number + 1, " ".join(f"{value:.2f}" for value in runs[-1]), file=sys.stderr)
    print(table(runs))


if __name__ == "__main__":
    main()
