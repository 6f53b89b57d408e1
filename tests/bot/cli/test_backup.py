"""`parley backup` and `parley restore` as a person types them: what they say, ask and answer with."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.bot.cli.conftest import Inside
from tests.bot.store.test_upgrading import lay_out
from tests.conftest import Told


class Typist:
    """Types commands in a folder whose database is of an earlier version and holds three chats."""

    def __init__(self, inside: Inside, folder: Path) -> None:
        self._inside, self.folder = inside, folder
        (folder / "data").mkdir()
        lay_out(16, folder / "data" / "parley.db")

    def __call__(self, *arguments: str, typed: str = "", **settings: str) -> Told:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **settings}
        return self._inside.run(*arguments, folder=self.folder, environment=environment, typed=typed)


@pytest.fixture
def parley(inside: Inside, tmp_path: Path) -> Typist:
    return Typist(inside, tmp_path)


def test_a_backup_says_what_it_holds(parley: Typist) -> None:
    told = parley("backup", "~/backup.db")

    assert (told.code, told.err) == (0, "")
    assert re.fullmatch(
        rf"{parley.folder}/backup\.db holds 3 chats and 3 turns, the last of 2026-11-25 18:\d\d UTC "
        r"\(schema 16, 225,280 bytes\)\n",
        told.out,
    )


def test_what_cannot_be_backed_up_or_restored_is_exit_code_2_and_a_sentence(parley: Typist) -> None:
    for arguments, words in (
        (["backup", "data"], "is a folder; add a file name"),
        (["backup", "data/parley.db", "--overwrite"], "belongs to the database itself"),
        (["restore", "nothing.db"], "There is no file"),
        (["restore", "--yes", "data/parley.db"], "is the database itself"),
    ):
        told = parley(*arguments)

        assert told.code == 2 and words in told.err and told.err.count("\n") == 1 and not told.out


@pytest.mark.parametrize(
    ("typed", "restored"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_restore_asks_first_and_says_what_is_replaced(parley: Typist, typed: str, restored: bool) -> None:
    parley("backup", "backup.db")

    told = parley("restore", "backup.db", typed=typed)

    lines = told.out.splitlines()
    assert "backup.db holds 3 chats and 3 turns" in lines[0] and "parley.db holds 3 chats and 3 turns" in lines[1]
    assert lines[2].startswith("Replace it with the backup? The present database is kept beside it. [y/N]")
    assert told.code == (0 if restored else 1)
    assert ("nothing was restored" in told.err) is not restored
    assert len(list((parley.folder / "data").glob("*.before-restore-*"))) == restored
    if restored:
        assert "was restored; the previous database is kept as" in told.out and "the next start upgrades it" in told.out


def test_a_restore_in_place_of_what_cannot_be_read_says_so(parley: Typist) -> None:
    parley("backup", "backup.db")
    database = parley.folder / "data" / "parley.db"
    database.write_bytes(database.read_bytes()[:20_000])

    damaged = parley("restore", "backup.db", "--yes")
    database.unlink()
    lost = parley("restore", "--yes", "backup.db")

    assert damaged.code == lost.code == 0
    assert (
        "parley.db cannot be used now: It is damaged or cannot be read (database disk image is malformed)."
        in damaged.out
    )
    assert "parley.db does not exist yet or is empty.\n" in lost.out and "kept as" not in lost.out


def test_what_is_lost_and_what_waits_is_said_before_it_is_restored(parley: Typist) -> None:
    """A question that waits in the backup is answered at the next start, maybe for the second time."""
    parley("backup", "backup.db")
    with closing(sqlite3.connect(parley.folder / "backup.db", isolation_level=None)) as db:
        db.execute("UPDATE inbox SET state = 'new' WHERE id = 1")

    told = parley("restore", "backup.db", typed="n\n")

    assert "1 question had no answer yet when the backup was made; the next start answers it.\n" in told.out
