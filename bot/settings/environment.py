"""Where settings are written: the file `.env` and the environment; and names there that only look like settings."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.contract import LIMITS, SettingsError
from tools.contract.credentials import is_random
from tools.contract.nearness import explain_path_error, suggest

ENCODING: Final = "utf-8-sig"
"""UTF-8, also with the byte-order mark that editors on Windows write."""
OURS: Final = frozenset({"PARLEY_ENV_FILE"})
"""Variables that no settings class declares."""
# Our names, then those of other programs and bots.
_OTHER_NAMES: Final = """
MODEL: OPENAI_MODEL OPENAI_MODEL_NAME OPENAI_MODEL_ID OPENAI_CHAT_MODEL CHATGPT_MODEL GPT_MODEL GPT_ENGINE LLM_MODEL \
MODEL_NAME MODEL_ID CHAT_MODEL MAIN_MODEL DEFAULT_MODEL ANTHROPIC_MODEL GEMINI_MODEL OLLAMA_MODEL DEEPSEEK_MODEL LLM
OPENAI_API_KEY: OPENAI_TOKEN OPENAI_ACCESS_TOKEN OPENAI_SECRET_KEY CHATGPT_API_KEY LLM_API_KEY
OPENAI_BASE_URL: OPENAI_API_BASE OPENAI_API_BASE_URL OPENAI_API_URL OPENAI_ENDPOINT LLM_BASE_URL
ANTHROPIC_API_KEY: CLAUDE_API_KEY
GEMINI_API_KEY: GOOGLE_API_KEY GOOGLE_GEMINI_API_KEY GOOGLE_GENERATIVE_AI_API_KEY
ARK_API_KEY: DOUBAO_API_KEY VOLCENGINE_API_KEY VOLC_API_KEY
OLLAMA_API_URL: OLLAMA_HOST OLLAMA_BASE_URL OLLAMA_API_BASE
INSTRUCTIONS: SYSTEM_PROMPT SYSTEM_MESSAGE SYSTEM_TEXT SYSTEM_INSTRUCTION SYSTEM_INIT_MESSAGE SYSTEM_CONTEXT \
ASSISTANT_PROMPT OPENAI_SYSTEM_TEXT OPENAI_SYSTEM_PROMPT BOT_PROMPT BASE_PROMPT DEFAULT_PROMPT CUSTOM_INSTRUCTIONS
BOT_NAME: ASSISTANT_NAME
TELEGRAM_BOT_TOKEN: TELEGRAM_API_TOKEN TELEGRAM_API_KEY TELEGRAM_BOT_API_KEY TG_BOT_TOKEN TG_TOKEN BOTFATHER_TOKEN
SLACK_BOT_TOKEN: SLACK_API_TOKEN SLACK_OAUTH_TOKEN SLACK_BOT_USER_OAUTH_TOKEN
DISCORD_BOT_TOKEN: DISCORD_API_TOKEN DISCORD_API_KEY
TELEGRAM_BOT_TOKEN, SLACK_BOT_TOKEN or DISCORD_BOT_TOKEN: BOT_TOKEN
TELEGRAM_WEBHOOK_URL: WEBHOOK_URL WEBHOOK_HOST
ALLOWED_USERS: ALLOW_USERS ALLOW_USER_IDS ALLOWED_USER_IDS ALLOWED_USERNAMES ALLOWED_IDS ALLOWED_TELEGRAM_USER_IDS \
ALLOWED_TELEGRAM_USERS TELEGRAM_ALLOWED_USERS TELEGRAM_ALLOWED_USER_IDS TELEGRAM_ID_WHITELIST TELEGRAM_USER_ID \
AUTHORIZED_USERS AUTHORIZED_TELEGRAM_USERS DISCORD_ALLOWED_USERS SLACK_ALLOWED_USERS USER_WHITELIST WHITELIST
ALLOWED_CHATS: ALLOW_CHATS ALLOWED_CHAT_IDS ALLOWED_CHANNELS ALLOWED_CHANNEL_IDS ALLOW_CHANNEL_IDS CHAT_WHITE_LIST \
CHAT_GROUP_WHITE_LIST TELEGRAM_CHAT_ID DISCORD_CHANNEL_ID SLACK_CHANNEL_ID
ALLOWED_WORKSPACES: ALLOWED_GUILDS ALLOWED_GUILD_IDS DISCORD_GUILD_ID ALLOWED_SERVERS
ALLOWED_ROLES: ALLOWED_ROLE_IDS
ADMINS: ADMIN_ID ADMIN_IDS ADMIN_USER ADMIN_USERS ADMIN_USER_ID ADMIN_USER_IDS BOT_ADMINS BOT_OWNER OWNER_ID OWNER_IDS
DATABASE_URL: DATABASE_PATH DATABASE_FILE DB_URL DB_PATH DB_FILE SQLITE_PATH SQLALCHEMY_DATABASE_URL
TIME_ZONE: TZ TIMEZONE BOT_TIMEZONE
HTTP_PORT (health) or WEB_PORT (what platforms post): PORT SERVER_PORT
HTTP_HOST: HOST BIND SERVER_HOST
LOG_LEVEL: LOGLEVEL LOGGING_LEVEL DEBUG
CONTEXT_TOKENS: MAX_CONTEXT_TOKENS CONTEXT_LENGTH CONTEXT_WINDOW MAX_HISTORY_TOKENS OLLAMA_CONTEXT_LENGTH
MONEY_PER_DAY_PERSON: USER_BUDGETS DAILY_BUDGET
TAVILY_API_KEY: SEARCH_API_KEY
IMAGE_MODEL: OPENAI_IMAGE_MODEL OPENAI_IMAGE_GENERATION_MODEL IMAGE_GENERATION_MODEL DALLE_MODEL
TRANSCRIBE_MODEL: WHISPER_MODEL TRANSCRIPTION_MODEL STT_MODEL
SPEECH_MODEL: TTS_MODEL OPENAI_TTS_MODEL
SPEECH_VOICE: TTS_VOICE OPENAI_TTS_VOICE
MCP_CONFIG: MCP_CONFIG_PATH MCP_CONFIG_FILE MCP_SERVERS
HTTPS_PROXY in the environment: PROXY PROXY_URL OPENAI_PROXY TELEGRAM_PROXY TELEGRAM_PROXY_URL DISCORD_PROXY SLACK_PROXY
SSL_CERT_FILE in the environment: REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS CA_BUNDLE
"""

OTHERS: Final[Mapping[str, str]] = {
    name: ours
    for ours, _, names in (line.partition(": ") for line in _OTHER_NAMES.strip().splitlines())
    for name in names.split()
}
"""Other programs' names → ours: one name, or several with what distinguishes them."""
# Settings of earlier versions, each with its replacement.
_GONE: Final = f"""
MAX_CALLS_PER_PASS: one model call can make {LIMITS.calls_per_pass} tool calls
TOOL_RESULT_CHARS: the model sees {LIMITS.result_chars} characters of a tool's result
MAX_OUTPUT_CHARS: an answer has at most {LIMITS.answer_chars} characters
MAX_MESSAGE_CHARS: a question has at most {LIMITS.question_chars} characters
FIRST_TOKEN_SECONDS: a model has {LIMITS.first_token_seconds:g} seconds to begin, and longer where models think silently
IDLE_SECONDS: a model can pause for {LIMITS.idle_seconds:g} seconds while it writes
TOOL_SECONDS: a tool has {LIMITS.tool_seconds:g} seconds or its own limit, which "timeout" sets for an MCP server
CONFIRM_SECONDS: a tool waits {LIMITS.approval_seconds / 60:g} minutes for the decision
MESSAGES_WAITING: {LIMITS.waiting_per_person} questions of one person can wait in one chat
TURNS_PER_PERSON: one person can have {LIMITS.turns_per_person} answers at the same time
REMINDERS_PER_PERSON: one person can have {LIMITS.reminders_per_person} reminders in one chat
REMINDERS_PER_CHAT: everybody together can have {LIMITS.reminders_per_chat} reminders in one chat
SCHEDULED_QUESTIONS_PER_DAY: one person's reminders can ask {LIMITS.scheduled_per_day} questions a day
SEARCH_DEPTH: a search is quick unless the model chooses
SEARCH_AGAIN_BELOW: a quick search of little relevance is made again as a deep one
TAVILY_CREDIT_PRICE: a credit counts as 0.008 dollars
E2B_HOUR_PRICE: an hour of a remote sandbox counts as 0.12 dollars
DATABASE_SECONDS: a query has 10 seconds
CODE_RICH: CODE_BACKEND=jupyter runs code in a Jupyter kernel
OPENALEX_EMAIL: CONTACT is sent to OpenAlex and Wikipedia
WIKIPEDIA_CONTACT: CONTACT is sent to OpenAlex and Wikipedia
TELEGRAM_WEBHOOK_SECRET: the secret is derived from the token
TOKENS_PER_DAY_CHAT: TOKENS_PER_DAY_PERSON and TOKENS_PER_DAY limit what is used there
TOKENS_PER_DAY_WORKSPACE: MONEY_PER_DAY_WORKSPACE limits what is used there
ADMIN_SHARE: {LIMITS.admin_share:.0%} of TOKENS_PER_DAY and MONEY_PER_DAY is reserved for owners and admins
"""
GONE: Final[Mapping[str, str]] = {
    name: now for name, _, now in (line.partition(": ") for line in _GONE.strip().splitlines())
}
"""A setting of earlier versions → its replacement."""
ENVIRONMENT_ONLY: Final = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)
"""Variables that we read from the environment, like every program, and not from `.env`."""
OPENTELEMETRY: Final = "OTEL_"
"""Begins the names that OpenTelemetry reads from the environment, and not from `.env`."""
PLAIN: Final = frozenset({"PORT", "TZ", "TIMEZONE"})
"""Names of one word that nobody else uses in an environment: `HOST` or `DEBUG` may be anybody's."""
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,39}|[a-z_][a-z0-9_]{0,39}")
_LONG = 12
"""Letters from which on a name for ours may have two wrong ones."""


