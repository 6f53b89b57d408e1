"""`parley doctor`: looks at every token, the model and the tools, and says what to mend."""

from __future__ import annotations

import importlib

from bot import app
from bot.clock import SystemClock
from bot.errors import BotError, SettingsError
from bot.model.base import Answer, Request
from bot.safety import SHORTEST_SECRET
from bot.transcript import UserEntry


def _say(ok: bool, what: str, text: str) -> bool:
    print(f"{'ok ' if ok else 'BAD'}  {what}: {text}")  # noqa: T201
    return ok


async def examine() -> int:
    """Look at everything; 0 when all is well, else 1."""
    configuration = app.configure()
    well = _say(True, "settings", f"read from {'.env and ' if configuration.file else ''}the environment")
    table = importlib.import_module("adapters").PLATFORMS
    if not configuration.configured:
        _say(True, "platforms", "none is configured; `parley playground` needs none")
    for name in configuration.configured:
        try:
            configuration.platforms[name].require()
            for finding in await importlib.import_module(table[name][0]).check(configuration.platforms[name]):
                well &= _say(finding.ok, name, finding.text)
        except BotError as error:
            well &= _say(False, name, str(error))
    well &= await _examine_model(configuration)
    registry = importlib.import_module("tools").open_registry(configuration.tools)
    try:
        await registry.settle(15.0)
        for spec in registry.specs():
            _say(True, spec.name, spec.purpose)
        for name, reason in registry.unavailable.items():
            _say(True, name, f"not offered: {reason}")
    finally:
        await registry.close()
    if any(len(secret) < SHORTEST_SECRET for secret in configuration.secrets):
        well &= _say(
            False, "secrets", f"one is shorter than {SHORTEST_SECRET} characters and is never masked in replies"
        )
    return 0 if well else 1


async def _examine_model(configuration: app.Configuration) -> bool:
    from bot.model import open_models

    try:
        async with open_models(app.model_options(configuration.core), SystemClock()) as models:
            clock = SystemClock()
            request = Request(
                entries=(UserEntry("Say the word ready."),), deadline=clock.monotonic() + 30.0, max_output_chars=200
            )
            async for piece in models.stream(request):
                if isinstance(piece, Answer):
                    return _say(True, "model", f"{piece.model} answers")
            return _say(False, "model", f"{models.name} gave no answer")
    except SettingsError as error:
        return _say(False, "model", str(error))
    except BotError as error:
        return _say(False, "model", f"{type(error).__name__}: {error}")
