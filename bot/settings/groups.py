"""The core's settings: each an environment variable with its type, default and one sentence.

`adapters/settings.py` and `tools/settings.py` declare theirs the same way; `read` reads any of these classes.
A malformed value is one clear sentence naming the variable, never a traceback.
"""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode

from bot.contract import SettingsError, identity
from bot.settings.environment import texts
from tools.contract.credentials import accounts, in_address
from tools.contract.forms import MIRROR, Address, Key, MirrorAddress, Password, ToolSettings, checked_address, sentences

_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")


def _words(value: object) -> object:
    """Split `a,b,c`."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _each(check: Callable[[str], str]) -> BeforeValidator:
    """Split `a,b,c` and have each part checked."""

    def split(value: object) -> object:
        parts = _words(value)
        return tuple(check(part) for part in parts) if isinstance(parts, tuple) else value

    return BeforeValidator(split)


def _host(text: str) -> str:
    """Return a host, or `*.host` for all hosts under it, in the form that is sent; `*` for every host."""
    wild, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    try:
        sent = name.lower().encode("idna").decode()
    except UnicodeError:
        sent = ""
    if not _HOST.fullmatch(sent) and text != "*":
        raise ValueError(f"{text!r} is not a host: write example.org, or *.example.org for all hosts under it")
    return text if text == "*" else wild + sent


def _tool_rights(value: object) -> object:
    """Split `tool=who,who;tool=who`, each `who` an id or `admins`."""
    if not isinstance(value, str):
        return value
    found: dict[str, tuple[str, ...]] = {}
    for part in filter(None, (part.strip() for part in value.split(";"))):
        name, sign, who = (each.strip() for each in part.partition("="))
        listed = tuple(one.strip() for one in who.split(",") if one.strip())
        if not sign or not name or not listed:
            raise ValueError(f"{part[:80]!r} must be written tool=who,who, as run_python=telegram:123,admins")
        if name in found:
            raise ValueError(f"{name[:60]!r} occurs twice: list everybody after one =")
        admins = identity.ADMINS
        found[name] = tuple(admins if one.lower() == admins else identity.anything(one) for one in listed)
    return tuple(found.items())


def _zone(name: str) -> str:
    from tools.times.zones import checked_name  # needed only for a named zone

    return checked_name(name.strip())


def _public(text: str) -> str:
    """Return a public address as others use it, without a slash at its end."""
    address = checked_address(text).rstrip("/")
    parts = urlsplit(address)
    if parts.username is not None or parts.query or parts.fragment or not _PATH.fullmatch(parts.path):
        raise ValueError("it must be an address without user, password and query, as https://bot.example.org/parley")
    return address


PublicAddress = Annotated[str, AfterValidator(_public)]
"""Our public address: `https://host/path`, without a slash at its end."""
Zone = Annotated[str, AfterValidator(_zone)]
"""A time zone by its IANA name."""
Ids = Annotated[tuple[str, ...], NoDecode, _each(identity.person)]
"""Ids of people, written `telegram:123,slack:T1/U1,discord:456`."""
Chats = Annotated[tuple[str, ...], NoDecode, _each(identity.chat)]
"""Chats, written `telegram:BOT/CHAT,slack:TEAM/CHANNEL`."""
Workspaces = Annotated[tuple[str, ...], NoDecode, _each(identity.workspace)]
"""Workspaces and servers, written `slack:T1,discord:456`."""
Roles = Annotated[tuple[str, ...], NoDecode, _each(identity.role)]
"""Roles, written `discord:456`."""
Hosts = Annotated[tuple[str, ...], NoDecode, _each(_host)]
"""Hosts, written `example.org,*.example.org`."""
ToolRights = Annotated[tuple[tuple[str, tuple[str, ...]], ...], NoDecode, BeforeValidator(_tool_rights)]
"""Reserved tools with their users, written `run_python=telegram:123,discord:role/456;github__*=admins`."""
Untrusted: TypeAlias = Literal["refuse", "ask_tools", "ask"]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
"""A list written `a,b,c`."""


class Settings(ToolSettings):
    """The base of the bot's own settings classes."""


