"""Which model answers: the scripted one, or one the operator already has and may click on.

A key found in the environment is named on the page, never used before a click, and never sent to the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import aiohttp

SCRIPTED = "scripted"
_PROVIDERS = (
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "gpt-5-mini"),
    ("ark", "ARK_API_KEY", "ARK_BASE_URL", "doubao-seed-1-6"),
    ("deepseek", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "deepseek-chat"),
    ("openrouter", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "openai/gpt-5-mini"),
    ("gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL", "gemini-flash-latest"),
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "claude-haiku-4-5"),
)
_OLLAMA = "http://localhost:11434/v1"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MOST_OLLAMA_MODELS = 4
NO_QUOTAS: Mapping[str, str] = {
    **dict.fromkeys(("MESSAGES_PER_MINUTE", "TOKENS_PER_DAY_PERSON", "TOKENS_PER_DAY"), "0"),
    **dict.fromkeys(("MONEY_PER_DAY_PERSON", "MONEY_PER_DAY"), "0"),
}
"""A model that costs nothing answers as often as it is asked."""
_DOLLARS, _TOKENS = 2, 1_000_000
PAID: Mapping[str, str] = {**NO_QUOTAS, "MONEY_PER_DAY": f"{_DOLLARS}", "TOKENS_PER_DAY": f"{_TOKENS}"}
"""What a model on somebody's key may use in a day, over all windows: they are one person. Tokens count for a model
whose price is unknown."""
_MOST = f"at most ${_DOLLARS} or {_TOKENS:,} tokens a day"
_ALONG = ("HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What a model outside may need to be reached; of no use to the emulators, which speak plain HTTP on loopback."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One model that can answer."""

    id: str
    """`scripted`, or `provider:name`."""
    label: str
    """What the button says."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The settings that make the bot use it; may hold a key."""
    outside: bool = False
    """It is not on this machine."""


def scripted(base_url: str, key: str) -> Choice:
    """The model server of the playground."""
    environment = {
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": key,
        "OPENAI_BASE_URL": base_url,
        "PRICES": "openai:scripted=0/0/0",
    }
    return Choice(SCRIPTED, "the scripted model (no AI, free)", environment)


def with_keys(environ: Mapping[str, str]) -> list[Choice]:
    """The models whose provider's key is set."""
    choices = []
    for provider, key, url, default in _PROVIDERS:
        if not environ.get(key):
            continue
        asked = environ.get("MODEL", "")
        model = asked if asked.startswith(f"{provider}:") else f"{provider}:{default}"
        settings = {"MODEL": model, **{name: environ[name] for name in (key, url, *_ALONG) if environ.get(name)}}
        choices.append(Choice(model, f"{model} using your {key} ({_MOST})", settings, outside=True))
    return choices


async def of_ollama(environ: Mapping[str, str]) -> list[Choice]:
    """The models of an Ollama on this machine; empty without Ollama."""
    url = environ.get("OLLAMA_API_URL") or _OLLAMA
    try:
        parts = urlsplit(url)
        if parts.hostname not in _LOOPBACK:
            return []
        root = f"{parts.scheme}://{parts.netloc}"
        timeout = aiohttp.ClientTimeout(total=2)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(f"{root}/api/tags") as answer:
            listed = await answer.json(content_type=None)
        names = [str(model["name"]) for model in listed["models"]]
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        return []
    return [
        Choice(f"ollama:{name}", f"ollama:{name} on this machine", {"MODEL": f"ollama:{name}", "OLLAMA_API_URL": url})
        for name in names[:_MOST_OLLAMA_MODELS]
    ]
