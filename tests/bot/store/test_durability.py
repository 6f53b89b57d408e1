"""What was awaited is there, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from bot.contract.errors import StoreError
from bot.contract.messages import ChatId
from bot.store import Store
from bot.store.database import Database, SqliteConnection
from bot.store.faults import DatabaseError, Fault
from bot.store.schema import upgrade
from bot.store.sql import Session
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, Program, taken_in
from tests.conftest import RawJson
from tests.databases import SET_BOTH

TAKES_IN_UNTIL_KILLED = """
import asyncio, sys
from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.store import Store

async def main():
    chat = ChatId("telegram", "42", "7")
    async with Store.open(sys.argv[1], clock=SystemClock()) as store:
        for number in range(100_000):
            await store.intake.take_in(MessageSent(
                delivery=str(number), chat=chat, sender=Sender(id="telegram:1"),
                target=ReplyTarget("telegram"), text="Hello"))
            print(number, flush=True)

asyncio.run(main())
"""

HOLDS_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("released", flush=True)
sys.stdin.readline()
"""

WRITES_AGAINST_A_FILE_LIMIT = """
import asyncio, resource, sys
from bot.contract.clock import SystemClock
from bot.contract.errors import StoreError
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.store import Store

def message(number, text):
    return MessageSent(delivery=str(number), chat=ChatId("telegram", "42", "7"), sender=Sender(id="telegram:1"),
                       target=ReplyTarget("telegram"), text=text)

async def main():
    async with Store.open(sys.argv[1], clock=SystemClock()) as store:
        await store.intake.take_in(message(0, "first"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
        number, refused = 0, None
        while refused is None and number < 1000:
            number += 1
            try:
                await store.intake.take_in(message(number, "x" * 20_000))
            except StoreError as error:
                refused = error
        print(type(refused).__name__, len(await store.intake.list_waiting()) == number, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        await store.intake.take_in(message(number, "x" * 20_000))
        print(len(await store.intake.list_waiting()) == number + 1, flush=True)

asyncio.run(main())
"""


async def test_what_was_answered_is_there_after_kill_9(
    url: str, clock: HandClock, program: Callable[..., Program]
) -> None:
    writer = program(TAKES_IN_UNTIL_KILLED, url)
    lines = [writer.hear() for _ in range(50)]

    writer.process.kill()
    while line := writer.hear():
        lines.append(line)

    async with Store.open(url, clock=clock) as store:
        kept = [row.incoming.delivery for row in await store.intake.list_waiting()]
    assert kept[: len(lines)] == lines
    assert len(kept) - len(lines) <= 1, "at most the message whose commit was never announced"


async def test_what_waits_is_committed_together(store: Store, message: Message) -> None:
    before = store.writer.commits

    await asyncio.gather(*(store.intake.take_in(message(str(number))) for number in range(100)))

    assert store.writer.commits - before <= 2
    assert len(await store.intake.list_waiting()) == 100


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each way to a connection's thread and back: it costs more than most statements."""
    gone: list[None] = []
    together = Database.run_together

    async def counted(self: Database, work: Callable[[SqliteConnection], object]) -> object:
        gone.append(None)
        return await together(self, work)

    monkeypatch.setattr(Database, "run_together", counted)
    return gone


@OF_THE_FILE
async def test_what_belongs_together_goes_to_the_database_at_once(
    store: Store, chat: ChatId, message: Message, ways: list[None]
) -> None:
    turns = await asyncio.gather(*(taken_in(store, message(str(number))) for number in range(100)))
    assert len(ways) <= 2
    await store.turns.open(turns[0], chat, "telegram:7")
    ways.clear()
    await store.turns.load(turns[0])
    assert len(ways) == 1