class ModelSettings(Settings):
    """Models

    For one OpenAI model the first lines of this file are enough.
    """

    model: str = Field("", description="The model, as provider:name: openai:gpt-5-mini, ollama:qwen3, …")
    agent: str = Field(
        "",
        description="An agent of your own that answers, as module:object; MODEL writes summaries. See docs/agents.md.",
    )
    fallback_models: Words = Field((), description="Models to try when the first cannot answer, as a,b,c.")
    models: Words = Field(
        (), description="Models that people can choose with /model, besides MODEL; empty: those of FALLBACK_MODELS."
    )
    openai_api_key: Key = Field(SecretStr(""), description="Key for OpenAI, or for the server at OPENAI_BASE_URL.")
    ark_api_key: Key = Field(SecretStr(""), description="Key for Volcengine Ark.")
    deepseek_api_key: Key = Field(SecretStr(""), description="Key for DeepSeek.")
    openrouter_api_key: Key = Field(SecretStr(""), description="Key for OpenRouter.")
    gemini_api_key: Key = Field(SecretStr(""), description="Key for Gemini.")
    anthropic_api_key: Key = Field(SecretStr(""), description="Key for Anthropic.")
    ollama_api_key: Key = Field(SecretStr(""), description="Key for Ollama's cloud; a local Ollama needs none.")
    vllm_api_key: Key = Field(SecretStr(""), description="Key for a vLLM server, if it has one.")
    providers_file: str = Field("", description="A TOML file with other model servers; see docs/models.md.")
    tool_mode: Literal["auto", "native", "prompt"] = Field(
        "auto", description="How tools are offered: native, in the prompt, or auto: native until the server refuses."
    )
    tool_choice_model: str = Field("", description="A small model that chooses among all tools; empty: none.")
    summary_model: str = Field("", description="A small model that writes summaries; empty: the one that answers.")
    transcribe_model: str = Field(
        "",
        description="Transcribes speech: provider:name, or local:/path/of/a/model on this machine; off: nothing. "
        "Empty: the model's provider, or OpenAI if its key is set.",
    )
    speech_model: str = Field("", description="Speaks answers, as openai:gpt-4o-mini-tts; empty: nothing.")
    speech_voice: str = Field("alloy", description="The voice of SPEECH_MODEL.")


class AddressSettings(Settings):
    """Addresses of model servers

    For a server of your own, or one that is compatible with OpenAI.
    """

    openai_base_url: Address = Field("https://api.openai.com/v1", description="OpenAI, or a compatible server.")
    ark_base_url: MirrorAddress = Field("https://ark.cn-beijing.volces.com/api/v3", description="Volcengine Ark.")
    deepseek_base_url: MirrorAddress = Field("https://api.deepseek.com", description="DeepSeek.")
    openrouter_base_url: MirrorAddress = Field("https://openrouter.ai/api/v1", description="OpenRouter.")
    gemini_base_url: MirrorAddress = Field(
        "https://generativelanguage.googleapis.com/v1beta/openai/", description="Gemini's compatible endpoint."
    )
    anthropic_base_url: MirrorAddress = Field(
        "https://api.anthropic.com/v1/", description="Anthropic's compatible endpoint."
    )
    ollama_api_url: Address = Field("http://localhost:11434/v1", description="Ollama.")
    vllm_base_url: Address = Field("http://localhost:8000/v1", description="A vLLM server.")


class AnswerSettings(Settings):
    """Answers

    To change what the assistant says, shows and remembers.
    """

    bot_name: str = Field("Parley", description="What the assistant calls itself.")
    instructions: str = Field("", description="What the assistant should always know or do, in your words.")
    time_zone: Zone = Field("UTC", description="The time zone it assumes, as Europe/Paris.")
    channels_file: str = Field(
        "",
        description="A YAML file with instructions, model, tools and permissions of single chats, workspaces and "
        "platforms, as channels.yaml.",
    )
    show_tools: Literal["off", "line", "full"] = Field(
        "off",
        description="Show the tool calls under an answer: off, a line for each, or with the beginnings of their "
        "results (full).",
    )
    show_reasoning: Literal["off", "why", "quote"] = Field(
        "why",
        description="Who can read the model's reasoning: nobody (off), the asker with /why (why), or also everybody, "
        "in a collapsed quote under the answer (quote; Telegram and Discord).",
    )
    reply_buttons: bool = Field(True, description="Put buttons under answers and lists of reminders.")
    fresh_message_seconds: float = Field(
        60.0,
        ge=0.0,
        description="If an answer's newest message is older than this at its end, it ends in a new message that "
        "marks the channel as unread; 0: never.",
    )
    unknown_links: Literal["code", "text", "live"] = Field(
        "code",
        description="How to show an address that only the model knows: as code, as text, or as a link with its host "
        "beside it (live; never if it is long or contains encoded data).",
    )
    pre_search: bool = Field(False, description="Search before asking the model if a question plainly needs it.")
    context_tokens: int = Field(
        0, ge=0, description="Tokens of conversation sent to the model; 0: as the model allows."
    )
    summary_at: float = Field(
        16_000,
        ge=0,
        description="Summarise older turns of a chat above this many tokens; up to 1: a share of the window; 0: never.",
    )


