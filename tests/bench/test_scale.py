"""The bench of several processes, with tiny numbers."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench import scale, server
from tests.patience import PATIENCE
from tests.postgres import program

ROOT = Path(__file__).parent.parent.parent
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


@pytest.mark.soak
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_a_signal_ends_the_database_server_too(how: signal.Signals) -> None:
    program("initdb")
    pytest.importorskip("psycopg", reason="psycopg is not installed (the extra postgres)")
    code = (
        "import time; from bench.server import open_server\n"
        "with open_server() as server: print(server.make_database('bench'), flush=True); time.sleep(100)"
    )

    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        address = urlsplit(bench.stdout.readline())
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=PATIENCE) as held:
            bench.send_signal(how)
            held.settimeout(PATIENCE)
            assert held.recv(1) == b""


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
