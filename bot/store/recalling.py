"""What became of a delivery, found by the platform's own name of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.contract import ChatId, ControlPressed, Incoming, LeftOff, Recalled
from bot.store.approvals import Approval, load_approval
from bot.store.callrecords import list_calls
from bot.store.incoming import incoming_from_json
from bot.store.queries import Queries
from bot.store.records import CallRecord
from bot.store.sql import Connection
from bot.store.states import INBOX_ENDS, ApprovalState, InboxState, TurnState
from bot.store.text import usage_from_json
from tools.contract.plaintext import to_plain

_HEARD = "heard"
"""The key of the moment until which everything was heard on a platform, among those of its deliveries."""
_OVERLAP = 120.0
"""Seconds before that moment that are looked at again: a broken connection is noticed late, and clocks differ."""
_FURTHEST = 86_400.0
"""Telegram keeps messages as long."""
_CHATS_AT_ONCE = 200
_REPEATED_WITHIN = 600.0
"""Seconds in which a client may send the same request again by itself."""
_LOOKED_AT = 20
"""The newest deliveries of a chat that are no messages, among which a press is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryCalls:
    """The tool calls of the answer to a delivery, and what people were asked about them."""

    turn: int
    incoming: Incoming
    records: tuple[CallRecord, ...]
    asked: Approval | None = None
    """The answer asks about one of them."""
    decided: Approval | None = None
    """The delivery decides about a call of an earlier answer."""
    decided_as: tuple[int, int] = (0, 0)
    """The pass and position of that call in its own turn."""


class Deliveries(Queries):
    """Answers what became of deliveries."""

    async def recall(self, chat: ChatId, delivery: str) -> Recalled | None:
        """Return the state and the answer of a chat's delivery, or, if that is empty, of its newest answer that asks
        whether a tool may make a call; None if nothing is stored of it. A message is found only if it has the same id
        as its delivery.

        Raises:
            StoreError: the database cannot be read now.
        """
        return await self._readers.read(lambda db: _recall(db, str(chat), delivery))

    async def keep_said(self, chat: ChatId, delivery: str, text: str) -> None:
        """Store what was said to a chat's delivery; not to a question that is being answered, whose answer is stored.

        Raises:
            StoreError: it cannot be stored now.
        """

        def work(db: Connection) -> None:
            if (found := _find(db, str(chat), delivery)) is not None:
                query = (
                    "UPDATE inbox SET said = ? WHERE id = ? AND NOT EXISTS "
                    "(SELECT 1 FROM turns WHERE turns.id = inbox.id AND (ended_at IS NULL OR visible <> ''))"
                )
                db.execute(query, (to_plain(text), found[0]))

        await self._writer.run(work)

    async def find_repeated(self, chat: ChatId, beginning: str) -> str:
        """Return the newest delivery of the last minutes in a chat's account whose name begins so; empty: there is
        none.

        Raises:
            StoreError: the database cannot be read now.
        """
        query = (
            "SELECT delivery FROM deliveries WHERE platform = ? AND account = ? AND delivery >= ? AND delivery < ? "
            "AND seen_at >= ? ORDER BY seen_at DESC LIMIT 1"
        )
        after = f"{beginning[:-1]}{chr(ord(beginning[-1]) + 1)}"
        values = (chat.platform, chat.account, beginning, after, self._clock.wall() - _REPEATED_WITHIN)
        rows = await self._readers.fetch_rows(query, values)
        return str(rows[0][0]) if rows else ""

    async def list_calls(self, chat: ChatId, delivery: str) -> DeliveryCalls | None:
        """Return the calls of the answer to a chat's delivery, or, if that is empty, of its newest answer that asks
        whether a tool may make a call; None if nothing is stored of it.

        Raises:
            StoreError: the database cannot be read now.
        """
        return await self._readers.read(lambda db: _calls(db, str(chat), delivery))

    async def note_heard(self, platform: str) -> None:
        """Store that everything written on a platform until now was delivered."""
        await self._writer.execute(
            "INSERT INTO deliveries (platform, account, delivery, seen_at) VALUES (?, '', ?, ?) "
            "ON CONFLICT (platform, account, delivery) DO UPDATE SET seen_at = excluded.seen_at",
            (platform, _HEARD, self._clock.wall()),
        )

    async def find_left_off(self, platform: str) -> LeftOff | None:
        """Return since when messages of a platform may be missing, a day at most, and where to look for them; None if
        nothing was ever heard there.

        Raises:
            StoreError: the database cannot be read now.
        """
        furthest = self._clock.wall() - _FURTHEST

        def read(db: Connection) -> LeftOff | None:
            query = "SELECT seen_at FROM deliveries WHERE platform = ? AND account = '' AND delivery = ?"
            heard = db.execute(query, (platform, _HEARD)).fetchone()
            if heard is None:
                return None
            private, groups = (tuple(_newest_chats(db, platform, grouped=grouped)) for grouped in (False, True))
            return LeftOff(since=max(float(heard[0]) - _OVERLAP, furthest), private=private, groups=groups)

        return await self._readers.read(read)


