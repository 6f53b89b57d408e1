"""Running turns: every state is stored before the step it announces, so that `kill -9` loses no answer.

A turn is keyed by its inbox id. Writing to a turn whose chat was forgotten meanwhile changes nothing and is no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from bot.contract import (
    OUTSIDE,
    AssistantEntry,
    ChatId,
    Entry,
    MessageRef,
    Usage,
    entry_from_json,
    is_within,
    join_origins,
)
from bot.store.approvals import load_approval
from bot.store.branches import find_newest_answer, find_shown_in, list_answers, place_turn
from bot.store.callrecords import call_columns, list_calls
from bot.store.files import attachments_of, keep_files, keep_pictures, load_pictures, produced_files
from bot.store.former import find_former_answer, is_answered_again, take_from_history
from bot.store.history import entries_of
from bot.store.incoming import incoming_from_json
from bot.store.intake import count_attempt
from bot.store.queries import Queries, in_place, place_range
from bot.store.records import (
    CallRecord,
    Delivered,
    PageRecord,
    PassRecord,
    ReplyRecord,
    StoredTurn,
    TurnRecord,
    message_ref,
)
from bot.store.replacing import (
    Replaced,
    find_standing_answer,
    forget_question,
    keep_effects,
    list_rows,
    load_replaced,
    supersede,
)
from bot.store.sql import Connection
from bot.store.states import PageState, TurnState
from bot.store.text import entry_json, result_json, usage_from_json, usage_json
from bot.store.turnrecords import ANSWERS, TURN, close_turn, open_turn, turn_record
from tools.contract.base import ToolCall, ToolResult, ToolStatus
from tools.contract.plaintext import to_plain


class Turns(Queries):
    """Stores the progress of running turns, and reads the records of ended ones."""

    async def begin(self, turn: int, chat: ChatId, person: str) -> int:
        """Count an attempt and open the turn's record in one transaction; see `Intake.begin` and `open`."""
        now = self._clock.wall()

        def work(db: Connection) -> int:
            attempts = count_attempt(db, turn)
            if attempts:
                open_turn(db, turn, chat, person, now)
            return attempts

        return await self._writer.run(work)

    async def open(self, turn: int, chat: ChatId, person: str) -> None:
        """Create the record of a turn, unless it exists."""
        now = self._clock.wall()
        await self._writer.run(lambda db: open_turn(db, turn, chat, person, now))

    async def save_pass(
        self, turn: int, number: int, entry: AssistantEntry, model: str, usage: Usage, *, brings_on: bool = False
    ) -> AssistantEntry:
        """Store the result of a pass with its pictures, and the tool calls it asks for as `pending`, before they start.

        Return it as it is stored: with the ids of its pictures, and without those that are too long to be kept.

        Args:
            brings_on: the attempts so far do not count any more.
        """
        now = self._clock.wall()
        calls = [(number, place, *call_columns(call), now, turn) for place, call in enumerate(entry.calls)]

        def work(db: Connection) -> AssistantEntry:
            kept = keep_pictures(db, turn, entry, now) if entry.pictures else entry
            row = (number, entry_json(kept), to_plain(model), usage_json(usage), turn)
            db.execute(
                "INSERT INTO passes (turn, number, entry, model, usage) SELECT id, ?, ?, ?, ? FROM turns WHERE id = ? "
                "ON CONFLICT (turn, number) DO UPDATE SET entry = excluded.entry, model = excluded.model, "
                "usage = excluded.usage",
                row,
            )
            db.executemany(
                "INSERT INTO calls (turn, pass, position, call_id, name, arguments, problem, effects, status, "
                f"started_at) SELECT id, ?, ?, ?, ?, ?, ?, 0, '{ToolStatus.PENDING}', ? FROM turns WHERE id = ? "
                "ON CONFLICT DO NOTHING",
                calls,
            )
            if brings_on:
                db.execute("UPDATE inbox SET attempts = 0 WHERE id = ? AND attempts > 0", (turn,))
            return kept

        return await self._writer.run(work)

    async def start_call(self, turn: int, call: ToolCall, *, passnumber: int, position: int, effects: bool) -> None:
        """Store that a call is about to run, for the first time or again."""
        await self._writer.execute(
            "INSERT INTO calls (turn, pass, position, call_id, name, arguments, problem, effects, status, started_at) "
            f"SELECT id, ?, ?, ?, ?, ?, ?, ?, '{ToolStatus.RUNNING}', ? FROM turns WHERE id = ? "
            "ON CONFLICT (turn, pass, position) DO UPDATE SET call_id = excluded.call_id, name = excluded.name, "
            "arguments = excluded.arguments, problem = excluded.problem, effects = excluded.effects, "
            "status = excluded.status, result = NULL, text = NULL, started_at = excluded.started_at, seconds = 0",
            (passnumber, position, *call_columns(call), effects, self._clock.wall(), turn),
        )

    async def end_call(self, turn: int, call_id: str, result: ToolResult) -> None:
        """Store what a call came to, with the files it produced: the newest of this id, and of several the first that
        still runs. A file over the limit of `store.files` is left out.
        """
        now = self._clock.wall()
        ended = (result.status, to_plain(result.text), result.seconds)

        def work(db: Connection) -> None:
            files = keep_files(db, turn, result.files, now) if result.files else []
            db.execute(
                "UPDATE calls SET status = ?, text = ?, seconds = ?, result = ? WHERE (turn, pass, position) = "
                "(SELECT turn, pass, position FROM calls WHERE turn = ? AND call_id = ? "
                "ORDER BY pass DESC, CASE status WHEN ? THEN 0 WHEN ? THEN 1 ELSE 2 END, position LIMIT 1)",
                (*ended, result_json(result, files), turn, to_plain(call_id), ToolStatus.RUNNING, ToolStatus.PENDING),
            )

        await self._writer.run(work)

    async def keep_checkpoint(self, turn: int, state: str) -> None:
        """Store the state of an agent of another author, until the turn ends."""
        await self._writer.execute("UPDATE turns SET checkpoint = ? WHERE id = ?", (to_plain(state), turn))

    async def save_page(
        self, turn: int, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str
    ) -> None:
        """Store a page as it is now."""
        await self._writer.execute(
            "INSERT INTO pages (turn, number, chat, ends, body, message, form, state, nonce) "
            "SELECT id, ?, chat, 0, ?, ?, ?, ?, ? FROM turns WHERE id = ? "
            "ON CONFLICT (turn, number) DO UPDATE SET body = excluded.body, message = excluded.message, "
            "form = excluded.form, state = excluded.state, nonce = excluded.nonce",
            (number, to_plain(body), ref and ref.id, ref and ref.form, state, nonce, turn),
        )

    async def load(self, turn: int) -> StoredTurn:
        """Return everything stored of a turn; nothing for one that was never opened."""
        return await self._readers.read(lambda db: _load(db, turn))

    async def list_calls(self, turn: int) -> list[CallRecord]:
        """Return the tool calls of a turn, running or ended, in order."""
        return await self._readers.read(lambda db: list_calls(db, turn))

    async def close(
        self,
        turn: int,
        state: TurnState,
        entries: Sequence[Entry],
        *,
        visible: str,
        reasoning: str,
        model: str,
        usage: Usage,
        dollars: float = 0.0,
        error: str = "",
        tokens: Sequence[int] = (),
        again_at: float | None = None,
        cuts: Sequence[int] = (),
        withheld: bool = False,
        goes_on: bool = False,
        stays: bool = False,
        delivered: Delivered = Delivered(),  # noqa: B008 - frozen
    ) -> list[int]:
        """End a turn in one transaction: its entries join the chat's history, its record is written, its inbox row
        ends, and what was kept only for resuming is dropped. A turn that has ended already is left as it is.

        If it answered its question again, return the former answers that are on the screen: they are to be shown again.
        If it came to nothing, the former answer is in the history again, in its place.

        What is `withheld` is kept, and not given to the model again. What `goes_on` was cut off: more can be written.
        The row of one that `stays` does not end: something is still to be done, as to speak it. `tokens` are the sizes
        of `entries`, as the context counts them; a rough estimate where left out. `again_at` is the wall-clock time at
        which its reply is to be shown again, and `cuts` are the ends of its pages in its text; see `unsettled`.

        Raises:
            ValueError: `state` is no end, or `tokens` do not fit `entries`.
        """
        record = {
            "visible": to_plain(visible),
            "reasoning": to_plain(reasoning),
            "model": to_plain(model),
            "usage": usage_json(usage),
            "prompt": usage.prompt,
            "completion": usage.completion,
            "dollars": dollars,
            "error": to_plain(error),
            "again_at": again_at,
            "goes_on": int(goes_on),
            **asdict(delivered),
        }
        now = self._clock.wall()
        return await close_turn(self._writer, turn, state, entries, tokens, record, now, cuts, withheld, stays)

    async def list_unsettled(self, within: str = "") -> list[tuple[int, ChatId, float, float]]:
        """Ended turns whose reply is to be shown again, oldest first: each with its chat, when that is to be, and when
        it ended, both in wall-clock time; all of them, or those of a platform or a place."""
        condition, values = ("", ()) if ":" not in within else (f"AND {in_place('c.chat')}", place_range(within))
        rows = await self._readers.fetch_rows(
            "SELECT t.id, c.chat, t.again_at, t.ended_at FROM turns t JOIN chats c ON c.id = t.chat "
            f"WHERE t.again_at IS NOT NULL {condition} ORDER BY t.id",
            values,
        )
        found = [(int(turn), ChatId.parse(chat), float(at), float(ended)) for turn, chat, at, ended in rows]
        return [one for one in found if not within or is_within(one[1], within)]

    async def load_shown(self, turn: int) -> ReplyRecord | None:
        """Return what an ended turn showed; None if its chat was forgotten."""
        return await self._readers.read(lambda db: _shown(db, turn))

    async def show_again(self, turn: int, at: float | None) -> None:
        """Store when the reply of an ended turn is shown again; None: it needs no other showing."""
        await self._writer.execute("UPDATE turns SET again_at = ? WHERE id = ?", (at, turn))

    async def find_last(self, chat: ChatId) -> TurnRecord | None:
        """Return the newest ended turn of a chat since its last `/new` that was not answered again."""
        row = await self._readers.fetch_row(
            f"{TURN} WHERE c.chat = ? AND t.id > c.since_turn AND {ANSWERS} ORDER BY t.id DESC LIMIT 1", (str(chat),)
        )
        return None if row is None else turn_record(row)

    async def find_last_of_channel(self, chat: ChatId, person: str) -> TurnRecord | None:
        """Return the same for a channel with all its threads: this person's newest turn, else anybody's."""
        channel = str(ChatId(chat.platform, chat.account, chat.chat))
        row = await self._readers.fetch_row(
            # Ids of threads begin with their channel's and a slash, behind which "0" is the next sign.
            f"{TURN} WHERE (c.chat = ? OR (c.chat > ? AND c.chat < ?)) AND t.id > c.since_turn "
            f"AND {ANSWERS} ORDER BY t.person = ? DESC, t.id DESC LIMIT 1",
            (channel, f"{channel}/", f"{channel}0", to_plain(person)),
        )
        return None if row is None else turn_record(row)

    async def find_record(self, turn: int) -> TurnRecord | None:
        """Return a turn by its number, running or ended; None if there is none."""
        row = await self._readers.fetch_row(f"{TURN} WHERE t.id = ?", (turn,))
        return None if row is None else turn_record(row)

    async def find_newest(self) -> int:
        """Return the number of the newest turn; 0 if there is none."""
        row = await self._readers.fetch_row("SELECT coalesce(max(id), 0) FROM turns")
        return 0 if row is None else int(row[0])

    async def find_shown_in(self, chat: ChatId, message: str) -> int:
        """Return the turn whose reply a message holds, or 0."""
        return await self._readers.read(lambda db: find_shown_in(db, str(chat), message))

    async def rate(self, turn: int, rating: str) -> None:
        """Keep what the person thought of a turn's answer; the latest word counts."""
        await self._writer.execute("UPDATE turns SET rating = ? WHERE id = ?", (rating, turn))

    async def find_newest_answer(self, turn: int) -> int:
        """Return the turn that answered the question of `turn` last: itself, or the last that replaced it."""
        return await self._readers.read(lambda db: find_newest_answer(db, turn))

    async def list_answers(self, chat: ChatId, message_id: str) -> list[int]:
        """Return the inbox rows of a person's message in every version, and of all that answered it, in order."""
        return await self._readers.read(lambda db: list_rows(db, chat, message_id))

    async def take_over(
        self, turn: int, old: int, chat: ChatId, person: str, *, asks_again: bool = False, messages: bool = True
    ) -> int:
        """Open a turn in the place of `old`, whose question was changed or is asked again: its answer leaves the
        history that the model sees, its messages are this turn's from now on, and so are its calls with effects.
        What buttons below that answer brought goes with it. Return the turn replaced; called again for the same turn
        (a resumed one), the same.

        Args:
            asks_again: the turn answers the question of `old`; else one of its own.
            messages: False: the messages on screen stay.
        """
        now = self._clock.wall()

        def work(db: Connection) -> int:
            open_turn(db, turn, chat, person, now)
            for done in _list_replaced(db, turn):
                return done
            newest = find_standing_answer(db, old)
            former = [one for one in list_answers(db, newest) if newest <= one < turn]
            calls = [call for one in former for call in _load(db, one).calls]
            told = [entry for one in former for entry in _passes_of(db, one)]
            for one in former:
                supersede(db, one, turn, now, messages=messages)
            take_from_history(db, newest)
            if asks_again:
                asked = "UPDATE turns SET question = (SELECT question FROM turns WHERE id = ?) WHERE id = ?"
                db.execute(asked, (newest, turn))
            place_turn(db, turn, newest)
            keep_effects(db, turn, calls, told)
            return newest

        return await self._writer.run_last(work)

    async def list_replaced(self, turn: int) -> list[int]:
        """Return the turns whose place this one has taken, in order."""
        return await self._readers.read(lambda db: _list_replaced(db, turn))

    async def find_former_answer(self, turn: int) -> str:
        """Return the text of the last former answer to the question of a turn; empty if there is none."""
        found = await self._readers.read(lambda db: find_former_answer(db, turn))
        return "" if found is None else found[1]

    async def load_replaced(self, turn: int) -> Replaced | None:
        """Return what the question of a turn was before it was changed; None where nothing was answered of it."""
        return await self._readers.read(lambda db: load_replaced(db, turn))

    async def forget(self, chat: ChatId, message_id: str) -> None:
        """Delete a person's message in every version, and the turns that answered it."""
        await self._writer.run_last(lambda db: forget_question(db, chat, message_id))

    async def origin_of(self, chat: ChatId, message_id: str) -> str:
        """Return the origin (`bot.contract.origin`) of the words in one of the bot's own messages."""
        rows = await self._readers.fetch_rows(
            "SELECT coalesce(h.body, b.body) FROM chats c JOIN pages p ON p.chat = c.id "
            "JOIN turns t ON t.id = p.turn "
            "JOIN history h ON h.chat = t.chat AND h.sequence BETWEEN t.first_sequence AND t.last_sequence "
            "LEFT JOIN bodies b ON b.id = h.aside WHERE c.chat = ? AND p.message = ?",
            (str(chat), message_id),
        )
        return join_origins(entry_from_json(body).origin for (body,) in rows) if rows else OUTSIDE


