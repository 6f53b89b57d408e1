"""What the operator reads, and what nobody reads."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from telegram.error import TelegramError
from telegram.request import BaseRequest

from bot.contract.messages import ChatId
from bot.operations import logs, outlet
from bot.operations.outlet import Outlet

TOKEN = "123456:AAF-very-secret-token"
CHAT = ChatId("telegram", "42", "7")
log = logging.getLogger("bot.somewhere")


class Told:
    """What was logged so far."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def getvalue(self) -> str:
        return self._capsys.readouterr().err


@pytest.fixture
def stream(capsys: pytest.CaptureFixture[str]) -> Told:
    """What is logged."""
    return Told(capsys)


async def test_every_line_inside_a_turn_names_its_chat_and_turn_also_in_its_tasks(stream: Told) -> None:
    logs.set_up("INFO", "json", Outlet())

    async def turn(number: int) -> None:
        with logs.about(CHAT, number):
            await asyncio.sleep(0)
            await asyncio.create_task(asyncio.to_thread(log.info, "shown %d", number))

    await asyncio.gather(turn(1), turn(2))
    log.info("outside")

    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(one.get("chat"), one.get("turn"), one["what"]) for one in sorted(told, key=lambda one: one["what"])] == [
        (None, None, "outside"),
        ("telegram:42/7", 1, "shown 1"),
        ("telegram:42/7", 2, "shown 2"),
    ]
    assert told[0]["level"] == "info" and told[0]["where"] == "bot.somewhere" and told[0]["at"].endswith("Z")


def test_people_read_one_line_an_event(stream: Told) -> None:
    logs.set_up("INFO", "console", Outlet())

    with logs.about(CHAT, 12):
        log.warning("the server said %s", "<html>\n\x1b[2J</html>")

    [line] = stream.getvalue().splitlines()
    assert line[8:] == " WARNING bot.somewhere: [telegram:42/7 t12 c66b95] the server said <html> \\u001b[2J</html>"


@pytest.mark.parametrize("form", ["console", "json"])
def test_no_secret_is_in_a_message_an_argument_or_a_trace(stream: Told, form: str) -> None:
    quoted = 'pass"word\\with-marks'
    way = Outlet([TOKEN])
    logs.set_up("INFO", form, way)
    way.mask([quoted])

    try:
        raise ValueError(f"https://api.example/bot{TOKEN}/getMe and {quoted} and 123456%3AAAF-very-secret-token")
    except ValueError:
        log.exception("asking %s failed", TOKEN)

    told = stream.getvalue()
    assert "very-secret" not in told and "with-marks" not in told
    assert "ValueError" in told and "[secret removed]" in told


def test_an_error_is_found_by_the_reference_that_the_person_was_told(stream: Told) -> None:
    logs.set_up("INFO", "json", Outlet())

    log.error("turn failed", extra={"reference": "a1b2c3"})

    assert json.loads(stream.getvalue())["reference"] == "a1b2c3"


def test_libraries_are_quiet_even_when_everything_of_ours_is_heard(stream: Told) -> None:
    """Their debug lines hold what people wrote, their request lines hold tokens."""
    logs.set_up("DEBUG", "console", Outlet())

    for name in ("aiosqlite", "httpx", "httpx2", "telegram.ext", "slack_bolt", "discord.gateway", "mcp.client", "new"):
        logging.getLogger(name).debug("INSERT … what somebody wrote")
        logging.getLogger(name).info("HTTP Request: POST …")
    log.debug("ours")

    [line] = stream.getvalue().splitlines()
    assert "ours" in line


def test_a_secret_finder_is_built_once_and_not_for_every_line(stream: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    logs.set_up("INFO", "console", Outlet([TOKEN]))
    built: list[object] = []
    monkeypatch.setattr(outlet, "Redactor", lambda secrets: built.append(secrets))

    for number in range(50):
        log.info("line %d", number)

    assert not built


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_trace_of_a_library_is_one_line_that_names_the_error_and_quotes_nobody(stream: Told, form: str) -> None:
    logs.set_up("INFO", form, Outlet())

    with pytest.raises(TelegramError):
        BaseRequest.parse_json_payload(b"what Ada wrote")

    [line] = stream.getvalue().splitlines()
    assert "Can not load invalid JSON data" in line and "(JSONDecodeError in decoder.py, line " in line
    assert "Ada" not in line and "Traceback" not in line
