"""The streaming model client: any provider behind one protocol (`bot.model.base.Model`).

    async with open_models(ModelOptions(name="openai:gpt-5-mini", keys={"openai": key}), SystemClock()) as models:
        async for piece in models.stream(request):
            ...

`providers` (the table), `wire` and `responses` (how a request is told), `sse` and `assembly` (how a stream is
read), `client` (one model), `chain` (a model and its fallbacks). Importing this package loads no HTTP library.
"""

from __future__ import annotations

import importlib
import random
from typing import TYPE_CHECKING

from bot.contract import Clock
from bot.model.base import Answer, CallPiece, Model, Piece, ReasoningPiece, Request, TextPiece, ask, stream_of
from bot.model.options import ModelOptions
from bot.model.protocol import CALL_FORMAT, as_json
from bot.model.providers import PROVIDERS, ModelName, default_model
from bot.model.usage import WIDE_TOKENS, Estimator, token_count, tool_token_count

if TYPE_CHECKING:
    from bot.model.chain import Chain, Link, Models
    from bot.model.failures import KeyRefused

__all__ = [
    "CALL_FORMAT",
    "PROVIDERS",
    "WIDE_TOKENS",
    "Answer",
    "CallPiece",
    "Chain",
    "Estimator",
    "KeyRefused",
    "Link",
    "Model",
    "ModelName",
    "ModelOptions",
    "Models",
    "Piece",
    "ReasoningPiece",
    "Request",
    "TextPiece",
    "as_json",
    "ask",
    "default_model",
    "open_models",
    "stream_of",
    "token_count",
    "tool_token_count",
]


_LATE = {"Models": "chain", "Chain": "chain", "Link": "chain", "KeyRefused": "failures"}


def __getattr__(name: str) -> object:
    """Load what needs an SDK when it is first asked for: it takes half a second."""
    if name in _LATE:
        return getattr(importlib.import_module(f"bot.model.{_LATE[name]}"), name)
    raise AttributeError(name)


def open_models(options: ModelOptions, clock: Clock, *, jitter: random.Random | None = None) -> Models:
    """Everything needed to ask the configured models; close it, or use it with `async with`.

    Raises:
        SettingsError: a model's name, its provider's key or base URL is not as it must be.
    """
    from bot.model.chain import Models

    return Models(options, clock, jitter=jitter)
