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
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.contract import SettingsError, identity
from bot.environment import ENCODING, texts
from tools.credentials import accounts, in_address
from tools.forms import Address, Key, checked_address, sentences

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
    """A host, or `*.host` for all under it, as it is sent; `*` for every one."""
    wild, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    try:
        sent = name.lower().encode("idna").decode()
    except UnicodeError:
        sent = ""
    if not _HOST.fullmatch(sent) and text != "*":
        raise ValueError(f"{text!r} is no host: write example.org, or *.example.org for all under it")
    return text if text == "*" else wild + sent


def _limits(value: object) -> object:
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
            raise ValueError(f"{name[:60]!r} stands in it twice: name everybody behind one =")
        admins = identity.ADMINS
        found[name] = tuple(admins if one.lower() == admins else identity.anything(one) for one in listed)
    return tuple(found.items())


def _zone(name: str) -> str:
    from tools.zones import checked_name  # only who names one needs it

    return checked_name(name.strip())


def _public(text: str) -> str:
    """A public address as others are told it, without a slash at its end."""
    address = checked_address(text).rstrip("/")
    parts = urlsplit(address)
    if parts.username is not None or parts.query or parts.fragment or not _PATH.fullmatch(parts.path):
        raise ValueError("it must be an address without user, password and query, as https://bot.example.org/parley")
    return address


PublicAddress = Annotated[str, AfterValidator(_public)]
"""Where others reach us: `https://host/path`, without a slash at its end."""
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
Limits = Annotated[tuple[tuple[str, tuple[str, ...]], ...], NoDecode, BeforeValidator(_limits)]
"""Tools with whom they are left to, written `run_python=telegram:123,discord:role/456;github__*=admins`."""
Untrusted: TypeAlias = Literal["refuse", "ask_tools", "ask"]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
"""A list written `a,b,c`."""


class Settings(BaseSettings):
    """The base of every settings class: names are the variables' names, an empty value means the default."""

    model_config = SettingsConfigDict(
        extra="ignore",
        env_ignore_empty=True,
        case_sensitive=False,
        frozen=True,
        env_file_encoding=ENCODING,
        allow_inf_nan=False,
    )


