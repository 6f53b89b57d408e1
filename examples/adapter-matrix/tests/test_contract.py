"""The adapter is finished when these pass: what Parley's own platforms are held to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from scene import MatrixScene, open_scene

from parley_chat.contract.suites import EventContract, FailureContract, SurfaceContract, ThreadContract


@pytest.fixture
async def scene() -> AsyncIterator[MatrixScene]:
    async with open_scene() as opened:
        yield opened


class TestSurface(SurfaceContract):
    pass


class TestFailures(FailureContract):
    pass


class TestEvents(EventContract):
    pass


class TestThreads(ThreadContract):
    pass