@dataclass(frozen=True, slots=True)
class Strays:
    """Names that no settings class declares."""

    misspelt: tuple[str, ...] = ()
    """A sentence for each variable of the environment whose name is nearly a setting's."""
    renamed: tuple[str, ...] = ()
    """A sentence for each variable of the environment by which other programs call one of our settings."""
    gone: tuple[str, ...] = ()
    """A sentence for each setting of earlier versions that is still set."""
    unread: tuple[str, ...] = ()
    """A sentence for each variable in `.env` that only the environment could set."""
    foreign: str = ""
    """One sentence about the names in `.env` that are another program's; empty if there are none."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, the more important first."""
        return (*self.misspelt, *self.renamed, *self.gone, *self.unread, *((self.foreign,) if self.foreign else ()))


def env_file() -> Path | None:
    """The `.env` to read: `PARLEY_ENV_FILE` names another, and set but empty it means none.

    Raises:
        SettingsError: the named file does not exist or is not a file, or it cannot be used; see `names_in`.
    """
    named = os.environ.get("PARLEY_ENV_FILE")
    path = Path(".env" if named is None else named)
    if named == "":
        return None
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            if named is None:
                return None
            raise SettingsError(f"PARLEY_ENV_FILE names {named!r}, which is not a file")
    except (FileNotFoundError, NotADirectoryError):
        if named is None:
            return None
        raise SettingsError(f"PARLEY_ENV_FILE names {named!r}, and there is no such file{suggest(path)}") from None
    except OSError as error:
        setting = "PARLEY_ENV_FILE: " if named is not None else ""
        raise SettingsError(f"{setting}{explain_path_error(path, error)}") from None
    names_in(path)
    return path


