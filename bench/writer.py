"""The emulated model in a process of its own, so that its work does not delay what the platforms' emulators note.

    python -m bench.writer --tokens 200 --rate 50

Prints its base URL. After each line on standard input it prints what it was asked since the last one, as JSON: for each
request the number of its question, when it came, and when its first and last token were sent (monotonic seconds, which
all processes of a machine share). It ends with its standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
from dataclasses import dataclass
from typing import Any, Self

from bench.processes import Process
from playground.model import ModelServer, Reply
from playground.model.reply import Body
from playground.model.wire import words

_VOCABULARY = re.findall(
    r"\w+",
    """
    a the of and to in is that for on with as by from this which at be or an are it can not has have one two first water
    light heat small large number people world system energy power surface because between another several together
    without through under over most many more some often always never usually slowly quickly moves grows changes holds
    keeps makes takes gives finds shows becomes remains depends follows increases explains question answer example
    reason result process material temperature pressure distance minutes particular different possible
    """,
)
WARM_UP = 90_000
"""The number of a question that is asked before anything is measured: its answer is short, so that it uses up none of
what a platform allows in a minute."""
OTHERS = ("gpt-4o", "gpt-4o-mini", "gpt-3.5-turbo")
"""The models that other bots ask for by default."""
_QUESTION = re.compile(r"number (\d+)")


def question(number: int) -> str:
    """What a person asks."""
    return f"please explain number {number}"


def answer_of(number: int, tokens: int) -> str:
    """An answer of so many tokens (words) of ordinary length, another for each number, in sentences and paragraphs."""
    chance = random.Random(number)
    written = ["Answer", f"{number}:"]
    tokens = len(written) if number == WARM_UP else tokens
    left = 0
    while len(written) < tokens:
        if not left:
            left = chance.randint(7, 16)
            word = chance.choice(_VOCABULARY).capitalize()
        else:
            word = chance.choice(_VOCABULARY)
        left -= 1
        written.append(word if left and len(written) < tokens - 1 else f"{word}.")
    lines = [" ".join(written[start : start + 90]) for start in range(0, len(written), 90)]
    return "\n\n".join(lines)


def tokens_of(text: str) -> list[str]:
    """`text` in the pieces in which the emulated model streams it."""
    return words(text)


@dataclass(frozen=True, slots=True)
class Written:
    """One request to the model."""

    number: int
    at: float
    first_at: float
    last_at: float


class Writer:
    """The model's process, started and asked."""

    def __init__(self, tokens: int, rate: float) -> None:
        self.process = Process("-m", "bench.writer", "--tokens", str(tokens), "--rate", str(rate))
        self.base_url = ""

    async def __aenter__(self) -> Self:
        await self.process.__aenter__()
        self.base_url = await self.process.line()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.process.__aexit__(*exc)

    async def report(self) -> list[Written]:
        """The requests since the last report."""
        self.process.write("report\n")
        return [Written(*one) for one in json.loads(await self.process.line())]


async def serve(tokens: int, rate: float) -> None:
    """Answer until standard input ends."""
    async with ModelServer() as model:
        model.models += OTHERS
        model.script = lambda body: Reply(answer_of(_number(body["messages"]), tokens), words_per_second=rate)
        print(model.base_url, flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while await reader.readline():
            told = [(_number(one.messages), one.at, one.first_at, one.last_at) for one in model.requests]
            model.requests.clear()
            print(json.dumps(told), flush=True)


def _number(messages: list[Body]) -> int:
    said: Any = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    return int(_QUESTION.findall(said if isinstance(said, str) else json.dumps(said))[-1])


def main() -> None:
    """Serve with the given pace."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tokens", type=int, default=200)
    arguments.add_argument("--rate", type=float, default=50.0)
    options = arguments.parse_args()
    asyncio.run(serve(options.tokens, options.rate))


if __name__ == "__main__":
    main()
