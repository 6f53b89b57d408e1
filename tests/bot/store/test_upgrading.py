"""A database of an earlier version is brought up to date: with a copy beside it first, and nothing of it lost.

The samples were written by the program as it was at schema 5, 11 and 16: each holds three chats of three platforms in
which it used a tool.
"""

from __future__ import annotations

import errno
import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract.errors import SettingsError, StoreError
from bot.contract.messages import ChatId
from bot.contract.transcript import AssistantEntry, ToolEntry, UserEntry
from bot.store import Store, inspect, lock_database
from bot.store.copying import write_copy
from bot.store.export import Extent
from bot.store.schema import STEPS, upgrade
from bot.store.shape import check_shape
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, Program

pytestmark = OF_THE_FILE

SAMPLES = Path(__file__).with_name("samples")
VERSIONS = (5, 11, 16)
NEWEST = len(STEPS)

HOLDS = """
import sys
from bot.store import lock_database
with lock_database(sys.argv[1], "run"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def lay_out(version: int, file: Path) -> bytes:
    """Put the sample of a version there; its bytes."""
    content = gzip.decompress((SAMPLES / f"schema-{version}.db.gz").read_bytes())
    file.write_bytes(content)
    file.chmod(0o600)
    return content


def copies(folder: Path) -> list[Path]:
    return sorted(folder.glob("parley.db.before-upgrade-*"))


def read_chats(file: Path) -> dict[str, int]:
    """Chat → how many turns it holds."""
    with closing(sqlite3.connect(file)) as db:
        return dict(db.execute("SELECT chat, turns FROM chats").fetchall())


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_database_of_an_earlier_version_is_upgraded_and_its_chats_are_read(
    version: int, url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    file = tmp_path / "parley.db"
    lay_out(version, file)
    before = read_chats(file)

    async with Store.open(url, clock=clock) as store:
        found = await store.history.list_chats(limit=100)
        assert {str(row.chat): row.turns for row in found} == before and len(found) == 3
        for row in found:
            _, entries = await store.history.load(row.chat)
            kinds = [type(entry.entry) for entry in entries]
            assert kinds[0] is UserEntry and kinds[-1] is AssistantEntry and ToolEntry in kinds
            last = await store.turns.find_last(row.chat)
            assert last is not None and "I was told: " in last.visible
            assert [line async for line in store.history.export(Extent(row.chat))]
            assert await store.people.list_questions(last.person)
            assert await store.used.names_at([last.id]) == {last.id: last.incoming.sender.name}
        turn = await store.intake.take_in(message())
        assert turn is not None
        await store.turns.open(turn, ChatId("telegram", "42", "7"), "telegram:7")

    with closing(sqlite3.connect(file)) as db:
        assert check_shape(db, "It") == NEWEST
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


async def test_what_queries_look_for_in_old_deliveries_is_found_after_an_upgrade(tmp_path: Path) -> None:
    """Also beside a row that nobody can read, and where half a surrogate pair is in the text."""
    asked = {
        "kind": "message",
        "delivery": "1",
        "chat": ["telegram", "42", "7"],
        "sender": {"id": "telegram:1", "name": "Ada \ud83d"},
        "target": {"platform": "telegram", "data": {}},
        "text": "torn \ud83d",
    }
    deliveries = (
        json.dumps(asked),
        json.dumps({**asked, "command": "export", "group": True, "replies_to": "m7", "replaces": 1}),
        "no JSON at all",
    )
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as db:
        upgrade(db, STEPS[:22])
        db.executemany(
            "INSERT INTO inbox (chat, incoming, received_at) VALUES ('telegram:42/7', ?, 0)",
            [(one,) for one in (*deliveries, *deliveries * 200)],
        )
        db.execute("INSERT INTO chats (id, chat, last_at) VALUES (1, 'telegram:42/7', 0)")
        db.execute(
            "INSERT INTO turns (id, chat, person, question, started_at, usage) "
            "VALUES (1, 1, 'telegram:1', 1, 0, '[7, 5]')"
        )

        upgrade(db)

        found = "SELECT name, command, grouped, replies_to, replaces FROM inbox WHERE id IN ({}) ORDER BY id"
        expected = [("Ada \ufffd", "", 0, "", 0), ("Ada \ufffd", "export", 1, "m7", 1), ("", "", 0, "", 0)]
        assert db.execute(found.format("1, 2, 3")).fetchall() == expected
        assert db.execute(found.format("601, 602, 603")).fetchall() == expected, "in a later portion"
        assert db.execute("SELECT prompt, completion FROM turns").fetchall() == [(7, 5)]


async def test_facts_reminders_and_files_of_earlier_versions_are_still_found(tmp_path: Path, clock: HandClock) -> None:
    for version in VERSIONS:
        lay_out(version, tmp_path / f"{version}.db")

    async with Store.open(f"sqlite:///{tmp_path}/5.db", clock=clock) as store:
        [(_, _, fact)] = await store.facts.recall(("telegram:7",), "cello", 5)
    async with Store.open(f"sqlite:///{tmp_path}/11.db", clock=clock) as store:
        [reminder] = await store.timers.list_due(2e9, ["slack"])
    async with Store.open(f"sqlite:///{tmp_path}/16.db", clock=clock) as store:
        picture = await store.files.read("telegram:7000000001/7", "image-65895db8.png")

    assert (fact, reminder.text) == ("Ada plays the cello", "Water the fern")
    assert picture is not None and picture.startswith(b"\x89PNG")


async def test_an_upgrade_keeps_a_whole_copy_first_and_says_so_in_one_line(
    url: str, tmp_path: Path, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    """Also what is in the log alone is in the copy, which an earlier version of the program can open."""
    file = tmp_path / "parley.db"
    lay_out(5, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("UPDATE chats SET title = 'the newest'")
        held = [Path(f"{file}{suffix}").read_bytes() for suffix in ("", "-wal")]
    for suffix, content in zip(("", "-wal"), held, strict=True):
        Path(f"{file}{suffix}").write_bytes(content)
        Path(f"{file}{suffix}").chmod(0o600)

    for _ in range(2):
        async with Store.open(url, clock=clock):
            pass

    [copy] = copies(tmp_path)
    assert copy.name == "parley.db.before-upgrade-20270115T080000" and copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as db:
        assert check_shape(db, "It") == 5
        assert db.execute("SELECT DISTINCT title FROM chats").fetchall() == [("the newest",)]
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith(
        f"the database {file} was upgraded from schema 5 to {NEWEST} in 0.0 s; a copy from before is"
    )
    assert str(copy) in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parley.db", copy.name], "no half copy is left"


async def test_a_new_database_and_one_that_is_up_to_date_are_not_copied(
    url: str, tmp_path: Path, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        async with Store.open(url, clock=clock):
            pass

    assert not copies(tmp_path) and not caplog.records


async def test_without_a_copy_nothing_is_upgraded(
    url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "parley.db"
    lay_out(11, file)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bot.store.copying.os.fsync", full)
    with pytest.raises(StoreError, match=f"has to be upgraded to {NEWEST}, but the copy .* No space"):
        async with Store.open(url, clock=clock):
            pass

    with closing(sqlite3.connect(file)) as db:
        assert check_shape(db, "It") == 11
    assert [path.name for path in tmp_path.iterdir()] == ["parley.db"]


async def test_an_upgrade_waits_for_another_program_that_keeps_the_file(
    url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "parley.db"
    lay_out(11, file)
    copied = []

    def busy_at_first(db: sqlite3.Connection, place: Path) -> None:
        copied.append(place)
        if len(copied) == 1:
            with closing(sqlite3.connect(file, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                db.execute("PRAGMA busy_timeout = 1")
                db.execute("UPDATE chats SET turns = turns")
        write_copy(db, place)

    monkeypatch.setattr("bot.store.copying.write_copy", busy_at_first)
    async with Store.open(url, clock=clock) as store:
        assert len(await store.history.list_chats(limit=9)) == 3

    assert len(copied) == 2 and len(copies(tmp_path)) == 1


async def test_a_damaged_database_of_an_earlier_version_is_not_upgraded(
    url: str, tmp_path: Path, clock: HandClock
) -> None:
    file = tmp_path / "parley.db"
    spoiled = lay_out(11, file)[:100_000]
    file.write_bytes(spoiled)

    async with Store.open(url, clock=clock):
        pass

    [kept] = [path for path in tmp_path.glob("*.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert kept.read_bytes() == spoiled and not copies(tmp_path)


async def test_nothing_is_upgraded_under_a_running_bot_of_the_earlier_version(
    url: str, tmp_path: Path, clock: HandClock, program: Callable[..., Program]
) -> None:
    """`parley chats` of a new version would take the tables from under it."""
    file = tmp_path / "parley.db"
    lay_out(16, file)
    other = program(HOLDS, url)
    assert other.hear() == "held"

    with pytest.raises(SettingsError, match=rf"in use by `parley run` \(process {other.process.pid}\). End that one"):
        async with Store.open(url, clock=clock):
            pass
    other.tell()
    other.process.wait(10)
    with lock_database(url, "run"):  # its own lock is in nobody's way
        async with Store.open(url, clock=clock):
            pass

    assert len(copies(tmp_path)) == 1


async def test_doctor_reads_a_database_of_an_earlier_version_and_changes_nothing(
    tmp_path: Path, clock: HandClock
) -> None:
    for version in VERSIONS:
        content = lay_out(version, tmp_path / "old.db")

        found = await inspect(tmp_path / "old.db", clock)

        assert found is not None and not found.damage and (found.schema, found.older) == (version, True)
        assert (tmp_path / "old.db").read_bytes() == content
