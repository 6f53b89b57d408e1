"""What the program inside a sandbox makes of code, as far as it needs no sandbox: values, errors, files, frames."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from tools.sandbox import worker

LIMITS = {"value": 2000, "memory": 256 * 1024 * 1024, "files": 2, "file_sent": 10, "files_sent": 15, "output": 100}


class Drawn:
    """A value that can draw itself, or fails to."""

    def __init__(self, content: object) -> None:
        self.content = content

    def _repr_png_(self) -> object:
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    """The pictures that were displayed."""
    kept: list[tuple[str, bytes]] = []
    monkeypatch.setattr(worker, "_shown", kept)
    return kept


@contextmanager
def pipe() -> Generator[tuple[int, int]]:
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", 2),
        ("x = 3\nx", 3),
        ("x = 3", None),
        ("5;", None),
        ("", None),
        ("import asyncio\nawait asyncio.sleep(0, 'done')", "done"),
        ("import asyncio\nx = await asyncio.sleep(0, 4)\nx * 2", 8),
    ],
)
def test_the_value_is_that_of_the_last_line(code: str, value: object) -> None:
    assert worker._evaluate(code, "<cell 1>", {}) == value


def test_a_value_is_kept_under_a_name_and_a_picture_is_shown(shown: list[tuple[str, bytes]]) -> None:
    names: dict[str, object] = {}

    assert worker._show_value("tea", names) == "'tea'" and names["_"] == "tea"
    assert worker._show_value(None, names) == "" and names["_"] == "tea"
    assert worker._show_value(Drawn(b"png"), names) == "" and shown == [("figure.png", b"png")]


def test_what_cannot_draw_itself_is_shown_as_text(
    shown: list[tuple[str, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    worker._display(5, Drawn(ValueError("no")), Drawn(""), Drawn, Drawn(b"png"))

    assert shown == [("figure.png", b"png")]
    assert capsys.readouterr().out.count("\n") == 4


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def failing(code: str) -> str:
    try:
        worker._evaluate(code, "<cell 7>", {"Unprintable": Unprintable})
    except Exception as error:  # noqa: BLE001 - whatever the code raises
        return worker._describe_error(error, LIMITS)
    raise AssertionError("it did not fail")


def test_an_error_is_told_by_the_lines_of_the_code() -> None:
    told = failing("def f():\n    return 1 / 0\nf()")

    assert told.endswith("ZeroDivisionError: division by zero")
    assert 'File "<cell 7>", line 2' in told and "worker.py" not in told


def test_of_a_library_only_its_last_frame_is_told() -> None:
    told = failing("import json\njson.loads('{')")

    assert '"<cell 7>", line 2' in told and told.count("File") == 2 and "json/decoder.py" in told


def test_what_an_error_came_from_is_told_too() -> None:
    told = failing("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('tea') from e")

    assert "ZeroDivisionError" in told and told.endswith("KeyError: 'tea'")


def test_long_reports_and_errors_without_words_are_cut_short() -> None:
    long = failing("raise ValueError('\\n'.join('x' * 100))")
    mute = failing("raise Unprintable")

    assert long.startswith("[…]\n") and long.count("\n") == worker.KEPT_LINES
    assert mute.splitlines()[-1].endswith(("Unprintable: it could not be printed", "<exception str() failed>"))


def test_who_runs_out_of_memory_is_told_how_much_there_is() -> None:
    assert failing("raise MemoryError").endswith("A cell has 256 MiB of memory.")


def collected(folder: Path, before: dict[str, tuple[int, int, int]]) -> tuple[dict[str, bytes], str]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        made, notes = worker._collect(opened, before, LIMITS)
    finally:
        os.close(opened)
    return dict(made), "\n".join(notes)


def seen(folder: Path) -> dict[str, tuple[int, int, int]]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return worker._list_files(opened)
    finally:
        os.close(opened)


def test_new_and_changed_files_are_sent_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "changed").write_text("before")
    before = seen(tmp_path)
    (tmp_path / "changed").write_text("after it")
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()

    assert collected(tmp_path, before) == ({"changed": b"after it"}, "")


def test_what_is_too_large_or_too_much_is_told(tmp_path: Path) -> None:
    for name, size in (("a", 9), ("b", 9), ("c", 11), ("d", 1), ("e", 1)):
        (tmp_path / name).write_bytes(b"x" * size)
        os.utime(tmp_path / name, ns=(ord(name), ord(name)))

    made, notes = collected(tmp_path, {})

    assert list(made) == ["a", "d"]
    assert "b was not sent: too many or too large files in one cell." in notes
    assert "c was not sent: 11 bytes are more than 10." in notes
    assert "1 more files were not sent." in notes


def test_a_displayed_picture_that_is_too_large_is_told(tmp_path: Path, shown: list[tuple[str, bytes]]) -> None:
    shown += [("figure.png", b"x" * 11), ("figure.png", b"small")]

    made, notes = collected(tmp_path, {})

    assert made == {"figure.png": b"small"} and notes == "figure.png was not sent: 11 bytes are more than 10."


def test_a_figure_that_cannot_be_drawn_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(saved: int) -> NoReturn:
        raise RuntimeError("no font")

    monkeypatch.setattr(worker, "_draw_figures", broken)

    assert collected(tmp_path, {}) == ({}, "A figure could not be drawn: RuntimeError: no font")


def test_a_cell_is_interrupted_only_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    worker._interrupt(signal.SIGALRM, None)

    monkeypatch.setattr(worker, "_running", True)
    with pytest.raises(worker.Stopped, match="it ran longer than is allowed"):
        worker._interrupt(signal.SIGALRM, None)
    with pytest.raises(worker.Stopped, match="it used more processor time"):
        worker._interrupt(signal.SIGXCPU, None)


def test_a_folder_that_is_gone_has_no_files() -> None:
    assert worker._list_files(1_000_000) == {}


def test_a_frame_is_read_as_it_was_written() -> None:
    with pipe() as (reading, writing):
        worker._answer(writing, {"value": "茶"}, [b"first", b"second"])
        assert worker._receive(reading) == {"value": "茶"}
        assert worker._read_exactly(reading, 11) == b"firstsecond"


def test_code_prints_until_it_printed_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipe() as (reading, writing):
        send = worker._send
        monkeypatch.setattr(worker, "_send", lambda descriptor, content: send(writing, content))
        output = worker.Output()
        output.room = 8
        text = worker.Text(output)
        assert text.writable() and output.writable() and text.fileno() == output.fileno() == 1
        assert text.write("tea ") == 4
        with pytest.raises(worker.Stopped, match="printed more than is allowed"):
            text.write("and more")
        assert os.read(reading, 100) == b"tea and "
