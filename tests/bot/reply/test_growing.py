"""Replies without an edit for their ends, where a message can take more text without one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from bot.contract.errors import Full
from bot.contract.messages import GROWS, MessageRef, Status
from bot.contract.surface import CallCost, Drawn, RateBudget, SurfaceLimits, Window
from bot.pacing.pacer import Pacer
from bot.reply.pages import Stage, Standing
from bot.reply.pageset import PageSet
from bot.reply.stream import ReplyStream
from tests.bot.reply.test_stream import Log, Screen, finish
from tests.conftest import FakeClock
from tests.surfaces import page_of
from tools.contract.base import ToolStatus


@dataclass
class Streaming(Screen):
    """A screen whose edits are all taken, and that shows what grows in messages of their own kind."""

    finds: bool = True
    repeats: bool = False
    budgets: tuple[RateBudget, ...] = ()
    edit_budgets: tuple[RateBudget, ...] | None = (RateBudget("edits", windows=(Window(1, 60.0),), shared=True),)
    takes: bool = True
    """A message that grows is begun where one is wanted."""

    @property
    def limits(self) -> SurfaceLimits:
        return replace(super().limits, pieces=True, grows=True)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return CallCost() if at is not None and at.form == GROWS else super().cost(drawn, at)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        ref = await super().show(drawn, at, nonce)
        page = page_of(drawn)
        return MessageRef(ref.id, GROWS) if self.takes and page.grows and not page.final else ref


GROWN = "This is the first sentence of it. "


async def grown(screen: Streaming, clock: FakeClock, *later: str, finish_it: bool = True) -> ReplyStream:
    """A reply without an edit for its end, whose first sentence stands; then comes the rest."""
    reply = ReplyStream(screen, Pacer(clock), Log(), clock, turn="t1")
    await reply.__aenter__()
    reply.append(GROWN + "An")
    await clock.advance(30)
    for text in later:
        reply.append(text)
        await clock.advance(30)
    if finish_it:
        await finish(reply, clock)
        await reply.__aexit__(None, None, None)
    return reply


async def test_without_an_edit_for_its_end_a_reply_grows_by_sentences_in_one_message(clock: FakeClock) -> None:
    screen = Streaming()
    reply = await grown(screen, clock, "other one. And", " the last one", finish_it=False)
    reply.status("tool", "looking")
    await clock.advance(30)
    assert [page.body for page in screen.shown["m0"]] == [GROWN, *[f"{GROWN}Another one. "] * 2]
    assert not any(page.buttons for page in screen.shown["m0"])
    assert screen.shown["m0"][-1].status == (Status("looking", "tool"),), "a card, and no line of the text"
    reply.ended("tool", ToolStatus.FAILED)
    reply.ended("another", ToolStatus.FAILED)
    await clock.advance(30)
    assert screen.shown["m0"][-1].status == (Status("looking", "tool", ToolStatus.FAILED),)

    await finish(reply, clock)
    await reply.__aexit__(None, None, None)

    assert [kind for kind, _ in screen.calls] == ["post", *["edit"] * 4]
    assert screen.now() == f"{GROWN}Another one. And the last one"
    assert screen.shown["m0"][-1].final


async def test_what_tools_did_before_the_first_words_stands_above_them(clock: FakeClock) -> None:
    screen = Streaming()
    reply = ReplyStream(screen, Pacer(clock), Log(), clock, turn="t1")
    await reply.__aenter__()
    reply.status("a", "looking")
    reply.ended("a", ToolStatus.COMPLETED)
    reply.status("b", "counting")
    reply.clear_status()
    reply.append(f"{GROWN}Another one. An")
    await clock.advance(30)
    done = Status("looking", "a", ToolStatus.COMPLETED)
    assert screen.shown["m0"][-1].status == (done, Status("counting", "b"))

    await finish(reply, clock)
    await reply.__aexit__(None, None, None)

    assert screen.shown["m0"][-1].status == (done, Status("counting", "b", ToolStatus.CANCELLED))


async def test_a_card_does_not_change_once_its_message_stands(clock: FakeClock) -> None:
    pages = PageSet("t1", Streaming().limits)
    pages.extend(GROWN)
    pages.begin_task("a", "looking")
    pages.begin_piece(0, grows=True)
    shown = pages.now(0)
    pages.finish()
    page = pages.page(0)
    shown.become(Stage.FINAL, Standing(MessageRef("m0"), page))
    assert page.final and page.status[0].state == ToolStatus.CANCELLED

    pages.end_task("a", ToolStatus.COMPLETED)

    assert pages.page(0) == page


async def test_what_could_only_be_posted_stands_and_the_rest_follows(clock: FakeClock) -> None:
    screen = Streaming(takes=False)

    await grown(screen, clock, "other one. And", " the last one")

    assert [kind for kind, _ in screen.calls] == ["post", "post"]
    assert [screen.now(id) for id in screen.shown] == [GROWN, "Another one. And the last one"]


@pytest.mark.parametrize("final", [False, True])
async def test_what_a_message_that_grows_cannot_show_follows_in_a_further_one(clock: FakeClock, final: bool) -> None:
    screen = Streaming(faults=[None, Full("not that", by=0)])
    later = ("other one. And the last one.",) if final else ("other one. And", " the last one.")

    reply = await grown(screen, clock, *(() if final else later), finish_it=False)
    if final:
        reply.append(later[0])
    await finish(reply, clock)
    await reply.__aexit__(None, None, None)

    assert [kind for kind, _ in screen.calls][:3] == ["post", "edit", "post"]
    assert "".join(screen.now(id) for id in screen.shown) == f"{GROWN}Another one. And the last one."
    assert reply.refs[0] == MessageRef("m0"), "it takes edits from now on"


async def test_a_message_that_grew_before_this_reply_is_not_cut(clock: FakeClock) -> None:
    """What stands in it is not known here: it is left as it is, and edited."""
    pages = PageSet("t1", SurfaceLimits(200, 400, len))
    pages.extend("All of it.")
    pages.now(0).become(Stage.SHOWN, Standing(MessageRef("m0", GROWS)))

    assert pages.shorten(0, Full("not that", by=0)) == 0.0

    assert pages.refs == {0: MessageRef("m0")} and pages.cuts == ()


async def test_a_page_that_opens_inside_of_code_does_not_grow(clock: FakeClock) -> None:
    pages = PageSet("t1", SurfaceLimits(60, 120, len))
    pages.extend("```\n" + "a line of code\n" * 5 + "and one more. And")

    pages.begin_piece(len(pages.cuts), grows=True)

    assert not any(pages.page(number).grows for number in range(3))
