"""Former answers to a question that was asked again: marked once a new one is complete, or given back if none is."""

from __future__ import annotations

from bot.store.branches import find_newest_answer
from bot.store.sql import Connection
from bot.store.states import TurnState

_FORMER = "SELECT id FROM turns WHERE superseded_by = ? ORDER BY id"


def list_former(db: Connection, turn: int) -> list[int]:
    """Return the turns whose place a turn has taken, and those whose place these had taken, the newest first."""
    found, new = set[int](), [turn]
    while new:
        rows = db.execute(_FORMER, (new.pop(),)).fetchall()
        new += {int(id) for (id,) in rows} - found
        found.update(new)
    return sorted(found, reverse=True)


def mark_former(db: Connection, turn: int, now: float) -> list[int]:
    """Let the former answers that are still on the screen be shown again, with the mark that there is a newer one;
    return their turns."""
    return [
        former
        for former in list_former(db, turn)
        if db.execute(
            "UPDATE turns SET again_at = ? WHERE id = ? AND ended_at IS NOT NULL "
            "AND EXISTS (SELECT 1 FROM pages p WHERE p.turn = turns.id AND p.message IS NOT NULL)",
            (now, former),
        ).rowcount
    ]


def find_former_answer(db: Connection, turn: int) -> tuple[int, str] | None:
    """Return the newest former turn that answered the same question, and its text; None if none has an answer."""
    for former in list_former(db, turn):
        for (visible,) in db.execute(
            "SELECT o.visible FROM turns o JOIN turns n ON n.question = o.question WHERE n.id = ? AND o.id = ? "
            f"AND o.first_sequence IS NOT NULL AND (o.state = '{TurnState.DONE}' "
            f"OR (o.state = '{TurnState.STOPPED}' AND o.goes_on = 1))",
            (turn, former),
        ).fetchall():
            return former, str(visible)
    return None


def give_back(db: Connection, turn: int) -> bool:
    """Put the former answer back into the history that the model reads; return False if there is none."""
    former = find_former_answer(db, turn)
    if former is None:
        return False
    _set_superseded(db, former[0], 0)
    return True


def take_from_history(db: Connection, turn: int) -> None:
    """Take a former answer that was given back out of the history again: its question is asked once more."""
    for former in list_former(db, turn):
        _set_superseded(db, former, 1)


def is_answered_again(db: Connection, turn: int) -> bool:
    """Return True if a newer answer to the question of a turn is complete."""
    newest = find_newest_answer(db, turn)
    row = db.execute("SELECT state FROM turns WHERE id = ?", (newest,)).fetchone()
    return newest != turn and row is not None and row[0] == TurnState.DONE


def _set_superseded(db: Connection, turn: int, superseded: int) -> None:
    spans = db.execute("SELECT chat, first_sequence, last_sequence FROM turns WHERE id = ?", (turn,)).fetchall()
    db.executemany(
        "UPDATE history SET superseded = ? WHERE chat = ? AND sequence BETWEEN ? AND ?",
        [(superseded, *span) for span in spans],
    )
