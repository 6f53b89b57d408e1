"""Reminders come when they are due, once, and late rather than never."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from bot.contract.errors import StoreError, Unreachable
from bot.contract.messages import ChatId, Incoming, MessageRef, ReplyTarget, Sender, TimerDue
from bot.contract.surface import Drawn, Surface, SurfaceLimits
from bot.contract.transcript import UserEntry
from bot.pacing.pacer import Pacer
from bot.reply.opening import Replies
from bot.reply.settling import Settling
from bot.store import Claim, Store
from bot.turn.reminders import Reminders
from bot.turn.run import MOST_REMINDER_ATTEMPTS
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.surfaces import page_of
from tools.contract.base import NewReminder

CHAT = ChatId("telegram", "42", "7")
ADA = Sender(id="telegram:7", name="Ada")


@dataclass
class Screen(BareSurface):
    """What a person sees."""

    pages: list[str] = field(default_factory=list)
    blocked: bool = False
    limits: SurfaceLimits = field(default_factory=lambda: SurfaceLimits(400, 800, len, typing_seconds=0.0))

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        if self.blocked:
            raise Unreachable("blocked")
        if at is None:
            self.pages.append(page.body)
            return MessageRef(str(len(self.pages) - 1))
        self.pages[int(at.id)] = page.body
        return at


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
async def reminders(store: Store, screen: Screen, clock: FakeClock) -> AsyncIterator[Reminders]:
    pacer = Pacer(clock)
    yield reminding(store, pacer, clock, lambda _: screen, zone="Europe/Paris")
    await pacer.close()


def reminding(
    store: Store, pacer: Pacer, clock: FakeClock, surface: Callable[[object], Surface], **more: Any
) -> Reminders:
    replies = Replies(store=store, pacer=pacer, clock=clock, secrets=more.pop("secrets", ()))
    settling = Settling(store=store, replies=replies, clock=clock, surface=surface)
    return Reminders(store=store, replies=replies, clock=clock, surface=surface, settling=settling, **more)


async def remind(store: Store, due: float, text: str = "Tea!") -> int:
    return await store.timers.bind(CHAT, ADA, ReplyTarget("telegram")).set(str(CHAT), ADA.id, NewReminder(due, text))


def ended_or_asleep(task: asyncio.Task[None], clock: FakeClock) -> bool:
    return task.done() or bool(clock._sleepers)


async def until(condition: Callable[[], object]) -> None:
    """Let the database's own threads work; nothing waits for the clock."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)