async def test_an_operation_that_fails_takes_back_only_its_own_work(store: Store, message: Message) -> None:
    def broken(db: Session) -> None:
        db.execute("INSERT INTO roles VALUES ('telegram:1', 'owner', 0)")
        raise KeyError("a mistake")

    def refused(db: Session) -> None:
        db.execute("INSERT INTO roles VALUES ('telegram:2', 'owner', 0)")
        db.execute("INSERT INTO roles VALUES ('telegram:2', 'owner', 0)")

    before = store.writer.commits
    outcomes = await asyncio.gather(
        store.intake.take_in(message("1")),
        store.writer.run(broken),
        store.writer.run(refused),
        store.intake.take_in(message("2")),
        return_exceptions=True,
    )

    assert [row.id for row in await store.intake.list_waiting()] == [outcomes[0], outcomes[3]]
    assert isinstance(outcomes[1], KeyError)
    assert isinstance(outcomes[2], StoreError)
    assert store.writer.commits - before == 1
    assert not await store.access.has_owner()


async def test_nobody_waits_for_an_operation_that_was_cancelled_before_its_turn(store: Store, message: Message) -> None:
    tasks = [asyncio.create_task(store.intake.take_in(message(str(number)))) for number in range(2)]
    await asyncio.sleep(0)
    tasks[0].cancel()

    await asyncio.wait(tasks)

    assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["1"]


async def test_who_gives_up_while_it_is_written_holds_up_nobody(store: Store, message: Message) -> None:
    """One gave up on what is being written at that moment, another on what comes behind it in the same commit."""
    loop = asyncio.get_running_loop()
    ended = threading.Event()

    def give_up() -> None:
        for task in tasks[:2]:
            task.cancel()
        ended.set()

    def write(db: Session) -> None:
        db.execute("INSERT INTO roles VALUES ('telegram:1', 'owner', 0)")
        loop.call_soon_threadsafe(give_up)
        ended.wait(10)

    tasks = [
        asyncio.create_task(one)
        for one in (store.writer.run(write), store.intake.take_in(message("1")), store.intake.take_in(message("2")))
    ]
    await asyncio.wait(tasks)

    assert [task.cancelled() for task in tasks] == [True, True, False]
    assert await store.access.has_owner(), "it was under way"
    assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["2"]


async def test_leaving_waits_for_what_is_being_written(url: str, clock: HandClock, message: Message) -> None:
    async with Store.open(url, clock=clock) as store:
        tasks = [asyncio.create_task(store.intake.take_in(message(str(number)))) for number in range(300)]
        await asyncio.sleep(0)

    assert [await task for task in tasks] == list(range(1, 301))
    with pytest.raises(StoreError, match="closed"):
        await store.intake.take_in(message("late"))
    with pytest.raises(StoreError, match="closed"):
        await store.intake.list_waiting()


