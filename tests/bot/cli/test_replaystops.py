"""`parley replay` repeats a turn that was stopped, or failed, at any moment: at, or after, each event of its agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.agent import Event
from bot.cli.replay import load, repeat
from bot.contract import reference_of
from bot.turn import EndReason
from bot.turn.draft import Draft
from bot.turn.events import EventTaker
from playground.model import Reply
from tests.bot.cli.replaying import LONG, OTHER, UNLIMITED, Stored, calls, storing

take = EventTaker.take


async def _end_at(
    one: Stored, patch: pytest.MonkeyPatch, number: int, after: bool, text: str, *, fails: bool
) -> tuple[int, str]:
    """Ask, stop the answer at or after the event with a number, counted from 0, or let the program fail there, and
    return the turn and the event's name; an empty one if the turn had no such event."""
    question, seen = one.question(text), list[Event]()

    def stop() -> None:
        if fails:
            raise RuntimeError("a fault of the program")
        running = one.app.dispatcher.queue.find_running(question.chat)
        assert running is not None
        running.end(EndReason.STOPPED)

    async def taking(self: EventTaker, draft: Draft, event: Event) -> object:
        seen.append(event)
        here = len(seen) == number + 1
        if here and not after:
            stop()
        told = await take(self, draft, event)
        if here and after:
            stop()
        return told

    patch.setattr(EventTaker, "take", taking)
    says = iter((calls("tea"), calls("cups", "a table", "nothing", "cups"), Reply(f"Tea [1] and cups [2]. {LONG}")))
    one.model.script = lambda _: next(says)
    await one.app.dispatcher.deliver(question)
    await one.app.dispatcher.wait_idle()
    name = type(seen[number]).__name__ if len(seen) > number else ""
    return await one.app.store.turns.find_newest(), name


@pytest.mark.parametrize(
    ("platform", "after", "agent", "fails"),
    [
        ("telegram", False, "", False),
        ("slack", True, "", False),
        ("discord", False, "", False),
        ("slack", False, OTHER, False),
        ("telegram", True, "", True),
        ("slack", False, "", True),
        ("discord", True, "", True),
        ("telegram", False, OTHER, True),
    ],
)
async def test_a_turn_that_ended_at_any_moment_comes_out_the_same(
    platform: str, after: bool, agent: str, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, wrong = dict[int, str](), {}
    async with storing(tmp_path, monkeypatch, platform, agent, **UNLIMITED) as one:
        for text in ("What is tea?", "Give me a file.") if agent else ("What is tea?",):
            number = 0
            while True:
                turn, name = await _end_at(one, monkeypatch, number, after, text, fails=fails)
                if not name:
                    break
                turns[turn] = f"{number}, {name}: {text}"
                number += 1
    monkeypatch.setattr(EventTaker, "take", take)

    for turn, when in turns.items():
        recording = await load(one.url, reference_of(turn))
        if differences := await repeat(recording, {}):
            wrong[when] = differences

    assert wrong == {}
    assert len(turns) >= 12
