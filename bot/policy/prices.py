"""The cost of a model call: a table of prices, which the setting `PRICES` can extend or correct.

A model without a row has an unknown cost, which is stated and never guessed: quotas in dollars ignore it, quotas in
tokens do not.

The library genai-prices, used at run time, would take 0.14 s of the event loop at the first price, 3.9 MB of memory and
3 MB of disk, and would count a model's night price at night. The tests use it instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from bot.contract import SettingsError, Usage
from bot.model import PROVIDERS, nearest_provider

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """One row: dollars for a million tokens of one model."""

    model: str
    """The `provider:name` of the model and its dated releases; a `*` matches anything."""
    input: float
    cached: float
    """Dollars for input that the provider had cached."""
    output: float
    minute: float | None = None
    """Dollars for a minute of speech, transcribed or spoken; None: unknown."""
    characters: float | None = None
    """Dollars for a million spoken characters, if those are charged for."""

    def covers(self, model: str) -> bool:
        """Return True if this row covers `model`."""
        if "*" in self.model:
            return re.fullmatch(".*".join(re.escape(part) for part in self.model.split("*")), model) is not None
        rest = model.removeprefix(self.model)
        return len(rest) < len(model) and _DATED.fullmatch(rest) is not None


_DATED = re.compile(r"(-preview)?(-latest|-\d{4,8}|-\d{4}-\d\d-\d\d|-\d\d-\d{4})?")
"""Suffixes that do not make a name another model: `-2025-08-07`, `-20251001`, `-250615`, `-latest`."""

# List prices of November 2026 for prompts of ordinary length, without discounts for batches or nights; the tests
# compare them with https://github.com/pydantic/genai-prices. Ark's are the lowest tier of May 2026, in yuan at 7.1. If
# a name moves to newer models, the highest price that it has had: a quota should err on the safe side.
_ROWS = (
    Price("openai:gpt-5.5", 5.00, 0.50, 30.00),
    Price("openai:gpt-5.4", 2.50, 0.25, 15.00),
    Price("openai:gpt-5.4-mini", 0.75, 0.075, 4.50),
    Price("openai:gpt-5.4-nano", 0.20, 0.02, 1.25),
    Price("openai:gpt-5.3", 1.75, 0.175, 14.00),
    Price("openai:gpt-5.2", 1.75, 0.175, 14.00),
    Price("openai:gpt-5.1", 1.25, 0.125, 10.00),
    Price("openai:gpt-5", 1.25, 0.125, 10.00),
    Price("openai:gpt-5-mini", 0.25, 0.025, 2.00),
    Price("openai:gpt-5-nano", 0.05, 0.005, 0.40),
    Price("openai:gpt-4.1", 2.00, 0.50, 8.00),
    Price("openai:gpt-4.1-mini", 0.40, 0.10, 1.60),
    Price("openai:gpt-4.1-nano", 0.10, 0.025, 0.40),
    Price("openai:gpt-4o", 2.50, 1.25, 10.00),
    Price("openai:gpt-4o-mini", 0.15, 0.075, 0.60),
    Price("openai:o3", 2.00, 0.50, 8.00),
    Price("openai:o4-mini", 1.10, 0.275, 4.40),
    Price("openai:gpt-4o-transcribe", 0.0, 0.0, 0.0, 0.006),
    Price("openai:gpt-4o-mini-transcribe", 0.0, 0.0, 0.0, 0.003),
    Price("openai:whisper-1", 0.0, 0.0, 0.0, 0.006),
    Price("openai:gpt-4o-mini-tts", 0.0, 0.0, 0.0, 0.015),
    Price("openai:tts-1", 0.0, 0.0, 0.0, characters=15.00),
    Price("openai:tts-1-hd", 0.0, 0.0, 0.0, characters=30.00),
    Price("ark:doubao-seed-1-6", 0.11, 0.023, 1.13),
    Price("ark:doubao-seed-1-6-flash", 0.022, 0.005, 0.22),
    Price("deepseek:deepseek-chat", 0.28, 0.07, 1.10),
    Price("deepseek:deepseek-reasoner", 0.55, 0.14, 2.19),
    Price("deepseek:deepseek-v4-flash", 0.30, 0.006, 1.20),
    Price("deepseek:deepseek-v4-pro", 1.32, 0.044, 3.96),
    Price("gemini:gemini-flash", 1.50, 0.15, 9.00),
    Price("gemini:gemini-flash-lite", 0.30, 0.03, 2.50),
    Price("gemini:gemini-3.6-flash", 1.50, 0.15, 7.50),
    Price("gemini:gemini-3.5-flash", 1.50, 0.15, 9.00),
    Price("gemini:gemini-3.5-flash-lite", 0.30, 0.03, 2.50),
    Price("gemini:gemini-3.1-pro", 2.00, 0.20, 12.00),
    Price("gemini:gemini-3.1-flash-lite", 0.25, 0.025, 1.50),
    Price("gemini:gemini-3-flash", 0.50, 0.05, 3.00),
    Price("gemini:gemini-2.5-pro", 1.25, 0.125, 10.00),
    Price("gemini:gemini-2.5-flash", 0.30, 0.03, 2.50),
    Price("gemini:gemini-2.5-flash-lite", 0.10, 0.01, 0.40),
    Price("anthropic:claude-opus-5", 5.00, 0.50, 25.00),
    Price("anthropic:claude-opus-4-5", 5.00, 0.50, 25.00),
    Price("anthropic:claude-opus-4-1", 15.00, 1.50, 75.00),
    Price("anthropic:claude-sonnet-5", 3.00, 0.30, 15.00),
    Price("anthropic:claude-sonnet-4-5", 3.00, 0.30, 15.00),
    Price("anthropic:claude-haiku-4-5", 1.00, 0.10, 5.00),
    Price("openrouter:*:free", 0.0, 0.0, 0.0),
    # The operator's own machine.
    Price("ollama:*", 0.0, 0.0, 0.0, 0.0),
    Price("vllm:*", 0.0, 0.0, 0.0, 0.0),
    Price("local:*", 0.0, 0.0, 0.0, 0.0),
)


class Prices:
    """The table with the operator's additions; one of those wins, then an exact name, then the longest pattern."""

    def __init__(self, own: Iterable[Price] = ()) -> None:
        self._own = tuple(own)
        self.price_of = lru_cache(maxsize=128)(self._find_price)

    def _find_price(self, model: str) -> Price | None:
        """Return the price of `provider:name`; None if it is unknown."""
        for rows in (self._own, _ROWS):
            for name in _names(model):
                fitting = [row for row in rows if row.covers(name)]
                if fitting:
                    return max(fitting, key=lambda row: (row.model == name, len(row.model)))
        return None

    def dollars_of(self, model: str, usage: Usage) -> float | None:
        """Return the dollars of one call; None if the model's price is unknown."""
        price = self.price_of(model)
        if price is None:
            return None
        cached = min(usage.cached, usage.prompt)
        fresh = usage.prompt - cached
        return (fresh * price.input + cached * price.cached + usage.completion * price.output) / _MILLION

    def dollars_of_speech(self, model: str, seconds: float) -> float | None:
        """Return the dollars of a transcript; None if the model's price is unknown."""
        price = self.price_of(model)
        return None if price is None or price.minute is None else price.minute * seconds / 60

    def dollars_of_speaking(self, model: str, characters: int, seconds: float) -> float | None:
        """Return the dollars for speaking a text; None if the model's price is unknown."""
        price = self.price_of(model)
        if price is not None and price.characters is not None:
            return price.characters * characters / _MILLION
        return self.dollars_of_speech(model, seconds)


