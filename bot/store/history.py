"""The history of chats as the model reads it, the list of chats, and `/new` and `/forget`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bot.contract import OUTSIDE, ChatId, Entry, ToolEntry, entry_from_json, entry_to_json
from bot.store.branches import Branch, find_branch
from bot.store.forgetting import forget_chat
from bot.store.queries import Queries
from bot.store.records import ChatRow, HistoryRow, Summary
from bot.store.sql import Connection
from tools.contract.plaintext import to_plain

if TYPE_CHECKING:
    from bot.store.export import Extent

_ASIDE = 2048
"""Characters from which a body is stored in a separate table, so that the rows of a chat stay close together."""

_ROWS = """
    SELECT h.sequence, h.turn, coalesce(h.body, b.body), h.tokens, h.at
    FROM history h LEFT JOIN bodies b ON b.id = h.aside
    WHERE h.chat = ? AND h.sequence > ? AND h.sequence <= ? AND h.superseded = 0
"""
NEWEST = _ROWS + "ORDER BY h.sequence DESC LIMIT ?"
"""The newest rows of one range of a chat, the newest first."""
_OLDEST = _ROWS + "ORDER BY h.sequence LIMIT ?"
_RATED = "SELECT count(*) FROM turns t WHERE t.chat = c.id AND t.rating <> '' AND t.rating = ?"


class History(Queries):
    """The entries of every chat, newest last."""

    async def list_entries(self, chat: ChatId, *, turn: int = 0, limit: int = 400, after: int = 0) -> list[HistoryRow]:
        """Return the newest `limit` entries since the last `/new`, in order, without replaced answers and without
        branches other than the newest answer's.

        They begin with a whole turn; if one turn alone is longer than `limit`, with a part of it, but never between a
        call and its result.

        Args:
            turn: the turn that continues them; 0: a question that is not a reply.
            after: only entries after this sequence, which a summary replaces up to there.
        """
        return await self._readers.read(lambda db: _newest(db, find_branch(db, str(chat), turn), limit, after))

    async def load(self, chat: ChatId, *, turn: int = 0, limit: int = 400) -> tuple[Summary | None, list[HistoryRow]]:
        """Return the summary of older entries, and the newer entries as `list_entries` does.

        Args:
            turn: load what it continues, even if it is not opened yet; 0: a question that is not a reply.
        """

        def read(db: Connection) -> tuple[Summary | None, list[HistoryRow]]:
            branch = find_branch(db, str(chat), turn)
            # The summary first: one made meanwhile covers turns that are read as well, which loses nothing.
            summary = _summary(db, branch)
            return summary, _newest(db, branch, limit, summary.upto if summary else 0)

        return await self._readers.read(read)

    async def list_oldest(self, chat: ChatId, *, after: int, limit: int = 400) -> tuple[list[HistoryRow], bool]:
        """Return the oldest entries after a sequence on the newest answer's branch, in whole turns, and whether there
        are more than `limit`.

        A single turn that is longer than `limit` is returned in part.
        """
        rows = await self._readers.read(lambda db: _oldest(db, str(chat), after, limit + 1))
        more = len(rows) > limit
        if more:
            cut = rows.pop()[1]
            rows = [row for row in rows if row[1] != cut] or rows
        return _read(rows), more

    async def begin_anew(self, chat: ChatId) -> None:
        """Start a new conversation: earlier entries stay stored, and the model does not get them again."""
        await self._writer.execute(
            "UPDATE chats SET since_sequence = last_sequence, summary = NULL, summary_upto = 0, "
            "since_turn = coalesce((SELECT max(id) FROM turns WHERE turns.chat = chats.id AND ended_at IS NOT NULL), 0)"
            " WHERE chat = ?",
            (str(chat),),
        )

    async def begin_anew_for(self, chat: ChatId, person: str, by: int) -> None:
        """Start anew for one person of a chat: this person's questions and their answers stay stored, and the model
        does not get them again. A summary made from any of them is deleted, and made again from the others' turns.

        Args:
            by: the inbox row of the command, which replaces those turns.
        """

        def work(db: Connection) -> None:
            for id, since, upto in db.execute(
                "SELECT id, since_turn, summary_upto FROM chats WHERE chat = ?", (str(chat),)
            ).fetchall():
                turns = db.execute(
                    "SELECT id, first_sequence, last_sequence FROM turns WHERE chat = ? AND id > ? AND person = ? "
                    "AND ended_at IS NOT NULL AND superseded_by IS NULL",
                    (id, since, to_plain(person)),
                ).fetchall()
                db.executemany(
                    "UPDATE history SET superseded = 1 WHERE chat = ? AND sequence BETWEEN ? AND ?",
                    [(id, first, last) for _, first, last in turns],
                )
                db.executemany("UPDATE turns SET superseded_by = ? WHERE id = ?", [(by, turn) for turn, *_ in turns])
                if any(first is not None and first <= upto for _, first, _ in turns):
                    db.execute("UPDATE chats SET summary = NULL, summary_upto = 0 WHERE id = ?", (id,))

        await self._writer.run(work)

    async def get_summary(self, chat: ChatId) -> Summary | None:
        """Return the summary of older entries on the newest answer's branch, if there is one."""
        return await self._readers.read(lambda db: _summary(db, find_branch(db, str(chat))))

    async def get_summary_end(self, chat: ChatId) -> int:
        """Return the sequence up to which a chat's summary goes, on any branch; 0 without one."""
        row = await self._readers.fetch_row("SELECT summary_upto FROM chats WHERE chat = ?", (str(chat),))
        return 0 if row is None else int(row[0])

    async def set_summary(
        self, chat: ChatId, text: str, upto_sequence: int, origin: str = OUTSIDE, *, first: int, after: int
    ) -> None:
        """Store a summary of everything up to an entry; it is dropped if some of that is gone meanwhile, by `/new`,
        `/forget` or its age.

        Args:
            first: the first entry that it was made from.
            after: the end of the summary that it replaces; 0 without one.
        """
        await self._writer.execute(
            "UPDATE chats SET summary = ?, summary_upto = ?, summary_origin = ? WHERE chat = ? "
            "AND since_sequence < ? AND last_sequence >= ? AND summary_upto = ? "
            "AND EXISTS (SELECT 1 FROM history WHERE history.chat = chats.id AND sequence = ?)",
            (to_plain(text), upto_sequence, origin, str(chat), first, upto_sequence, after, first),
        )

    async def count_summarised(self, chat: ChatId) -> int:
        """Return how many turns the summary on the newest answer's branch replaces."""
        return await self._readers.read(lambda db: _count_summarised(db, str(chat)))

    async def count_turns(self, chat: ChatId) -> int:
        """Return how many turns of a chat are stored."""
        row = await self._readers.fetch_row("SELECT turns FROM chats WHERE chat = ?", (str(chat),))
        return 0 if row is None else int(row[0])

    async def forget(self, chat: ChatId, last: int | None = None) -> int:
        """Delete everything about a chat for good and return how many turns that were.

        Args:
            last: the inbox row of the command: later questions stay and are answered. None: up to the newest.

        The data is overwritten in the file and gone from the write-ahead log when this returns, or, if another program
        reads the database, soon after that (`Store.wipe_traces`). A running turn of the chat writes nothing more. Only
        delivery keys stay, which contain no text.
        """
        return await forget_chat(self._writer, self._readers, self._clock, chat, last)

    async def list_chats(self, *, limit: int = 1000) -> list[ChatRow]:
        """Return the chats that were answered, the latest first."""
        rows = await self._readers.fetch_rows(
            f"SELECT c.chat, c.title, c.turns, c.bytes, ({_RATED}), ({_RATED}) FROM "
            "(SELECT * FROM chats ORDER BY last_at DESC, id DESC LIMIT ?) c ORDER BY c.last_at DESC, c.id DESC",
            ("good", "bad", limit),
        )
        return [ChatRow(ChatId.parse(chat), *rest) for chat, *rest in rows]

    def export(self, extent: Extent) -> AsyncIterator[dict[str, Any]]:
        """Yield everything stored of a chat, or of some of its turns, one JSON object a turn, including replaced
        answers."""
        from bot.store.export import export_chat

        return export_chat(self._readers, extent)

    async def count_exported(self, extent: Extent) -> int:
        """Return how many turns `export` yields."""
        from bot.store.export import count_exported

        return await count_exported(self._readers, extent)


