"""The streaming model client: any provider behind one protocol (`bot.model.base.Model`).

    options = ModelOptions(name="openai:gpt-5-mini", tool_mode="auto", turn_seconds=300.0, keys={"openai": key})
    async with Models(options, SystemClock()) as models:
        async for piece in models.stream(request):
            ...

`providers` (the table), `wire` and `responses` (how a request is written), `sse` and `assembly` (how a stream is read),
`client` (one model), `chain` (a model and its fallbacks), `transcribing` and `local` (speech to text), `speaking` (text
to speech). Importing this package loads no HTTP library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.model.base import Answer, AskedAgain, CallPiece, Model, Piece, ReasoningPiece, Request, TextPiece, ask
from bot.model.endings import LENGTH
from bot.model.loops import is_loop
from bot.model.options import ModelOptions
from bot.model.protocol import CALL_FORMAT, as_json
from bot.model.providers import (
    BUILT_IN,
    PROVIDERS,
    ModelName,
    default_model,
    default_transcriber,
    nearest_provider,
    use_providers,
)
from bot.model.usage import WIDE_TOKENS, CountTokens, Estimator, picture_token_count, token_count, tool_token_count
from tools.contract.latenames import load_late

if TYPE_CHECKING:
    from bot.model.chain import Chain, Link, Models
    from bot.model.failures import KeyRefused
    from bot.model.providersfile import read_providers
    from bot.model.speaking import Sound, Speaker
    from bot.model.transcribing import Transcriber
else:
    # What takes long, an HTTP library above all.
    __getattr__ = load_late(
        __name__,
        {
            "chain": "Chain Link Models",
            "failures": "KeyRefused",
            "providersfile": "read_providers",
            "speaking": "Sound Speaker",
            "transcribing": "Transcriber",
        },
    )
