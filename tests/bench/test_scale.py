"""The bench of several processes, with tiny numbers."""

from __future__ import annotations

import re

import pytest

from bench import scale, server
from tests.postgres import program

_TINY = ("--chats", "2", "--turns", "1", "--tokens", "5", "--idle", "0.1")
_TIMES = r"\d+ \| \d+ / \d+ ms"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["scale", *_TINY, *arguments])
    scale.main()


def test_turns_waits_and_processor_time_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "--setups", "sqlite", "--kills", "0")

    row = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(rf"\| SQLite, 1 \| {_TIMES} \| [\d.]+ ms \| - \| [\d.]+% \| - s \|", row)


@pytest.mark.soak
def test_also_of_several_processes_one_of_which_is_killed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program("initdb")
    pytest.importorskip("psycopg", reason="psycopg is not installed (the extra postgres)")

    run(monkeypatch, "--setups", "postgresql-2", "--kills", "1")

    row = capsys.readouterr().out.splitlines()[-1]
    cost = r"[\d.]+ \+ [\d.]+ ms \| [\d.]+ \| [\d.]+% \+ [\d.]+%"
    assert re.fullmatch(rf"\| PostgreSQL, 2 \| {_TIMES} \| {cost} \| -?\d+\.\d\d / -?\d+\.\d\d s \|", row)


def test_without_postgresql_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "_PLACES", ())
    monkeypatch.setattr("shutil.which", lambda name: None)

    with pytest.raises(SystemExit) as ended:
        run(monkeypatch)

    assert ended.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err == "initdb is not installed: install PostgreSQL 15 or later (apt-get install postgresql)\n"
