"""The adapter is finished when these pass: what Parley's own platforms are held to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from scene import MattermostScene, open_scene

from parley_chat.contract.suites import EventContract, FailureContract, SurfaceContract, ThreadContract


@pytest.fixture(params=[False, True], ids=["channel", "direct"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[MattermostScene]:
    async with open_scene(request.param) as opened:
        yield opened


class TestSurface(SurfaceContract):
    pass


class TestFailures(FailureContract):
    pass


class TestEvents(EventContract):
    pass


class TestThreads(ThreadContract):
    pass