def _newest_chats(db: Connection, platform: str, *, grouped: bool) -> Iterator[ChatId]:
    query = (
        "SELECT chat FROM chats c WHERE chat >= ? AND chat < ? AND EXISTS (SELECT 1 FROM inbox i "
        f"WHERE i.chat = c.chat AND i.grouped = ?) ORDER BY last_at DESC LIMIT {_CHATS_AT_ONCE}"
    )
    for (chat,) in db.execute(query, (f"{platform}:", f"{platform};", int(grouped))).fetchall():
        yield ChatId.parse(chat)


def _recall(db: Connection, chat: str, delivery: str) -> Recalled | None:
    found = _find(db, chat, delivery)
    if found is None:
        return None
    id, inbox, said = found
    ended = inbox in INBOX_ENDS
    row = db.execute("SELECT state, visible, usage FROM turns WHERE id = ?", (id,)).fetchone()
    if row is None:
        stopped, failed = inbox == InboxState.STOPPED, inbox == InboxState.FAILED
        return Recalled(ended=ended, stopped=stopped, failed=failed, text=said)
    state, visible, usage = row
    approval = load_approval(db, id)
    waits = approval if approval is not None and approval.state is ApprovalState.WAITING else None
    return Recalled(
        ended=ended,
        stopped=state == TurnState.STOPPED,
        failed=state == TurnState.FAILED,
        text=visible or said,
        usage=usage_from_json(usage),
        asks=f"{id}:{waits.mark}" if waits is not None else "",
        followed=waits is not None and _is_followed(db, id),
    )


def _is_followed(db: Connection, turn: int) -> bool:
    query = "SELECT 1 FROM turns WHERE chat = (SELECT chat FROM turns WHERE id = ?) AND id > ? LIMIT 1"
    return db.execute(query, (turn, turn)).fetchone() is not None


def _calls(db: Connection, chat: str, delivery: str) -> DeliveryCalls | None:
    found = _find(db, chat, delivery)
    if found is None:
        return None
    turn = found[0]
    [(stored,)] = db.execute("SELECT incoming FROM inbox WHERE id = ?", (turn,)).fetchall()
    incoming, decided, place = incoming_from_json(stored), None, (0, 0)
    if isinstance(incoming, ControlPressed) and (about := load_approval(db, incoming.turn)) and about.press == turn:
        decided = about
        places = [(one.passnumber, one.position) for one in list_calls(db, about.turn) if one.call.id == about.call.id]
        place = places[-1] if places else place
    records, asked = tuple(list_calls(db, turn)), load_approval(db, turn)
    return DeliveryCalls(turn=turn, incoming=incoming, records=records, asked=asked, decided=decided, decided_as=place)


def _find(db: Connection, chat: str, delivery: str) -> tuple[int, InboxState, str] | None:
    """Return the inbox row of a delivery, its state, and what was said to it."""
    if not delivery:
        query = (
            "SELECT a.turn, i.state, i.said FROM approvals a JOIN turns t ON t.id = a.turn "
            "JOIN chats c ON c.id = t.chat "
            f"JOIN inbox i ON i.id = t.id WHERE a.state = '{ApprovalState.WAITING}' AND c.chat = ? ORDER BY t.id DESC"
        )
        row = db.execute(query, (chat,)).fetchone()
        return None if row is None else (int(row[0]), InboxState(row[1]), str(row[2]))
    query = "SELECT id, state, said FROM inbox WHERE chat = ? AND message = ? ORDER BY id DESC LIMIT 1"
    for id, state, said in db.execute(query, (chat, delivery)).fetchall():
        return int(id), InboxState(state), str(said)
    query = (
        "SELECT id, state, said, incoming FROM inbox WHERE chat = ? AND message IS NULL "
        f"ORDER BY id DESC LIMIT {_LOOKED_AT}"
    )
    for id, state, said, incoming in db.execute(query, (chat,)).fetchall():
        if incoming_from_json(incoming).delivery == delivery:
            return int(id), InboxState(state), str(said)
    return None
