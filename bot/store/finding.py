"""Find a turn, a chat or a person by what an operator pastes: a reference, a message's link, an id, or words."""

from __future__ import annotations

import json
import re
from typing import Final

from bot.contract import ChatId, identity, reference_of, turns_of
from bot.store.incoming import incoming_from_json
from bot.store.queries import in_place, place_range
from bot.store.sql import Connection
from bot.store.turnlists import question_of, read_turns
from tools.contract.base import Json
from tools.contract.plaintext import to_plain

WINDOW: Final = 20_000
"""Ids that one search for words looks at; the next one looks further back."""
_MOST: Final = 20
_LONGEST: Final = 300
_REFERENCE: Final = re.compile(r"(?i)[0-9a-f]{6}")
_NUMBER: Final = re.compile(r"t([0-9]{1,18})")
_WITH_WORDS: Final = r"""
    SELECT t.id, t.visible, i.name, i.incoming FROM turns t JOIN inbox i ON i.id = t.question
    WHERE t.id >= ? AND t.id < ? AND (lower(t.visible) LIKE ? ESCAPE '\' OR lower(i.incoming) LIKE ? ESCAPE '\'
        OR lower(i.name) LIKE ? ESCAPE '\') ORDER BY t.id DESC
"""


def find(db: Connection, text: str, before: int = 0) -> dict[str, Json]:
    """Return `turn`, `chat` or `person` if the text names one that is stored; else `turns` with these words, the newest
    first, and `before`: where to look further, 0 at the end.

    Args:
        before: look for words only in turns before this one; 0: from the newest.
    """
    wanted = to_plain(text).strip()[:_LONGEST]
    if not wanted:
        return {"turns": [], "before": 0}
    if not before:
        if turn := _turn_named(db, wanted) or _turn_linked(db, wanted):
            return {"turn": turn, "reference": reference_of(turn)}
        if chat := _chat_named(db, wanted):
            return {"chat": chat}
        if db.execute("SELECT 1 FROM turns WHERE person = ? LIMIT 1", (wanted,)).fetchone() is not None:
            return {"person": wanted}
    return _find_words(db, wanted, before)


def _turn_named(db: Connection, text: str) -> int:
    """Return the latest turn with a reference, or a turn by its number as `t7`; 0: there is none."""
    [(last,)] = db.execute("SELECT coalesce(max(id), 0) FROM turns").fetchall()
    number = _NUMBER.fullmatch(text)
    named = [int(number[1])] if number else turns_of(text, last) if _REFERENCE.fullmatch(text) else []
    for turn in named:
        if db.execute("SELECT 1 FROM turns WHERE id = ?", (turn,)).fetchone() is not None:
            return turn
    return 0


def _turn_linked(db: Connection, text: str) -> int:
    """Return the turn that shows the message of a link, or that answers it; 0: it is no link, or no such turn."""
    link = identity.linked_message(text)
    if link is None:
        return 0
    platform, channel, message = link
    accounts = _accounts(db, platform)
    for place in (f"{account}{channel}" for account in accounts):
        values = (message, *place_range(place))
        for statement in (_SHOWN, _ASKED):
            if found := db.execute(f"{statement} {in_place('c.chat')} ORDER BY 1 DESC LIMIT 1", values).fetchall():
                return int(found[0][0])
    for thread in (one for account in accounts for one in _threads(db, account, channel)):
        for statement in (_SHOWN, _ASKED):
            if found := db.execute(f"{statement} c.chat = ? ORDER BY 1 DESC LIMIT 1", (message, thread)).fetchall():
                return int(found[0][0])
    return 0


_SHOWN: Final = "SELECT p.turn FROM chats c JOIN pages p ON p.chat = c.id AND p.message = ? WHERE"
_ASKED: Final = """
    SELECT t.id FROM chats c JOIN inbox i ON i.chat = c.chat AND i.message = ? JOIN turns t ON t.id = i.id WHERE
"""
_NEXT: Final = "SELECT chat FROM chats WHERE chat > ? AND chat < ? ORDER BY chat LIMIT 1"


def _accounts(db: Connection, platform: str) -> list[str]:
    """Return the beginnings of a platform's chats, one for each account: a look-up for each, as ids are in order."""
    found: list[str] = []
    last, end = f"{platform}:", f"{platform};"
    while row := db.execute(_NEXT, (last, end)).fetchone():
        account = f"{platform}:{ChatId.parse(row[0]).account}"
        found.append(f"{account}/")
        last = f"{account}0"  # the sign after "/"
    return found


def _threads(db: Connection, account: str, channel: str) -> list[str]:
    """Return the threads with this id of an account's channels, where a thread is a channel of its own."""
    one = ChatId.parse(f"{account}0/{channel}")
    if not identity.own_id(one):
        return []
    # Nothing is known of the channel that it is in.
    values = (account, f"{account[:-1]}0", f"%/%/{channel}")
    rows = db.execute("SELECT chat FROM chats WHERE chat > ? AND chat < ? AND chat LIKE ?", values).fetchall()
    return [str(chat) for (chat,) in rows]


def _chat_named(db: Connection, text: str) -> str:
    try:
        chat = str(ChatId.parse(text))
    except ValueError:
        return ""
    return chat if db.execute("SELECT 1 FROM chats WHERE chat = ?", (chat,)).fetchone() is not None else ""


def _find_words(db: Connection, words: str, before: int) -> dict[str, Json]:
    [(first, last)] = db.execute(
        "SELECT coalesce((SELECT min(id) FROM turns), 0), coalesce((SELECT max(id) FROM turns), 0)"
    ).fetchall()
    high = min(before, last + 1) if before else last + 1
    low = max(first, high - WINDOW)
    plain, quoted = (_pattern(one) for one in (words, json.dumps(words, ensure_ascii=False)[1:-1]))
    rows = db.execute(_WITH_WORDS, (low, high, plain, quoted, plain)).fetchall()
    folded = words.casefold()
    found = []
    for id, visible, name, incoming in rows:
        said = (visible, name, question_of(incoming_from_json(incoming)))
        if any(folded in one.casefold() for one in said):
            found.append(int(id))
    shown = found[:_MOST]
    further = shown[-1] if len(found) > _MOST else low if low > first else 0
    return {"turns": read_turns(db, shown), "before": further, "first": first, "last": last}


def _pattern(text: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", text.lower())
    return f"%{escaped}%"
