"""What a model call costs, and what nobody knows the price of."""

from __future__ import annotations

import pytest

from bot.contract.errors import SettingsError
from bot.contract.transcript import Usage
from bot.model.providers import PROVIDERS
from bot.policy.prices import Price, Prices, read_prices

MILLION = 1_000_000


def test_input_cached_input_and_output_have_each_their_price() -> None:
    usage = Usage(prompt=3 * MILLION, completion=MILLION, cached=2 * MILLION)

    assert Prices().dollars_of("openai:gpt-5-mini", usage) == pytest.approx(0.25 + 2 * 0.025 + 2.00)


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("openai:gpt-5-2025-08-07", "openai:gpt-5"),
        ("openai:gpt-5-mini-2025-08-07", "openai:gpt-5-mini"),
        ("anthropic:claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5"),
        ("ark:doubao-seed-1-6-250615", "ark:doubao-seed-1-6"),
        ("ark:doubao-seed-1-6-flash", "ark:doubao-seed-1-6-flash"),
        ("gemini:gemini-flash-latest", "gemini:gemini-flash"),
        ("gemini:gemini-2.5-flash-preview-09-2025", "gemini:gemini-2.5-flash"),
        ("openrouter:openai/gpt-5-mini", "openai:gpt-5-mini"),
        ("openrouter:google/gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("openrouter:qwen/qwen3-8b:free", "openrouter:*:free"),
        ("ollama:qwen3:8b", "ollama:*"),
    ],
)
def test_a_dated_or_resold_model_has_its_row(model: str, row: str) -> None:
    price = Prices().price_of(model)
    assert price is not None
    assert price.model == row


@pytest.mark.parametrize("model", ["openai:gpt-5-turbo-max", "openai:scripted", "openai:gpt-50", "openrouter:x/y", ""])
def test_a_model_without_a_row_costs_an_unknown_amount(model: str) -> None:
    assert Prices().dollars_of(model, Usage(prompt=1000, completion=1000)) is None


def test_the_model_each_provider_answers_with_by_default_has_a_price() -> None:
    assert [name for name, row in PROVIDERS.items() if Prices().price_of(f"{name}:{row.default_model}") is None] == []


def test_the_operators_rows_win_and_add() -> None:
    prices = Prices(read_prices(["openai:gpt-5-mini=1/0.5/3", " vllm:big* = 2/4 "]))

    assert prices.price_of("openai:gpt-5-mini") == Price("openai:gpt-5-mini", 1, 0.5, 3)
    assert prices.dollars_of("vllm:big-one", Usage(prompt=MILLION, cached=MILLION, completion=MILLION)) == 6
    assert prices.dollars_of("vllm:small", Usage(prompt=MILLION)) == 0


MALFORMED = (
    "openai:whisper-1=minute",
    "openai:whisper-1=/minute",
    "openai:whisper-1=1/2/minute",
    "openai:whisper-1=-1/minute",
    "openai:tts-1=/characters",
    "openai:tts-1=1/2/characters",
    "openai:gpt-5-mini",
    "gpt-5-mini=1/2/3",
    "openai:=1/2",
    "openai:x=1",
    "openai:x=1/2/3/4",
    "openai:x=a/b",
    "openai:x=-1/2",
    "openai:x=nan/2",
    "=1/2",
    "",
)


@pytest.mark.parametrize("row", MALFORMED)
def test_a_malformed_row_is_one_clear_sentence(row: str) -> None:
    with pytest.raises(SettingsError, match=r"^PRICES: .* must be written provider:name=input/cached/output"):
        read_prices([row])


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("openai:gpt-4o-mini-transcribe", 0.006),
        ("openai:gpt-4o-mini-transcribe-2025-12-15", 0.006),
        ("openai:gpt-4o-transcribe-latest", 0.012),
        ("openai:my-ears", 1.0),
        ("openai:gpt-5-mini", None),
        ("openai:whisper-1", 0.012),
        ("vllm:openai/whisper-large-v3", 0.0),
        ("openai:other", None),
    ],
)
def test_speech_is_priced_by_the_minute(model: str, dollars: float | None) -> None:
    prices = Prices(read_prices(["openai:my-ears = 0.5/minute"]))

    assert prices.dollars_of_speech(model, 120.0) == dollars


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("openai:gpt-4o-mini-tts", 0.03),
        ("openai:tts-1", 0.015),
        ("openai:tts-1-hd", 0.03),
        ("openai:my-mouth", 0.002),
        ("vllm:kokoro", 0.0),
        ("openai:other", None),
    ],
)
def test_what_is_spoken_is_priced_by_its_minutes_or_its_characters(model: str, dollars: float | None) -> None:
    prices = Prices(read_prices(["openai:my-mouth = 2/characters"]))

    assert prices.dollars_of_speaking(model, 1_000, 120.0) == pytest.approx(dollars)
