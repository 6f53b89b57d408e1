"""The operator's file of single chats (`CHATS_FILE`): what is told to the model there, which model answers, which tools
are off.

    ["telegram:123456/-100200300"]
    instructions = "Answer as the clerk of the town library."
    model = "openai:gpt-5-mini"
    tools_off = ["run_python", "github__*"]

A chat is written as `/whoami` shows it. What stands for a chat holds in its topics and threads too, which may have
tables of their own.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bot.contract import ChatId, SettingsError, identity
from bot.environment import ENCODING

MOST_BYTES: Final = 1_000_000
INSTRUCTIONS_CHARS: Final = 8_000
"""Characters of instructions that every question of a chat carries along."""
_KEYS: Final = ("instructions", "model", "tools_off")


@dataclass(frozen=True, slots=True)
class ChatTable:
    """What the file says of one chat."""

    instructions: str = ""
    model: str = ""
    tools_off: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatsFile:
    """What the file says of all chats; without a file, nothing."""

    tables: Mapping[str, ChatTable] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """The `provider:name` of every model that it names."""
        return tuple(dict.fromkeys(table.model for table in self.tables.values() if table.model))

    def table_of(self, chat: ChatId) -> ChatTable:
        """What holds in `chat`: of a thread its own words and model before the chat's, and the tools off in either."""
        whole = self.tables.get(str(chat.place), ChatTable())
        own = self.tables.get(str(chat), ChatTable()) if chat.thread else whole
        return ChatTable(
            own.instructions or whole.instructions,
            own.model or whole.model,
            tuple(dict.fromkeys((*whole.tools_off, *own.tools_off))),
        )


def read_chats(name: str) -> ChatsFile:
    """Read the file called `name`; an empty name is no file.

    Raises:
        SettingsError: it cannot be read, or something in it is not as it must be; one sentence says what.
    """
    if not name:
        return ChatsFile()
    path = Path(name).expanduser()
    tables: dict[str, ChatTable] = {}
    for key, value in _tables(path).items():
        try:
            chat = identity.chat(key)
        except ValueError as error:
            raise SettingsError(f"CHATS_FILE: {path}: {error}") from None
        if chat in tables:
            raise SettingsError(f"CHATS_FILE: {path} has two tables for {chat}")
        tables[chat] = _table(f"CHATS_FILE: {path}: {chat}", value)
    return ChatsFile(tables)


def _tables(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise SettingsError(f"CHATS_FILE: {path} is larger than {MOST_BYTES} bytes")
        return tomllib.loads(content.decode(ENCODING))
    except OSError as error:
        raise SettingsError(f"CHATS_FILE: {path} cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"CHATS_FILE: {path} is not UTF-8 text; save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"CHATS_FILE: {path} is no TOML: {' '.join(str(error).split())[:200]}") from None


def _table(where: str, value: object) -> ChatTable:
    if not isinstance(value, dict):
        raise SettingsError(f'{where} must be a table: write ["telegram:BOT/CHAT"] on a line of its own above its keys')
    for key in value:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_KEYS)}"
            raise SettingsError(f"{where} has no key {key[:60]!r}; {hint}")
    for key in ("instructions", "model"):
        if not isinstance(value.get(key, ""), str):
            raise SettingsError(f'{where}: {key} must be a text in quotes, as {key} = "…"')
    off = value.get("tools_off", [])
    if not isinstance(off, list) or not all(isinstance(one, str) and one.strip() for one in off):
        raise SettingsError(f'{where}: tools_off must be a list of names, as ["run_python", "github__*"]')
    if len(value.get("instructions", "")) > INSTRUCTIONS_CHARS:
        raise SettingsError(f"{where}: instructions may have at most {INSTRUCTIONS_CHARS:,} characters")
    return ChatTable(
        value.get("instructions", "").strip(), value.get("model", "").strip(), tuple(one.strip() for one in off)
    )