class TurnSettings(Settings):
    """Limits of a question

    For slow or expensive models and tools; the defaults suit most.
    """

    max_tool_rounds: int = Field(5, ge=2, le=50, description="Model calls a question; 2 is the classic two-pass loop.")
    turn_seconds: float = Field(
        300.0, gt=0, description="How long a question may take, without waits for the database or the platform."
    )
    condense_results: bool = Field(
        False, description="Have SUMMARY_MODEL, or the model itself, condense longer results instead of cutting them."
    )


class StorageSettings(Settings):
    """Storage

    To keep the database elsewhere, or to delete old conversations.
    """

    database_url: str = Field("sqlite:///data/parley.db", description="A SQLite file, or postgresql://…")
    keep_days: int = Field(0, ge=0, description="Delete conversations after so many days; 0: keep them until /forget.")
    keep_files_days: int = Field(
        30, ge=0, description="Delete files after so many days, or with their conversation; 0: only with it."
    )


class ToolRuleSettings(Settings):
    """Which tools, and which ask first

    If others use the bot, or if you add MCP servers.
    """

    tools_off: Words = Field((), description="Tools that nobody can use, as run_python,github__*.")
    tools_for: ToolRights = Field(
        (),
        description="Tools reserved for people, roles, workspaces or chats, as "
        "run_python=telegram:123,discord:role/456;generate_image=admins.",
    )
    confirm_tools: Words = Field(
        (),
        description="Tools that ask before they run, as generate_image,github__*, besides MCP tools that change "
        "things; a leading - exempts a tool, as -memory__*.",
    )
    confirm_by: Literal["asker", "admins"] = Field(
        "asker", description="Who decides: the person who asked and admins, or only admins."
    )
    trusted_tools: Words = Field(
        (),
        description="MCP tools that run while a conversation contains text from outside, as calendar__list,github__*.",
    )
    trusted_hosts: Hosts = Field(
        (), description="Hosts whose every address read_page opens then, as example.org,*.example.org."
    )
    untrusted_calls: Untrusted = Field(
        "ask_tools",
        description="What happens to other calls then: refuse them, ask about MCP tools (ask_tools), or also about "
        "addresses (ask).",
    )


class AccessSettings(Settings):
    """Who may write

    If others use the bot. Until then only its owner can, by /pair.
    """

    allow_all: bool = Field(False, description="Answer everybody. This costs you money if strangers find the bot.")
    allowed_users: Ids = Field((), description="People who may write, as telegram:123,slack:T1/U1,discord:456.")
    people_in_groups: bool = Field(
        True, description="ALLOWED_USERS may also write in groups that are not listed; false: only in listed ones."
    )
    allowed_chats: Chats = Field(
        (), description="Chats in which everybody may write, as telegram:BOT/CHAT,slack:TEAM/CHANNEL; see /whoami."
    )
    allowed_workspaces: Workspaces = Field(
        (), description="Slack workspaces and Discord servers whose members may write, as slack:T1,discord:SERVER."
    )
    allowed_roles: Roles = Field((), description="Discord roles whose members may write, as discord:ROLE.")
    admins: Ids = Field(
        (), description="People who can also stop others' answers, change a chat's model and let people write."
    )


