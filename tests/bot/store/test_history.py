"""What a chat remembers, and what it forgets."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract.errors import StoreError
from bot.contract.messages import ChatId, MessageRef, ReplyTarget, Sender
from bot.contract.transcript import AssistantEntry, Entry, ToolEntry, Usage, UserEntry
from bot.store import HistoryRow, PageRecord, PageState, Store, Summary, TurnState
from bot.store.export import Extent
from bot.store.history import NEWEST
from bot.store.schema import STEPS, upgrade
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Held, Message, taken_in
from tests.patience import PATIENCE
from tools.contract.base import NewReminder, ToolCall

OTHER = ChatId("telegram", "42", "8")
SECRET = "Rosebud was the sledge"


async def say(store: Store, message: Message, number: int, *entries: Entry, where: ChatId | None = None) -> int:
    """One turn, from message to end."""
    incoming = message(f"m{number}", f"{SECRET}?", **({"where": where} if where else {}))
    turn = await taken_in(store, incoming)
    await store.turns.open(turn, incoming.chat, "telegram:1")
    await store.turns.save_page(turn, 0, body=SECRET, ref=MessageRef(f"r{number}"), state=PageState.FINAL, nonce="")
    await store.turns.close(
        turn,
        TurnState.DONE,
        entries or (UserEntry(f"question {number}"), AssistantEntry(f"answer {number}")),
        visible=SECRET,
        reasoning=SECRET,
        model="m",
        usage=Usage(1, 1),
    )
    return turn


def calls(count: int) -> tuple[Entry, ...]:
    asked = tuple(ToolCall(f"c{number}", "search", {}) for number in range(count))
    results = (ToolEntry(f"c{number}", "search", "found") for number in range(count))
    return (UserEntry("q"), AssistantEntry("", asked), *results, AssistantEntry("a"))


def texts(rows: Sequence[HistoryRow]) -> list[str]:
    return [row.entry.text for row in rows]


async def test_a_chat_remembers_in_order_and_no_other_chats_words(store: Store, chat: ChatId, message: Message) -> None:
    await say(store, message, 1)
    await say(store, message, 2, where=OTHER)
    await say(store, message, 3)

    rows = await store.history.list_entries(chat)

    assert texts(rows) == ["question 1", "answer 1", "question 3", "answer 3"]
    assert [row.sequence for row in rows] == [1, 2, 3, 4]
    assert [row.turn for row in rows] == [1, 1, 3, 3]
    assert texts(await store.history.list_entries(OTHER)) == ["question 2", "answer 2"]
    assert await store.history.list_entries(ChatId("telegram", "42", "nobody")) == []


async def test_long_answers_come_back_whole(store: Store, chat: ChatId, message: Message) -> None:
    long = "很长的回答。" * 10_000

    await say(store, message, 1, UserEntry("q"), AssistantEntry(long))

    assert texts(await store.history.list_entries(chat)) == ["q", long]


@pytest.mark.parametrize("limit", range(1, 12))
async def test_a_cut_never_begins_inside_a_call_and_its_results(
    store: Store, chat: ChatId, message: Message, limit: int
) -> None:
    await say(store, message, 1, *calls(3))
    await say(store, message, 2, *calls(2))

    rows = await store.history.list_entries(chat, limit=limit)

    assert len(rows) <= limit
    assert rows
    assert not isinstance(rows[0].entry, ToolEntry)
    assert rows[-1].sequence == 11
    if limit >= 5:
        assert isinstance(rows[0].entry, UserEntry), "whole turns, where they fit"


async def test_sizes_are_the_ones_given_and_else_an_estimate(store: Store, chat: ChatId, message: Message) -> None:
    turn = await taken_in(store, message("a"))
    entries: list[Entry] = [UserEntry("你好" * 100), AssistantEntry("b")]
    await store.turns.close(
        turn, TurnState.DONE, entries, visible="", reasoning="", model="", usage=Usage(), tokens=[7, 8]
    )
    await say(store, message, 1, *entries)

    assert [row.tokens for row in await store.history.list_entries(chat)][:2] == [7, 8]
    assert [row.tokens for row in await store.history.list_entries(chat)][2] >= 200


async def test_after_new_the_model_sees_nothing_from_before(store: Store, chat: ChatId, message: Message) -> None:
    await say(store, message, 1)
    await store.history.set_summary(chat, "They said hello.", 2, first=1, after=0)

    await store.history.begin_anew(chat)
    await store.history.set_summary(chat, "Made from what was before.", 2, first=1, after=0)
    await say(store, message, 2)

    assert texts(await store.history.list_entries(chat)) == ["question 2", "answer 2"]
    assert await store.history.get_summary(chat) is None


async def test_a_summary_stands_until_the_next(store: Store, chat: ChatId, message: Message) -> None:
    await say(store, message, 1)
    assert await store.history.get_summary(chat) is None

    await store.history.set_summary(chat, "Hello was said.", 1, first=1, after=0)
    await store.history.set_summary(chat, "Hello was said twice.", 2, first=2, after=1)
    await store.history.set_summary(chat, "Made from another summary.", 2, first=2, after=0)

    assert await store.history.get_summary(chat) == Summary("Hello was said twice.", 2)


async def test_chats_are_listed_with_who_wrote_last_and_how_much(
    store: Store, chat: ChatId, message: Message, clock: HandClock
) -> None:
    await say(store, message, 1)
    clock.day += 60
    await say(store, message, 2, where=OTHER)
    clock.day += 60
    await say(store, message, 3)

    first, second = await store.history.list_chats()

    assert (first.chat, first.title, first.turns) == (chat, "Ada", 2)
    assert (second.chat, second.turns) == (OTHER, 1)
    assert first.bytes == 2 * second.bytes > 0


async def test_an_export_holds_every_turn_as_json(store: Store, chat: ChatId, message: Message) -> None:
    for number in range(60):
        await say(store, message, number, *(calls(1) if number == 0 else ()))
    await say(store, message, 99, where=OTHER)
    await store.settings.set(chat, "model", "ollama:qwen3")

    settings, *lines = [json.loads(json.dumps(line)) async for line in store.history.export(Extent(chat))]

    assert settings == {"chat": str(chat), "settings": {"model": "ollama:qwen3"}}
    assert len(lines) == 60
    assert [entry["kind"] for entry in lines[0]["entries"]] == ["user", "assistant", "tool", "assistant"]
    assert lines[0]["question"]["text"] == f"{SECRET}?"
    assert lines[59]["messages"] == ["r59"]
    assert lines[59]["usage"] == {"prompt": 1, "completion": 1, "cached": 0, "reasoning": 0}


async def test_a_part_of_a_chat_is_exported_the_newest_first(store: Store, chat: ChatId, message: Message) -> None:
    for number in range(120):
        await say(store, message, number)
    await say(store, message, 999, where=OTHER)
    await store.settings.set(chat, "model", "ollama:qwen3")
    everybody = Extent(chat, before=111, newest_first=True, whole=False)
    own = Extent(chat, "telegram:1")
    nobody = Extent(chat, "telegram:2")

    settings, *turns = [turn async for turn in store.history.export(everybody)]
    mine = [turn["turn"] async for turn in store.history.export(own)]

    assert settings["settings"] == {"model": "ollama:qwen3"}
    assert [turn["turn"] for turn in turns] == [*range(110, 0, -1)] and "entries" not in turns[0]
    assert await store.history.count_exported(everybody) == 110
    # What was set for the chat is everybody's.
    assert mine == [*range(1, 121)] and await store.history.count_exported(own) == 120
    assert [turn async for turn in store.history.export(nobody)] == []


async def test_a_forgotten_chat_is_gone_from_every_table_and_from_the_file(
    store: Store, chat: ChatId, message: Message, held: Held
) -> None:
    for number in range(30):
        await say(store, message, number, UserEntry(SECRET), AssistantEntry(SECRET * 500))
    await say(store, message, 99, UserEntry("Their own words"), where=OTHER)
    running = await taken_in(store, message("running", SECRET))
    await store.turns.open(running, chat, "telegram:1")
    await store.turns.start_call(
        running, ToolCall("c", "search", {"q": SECRET}), passnumber=1, position=0, effects=False
    )
    await store.facts.remember(str(chat), SECRET)
    await store.facts.remember("telegram:1", "likes cats")
    await store.settings.set(chat, "model", SECRET)
    timers = store.timers.bind(chat, Sender(id="telegram:1", name=SECRET), ReplyTarget("telegram"))
    await timers.set(str(chat), "telegram:1", NewReminder(5.0, SECRET))
    await store.files.put(str(chat), "notes.txt", "text/plain", SECRET.encode())
    assert any(SECRET.encode() in content for content in held().values()), "the test can fail"

    turns = await store.history.forget(chat)

    assert turns == 31
    assert [row.chat for row in await store.history.list_chats()] == [OTHER]
    assert await store.intake.list_waiting() == []
    assert texts(await store.history.list_entries(OTHER)) == ["Their own words"]
    assert await store.facts.recall(("telegram:1",), "cats", 5)
    for name, content in held().items():
        assert b"rosebud" not in content, f"a word of the search index in {name}"
        assert content.count(SECRET.encode()) == others_secrets(name), f"traces in {name}"


def others_secrets(name: str) -> int:
    """The other chat's question, answer and reasoning hold the same words, and stay."""
    return {"parley.db": 3, "inbox": 1, "turns": 2}.get(name, 0)


