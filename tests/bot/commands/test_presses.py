"""Buttons under a reply: who may press them, and what each does."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from bot.contract import (
    Button,
    ChatId,
    Control,
    ControlPressed,
    Page,
    ReplyTarget,
    Sender,
    TimerDue,
    parse_button,
)
from bot.store.export import Extent
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tools.contract.base import NewReminder

ADA, BOB = "telegram:7", "telegram:8"
OLD = "This button belongs to an older answer; there is a newer one."
NOT_YOURS = "Only the person who asked, or an admin, may do that."
NOTED = "Noted, thank you."


def page(it: Rig) -> Page:
    """The first message of the bot."""
    return next(iter(it.memory.pages["7"].values()))


def controls(it: Rig) -> list[Control]:
    return [button.control for button in page(it).buttons]


def button(it: Rig, control: Control) -> Button:
    return next(one for one in page(it).buttons if one.control is control)


def pressed(
    it: Rig, control: Control, turn: int | None = None, *, person: str = ADA, chat: str = "7", awaited: bool = False
) -> ControlPressed:
    """A press, of which is told aside in a place of its own: `aside1`, `aside2`, …"""
    it.number += 1
    return ControlPressed(
        delivery=f"p{it.number}",
        chat=ChatId("telegram", "42", chat),
        sender=Sender(id=person, name="Ada"),
        target=replace(it.message("").target, data={"chat": f"aside{it.number}"}),
        control=control,
        turn=button(it, control).turn if turn is None else turn,
        awaited=awaited,
    )


async def press(
    it: Rig, control: Control, turn: int | None = None, *, person: str = ADA, chat: str = "7", awaited: bool = False
) -> list[str]:
    """Press, wait until all is answered, and read what is told aside."""
    await it.deliver(pressed(it, control, turn, person=person, chat=chat, awaited=awaited))
    await it.idle()
    return it.shown(f"aside{it.number}")


def test_what_a_button_holds_is_read_back_and_nothing_else_is() -> None:
    for control in Control:
        mark = "0123456789abcdef" if control in (Control.ALLOW, Control.DENY) else ""
        held = Button(control, 2**62, "👍", mark).data
        assert parse_button(held) == Button(control, 2**62, mark=mark) and len(held.encode()) <= 48
    broken = ("", "stop", "stop:", "stop:x", "stop:-1", "stop:١", "go:1", "a:1", "stop:1:", "stop:1:0123456789abcdef")
    listed = f"pause:1:{'0' * 16}"
    assert parse_button("pause:1") and parse_button(listed) == Button(Control.PAUSE, 1, mark="0" * 16)
    unmarked = (
        "pause:1:",
        "delete:1:0123",
        f"stop:1:{'0' * 16}",
        "allow:1",
        "allow:1:",
        "deny:1:0123",
        "allow:1:0123456789ABCDEF",
        "allow:1:0123456789abcdef0",
    )
    assert {parse_button(data) for data in (*broken, *unmarked)} == {None}
    assert parse_button("stop:" + "9" * 20) is None


async def test_stop_stands_under_a_reply_that_grows_and_ends_it(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=50))
        await it.deliver(it.message("Tell me"))
        await it.until(lambda: bool(it.shown()))
        assert controls(it) == [Control.STOP]
        turn = page(it).buttons[0].turn

        assert await press(it, Control.STOP, awaited=True) == ["Stopped."]

        assert page(it).body.endswith("Stopped.")
        assert controls(it) == [Control.REGENERATE, Control.CONTINUE, Control.GOOD, Control.BAD]
        assert await press(it, Control.STOP, turn) == ["Nothing is being answered right now."]


async def test_a_stop_that_names_no_turn_ends_what_runs_in_its_chat(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=50))
        await it.deliver(it.message("Tell me"))
        await it.until(lambda: bool(it.shown()))

        strangers, elsewhere = pressed(it, Control.STOP, 0, person=BOB), pressed(it, Control.STOP, 0, chat="8")
        await it.deliver(strangers, elsewhere)
        await it.until(lambda: it.shown(str(strangers.target.data["chat"])) == [NOT_YOURS])
        assert controls(it) == [Control.STOP]
        assert await press(it, Control.STOP, 0) == []

        assert it.shown(str(elsewhere.target.data["chat"])) == []
        assert page(it).body.endswith("Stopped.")
        assert await press(it, Control.STOP, 0) == []


async def test_regenerate_writes_the_answer_anew_in_the_same_message(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("First."), Reply("Second."), Reply("Third."), Reply("Fourth."))
        await it.say("What is tea?")
        first = button(it, Control.REGENERATE)
        assert controls(it) == [Control.REGENERATE, Control.GOOD, Control.BAD]

        assert await press(it, Control.REGENERATE, awaited=True) == ["On it."]
        assert it.shown() == ["Second."]
        assert await press(it, Control.REGENERATE) == []
        assert it.shown() == ["Third."]
        assert await press(it, Control.REGENERATE, first.turn) == [OLD]

        await it.say("And milk?")
        told = str(it.model.requests[-1].body["messages"])
        assert "Third." in told and "First." not in told and "Second." not in told


async def test_two_presses_of_regenerate_answer_once(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("First."), Reply("Second."))
        await it.say("What is tea?")
        turn = button(it, Control.REGENERATE).turn
        presses = [
            ControlPressed(
                delivery=f"p{number}",
                chat=ChatId("telegram", "42", "7"),
                sender=Sender(id=ADA),
                target=replace(it.message("").target, data={"chat": "aside"}),
                control=Control.REGENERATE,
                turn=turn,
            )
            for number in range(2)
        ]
        await it.deliver(*presses)
        await it.idle()

        assert it.shown() == ["Second."] and it.shown("aside") == [OLD]
        assert len(it.model.requests) == 2


async def test_continue_goes_on_below_and_can_be_regenerated(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=50), Reply("And so on."), Reply("And on."), Reply("Yes."))
        await it.deliver(it.message("Tell me"))
        await it.until(lambda: bool(it.shown()))
        await press(it, Control.STOP)

        assert await press(it, Control.CONTINUE) == ["And so on."]
        [below] = list(it.memory.pages.values())[-1].values()

        asked = it.model.requests[-1].body["messages"][-1]["content"]
        assert "Go on exactly where your last answer stopped" in asked
        again = below.buttons[0]
        assert again.control is Control.REGENERATE
        await press(it, Control.REGENERATE, again.turn)
        assert it.model.requests[-1].body["messages"][-1]["content"] == asked


@pytest.mark.parametrize(
    ("said", "goes_on"),
    [
        (Reply("Tea is a leaf."), False),
        (Reply("Tea is", finish_reason="length"), True),
        (Reply("Tea is a le", drop_after=8), True),
    ],
    ids=["whole", "cut off", "broken"],
)
async def test_an_answer_that_is_shown_again_keeps_its_buttons(rig: OpenRig, said: Reply, goes_on: bool) -> None:
    """As after an edit that was never answered, or after a restart."""
    async with rig() as it:
        it.model.script = lambda _: said if len(it.model.requests) == 1 else Reply("", status=500)
        await it.say("What is tea?")
        before = controls(it)
        assert (Control.CONTINUE in before) == goes_on

        turn = page(it).buttons[0].turn
        it.memory.pages.clear()
        await it.bot.settling.refresh(turn, ChatId("telegram", "42", "7"))
        await it.until(lambda: bool(it.shown()))
        assert controls(it) == before


async def test_a_rating_is_kept_with_the_turn_and_the_last_one_counts(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea."), Reply("Milk."))
        await it.say("What is tea?")
        for control in (Control.GOOD, Control.GOOD, Control.BAD):
            assert await press(it, control) == [NOTED]
        turn = page(it).buttons[0].turn
        await it.say("And milk?")
        chat = ChatId("telegram", "42", "7")

        record = await it.bot.store.turns.find_record(turn)
        assert record is not None and record.rating == "bad"
        [row] = await it.bot.store.history.list_chats()
        assert (row.good, row.bad) == (0, 1)
        assert [line["rating"] async for line in it.bot.store.history.export(Extent(chat))] == ["bad", ""]
        assert await press(it, Control.GOOD, turn) == [NOTED], "an older answer can be rated"
        assert await press(it, Control.CONTINUE, turn) == [OLD]


async def test_only_who_asked_and_admins_may_press_and_others_hear_so_once(rig: OpenRig) -> None:
    async with rig(ADMINS="telegram:9") as it:
        it.model.reply(Reply("First."), Reply("Second."), Reply("Third."))
        await it.say("What is tea?")

        assert await press(it, Control.GOOD, person=BOB) == [NOT_YOURS]
        assert await press(it, Control.REGENERATE, person=BOB) == []
        assert it.shown() == ["First."] and len(it.model.requests) == 1
        await press(it, Control.REGENERATE, person="telegram:9")
        assert it.shown() == ["Second."]
        # It is still the answer of the person who asked.
        assert await press(it, Control.GOOD) == [NOTED]


async def test_a_button_of_another_chat_or_of_no_turn_does_nothing(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea."))
        await it.say("What is tea?")

        assert await press(it, Control.GOOD, chat="9") == [OLD]
        assert await press(it, Control.GOOD, 404) == [OLD]
        [row] = await it.bot.store.history.list_chats()
        assert row.good == 0


async def test_who_may_not_ask_any_more_may_not_press_either(rig: OpenRig) -> None:
    async with rig(ADMINS="telegram:9") as it:
        it.model.reply(Reply("Tea."))
        await it.say("What is tea?")
        await it.say(f"/forbid {ADA}", person="telegram:9", chat="9")

        assert await press(it, Control.REGENERATE) == [NOT_YOURS]
        assert len(it.model.requests) == 1


async def test_who_may_not_ask_any_more_keeps_no_hand_on_reminders(rig: OpenRig) -> None:
    async with rig(ADMINS="telegram:9") as it:
        timers = it.bot.store.timers.bind(it.message("").chat, Sender(id=ADA), ReplyTarget("telegram"))
        scope = str(it.message("").chat)
        number = await timers.set(scope, ADA, NewReminder(time.time() + 9_000.0, "Stretch!"))
        await it.say(f"/forbid {ADA}", person="telegram:9", chat="9")

        assert await press(it, Control.DELETE, number) == [NOT_YOURS]
        assert await press(it, Control.DELETE, number) == []
        assert [one.number for one in await timers.pending(scope, ADA)] == [number]


async def test_below_many_reminders_stand_as_many_buttons_as_every_platform_shows(rig: OpenRig) -> None:
    async with rig() as it:
        timers = it.bot.store.timers.bind(it.message("").chat, Sender(id=ADA), ReplyTarget("telegram"))
        for number in range(30):
            await timers.set(str(it.message("").chat), ADA, NewReminder(time.time() + 9_000.0 + number, "Stretch!"))
        await it.say("/reminders")
        assert [one.turn for one in page(it).buttons] == list(range(1, 25))


async def test_regenerate_counts_as_a_question(rig: OpenRig) -> None:
    async with rig(MESSAGES_PER_MINUTE="1") as it:
        it.model.reply(Reply("Tea."))
        await it.say("What is tea?")

        [told] = await press(it, Control.REGENERATE)
        assert "too many" in told.lower() or "slow" in told.lower() or "wait" in told.lower()
        assert await press(it, Control.REGENERATE) == [], "said once a minute"
        assert len(it.model.requests) == 1


async def test_without_the_setting_there_are_no_buttons(rig: OpenRig) -> None:
    async with rig(REPLY_BUTTONS="false") as it:
        it.model.reply(Reply("Tea."))
        await it.say("What is tea?")
        assert page(it).buttons == ()


async def test_a_notice_has_none(rig: OpenRig) -> None:
    async with rig() as it:
        await it.say("/help")
        assert page(it).buttons == ()


@pytest.mark.parametrize("again", ["button", "/retry"])
async def test_what_an_answer_changed_is_not_changed_once_more_when_it_is_asked_for_again(
    rig: OpenRig, again: str
) -> None:
    call = ("remind_me", {"text": "the tea", "delay": "1 hour"})

    async with rig() as it:
        it.model.reply(Reply(calls=(call,)), Reply("It is set."), Reply(calls=(call,)), Reply("It is still set."))
        await it.say("Remind me of the tea")
        if again == "button":
            await press(it, Control.REGENERATE)
            assert [page.body for page in it.memory.pages["7"].values()] == ["It is still set."]
        else:
            assert await it.say("/retry") == ["It is still set."]
        told = str(it.model.requests[-1].body["messages"])
        chat = it.message("").chat
        timers = it.bot.store.timers.bind(chat, Sender(id=ADA), None)

        assert len(await timers.pending(str(chat), ADA)) == 1
        assert "has changed an earlier message" not in told


async def test_a_reminder_that_came_last_is_no_question_to_ask_again_and_stays(rig: OpenRig) -> None:
    async with rig() as it:
        asked = it.message("the tea")
        due = TimerDue(delivery="t1", chat=asked.chat, sender=asked.sender, target=asked.target, text="the tea")
        await it.bot.store.intake.take_in(due)
        await it.bot.dispatcher.suspend("telegram")
        await it.bot.dispatcher.resume("telegram")
        await it.idle()

        assert await it.say("/retry") == ["There is no question to answer again."]
        last = await it.bot.store.turns.find_last(asked.chat)
        assert last is not None and isinstance(last.incoming, TimerDue)
