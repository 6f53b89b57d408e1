"""What is kept of how an answer came onto the screen is small, in order, and says what stands there at the end."""

from __future__ import annotations

import json

from bot.app import RecordedPlatform
from bot.contract import File, MessageRef, Page, ReplyTarget, SystemClock
from bot.reply.course import MOST_MESSAGES, MOST_POINTS, Course, Noting, digest


class _Clock(SystemClock):
    now = 100.0

    def monotonic(self) -> float:
        return self.now


def begin() -> tuple[_Clock, Course, Noting]:
    clock = _Clock()
    course = Course(clock)
    return clock, course, Noting(RecordedPlatform("telegram").surface(ReplyTarget("telegram")), course)


async def test_each_call_is_a_moment_with_what_was_written_and_what_is_shown() -> None:
    clock, course, surface = begin()
    assert course.to_json() == ""
    written = "Tea is a leaf."
    course.written = lambda: len(written)

    clock.now += 0.5
    ref = await surface.show(surface.draw(Page("Tea is")), None, "t1-0")
    clock.now += 0.75
    await surface.show(surface.draw(Page(written, final=True)), ref, "t1-0")
    await surface.attach(File("tea.csv", "text/csv", b"1"), ref, "t1-f0")

    told = json.loads(course.to_json())
    assert told["points"] == [[500, 14, 6], [1250, 14, 14]]
    assert told["stands"] == [digest(""), digest("tea.csv\ntext/csv")]


async def test_a_deleted_message_stands_no_more() -> None:
    _, course, surface = begin()
    course.written = lambda: 100
    ref = await surface.show(surface.draw(Page("The plan.")), None, "t1-0")
    await surface.show(surface.draw(Page("The answer.", final=True)), None, "t1-0-fresh")

    await surface.remove(ref)
    await surface.remove(MessageRef("never noted"))

    told = json.loads(course.to_json())
    assert len(told["stands"]) == 1 and [shown for *_, shown in told["points"]] == [9, 20, 11]


async def test_however_long_an_answer_is_what_is_kept_of_it_is_small() -> None:
    clock, course, surface = begin()
    course.written = lambda: 10_000_000
    for _ in range(400):
        ref = await surface.show(surface.draw(Page("x" * 2000)), None)
        for _ in range(3):
            clock.now += 60.0
            await surface.show(surface.draw(Page("y" * 2000)), ref)

    told = json.loads(course.to_json())

    assert len(told["points"]) <= MOST_POINTS and len(told["stands"]) == MOST_MESSAGES
    assert told["points"] == sorted(told["points"]) and told["points"][-1][0] == 400 * 3 * 60_000
    assert len(course.to_json()) < 5_000