class QuotaSettings(Settings):
    """What people may use

    The defaults limit everybody's day to 20 dollars. 0 always means no limit; a day is a day in UTC.
    """

    messages_per_minute: int = Field(
        20, ge=0, description="Questions that one person may ask in a minute, and as many commands."
    )
    tokens_per_day_person: int = Field(200_000, ge=0, description="Tokens that one person may use in a day.")
    tokens_per_day: int = Field(2_000_000, ge=0, description="Tokens that everybody together may use in a day.")
    money_per_day_person: float = Field(
        2.0, ge=0, description="Dollars that one person may use in a day, tools included."
    )
    money_per_day_workspace: float = Field(0.0, ge=0, description="Dollars that one Slack workspace may use in a day.")
    money_per_day: float = Field(20.0, ge=0, description="Dollars that everybody together may use in a day.")
    prices: Words = Field(
        (),
        description="Dollars per million tokens, as openai:gpt-5-mini=0.25/0.025/2.00 (in/cached/out); for speech as "
        "openai:whisper-1=0.006/minute or openai:tts-1=15/characters (a million of them).",
    )


class ServerSettings(Settings):
    """Servers and logs

    To monitor the bot, or to have platforms post to it.
    """

    http_port: int | None = Field(None, ge=0, le=65535, description="Port for health and metrics; empty: none.")
    http_host: str = Field("127.0.0.1", description="The address of that port.")
    http_names: Hosts = Field(
        (),
        description="Public names by which it is reached, as bot.example.org; addresses and local names always work.",
    )
    admin_token: Password = Field(
        SecretStr(""),
        description="Opens /admin on HTTP_PORT, the page about chats, costs and slow answers; empty: no such page.",
    )
    web_port: int = Field(8081, ge=0, le=65535, description="Port for platforms that post, behind a server with TLS.")
    web_host: str = Field("127.0.0.1", description="The address of that port.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much is logged.")
    log_format: Literal["console", "json"] = Field("console", description="For people, or for machines.")


class CoreSettings(
    ServerSettings,
    QuotaSettings,
    AccessSettings,
    ToolRuleSettings,
    StorageSettings,
    TurnSettings,
    AnswerSettings,
    AddressSettings,
    ModelSettings,
):
    """The settings of the core."""


S = TypeVar("S", bound=BaseSettings)


def read(kind: type[S], file: Path | None = None) -> S:
    """Read one settings class from the environment and `file`.

    Raises:
        SettingsError: values are malformed; a sentence for each names the variable and what it should hold.
    """
    try:
        return kind(_env_file=file)
    except ValidationError as error:
        raise SettingsError(*sentences(kind, error, texts(file))) from None


def refuse_account(setting: str, address: str) -> None:
    """Raise SettingsError if an address contains something that would replace the token, or break the request."""
    try:
        parts = urlsplit(address)
        wrong = parts.username is not None or bool(parts.query)
    except ValueError:
        wrong = True
    if wrong:
        raise SettingsError(f"{setting} must be an address without user, password and query: the token is sent")


def variables(kinds: Iterable[type[BaseSettings]]) -> dict[str, tuple[str, str]]:
    """Return every variable of these classes: name → (default as written in `.env`, description)."""
    table: dict[str, tuple[str, str]] = {}
    for kind in kinds:
        for name, field in kind.model_fields.items():
            table[name.upper()] = (_written(field.default), field.description or "")
    return table


def mirrors(kinds: Iterable[type[BaseSettings]]) -> dict[str, str]:
    """Return the addresses of these classes that only a mirror or a test changes: name → default."""
    return {
        name.upper(): field.default
        for kind in kinds
        for name, field in kind.model_fields.items()
        if MIRROR in field.metadata
    }


def secrets_of(kinds: Iterable[type[BaseSettings]], file: Path | None = None) -> dict[str, str]:
    """Return the secrets that must never leave the program, from secret settings, and passwords and keys in addresses →
    their setting.

    It runs before any check, so that no sentence about a malformed setting shows a secret.
    """
    written = texts(file)
    found: dict[str, str] = {}
    for kind in kinds:
        for name, field in kind.model_fields.items():
            if text := written.get(name.upper(), "").strip():
                if field.annotation is SecretStr:
                    found.setdefault(text, name.upper())
                for secret in in_address(text):
                    found.setdefault(secret, name.upper())
    for proxy in urllib.request.getproxies().values():
        for secret in accounts(proxy if "://" in proxy else f"http://{proxy}"):
            found.setdefault(secret, "the proxy's address")
    return {secret: where for secret, where in found.items() if secret}


def _written(value: Any) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
