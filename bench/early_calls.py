"""What is gained by beginning a call while its pass still streams? Two turns within one run.

    python bench/early_calls.py [seconds]

The model asks for a look-up in its first token and streams for so many seconds more; the look-up takes as long. Once
the tool is declared as one with effects, which waits for the end of the stream, and once as it is. The last line is
the share of the time that the early call leaves: about 0.5 where nothing else costs time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

from bot.agent.callpolicy import CallPolicy
from bot.settings import ToolRuleSettings, TurnSettings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bot.agent.loop import Agent
from bot.agent.task import Task
from bot.contract.transcript import UserEntry
from bot.model.base import Answer, CallPiece, Piece, Request, TextPiece
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, ToolCall, ToolContext, ToolResult, ToolSpec

TOKENS = 100
CALL = ToolCall("call_1", "look", {"text": "tea"})


class Look:
    """Takes its time."""

    def __init__(self, seconds: float, *, effects: bool) -> None:
        parameters: Mapping[str, Json] = {"type": "object", "properties": {"text": {"type": "string"}}}
        self.spec = ToolSpec(name="look", purpose="Look up.", parameters=parameters, effects=effects)
        self._seconds = seconds

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> ToolResult:
        await asyncio.sleep(self._seconds)
        return ToolResult(text="Tea is a leaf.")

    async def close(self) -> None:
        return None


class Talker:
    """Calls, goes on talking, and answers in the next pass."""

    name = "bench:talker"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._passes = 0

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self._passes += 1
        calls = (CALL,) if self._passes == 1 else ()
        for call in calls:
            yield CallPiece(call)
            for _ in range(TOKENS):
                await asyncio.sleep(self._seconds / TOKENS)
                yield TextPiece("word ")
        yield TextPiece("Done.")
        yield Answer(text="Done.", calls=calls, finish="stop", model=self.name, native=True)


async def turn(seconds: float, *, effects: bool) -> float:
    """Seconds until the turn is answered."""
    registry = ToolRegistry([Look(seconds, effects=effects)])
    task = Task(
        entries=(UserEntry("What is tea?"),),
        model=Talker(seconds),
        tools=registry.specs(),
        context=ToolContext(),
        deadline=float("inf"),
    )
    agent = Agent(registry, TurnSettings.model_construct(), CallPolicy(ToolRuleSettings.model_construct()))
    started = time.perf_counter()
    async with aclosing(agent.answer(task)) as events:
        async for _ in events:
            pass
    return time.perf_counter() - started


def main() -> None:
    """Print both times and their ratio."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    after, early = (asyncio.run(turn(seconds, effects=effects)) for effects in (True, False))
    print(f"after the stream  {after:6.2f} s\nwhile it streams  {early:6.2f} s\nratio             {early / after:6.2f}")


if __name__ == "__main__":
    main()
