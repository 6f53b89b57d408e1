"""What is looked at before a database is used, and what is said of one that cannot be."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.contract.clock import SystemClock
from bot.contract.errors import SettingsError, StoreError
from bot.store import Inspection, Store, inspect, open_to_all
from bot.store.opening import connect, damage_of
from bot.store.schema import STEPS, upgrade
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message
from tests.patience import PATIENCE

pytestmark = OF_THE_FILE


@pytest.fixture
async def file(url: str, tmp_path: Path, clock: HandClock, message: Message) -> Path:
    """A database with two messages that wait."""
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message("1"))
        await store.intake.take_in(message("2", "x" * 200_000))
    return tmp_path / "parley.db"


async def test_a_file_that_was_copied_over_a_running_bots_is_refused_and_nothing_is_lost(
    file: Path, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    """As after `cp` and `kill -9`: what the process left in its log belongs to no page of the new file."""
    other, log = tmp_path / "other.db", Path(f"{file}-wal")
    async with Store.open(f"sqlite:///{other}", clock=clock) as store:
        with closing(sqlite3.connect(other)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await store.intake.take_in(message("3"))
        left = Path(f"{other}-wal").read_bytes()
    before = file.read_bytes()
    log.write_bytes(left)

    with pytest.raises(SettingsError, match=r"is whole, but not together with its write-ahead log 'parley\.db-wal'"):
        await inspect(file, clock)
    with pytest.raises(SettingsError, match="Move the log away"):
        async with Store.open(f"sqlite:///{file}", clock=clock):
            pass

    assert (file.read_bytes(), log.read_bytes()) == (before, left)
    assert not list(tmp_path.glob("*.damaged-*"))
    log.rename(tmp_path / "aside")
    found = await inspect(file, clock)
    assert found is not None and not found.damage and sum(found.unfinished.values()) == 2


@contextmanager
def locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Another program lets nobody in, as one that vacuums or backs up by itself."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        yield other


def rollback_journal(file: Path) -> None:
    """Leave the file as a power cut leaves it in the middle of the first transaction after a restore."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("PRAGMA synchronous = OFF")
        other.execute("PRAGMA cache_size = 1")
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE inbox SET incoming = replace(incoming, 'x', 'y')")
        torn = [(path.read_bytes(), path) for path in (file, Path(f"{file}-journal"))]
        other.execute("ROLLBACK")
    for content, path in torn:
        path.write_bytes(content)


async def test_doctor_sees_sizes_and_what_waits_and_changes_nothing(file: Path, clock: HandClock) -> None:
    before = file.read_bytes()

    assert await inspect(file, clock) == Inspection(len(before), 0, "wal", True, "", {"telegram": 2}, len(STEPS))
    assert await inspect(file.with_name("none.db"), clock) is None
    assert file.read_bytes() == before


async def test_doctor_names_the_damage(file: Path, clock: HandClock) -> None:
    file.write_bytes(file.read_bytes()[:8192])

    found = await inspect(file, clock)

    assert found is not None and "malformed" in found.damage and found.unfinished == {}


async def test_a_database_without_tables_holds_nothing(file: Path, clock: HandClock) -> None:
    new = file.with_name("new.db")
    with closing(sqlite3.connect(new)) as other:
        other.execute("PRAGMA journal_mode = WAL")

    found = await inspect(new, clock)

    assert found is not None and (found.damage, found.unfinished) == ("", {})


async def test_a_folder_in_place_of_a_file_is_a_setting_to_mend(tmp_path: Path, clock: HandClock) -> None:
    with pytest.raises(SettingsError, match="names a folder"):
        await inspect(tmp_path, clock)


async def test_what_sqlite_cannot_open_is_a_setting_to_mend(file: Path, clock: HandClock) -> None:
    Path(f"{file}-wal").mkdir()

    with pytest.raises(SettingsError, match="cannot be opened: unable to open database file"):
        await inspect(file, clock)