@OF_THE_FILE
async def test_a_lock_of_another_program_for_half_a_minute_loses_nothing(
    store: Store,
    tmp_path: Path,
    clock: HandClock,
    message: Message,
    program: Callable[..., Program],
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = program(HOLDS_THE_LOCK, f"{tmp_path}/parley.db")
    assert other.hear() == "locked"
    clock.leap(29.9)
    clock.at[30.0] = lambda: let_go(other)

    ids = await asyncio.gather(*(store.intake.take_in(message(str(number))) for number in range(20)))

    assert ids == list(range(1, 21))
    assert clock.passed >= 30
    assert caplog.text.count("Another program is writing") == 1, "one line, not one per attempt"


@OF_THE_FILE
async def test_a_connection_that_is_opened_anew_waits_for_a_lock_too(
    store: Store, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    await store.writer.run(lambda db: db.execute("PRAGMA query_only = ON").fetchall())
    with pytest.raises(StoreError, match="cannot be written"):
        await store.intake.take_in(message("1"))

    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        clock.leap(29.9)
        clock.at[30.0] = other.rollback
        assert await store.intake.take_in(message("1")) == 1

    assert clock.passed >= 30


@OF_THE_FILE
async def test_who_waits_is_told_when_the_store_is_torn_down(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    """The process is told to end at once, while another program's lock holds up one commit and more behind it."""
    waiting: list[asyncio.Task[int | None]] = []

    async def run() -> None:
        async with Store.open(url, clock=clock, busy_timeout=0.001) as store:
            other.execute("BEGIN IMMEDIATE")
            waiting.extend(asyncio.create_task(store.intake.take_in(message(str(one)))) for one in range(200))
            await asyncio.Event().wait()

    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as other:
        running = asyncio.create_task(run())
        for moment in (0.1, 0.2):
            clock.at[moment] = partial(end, running)
        await asyncio.wait({running})

    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    told = {str(outcome) for outcome in outcomes}
    stopped = "The store stopped before this could be written."
    # Who hears of the lock and who of the end depends on which comes first; nobody is left without an answer.
    assert len(outcomes) == 200 and all(one == stopped or "Another program" in one for one in told)


@OF_THE_FILE
async def test_a_lock_that_stays_is_told_in_a_sentence_and_reading_goes_on(
    store: Store, tmp_path: Path, clock: HandClock, message: Message, program: Callable[..., Program]
) -> None:
    await store.intake.take_in(message("1"))
    other = program(HOLDS_THE_LOCK, f"{tmp_path}/parley.db")
    assert other.hear() == "locked"
    clock.leap(59.8)

    with pytest.raises(StoreError, match="Another program is writing to the database"):
        await store.intake.take_in(message("2"))

    assert [row.id for row in await store.intake.list_waiting()] == [1]
    other.tell()
    assert other.hear() == "released"
    assert await store.intake.take_in(message("2")) == 2


@OF_THE_FILE
async def test_a_lock_does_not_hold_up_the_end_of_the_process(
    url: str, tmp_path: Path, clock: HandClock, message: Message, program: Callable[..., Program]
) -> None:
    async with Store.open(url, clock=clock, busy_timeout=0.001) as store:
        other = program(HOLDS_THE_LOCK, f"{tmp_path}/parley.db")
        assert other.hear() == "locked"
        tasks = [asyncio.create_task(store.intake.take_in(message(str(number)))) for number in range(300)]
        await asyncio.sleep(0)

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {StoreError}
    assert clock.passed < 5


def end(running: asyncio.Task[None]) -> None:
    running.cancel()


def let_go(other: Program) -> None:
    other.tell()
    other.hear()


@OF_THE_FILE
async def test_the_start_waits_for_a_lock_too(
    url: str, tmp_path: Path, clock: HandClock, message: Message, program: Callable[..., Program]
) -> None:
    async with Store.open(url, clock=clock):
        pass
    other = program(HOLDS_THE_LOCK, f"{tmp_path}/parley.db")
    assert other.hear() == "locked"
    clock.leap(19.9)
    clock.at[20.0] = lambda: let_go(other)

    async with Store.open(url, clock=clock, busy_timeout=0.001) as store:
        assert await store.intake.take_in(message("1")) == 1


@OF_THE_FILE
async def test_a_start_behind_a_lock_that_stays_is_told_so_after_a_minute(
    url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with Store.open(url, clock=clock):
        pass
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        clock.leap(59.8)
        with pytest.raises(StoreError, match="Another program is writing to the database"):
            async with Store.open(url, clock=clock, busy_timeout=0.001):
                pass

    assert 60 <= clock.passed < 61


@OF_THE_FILE
async def test_a_full_disk_refuses_new_messages_keeps_reading_and_recovers(
    store: Store, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    await store.intake.take_in(message("0"))
    await limit_pages(store, 1)  # as few as there are already

    number = 0
    with pytest.raises(StoreError, match="The disk is full"):
        while True:
            number += 1
            await store.intake.take_in(message(str(number), "x" * 2000))
    for again in range(10):
        with pytest.raises(StoreError, match="The disk is full"):
            await store.intake.take_in(message(f"again {again}", "x" * 2000))
    assert len(await store.intake.list_waiting()) == number
    assert caplog.text.count("the store cannot write") == 1

    clock.passed += 61
    with pytest.raises(StoreError):
        await store.intake.take_in(message(str(number), "x" * 2000))
    assert caplog.text.count("the store cannot write") == 2

    await limit_pages(store, 1_000_000)
    assert await store.intake.take_in(message(str(number), "x" * 2000))
    assert len(await store.intake.list_waiting()) == number + 1


@OF_THE_FILE
async def test_on_a_full_disk_the_operations_that_fit_are_written(store: Store, message: Message) -> None:
    await limit_pages(store, 1)

    outcomes = await asyncio.gather(
        store.intake.take_in(message("small")),
        store.intake.take_in(message("large", "x" * 500_000)),
        store.intake.take_in(message("small too")),
        return_exceptions=True,
    )

    assert isinstance(outcomes[1], StoreError)
    assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["small", "small too"]


@OF_THE_FILE
def test_a_file_that_may_not_grow_recovers_without_a_restart(url: str, program: Callable[..., Program]) -> None:
    writer = program(WRITES_AGAINST_A_FILE_LIMIT, url)

    assert writer.hear() == "StoreError True"
    assert writer.hear() == "True"
    assert writer.process.wait(20) == 0


@OF_THE_FILE
async def test_beside_a_mistake_what_does_not_fit_on_the_disk_fails_alone(store: Store, message: Message) -> None:
    def mistaken(db: Session) -> None:
        raise KeyError("a mistake")

    def ended(db: Session) -> None:
        db.execute("ROLLBACK")
        raise KeyError("a mistake")

    await limit_pages(store, 1)

    outcomes = await asyncio.gather(
        store.writer.run(mistaken),
        store.intake.take_in(message("large", "x" * 500_000)),
        store.writer.run(ended),
        store.intake.take_in(message("small")),
        return_exceptions=True,
    )

    assert [type(one) for one in outcomes] == [KeyError, StoreError, StoreError, int]
    assert "disk is full" in str(outcomes[1]) and "refused a statement" in str(outcomes[2])
    assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["small"]


@OF_THE_FILE
async def test_damage_that_one_statement_meets_is_told_and_the_others_are_written(
    store: Store, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    await store.writer.execute("CREATE VIRTUAL TABLE words USING fts5 (word)")
    await store.writer.execute("INSERT INTO words VALUES ('tea')")
    await store.writer.execute("DELETE FROM words_data")

    kept, refused = await asyncio.gather(
        store.intake.take_in(message("1")),
        store.writer.execute("INSERT INTO words VALUES ('cats')"),
        return_exceptions=True,
    )

    assert kept == 1
    assert isinstance(refused, StoreError) and "file is damaged" in str(refused)
    assert store.writer.in_trouble and caplog.text.count("file is damaged") == 1


async def test_what_needs_no_transaction_runs_alone_and_in_its_turn(store: Store, message: Message) -> None:
    def look(db: Session) -> tuple[bool, int]:
        [(rows,)] = db.execute("SELECT count(*) FROM inbox").fetchall()
        return db.in_transaction, rows

    def mistaken(db: Session) -> None:
        raise KeyError("a mistake")

    first, seen, failed, second = await asyncio.gather(
        store.intake.take_in(message("1")),
        store.writer.run_apart(look),
        store.writer.run_apart(mistaken),
        store.intake.take_in(message("2")),
        return_exceptions=True,
    )

    assert (first, seen, second) == (1, (False, 1), 2)
    assert isinstance(failed, KeyError)


@OF_THE_FILE
async def test_the_store_is_left_in_order_without_a_connection(url: str, clock: HandClock, message: Message) -> None:
    async with Store.open(url, clock=clock) as store:
        await store.writer.run(lambda db: db.execute("PRAGMA query_only = ON").fetchall())
        with pytest.raises(StoreError, match="cannot be written"):
            await store.intake.take_in(message("1"))

    async with Store.open(url, clock=clock) as store:
        assert await store.intake.list_waiting() == []


@OF_THE_FILE
async def test_a_connection_that_turned_read_only_is_opened_anew(store: Store, message: Message) -> None:
    """SQLite decides once, at opening, whether a file can be written."""
    await store.writer.run(lambda db: db.execute("PRAGMA query_only = ON").fetchall())
    with pytest.raises(StoreError, match="cannot be written"):
        await store.intake.take_in(message("1"))

    assert await store.intake.take_in(message("1")) == 1


@OF_THE_FILE
@pytest.mark.parametrize("damage", ["pages", "truncated"])
async def test_a_damaged_file_is_kept_aside_and_a_new_one_begun(
    url: str, tmp_path: Path, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    file = tmp_path / "parley.db"
    async with Store.open(url, clock=clock) as store:
        for number in range(50):
            await store.intake.take_in(message(str(number), "x" * 3000))
        await store.writer.run_apart(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        await store.access.claim("something in the log, and not so much that it could repair the file", 60)
        log = Path(f"{file}-wal").read_bytes()
    content = bytearray(file.read_bytes())
    match damage:
        case "pages":
            content[4096 : len(content) // 2] = b"\xa5" * (len(content) // 2 - 4096)
        case "truncated":
            del content[len(content) // 2 :]
    file.write_bytes(content)
    Path(f"{file}-wal").write_bytes(log)

    async with Store.open(url, clock=clock) as store:
        assert await store.intake.list_waiting() == []
        assert await store.intake.take_in(message("1")) == 1

    kept = min(tmp_path.glob("*.damaged-*"))
    assert kept.read_bytes() == content
    assert Path(f"{kept}-wal").read_bytes() == log
    assert "is damaged" in caplog.text
    assert str(kept) in caplog.text


@OF_THE_FILE
async def test_two_databases_damaged_in_one_second_are_both_kept(url: str, tmp_path: Path, clock: HandClock) -> None:
    spoiled = []
    for size in (8192, 12288):
        async with Store.open(url, clock=clock):
            pass
        spoiled.append((tmp_path / "parley.db").read_bytes()[:size])
        (tmp_path / "parley.db").write_bytes(spoiled[-1])
    async with Store.open(url, clock=clock):
        pass

    kept_files = sorted(path for path in tmp_path.glob("*.damaged-*") if not path.name.endswith(("-wal", "-shm")))
    assert [path.read_bytes() for path in kept_files] == spoiled


@OF_THE_FILE
async def test_a_missing_folder_is_made_and_only_the_owner_may_read(tmp_path: Path, clock: HandClock) -> None:
    async with Store.open(f"sqlite:///{tmp_path}/a/parley.db", clock=clock) as store:
        await store.access.claim("key", 1)
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "a").iterdir()}

    assert modes == {"parley.db": 0o600, "parley.db-wal": 0o600, "parley.db-shm": 0o600}
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


@OF_THE_FILE
async def test_a_database_that_others_could_read_is_its_owners_alone_after_the_next_start(
    tmp_path: Path, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """With its logs and what was kept of it when it was damaged; a folder that was there is left as it is."""
    path, kept, beside = tmp_path / "parley[1].db", tmp_path / "parley[1].db.damaged-x", tmp_path / "parley[1].db.mine"
    url = f"sqlite:///{tmp_path}/parley[1].db"
    async with Store.open(url, clock=clock) as store:
        await store.access.claim("key", 1)
        for file in (kept, beside):
            file.touch()
        for file in tmp_path.iterdir():
            file.chmod(0o664)
        tmp_path.chmod(0o755)
        caplog.clear()

        async with Store.open(url, clock=clock):
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    names = [path.name, f"{path.name}-wal", f"{path.name}-shm", kept.name]
    assert modes == dict.fromkeys(names, 0o600) | {beside.name: 0o664}
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    told = [record.getMessage() for record in caplog.records if "664" in record.getMessage()]
    assert [Path(line.partition(" could be read")[0]).name for line in told] == names


@pytest.fixture
def as_the_program_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.store.upgrade", upgrade)
    monkeypatch.setattr("bot.store.opening._set_both", SET_BOTH)


@OF_THE_FILE
async def test_every_connection_is_as_durable_as_promised(as_the_program_opens_it: None, store: Store) -> None:
    def settings(db: Session) -> list[int | str]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "auto_vacuum")
        return [db.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await store.writer.run_apart(settings) == ["wal", 2, 1, 1, 2]
    assert await store.writer.run(settings) == ["wal", 2, 1, 1, 2]


async def limit_pages(store: Store, pages: int) -> None:
    """Let the file grow no further than this; SQLite says of it what it says of a full disk."""
    await store.writer.run(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchall())


@OF_THE_FILE
async def test_what_is_read_side_by_side_is_one_way_to_the_database(
    store: Store, chat: ChatId, ways: list[None]
) -> None:
    found = await asyncio.gather(
        store.settings.get(chat, "model"),
        store.history.load(chat),
        store.facts.recall(("telegram:1",), "", 5),
        store.turns.load(1),
        store.access.list_roles(),
    )

    assert len(ways) == 1
    assert found[0] is None and found[1] == (None, []) and found[2] == [] and found[4] == {}


async def test_a_read_that_fails_fails_alone(store: Store, chat: ChatId, message: Message) -> None:
    def broken(db: Session) -> None:
        raise RuntimeError("a mistake of ours")

    reads = store.history._readers
    await store.intake.take_in(message("1"))

    first, second, third, fourth = await asyncio.gather(
        store.access.list_roles(),
        reads.read(broken),
        reads.fetch_rows("SELECT nothing FROM nowhere"),
        store.intake.list_waiting(),
        return_exceptions=True,
    )

    assert first == {} and isinstance(fourth, list) and len(fourth) == 1
    assert isinstance(second, RuntimeError)
    assert isinstance(third, StoreError) and isinstance(third.__cause__, DatabaseError)
    assert isinstance(third.__cause__.__cause__, Exception)


async def test_a_read_that_nobody_waits_for_any_more_is_left_out(store: Store) -> None:
    ran: list[str] = []
    reads = store.history._readers

    async def read(name: str) -> None:
        await reads.read(lambda db: ran.append(name))

    given_up, wanted = asyncio.create_task(read("given up")), asyncio.create_task(read("wanted"))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, wanted, return_exceptions=True)

    assert ran == ["wanted"]


@OF_THE_FILE
async def test_reads_that_all_were_given_up_cost_no_way_to_the_database(store: Store, ways: list[None]) -> None:
    given_up = [asyncio.create_task(store.access.list_roles()) for _ in range(3)]
    await asyncio.sleep(0)
    for one in given_up:
        one.cancel()
    await asyncio.wait(given_up)

    assert ways == []
    assert await store.access.list_roles() == {} and len(ways) == 1


async def test_who_reads_is_told_when_the_process_ends_at_once(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(db: Session) -> None:
        begun.set()
        go_on.wait(10)

    reading = asyncio.create_task(store.history._readers.read(slow))
    await asyncio.to_thread(begun.wait, 10)
    [under_way] = [task for task in asyncio.all_tasks() if task.get_name() == "store reader"]
    under_way.cancel()  # as `asyncio.run` does with what is left
    with pytest.raises(StoreError, match="stopped before this could be read"):
        await reading
    go_on.set()

    assert await store.access.list_roles() == {}, "the connection is not lost"


async def test_reads_under_way_end_before_the_store_is_closed(url: str, clock: HandClock) -> None:
    async with Store.open(url, clock=clock) as store:
        reads = store.history._readers
        under_way = [asyncio.create_task(reads.fetch_rows("SELECT 1")) for _ in range(70)]
        await asyncio.sleep(0)

    assert await asyncio.gather(*under_way) == [[(1,)]] * 70
    with pytest.raises(StoreError, match="closed"):
        await reads.fetch_rows("SELECT 1")


async def test_work_that_ends_an_iteration_fails_and_what_is_beside_it_does_not(store: Store, message: Message) -> None:
    def ended(_: object) -> None:
        next(iter(()))

    reads = store.history._readers
    read, also_read, written, also_written = await asyncio.gather(
        reads.read(ended),
        reads.fetch_rows("SELECT 1"),
        store.writer.run(ended),
        store.intake.take_in(message("1")),
        return_exceptions=True,
    )

    assert isinstance(read, RuntimeError) and also_read == [(1,)]
    assert isinstance(written, RuntimeError) and also_written == 1


@pytest.mark.parametrize("fault", [Fault.AGAIN, Fault.UNREACHABLE])
async def test_what_may_go_well_the_next_time_is_done_again_with_all_beside_it(
    fault: Fault, store: Store, message: Message, clock: HandClock
) -> None:
    """Nothing of it was written: the server was away, or other processes wrote to the same rows."""

    def late(tries: list[int]) -> Callable[[Session], int]:
        def work(db: Session) -> int:
            tries.append(1)
            if len(tries) < 4:
                raise away(fault)
            return len(tries)

        return work

    def mistaken(db: Session) -> None:
        raise KeyError("a mistake")

    first, failed, second, read = await asyncio.gather(
        store.intake.take_in(message("1")),
        store.writer.run(mistaken),
        store.writer.run(late([])),
        store.history._readers.read(late([])),
        return_exceptions=True,
    )

    assert (second, read) == (4, 4) and isinstance(failed, KeyError)
    assert [row.id for row in await store.intake.list_waiting()] == [first]
    assert not store.writer.in_trouble


async def test_what_stays_away_is_told_after_a_minute(store: Store, clock: HandClock) -> None:
    def never(db: Session) -> None:
        raise away(Fault.UNREACHABLE)

    for asked in (store.writer.run, store.history._readers.read):
        clock.passed = 0.0
        with pytest.raises(StoreError):
            await asked(never)
        assert 60 <= clock.passed < 62


@pytest.mark.parametrize("landed", [True, False])
async def test_what_was_written_when_the_answer_to_a_commit_was_lost_is_found_out(
    landed: bool, store: Store, message: Message, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is written twice, and nothing lost: with all that was committed together."""
    tries: list[bool | None] = [None, None, landed]

    def lose_answer(db: RawJson) -> str:
        commit = db.commit

        def lost() -> None:
            (commit if landed else db.rollback)()
            error = away(Fault.UNREACHABLE)
            error.again, error.landed = False, lambda _: tries.pop(0)
            raise error

        if tries:
            db.commit = lost
        db.execute("INSERT INTO once (key, until) VALUES ('mark', 1)")
        return "done"

    first, done, second = await asyncio.gather(
        store.intake.take_in(message("1")), store.writer.run(lose_answer), store.intake.take_in(message("2"))
    )

    assert done == "done" and not tries and not store.writer.in_trouble
    assert [row.id for row in await store.intake.list_waiting()] == [first, second]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the store cannot write",
        "the store writes again",
    ]


async def test_who_waits_for_the_answer_to_a_commit_is_told_after_a_minute_that_it_is_unknown(
    store: Store, clock: HandClock
) -> None:
    def lose_answer(db: RawJson) -> None:
        def lost() -> None:
            error = away(Fault.UNREACHABLE)
            error.again, error.landed = False, lambda _: None
            raise error

        db.commit = lost

    with pytest.raises(StoreError):
        await store.writer.run(lose_answer)
    assert 60 <= clock.passed < 62


def away(fault: Fault) -> DatabaseError:
    error = DatabaseError(fault, "away")
    error.again = True
    return error
