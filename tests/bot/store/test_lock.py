"""Who may answer from a database: one process at a time, whatever path leads there and however the last one ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.contract.errors import SettingsError
from bot.store import lock_database

ROOT = Path(__file__).parent.parent.parent.parent
HOLDER = """
import subprocess, sys
from bot.store import lock_database
from tests.bot.store.conftest import OF_THE_FILE

pytestmark = OF_THE_FILE
with lock_database(sys.argv[1], "run"):
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=int(sys.argv[2]))
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock, and has started a program that outlives it until the end of the block."""
    reading, writing = os.pipe()
    command = [sys.executable, "-c", HOLDER, url, str(reading)]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[reading],
    ) as process:
        os.close(reading)
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        try:
            yield process
        finally:
            os.close(writing)
            process.kill()


def test_a_second_process_is_told_which_database_and_who_has_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/data/parley.db"
    with holder(url, tmp_path) as first:
        with pytest.raises(SettingsError) as told, lock_database(url, "run"):
            pytest.fail("two hold it")
        assert f"{tmp_path}/data/parley.db" in str(told.value)
        assert f"(process {first.pid})" in str(told.value)
        assert "DATABASE_URL" in str(told.value)


def test_every_path_to_the_file_leads_to_the_same_lock(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "data")
    (tmp_path / "link.db").symlink_to(tmp_path / "data" / "parley.db")
    with holder("sqlite:///data/parley.db", tmp_path):
        for path in ("data/parley.db", "folder/parley.db", "link.db", "data/../data/./parley.db"):
            with pytest.raises(SettingsError, match="in use"), lock_database(f"sqlite:///{tmp_path}/{path}", "run"):
                pytest.fail(f"{path} is another")
        with lock_database(f"sqlite:///{tmp_path}/data/other.db", "run"):
            pass


def test_a_lock_ends_with_its_process_though_what_it_started_lives_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/parley.db"
    with holder(url, tmp_path) as first:
        first.send_signal(signal.SIGKILL)
        first.wait(10)

        with lock_database(url, "run"):
            pass


def test_left_in_order_it_can_be_taken_again_and_another_command_has_its_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/parley.db"
    for _ in range(2):
        with (
            lock_database(url, "run"),
            lock_database(url, "chat"),
            pytest.raises(SettingsError, match="another `parley run`"),
            lock_database(url, "run"),
        ):
            pytest.fail("two hold it")

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "parley.db",
        "parley.db.chat.lock",
        "parley.db.run.lock",
    ]
    assert (tmp_path / "parley.db.run.lock").stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_through_a_planted_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "parley.db.run.lock").symlink_to(tmp_path / "precious")

    with (
        pytest.raises(SettingsError, match=r"parley\.db\.run\.lock"),
        lock_database(f"sqlite:///{tmp_path}/parley.db", "run"),
    ):
        pytest.fail("it was opened")

    assert (tmp_path / "precious").read_text() == "precious"


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "parley.db.run.lock").mkdir()

    with (
        pytest.raises(SettingsError, match=r"needs the file 'parley\.db\.run\.lock' beside it"),
        lock_database(f"sqlite:///{tmp_path}/parley.db", "run"),
    ):
        pytest.fail("it was locked")


def test_words_of_a_stranger_in_the_file_are_not_repeated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/parley.db"
    with lock_database(url, "run"):
        (tmp_path / "parley.db.run.lock").write_text("\x1b[31m4711 evil\n")
        with pytest.raises(SettingsError) as told, lock_database(url, "run"):
            pytest.fail("two hold it")
    assert "evil" not in str(told.value)