def reading(file: Path) -> sqlite3.Connection:
    """Another program that reads the database, as it is now, for as long as it likes."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM history").fetchall()
    return other


def holds_secret(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in folder.iterdir())


@OF_THE_FILE
async def test_what_is_forgotten_while_another_program_reads_is_wiped_when_that_lets_go(
    url: str, clock: HandClock, chat: ChatId, message: Message, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits for that program meanwhile, and the operator is told at both moments."""
    async with Store.open(url, clock=clock, busy_timeout=PATIENCE) as store, asyncio.timeout(PATIENCE / 2):
        await say(store, message, 1, UserEntry(SECRET), AssistantEntry(SECRET * 500))
        with closing(reading(tmp_path / "parley.db")):
            forgetting = asyncio.create_task(store.history.forget(chat))
            clock.at[1.0] = lambda: others.append(
                asyncio.create_task(store.intake.take_in(message("other", where=OTHER)))
            )
            others: list[asyncio.Task[int | None]] = []

            assert await forgetting == 1

            assert await others[0] is not None, "others write while it waits"
            assert not await store.wipe_traces()
            assert holds_secret(tmp_path), "the test can fail"
            assert caplog.text.count("still in the database's files, because another program is reading them") == 1

        assert await store.wipe_traces()
        assert not holds_secret(tmp_path)
        assert "is now overwritten in the database's files" in caplog.text