class Inbox:
    """What was delivered, taken in as the dispatcher does."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rows: list[tuple[int, TimerDue]] = []
        self.calls = 0

    async def deliver(self, incoming: Incoming, claim: Claim | None = None) -> None:
        self.calls += 1
        id = await self.store.intake.take_in(incoming, claim)
        if id is not None:
            assert isinstance(incoming, TimerDue)
            self.rows.append((id, incoming))


@pytest.fixture
def inbox(store: Store) -> Inbox:
    return Inbox(store)


@pytest.fixture
async def watching(reminders: Reminders, inbox: Inbox) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(reminders.watch(inbox.deliver, ["telegram"]))
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def asleep(clock: FakeClock, store: Store) -> None:
    await until(lambda: clock._sleepers and not store.timers.changed.is_set())


async def test_a_reminder_comes_at_its_time_and_not_before(
    store: Store, inbox: Inbox, watching: asyncio.Task[None], clock: FakeClock
) -> None:
    await asleep(clock, store)
    await remind(store, clock.wall() + 30.0)
    await until(lambda: not store.timers.changed.is_set())
    await asyncio.sleep(0.05)

    await clock.advance(29.0)
    await asyncio.sleep(0.05)
    assert inbox.rows == []

    await clock.advance(1.0)
    await until(lambda: inbox.rows)
    assert inbox.rows[0][1].text == "Tea!"
    await asyncio.sleep(0.05)
    assert await store.timers.find_next_due(["telegram"]) is None


async def test_a_reminder_of_a_platform_that_another_process_serves_is_left_to_it(
    store: Store, inbox: Inbox, watching: asyncio.Task[None], clock: FakeClock
) -> None:
    """`parley chat` beside `parley run` on one database: what it took in, nobody would show before a restart."""
    await store.timers.bind(ChatId("console", "local", "me"), ADA, ReplyTarget("console")).set(
        "me", "me", NewReminder(0.0, "Now!")
    )
    await remind(store, clock.wall() - 1.0)
    await until(lambda: inbox.rows)
    # The timer is taken out of the store after it was delivered.
    async with asyncio.timeout(PATIENCE):
        while await store.timers.list_due(clock.wall(), ["telegram", "slack"]):
            await asyncio.sleep(0)
    await asleep(clock, store)

    assert [due.text for _, due in inbox.rows] == ["Tea!"]
    assert [timer.text for timer in await store.timers.list_due(clock.wall(), ["console"])] == ["Now!"]
    assert await store.timers.find_next_due(["telegram", "slack"]) is None


@pytest.mark.parametrize("fails", [False, True])
async def test_what_else_falls_due_is_done_at_its_time_and_what_others_have_set_is_seen_soon(
    fails: bool, reminders: Reminders, inbox: Inbox, clock: FakeClock
) -> None:
    looked: list[float] = []

    async def also() -> float | None:
        looked.append(clock.monotonic())
        if fails:
            raise StoreError("The disk is full.")
        return clock.wall() + 30.0

    for longest, next_look in ((60.0, 5.0 if fails else 30.0), (1.0, 1.0)):
        looked.clear()
        task = asyncio.create_task(reminders.watch(inbox.deliver, ["telegram"], also, longest))
        await until(lambda: looked and clock._sleepers)
        await clock.advance(next_look)
        await until(lambda: len(looked) == 2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert looked[1] - looked[0] == next_look


async def test_what_an_earlier_version_took_in_without_removing_it_is_not_doubled(
    store: Store, inbox: Inbox, reminders: Reminders, clock: FakeClock
) -> None:
    await remind(store, clock.wall() - 1.0)
    [timer] = await store.timers.list_due(clock.wall(), ["telegram"])
    await inbox.deliver(timer.to_delivery(clock.wall()))

    task = asyncio.create_task(reminders.watch(inbox.deliver, ["telegram"]))
    await until(lambda: inbox.calls == 2 and clock._sleepers)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert len(inbox.rows) == 1
    assert await store.timers.list_due(clock.wall(), ["telegram"]) == []


async def taken_in(store: Store, inbox: Inbox, due: float, text: str = "Tea!") -> tuple[int, TimerDue]:
    id = await remind(store, due, text)
    [timer] = [one for one in await store.timers.list_due(due, ["telegram"]) if one.id == id]
    await inbox.deliver(timer.to_delivery(due))
    return inbox.rows[-1]


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize(("question", "late"), [(False, 0.0), (True, 0.0), (True, 1e6)])
async def test_it_comes_from_the_group_in_which_it_was_set(
    grouped: bool, question: bool, late: float, store: Store, clock: FakeClock
) -> None:
    """A list of people may not count there, whatever comes."""
    timers = store.timers.bind(CHAT, ADA, ReplyTarget("telegram"), grouped=grouped)
    await timers.set(str(CHAT), ADA.id, NewReminder(clock.wall(), "the tea", question=question))
    [timer] = await store.timers.list_due(clock.wall(), ["telegram"])

    assert timer.to_delivery(clock.wall() + late).group is grouped


@pytest.mark.parametrize("outside", [True, False])
async def test_it_holds_the_words_that_led_to_it_and_brings_no_address(
    outside: bool, store: Store, reminders: Reminders, clock: FakeClock
) -> None:
    timers = store.timers.bind(CHAT, ADA, ReplyTarget("telegram"))
    await timers.set(str(CHAT), ADA.id, NewReminder(clock.wall(), "open https://evil.test/?q=all", outside=outside))
    [timer] = await store.timers.list_due(clock.wall(), ["telegram"])
    turn = await store.intake.take_in(timer.to_delivery(clock.wall()))
    assert turn is not None

    [waiting] = await store.intake.list_waiting()
    assert isinstance(waiting.incoming, TimerDue)
    showing = asyncio.create_task(reminders.show(turn, waiting.incoming))
    await until(lambda: showing.done() or clock._sleepers)
    await clock.advance(5.0)
    await showing

    [asked, answer] = [row.entry for row in await store.history.list_entries(CHAT)]
    assert {asked.origin, answer.origin} == {"outside" if outside else "telegram:7"}
    assert isinstance(asked, UserEntry) and not asked.text[asked.begins :]


async def test_it_is_shown_once_and_stays_in_the_history(
    store: Store, inbox: Inbox, reminders: Reminders, screen: Screen, clock: FakeClock
) -> None:
    id, due = await taken_in(store, inbox, clock.wall())
    [waiting] = await store.intake.list_waiting()
    assert waiting.incoming == due

    for _ in range(2):
        showing = asyncio.create_task(reminders.show(id, due))
        await until(partial(ended_or_asleep, showing, clock))
        await clock.advance(5.0)
        await showing

    assert screen.pages == ["⏰ Tea!"]
    assert await store.intake.list_waiting() == []
    assert [row.entry.text for row in await store.history.list_entries(CHAT)][-1] == "⏰ Tea!"


async def test_a_late_one_names_the_time_that_was_meant(
    store: Store, inbox: Inbox, reminders: Reminders, screen: Screen, clock: FakeClock
) -> None:
    for text in ("Tea!", "喝茶"):
        id, due = await taken_in(store, inbox, clock.wall() - 7200.0, text)
        await reminders.show(id, due)

    assert screen.pages[0] == "⏰ Tea!\n\n(This was due 2026-09-21 14:13 (Europe/Paris), while I could not write.)"
    assert "2026-09-21 14:13" in screen.pages[1] and "原定于" in screen.pages[1]


async def test_a_secret_or_a_link_does_not_leave_with_a_reminder(
    store: Store, inbox: Inbox, screen: Screen, clock: FakeClock
) -> None:
    pacer = Pacer(clock)
    reminders = reminding(store, pacer, clock, lambda _: screen, zone="UTC", secrets=("sk-very-secret-key",))
    id, due = await taken_in(store, inbox, clock.wall(), "sk-very-secret-key [here](https://evil.example/x)")

    await reminders.show(id, due)
    await pacer.close()

    assert "very-secret" not in screen.pages[0]
    assert "](https" not in screen.pages[0]


async def test_a_reminder_that_kills_its_process_is_given_up(
    store: Store,
    inbox: Inbox,
    reminders: Reminders,
    screen: Screen,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    id, due = await taken_in(store, inbox, clock.wall())
    for _ in range(MOST_REMINDER_ATTEMPTS):
        await store.turns.begin(id, due.chat, due.sender.id)

    await reminders.show(id, due)

    assert await store.intake.list_waiting() == [] and screen.pages == []
    assert f"given up after {MOST_REMINDER_ATTEMPTS} attempts" in caplog.text


async def test_where_the_bot_was_blocked_it_ends(
    store: Store, inbox: Inbox, reminders: Reminders, screen: Screen, clock: FakeClock
) -> None:
    id, due = await taken_in(store, inbox, clock.wall())
    screen.blocked = True

    await reminders.show(id, due)

    assert await store.intake.list_waiting() == []


@pytest.mark.parametrize("trouble", ["the store counts no attempt", "nobody is connected"])
async def test_where_it_cannot_be_shown_now_it_comes_when_that_is_over(
    trouble: str, store: Store, inbox: Inbox, screen: Screen, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, due = await taken_in(store, inbox, clock.wall())
    begin, troubled, tries = store.turns.begin, True, 0

    def surface(target: object) -> Surface:
        nonlocal tries
        tries += 1
        if troubled and trouble == "nobody is connected":
            raise Unreachable("telegram is not connected")
        return screen

    async def begin_failing(turn: int, chat: ChatId, person: str) -> int:
        nonlocal tries
        tries += 1
        if troubled and trouble == "the store counts no attempt":
            raise StoreError("The disk is full.")
        return await begin(turn, chat, person)

    monkeypatch.setattr(store.turns, "begin", begin_failing)
    pacer = Pacer(clock)
    showing = asyncio.create_task(reminding(store, pacer, clock, surface, zone="UTC").show(id, due))
    for _ in range(3):
        await until(lambda: clock._sleepers)
        await clock.advance(30.0)
    assert tries >= 3 and screen.pages == []
    troubled = False
    while not showing.done():
        await until(partial(ended_or_asleep, showing, clock))
        await clock.advance(30.0)
    await pacer.close()

    assert screen.pages[0].startswith("⏰ Tea!") and await store.intake.list_waiting() == []


async def test_a_process_that_ends_in_order_costs_a_reminder_no_attempt(
    store: Store, inbox: Inbox, clock: FakeClock
) -> None:
    id, due = await taken_in(store, inbox, clock.wall())

    def nobody(target: object) -> Surface:
        raise Unreachable("telegram is not connected")

    pacer = Pacer(clock)
    showing = asyncio.create_task(reminding(store, pacer, clock, nobody, zone="UTC").show(id, due))
    await until(lambda: clock._sleepers)
    [waiting] = await store.intake.list_waiting()
    assert waiting.attempts == 1
    showing.cancel()
    await asyncio.wait([showing])
    await pacer.close()

    [waiting] = await store.intake.list_waiting()
    assert waiting.attempts == 0