def names_in(file: Path) -> list[str]:
    """The names that `file` sets.

    Raises:
        SettingsError: it cannot be read, is not UTF-8, or has a line that sets nothing.
    """
    from dotenv.parser import parse_stream

    try:
        with file.open(encoding=ENCODING) as opened:
            bindings = list(parse_stream(opened))
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: this file is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror or type(error).__name__}") from None
    names = []
    for binding in bindings:
        name = binding.key
        if binding.error or (
            name is not None and (binding.value is None or not _VARIABLE.fullmatch(name) or is_random(name))
        ):
            # It may be a key on a line of its own, or one pasted over two lines: it is not shown.
            line = binding.original.line + binding.original.string.count("\n", 0, _start(binding.original.string))
            raise SettingsError(f"line {line} of {file} sets nothing: each must be NAME=value, or begin with #")
        if name is not None:
            names.append(name)
    return names


def strays(file: Path | None, known: Mapping[str, tuple[str, str]]) -> Strays:
    """Return the names in `file` and in the environment that are not settings.

    A name that is nearly a setting's, or another program's name for one, is refused in `file`, which is written for
    this program, and only logged if it is in the environment, which many programs share. Another program's name is
    accepted if ours is set as well. Other names in `file` are another program's: one `.env` often serves several.

    Args:
        known: our settings, each with its default and description.

    Raises:
        SettingsError: `file` cannot be used, or has names that are nearly a setting's.
    """
    settings = OURS.union(known)
    written = names_in(file) if file is not None else []
    told_here = {name.upper() for name in (*written, *os.environ)}
    foreign, refused, unread = [], [], []
    for name in written:
        if name.upper() in settings or name.upper() in GONE:
            continue
        if name.startswith(OPENTELEMETRY):
            if name not in os.environ:
                unread.append(f"{name} in {file} has no effect: OpenTelemetry reads it from the environment alone")
        elif name.upper() in ENVIRONMENT_ONLY and name.upper() not in {one.upper() for one in os.environ}:
            refused.append(f"{name} in {file} has no effect: this program reads it from the environment alone")
        elif ours := _ours(name, told_here):
            refused.append(f"{name} in {file} is not a setting of this program, which calls it {ours}")
        elif near := nearest(name, settings):
            refused.append(f"{name} in {file} is not a setting of this program; did you mean {near}?")
        else:
            foreign.append(name)
    if refused:
        raise SettingsError(*refused)
    misspelt, renamed = [], []
    for name, text in os.environ.items():
        ours = _ours(name, told_here) if "_" in name or name in PLAIN else ""
        if ours and text not in ("", known.get(ours, ("", ""))[0]):
            called = ours.removesuffix(" in the environment")
            renamed.append(f"{name} in the environment is not a setting of this program, which calls it {called}")
        # A name of one word is close to everything.
        elif (
            "_" in name
            and not OTHERS.get(name.upper())
            and name.upper() not in GONE
            and name.upper() not in settings
            and (near := nearest(name, settings))
        ):
            misspelt.append(f"{name} in the environment is not a setting of this program; did you mean {near}?")
    named = ", ".join(dict.fromkeys(foreign))
    told = f"ignored in {file}: {named} (not settings of this program; .env.example lists all)" if foreign else ""
    return Strays(tuple(misspelt), tuple(renamed), tuple(_name_gone(file, written)), tuple(unread), told)


