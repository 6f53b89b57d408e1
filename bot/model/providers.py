"""The table of providers: their addresses, and how their dialects of Chat Completions differ.

A new provider is a new row here, or in the operator's file (`providersfile`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from bot.contract import SettingsError
from tools.contract.forms import checked_address
from tools.contract.nearness import closest


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One row: a place that answers Chat Completions, and its switches."""

    name: str
    key_needed: bool = True
    base_url: str
    """Where it is when the setting says nothing."""
    base_url_setting: str
    """Where an operator writes another address."""
    default_model: str
    transcription_model: str = ""
    """What transcribes speech here when `TRANSCRIBE_MODEL` says nothing; empty: nothing is known to."""
    context_tokens: int = 128_000
    """The window to count on; `CONTEXT_TOKENS` knows better."""
    hint: str = ""
    """What helps when it cannot be reached, as a half sentence."""

    max_tokens_name: str = "max_tokens"
    null_content: bool = False
    """Beside calls without text, `content` is null; else the empty string."""
    reasoning_back: tuple[str, ...] = ()
    """Fields of the assistant message that hold reasoning and return with it when it made calls."""
    calls_need_raw: bool = False
    """It refuses calls in history that are not its own; the request gives those as text."""
    tool_choice: bool = True
    """`tool_choice` may be sent; else a sentence says the same."""
    last_pass_keeps_tools: bool = True
    """`tool_choice="none"` works; else the last pass leaves the tools out and tells the results as text."""
    stop_words: bool = True
    """`stop` may be sent (prompt mode stops a model that invents a result)."""
    patience: float = 1.0
    """How many times the usual wait for the first token, where models think without a sign."""
    responses: re.Pattern[str] | None = None
    """Models that refuse tools beside reasoning effort here and get them by the Responses wire."""

    @property
    def key(self) -> str:
        """The setting that holds its key."""
        return f"{self.name.upper()}_API_KEY"


_ROWS = (
    Provider(
        name="openai",
        base_url="https://api.openai.com/v1",
        base_url_setting="OPENAI_BASE_URL",
        default_model="gpt-5-mini",
        transcription_model="gpt-4o-mini-transcribe",
        max_tokens_name="max_completion_tokens",
        # Reasoning models refuse `stop`, and show nothing at all while they think.
        stop_words=False,
        patience=2.5,
        responses=re.compile(r"gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)"),
    ),
    Provider(
        name="ark",
        base_url="https://ark.cn-beijing.volces.com/api/v3",
        base_url_setting="ARK_BASE_URL",
        default_model="doubao-seed-1-6",
    ),
    Provider(
        name="deepseek",
        base_url="https://api.deepseek.com",
        base_url_setting="DEEPSEEK_BASE_URL",
        default_model="deepseek-chat",
        # After a call, the reasoning of that turn must return in all later ones, else 400.
        reasoning_back=("reasoning_content",),
        calls_need_raw=True,
    ),
    Provider(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        base_url_setting="OPENROUTER_BASE_URL",
        default_model="openai/gpt-5-mini",
        reasoning_back=("reasoning_details",),
        patience=2.0,
    ),
    Provider(
        name="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        base_url_setting="GEMINI_BASE_URL",
        default_model="gemini-flash-latest",
        context_tokens=1_000_000,
        null_content=True,
        # Each call's thought signature must return unchanged; a call without one is a 400.
        calls_need_raw=True,
        patience=2.0,
    ),
    Provider(
        name="anthropic",
        base_url="https://api.anthropic.com/v1/",
        base_url_setting="ANTHROPIC_BASE_URL",
        default_model="claude-haiku-4-5",
        context_tokens=200_000,
        null_content=True,
    ),
    Provider(
        name="ollama",
        key_needed=False,
        base_url="http://localhost:11434/v1",
        base_url_setting="OLLAMA_API_URL",
        default_model="qwen3",
        # Its models take more, and `num_ctx` asks for it, but a window costs memory: CONTEXT_TOKENS says how much.
        context_tokens=8_192,
        hint="is it running (`ollama serve`), and is the model there (`ollama pull`)?",
        tool_choice=False,
        last_pass_keeps_tools=False,
        # A model that is not loaded yet is read from disk first.
        patience=3.0,
    ),
    Provider(
        name="vllm",
        key_needed=False,
        base_url="http://localhost:8000/v1",
        base_url_setting="VLLM_BASE_URL",
        default_model="default",
        context_tokens=32_768,
        hint="is the server running at this address?",
    ),
)

BUILT_IN: Mapping[str, Provider] = {row.name: row for row in _ROWS}
PROVIDERS = dict(BUILT_IN)
"""All that are known now; see `use_providers`."""