def _load(db: Connection, turn: int) -> StoredTurn:
    passes = db.execute("SELECT number, entry, model, usage FROM passes WHERE turn = ? ORDER BY number", (turn,))
    pages = db.execute(
        "SELECT number, ends, body, message, form, p.state, nonce, started_at FROM pages p JOIN turns t ON t.id = turn "
        "WHERE turn = ? ORDER BY number",
        (turn,),
    ).fetchall()
    checkpoint = db.execute("SELECT checkpoint FROM turns WHERE id = ?", (turn,)).fetchone()
    return StoredTurn(
        turn,
        tuple(
            PassRecord(number, _assistant(db, entry), model, usage_from_json(usage))
            for number, entry, model, usage in passes
        ),
        tuple(_with_files(db, turn, call) for call in list_calls(db, turn)),
        tuple(
            PageRecord(number, end, body, message_ref(message, form), PageState(state), nonce)
            for number, end, body, message, form, state, nonce, _ in pages
        ),
        tuple(attachments_of(db, turn)),
        float(pages[0][-1]) if pages else 0.0,
        str(checkpoint[0]) if checkpoint else "",
    )


def _list_replaced(db: Connection, turn: int) -> list[int]:
    rows = db.execute("SELECT id FROM turns WHERE superseded_by = ? ORDER BY id", (turn,)).fetchall()
    return [int(one) for (one,) in rows]