@OF_THE_FILE
async def test_what_a_killed_process_had_not_wiped_yet_is_wiped_after_the_next_start(
    url: str, clock: HandClock, chat: ChatId, message: Message, tmp_path: Path
) -> None:
    async with Store.open(url, clock=clock) as store:
        await say(store, message, 1, UserEntry(SECRET), AssistantEntry(SECRET * 500))
        with closing(reading(tmp_path / "parley.db")):
            await store.history.forget(chat)
            # As a process leaves them that is killed now.
            left = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
    killed = tmp_path / "killed"
    killed.mkdir()
    for name, content in left.items():
        (killed / name).write_bytes(content)
    assert holds_secret(killed), "the test can fail"

    async with Store.open(f"sqlite:///{killed}/parley.db", clock=clock) as store:
        assert await store.wipe_traces()
        assert not holds_secret(killed)


async def test_a_forgotten_chat_gives_way_to_others_while_it_goes(store: Store, chat: ChatId, message: Message) -> None:
    await say(store, message, 1)
    await store.writer.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "
        "INSERT INTO inbox (chat, incoming, received_at) SELECT ?, '{}', 0 FROM n",
        (str(chat),),
    )
    others: list[int | None] = []

    async def write() -> None:
        while len(others) < 3:
            others.append(await store.intake.take_in(message(f"o{len(others)}", where=OTHER)))

    await asyncio.gather(store.history.forget(chat), write())

    assert len(others) == 3
    assert {row.chat for row in await store.intake.list_waiting()} == {OTHER}


async def test_begun_anew_for_one_person_the_others_keep_theirs(store: Store, chat: ChatId, message: Message) -> None:
    for number, person in enumerate(("telegram:1", "telegram:2"), 1):
        turn = await taken_in(store, message(f"m{number}"))
        await store.turns.open(turn, chat, person)
        entries = (UserEntry(f"question {number}"), AssistantEntry(f"answer {number}"))
        await store.turns.close(
            turn, TurnState.DONE, entries, visible="", reasoning="", model="m", usage=Usage(), tokens=(1, 1)
        )
    wish = await taken_in(store, message("m3"))
    await store.history.set_summary(chat, "Both asked something.", 4, first=1, after=0)

    await store.history.begin_anew_for(chat, "telegram:3", wish)
    assert await store.history.get_summary(chat) is not None, "nothing in it is from whom begins anew"
    await store.history.begin_anew_for(chat, "telegram:1", wish)

    assert await store.history.get_summary(chat) is None
    assert texts(await store.history.list_entries(chat)) == ["question 2", "answer 2"]
    await store.history.begin_anew_for(OTHER, "telegram:1", wish)


