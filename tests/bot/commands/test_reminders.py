"""`/reminders`: a person's own, in this chat, in three languages."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace

from bot.commands.reminders import list_mark, page_of
from bot.context import Admitted
from bot.contract import Button, ChatId, Control, ControlPressed, Page, ReplyTarget, Sender, SurfaceLimits
from tests.bot.conftest import OpenRig, Rig
from tools.contract.base import NewReminder, Repeat

ADA, BOB = "telegram:7", "telegram:8"


async def remind(it: Rig, chat: ChatId, due: float, text: str, repeat: Repeat | None = None) -> int:
    timers = it.bot.store.timers.bind(chat, Sender(id=ADA, name="Ada"), ReplyTarget("telegram"))
    return await timers.set(str(chat), ADA, NewReminder(due, text, repeat=repeat))


async def test_they_are_listed_paused_resumed_and_deleted(rig: OpenRig) -> None:
    async with rig(TIME_ZONE="Europe/Paris") as it:
        chat = it.message("").chat
        later = time.time() + 30 * 86_400.0
        once = await remind(it, chat, later, "Call [Mia](https://evil.example)\nsoon")
        daily = await remind(it, chat, later, "Stretch!", Repeat("0 8 * * 1-5", "Europe/Paris", "every weekday at 8"))

        [listed] = await it.say("/reminders")
        [paused] = await it.say(f"/reminders pause {daily}")
        [while_paused] = await it.say("/reminders")
        [resumed] = await it.say(f"/reminders resume #{daily}")
        [only_once] = await it.say(f"/reminders pause {once}")
        [deleted] = await it.say(f"/reminders delete {once}")
        [gone] = await it.say(f"/reminders delete {once}")
        [unclear] = await it.say("/reminders please")
        await it.say(f"/reminders delete {daily}")
        asks = it.bot.store.timers.bind(chat, Sender(id=ADA, name="Ada"), ReplyTarget("telegram"))
        question = await asks.set(str(chat), ADA, NewReminder(later, "What is new?", question=True))
        [with_question] = await it.say("/reminders")
        await it.say(f"/reminders delete {question}")
        [empty] = await it.say("/reminders")

    assert f"- `{once}` " in listed and "Mia" in listed and "](https" not in listed and "\nsoon" not in listed
    assert f"- `{daily}` " in listed and "(`0 8 * * 1-5` Europe/Paris) Stretch!" in listed
    assert "Your reminders here (Europe/Paris):" in listed and "`/reminders pause N`" in listed
    assert paused == f"Reminder {daily} is paused until you resume it." and "paused (`0 8" in while_paused
    assert resumed.startswith(f"Reminder {daily} continues: next 20") and resumed.endswith(" 08:00.")
    assert "comes only once" in only_once and str(once) in deleted
    assert "no reminder" in gone and "Write `/reminders pause N`" in unclear
    assert " question: What is new?" in with_question
    assert "You have no reminders here." in empty


def short(text: str) -> int:
    return len(text)


async def test_a_list_fits_one_message_as_long_as_its_texts_can_be_shortened(rig: OpenRig) -> None:
    limits = SurfaceLimits(1_850, 2_000, short)
    async with rig() as it:
        message, answers = it.message(""), it.bot.dispatcher.actions.answers
        for number in range(16):
            await remind(it, message.chat, time.time() + 86_400.0, f"{number} " + "Stretch and breathe. " * 20)
            text, buttons = await answers.reminders.write_list(Admitted(message, "en"), limits, 1)
            assert "Page" not in text and len(text) <= 1_850
            assert {one.mark for one in buttons} == {list_mark(ADA, 1)}
            assert f"{number} Stretch" in text
        for _ in range(30):
            await remind(it, message.chat, time.time() + 86_400.0, "Stretch and breathe. " * 20)
        listed: list[str] = []
        for page in (1, 2, 3):
            text, buttons = await answers.reminders.write_list(Admitted(message, "en"), limits, page)
            assert len(text) <= 1_850 and f"Page {min(page, 2)} of 2. Write `/reminders N` for another page." in text
            assert {one.mark for one in buttons} == {list_mark(ADA, min(page, 2))}
            listed += re.findall(r"^- `(\d+)`", text, re.M) if page < 3 else ()
        assert sorted(map(int, listed)) == [*range(1, 47)], "each stands on one of them"


def test_a_mark_names_the_page_of_its_owners_list_and_no_other() -> None:
    assert [page_of(list_mark(ADA, page), ADA) for page in (1, 2, 300)] == [1, 2, 300]
    assert page_of(list_mark(BOB, 1), ADA) == page_of("", ADA) == page_of("0" * 16, ADA) == 0


async def test_a_press_below_a_page_redraws_that_page_of_the_list(rig: OpenRig) -> None:
    async with rig() as it:
        chat = it.message("").chat
        due = time.time() + 86_400.0
        daily = Repeat("0 8 1,8,15,22,29 * 1-5", "America/Argentina/ComodRivadavia", "every weekday at 8")
        numbers = [await remind(it, chat, due + 60.0 * one, "Stretch and breathe. " * 5, daily) for one in range(50)]
        await it.say("/reminders")
        await it.say("/reminders 2")
        first, second = it.memory.pages["7"]

        def listed(message: str) -> Page:
            return it.memory.pages["7"][message]

        assert "Page 2 of 3" in listed(second).body and f"`{numbers[0]}`" not in listed(second).body
        gone = next(one for one in listed(second).buttons if one.control is Control.DELETE)
        told = await pressed(it, gone, at=second)
        assert f"Reminder {gone.turn} is deleted." in told
        assert "Page 2 of 3" in listed(second).body and f"`{gone.turn}`" not in listed(second).body
        assert f"`{numbers[0]}`" in listed(first).body
        await pressed(it, listed(first).buttons[1], at=first)
        assert "Page 1 of 3" in listed(first).body and f"`{numbers[0]}`" not in listed(first).body


async def pressed(it: Rig, button: Button, *, person: str = ADA, at: str = "m1") -> list[str]:
    """Press a button of a list; what is told aside."""
    it.number += 1
    message = it.message("")
    press = ControlPressed(
        delivery=f"p{it.number}",
        chat=message.chat,
        sender=Sender(id=person),
        target=message.target,
        control=button.control,
        turn=button.turn,
        mark=button.mark,
        message_id=at,
        group=True,
    )
    before = it.shown()
    await it.deliver(press)
    await it.idle()
    return [text for text in it.shown() if text not in before]


async def test_a_press_redraws_the_list_of_who_pressed_in_its_message_and_nobody_elses(rig: OpenRig) -> None:
    async with rig() as it:
        chat = it.message("").chat
        later = time.time() + 30 * 86_400.0
        daily = await remind(it, chat, later, "Stretch!", Repeat("0 8 * * 1-5", "Europe/Paris", "every weekday at 8"))
        once = await remind(it, chat, later, "Call Mia")
        await it.say("/reminders")
        [message] = it.memory.pages["7"]

        def listed() -> Page:
            return it.memory.pages["7"][message]

        first = listed()
        pause, _, delete = first.buttons
        assert [one.control for one in first.buttons] == [Control.PAUSE, Control.DELETE, Control.DELETE]

        await pressed(it, pause, person="telegram:8", at=message)
        unmarked = replace(pause, mark="")
        assert listed() == first
        await pressed(it, unmarked, at=message)
        assert listed() == first, "a list of an earlier version, or of several messages, stays as it is"

        await pressed(it, pause, at=message)
        assert [one.control for one in listed().buttons] == [Control.DELETE, Control.RESUME, Control.DELETE]
        assert "paused" in listed().body
        await asyncio.gather(
            pressed(it, delete, at=message), pressed(it, replace(pause, control=Control.RESUME), at=message)
        )
        await it.idle()
        assert [one.control for one in listed().buttons] == [Control.PAUSE, Control.DELETE]
        assert f"`{once}`" not in listed().body

        del it.memory.pages["7"][message]
        it.memory.gone.add(message)
        told = await pressed(it, replace(pause, control=Control.DELETE), at=message)
        assert told == [f"Reminder {daily} is deleted."], "a list that somebody deleted is not written again"
