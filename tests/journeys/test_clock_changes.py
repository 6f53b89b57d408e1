"""Repeated reminders on all three platforms while the clocks change, or are set, and the program is started anew."""

from __future__ import annotations

import datetime
import sqlite3
import zoneinfo
from contextlib import closing

import pytest

from bot.contract import SystemClock
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import World, starter
from tests.journeys.test_kill import PLATFORMS, Chats

PARIS = zoneinfo.ZoneInfo("Europe/Paris")
NIGHTLY, DAILY = "30 2 * * *", "0 8 * * *"


def moment(local: str, fold: int = 0) -> float:
    return datetime.datetime.fromisoformat(local).replace(tzinfo=PARIS, fold=fold).timestamp()


def script(body: RawJson, every: str) -> Reply:
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply("Done.")
    name = str(last["content"]).rsplit(" ", 1)[1]
    arguments = {"text": f"Stretch now, end-of-{name}", "every": every, "zone": "Europe/Paris"}
    return Reply(calls=(("remind_me", arguments),))


@pytest.mark.parametrize(
    ("every", "first", "walls"),
    [
        pytest.param(
            NIGHTLY,
            moment("2026-10-25 02:30"),
            [
                (moment("2026-10-25 02:29"), 0),
                (moment("2026-10-25 02:31"), 1),
                (moment("2026-10-25 02:29", fold=1), 1),
                (moment("2026-10-25 02:31", fold=1), 1),
                (moment("2026-10-26 02:31"), 2),
            ],
            id="to winter time",
        ),
        pytest.param(
            NIGHTLY,
            moment("2027-03-28 03:30"),
            [
                (moment("2027-03-28 01:59"), 0),
                (moment("2027-03-28 03:29"), 0),
                (moment("2027-03-28 03:31"), 1),
                (moment("2027-03-29 02:29"), 1),
                (moment("2027-03-29 02:31"), 2),
            ],
            id="to summer time",
        ),
        pytest.param(
            DAILY,
            moment("2026-11-02 08:00"),
            [
                (moment("2026-11-02 07:30"), 0),
                (moment("2026-11-02 08:30"), 1),
                (moment("2026-11-02 07:30"), 1),
                (moment("2026-11-02 08:00"), 1),
                (moment("2026-11-02 09:00"), 1),
                (moment("2026-11-03 08:00"), 2),
                (moment("2026-11-03 07:00"), 2),
            ],
            id="set an hour ahead and back",
        ),
    ],
)
async def test_each_reminder_comes_once_at_each_of_its_times(
    every: str,
    first: float,
    walls: list[tuple[float, int]],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, chats = starter(world, monkeypatch, hurries=False), Chats(world)
    world.model.script = lambda body: script(body, every)
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        chats.ask()
        await chats.until(lambda: all("Done." in chats.texts(name) for name in PLATFORMS))
        await bot.dispatcher.wait_idle()
    with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
        db.execute("UPDATE timers SET due = ?", (first,))

    for wall, comes in walls:
        monkeypatch.setattr(SystemClock, "wall", lambda self: wall)  # noqa: B023
        async with start(*PLATFORMS) as bot:
            await chats.until(lambda: all(chats.whole(name) >= comes for name in PLATFORMS))  # noqa: B023
            due = await bot.store.timers.find_next_due(PLATFORMS)
            assert due is not None and due > wall
            await bot.dispatcher.wait_idle()
        assert [chats.whole(name) for name in PLATFORMS] == [comes] * 3
