"""The commands of docs/operating.md about backups and upgrades, followed one after the other."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.store.schema import STEPS
from tests.bot.cli.conftest import Inside
from tests.conftest import Told

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "tests" / "bot" / "store" / "samples" / "schema-16.db.gz"
CHAT = "telegram:7000000001/7"


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    return Inside(monkeypatch, capsys)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """What the program kept at schema 16: three chats."""
    file = tmp_path / "data" / "parley.db"
    file.parent.mkdir()
    file.write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    return file


def commands(title: str) -> list[list[str]]:
    """The commands that a section tells people to type, word by word."""
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [
        shlex.split(line)
        for block in re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]


def follow(inside: Inside, folder: Path, arguments: list[str], typed: str = "") -> Told:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MODEL": "ollama:qwen3"}
    return inside.run(*arguments, folder=folder, environment=environment, typed=typed)


def stored(inside: Inside, folder: Path) -> set[str]:
    return {line.split("\t")[0] for line in follow(inside, folder, ["chats"]).out.splitlines()}


def schema(file: Path) -> int:
    with closing(sqlite3.connect(file)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_backup_is_made_and_restored_as_the_document_says(inside: Inside, tmp_path: Path, database: Path) -> None:
    first, again, back = commands("Backup and restore")
    before = stored(inside, tmp_path)

    assert follow(inside, tmp_path, first[1:]).code == 0
    assert follow(inside, tmp_path, again[1:]).code == 0
    assert follow(inside, tmp_path, ["chats", "forget", "--yes", CHAT]).code == 0
    told = follow(inside, tmp_path, back[1:], typed="y\n")

    assert (first[:2], again[:2], back[:2]) == (["parley", "backup"], ["parley", "backup"], ["parley", "restore"])
    assert told.code == 0 and "holds 3 chats and 3 turns" in told.out and "holds 2 chats and 2 turns" in told.out
    assert stored(inside, tmp_path) == before and CHAT in before


def test_an_upgrade_is_made_and_taken_back_as_the_document_says(inside: Inside, tmp_path: Path, database: Path) -> None:
    *install, doctor, run, back = commands("Upgrading")
    assert [line[0].rpartition("/")[2] for line in install] == ["git", "pip"], "looked at in test_documents.py"

    looked = follow(inside, tmp_path, doctor[1:])
    assert "is sound" in looked.out and schema(database) == 16, "a look changes nothing"
    assert run == ["parley", "run"]
    told = follow(inside, tmp_path, ["chat"], typed="/quit\n")  # what `run` does, in the terminal

    assert told.code == 0 and schema(database) == len(STEPS)
    assert CHAT in stored(inside, tmp_path)
    [copy] = database.parent.glob("parley.db.before-upgrade-*")
    assert back[:3] == ["parley", "restore", "--yes"]
    assert re.sub(r"\d{8}T\d{6}", "", back[3]) == re.sub(r"\d{8}T\d{6}", "", str(copy.relative_to(tmp_path)))
    assert follow(inside, tmp_path, [*back[1:3], str(copy)]).code == 0
    assert schema(database) == 16
