"""A backup is whole, whatever is written meanwhile; a restore takes nothing away that cannot be had back."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from bot.contract.errors import SettingsError, StoreError
from bot.store import Store, back_up, examine_backup, keep_bots_away, lock_database, look_at, put_back
from bot.store.beside import path_beside
from bot.store.copying import write_copy
from bot.store.schema import STEPS
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, Program
from tests.bot.store.test_upgrading import lay_out

pytestmark = OF_THE_FILE

HOLDS = """
import sys
from bot.store import lock_database
with lock_database(sys.argv[1], sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "parley.db"


@pytest.fixture
async def backup(url: str, tmp_path: Path, path: Path, clock: HandClock, message: Message) -> Path:
    """A backup with the question "old"; the database holds "new", too."""
    place = tmp_path / "backups" / "backup.db"
    place.parent.mkdir()
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message("old"))
        back_up(path, place)
        await store.intake.take_in(message("new"))
    return place


def questions(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as db:
        return [one for (one,) in db.execute("SELECT json_extract(incoming, '$.delivery') FROM inbox ORDER BY id")]


def restore(backup: Path, path: Path, clock: HandClock) -> Path | None:
    examine_backup(backup, path)
    with keep_bots_away(path):
        return put_back(backup, path, clock)


async def test_a_backup_of_a_running_bot_is_whole_and_holds_all_that_was_stored(
    url: str, tmp_path: Path, path: Path, clock: HandClock, message: Message
) -> None:
    """Also what is in the log alone, which `cp` would miss; and what is written meanwhile holds up neither."""
    place = tmp_path / "backup.db"
    async with Store.open(url, clock=clock) as store:
        await asyncio.gather(*(store.intake.take_in(message(str(one), "x" * 1000)) for one in range(200)))
        writing = [asyncio.create_task(store.intake.take_in(message(f"later {one}"))) for one in range(200)]
        held = await asyncio.to_thread(back_up, path, place)
        await asyncio.gather(*writing)
        shutil.copyfile(path, tmp_path / "cp.db")

    kept = questions(place)
    assert kept[:200] == [str(one) for one in range(200)] and len(kept) <= 400
    assert (held.schema, held.unfinished >= 200, held.older) == (len(STEPS), True, False)
    assert place.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(place)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA journal_mode").fetchall() == [("delete",)], "one file, which needs no other"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["backup.db", "cp.db", "parley.db"]


async def test_what_was_deleted_is_in_no_backup(url: str, tmp_path: Path, path: Path, clock: HandClock) -> None:
    async with Store.open(url, clock=clock) as store:
        await store.facts.remember("telegram:1", "a secret of Ada's")
        [(fact, _, _)] = await store.facts.recall(("telegram:1",), "secret", 1)
        await store.facts.forget(("telegram:1",), fact)

        back_up(path, tmp_path / "backup.db")

    assert b"a secret of Ada's" not in (tmp_path / "backup.db").read_bytes()


def test_a_file_that_exists_is_replaced_only_when_told(backup: Path, path: Path) -> None:
    before = backup.read_bytes()

    with pytest.raises(SettingsError, match=r"backup\.db' exists already; name another file, or add --overwrite"):
        back_up(path, backup)

    assert backup.read_bytes() == before and questions(backup) == ["old"]
    back_up(path, backup, overwrite=True)
    assert questions(backup) == ["old", "new"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_backup_that_fails_leaves_everything_as_it_was(
    backup: Path, path: Path, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {one: one.read_bytes() for one in backup.parent.iterdir()}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bot.store.copying.os.fsync", full)
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        back_up(path, backup if overwrite else backup.with_name("other.db"), overwrite=overwrite)

    assert {one: one.read_bytes() for one in backup.parent.iterdir()} == before


def test_what_a_killed_backup_left_is_deleted_by_a_later_one(backup: Path, path: Path) -> None:
    """Not what one leaves that is under way, nor files of somebody else."""
    old, journal, new, other = (
        backup.with_name(name)
        for name in (
            ".backup.db.abc.partial",
            ".backup.db.abc.partial-journal",
            ".backup.db.def.partial",
            ".other.db.partial",
        )
    )
    for file in (old, journal, new, other):
        file.write_bytes(b"half a copy")
    for file in (old, journal, other):
        os.utime(file, (1_000_000_000, 1_000_000_000))

    back_up(path, backup, overwrite=True)

    assert {one.name for one in backup.parent.iterdir()} == {"backup.db", new.name, other.name}


def test_without_hard_links_a_backup_is_written_too(backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("bot.store.copying.os.link", refused)

    back_up(path, backup.with_name("other.db"))

    assert questions(backup.with_name("other.db")) == ["old", "new"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("parley.db", "belongs to the database itself"),
        ("parley.db-wal", "belongs to the database itself"),
        ("parley.db.run.lock", "belongs to the database itself"),
        ("backups", "is a folder"),
        ("nowhere/backup.db", "There is no folder"),
        ("pipe", "is not a regular file"),
    ],
)
def test_a_backup_never_takes_the_place_of_something_else(
    backup: Path, path: Path, tmp_path: Path, place: str, words: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(SettingsError, match=words):
        back_up(path, tmp_path / place, overwrite=True)

    assert sorted(tmp_path.rglob("*")) == before


def test_there_is_no_backup_of_nothing_and_none_of_another_programs_file(tmp_path: Path, path: Path) -> None:
    for content in (None, b"", b"Dear diary"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(SettingsError, match=r"no database|not an SQLite database"):
            back_up(path, tmp_path / "backup.db")
        assert [one.name for one in tmp_path.iterdir()] == ([] if content is None else ["parley.db"])


def test_a_damaged_database_is_said_and_makes_no_backup(backup: Path, path: Path, tmp_path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])

    with pytest.raises(StoreError, match=r"parley.db' is damaged \(.*\): no backup was made"):
        back_up(path, tmp_path / "other.db")

    assert not list(tmp_path.glob("*other*"))


def test_a_restore_puts_the_backup_there_and_keeps_what_was(backup: Path, path: Path, clock: HandClock) -> None:
    kept = restore(backup, path, clock)

    assert questions(path) == ["old"] and path.stat().st_mode & 0o777 == 0o600
    assert kept is not None and kept.name == "parley.db.before-restore-20270115T080000"
    assert questions(kept) == ["old", "new"]
    assert restore(kept, path, clock) == kept.with_name(f"{kept.name}-2"), "and back, with another name for the other"
    assert questions(path) == ["old", "new"]
    assert questions(backup) == ["old"] and [one.name for one in backup.parent.iterdir()] == ["backup.db"]


async def test_a_restored_database_is_used_by_the_next_start(
    backup: Path, url: str, path: Path, clock: HandClock
) -> None:
    restore(backup, path, clock)

    async with Store.open(url, clock=clock) as store:
        assert [row.incoming.delivery for row in await store.intake.list_waiting()] == ["old"]


async def test_the_log_of_a_killed_bot_is_kept_with_its_database(
    backup: Path, url: str, path: Path, clock: HandClock, message: Message
) -> None:
    """And does not get into what was restored."""
    async with Store.open(url, clock=clock) as store:
        await store.intake.take_in(message("newest"))
        left = {suffix: path_beside(path, suffix).read_bytes() for suffix in ("", "-wal")}
    for suffix, content in left.items():
        path_beside(path, suffix).write_bytes(content)

    kept = restore(backup, path, clock)

    assert kept is not None and questions(kept) == ["old", "new", "newest"]
    assert questions(path) == ["old"]


@pytest.mark.parametrize("left", ["damaged", "log alone", "nothing", "no folder"])
async def test_a_database_that_is_lost_or_damaged_is_restored_too(
    left: str, backup: Path, path: Path, clock: HandClock
) -> None:
    log = path_beside(path, "-wal")
    match left:
        case "damaged":
            path.write_bytes(path.read_bytes()[:20_000])
            log.write_bytes(b"the newest messages")
        case "log alone":
            path.unlink()
            log.write_bytes(b"the newest messages")
        case "nothing":
            path.unlink()
        case "no folder":
            path = path.parent / "new" / "folder" / "parley.db"

    kept = restore(backup, path, clock)

    assert questions(path) == ["old"]
    assert (kept is not None) == (left in ("damaged", "log alone"))
    assert kept is None or path_beside(kept, "-wal").read_bytes() == b"the newest messages"


@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_restore_is_refused_while_a_bot_runs(
    command: str, backup: Path, url: str, path: Path, clock: HandClock, program: Callable[..., Program]
) -> None:
    other = program(HOLDS, url, command)
    assert other.hear() == "held"
    before = path.read_bytes()

    with pytest.raises(SettingsError, match=rf"`parley {command}` \(process {other.process.pid}\)\. End that"):
        restore(backup, path, clock)

    assert path.read_bytes() == before and not list(path.parent.glob("*restore*"))


def test_no_bot_starts_while_a_backup_is_restored(backup: Path, url: str, path: Path) -> None:
    with keep_bots_away(path), pytest.raises(SettingsError, match="in use"), lock_database(url, "run"):
        pass


def damaged(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:20_000])


def damaged_within(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8192:16384] = b"\xa5" * 8192
    file.write_bytes(content)


def of_a_later_version(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {len(STEPS) + 1}")


def without_a_table(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("DROP TABLE facts")


def another_programs(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE photos (id)")


def text(file: Path) -> None:
    file.write_text("Dear diary")


def empty(file: Path) -> None:
    file.write_bytes(b"")


def without_tables(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = WAL")


def missing(file: Path) -> None:
    file.unlink()


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def the_database_itself(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parent.parent / "parley.db")


def the_database_by_another_name(file: Path) -> None:
    file.unlink()
    os.link(file.parent.parent / "parley.db", file)


WRONG: dict[Callable[[Path], None], str] = {
    damaged: "is damaged",
    damaged_within: "is damaged",
    of_a_later_version: "was written by a later version of this program",
    without_a_table: "lacks the table facts",
    another_programs: "is another program's SQLite database",
    text: "is not an SQLite database",
    empty: "is not an SQLite database",
    without_tables: "holds nothing",
    missing: "There is no file",
    a_folder: "is not a regular file",
    the_database_itself: "is the database itself",
    the_database_by_another_name: "is the database itself",
}


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__)
def test_what_is_no_whole_backup_of_ours_is_refused(
    spoil: Callable[[Path], None], backup: Path, path: Path, clock: HandClock
) -> None:
    spoil(backup)
    before = path.read_bytes()

    with pytest.raises(SettingsError) as told:
        restore(backup, path, clock)

    assert WRONG[spoil] in str(told.value)
    assert path.read_bytes() == before and not list(path.parent.glob("*before-restore*"))


@pytest.mark.parametrize("version", [5, 16])
async def test_a_backup_of_an_earlier_version_is_restored_and_upgraded_by_the_next_start(
    version: int, url: str, tmp_path: Path, path: Path, clock: HandClock
) -> None:
    lay_out(version, tmp_path / "old.db")

    held = examine_backup(tmp_path / "old.db", path)
    restore(tmp_path / "old.db", path, clock)

    assert (held.schema, held.chats, held.turns, held.unfinished, held.older) == (version, 3, 3, 0, True)
    async with Store.open(url, clock=clock) as store:
        assert len(await store.history.list_chats(limit=9)) == 3


def test_another_programs_file_is_not_replaced(backup: Path, path: Path, clock: HandClock) -> None:
    path.write_text("Dear diary")

    with pytest.raises(SettingsError, match="is not an SQLite database, and was left as it is"):
        restore(backup, path, clock)

    assert path.read_text() == "Dear diary"


@pytest.mark.parametrize("moment", ["copied", "named"])
def test_a_restore_that_fails_leaves_the_database_as_it_was(
    moment: str, backup: Path, path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if moment == "named" and not self.name.endswith(".restored"):
            return replace(self, target)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched, pytest.raises(StoreError, match="cannot be replaced: Input/output error"):
        patched.setattr(Path, "replace", refused)
        restore(backup, path, clock)

    assert questions(path) == ["old", "new"]
    assert not list(path.parent.glob(".parley*"))


def test_a_backup_that_lies_where_nothing_can_be_written_is_read(backup: Path, path: Path, clock: HandClock) -> None:
    """Also one that was copied with its write-ahead log switched on: nothing is made beside it."""
    with closing(sqlite3.connect(backup)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    backup.chmod(0o400)
    backup.parent.chmod(0o500)

    restore(backup, path, clock)

    assert questions(path) == ["old"] and [one.name for one in backup.parent.iterdir()] == ["backup.db"]
    backup.parent.chmod(0o700)


def test_what_is_in_place_is_told_as_far_as_it_can_be_read(backup: Path, path: Path, tmp_path: Path) -> None:
    held = look_at(path)
    assert held is not None and held.unfinished == 2
    assert look_at(tmp_path / "none.db") is None
    path.write_bytes(path.read_bytes()[:20_000])

    with pytest.raises(StoreError, match="damaged or cannot be read"):
        look_at(path)


def test_a_restore_into_another_users_folder_says_as_whom(
    backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch, clock: HandClock
) -> None:
    """Root's files would lock out the bot, whose user could open neither the database nor the lock."""
    owner = os.geteuid()
    monkeypatch.setattr("bot.store.backup.os.geteuid", lambda: owner + 1)

    with pytest.raises(SettingsError, match=rf"belongs to another user \(id {owner}\).*sudo -u '#{owner}'"):
        restore(backup, path, clock)


@contextmanager
def kept_by_another(file: Path) -> Iterator[None]:
    """Another program works on the file and lets nobody in; its log shows that it is in use."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE more (id)")
        yield


def test_a_backup_that_another_program_works_on_is_not_called_damaged(
    backup: Path, path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.backup._PATIENCE", 0.001)

    with kept_by_another(backup), pytest.raises(StoreError, match="Another program is writing to the database"):
        restore(backup, path, clock)

    assert questions(path) == ["old", "new"]


def test_a_database_that_another_program_works_on_is_not_called_damaged_either(
    backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.backup._PATIENCE", 0.001)
    before = backup.read_bytes()

    with kept_by_another(path), pytest.raises(StoreError, match=r"could not be copied \(database is locked\)"):
        back_up(path, backup, overwrite=True)

    assert backup.read_bytes() == before


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_comes_while_a_backup_is_written_is_left_as_it_is(
    links: bool, backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = backup.with_name("other.db")

    def comes(*_: object) -> None:
        place.write_text("Dear diary")
        raise FileExistsError(place) if links else PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("bot.store.copying.os.link", comes)
    with pytest.raises(SettingsError, match="exists already"):
        back_up(path, place)

    with closing(sqlite3.connect(path)) as db, pytest.raises(FileExistsError):
        write_copy(db, place)
    assert place.read_text() == "Dear diary" and not list(backup.parent.glob(".*"))