def _shown(db: Connection, turn: int) -> ReplyRecord | None:
    row = db.execute(
        "SELECT c.chat, q.incoming, own.incoming, t.visible, t.goes_on, "
        "NOT EXISTS (SELECT 1 FROM turns n WHERE n.chat = t.chat AND n.id > t.id), t.superseded_by FROM turns t "
        "JOIN chats c ON c.id = t.chat JOIN inbox q ON q.id = t.question JOIN inbox own ON own.id = t.id "
        "WHERE t.id = ? AND t.ended_at IS NOT NULL "
        # Its messages may show what took its place.
        "AND (t.superseded_by IS NULL OR EXISTS (SELECT 1 FROM pages p WHERE p.turn = t.id))",
        (turn,),
    ).fetchone()
    if row is None:
        return None
    chat, question, own, visible, goes_on, newest, superseded = row
    asked, target = incoming_from_json(question), incoming_from_json(own).target
    stored, approval = _load(db, turn), load_approval(db, turn)
    is_former = superseded is not None and is_answered_again(db, turn)
    given = (bool(newest), bool(goes_on), approval, is_former)
    return ReplyRecord(ChatId.parse(chat), asked, target, visible, stored, *given)


def _with_files(db: Connection, turn: int, record: CallRecord) -> CallRecord:
    if record.result is None:
        return record
    files = produced_files(db, turn, record.passnumber, record.position)
    return replace(record, result=replace(record.result, files=files)) if files else record


def _passes_of(db: Connection, turn: int) -> list[Entry]:
    """Return what a turn's passes came to: stored while it runs, in the history afterwards."""
    rows = db.execute("SELECT entry FROM passes WHERE turn = ?", (turn,)).fetchall()
    return [entry_from_json(body) for (body,) in rows] + entries_of(db, turn)


def _assistant(db: Connection, text: str) -> AssistantEntry:
    entry = entry_from_json(text)
    assert isinstance(entry, AssistantEntry)
    return load_pictures(db, entry) if entry.pictures else entry