def _names(model: str) -> tuple[str, ...]:
    """Return the names to look for: a model sold by OpenRouter costs what its maker charges."""
    if not model.startswith("openrouter:"):
        return (model,)
    maker, slash, name = model.removeprefix("openrouter:").partition("/")
    return (model, f"{'gemini' if maker == 'google' else maker}:{name}") if slash and ":" not in name else (model,)


def read_prices(rows: Iterable[str]) -> tuple[Price, ...]:
    """Read rows written `openai:gpt-5-mini=0.25/0.025/2.00`: dollars for a million tokens in, cached and out; or for
    speech `openai:whisper-1=0.006/minute`, or `openai:tts-1=15/characters` for a million of them.

    Raises:
        SettingsError: a row has another form.
    """
    return tuple(_read(row) for row in rows)


def _read(row: str) -> Price:
    model, equals, amounts = row.strip().rpartition("=")
    provider, colon, name = model.strip().partition(":")
    said, _, unit = amounts.strip().rpartition("/")
    speech = unit if unit in ("minute", "characters") else ""
    try:
        numbers = [float(amount) for amount in (said if speech else amounts).split("/")]
    except ValueError:
        numbers = []
    if len(numbers) == 2 and not speech:
        numbers.insert(1, numbers[0])
    right = len(numbers) == (1 if speech else 3) and all(0 <= number < float("inf") for number in numbers)
    if not equals or not colon or not provider or not name or not right:
        raise SettingsError(
            f"PRICES: {row!r} must be written provider:name=input/cached/output in dollars for a million tokens, "
            "as openai:gpt-5-mini=0.25/0.025/2.00, or for speech as openai:whisper-1=0.006/minute or "
            "openai:tts-1=15/characters (a million of them)"
        )
    if provider not in (*PROVIDERS, "local"):
        near = nearest_provider(provider)
        hint = f"did you mean {near}:{name}?" if near else f"there are {', '.join(PROVIDERS)}"
        raise SettingsError(f"PRICES: {row!r} names no known provider; {hint}")
    if speech:
        return Price(model.strip(), 0.0, 0.0, 0.0, **{speech: numbers[0]})
    return Price(model.strip(), numbers[0], numbers[1], numbers[2])
