"""Only a database of ours is used, changed or moved aside; a mistyped DATABASE_URL changes nothing."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract.errors import SettingsError
from bot.store import Store, inspect, lock_database
from bot.store.schema import STEPS
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message

pytestmark = OF_THE_FILE

THEIRS = 0x54484549


def text(file: Path) -> None:
    file.write_text("Dear diary, this is no database.\n" * 100)


def one_byte(file: Path) -> None:
    file.write_text("\n")


def zeros(file: Path) -> None:
    file.write_bytes(b"\0" * 8192)


def only_the_magic(file: Path) -> None:
    file.write_bytes(b"SQLite format 3\0" + b"\0" * 40)


def tables_of_another_program(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE photos (id)")


def tables_in_a_log(file: Path) -> None:
    """As a program leaves them that was killed: its file knows nothing of them."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("CREATE TABLE photos (id)")
        content, log = file.read_bytes(), Path(f"{file}-wal").read_bytes()
    file.write_bytes(content)
    Path(f"{file}-wal").write_bytes(log)


def empty_database_of_another_program(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA application_id = {THEIRS}")


def damaged_database_of_another_program(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA application_id = {THEIRS}")
        db.execute("CREATE TABLE photos (id)")
        db.execute("INSERT INTO photos VALUES (zeroblob(20000))")
        db.commit()
    file.write_bytes(file.read_bytes()[:6000])


def a_log_alone(file: Path) -> None:
    Path(f"{file}-wal").write_bytes(b"the newest messages")


def a_log_beside_an_empty_file(file: Path) -> None:
    file.touch()
    a_log_alone(file)


def a_folder(file: Path) -> None:
    file.mkdir()


def a_pipe(file: Path) -> None:
    os.mkfifo(file)


def a_device(file: Path) -> None:
    file.symlink_to("/dev/null")


def a_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(file))


def a_link_to_a_text(file: Path) -> None:
    text(file.with_name("diary.txt"))
    file.symlink_to("diary.txt")


def a_link_to_itself(file: Path) -> None:
    file.symlink_to(file.name)


FOREIGN: dict[Callable[[Path], None], str] = {
    text: "is not an SQLite database, and was left as it is",
    one_byte: "is not an SQLite database",
    zeros: "is not an SQLite database",
    only_the_magic: "another program's SQLite database, and was left as it is",
    tables_of_another_program: "another program's",
    tables_in_a_log: "another program's",
    empty_database_of_another_program: "another program's",
    damaged_database_of_another_program: "another program's",
    a_log_alone: "is missing, but its write-ahead log",
    a_log_beside_an_empty_file: "is empty, but its write-ahead log",
    a_folder: "names a folder",
    a_pipe: "is not a regular file",
    a_device: "is not a regular file",
    a_socket: "is not a regular file",
    a_link_to_a_text: "is not an SQLite database",
    a_link_to_itself: "symbolic links",
}


def state(folder: Path) -> dict[str, object]:
    """What a person can see of the files in a folder."""
    found: dict[str, object] = {}
    for path in folder.iterdir():
        seen = path.lstat()
        content = path.read_bytes() if path.exists() and path.is_file() else None
        found[path.name] = (seen.st_mode, seen.st_mtime_ns, seen.st_ino, content)
    return found


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
async def test_what_is_not_ours_is_refused_and_stays_as_it_is(
    make: Callable[[Path], None], url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("parley.db"))
    before = state(tmp_path)

    for use in ("open", "lock"):
        with pytest.raises(SettingsError) as told:
            if use == "lock":
                with lock_database(url, "run"):
                    pass
            async with Store.open(url, clock=clock):
                pass
        assert FOREIGN[make] in str(told.value)

    after = state(tmp_path)
    if make is tables_in_a_log:
        # Only SQLite can read a log, and it keeps an index of it while it does.
        after = {name: seen for name, seen in after.items() if not name.endswith(("-shm", ".lock"))}
    assert after == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_file_that_may_only_be_read_is_refused_and_stays_as_it_is(
    url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with Store.open(url, clock=clock):
        pass
    (tmp_path / "parley.db").chmod(0o400)
    before = state(tmp_path)

    with pytest.raises(SettingsError, match="cannot be written: Permission denied"):
        async with Store.open(url, clock=clock):
            pass

    assert state(tmp_path) == before


async def test_an_empty_file_is_a_place_to_begin(url: str, tmp_path: Path, clock: HandClock, message: Message) -> None:
    (tmp_path / "parley.db").touch()

    async with Store.open(url, clock=clock) as store:
        assert await store.intake.take_in(message()) == 1


async def test_a_new_database_whose_tables_are_in_its_log_alone_is_ours(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    """As the first start leaves it that is killed: the file itself has no table and no mark yet."""
    file = tmp_path / "parley.db"
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message())
        content, log = file.read_bytes(), Path(f"{file}-wal").read_bytes()
    with closing(sqlite3.connect(tmp_path / "new.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
    assert content and log
    file.write_bytes(content)
    Path(f"{file}-wal").write_bytes(log)

    async with Store.open(url, clock=clock) as store:
        assert len(await store.intake.list_waiting()) == 1


async def test_a_damaged_database_behind_a_link_is_kept_aside_where_it_is(
    url: str, tmp_path: Path, clock: HandClock
) -> None:
    """A link that was renamed would leave the log of the damaged database to the new one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "parley.db").symlink_to(disk / "real.db")
    async with Store.open(url, clock=clock):
        pass
    spoiled = (disk / "real.db").read_bytes()[:8192]
    (disk / "real.db").write_bytes(spoiled)

    async with Store.open(url, clock=clock):
        pass

    [kept] = [path for path in disk.glob("real.db.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert kept.read_bytes() == spoiled
    assert (tmp_path / "parley.db").is_symlink() and (disk / "real.db").stat().st_size > 8192


NEWEST = len(STEPS)
_BEFORE_THE_NEWEST = "DROP INDEX inbox_by_pressed; ALTER TABLE inbox DROP COLUMN pressed"
CHANGES = {
    "PRAGMA user_version = 5": f"has the tables of schema {NEWEST}, but its version number (PRAGMA user_version) is 5",
    "PRAGMA user_version = 0": f"has the tables of schema {NEWEST}, but its version number (PRAGMA user_version) is 0",
    f"PRAGMA user_version = {NEWEST + 1}": f"later version of this program (its schema is {NEWEST + 1}, known",
    "DROP TABLE facts": f"says that its schema is {NEWEST}, but lacks the table facts. Restore a backup",
    "DROP TABLE facts; DROP TABLE pairing; DROP TABLE once; DROP TABLE roles; DROP TABLE settings": "and 2 more",
    "ALTER TABLE approvals DROP COLUMN line": "lacks the column approvals.line",
    _BEFORE_THE_NEWEST: (f"has the tables of schema {NEWEST - 1}, but its version number"),
    "DROP INDEX inbox_waiting": "lacks the index inbox_waiting",
    f"PRAGMA application_id = {THEIRS}": "another program's",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_database_that_was_changed_by_hand_is_refused_and_stays_as_it_is(
    change: str, url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with Store.open(url, clock=clock):
        pass
    file = tmp_path / "parley.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.executescript(change)
    before = file.read_bytes()

    with pytest.raises(SettingsError) as told:
        async with Store.open(url, clock=clock):
            pass
    with pytest.raises(SettingsError):
        await inspect(file, clock)

    assert CHANGES[change] in str(told.value)
    assert file.read_bytes() == before
    assert not list(tmp_path.glob("*.damaged-*"))


async def test_what_an_operator_adds_for_himself_is_no_concern_of_ours(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    async with Store.open(url, clock=clock):
        pass
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as db:
        db.executescript("CREATE TABLE notes (text); CREATE INDEX inbox_by_hand ON inbox (received_at); ANALYZE")

    async with Store.open(url, clock=clock) as store:
        assert await store.intake.take_in(message()) == 1