def _name_gone(file: Path | None, written: Iterable[str]) -> list[str]:
    """Return a sentence for each setting of earlier versions that is still set, with its replacement."""
    where = {name.upper(): "the environment" for name, text in os.environ.items() if text}
    where |= {name.upper(): str(file) for name in written}
    return [f"{name} in {where[name]} has no effect any more: {now}" for name, now in GONE.items() if name in where]


def _ours(name: str, told: Collection[str]) -> str:
    """Return our name for another program's `name`; empty if there is none, or ours is set as well."""
    ours = OTHERS.get(name.upper(), "")
    return "" if any(word in told for word in re.findall(r"[A-Z_]+", ours)) else ours


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the settings that `name` probably means, joined by "or"; empty if none.

    It means one if a letter or two are wrong, or one word is missing or too many.
    """
    upper = name.upper()
    # Neither mistake is in the first letter.
    settings = sorted(one for one in known if one[:1] == upper[:1])
    distances = {one: _distance(upper, one) for one in settings}
    least = min(distances.values(), default=_FAR)
    meant = [one for one in settings if (distances[one] == least if least < _FAR else _lacks_a_word(upper, one))]
    return " or ".join(meant)


_FAR: Final = 9


def _distance(name: str, setting: str) -> int:
    """Return how many letters are wrong, ignoring underscores; `_FAR` if there are too many."""
    one, two = name.replace("_", ""), setting.replace("_", "")
    most = 2 if min(len(one), len(two)) >= _LONG else 1
    if abs(len(one) - len(two)) > most or one[:1] != two[:1]:
        return _FAR
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, sign in enumerate(one, 1):
        last, before, row = before, row, [i, *row[1:]]
        for j, other in enumerate(two, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (sign != other))
            if i > 1 and j > 1 and sign == two[j - 2] and one[i - 2] == other:
                row[j] = min(row[j], last[j - 2] + 1)
        if min(min(before), min(row)) > most:
            return _FAR
    return row[-1] if row[-1] <= most else _FAR


def _lacks_a_word(name: str, setting: str) -> bool:
    """Return True for `TELEGRAM_TOKEN` as `TELEGRAM_BOT_TOKEN`, or the reverse; the first and the last word are
    right."""
    short, long = sorted((name.split("_"), setting.split("_")), key=len)
    if len(long) - len(short) != 1 or len(short) < 2 or (short[0], short[-1]) != (long[0], long[-1]):
        return False
    return any(long[:place] + long[place + 1 :] == short for place in range(1, len(long) - 1))


def texts(file: Path | None) -> Mapping[str, str]:
    """Return every variable of `file` and of the environment, which wins; none of an unreadable file."""
    from dotenv import dotenv_values

    try:
        found = dotenv_values(file, encoding=ENCODING) if file is not None else {}
    except (OSError, UnicodeDecodeError):
        found = {}
    return {name.upper(): text or "" for name, text in found.items()} | {
        name.upper(): text for name, text in os.environ.items()
    }


def _start(text: str) -> int:
    """Return where the line itself begins, after empty lines."""
    return len(text) - len(text.lstrip())