async def test_the_oldest_are_given_in_whole_turns(store: Store, chat: ChatId, message: Message) -> None:
    await say(store, message, 1)
    await say(store, message, 2)
    await say(store, message, 3, *calls(2))

    first, more = await store.history.list_oldest(chat, after=0, limit=3)
    assert (texts(first), more) == (["question 1", "answer 1"], True)
    part, more = await store.history.list_oldest(chat, after=4, limit=2)
    assert (texts(part), more) == (["q", ""], True), "a turn that is too long alone comes as a part"
    rest, more = await store.history.list_oldest(chat, after=4)
    assert (len(rest), more) == (5, False)


async def test_a_turn_that_runs_while_its_chat_is_forgotten_writes_nothing(
    store: Store, chat: ChatId, message: Message
) -> None:
    running = await taken_in(store, message("1"))
    await store.turns.open(running, chat, "telegram:1")

    await store.history.forget(chat)
    await store.turns.save_pass(running, 1, AssistantEntry("a"), "m", Usage())
    await store.turns.start_call(running, ToolCall("c", "t", {}), passnumber=1, position=0, effects=False)
    await store.turns.save_page(running, 0, body="a", ref=MessageRef("1"), state=PageState.SHOWN, nonce="")
    await store.turns.close(
        running, TurnState.DONE, [UserEntry("a")], visible="", reasoning="", model="", usage=Usage()
    )

    assert await store.history.list_entries(chat) == []
    assert await store.history.list_chats() == []
    assert await store.intake.take_in(message("2")) == running + 1, "no later turn gets a forgotten id"


async def test_what_is_asked_behind_the_wish_to_forget_stays_and_is_answered(
    store: Store, chat: ChatId, message: Message
) -> None:
    await say(store, message, 1, UserEntry("x" * 5_000))
    wish = await taken_in(store, message("2"))
    waiting = await taken_in(store, message("3"))

    assert await store.history.forget(chat, wish) == 1

    assert [row.id for row in await store.intake.list_waiting()] == [waiting]
    await store.turns.open(waiting, chat, "telegram:1")
    await store.turns.close(
        waiting, TurnState.DONE, [UserEntry("a")], visible="", reasoning="", model="", usage=Usage()
    )
    assert texts(await store.history.list_entries(chat)) == ["a"]


async def test_the_turn_of_what_is_asked_behind_the_wish_goes_on_in_its_chat(
    store: Store, chat: ChatId, message: Message
) -> None:
    await say(store, message, 1, UserEntry("old"))
    wish = await taken_in(store, message("2"))
    running = await taken_in(store, message("3"))
    await store.turns.open(running, chat, "telegram:1")

    assert await store.history.forget(chat, wish) == 1

    await store.turns.close(
        running, TurnState.DONE, [UserEntry("new")], visible="", reasoning="", model="", usage=Usage()
    )
    assert texts(await store.history.list_entries(chat)) == ["new"]


