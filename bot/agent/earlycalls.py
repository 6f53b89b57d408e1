"""Calls that run while the pass that requests them still streams.

An early call is a guess about how the pass will end. Its result is used if the pass, or a second try of it, does
request the same call; otherwise it is cancelled and forgotten. So only tools without effects begin early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent.events import EarlyCall
from tools.contract.base import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Begun:
    """A running call, and the status that a person saw of it."""

    call: ToolCall
    status: str
    task: asyncio.Task[ToolResult]


class EarlyCalls:
    """The early calls of one turn, by their signature, until their pass takes them or they are dropped."""

    def __init__(self) -> None:
        self._begun: dict[str, Begun] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._begun

    def __len__(self) -> int:
        return len(self._begun)

    def begin(self, key: str, call: ToolCall, status: str, work: Coroutine[Any, Any, ToolResult]) -> EarlyCall:
        """Run `work`, which makes the call, as a task."""
        task = asyncio.create_task(work, name=f"early call of {call.name}")
        self._begun[key] = Begun(call, status, task)
        return EarlyCall(call, status)

    def take(self, key: str) -> Begun | None:
        """Hand over a call that its pass requested; the caller awaits its task."""
        return self._begun.pop(key, None)

    async def keep(self, calls: Sequence[ToolCall], key_of: Callable[[ToolCall], str]) -> list[EarlyCall]:
        """Cancel all but `calls`, and return the events that withdraw the announcement of every other call id."""
        asked = {key_of(call) for call in calls}
        ids = {call.id for call in calls}
        ended: list[EarlyCall] = []
        for key, begun in list(self._begun.items()):
            if key in asked:
                if begun.call.id not in ids:
                    ended.append(EarlyCall(begun.call, None))
                continue
            del self._begun[key]
            ended.append(EarlyCall(begun.call, None, await _cancel(begun.task)))
        return ended

    async def close(self) -> None:
        """Cancel all calls that were not taken."""
        await self.keep((), lambda call: "")


async def _cancel(task: asyncio.Task[ToolResult]) -> float:
    """Cancel a call; return the dollars that it cost, if it had already ended."""
    task.cancel()
    await asyncio.wait([task])
    return 0.0 if task.cancelled() or task.exception() is not None else task.result().dollars