class CoreSettings(Settings):
    """What the core needs to know."""

    model: str = Field("", description="Which model answers, as provider:name (openai:gpt-5-mini, ollama:qwen3).")
    fallback_models: Words = Field((), description="Models to try when the first cannot answer, as a,b,c.")
    models: Words = Field(
        (), description="Models that /model may choose besides MODEL, as a,b,c; empty: those of FALLBACK_MODELS."
    )
    openai_api_key: Key = Field(SecretStr(""), description="Key for OpenAI, or for any server at OPENAI_BASE_URL.")
    openai_base_url: Address = Field(
        "https://api.openai.com/v1", description="Where OpenAI, or a compatible server, is."
    )
    ark_api_key: Key = Field(SecretStr(""), description="Key for Volcengine Ark.")
    ark_base_url: Address = Field("https://ark.cn-beijing.volces.com/api/v3", description="Where Volcengine Ark is.")
    deepseek_api_key: Key = Field(SecretStr(""), description="Key for DeepSeek.")
    deepseek_base_url: Address = Field("https://api.deepseek.com", description="Where DeepSeek is.")
    openrouter_api_key: Key = Field(SecretStr(""), description="Key for OpenRouter.")
    openrouter_base_url: Address = Field("https://openrouter.ai/api/v1", description="Where OpenRouter is.")
    gemini_api_key: Key = Field(SecretStr(""), description="Key for Gemini.")
    gemini_base_url: Address = Field(
        "https://generativelanguage.googleapis.com/v1beta/openai/", description="Where Gemini's compatible endpoint is."
    )
    anthropic_api_key: Key = Field(SecretStr(""), description="Key for Anthropic.")
    anthropic_base_url: Address = Field("https://api.anthropic.com/v1/", description="Where Anthropic's endpoint is.")
    ollama_api_key: Key = Field(SecretStr(""), description="Key for Ollama's cloud; a local Ollama needs none.")
    ollama_api_url: Address = Field("http://localhost:11434/v1", description="Where Ollama is.")
    vllm_api_key: Key = Field(SecretStr(""), description="Key for a vLLM server, if it has one.")
    vllm_base_url: Address = Field("http://localhost:8000/v1", description="Where a vLLM server is.")
    tool_mode: Literal["auto", "native", "prompt"] = Field(
        "auto", description="How tools are offered: natively, in the prompt, or natively until the server refuses."
    )
    tool_choice_model: str = Field(
        "", description="A small model that chooses among all tools for a question, as provider:name; empty: none."
    )
    transcribe_model: str = Field(
        "",
        description="What transcribes voice messages, as provider:name, or as local:/path/of/a/model on this machine; "
        "empty: what the model's provider has, else one whose key is set (OpenAI); off: nothing.",
    )
    speech_model: str = Field(
        "",
        description="What speaks answers where a chat wants to hear them, as provider:name (openai:gpt-4o-mini-tts); "
        "empty: nothing.",
    )
    speech_voice: str = Field("alloy", description="The voice that SPEECH_MODEL speaks with.")
    pre_search: bool = Field(False, description="Search before the model is asked where a question plainly needs it.")
    max_tool_rounds: int = Field(5, ge=2, le=50, description="Model calls a turn; 2 is the classical two-pass loop.")
    max_calls_per_pass: int = Field(16, ge=1, le=64, description="Tool calls that one pass may ask for.")
    first_token_seconds: float = Field(60.0, gt=0, description="How long the model may take to begin.")
    idle_seconds: float = Field(30.0, gt=0, description="How long the model may pause while it writes.")
    turn_seconds: float = Field(
        300.0,
        gt=0,
        description="How long a whole turn may take, not counting waits for the database or the platform.",
    )
    tool_seconds: float = Field(30.0, gt=0, description="How long a tool may take that states no time of its own.")
    tool_result_chars: int = Field(8000, ge=500, description="Characters of a tool's result the model is given.")
    condense_results: bool = Field(
        False,
        description="Have a model (SUMMARY_MODEL, when set) condense results that are longer, instead of cutting them.",
    )
    max_output_chars: int = Field(40_000, ge=500, description="Characters of an answer; the rest is not read.")
    max_message_chars: int = Field(100_000, ge=100, description="Characters of a message that are accepted.")
    context_tokens: int = Field(
        0, ge=0, description="Tokens of conversation sent to the model; 0: as the model allows."
    )
    summary_at: float = Field(
        16_000,
        ge=0,
        description="Tokens of a chat from which older turns are summarised; up to 1: a share of the window; 0: never.",
    )
    summary_model: str = Field(
        "", description="A small model that writes summaries, as provider:name; empty: the one that answers."
    )
    database_url: str = Field(
        "sqlite:///data/parley.db", description="Where conversations are kept: a SQLite file, or postgresql://…"
    )
    keep_days: int = Field(
        0, ge=0, description="Days after which what was said and answered is deleted; 0: it is kept until /forget."
    )
    keep_files_days: int = Field(
        30, ge=0, description="Days after which files are deleted, never later than their chat's words; 0: with those."
    )
    bot_name: str = Field("Parley", description="What the assistant calls itself.")
    instructions: str = Field("", description="Anything the assistant should always know or do, in your words.")
    trusted_hosts: Hosts = Field(
        (),
        description="Hosts of which read_page opens every address, also while a conversation holds text from outside, "
        "as example.org,*.example.org.",
    )
    trusted_tools: Words = Field(
        (),
        description="Tools of MCP servers that are not withheld while a conversation holds text from outside, as "
        "calendar__list,github__*.",
    )
    untrusted_calls: Untrusted = Field(
        "ask_tools",
        description="What becomes of calls that could carry something out while a conversation holds text from "
        "outside: refuse them, ask the person about tools of MCP servers (ask_tools), or also about addresses (ask).",
    )
    confirm_tools: Words = Field(
        (),
        description="Tools that ask before they run, as generate_image,github__*, beside those of MCP servers that "
        "change things; a tool behind a - never does, as -memory__*.",
    )
    confirm_by: Literal["asker", "admins"] = Field(
        "asker",
        description="Who decides about a tool that asks: the person whose question it is and admins, or admins.",
    )
    confirm_seconds: float = Field(
        3600.0, gt=0, le=604_800, description="Seconds that a tool which asks waits for the decision."
    )
    show_tools: Literal["off", "line", "full"] = Field(
        "off",
        description="What stands under an answer of the tools it used: nothing, a line for each call, or also "
        "the head of its result (full).",
    )
    reply_buttons: bool = Field(
        True,
        description="Put buttons under answers (Stop, then Regenerate, Continue, good and bad) and lists of reminders.",
    )
    fresh_message_seconds: float = Field(
        60.0,
        ge=0.0,
        description="An answer whose newest message was posted longer ago than so many seconds ends in a new message, "
        "so that the channel becomes unread; the one before it is taken away. 0: it is edited to its end.",
    )
    show_reasoning: Literal["off", "why", "quote"] = Field(
        "why",
        description="Who may read what the model thought: nobody, who asks with /why, or also everybody in a collapsed "
        "quote under the answer, on Telegram and Discord.",
    )
    unknown_links: Literal["code", "text", "live"] = Field(
        "code",
        description="How an address is shown that the model knows by itself: as code, as text, or as a link with its "
        "host beside it (live; never one that is long or holds encoded data).",
    )
    tools_off: Words = Field((), description="Tools that nobody may use, as run_python,github__*.")
    tools_for: Limits = Field(
        (),
        description="Tools that only these people, roles, workspaces and chats may use, as "
        "run_python=telegram:123,discord:role/456;generate_image=admins.",
    )
    channels_file: str = Field(
        "",
        description="A YAML file with instructions, model, tools and who may write, for single chats, workspaces and "
        "platforms, as channels.yaml; empty: none.",
    )
    time_zone: Zone = Field("UTC", description="The time zone the assistant assumes, as Europe/Paris.")
    allow_all: bool = Field(False, description="Answer everybody. Costs you money if strangers find the bot.")
    allowed_users: Ids = Field((), description="People who may write, as telegram:123,slack:T1/U1,discord:456.")
    people_in_groups: bool = Field(
        True, description="People of ALLOWED_USERS may write in groups that no list names; false: only in listed ones."
    )
    allowed_chats: Chats = Field(
        (), description="Chats whose members may all write there, as telegram:BOT/CHAT,slack:TEAM/CHANNEL; see /whoami."
    )
    allowed_workspaces: Workspaces = Field(
        (), description="Slack workspaces and Discord servers whose members may all write, as slack:T1,discord:SERVER."
    )
    allowed_roles: Roles = Field((), description="Discord roles whose members may write, as discord:ROLE.")
    admins: Ids = Field(
        (), description="People who may also stop others' turns, change a chat's model and say who may write."
    )
    messages_per_minute: int = Field(
        20, ge=0, description="Questions a minute of one person, and as many commands; 0: no limit."
    )
    messages_waiting: int = Field(2, ge=0, description="Messages of one person that may wait in one chat; 0: no limit.")
    turns_per_person: int = Field(5, ge=0, description="Answers to one person under way in all chats; 0: no limit.")
    reminders_per_person: int = Field(
        50, ge=0, description="Reminders of one person that may wait in one chat; 0: no limit."
    )
    reminders_per_chat: int = Field(
        200, ge=0, description="Reminders of everybody that may wait in one chat; 0: no limit."
    )
    scheduled_questions_per_day: int = Field(
        20, ge=0, description="Questions a day (UTC) that one person's reminders may ask the model; 0: no limit."
    )
    tokens_per_day_person: int = Field(200_000, ge=0, description="Tokens a day (UTC) of one person; 0: no limit.")
    tokens_per_day_chat: int = Field(0, ge=0, description="Tokens a day of one chat; 0: no limit.")
    tokens_per_day_workspace: int = Field(
        0, ge=0, description="Tokens a day of everybody in one Slack workspace; 0: no limit."
    )
    tokens_per_day: int = Field(2_000_000, ge=0, description="Tokens a day of everybody together; 0: no limit.")
    money_per_day_person: float = Field(
        2.0, ge=0, description="Dollars a day of one person, for models and for tools that are paid; 0: no limit."
    )
    money_per_day_workspace: float = Field(
        0.0, ge=0, description="Dollars a day of everybody in one Slack workspace; 0: no limit."
    )
    money_per_day: float = Field(20.0, ge=0, description="Dollars a day of everybody together; 0: no limit.")
    admin_share: float = Field(
        0.2,
        ge=0,
        le=0.9,
        description="Part of TOKENS_PER_DAY and MONEY_PER_DAY that only owners and admins can spend; 0: none.",
    )
    prices: Words = Field(
        (),
        description="Prices in dollars per million tokens, as openai:gpt-5-mini=0.25/0.025/2.00 (in/cached/out), or "
        "for speech as openai:whisper-1=0.006/minute or openai:tts-1=15/characters (a million of them).",
    )
    http_host: str = Field("127.0.0.1", description="Where the HTTP server listens (health and metrics).")
    http_port: int | None = Field(None, ge=0, le=65535, description="Its port; unset: no server.")
    http_names: Hosts = Field(
        (), description="Public names by which it is asked, as bot.example.org; addresses and local names always work."
    )
    web_host: str = Field("127.0.0.1", description="Where what platforms post is listened for, if one of them does.")
    web_port: int = Field(8081, ge=0, le=65535, description="The port there; a proxy with TLS hands posts on to it.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much is logged.")
    log_format: Literal["console", "json"] = Field("console", description="For people, or for machines.")


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
    """Raises SettingsError when an address holds what would be sent in the token's place, or in the way of it."""
    try:
        parts = urlsplit(address)
        wrong = parts.username is not None or bool(parts.query)
    except ValueError:
        wrong = True
    if wrong:
        raise SettingsError(f"{setting} must be an address without user, password and query: the token is sent")


def variables(kinds: Iterable[type[BaseSettings]]) -> dict[str, tuple[str, str]]:
    """Every variable of these classes: name → (default as written in `.env`, description)."""
    table: dict[str, tuple[str, str]] = {}
    for kind in kinds:
        for name, field in kind.model_fields.items():
            table[name.upper()] = (_written(field.default), field.description or "")
    return table


def secrets_of(kinds: Iterable[type[BaseSettings]], file: Path | None = None) -> dict[str, str]:
    """What must never leave the program: the values of secret settings, passwords and keys in addresses → where it is.

    Read before anything is checked, so that no sentence about a malformed setting shows one.
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
