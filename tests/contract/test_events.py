"""Each of our adapters tells what `parley_chat.contract` asks of every one."""

from __future__ import annotations

import pytest

from parley_chat.contract.events import EventContract
from tests.contract.scenes import PLACES, opened

scene = pytest.fixture(params=PLACES)(opened)


class TestEvents(EventContract):
    pass
