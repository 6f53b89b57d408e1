"""Repeated reminders: once at each of their times, whatever the clock, the calendar or the process does."""

from __future__ import annotations

import asyncio
import datetime
import zoneinfo

import pytest

from bot.contract.limits import Limits
from bot.contract.messages import MessageSent, ReplyTarget
from bot.store import Store
from bot.turn.reminders import Reminders
from tests.bot.turn.test_reminders import ADA, CHAT, Inbox, Screen, inbox, reminders, screen, until
from tests.conftest import FakeClock
from tools.contract.base import NewReminder, Repeat, ToolError

__all__ = ["inbox", "reminders", "screen"]

PARIS = zoneinfo.ZoneInfo("Europe/Paris")
HOUR = 3600.0


def moment(local: str) -> float:
    return datetime.datetime.fromisoformat(local).replace(tzinfo=PARIS).timestamp()


def local(time: float) -> str:
    return f"{datetime.datetime.fromtimestamp(time, PARIS):%m-%d %H:%M}"


def set_clock(clock: FakeClock, wall: float) -> None:
    """Set the wall clock alone, as an administrator does."""
    clock.started += wall - clock.wall()


async def repeat(store: Store, rule: str, first: str, text: str = "Stretch!", zone: str = "Europe/Paris") -> int:
    timers = store.timers.bind(CHAT, ADA, ReplyTarget("telegram"))
    return await timers.set(str(CHAT), ADA.id, NewReminder(moment(first), text, repeat=Repeat(rule, zone, rule)))


async def start_once(reminders: Reminders, inbox: Inbox, clock: FakeClock) -> None:
    """A process that starts, fires what is due now, and is ended."""
    task = asyncio.create_task(reminders.watch(inbox.deliver, ["telegram"]))
    await until(lambda: task.done() or clock._sleepers)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def times(inbox: Inbox) -> list[str]:
    """The times that were meant, in the order in which they came."""
    return [local(due.sent_at) for _, due in inbox.rows]


@pytest.mark.parametrize(
    ("since", "first", "meant"),
    [
        ("2026-10-24 12:00", "2026-10-25 02:30", ["10-25 02:30", "10-26 02:30"]),
        ("2027-03-27 12:00", "2027-03-28 03:30", ["03-28 03:30", "03-29 02:30"]),
    ],
)
async def test_it_comes_once_on_the_days_on_which_the_clocks_change(
    since: str, first: str, meant: list[str], store: Store, inbox: Inbox, reminders: Reminders, clock: FakeClock
) -> None:
    """With a restart every ten minutes."""
    await repeat(store, "30 2 * * *", first)
    for step in range(6 * 40):
        set_clock(clock, moment(since) + step * 600.0)
        await start_once(reminders, inbox, clock)
        for _, due in inbox.rows:
            assert due.sent_at <= clock.wall()

    assert times(inbox) == meant
    assert len({due.delivery for _, due in inbox.rows}) == 2 and not any(due.several for _, due in inbox.rows)


async def test_a_clock_that_jumps_an_hour_ahead_and_back_doubles_nothing(
    store: Store, inbox: Inbox, reminders: Reminders, clock: FakeClock
) -> None:
    await repeat(store, "0 8 * * *", "2026-11-02 08:00")
    walls = [moment("2026-11-02 07:30") + minutes * 60.0 for minutes in (0, 60, 0, 30, 60, 0, 90)]
    walls += [moment("2026-11-03 08:00") + minutes * 60.0 for minutes in (-5, 0, -60, 0, 5)]
    for wall in walls:
        set_clock(clock, wall)
        await start_once(reminders, inbox, clock)

    assert times(inbox) == ["11-02 08:00", "11-03 08:00"]


async def test_a_sleeping_process_sees_that_the_clock_was_set(
    store: Store, inbox: Inbox, reminders: Reminders, clock: FakeClock
) -> None:
    await repeat(store, "0 8 * * *", "2026-11-02 08:00")
    set_clock(clock, moment("2026-11-02 07:30"))
    task = asyncio.create_task(reminders.watch(inbox.deliver, ["telegram"]))
    await until(lambda: clock._sleepers)

    set_clock(clock, moment("2026-11-02 08:01"))
    await clock.advance(60.0)
    await until(lambda: inbox.rows and clock._sleepers)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert times(inbox) == ["11-02 08:00"]


@pytest.mark.parametrize(
    ("language_text", "told"), [("Stretch!", "several times since 2026-11-02 08:00"), ("活动一下", "多次到期")]
)
async def test_what_was_missed_for_days_comes_once_and_says_so(
    language_text: str,
    told: str,
    store: Store,
    inbox: Inbox,
    reminders: Reminders,
    screen: Screen,
    clock: FakeClock,
) -> None:
    await repeat(store, "0 8 * * *", "2026-11-02 08:00", language_text)
    set_clock(clock, moment("2026-11-05 12:00"))
    for _ in range(2):
        await start_once(reminders, inbox, clock)

    [(turn, due)] = inbox.rows
    await reminders.show(turn, due)
    [page] = screen.pages
    assert told in page and language_text in page
    assert await store.timers.find_next_due(["telegram"]) == moment("2026-11-06 08:00")


