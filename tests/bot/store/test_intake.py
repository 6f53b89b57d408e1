"""The inbox: every delivery once, in order, and with one end."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from bot.contract.errors import StoreError
from bot.contract.messages import ChatId, Enclosure, EnclosureKind, Incoming, MessageSent, Quoted
from bot.store import Connection, InboxState, Store
from bot.store.faults import DatabaseError, Fault
from bot.store.incoming import incoming_from_json
from bot.store.intake import is_idle
from bot.store.states import UNFINISHED
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, taken_in

DAY = 86_400.0


async def test_a_message_delivered_ten_times_is_taken_in_once(store: Store, message: Message) -> None:
    ids = await asyncio.gather(*(store.intake.take_in(message("u1")) for _ in range(10)))

    assert sorted(ids, key=str) == [1] + [None] * 9
    assert [row.incoming for row in await store.intake.list_waiting()] == [message("u1")]


async def test_a_redelivery_after_a_restart_is_recognised(url: str, clock: HandClock, message: Message) -> None:
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message("u1"))

    async with Store.open(url, clock=clock) as store:
        assert await store.intake.take_in(message("u1")) is None


async def test_one_message_that_arrives_as_two_events_is_taken_in_once(store: Store, message: Message) -> None:
    first = message("event-1", also=("C1/17.5",))
    second = message("event-2", also=("C1/17.5",))

    assert await store.intake.take_in(first) == 1
    assert await store.intake.take_in(second) is None
    assert await store.intake.take_in(message("event-2")) is None, "the second event's own key was kept too"


async def test_the_same_delivery_id_means_another_message_for_another_account(store: Store, message: Message) -> None:
    assert await store.intake.take_in(message("1", where=ChatId("telegram", "42", "7")))
    assert await store.intake.take_in(message("1", where=ChatId("telegram", "43", "7")))
    assert await store.intake.take_in(message("1", where=ChatId("discord", "42", "7")))


async def test_half_a_surrogate_pair_does_not_make_a_message_unstorable(store: Store, message: Message) -> None:
    await store.intake.take_in(message("1", "emoji cut in two: \ud83d"))

    [row] = await store.intake.list_waiting()
    assert row.incoming == message("1", "emoji cut in two: \ufffd")


async def test_attempts_are_counted_before_the_work_and_survive_it(
    url: str, clock: HandClock, message: Message
) -> None:
    async with Store.open(url, clock=clock) as store:
        id = await taken_in(store, message())
        assert await store.intake.begin(id) == 1

    async with Store.open(url, clock=clock) as store:
        [row] = await store.intake.list_waiting()
        assert (row.id, row.state, row.attempts, row.received_at) == (id, "running", 1, clock.wall())
        assert await store.intake.begin(id) == 2


async def test_an_ended_row_waits_no_more_and_keeps_its_first_end(store: Store, message: Message) -> None:
    id = await taken_in(store, message())

    await store.intake.end(id, InboxState.STOPPED)
    await store.intake.end(id, InboxState.DONE)

    assert await store.intake.list_waiting() == []
    assert await store.intake.begin(id) == 0
    assert await states(store) == ["stopped"]


async def test_an_unknown_end_is_a_mistake_of_the_caller(store: Store) -> None:
    with pytest.raises(ValueError, match="is no end"):
        await store.intake.end(1, InboxState.NEW)


async def test_rows_wait_in_the_order_of_their_intake(store: Store, message: Message) -> None:
    for delivery in "9", "3", "7":
        await store.intake.take_in(message(delivery))

    assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["9", "3", "7"]


async def test_a_row_of_a_later_version_is_given_up_and_the_others_go_on(
    store: Store, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    await store.intake.take_in(message("1"))
    await store.intake.take_in(message("2"))
    await store.writer.execute("""UPDATE inbox SET incoming = '{"kind": "telepathy"}' WHERE id = 1""")

    assert [row.id for row in await store.intake.list_waiting()] == [2]
    assert await states(store) == ["failed", "new"]
    assert "inbox row 1 cannot be read" in caplog.text


async def test_long_texts_that_wait_are_read_beside_the_event_loop(
    store: Store, message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start with a hundred texts of a megabyte held up every chat for half a second."""
    read: list[threading.Thread] = []

    def read_noted(text: str) -> Incoming:
        read.append(threading.current_thread())
        return incoming_from_json(text)

    monkeypatch.setattr("bot.store.intake.incoming_from_json", read_noted)
    await store.intake.take_in(message())

    assert len(await store.intake.list_waiting()) == len((await store.intake.look("telegram:42/7", set()))[0]) == 1
    assert len(read) == 2 and threading.current_thread() not in read


async def test_delivery_keys_are_kept_for_a_week_and_not_for_ever(
    store: Store, clock: HandClock, message: Message
) -> None:
    id = await taken_in(store, message("u1"))
    await store.intake.end(id, InboxState.DONE)

    clock.day += 8 * DAY
    await store.prune()
    assert await store.intake.take_in(message("u1")) is None

    clock.day += 3 * DAY
    await store.prune()
    assert await states(store) == []
    assert await store.intake.take_in(message("u1")) == 2


async def states(store: Store) -> list[str]:
    rows = await store.writer.run(lambda db: db.execute("SELECT state FROM inbox ORDER BY id").fetchall())
    return [row[0] for row in rows]


