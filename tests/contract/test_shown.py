"""Each of our adapters reads quotes and forwards as `parley_chat.contract` asks."""

from __future__ import annotations

import pytest

from parley_chat.contract.quotes import QuoteContract
from tests.contract.scenes import PLATFORM_SCENES, opened

scene = pytest.fixture(params=PLATFORM_SCENES)(opened)


class TestQuotes(QuoteContract):
    pass
