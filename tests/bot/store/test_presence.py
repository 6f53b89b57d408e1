"""A database that is taken away from under the running bot: nothing is kept in a file that nobody finds again."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract.errors import StoreError
from bot.store import Store, back_up
from bot.store.presence import Presence
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message

pytestmark = OF_THE_FILE


def moved_away(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def deleted(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    """By a whole database of ours, as by a backup that is put in its place."""
    new = file.with_name("new.db")
    shutil.copyfile(file, new)
    new.rename(file)


def folder_moved_away(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


def log_deleted(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def log_replaced(file: Path) -> None:
    new = file.with_name("new-wal")
    new.write_bytes(b"")
    new.rename(f"{file}-wal")


def index_of_the_log_deleted(file: Path) -> None:
    Path(f"{file}-shm").unlink()


def overwritten_by_a_backup(file: Path) -> None:
    """As `cp` does it: the file stays the same file."""
    back_up(file, file.with_name("backup.db"))
    with file.open("r+b") as same:
        same.truncate()
        same.write(file.with_name("backup.db").read_bytes())


def overwritten_by_a_text(file: Path) -> None:
    with file.open("r+b") as same:
        same.write(b"Dear diary, this is no database any more.")


def emptied(file: Path) -> None:
    with file.open("r+b") as same:
        same.truncate()


CHANGES = (
    moved_away,
    deleted,
    replaced,
    overwritten_by_a_backup,
    overwritten_by_a_text,
    emptied,
    folder_moved_away,
    log_deleted,
    log_replaced,
    index_of_the_log_deleted,
)


@pytest.mark.parametrize("change", CHANGES)
async def test_nothing_is_taken_in_when_the_database_is_taken_away(
    change: Callable[[Path], None], tmp_path: Path, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "data" / "parley.db"
    async with Store.open(f"sqlite:///{file}", clock=clock) as store:
        await store.intake.take_in(message("1"))
        change(file)
        beside = sorted(path.name for path in tmp_path.rglob("*"))

        for number in ("2", "3"):
            with pytest.raises(StoreError, match="moved away, replaced or deleted while the bot runs"):
                await store.intake.take_in(message(number))
        with pytest.raises(StoreError, match="moved away"):
            await store.writer.run_apart(lambda db: db.execute("VACUUM").fetchall())

        assert sorted(path.name for path in tmp_path.rglob("*")) == beside, "no new file is made"
        assert store.writer.in_trouble
        assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["1"]
    assert caplog.text.count("the store cannot write: The database was moved away") == 1, "once a minute is enough"


async def test_an_older_copy_written_over_the_database_is_noticed_too(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    """It has the same form, but counts fewer changes than were seen."""
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message("1"))
        copy = (tmp_path / "parley.db").read_bytes()
        await store.writer.run(lambda db: db.execute("CREATE TABLE more (id)").fetchall())
        await store.writer.run_apart(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        await store.intake.take_in(message("2"))
        with (tmp_path / "parley.db").open("r+b") as same:
            same.write(copy)

        with pytest.raises(StoreError, match=r"replaced or deleted while the bot runs.*was overwritten"):
            await store.intake.take_in(message("3"))


async def test_what_other_programs_do_by_the_rules_is_no_trouble(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    """Another process writes, puts the log into the file, makes the file smaller, reads and backs up."""
    async with Store.open(url, clock=clock) as store:
        for number in range(5):
            await store.intake.take_in(message(f"{number}", "x" * 100_000))
            with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as other:
                other.execute(f"CREATE TABLE more{number} (id)")
                other.execute("UPDATE inbox SET incoming = replace(incoming, 'xx', 'x')")
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                other.execute("VACUUM")
            back_up(tmp_path / "parley.db", tmp_path / "backup.db", overwrite=True)

        assert await store.intake.take_in(message("last")) == 6


async def test_the_same_file_put_back_goes_on_without_a_restart(
    url: str, tmp_path: Path, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "parley.db"
    async with Store.open(url, clock=clock) as store:
        moved_away(file)
        with pytest.raises(StoreError, match="moved away"):
            await store.intake.take_in(message("1"))
        file.with_name("elsewhere.db").rename(file)

        assert await store.intake.take_in(message("1")) == 1

    assert "the store writes again" in caplog.text


async def test_a_connection_that_failed_is_not_opened_anew_in_a_new_empty_file(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    file = tmp_path / "parley.db"
    async with Store.open(url, clock=clock) as store:
        await store.writer.run(lambda db: db.execute("PRAGMA query_only = ON").fetchall())
        with pytest.raises(StoreError, match="cannot be written"):
            await store.intake.take_in(message("1"))
        moved_away(file)

        with pytest.raises(StoreError, match="moved away"):
            await store.intake.take_in(message("1"))

        assert not file.exists()


async def test_a_log_that_was_deleted_loses_nothing_when_the_bot_is_stopped(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message("1"))
        log_deleted(tmp_path / "parley.db")
        with pytest.raises(StoreError, match="moved away"):
            await store.intake.take_in(message("2"))

    async with Store.open(url, clock=clock) as store:
        assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["1"]


async def test_a_table_dropped_under_the_running_bot_is_said(
    url: str, tmp_path: Path, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    async with Store.open(url, clock=clock) as store:
        with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as other:
            other.execute("DROP TABLE deliveries")

        with pytest.raises(StoreError, match="Another program changed the tables of the database"):
            await store.intake.take_in(message("1"))

        assert store.writer.in_trouble
    assert "Another program changed the tables" in caplog.text


def test_a_file_that_comes_later_is_no_trouble(tmp_path: Path) -> None:
    """The write-ahead log and its index come with the first connection."""
    file = tmp_path / "parley.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE one (id)")
    with closing(Presence(file)) as presence:
        presence.check()
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("INSERT INTO one VALUES (1)")
            presence.check()
            presence.check()
