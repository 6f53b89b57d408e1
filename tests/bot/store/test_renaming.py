"""What is stored of a chat goes along when the chat has another id; a Discord thread got its channel's in schema 26."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Scalar, Sender
from bot.contract.transcript import AssistantEntry, Usage, UserEntry
from bot.policy.budgets import DAY
from bot.store import Amount, Limit, Store
from bot.store.incoming import columns_of, incoming_from_json
from bot.store.renaming import ChatNames, rename_chat
from bot.store.schema import STEPS, upgrade
from bot.store.states import TurnState
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, taken_in
from tools.contract.base import NewReminder

OLD, NEW = ChatId("discord", "1", "500"), ChatId("discord", "1", "20", "500")
NEIGHBOUR = ChatId("discord", "1", "5001")
HOSTILE = 'she wrote "chat": ["discord", "1", "500", ""] to me'
ADA = Sender(id="discord:7", name="Ada")


async def fill(store: Store, message: Message, chat: ChatId) -> int:
    """Keep something of every kind of a chat; the turn that was answered there."""
    turn = await taken_in(store, message(f"{chat} asked", HOSTILE, where=chat, message_id="m1", group=True))
    await store.turns.open(turn, chat, ADA.id)
    entries = (UserEntry("why?"), AssistantEntry("Because."))
    await store.turns.close(
        turn, TurnState.DONE, entries, visible="Because.", reasoning="", model="", usage=Usage(3, 4)
    )
    await taken_in(store, message(f"{chat} waits", where=chat))
    await store.settings.set(chat, "persona", "a pirate")
    await store.access.set_role(str(chat), "blocked")
    await store.facts.remember(str(chat), "tea at four")
    await store.files.put(str(chat), "a.txt", "text/plain", b"tea")
    await store.spending.count([Limit(f"chat {chat}", DAY, Amount())], Amount(tokens=5, messages=1))
    timers = store.timers.bind(chat, ADA, ReplyTarget("discord", {"channel": 500}))
    await timers.set(str(chat), ADA.id, NewReminder(2_000_000_000.0, "water the fern"))
    return turn


async def look(store: Store, chat: ChatId) -> dict[str, object]:
    """What is found of a chat, by what kind of thing it is."""
    _, entries = await store.history.load(chat)
    found = await store.intake.find_question(chat, "m1")
    last = await store.turns.find_last(chat)
    due = [timer.text for timer in await store.timers.list_due(3e9, ["discord"]) if timer.chat == chat]
    [spent] = await store.spending.list_used([f"chat {chat.place}"], DAY)
    return {
        "history": len(entries),
        "question": found and (found[1].chat == chat, found[1].text),
        "answer": last and (last.visible, last.chat == chat, last.incoming.chat == chat),
        "waiting": sum(row.chat == chat == row.incoming.chat for row in await store.intake.list_waiting()),
        "settings": await store.settings.list_of(chat),
        "role": await store.access.role_of(str(chat)),
        "facts": [text for _, _, text in await store.facts.recall((str(chat),), "", 9)],
        "file": await store.files.read(str(chat), "a.txt"),
        "reminders": due,
        "listed": [one.text for one in await store.timers.bind(chat, ADA, None).pending(str(chat), ADA.id)],
        "spent": spent.tokens,
    }


EVERYTHING = {
    "history": 2,
    "question": (True, HOSTILE),
    "answer": ("Because.", True, True),
    "waiting": 1,
    "settings": {"persona": "a pirate"},
    "role": "blocked",
    "facts": ["tea at four"],
    "file": b"tea",
    "reminders": ["water the fern"],
    "listed": ["water the fern"],
    "spent": 5,
}
NOTHING: dict[str, object] = {
    "history": 0,
    "question": None,
    "answer": None,
    "waiting": 0,
    "settings": {},
    "role": None,
    "facts": [],
    "file": None,
    "reminders": [],
    "listed": [],
    "spent": 0,
}


async def list_unplaced(store: Store, *chats: ChatId) -> None:
    """Let chats be such as an earlier version kept."""
    rows = [(str(chat),) for chat in chats]
    await store.writer.run(lambda db: db.executemany("INSERT INTO unplaced (chat) VALUES (?)", rows))


async def test_everything_of_a_thread_goes_along_when_it_speaks_again(store: Store, message: Message) -> None:
    await fill(store, message, OLD)
    await fill(store, message, NEIGHBOUR)
    await list_unplaced(store, OLD, NEIGHBOUR)

    await store.names.place(NEW)
    await store.names.place(NEW)

    assert await look(store, NEW) == EVERYTHING
    assert await look(store, OLD) == NOTHING
    assert await look(store, NEIGHBOUR) == EVERYTHING


async def test_a_thread_that_speaks_to_two_processes_goes_along_once(
    store: Store, message: Message, clock: HandClock
) -> None:
    other = ChatNames(store.names._writer, store.names._readers, clock)
    await list_unplaced(store, OLD)
    await other.place(ChatId("discord", "1", "20", "7"))

    await store.names.place(NEW)
    await fill(store, message, OLD)
    await other.place(NEW)

    assert await look(store, OLD) == EVERYTHING


async def test_a_chat_of_this_version_is_never_taken_for_a_thread(store: Store, message: Message) -> None:
    await fill(store, message, OLD)

    await store.names.place(NEW)
    await store.names.place(ChatId("telegram", "1", "-20", "500"))

    assert await look(store, OLD) == EVERYTHING


async def test_what_the_new_chat_has_of_its_own_stays(store: Store, message: Message, clock: HandClock) -> None:
    await fill(store, message, OLD)
    await store.settings.set(NEW, "persona", "a poet")
    await store.facts.remember(str(NEW), "tea at four")
    await store.spending.count([Limit(f"chat {NEW.place}", DAY, Amount())], Amount(tokens=2))

    await store.writer.run(lambda db: rename_chat(db, OLD, NEW))

    expected = EVERYTHING | {"settings": {"persona": "a poet"}, "spent": 7}
    assert await look(store, NEW) == expected
    assert await look(store, OLD) == NOTHING


async def test_two_histories_are_not_mixed_and_the_operator_is_told(
    store: Store, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(store, message, OLD)
    turn = await taken_in(store, message("of its own", where=NEW))
    await store.turns.open(turn, NEW, ADA.id)

    await store.writer.run(lambda db: rename_chat(db, OLD, NEW))

    assert "discord:1/20/500 has a history of its own: that of discord:1/500 stays where it is" in caplog.text
    assert (await look(store, OLD))["history"] == 2


@OF_THE_FILE
async def test_the_step_places_threads_that_the_bot_opened_and_lists_the_rest(
    tmp_path: Path, database: str, clock: HandClock
) -> None:
    """Beside a row that nobody can read, and texts that look like a target."""
    targets: dict[int, dict[str, Scalar]] = {
        500: {"channel": 500, "opens": 20},
        600: {"channel": 600},
        700: {"channel": 7, "opens": "x"},
    }
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as db:
        upgrade(db, STEPS[:25])
        for number, data in targets.items():
            where = ChatId("discord", "1", str(number))
            sent = MessageSent(
                delivery="1", chat=where, sender=ADA, target=ReplyTarget("discord", data), text='"opens": 9'
            )
            db.execute(
                "INSERT INTO inbox (chat, incoming, received_at) VALUES (?, ?, 0)", (str(where), columns_of(sent)[0])
            )
        db.execute("INSERT INTO inbox (chat, incoming, received_at) VALUES ('discord:1/800', 'torn \"opens\": ', 0)")
        db.execute("INSERT INTO settings VALUES ('discord:1/500', 'persona', 'a pirate')")
        db.execute("INSERT INTO settings VALUES ('telegram:1/5', 'persona', 'a poet')")
        db.execute("INSERT INTO roles VALUES ('discord:1/900', 'blocked', 0)")
        db.execute("INSERT INTO roles VALUES ('discord:7', 'owner', 0)")
        upgrade(db)
        unplaced = [chat for (chat,) in db.execute("SELECT chat FROM unplaced ORDER BY chat")]
        [(chat, text)] = db.execute("SELECT chat, incoming FROM inbox WHERE id = 1").fetchall()
        settings = db.execute("SELECT chat FROM settings ORDER BY chat").fetchall()

    assert unplaced == ["discord:1/600", "discord:1/700", "discord:1/800", "discord:1/900"]
    assert (chat, incoming_from_json(text).chat) == ("discord:1/20/500", NEW)
    assert settings == [("discord:1/20/500",), ("telegram:1/5",)]
    assert json.loads(text)["target"]["data"] == targets[500]


async def test_a_group_moves_once_and_its_former_id_is_known(store: Store, message: Message) -> None:
    group, now = ChatId("telegram", "1", "-50"), ChatId("telegram", "1", "-10050")
    await fill(store, message, group)

    moved = [await store.names.move(group, now), await store.names.move(group, now)]

    assert moved == [True, False]
    assert await store.names.list_former() == {"telegram:1/-10050": "telegram:1/-50"}
    found = await look(store, now)
    assert (found["history"], found["question"], found["waiting"], found["spent"]) == (2, (True, HOSTILE), 1, 5)
