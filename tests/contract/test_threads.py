"""On each of our platforms a channel and its threads are what `parley_chat.contract` asks of every one."""

from __future__ import annotations

import pytest

from parley_chat.contract.threads import ThreadContract
from tests.contract.scenes import PLATFORM_SCENES, opened

scene = pytest.fixture(params=PLATFORM_SCENES)(opened)


class TestThreads(ThreadContract):
    pass