async def test_a_look_waits_for_who_lets_nobody_in(file: Path, clock: HandClock) -> None:
    with locked(file) as other:
        clock.leap(29.9)
        clock.at[30.0] = other.close
        assert await damage_of(file, clock, 0.001) == ""
    assert clock.passed >= 30


async def test_a_look_that_waits_too_long_says_for_what(file: Path, clock: HandClock) -> None:
    with locked(file):
        clock.leap(59.9)
        with pytest.raises(StoreError, match="Another program is writing to the database"):
            await damage_of(file, clock, 0.001)


async def test_what_a_power_cut_left_half_written_is_played_back(
    url: str, file: Path, clock: HandClock, message: Message
) -> None:
    rollback_journal(file)

    async with Store.open(url, clock=clock) as store:
        first, second = await store.intake.list_waiting()

    assert (first.incoming, second.incoming) == (message("1"), message("2", "x" * 200_000))
    assert not list(file.parent.glob("*.damaged-*"))


async def test_a_long_look_is_cut_off_and_what_lies_behind_is_found_when_it_is_met(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite looks through all pages in one go; until 3.41 it asks nobody meanwhile whether to go on."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = OFF")
        other.execute("PRAGMA synchronous = OFF")
        other.execute("INSERT INTO blobs VALUES (x'00', 64000000, zeroblob(64000000))")
    with file.open("r+b") as pages:
        number = pages.seek(0, 2) // 4096 + 1
        pages.write(b"\0" * 4096)
        pages.seek(28)
        pages.write(number.to_bytes(4, "big"))
    monkeypatch.setattr("bot.store.opening._CHECK_SECONDS", PATIENCE)
    told = await damage_of(file, SystemClock(), 0.001)
    assert re.search(rf"Page {number}(:| is) never used", told)  # the newest SQLite says it with a colon

    monkeypatch.setattr("bot.store.opening._CHECK_SECONDS", 0.005)
    assert await damage_of(file, SystemClock(), 0.001) == ""


async def test_a_file_system_without_a_write_ahead_log_is_a_setting_to_mend() -> None:
    with pytest.raises(SettingsError, match=r"write-ahead log \(SQLite offers 'memory'\); put it on a local disk"):
        await connect(Path(":memory:"), busy_timeout=0.001, write=True)


async def test_an_old_sqlite_is_named_with_the_version_that_is_needed(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))

    with pytest.raises(SettingsError, match=r"the store needs 3\.37\.0 or later"):
        async with Store.open(url, clock=clock):
            pass


def test_tables_cannot_be_made_in_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 0")
        db.execute("VACUUM")

    read_only = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, isolation_level=None)
    with closing(read_only), pytest.raises(SettingsError, match="cannot be written"):
        upgrade(read_only)


def test_another_programs_lock_is_left_to_who_can_wait(file: Path) -> None:
    impatient = sqlite3.connect(file, isolation_level=None, timeout=0)
    with closing(impatient), locked(file), pytest.raises(sqlite3.OperationalError, match="locked"):
        upgrade(impatient)


def test_an_sqlite_without_the_search_module_is_a_setting_to_mend() -> None:
    """SQLite says of any module that was left out when it was built what it says here."""
    bare = sqlite3.connect(":memory:", isolation_level=None)
    with closing(bare), pytest.raises(SettingsError, match="without FTS5"):
        upgrade(bare, (("CREATE VIRTUAL TABLE words USING fts5_left_out (word)",),))


def test_a_file_that_everybody_can_read_is_found() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        shared, own, gone = folder / "shared", folder / "own", folder / "gone"
        for file, mode in ((folder, 0o755), (shared, 0o644), (own, 0o640)):
            file.touch()
            file.chmod(mode)

        assert [open_to_all(file) for file in (shared, own, gone)] == ["644", "", ""]
        folder.chmod(0o750)
        assert open_to_all(shared) == "", "nobody else gets there"