async def test_a_turn_that_ends_while_its_chat_is_forgotten_leaves_no_text(
    store: Store, chat: ChatId, message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = await taken_in(store, message("1"))
    await store.turns.open(turn, chat, "telegram:1")
    execute = store.writer.execute

    async def end_meanwhile(sql: str, parameters: Iterable[object] = ()) -> int:
        if sql.startswith("DELETE FROM timers"):
            long = [UserEntry("x" * 5_000)]
            await store.turns.close(turn, TurnState.DONE, long, visible="", reasoning="", model="", usage=Usage())
        return await execute(sql, parameters)

    monkeypatch.setattr(store.writer, "execute", end_meanwhile)
    await store.history.forget(chat)

    left = await store.writer.run(lambda db: db.execute("SELECT id FROM bodies").fetchall())
    assert left == []


async def test_the_files_of_a_forgotten_chat_go_and_what_others_keep_of_them_stays(
    store: Store, chat: ChatId, message: Message
) -> None:
    await say(store, message, 1)
    for number in range(9):
        await store.files.put(str(chat), f"{number}.txt", "text/plain", f"own {number}".encode())
    for scope in (str(chat), str(OTHER)):
        await store.files.put(scope, "shared.txt", "text/plain", b"shared")

    await store.history.forget(chat)

    left = await store.writer.run(lambda db: db.execute("SELECT content FROM blobs").fetchall())
    assert [bytes(content) for (content,) in left] == [b"shared"]


async def test_a_message_that_was_forgotten_is_not_answered_when_it_is_delivered_again(
    store: Store, chat: ChatId, message: Message
) -> None:
    await say(store, message, 1)

    await store.history.forget(chat)

    assert await store.intake.take_in(message("m1")) is None


@OF_THE_FILE
async def test_the_file_shrinks_when_a_large_chat_is_forgotten(
    store: Store, chat: ChatId, message: Message, tmp_path: Path
) -> None:
    for number in range(40):
        await say(store, message, number, UserEntry("x" * 50_000))
    await store.writer.run_apart(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    before = (tmp_path / "parley.db").stat().st_size

    await store.history.forget(chat)

    assert (tmp_path / "parley.db").stat().st_size < before / 5


@OF_THE_FILE
async def test_the_newest_rows_are_read_by_their_place_however_much_history_there_is(
    store: Store, chat: ChatId, message: Message
) -> None:
    """The plan touches the chat's newest rows only: no table is scanned and nothing is sorted."""
    await say(store, message, 1)

    plan = await store.writer.run(lambda db: db.execute(f"EXPLAIN QUERY PLAN {NEWEST}", (1, 0, 9, 50)).fetchall())

    assert [step[3] for step in plan if "SCAN" in step[3] or "TEMP" in step[3]] == []


@OF_THE_FILE
@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
async def test_a_database_of_every_earlier_step_is_brought_up_to_date(
    url: str, tmp_path: Path, clock: HandClock, chat: ChatId, message: Message, step: int
) -> None:
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as db:
        upgrade(db, STEPS[:step])
        db.execute(
            "INSERT INTO deliveries VALUES ('telegram', '42', 'old', ?)",
            (clock.wall(),),
        )
        if step > 1:
            first_at = "first_at" if step <= 10 else "last_sequence"
            db.execute(
                f"INSERT INTO chats (chat, {first_at}, last_at, summary) VALUES (?, 0, 0, 'They talked.')", (str(chat),)
            )

    async with Store.open(url, clock=clock) as store:
        if step > 1:
            assert await store.history.get_summary(chat) == Summary("They talked.", 0, "outside")
        assert await store.intake.take_in(message("old")) is None
        await say(store, message, 1)
        assert len(await store.history.list_entries(chat)) == 2
        await store.prune()
    connection = sqlite3.connect(tmp_path / "parley.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    connection.close()


@OF_THE_FILE
async def test_the_pages_of_a_running_turn_outlive_an_upgrade(
    url: str, tmp_path: Path, clock: HandClock, chat: ChatId
) -> None:
    """A version before the eleventh step stored columns that nobody read."""
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as db:
        upgrade(db, STEPS[:10])
        db.execute("INSERT INTO inbox (id, chat, incoming, received_at) VALUES (7, ?, '{}', 0)", (str(chat),))
        db.execute("INSERT INTO chats (id, chat, first_at, last_at) VALUES (1, ?, 0, 0)", (str(chat),))
        db.execute(
            "INSERT INTO turns (id, chat, person, question, stage, started_at) VALUES (7, 1, 'telegram:1', 7, 3, 0)"
        )
        db.execute("INSERT INTO pages VALUES (7, 0, 1, 2, 4, 'It r', '99', 'draft', 'shown', 'n-0')")

    async with Store.open(url, clock=clock) as store:
        state = await store.turns.load(7)

    assert state.pages == (PageRecord(0, 4, "It r", MessageRef("99", "draft"), PageState.SHOWN, "n-0"),)


@OF_THE_FILE
async def test_a_step_that_fails_leaves_the_file_at_the_step_before(url: str, tmp_path: Path, clock: HandClock) -> None:
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as db:
        with pytest.raises(StoreError):
            upgrade(db, (*STEPS[:1], ("CREATE TABLE half (id)", "CREATE NONSENSE")))
        names = db.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall()
        [(version,)] = db.execute("PRAGMA user_version").fetchall()

    assert names == []
    assert version == 1
    async with Store.open(url, clock=clock) as store:
        assert await store.history.list_chats() == []


async def test_what_a_model_is_told_is_the_summary_and_what_came_after_it(
    store: Store, chat: ChatId, message: Message
) -> None:
    assert await store.history.load(chat) == (None, [])
    for number in (1, 2, 3):
        await say(store, message, number)

    summary, rows = await store.history.load(chat)
    assert summary is None and len(rows) == 6
    await store.history.set_summary(chat, "Two questions were answered.", 4, first=1, after=0)
    summary, rows = await store.history.load(chat)

    assert summary == Summary("Two questions were answered.", 4)
    assert texts(rows) == ["question 3", "answer 3"]
