"""What leaves the process: every way out of a real process, and what the outlet makes of a text."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.operations import logs
from bot.operations.outlet import Outlet
from tests.conftest import RawObject
from tools.contract.base import Json
from tools.programs.output import MaskedStream, inert

ROOT = Path(__file__).parent.parent.parent.parent
CANARY = "c4nary-that-nobody-may-see"
EVERY_WAY = """
import asyncio, logging, sys, threading, warnings
from bot.operations.logs import set_up
from bot.operations.outlet import Outlet

canary, form = sys.argv[1:]
outlet = Outlet()
outlet.take_over()
set_up("WARNING", "console", outlet)
set_up("DEBUG", form, outlet)
outlet.mask([canary])
said = canary + "\\n12:00:00 INFO    bot.app: all is well \\x1b[2J\\u202e\\ud800 "
log = logging.getLogger("bot.somewhere")

class Cursed:
    def __del__(self):
        raise ValueError(said + "unraisable")

class Unwritable:
    def __str__(self):
        raise ValueError(said)

def fail(way):
    raise ValueError(said + way)

async def forgotten():
    asyncio.get_running_loop().create_task(asyncio.to_thread(fail, "never retrieved"))
    await asyncio.sleep(0.05)

print(said + "printed")
print("half of it: " + canary[:9], end="")
print(canary[9:])
sys.stderr.write("half of it: " + canary[:9])
sys.stderr.write(canary[9:] + "\\n")
warnings.warn(said + "warned")
log.debug(said + "whispered")
log.error("%s", said + "an argument")
log.error("%d", said)
log.error("an argument that cannot be written: %s", Unwritable())
log.error("with a stack", stack_info=True)
try:
    fail("a trace")
except ValueError as error:
    log.exception("asking http://me:short@host/%s?api_key=%s failed", "path", "short")
thread = threading.Thread(target=fail, args=("a thread",), name=said)
thread.start()
thread.join()
Cursed()
asyncio.run(forgotten())
asyncio.get_event_loop_policy().new_event_loop().call_exception_handler({"message": said + "a loop"})
fail("the end")
"""
WAYS = (
    "warned",
    "whispered",
    "an argument",
    "a trace",
    "a thread",
    "unraisable",
    "never retrieved",
    "a loop",
    "the end",
)


Written = tuple[str, int, str, str]
"""The form of the log, the exit code, standard output and standard error."""


@pytest.fixture(scope="module", params=["console", "json"])
def told(request: pytest.FixtureRequest) -> Written:
    """What a process wrote that used every way out."""
    command = [sys.executable, "-X", "utf8", "-c", EVERY_WAY, CANARY, request.param]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    return request.param, ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def test_no_way_out_shows_a_secret_or_obeys_a_control_character(told: Written) -> None:
    _, code, out, err = told

    assert code == 1
    assert out.count("[secret removed]") == 2 and out.endswith("half of it: [secret removed]\n")
    for way in WAYS:
        assert way in err, way
    assert CANARY not in out + err and "me:short" not in err and "api_key=short" not in err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out + err)
    assert "\\u001b[2J\\u202e\\ud800" in out


def test_no_error_makes_a_line_that_can_be_taken_for_one_of_the_log(told: Written) -> None:
    form, _, _, err = told
    lines = err.splitlines()

    assert sum("all is well" in line for line in lines) >= len(WAYS)
    if form == "console":
        assert not [line for line in lines if line.startswith("12:00:00 INFO")]
        assert all(re.match(r"\d\d:\d\d:\d\d [A-Z]+ +[\w.]+: |    \| |half of it", line) for line in lines)
    else:
        assert all(line.startswith("half of it") or json.loads(line)["what"] for line in lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("postgresql://reader:hunter2@host/db failed", "postgresql://[secret removed]@host/db failed"),
        ("https://ghp_0123456789ab@github.com/x", "https://[secret removed]@github.com/x"),
        ("redis://user@host and http://h/@ada and a@b.c", "redis://user@host and http://h/@ada and a@b.c"),
        ("GET http://h/x?q=tea&api_key=abc&page=2", "GET http://h/x?q=tea&api_key=[secret removed]&page=2"),
        ("two\nlines\r\nand\u2028three", "two lines and\\u2028three"),
        ("a\x1b]0;title\x07b\x9bc", "a\\u001b]0;title\\u0007b\\u009bc"),
    ],
)
def test_what_the_program_says_of_itself_holds_no_account_and_no_order(text: str, line: str) -> None:
    assert Outlet().line(text) == line


def test_what_somebody_asked_for_keeps_its_addresses_and_lines() -> None:
    text = "see postgresql://user:password@localhost/db?key=1\n\tand more\n"

    assert Outlet(["another-secret-value"]).data(text) == text


def test_json_stays_what_it_was() -> None:
    value = {"a": "\x1b\x7f\x9b\u2028\u202e\ud800 é 聊 \t"}

    shown = Outlet().data(json.dumps(value, ensure_ascii=False))

    assert json.loads(shown) == value and shown.isprintable()


def test_every_text_of_an_answer_in_json_is_masked() -> None:
    value: dict[str, Json] = {CANARY: ["a", {"b": f"x {CANARY}", "c": 1.5, "d": None, "e": True}]}

    assert Outlet([CANARY]).value(value) == {
        "[secret removed]": ["a", {"b": "x [secret removed]", "c": 1.5, "d": None, "e": True}]
    }


def test_a_masked_stream_holds_a_line_until_it_is_whole_or_flushed() -> None:
    outlet, written = Outlet([CANARY]), io.StringIO()
    stream = MaskedStream(written, outlet.data)

    stream.write("you> ")
    assert written.getvalue() == ""
    stream.flush()
    stream.write(CANARY[:5])
    stream.write(CANARY[5:] + " is\nnot ")
    assert written.getvalue() == "you> [secret removed] is\n"
    stream.flush()
    assert written.getvalue() == "you> [secret removed] is\nnot "


def test_a_masked_stream_whose_stream_is_closed_ends_without_a_complaint() -> None:
    written = io.StringIO()
    stream = MaskedStream(written, Outlet([]).data)
    stream.write("half a line")
    written.close()

    stream.close()

    assert stream.closed


def test_control_characters_are_written_out_in_linear_time() -> None:
    assert inert("\x1b" * 1000) == "\\u001b" * 1000


LIBRARY = """
import logging

