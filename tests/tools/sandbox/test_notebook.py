"""What a kernel's messages make of a cell: its value, what it printed, its pictures, its error."""

from __future__ import annotations

import base64

import pytest

from tests.conftest import RawObject
from tools.sandbox.notebook import _Cell

PNG = base64.b64encode(b"\x89PNG").decode()
OTHER = base64.b64encode(b"another").decode()
LIMITS = {"output": 20, "value": 12, "files": 2, "file_sent": 6}


class Heard:
    """A cell, and what it keeps."""

    def __init__(self, **limits: int) -> None:
        self.shown: list[tuple[str, bytes]] = []
        self.cell = _Cell({**LIMITS, **limits}, self.shown)

    def hear(self, kind: str, own: bool = True, **content: object) -> None:
        self.cell.handle(kind, own, content)

    def show(self, picture: str, display: str = "", kind: str = "display_data") -> None:
        self.hear(kind, data={"image/png": picture}, transient={"display_id": display} if display else None)


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_a_cell_is_done_with_its_reply_and_its_idle_state(heard: Heard) -> None:
    heard.hear("iopub_welcome")
    heard.hear("status", execution_state="busy")
    heard.hear("status", own=False, execution_state="idle")
    heard.hear("execute_reply", own=False, status="ok")
    heard.hear("comm_open")
    assert heard.cell.heard and not heard.cell.idle and heard.cell.reply is None

    heard.hear("status", execution_state="idle")
    heard.hear("execute_result", data={"text/plain": "42"})
    heard.hear("execute_reply", status="ok")

    assert heard.cell.idle and heard.cell.finish() == ("42", "", [])


def test_too_much_output_stops_the_cell_and_is_cut(heard: Heard, capfd: pytest.CaptureFixture[str]) -> None:
    heard.hear("stream", text="fifteen letters")
    heard.hear("stream", text="and some more")
    heard.hear("stream", text="and more")
    heard.hear("execute_reply", status="error", ename="KeyboardInterrupt")

    assert capfd.readouterr().out == "fifteen lettersand s"
    _, error, _ = heard.cell.finish()
    assert error.startswith("Stopped: it printed more than is allowed") and error.endswith("Variables are kept.")


def test_a_cell_that_was_ended_for_its_time_says_so_unless_it_came_through(heard: Heard) -> None:
    heard.cell.stopped = "it ran longer than is allowed"
    assert heard.cell.finish()[1] == "Stopped: it ran longer than is allowed. Variables are kept."

    heard.hear("execute_reply", status="ok")
    assert heard.cell.finish()[1] == ""


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"ename": "SystemExit", "evalue": "0"}, ""),
        ({"ename": "SystemExit", "evalue": "3"}, "SystemExit: 3"),
        ({"ename": "KeyError", "evalue": "'a'", "traceback": ["KeyError: 'a'"]}, "KeyError: 'a'"),
        ({"ename": "KeyError", "evalue": "'a'", "traceback": "none"}, "KeyError: 'a'"),
        ({}, "it failed without a reason"),
    ],
)
def test_an_error_is_told_by_its_lines_or_its_name(reply: RawObject, error: str) -> None:
    heard = Heard(value=100)
    heard.hear("execute_reply", status="error", **reply)

    assert heard.cell.finish()[1] == error


def test_a_kernel_that_gave_no_answer_is_said() -> None:
    assert "gave no answer to this cell" in Heard(value=100).cell.finish()[1]


def test_a_long_value_is_cut(heard: Heard) -> None:
    heard.hear("execute_result", data={"text/plain": "0123456789abcdef"})
    heard.hear("execute_reply", status="ok")

    assert heard.cell.finish()[0] == "0123456789ab […]"


def test_notes_and_pages_of_the_kernel_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    heard = Heard(output=1000)
    payload = [
        {"source": "note", "text": "numpy was installed"},
        {"source": "page", "data": {"text/plain": "help\n\n"}},
        {"source": "set_next_input", "text": "x = 1"},
        {"source": "edit"},
    ]
    heard.hear("execute_reply", status="ok", payload=payload)

    assert heard.cell.finish() == ("", "", ["numpy was installed"])
    assert capfd.readouterr().out == "help\nx = 1\n"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({"text/plain": "5", "text/markdown": "**5**"}, "**5**"),
        ({"text/plain": "<pandas.Frame object at 0x7f00>", "text/html": "<b>5</b>"}, "<b>5</b>"),
        ({"text/plain": "5", "text/html": "<b>5</b>"}, "5"),
        ({"application/json": {"a": "茶"}}, '{"a": "茶"}'),
        ({"text/latex": ""}, ""),
    ],
)
def test_of_a_value_the_most_telling_text_is_taken(data: RawObject, value: str) -> None:
    heard = Heard(value=100)
    heard.hear("execute_result", data=data)
    heard.hear("execute_reply", status="ok")

    assert heard.cell.finish()[0] == value


def test_pictures_are_kept_and_one_of_the_same_name_takes_the_place_of_the_former(heard: Heard) -> None:
    heard.show(PNG, "plot")
    heard.show(OTHER, "plot", "update_display_data")
    heard.hear("display_data", data={"image/svg+xml": "<svg/>"})

    # One character more than may be sent shows that it is too large.
    assert heard.shown == [("figure.png", b"another"), ("figure.svg", b"<svg/>")]


def test_more_pictures_than_are_sent_take_no_memory(heard: Heard) -> None:
    for _ in range(5):
        heard.show(PNG)

    assert len(heard.shown) == LIMITS["files"] + 1


def test_what_is_displayed_as_text_is_printed(heard: Heard, capfd: pytest.CaptureFixture[str]) -> None:
    heard.hear("display_data", data={"text/plain": "a table"})

    assert capfd.readouterr().out == "a table\n"


def test_cleared_pictures_go_at_once_or_with_the_next(heard: Heard) -> None:
    heard.show(PNG)
    heard.hear("clear_output", wait=True)
    assert len(heard.shown) == 1
    heard.show(OTHER)
    assert heard.shown == [("figure.png", b"another")]

    heard.hear("clear_output", wait=False)
    assert heard.shown == []
