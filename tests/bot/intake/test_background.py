"""When a process of several begins to answer, and what one alone does before anybody asks."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from bot.intake import Role, serve_places
from bot.intake.background import READY_SECONDS
from tests.conftest import FakeClock, RawJson


class Slow:
    """Takes a while at the first time, or fails."""

    def __init__(self, seconds: float, clock: FakeClock) -> None:
        self._seconds, self._clock = seconds, clock

    async def prepare(self) -> None:
        await self._clock.sleep(abs(self._seconds))
        if self._seconds < 0:
            raise ValueError("no tools")


@pytest.mark.parametrize(
    ("shared", "role", "platforms", "tools", "begins"),
    [
        (True, Role.ALL, 1.0, 2.0, 2.0),
        (True, Role.TURNS, 2.0, 1.0, 2.0),
        (True, Role.ALL, 1.0, -2.0, 2.0),
        (True, Role.ALL, 100.0, 0.0, READY_SECONDS),
        (True, Role.INTAKE, 1.0, 1.0, 0.0),
        (False, Role.ALL, 1.0, 1.0, 2.0),
        (False, Role.ALL, 9.0, 1.0, 10.0),
        (False, Role.ALL, 1.0, 100.0, 1.0 + READY_SECONDS),
    ],
)
async def test_places_are_served_once_answers_come_at_once(
    shared: bool, role: Role, platforms: float, tools: float, begins: float, clock: FakeClock
) -> None:
    """Whatever is in the way: not later than after some seconds. Who is alone gets ready after the log-ins."""
    began: list[float] = []
    since, tried = clock.monotonic(), asyncio.Event()

    async def run(serve: RawJson, hint: RawJson) -> None:
        began.append(clock.monotonic() - since)

    async def log_in() -> None:
        await clock.sleep(platforms)
        tried.set()

    app: RawJson = SimpleNamespace(
        ownership=SimpleNamespace(shared=shared, run=run),
        roles=SimpleNamespace(role=role),
        platforms=SimpleNamespace(tried=tried),
        conversation=Slow(tools, clock),
        models=Slow(0.0, clock),
        dispatcher=SimpleNamespace(serve=None, hint=None),
    )
    tasks = [asyncio.create_task(log_in()), asyncio.create_task(serve_places(app, clock))]
    await clock.advance(200.0)
    await asyncio.gather(*tasks)

    assert began == [begins]