log = logging.getLogger(NAME)

def speak(text, error):
    log.critical("Error while parsing updates! Received data was %r", [{"text": text}])
    log.warning("%s run number %d of %.1f", text, 3, 2.5)
    log.warning("by name: %(who)s %(count)d", {"who": text, "count": 4})
    log.error(f"Failed to process a message: {text}, again")
    log.error("a {} message".format(text))
    log.error(text)
    log.error(error)
    log.error("the shard %s stopped: %s", text, error)
    log.warning("a sentence without arguments")
"""


Library = Callable[[str], Callable[..., None]]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """A library that logs, under a name that is its own or was handed to it by us."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    (tmp_path / "site-packages").mkdir()
    file = tmp_path / "site-packages" / "library.py"
    file.write_text(LIBRARY)

    def load(name: str) -> Callable[..., None]:
        made: RawObject = {"NAME": name}
        exec(compile(LIBRARY, str(file), "exec"), made)
        speak: Callable[..., None] = made["speak"]
        return speak

    yield load
    root.handlers[:] = handlers


@pytest.mark.parametrize("name", ["telegram.Bot", "adapters.slack.adapter.wire"])
def test_of_a_library_only_what_its_author_wrote_is_logged(
    name: str, library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person's message may stand in everything that is filled in."""
    logs.set_up("DEBUG", "console", Outlet())

    library(name)("what a person wrote", ValueError("what a person wrote too"))

    said = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "Error while parsing updates! Received data was …",
        "… run number 3 of 2.5",
        "by name: … 4",
        "Failed to process a message: … (library.py:10)",
        "… (library.py:11)",
        "… (library.py:12)",
        "… (library.py:13)",
        "the shard … stopped: ValueError",
        "a sentence without arguments",
    ]


def test_a_message_of_megabytes_is_cut_and_holds_no_secret_at_the_cut(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", "console", Outlet([CANARY]))

    try:
        raise ValueError(CANARY * 100_000)
    except ValueError:
        logging.getLogger("bot.somewhere").exception("x" * (logs.MOST_CHARS - 5) + CANARY * 10_000)

    told = capsys.readouterr().err
    assert len(told) < 3 * logs.MOST_TRACE_CHARS
    assert "c4nary" not in told
