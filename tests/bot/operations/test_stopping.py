"""The end of the process: what is ended when, and what happens to whoever does not end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bot.operations import stopping
from bot.operations.stopping import StopRequest, end_in_order
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent.parent
BUSY = """
import asyncio, sys
from bot.operations import stopping
stopping.STOP_SECONDS = 0.3

async def main():
    stopping.StopRequest().hear()
    print("ready", flush=True)
    while True:
        pass

asyncio.run(main())
"""
STUBBORN = """
import asyncio
from bot.operations import stopping
stopping.STOP_SECONDS = 0.3

async def library():
    while True:
        try:
            await asyncio.sleep(60)
        except BaseException:
            pass

async def main():
    stop = stopping.StopRequest()
    stop.hear()
    ignoring = asyncio.create_task(library())
    await asyncio.sleep(0)
    print("ready", flush=True)
    await stop.asked.wait()

asyncio.run(main())
"""
"""A library that is not to be cancelled."""


class Parts:
    """The parts of a program; each notes its end, unless it hangs or fails."""

    def __init__(self, *hanging: str, failing: str = "") -> None:
        self.log: list[str] = []
        self.leave = asyncio.Event()
        self._hanging = hanging
        self._failing = failing

    async def end(self, name: str) -> None:
        if name in self._hanging:
            await asyncio.Event().wait()
        if name == self._failing:
            raise KeyError(name)
        self.log.append(name)

    async def platforms(self) -> None:
        await self.leave.wait()
        await self.end("platforms")


async def ended(parts: Parts) -> float:
    """How long all of them take to end."""
    since = asyncio.get_running_loop().time()
    platforms = asyncio.create_task(parts.platforms(), name="platforms")
    await end_in_order(
        turns=lambda seconds: parts.end(f"turns {seconds:g}"),
        quiet=lambda: parts.end("quiet"),
        tools=lambda: parts.end("tools"),
        leave=parts.leave,
        platforms=platforms,
    )
    await asyncio.gather(platforms, return_exceptions=True)
    return asyncio.get_running_loop().time() - since


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deadlines, much nearer; the last one leaves a busy machine time to end what does not hang."""
    for name, seconds in (("TURN_SECONDS", 0.08), ("_SURFACES_UNTIL", 0.09), ("_PLATFORMS_UNTIL", 1.5)):
        monkeypatch.setattr(stopping, name, seconds)


async def test_nothing_that_hangs_is_waited_for_and_platforms_are_left_last() -> None:
    parts = Parts()

    assert await ended(parts) < 1
    assert parts.log == ["turns 8", "quiet", "tools", "platforms"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("hanging", ["turns 0.08", "quiet", "tools", "platforms"])
async def test_who_does_not_end_is_named_and_left_behind_and_the_others_end(
    hanging: str, caplog: pytest.LogCaptureFixture
) -> None:
    parts = Parts(hanging)

    await ended(parts)

    assert set(parts.log) == {"turns 0.08", "quiet", "tools", "platforms"} - {hanging}
    [line] = [record.getMessage() for record in caplog.records]
    assert line.endswith("did not end in time and is abandoned")


@pytest.mark.parametrize("failing", ["turns 8", "quiet", "tools"])
async def test_who_fails_at_the_end_keeps_nobody_from_ending(failing: str, caplog: pytest.LogCaptureFixture) -> None:
    parts = Parts(failing=failing)

    await ended(parts)

    assert set(parts.log) == {"turns 8", "quiet", "tools", "platforms"} - {failing}
    assert "KeyError in test_stopping.py" in caplog.text


async def test_a_request_during_the_start_ends_the_start() -> None:
    stop = StopRequest()

    with stop.while_starting():
        asyncio.get_running_loop().call_soon(stop._ask)
        await asyncio.Event().wait()
        pytest.fail("it went on starting")

    assert stop.asked.is_set()
    current = asyncio.current_task()
    assert current is not None and not current.cancelling()


async def test_a_request_after_the_start_cancels_nothing() -> None:
    stop = StopRequest()
    with stop.while_starting():
        stop.started()
        asyncio.get_running_loop().call_soon(stop._ask)
        async with asyncio.timeout(PATIENCE):
            await stop.asked.wait()


async def test_another_cancellation_of_the_start_is_passed_on() -> None:
    async def start() -> None:
        with StopRequest().while_starting():
            await asyncio.Event().wait()

    task: asyncio.Task[Any] = asyncio.create_task(start())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("program", "twice"), [(BUSY, False), (BUSY, True), (STUBBORN, False)], ids=["busy", "asked twice", "stubborn"]
)
def test_a_process_that_does_not_end_by_itself_ends_in_time_and_at_once_when_asked_twice(
    program: str, twice: bool
) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as busy:
        assert busy.stdout is not None and busy.stdout.readline() == "ready\n"
        since = time.monotonic()
        busy.send_signal(signal.SIGTERM)
        while twice and busy.poll() is None:
            busy.send_signal(signal.SIGTERM)

        assert busy.wait(30) == int(twice)
        assert twice or time.monotonic() - since >= 0.3
