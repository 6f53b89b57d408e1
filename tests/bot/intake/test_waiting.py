"""Who waits sees a sign of it, made only with calls that no answer needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.context import Admitted
from bot.contract import (
    CallCost,
    ChatId,
    Drawn,
    MessageRef,
    MessageSent,
    RateBudget,
    RateLimited,
    ReplyTarget,
    Sender,
    SurfaceLimits,
    Unreachable,
    Window,
)
from bot.intake.waiting import LOOK_AGAIN, MOST_AT_ONCE, PATIENCE, WaitingSigns
from bot.pacing import Pacer, Purpose
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock
from tests.surfaces import page_of

SIGNS = CallCost((RateBudget("slack:T/reactions", windows=(Window(2, 1.0),), shared=True),))
POSTS = CallCost((RateBudget("slack:T/channel/C/post", windows=(Window(2, 1.0),)),))


class Watched(BareSurface):
    """A surface that tells what is done on it."""

    limits = SurfaceLimits(400, 800, len)

    def __init__(self) -> None:
        self.done: list[tuple[str, object]] = []
        self.fails: list[Exception] = []
        self.signs: CallCost | None = SIGNS

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return POSTS

    def receipt_cost(self, waits: bool) -> CallCost | None:
        return self.signs

    async def receipt(self, message_id: str, waits: bool) -> None:
        self._do("sign" if waits else "unsign", message_id)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        self._do("line", page_of(drawn).body)
        return MessageRef("m1")

    async def remove(self, at: MessageRef) -> None:
        self._do("no line", at.id)

    def _do(self, what: str, about: object) -> None:
        self.done.append((what, about))
        if self.fails:
            raise self.fails.pop(0)


@pytest.fixture
def surface() -> Watched:
    return Watched()


@pytest.fixture
async def pacer(clock: FakeClock) -> AsyncIterator[Pacer]:
    pacer = Pacer(clock)
    yield pacer
    await pacer.close()


@pytest.fixture
async def signs(pacer: Pacer, clock: FakeClock, surface: Watched) -> AsyncIterator[WaitingSigns]:
    signs = WaitingSigns(pacer, clock, lambda message: surface)
    yield signs
    await signs.close()


def message(id: str = "5.1", *, command: bool = False, awaited: bool = False, text: str = "why?") -> MessageSent:
    return MessageSent(
        delivery="1",
        chat=ChatId("slack", "T", "C"),
        sender=Sender(id="slack:T/U1", name="ann"),
        target=ReplyTarget("slack"),
        text=text,
        message_id=id,
        quote_question=command,
        awaited=awaited,
    )


async def test_a_message_is_marked_while_it_waits_and_no_longer(
    signs: WaitingSigns, surface: Watched, clock: FakeClock
) -> None:
    begun = signs.show(Admitted(message(), "en"))
    await clock.settle()
    before = list(surface.done)

    begun()
    await clock.advance(2.0)

    assert (before, surface.done[1:]) == ([("sign", "5.1")], [("unsign", "5.1")])


async def test_a_command_that_nobody_else_sees_gets_a_line_that_names_it_and_goes(
    signs: WaitingSigns, surface: Watched, clock: FakeClock
) -> None:
    begun = signs.show(Admitted(message("", command=True, text="why is *this*  " + "so " * 100), "en"))
    await clock.settle()
    begun()
    await clock.advance(2.0)

    (shown, line), gone = surface.done
    assert shown == "line" and r"why is \*this\* so so" in str(line) and "…" in str(line)
    assert gone == ("no line", "m1")


async def test_a_line_goes_with_its_process_and_a_sign_is_left_to_the_next(
    signs: WaitingSigns, surface: Watched, clock: FakeClock
) -> None:
    """The next process shows a line of its own, and knows nothing of this one."""
    elsewhere = replace(message("", command=True), chat=ChatId("slack", "T", "D"))
    for one in (message("", command=True), message("5.1"), elsewhere):
        signs.show(Admitted(one, "en"))
        await clock.advance(1.0)
    assert [what for what, _ in surface.done] == ["line", "sign", "line"]

    for count, resting in ((1, signs.suspend("slack:T/C")), (1, signs.suspend("discord")), (2, signs.close())):
        ending = asyncio.create_task(resting)
        await clock.advance(2.0)
        await ending
        assert surface.done[3:] == [("no line", "m1")] * count


async def test_a_line_that_cannot_go_at_once_keeps_no_process(
    signs: WaitingSigns, surface: Watched, pacer: Pacer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.waiting.MOMENT", 0.01)
    signs.show(Admitted(message("", command=True), "en"))
    await clock.settle()
    while pacer.take(POSTS):
        pass

    await signs.close()

    assert [what for what, _ in surface.done] == ["line"]


@pytest.mark.parametrize("quiet", [message("5.1", awaited=True), message("", command=False)], ids=["awaited", "button"])
async def test_what_has_no_place_for_a_sign_gets_none(
    signs: WaitingSigns, surface: Watched, clock: FakeClock, quiet: MessageSent
) -> None:
    begun = signs.show(Admitted(quiet, "en"))
    await clock.settle()
    begun()
    await clock.settle()

    assert surface.done == []


async def test_a_platform_without_signs_is_not_asked_for_one(
    signs: WaitingSigns, surface: Watched, clock: FakeClock
) -> None:
    surface.signs = None

    signs.show(Admitted(message(), "en"))
    signs.take_away(message())
    await clock.settle()

    assert surface.done == []


async def test_what_a_former_process_may_have_shown_is_taken_away(
    signs: WaitingSigns, surface: Watched, clock: FakeClock
) -> None:
    signs.take_away(message())
    signs.take_away(message("", command=True))
    await clock.settle()

    assert surface.done == [("unsign", "5.1")]


@pytest.mark.parametrize("command", [False, True])
async def test_a_sign_waits_for_calls_that_nobody_needs_and_is_not_shown_where_the_turn_begins_first(
    signs: WaitingSigns, surface: Watched, pacer: Pacer, clock: FakeClock, command: bool
) -> None:
    for cost in (SIGNS, POSTS):
        assert pacer.take(cost, Purpose.FINAL)
    begun = signs.show(Admitted(message("" if command else "5.1", command=command), "en"))
    await clock.settle()
    before = list(surface.done)

    begun()
    for cost in (SIGNS, POSTS):
        pacer.answered(cost)
    await clock.advance(5.0)

    assert before == surface.done == []


async def test_a_sign_is_shown_as_soon_as_a_call_is_free(
    signs: WaitingSigns, surface: Watched, pacer: Pacer, clock: FakeClock
) -> None:
    assert pacer.take(SIGNS, Purpose.FINAL)
    signs.show(Admitted(message(), "en"))
    await clock.settle()
    before = list(surface.done)
    pacer.answered(SIGNS)

    await clock.advance(1.0 + LOOK_AGAIN)

    assert (before, surface.done) == ([], [("sign", "5.1")])


async def test_nothing_is_called_where_the_platform_closed_the_chat(
    signs: WaitingSigns, surface: Watched, pacer: Pacer, clock: FakeClock
) -> None:
    pacer.refused(POSTS, "", 30.0)
    signs.show(Admitted(message(), "en"))
    await clock.advance(29.0)
    before = list(surface.done)

    await clock.advance(1.0 + LOOK_AGAIN)

    assert (before, surface.done) == ([], [("sign", "5.1")])


async def test_a_pause_is_kept_and_a_sign_that_cannot_be_taken_away_in_minutes_stays(
    signs: WaitingSigns, surface: Watched, pacer: Pacer, clock: FakeClock
) -> None:
    surface.fails = [RateLimited("slower", retry_after=PATIENCE + 60.0)]
    signs.take_away(message())

    await clock.advance(PATIENCE + 120.0)

    assert surface.done == [("unsign", "5.1")]
    assert pacer.opens_at(SIGNS) <= clock.now, "it could be called by now"


async def test_a_failure_costs_the_sign_and_nothing_else(
    signs: WaitingSigns, surface: Watched, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    surface.fails = [Unreachable("blocked"), ZeroDivisionError()]

    for number in range(3):
        signs.show(Admitted(message(str(number)), "en"))
        await clock.advance(2.0)

    assert [id for _, id in surface.done] == ["0", "1", "2"]
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


async def test_beyond_so_many_signs_who_waits_waits_without_one(
    signs: WaitingSigns, surface: Watched, pacer: Pacer, clock: FakeClock
) -> None:
    pacer.refused(POSTS, "", 30.0)

    for number in range(MOST_AT_ONCE + 5):
        signs.show(Admitted(message(str(number)), "en"))
    signs.take_away(message())

    assert len([task for task in asyncio.all_tasks() if task.get_name() == "receipt"]) == MOST_AT_ONCE
