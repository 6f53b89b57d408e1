"""What a start says of the machine and the settings that will not work as configured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bot.policy import Prices, read_prices
from bot.settings import CoreSettings
from bot.store import open_to_all
from tools.contract.network import find_proxy_faults


def open_files(files: Sequence[Path]) -> list[str]:
    """Return a sentence for each file with keys that others can read; an operator may share it on purpose."""
    modes = {file: open_to_all(file, group=True) for file in files}
    said = "others on this machine can read the keys in {0} (mode {1}): run chmod 600 {0}"
    return [said.format(file, mode) for file, mode in modes.items() if mode]


def standing_faults(core: CoreSettings, models: Sequence[str]) -> list[str]:
    """Return a sentence for every limit that will not apply and every proxy that cannot be used, as far as the start
    can tell.

    Args:
        models: the `provider:name` of every model that can answer.
    """
    hears = core.transcribe_model if ":" in core.transcribe_model else ""
    speaks = core.speech_model if ":" in core.speech_model else ""
    others = (core.summary_model, core.tool_choice_model, hears, speaks)
    models = list(dict.fromkeys(name for name in (*models, *others) if name))
    prices = Prices(read_prices(core.prices))
    unpriced = [explain_unpriced(model) for model in models if has_limits(core) and prices.price_of(model) is None]
    return [*unpriced, *find_proxy_faults()]


def has_limits(core: CoreSettings) -> bool:
    """Return True if there is any limit in dollars."""
    return bool(core.money_per_day or core.money_per_day_person)


def explain_unpriced(model: str) -> str:
    return f"the price of {model} is unknown, so no limit in dollars applies to it: add it to PRICES"