async def test_old_delivery_keys_go_a_few_at_a_time(store: Store) -> None:
    await store.writer.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "
        "INSERT INTO deliveries SELECT 'telegram', '42', i, 0 FROM n"
    )
    before = store.writer.commits

    await store.intake.prune()

    assert store.writer.commits - before == 3
    assert await store.writer.run(lambda db: db.execute("SELECT count(*) FROM deliveries").fetchone()) == (0,)


@OF_THE_FILE
async def test_unfinished_rows_are_found_by_their_index(store: Store) -> None:
    plan = await store.writer.run(
        lambda db: db.execute(f"EXPLAIN QUERY PLAN SELECT id FROM inbox WHERE {UNFINISHED} ORDER BY id").fetchall()
    )

    assert [step[3] for step in plan] == ["SCAN inbox USING INDEX inbox_waiting"]


async def test_what_became_of_enclosures_is_kept_with_the_question_unless_it_was_changed(
    store: Store, message: Message
) -> None:
    voice = Enclosure(kind=EnclosureKind.VOICE, source="v", seconds=3)
    asked = message("u1", enclosed=(voice,), quoted=Quoted(text="", enclosed=(voice,)))
    turn = await taken_in(store, asked)
    heard = replace(voice, text="Hello")
    await store.intake.keep_enclosed(turn, replace(asked, enclosed=(heard,)))
    assert await enclosed_in_row(store) == [""], "there is no turn that asks it"

    await store.turns.begin(turn, asked.chat, asked.sender.id)
    kept = replace(asked, text="other", enclosed=(heard,), quoted=Quoted(text="", enclosed=(heard,)))
    await store.intake.keep_enclosed(turn, kept)
    await store.intake.keep_enclosed(turn, replace(asked, enclosed=()))

    assert await enclosed_in_row(store) == ["Hello"]
    [row] = await store.intake.list_waiting()
    assert isinstance(row.incoming, MessageSent) and row.incoming.text == asked.text
    assert row.incoming.quoted is not None and row.incoming.quoted.enclosed[0].text == "Hello"


async def enclosed_in_row(store: Store) -> list[str]:
    [row] = await store.intake.list_waiting()
    assert isinstance(row.incoming, MessageSent)
    return [one.text for one in row.incoming.enclosed]


async def test_a_question_that_is_changed_is_found_by_what_it_says_now(
    store: Store, chat: ChatId, message: Message
) -> None:
    old = await taken_in(store, message("1", "first", message_id="m1"))
    changed = await taken_in(store, message("2", "later"))
    ended = await taken_in(store, message("3", "the same"))
    await store.turns.open(changed, chat, "telegram:1")
    assert await store.people.list_questions("telegram:1") == ["later"]

    await store.intake.revise_question(changed, message("2", "all", message_id="m1", command="export", replaces=old))
    assert await store.people.list_questions("telegram:1") == [], "it is a command now"
    assert await store.turns.list_answers(chat, "m1") == [old, changed]
    await store.intake.join(changed, message("2", "both"), ended)

    assert await store.people.list_questions("telegram:1") == ["both"]
    assert [row.id for row in await store.intake.list_waiting()] == [changed]


async def test_a_message_is_stored_only_together_with_who_serves_its_place(store: Store, message: Message) -> None:
    served: list[tuple[str, int]] = []

    def fails(db: Connection, place: str, row: int) -> None:
        raise DatabaseError(Fault.FULL, "database or disk is full")

    topic = message("1", where=ChatId("telegram", "42", "7", "9"))
    with pytest.raises(StoreError):
        await store.intake.take_in(topic, None, fails)
    id = await store.intake.take_in(topic, None, lambda _, place, row: served.append((place, row)))
    again = await store.intake.take_in(topic, None, lambda _, place, row: served.append((place, row)))

    assert served == [("telegram:42/7", id)] and again is None


async def test_what_is_unfinished_is_found_by_place_whatever_names_chats_have(store: Store, message: Message) -> None:
    chats = [
        ChatId("telegram", "42", chat, thread) for chat in ("7", "7/9", "", "%2F") for thread in ("", "9", "9/9", "%")
    ]
    ids = [await taken_in(store, message(str(number), where=chat)) for number, chat in enumerate(chats)]
    await store.intake.end(ids[0], InboxState.DONE)

    found = await store.intake.map_unfinished()

    places = {
        str(chat.place): {id for id, one in zip(ids, chats, strict=True) if one.place == chat.place} for chat in chats
    }
    places[str(chats[0])].remove(ids[0])
    assert found == places


async def test_what_is_unfinished_in_a_place_is_found_with_its_threads_and_nothing_of_its_neighbours(
    store: Store, message: Message
) -> None:
    channel, thread = ChatId("telegram", "42", "7"), ChatId("telegram", "42", "7", "9")
    others = [ChatId("telegram", "42", "70"), ChatId("telegram", "42", "7/9"), ChatId("telegram", "4", "2", "7")]
    ids = [
        await taken_in(store, message(str(number), where=where))
        for number, where in enumerate([channel, *others, thread, channel])
    ]
    mine = [ids[0], ids[-2], ids[-1]]

    rows, unfinished = await store.intake.look(str(channel), {ids[0]})
    assert [row.id for row in rows] == mine[1:] and unfinished == set(mine)
    for id in mine:
        assert not await store.writer.run(lambda db: is_idle(db, str(channel)))
        await store.intake.end(id, InboxState.DONE)
    assert await store.writer.run(lambda db: is_idle(db, str(channel)))
    assert await store.intake.look(str(channel), {ids[0]}) == ([], set())
    assert len(await store.intake.list_waiting()) == len(others)
