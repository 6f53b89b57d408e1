"""`/reminders`: a person's own, in this chat, in three languages."""

from __future__ import annotations

import time

from bot.contract import ChatId, ReplyTarget, Sender
from tests.bot.conftest import OpenRig, Rig
from tools.base import Repeat

ADA = "telegram:7"


async def remind(it: Rig, chat: ChatId, due: float, text: str, repeat: Repeat | None = None) -> int:
    timers = it.bot.store.timers.bind(chat, Sender(id=ADA, name="Ada"), ReplyTarget("telegram"))
    return await timers.set(str(chat), ADA, due, text, repeat=repeat)


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
        question = await asks.set(str(chat), ADA, later, "What is new?", question=True)
        [with_question] = await it.say("/reminders")
        await it.say(f"/reminders delete {question}")
        [empty] = await it.say("/reminders")

    assert f"- `{once}` " in listed and "Mia" in listed and "](https" not in listed and "\nsoon" not in listed
    assert f"- `{daily}` " in listed and "(`0 8 * * 1-5` Europe/Paris) Stretch!" in listed
    assert "Your reminders here (Europe/Paris):" in listed and "`/reminders pause N`" in listed
    assert paused == f"Reminder {daily} is paused until you resume it." and "paused (`0 8" in while_paused
    assert resumed.startswith(f"Reminder {daily} goes on: next 20") and resumed.endswith(" 08:00.")
    assert "comes only once" in only_once and str(once) in deleted
    assert "no reminder" in gone and "Write `/reminders pause N`" in unclear
    assert " question: What is new?" in with_question
    assert "No reminders of yours wait here." in empty