def use_providers(rows: Iterable[Provider]) -> None:
    """Know these providers, besides those built in."""
    PROVIDERS.clear()
    PROVIDERS.update(BUILT_IN)
    PROVIDERS.update((row.name, row) for row in rows)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model and whose it is, as settings write it: `provider:name`."""

    provider: Provider
    model: str

    def __str__(self) -> str:
        return f"{self.provider.name}:{self.model}"

    @classmethod
    def parse(cls, text: str, setting: str = "MODEL") -> ModelName:
        """Read `provider:name`; only the first colon divides (`ollama:qwen3:8b`).

        Raises:
            SettingsError: naming `setting` and what it should hold.
        """
        name, colon, model = text.strip().partition(":")
        model = model.strip()
        known = ", ".join(PROVIDERS)
        if not colon or not model:
            meant = _with_provider(text)
            hint = (
                f"; did you mean {meant}?" if meant else f", as openai:gpt-5-mini or ollama:qwen3 (providers: {known})"
            )
            raise SettingsError(f"{setting} is {text!r}, but must be written provider:name{hint}")
        provider = PROVIDERS.get(name.strip().lower())
        if provider is None:
            near = nearest_provider(name)
            hint = f"did you mean {near}:{model}?" if near else f"write one of {known} before the colon"
            raise SettingsError(
                f"{setting} is {text!r}, but {name.strip()!r} is no known provider; {hint} "
                "(another server that speaks Chat Completions: vllm with VLLM_BASE_URL, or a table in PROVIDERS_FILE)"
            )
        return cls(provider, model)


def nearest_provider(name: str) -> str:
    """Return the provider whose name is nearly this one; empty if none is."""
    return next(iter(closest(name.strip().lower(), PROVIDERS, 1)), "")


def _with_provider(text: str) -> str:
    """Return a model's name with the provider it lacks: the one before a slash, or whose own model has such a name."""
    maker, slash, name = text.strip().partition("/")
    if slash and name and maker.lower() in PROVIDERS:
        return f"{maker.lower()}:{name}"
    family = re.split(r"[^a-z]", text.strip().lower(), maxsplit=1)[0]
    rows = PROVIDERS.values()
    owners = [row.name for row in rows if family and re.match(rf"{family}(?![a-z])", row.default_model)]
    return f"{owners[0]}:{text.strip()}" if owners else ""


def default_model(keys: Mapping[str, str]) -> str | None:
    """The model to use when none is named: the first provider whose key is set, with its default model.

    `keys` maps provider names to keys.
    """
    for row in PROVIDERS.values():
        if row.key_needed and row.default_model and keys.get(row.name, "").strip():
            return str(ModelName(row, row.default_model))
    return None


def default_transcriber(names: Iterable[str], keys: Mapping[str, str]) -> str:
    """The model that transcribes speech when none is named: of the first provider that has one, among those of the
    models that answer, then those whose key is set; empty where none has.

    Args:
        names: of the models that answer, in order.
        keys: provider names to keys.
    """
    asked = [PROVIDERS.get(name.partition(":")[0].strip().lower()) for name in names]
    known = [*asked, *(row for row in PROVIDERS.values() if keys.get(row.name, "").strip())]
    return next((str(ModelName(row, row.transcription_model)) for row in known if row and row.transcription_model), "")


def base_url_of(provider: Provider, base_urls: Mapping[str, str]) -> str:
    """The base URL to use, checked; `base_urls` maps provider names to what the settings say.

    Raises:
        SettingsError: the setting holds no http address.
    """
    text = base_urls.get(provider.name, "").strip() or provider.base_url
    try:
        parts = urlsplit(checked_address(text))
    except ValueError as error:
        raise SettingsError(f"{provider.base_url_setting}: {error}") from None
    if parts.username is not None or parts.query:
        raise SettingsError(
            f"{provider.base_url_setting} must hold no user, password or query: what is sent with each request is "
            f"{provider.key}"
        )
    if provider.name == "ollama" and parts.path in ("", "/"):
        # People know Ollama by its root address; the OpenAI dialect lives below /v1.
        parts = parts._replace(path="/v1")
    return urlunsplit(parts).rstrip("/")


def place_of(base_url: str) -> str:
    """A mark for an address that can be stored: its path may hold a key of the gateway that it leads through."""
    return f"{urlsplit(base_url).hostname} {hashlib.sha256(base_url.encode()).hexdigest()[:16]}"


def key_of(provider: Provider, keys: Mapping[str, str], base_urls: Mapping[str, str], setting: str = "MODEL") -> str:
    """The key to send; servers of one's own that need none get a word in its place.

    Raises:
        SettingsError: the provider needs a key and none is set.
    """
    key = keys.get(provider.name, "").strip()
    if key:
        return key
    own = base_urls.get(provider.name, "").strip().rstrip("/")
    if provider.key_needed and own in ("", provider.base_url.rstrip("/")):
        raise SettingsError(f"{setting} names {provider.name!r}, so {provider.key} must hold its API key; it is empty")
    return "none"