def _summary(db: Connection, branch: Branch | None) -> Summary | None:
    """Return the summary of a chat, if everything that it was made from is on the branch."""
    if branch is None:
        return None
    row = db.execute(
        "SELECT summary, summary_upto, summary_origin FROM chats WHERE id = ? AND summary IS NOT NULL", (branch.chat,)
    ).fetchone()
    return None if row is None or (row[1] and not branch.holds(db, row[1])) else Summary(*row)


def _newest(db: Connection, branch: Branch | None, limit: int, after: int) -> list[HistoryRow]:
    if branch is None:
        return []
    rows: list[Any] = []
    for low, high in branch.list_spans(db, after):
        rows += db.execute(NEWEST, (branch.chat, low, high, limit + 1 - len(rows))).fetchall()
        if len(rows) > limit:
            break
    rows.reverse()
    if len(rows) > limit:
        cut = rows.pop(0)[1]
        rows = [row for row in rows if row[1] != cut] or rows
    found = _read(rows)
    while found and isinstance(found[0].entry, ToolEntry):
        found.pop(0)
    return found


def _oldest(db: Connection, chat: str, after: int, limit: int) -> list[Any]:
    branch, rows = find_branch(db, chat), list[Any]()
    if branch is None:
        return rows
    for low, high in reversed([*branch.list_spans(db, after)]):
        rows += db.execute(_OLDEST, (branch.chat, low, high, limit - len(rows))).fetchall()
        if len(rows) == limit:
            break
    return rows


