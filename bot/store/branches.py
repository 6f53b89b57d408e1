"""Branches of a chat's history: which earlier entries a turn continues.

Entries are numbered as they are written, on any branch. A turn continues all entries before its own, unless
`turns.continues` names an earlier one: the entries in between are then on another branch. So a chat without branches
costs nothing, and the way back from an entry is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.store.sql import Connection

CHAIN = """
    WITH RECURSIVE chain (id) AS (
        SELECT :turn UNION SELECT t.id FROM turns o JOIN chain ON chain.id = o.id JOIN turns t ON t.id = o.superseded_by
    )
"""
"""A turn, and all turns that answered its question again."""
NEWEST_BRANCHED = (
    "SELECT first_sequence, continues FROM turns WHERE chat = ? AND continues IS NOT NULL AND first_sequence <= ? "
    "ORDER BY first_sequence DESC LIMIT 1"
)
"""The newest turn up to an entry that does not continue the one before it."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The history up to one entry, without entries of other branches."""

    chat: int
    """The chat's key."""
    since: int
    """The last entry before its last `/new`."""
    head: int

    def list_spans(self, db: Connection, after: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the ranges of entries after `after`, the newest first: each from behind its first number to its
        second."""
        low, head = max(self.since, after), self.head
        while head > low:
            row = db.execute(NEWEST_BRANCHED, (self.chat, head)).fetchone()
            if row is None or row[0] <= low:
                yield low, head
                return
            first, continues = row
            yield first - 1, head
            head = min(continues, first - 1)

    def holds(self, db: Connection, sequence: int) -> bool:
        """Return True if an entry is on the branch."""
        return any(low < sequence <= high for low, high in self.list_spans(db, sequence - 1))


def find_shown_in(db: Connection, chat: str, message: str) -> int:
    """Return the turn whose reply a message shows; 0 if no reply does."""
    row = db.execute(
        "SELECT p.turn FROM pages p JOIN chats c ON c.id = p.chat WHERE c.chat = ? AND p.message = ?", (chat, message)
    ).fetchone()
    return 0 if row is None else int(row[0])


def find_branch(db: Connection, chat: str, turn: int = 0) -> Branch | None:
    """Return the history that a turn continues, even if it is not opened yet; None for an unknown chat.

    Args:
        turn: 0: a question that is not a reply.
    """
    row = db.execute("SELECT id, since_sequence, last_sequence FROM chats WHERE chat = ?", (chat,)).fetchone()
    if row is None:
        return None
    key, since, last = row
    placed = db.execute("SELECT continues FROM turns WHERE id = ? AND chat = ?", (turn, key)).fetchone()
    point = placed[0] if placed is not None else _find_point(db, key, since, last, turn, 0)
    return Branch(key, since, last if point is None else point)


def place_turn(db: Connection, turn: int, old: int = 0) -> None:
    """Store what an open turn continues: the answer that its question replies to, otherwise the newest.

    Args:
        old: the turn that it replaces. If the newest answer is on another branch, it stays on its own.
    """
    for key, since, last in db.execute(
        "SELECT c.id, c.since_sequence, c.last_sequence FROM turns t JOIN chats c ON c.id = t.chat WHERE t.id = ?",
        (turn,),
    ).fetchall():
        point = _find_point(db, key, since, last, turn, old)
        db.execute("UPDATE turns SET continues = ? WHERE id = ?", (point, turn))


def leave_out(db: Connection, chat: int, turn: int, first: int | None, last: int | None) -> None:
    """Let the turns that continue a turn continue what came before it, because its entries are being removed."""
    row = db.execute("SELECT continues FROM turns WHERE id = ?", (turn,)).fetchone()
    if first is None or row is None or row[0] is None:
        return
    db.execute(
        "UPDATE turns SET continues = ? WHERE chat = ? AND continues BETWEEN ? AND ?", (row[0], chat, first, last)
    )
    db.execute(
        "UPDATE turns SET continues = ? WHERE continues IS NULL AND id = "
        "(SELECT turn FROM history WHERE chat = ? AND sequence > ? ORDER BY sequence LIMIT 1)",
        (row[0], chat, last),
    )


def find_newest_answer(db: Connection, turn: int) -> int:
    """Return the turn that last answered the question of `turn`: itself, or the last that replaced it."""
    return int(db.execute(f"{CHAIN} SELECT max(id) FROM chain", {"turn": turn}).fetchone()[0])


def list_answers(db: Connection, turn: int) -> list[int]:
    """Return the inbox rows that answer the question of `turn`, in order: itself, those that replaced it, and those of
    buttons below any of them."""
    found, new = {turn}, [turn]
    while new:
        one = new.pop()
        rows = db.execute(
            "SELECT n.id FROM turns o JOIN turns n ON n.id = o.superseded_by WHERE o.id = ? "
            "UNION SELECT id FROM inbox WHERE pressed = ? AND pressed > 0",
            (one, one),
        ).fetchall()
        new += {int(id) for (id,) in rows} - found
        found.update(new)
    return sorted(found)


def _find_point(db: Connection, chat: int, since: int, last: int, turn: int, old: int) -> int | None:
    """Return the last entry that a turn continues; None: the very last."""
    newest = db.execute(
        "SELECT sequence FROM history WHERE chat = ? AND sequence > ? AND superseded = 0 "
        "ORDER BY sequence DESC LIMIT 1",
        (chat, since),
    ).fetchone()
    if newest is None:
        return None
    point = _find_answer(db, chat, since, turn)
    if point is None:
        point = _find_former(db, Branch(chat, since, newest[0]), old)
    if point is None:
        point = int(newest[0])
    if point < newest[0]:
        return point
    # Nothing after it counts, unless the way back from there leads elsewhere.
    branched = db.execute(NEWEST_BRANCHED, (chat, last)).fetchone()
    return point if branched is not None and branched[0] > point else None


def _find_answer(db: Connection, chat: int, since: int, turn: int) -> int | None:
    """Return the last entry of the answer that a question replies to; None if that answer is not in the history."""
    shown = db.execute(
        "WITH said (message) AS (SELECT replies_to FROM inbox "
        "WHERE id = coalesce((SELECT question FROM turns WHERE id = ?), ?) AND replies_to <> '') "
        "SELECT p.turn FROM said JOIN pages p ON p.chat = ? AND p.message = said.message "
        "UNION ALL SELECT a.turn FROM said JOIN attachments a ON a.message = said.message "
        "JOIN turns t ON t.id = a.turn AND t.chat = ? LIMIT 1",
        (turn, turn, chat, chat),
    ).fetchone()
    if shown is None:
        return None
    # For a regenerated answer, the history has its replacement.
    row = db.execute(
        "SELECT last_sequence FROM turns WHERE id = ? AND chat = ? AND superseded_by IS NULL AND last_sequence > ?",
        (find_newest_answer(db, shown[0]), chat, since),
    ).fetchone()
    return None if row is None else int(row[0])


def _find_former(db: Connection, newest: Branch, old: int) -> int | None:
    """Return what the turn `old` continued, if the later answers are on another branch."""
    row = db.execute("SELECT first_sequence, continues FROM turns WHERE id = ?", (old,)).fetchone()
    if row is None:
        return None
    first, continues = row
    if first is not None and (first <= newest.since or newest.holds(db, first)):
        return None
    if continues is None:
        return None if first is None else int(first) - 1
    return int(continues)
