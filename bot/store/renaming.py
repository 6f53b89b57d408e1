"""Move all stored data of a chat to another id.

A Discord thread was a chat of its own until schema 26; now it is a thread of its channel. A row rarely names the
channel: the step lists all of Discord's chats in `unplaced`, and each is moved when it is used again.
"""

from __future__ import annotations

import json
import logging

from bot.contract import ChatId, identity
from bot.store.queries import Queries
from bot.store.sql import Connection

_FORMER = "former"
"""The setting of a moved chat that contains its former id."""
_log = logging.getLogger(__name__)
_HOLDERS = (("chats", "chat"), ("inbox", "chat"), ("timers", "chat"), ("settings", "chat"))
_OWNERS = (("timers", "scope"), ("facts", "owner"), ("files", "scope"), ("roles", "id"))
"""Tables and columns that name a chat: always, or beside people."""


class ChatNames(Queries):
    """The former ids of chats."""

    _unplaced: set[str] | None = None

    async def list_former(self) -> dict[str, str]:
        """Return the former id of each moved chat, by its present id."""
        rows = await self._readers.fetch_rows("SELECT chat, value FROM settings WHERE name = ?", (_FORMER,))
        return {str(chat): str(former) for chat, former in rows}

    async def move(self, former: ChatId, chat: ChatId) -> bool:
        """Move the stored data of a chat to its new id; return False if that was done before.

        Raises:
            StoreError: it is not moved.
        """

        def work(db: Connection) -> bool:
            row = db.execute("SELECT 1 FROM settings WHERE chat = ? AND name = ?", (str(chat), _FORMER)).fetchone()
            if row is not None:
                return False
            rename_chat(db, former, chat)
            db.execute("INSERT INTO settings (chat, name, value) VALUES (?, ?, ?)", (str(chat), _FORMER, str(former)))
            return True

        return await self._writer.run(work)

    async def place(self, chat: ChatId) -> None:
        """Move the data of a thread that was stored without its channel. Cheap: the candidates are read once, as only a
        schema step adds to them; another process may have moved it since.

        Raises:
            StoreError: it is not moved.
        """
        if not (was := identity.own_id(chat)):
            return
        if self._unplaced is None:
            self._unplaced = {str(row[0]) for row in await self._readers.fetch_rows("SELECT chat FROM unplaced")}
        if was in self._unplaced:
            await self._writer.run(lambda db: _place(db, ChatId.parse(was), chat))
            self._unplaced.discard(was)


def _place(db: Connection, was: ChatId, chat: ChatId) -> None:
    # Two processes may find it at the same time: the one that deletes the row moves it.
    if db.execute("DELETE FROM unplaced WHERE chat = ? RETURNING chat", (str(was),)).fetchone() is not None:
        rename_chat(db, was, chat)


def rename_chat(db: Connection, was: ChatId, chat: ChatId) -> None:
    """Move the stored data of the chat `was`. Settings of `chat` are kept."""
    old, new = str(was), str(chat)
    db.execute("DELETE FROM unplaced WHERE chat = ?", (old,))
    if db.execute("SELECT 1 FROM chats WHERE chat = ?", (new,)).fetchone() is None:
        db.execute("UPDATE chats SET chat = ? WHERE chat = ?", (new, old))
    elif db.execute("SELECT 1 FROM chats WHERE chat = ?", (old,)).fetchone() is not None:
        _log.warning("%s has a history of its own: that of %s stays where it is", new, old)
    db.execute(
        "UPDATE inbox SET chat = ?, incoming = replace(incoming, ?, ?) WHERE chat = ?",
        (new, _in_json(was), _in_json(chat), old),
    )
    for column in ("chat", "scope"):
        db.execute(f"UPDATE timers SET {column} = ? WHERE {column} = ?", (new, old))
    db.execute("UPDATE files SET scope = ? WHERE scope = ?", (new, old))
    db.execute(
        "UPDATE facts SET owner = ? WHERE owner = ? AND text NOT IN (SELECT text FROM facts WHERE owner = ?)",
        (new, old, new),
    )
    db.execute("DELETE FROM facts WHERE owner = ?", (old,))
    db.execute(
        "UPDATE settings SET chat = ? WHERE chat = ? AND name NOT IN (SELECT name FROM settings WHERE chat = ?)",
        (new, old, new),
    )
    db.execute("DELETE FROM settings WHERE chat = ?", (old,))
    for role, since in db.execute("SELECT role, since FROM roles WHERE id = ?", (old,)).fetchall():
        db.execute(
            "INSERT INTO roles (id, role, since) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", (new, role, since)
        )
    db.execute("DELETE FROM roles WHERE id = ?", (old,))
    _add_up_spending(db, f"chat {was.place}", f"chat {chat.place}")


def _add_up_spending(db: Connection, old: str, new: str) -> None:
    if old == new:
        return
    db.execute(
        "INSERT INTO spending (key, seconds, start, tokens, messages, dollars) "
        "SELECT ?, seconds, start, tokens, messages, dollars FROM spending WHERE key = ? "
        "ON CONFLICT (key, seconds, start) DO UPDATE SET tokens = spending.tokens + excluded.tokens, "
        "messages = spending.messages + excluded.messages, dollars = spending.dollars + excluded.dollars",
        (new, old),
    )
    db.execute("DELETE FROM spending WHERE key = ?", (old,))


def _in_json(chat: ChatId) -> str:
    """Return how a delivery's JSON names its chat; inside a text the quotes would be escaped."""
    return f'"chat": {json.dumps([chat.platform, chat.account, chat.chat, chat.thread])}'


def list_unplaced(db: Connection) -> None:
    """List all of Discord's chats, threads among them, and place those whose opening question names the channel."""
    named = " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} LIKE 'discord:%/%'" for table, column in (*_HOLDERS, *_OWNERS)
    )
    db.execute(f"INSERT INTO unplaced (chat) {named}")
    opened = db.execute(
        "SELECT chat, incoming FROM inbox WHERE chat LIKE 'discord:%' AND incoming LIKE '%\"opens\": %'"
    )
    for chat, text in opened.fetchall():
        try:
            was, data = ChatId.parse(chat), json.loads(text)["target"]["data"]
            parent, thread = str(int(data["opens"])), str(int(data["channel"]))
        except (ValueError, TypeError, LookupError):
            continue
        if (was.chat, was.thread) == (thread, ""):
            rename_chat(db, was, ChatId(was.platform, was.account, parent, thread))
