"""The rows of the price table beside a collection of list prices that others keep: genai-prices."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from genai_prices import Usage, calc_price

from bot.policy.prices import _ROWS, Price

CHECKED = 2026, 11, 22
"""The day for which the table was last looked through."""
COLLECTED = {"openai": "openai", "deepseek": "deepseek", "gemini": "google", "anthropic": "anthropic"}
"""Our providers, and what they are called there. Ark is not in it, nor is one's own machine, nor speech."""
ROWS = [row for row in _ROWS if row.model.partition(":")[0] in COLLECTED and row.minute is row.characters is None]


KINDS = (
    Usage(input_tokens=1000),
    Usage(input_tokens=1000, cache_read_tokens=1000),
    Usage(output_tokens=1000),
)
"""What the three prices of a row are for; larger prompts may cost more."""


def asked(model: str, usage: Usage, hour: int) -> float:
    """Dollars for a thousand times this usage at an hour of the day."""
    provider, _, name = model.partition(":")
    at = datetime(*CHECKED, hour, 30, tzinfo=UTC)
    for ref in (name, f"{name}-latest", f"{name}-preview"):
        with suppress(LookupError):
            priced = calc_price(usage, ref, provider_id=COLLECTED[provider], genai_request_timestamp=at)
            return 1000 * float(priced.total_price)
    raise AssertionError(f"{model} is not in the collection any more")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.model)
def test_no_row_is_below_what_the_provider_asks_at_its_dearest_hour(row: Price) -> None:
    """A quota in dollars that counts too little stops nobody in time."""
    listed = [max(asked(row.model, usage, hour) for hour in range(24)) for usage in KINDS]

    assert all(
        ours >= theirs - 1e-9 for ours, theirs in zip((row.input, row.cached, row.output), listed, strict=True)
    ), listed