def _count_summarised(db: Connection, chat: str) -> int:
    branch = find_branch(db, chat)
    summary = _summary(db, branch)
    if branch is None or summary is None:
        return 0
    counts = (
        db.execute(
            "SELECT count(DISTINCT turn) FROM history WHERE chat = ? AND sequence > ? AND sequence <= ? "
            "AND superseded = 0",
            (branch.chat, low, min(high, summary.upto)),
        ).fetchone()[0]
        for low, high in branch.list_spans(db)
    )
    return sum(counts)


def _read(rows: Iterable[Sequence[Any]]) -> list[HistoryRow]:
    return [HistoryRow(sequence, turn, entry_from_json(body), size, at) for sequence, turn, body, size, at in rows]


def add_entries(
    db: Connection, chat: int, turn: int, bodies: Sequence[tuple[str, int]], now: float
) -> tuple[int | None, int | None]:
    """Append entries to a chat's history and return the first and last sequence; None twice for no entries."""
    written = sum(len(body.encode()) for body, _ in bodies)
    [(last,)] = db.execute(
        "UPDATE chats SET last_sequence = last_sequence + ?, bytes = bytes + ?, turns = turns + 1, last_at = ? "
        "WHERE id = ? RETURNING last_sequence",
        (len(bodies), written, now, chat),
    ).fetchall()
    first = int(last) - len(bodies) + 1
    rows: list[tuple[Any, ...]] = []
    for sequence, (body, tokens) in enumerate(bodies, first):
        if len(body) > _ASIDE:
            [(aside,)] = db.execute("INSERT INTO bodies (body) VALUES (?) RETURNING id", (body,)).fetchall()
            rows.append((chat, sequence, turn, tokens, now, None, aside))
        else:
            rows.append((chat, sequence, turn, tokens, now, body, None))
    db.executemany(
        "INSERT INTO history (chat, sequence, turn, tokens, at, body, aside) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
    )
    return (first, int(last)) if rows else (None, None)


def entries_of(db: Connection, turn: int) -> list[Entry]:
    """Return what an ended turn left in the history, in order; empty while it runs."""
    rows = db.execute(
        "SELECT coalesce(h.body, b.body) FROM turns t "
        "JOIN history h ON h.chat = t.chat AND h.sequence BETWEEN t.first_sequence AND t.last_sequence "
        "LEFT JOIN bodies b ON b.id = h.aside WHERE t.id = ? ORDER BY h.sequence",
        (turn,),
    )
    return [entry_from_json(body) for (body,) in rows.fetchall()]


def rough_tokens(entry: Entry) -> int:
    """Estimate the token count of an entry: one token for three bytes, which is one Chinese character."""
    return len(entry_to_json(entry).encode(errors="replace")) // 3 + 1
