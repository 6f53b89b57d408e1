"""The streaming model client: any provider behind one protocol (`bot.model.base.Model`).

    async with open_models(ModelOptions(name="openai:gpt-5-mini", keys={"openai": key}), SystemClock()) as models:
        async for piece in models.stream(request):
            ...

`providers` (the table), `wire` and `responses` (how a request is told), `sse` and `assembly` (how a stream is
read), `client` (one model), `chain` (a model and its fallbacks). Importing this package loads no HTTP library.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from bot.clock import Clock
from bot.model.options import ModelOptions
from bot.model.providers import ModelName, default_model

if TYPE_CHECKING:
    from bot.model.chain import Models

__all__ = ["ModelName", "ModelOptions", "Models", "default_model", "open_models"]


def __getattr__(name: str) -> object:
    """Load `Models` when it is first asked for: the SDK takes half a second."""
    if name == "Models":
        from bot.model.chain import Models

        return Models
    raise AttributeError(name)


def open_models(options: ModelOptions, clock: Clock, *, jitter: random.Random | None = None) -> Models:
    """Everything needed to ask the configured models; close it, or use it with `async with`.

    Raises:
        SettingsError: a model's name, its provider's key or base URL is not as it must be.
    """
    from bot.model.chain import Models

    return Models(options, clock, jitter=jitter)
