"""Setting reminders in words, for a moment that a person would mean."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, NewReminder, Reminder, Repeat, ToolCall, ToolContext, ToolError, ToolResult
from tools.remind_me import open_tool

NOW = datetime.datetime(2026, 10, 20, 12, 0, tzinfo=datetime.UTC)


def _waiting(number: int, wanted: NewReminder) -> Reminder:
    return Reminder(number, wanted.due, wanted.text, wanted.repeat, question=wanted.question)


class Noted:
    """Timers in a list."""

    def __init__(self) -> None:
        self.rows: dict[int, Reminder] = {}
        self.owners: dict[int, tuple[str, str]] = {}

    async def set(self, scope: str, person: str, wanted: NewReminder) -> int:
        if scope == "fleeting":
            raise ToolError("In this place nothing can be written later.", retry=False)
        number = len(self.owners) + 1
        self.rows[number], self.owners[number] = _waiting(number, wanted), (scope, person)
        return number

    async def pending(self, scope: str, person: str) -> list[Reminder]:
        return [one for one in self.rows.values() if self.owners[one.number] == (scope, person)]

    async def pause(self, scope: str, person: str, timer: int) -> bool:
        return self._mark(timer, paused=True)

    async def resume(self, scope: str, person: str, timer: int) -> bool:
        return self._mark(timer, paused=False)

    def _mark(self, timer: int, *, paused: bool) -> bool:
        if timer not in self.rows or self.rows[timer].repeat is None:
            return False
        self.rows[timer] = replace(self.rows[timer], paused=paused)
        return True

    async def cancel(self, scope: str, person: str, timer: int) -> bool:
        return self.owners.get(timer) == (scope, person) and bool(self.rows.pop(timer, None))


@pytest.fixture
def timers() -> Noted:
    return Noted()


async def call(
    timers: Noted, arguments: Mapping[str, Json], *, scope: str = "c", zone: str = "Europe/Paris", outside: bool = False
) -> ToolResult:
    context = ToolContext(scope=scope, person="p", zone=zone, now=lambda: NOW, timers=timers, outside=outside)
    return await ToolRegistry([open_tool()]).run(ToolCall("1", "remind_me", arguments), context)


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ({"at": "2026-12-01 09:00"}, "2026-12-01T08:00"),
        ({"at": "2026-12-01T09:00", "zone": "Tokyo"}, "2026-12-01T00:00"),
        ({"at": "2026-12-01T09:00+02:00"}, "2026-12-01T07:00"),
        ({"at": "tomorrow 9am"}, "2026-10-21T07:00"),
        ({"at": "明天下午3点"}, "2026-10-21T13:00"),
        ({"at": "2026-12-01"}, "2026-12-01T08:00"),
        ({"at": "13:30"}, "2026-10-21T11:30"),
        ({"at": "15:00"}, "2026-10-20T13:00"),
        ({"at": "2027-03-28 02:30"}, "2027-03-28T01:30"),
        ({"delay": "90 minutes"}, "2026-10-20T13:30"),
        ({"delay": "in 1 hour 30 seconds"}, "2026-10-20T13:00:30"),
        ({"delay": "10分钟后"}, "2026-10-20T12:10"),
        ({"delay": "1 week"}, "2026-10-27T13:00"),
    ],
)
async def test_a_time_is_understood_in_the_persons_zone(timers: Noted, given: dict[str, Json], due: str) -> None:
    """Days are days of the wall clock: summer time ends within the week. A time that the clocks skip is the next."""
    result = await call(timers, {"text": "Tea!", **given})

    assert result.ok, result.text
    [row] = timers.rows.values()
    told = datetime.datetime.fromtimestamp(row.due, datetime.UTC)
    assert told == datetime.datetime.fromisoformat(due).replace(tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": "2026-10-20 13:00"}, "in the past"),
        ({"delay": "-5 minutes"}, "in the past"),
        ({"at": "2040-01-01 09:00"}, "five years"),
        ({"delay": "soon"}, "no duration"),
        ({"at": "whenever"}, "no date or time"),
        ({}, "Say when"),
        ({"at": "15:00", "delay": "1 hour"}, "one of them"),
        ({"at": "15:00", "zone": "Atlantis"}, "no time zone"),
        ({"at": "15:00", "text": " "}, "Say in text"),
    ],
)
async def test_what_cannot_be_set_is_said_and_nothing_is_set(timers: Noted, given: dict[str, Json], said: str) -> None:
    result = await call(timers, {"text": "Tea!", **given})

    assert not result.ok and said in result.text
    assert timers.rows == {}


async def test_reminders_are_listed_and_deleted_by_number(timers: Noted) -> None:
    set_one = await call(timers, {"text": "Call Mia", "at": "2026-12-01 09:00"})
    listed = await call(timers, {"action": "list"})
    wrong = await call(timers, {"action": "delete", "number": 7})
    deleted = await call(timers, {"action": "delete", "number": 1})

    assert set_one.text == (
        "Reminder 1 is set for Tuesday 2026-12-01 09:00 (Europe/Paris), in 41 days 20 hours: Call Mia"
    )
    assert "- 1: Tuesday 2026-12-01 09:00 Call Mia" in listed.text and listed.untrusted
    assert not wrong.ok and "Call Mia" in wrong.text
    assert deleted.ok and timers.rows == {}
    assert (await call(timers, {"action": "list"})).text == "No reminders wait in this chat."


async def test_a_place_without_a_later_is_refused(timers: Noted) -> None:
    result = await call(timers, {"text": "Tea!", "delay": "1 hour"}, scope="fleeting")

    assert not result.ok and not result.retry


async def test_without_anybody_to_write_later_no_reminder_is_set() -> None:
    context: Any = ToolContext(timers=None)
    result = await ToolRegistry([open_tool()]).run(
        ToolCall("1", "remind_me", {"text": "x", "delay": "1 hour"}), context
    )

    assert not result.ok


async def test_a_repeated_reminder_is_set_paused_resumed_and_deleted(timers: Noted) -> None:
    set_one = await call(timers, {"text": "Stretch!", "every": "every weekday at 8"})
    zoned = await call(timers, {"text": "喝水", "every": "每周一上午九点", "zone": "Tokyo"})
    paused = await call(timers, {"action": "pause", "number": 1})
    listed = await call(timers, {"action": "list"})
    resumed = await call(timers, {"action": "resume", "number": 1})

    assert set_one.text == (
        "Reminder 1 is set, repeated 'every weekday at 8' = 0 8 * * 1-5 Europe/Paris, "
        "first for Wednesday 2026-10-21 08:00, in 18 hours: Stretch!"
    )
    assert "2026-10-26 09:00" in zoned.text and timers.rows[2].repeat == Repeat(
        "0 9 * * 1", "Asia/Tokyo", "每周一上午九点"
    )
    assert paused.ok and "- 1: paused (repeated" in listed.text and "- 2: Monday 2026-10-26 01:00 (rep" in listed.text
    assert resumed.text == "Reminder 1 is resumed." and not timers.rows[1].paused
    assert (await call(timers, {"action": "delete", "number": 1})).ok


async def test_what_cannot_be_paused_is_said(timers: Noted) -> None:
    await call(timers, {"text": "Tea!", "delay": "1 hour"})
    result = await call(timers, {"action": "pause", "number": 1})

    assert not result.ok and "no reminder that repeats with the number 1" in result.text
    assert not (await call(timers, {"text": "x", "every": "now and then"})).ok
    assert not (await call(timers, {"text": "x", "every": "every hour", "delay": "1 hour"})).ok


async def test_a_question_is_set_only_in_a_persons_own_words(timers: Noted) -> None:
    asked: dict[str, Json] = {"text": "What is new?", "every": "every day at 8", "ask": True}
    refused = await call(timers, asked, outside=True)
    assert not refused.ok and "text from outside" in refused.text and timers.rows == {}

    assert (await call(timers, asked)).ok and timers.rows[1].question
    assert (await call(timers, {"text": "What is new?", "delay": "1 hour", "ask": True})).ok and timers.rows[2].question
    assert "question: What is new?" in (await call(timers, {"action": "list"})).text