async def test_paused_it_does_not_come_and_resumed_it_comes_at_its_next_time_only(
    store: Store, inbox: Inbox, reminders: Reminders, clock: FakeClock
) -> None:
    number = await repeat(store, "0 8 * * *", "2026-11-02 08:00")
    timers, mine = store.timers.bind(CHAT, ADA, None), (str(CHAT), ADA.id)
    set_clock(clock, moment("2026-11-02 08:00"))
    await start_once(reminders, inbox, clock)
    assert await timers.pause(*mine, number) and not await timers.pause("elsewhere", ADA.id, number)
    assert await store.timers.find_next_due(["telegram"]) is None
    set_clock(clock, moment("2026-11-04 08:30"))
    await start_once(reminders, inbox, clock)
    assert times(inbox) == ["11-02 08:00"] and (await timers.pending(*mine))[0].paused

    assert await timers.resume(*mine, number) and await timers.resume(*mine, number)
    assert not await timers.resume(*mine, number + 1)
    await start_once(reminders, inbox, clock)
    set_clock(clock, moment("2026-11-05 08:00"))
    await start_once(reminders, inbox, clock)
    assert times(inbox) == ["11-02 08:00", "11-05 08:00"]
    # The clock is set back by an hour: today's came already.
    set_clock(clock, moment("2026-11-05 07:10"))
    assert await timers.pause(*mine, number) and await timers.resume(*mine, number)
    assert await store.timers.find_next_due(["telegram"]) == moment("2026-11-06 08:00")
    # It ran a year ahead, and was mended.
    await store.writer.execute("UPDATE timers SET fired_at = ?", (moment("2027-11-05 08:00"),))
    assert await timers.pause(*mine, number) and await timers.resume(*mine, number)
    assert await store.timers.find_next_due(["telegram"]) == moment("2026-11-05 08:00")


@pytest.mark.parametrize("change", ["cancel", "pause"])
async def test_what_is_deleted_or_paused_while_it_fires_does_not_come(
    change: str, store: Store, inbox: Inbox, clock: FakeClock
) -> None:
    number = await repeat(store, "0 8 * * *", "2026-11-02 08:00")
    set_clock(clock, moment("2026-11-02 08:00"))
    [timer] = await store.timers.list_due(clock.wall(), ["telegram"])
    assert await getattr(store.timers.bind(CHAT, ADA, None), change)(str(CHAT), ADA.id, number)

    await inbox.deliver(timer.to_delivery(clock.wall()), store.timers.claim(timer))

    assert inbox.rows == []


async def test_a_rule_that_never_comes_again_ends_and_an_unknown_zone_is_utc(
    store: Store, inbox: Inbox, reminders: Reminders, clock: FakeClock
) -> None:
    await repeat(store, "0 0 31 2 *", "2026-11-02 08:00")
    await repeat(store, "0 8 * * *", "2026-11-02 09:00", zone="Atlantis/Capital")
    set_clock(clock, moment("2026-11-02 09:00"))
    await start_once(reminders, inbox, clock)

    assert len(inbox.rows) == 2
    assert await store.timers.find_next_due(["telegram"]) == moment("2026-11-03 09:00")


async def test_a_chat_holds_so_many_reminders_and_no_more(store: Store) -> None:
    timers = store.timers.bind(CHAT, ADA, ReplyTarget("telegram"), Limits(reminders_per_person=2, reminders_per_chat=3))
    for person in ("a", "a", "b"):
        await timers.set("scope", person, NewReminder(1.0, "Tea!"))
    with pytest.raises(ToolError, match="2 reminders wait already"):
        await timers.set("scope", "a", NewReminder(1.0, "Tea!"))
    with pytest.raises(ToolError, match="3 reminders of all people"):
        await timers.set("scope", "b", NewReminder(1.0, "Tea!"))
    unlimited = store.timers.bind(
        CHAT, ADA, ReplyTarget("telegram"), Limits(reminders_per_person=0, reminders_per_chat=0)
    )
    assert await unlimited.set("scope", "a", NewReminder(1.0, "Tea!"))


async def test_a_question_is_a_message_of_its_person_and_too_late_one_line(
    store: Store, inbox: Inbox, reminders: Reminders, screen: Screen, clock: FakeClock
) -> None:
    timers = store.timers.bind(CHAT, ADA, ReplyTarget("telegram"), grouped=True)
    rule = Repeat("0 8 * * *", "Europe/Paris", "")
    wanted = NewReminder(moment("2026-11-02 08:00"), "What is new?", repeat=rule, question=True)
    await timers.set(str(CHAT), ADA.id, wanted)
    [timer] = await store.timers.list_due(moment("2026-11-02 08:00"), ["telegram"])

    asked = timer.to_delivery(timer.due + 60.0)
    assert isinstance(asked, MessageSent) and asked.scheduled and asked.group
    assert (asked.text, asked.sender, asked.chat, asked.sent_at) == ("What is new?", ADA, CHAT, timer.due)

    set_clock(clock, moment("2026-11-04 12:00"))
    await start_once(reminders, inbox, clock)
    [(turn, due)] = inbox.rows
    await reminders.show(turn, due)
    assert screen.pages == [
        "⏰ I was offline at 2026-11-02 08:00 (Europe/Paris), so I did not answer this: What is new?"
    ]
    assert await store.timers.find_next_due(["telegram"]) == moment("2026-11-05 08:00")
