"""Drive an agent of another author in a task of its own, so that nothing that it does holds up anybody else.

Its events wait in a short queue. An event that must be stored before the agent goes on (a call, a result) is handed
over: the agent runs again when the next event is asked for. Nothing can be done within the process about an agent that
blocks the event loop: the watchdog names it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from inspect import isawaitable
from typing import Final, cast

from bot.contract import Clock, answers, done_within, time_limit
from tools.programs.cancelling import is_cancelled

log = logging.getLogger(__name__)

MOST_WAITING: Final = 64
"""Events that an agent may be ahead of what is shown."""
EVENTS_AT_ONCE: Final = 32
"""Events after which other chats have their turn, however fast they come."""
END_SECONDS: Final = 5.0
"""How long an agent may take to end when it is cancelled."""

_HANDED_OVER: Final = (answers.Call, answers.Result, answers.Checkpoint, answers.Used)
_LEFT_BEHIND: set[asyncio.Task[None]] = set()
"""Tasks that do not end; the event loop itself forgets a task that nobody knows."""


class AgentFailed(Exception):
    """An agent raised an exception, or yielded nonsense; the text is for the operator."""


@dataclass(frozen=True, slots=True)
class _End:
    """The agent has ended; `error` is what it raised."""

    error: BaseException | None


class Driver:
    """One answer of an agent: `async with Driver(...) as driver`, which ends it, and `next` in between."""

    def __init__(self, name: str, agent: answers.Answers, question: answers.Question, clock: Clock) -> None:
        self._name = name
        self._agent = agent
        self._question = question
        self._clock = clock
        self._queue: asyncio.Queue[tuple[object, asyncio.Event | None]] = asyncio.Queue(MOST_WAITING)
        self._handed_over: asyncio.Event | None = None
        self._taken = 0
        self._closing = False

    async def __aenter__(self) -> Driver:
        self._task = asyncio.create_task(self._run(), name=f"agent {self._name}")
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._closing = True
        self._task.cancel()
        if await done_within(self._clock, [self._task], END_SECONDS):
            return
        log.error(
            "turn %s: the agent %s does not end when it is cancelled, and is left behind; it must not catch "
            "CancelledError",
            self._question.turn,
            self._name,
        )
        # At the program's end `asyncio.run` would wait for it for ever. A part of asyncio's interface for other loops:
        # https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support
        asyncio.tasks._unregister_task(self._task)
        _LEFT_BEHIND.add(self._task)
        self._task.add_done_callback(_LEFT_BEHIND.discard)

    async def next(self, seconds: float) -> answers.Event | None:
        """Return the next event, None at the end; what came before is stored.

        Raises:
            TimeoutError: there was none within `seconds`.
            AgentFailed: the agent failed, or the event is nonsense.
        """
        if self._handed_over is not None:
            self._handed_over.set()
        self._taken += 1
        if not self._taken % EVENTS_AT_ONCE:
            await asyncio.sleep(0)
        if seconds <= 0:
            raise TimeoutError
        async with time_limit(self._clock, seconds):
            event, self._handed_over = await self._queue.get()
        if isinstance(event, _End):
            if event.error is not None:
                raise AgentFailed(f"it raised {type(event.error).__name__}") from event.error
            return None
        if problem := answers.problem_of(event):
            raise AgentFailed(problem)
        return cast("answers.Event", event)

    async def _run(self) -> None:
        error: BaseException | None = None
        try:
            await self._drive()
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001 - of whatever it raises one turn fails, and not the program
            error = raised
        if not self._closing and not is_cancelled():
            await self._queue.put((_End(error), None))
        elif not isinstance(error, asyncio.CancelledError | None):
            log.warning("the agent %s failed while it was ended: %s", self._name, type(error).__name__)

    async def _drive(self) -> None:
        answer: object = self._agent.answer(self._question)
        if isawaitable(answer) or not hasattr(answer, "__aiter__"):
            if asyncio.iscoroutine(answer):
                answer.close()
            raise TypeError(f"answer() returned a {type(answer).__name__}, and must be an async generator")
        given = 0
        try:
            async for event in answer:
                if self._closing:
                    return
                handed_over = asyncio.Event() if isinstance(event, _HANDED_OVER) else None
                await self._queue.put((event, handed_over))
                if isinstance(event, answers.Ask | answers.Fault):
                    return
                if handed_over is not None:
                    await handed_over.wait()
                given += 1
                if not given % EVENTS_AT_ONCE:
                    await asyncio.sleep(0)
        finally:
            if (close := getattr(answer, "aclose", None)) is not None:
                await close()
