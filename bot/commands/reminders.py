"""`/reminders`: a person's reminders in a chat, listed, paused, resumed and deleted."""

from __future__ import annotations

import datetime
import re

from bot.contract import MOST_BUTTONS, Button, Control, MessageSent
from bot.safety import clean_name
from bot.sentences import say
from bot.store import Store, zone_or_utc
from tools.base import Reminder

_ACTIONS = {
    **dict.fromkeys(("pause", "暂停", "暫停"), Control.PAUSE),
    **dict.fromkeys(("resume", "恢复", "恢復", "继续", "繼續"), Control.RESUME),
    **dict.fromkeys(("delete", "cancel", "删除", "刪除", "取消"), Control.DELETE),
}
_ASKED = re.compile(r"(?P<action>[^\W\d]+)\s*#?(?P<number>\d{1,12})")
_TEXT_CHARS = 200


class ReminderList:
    """Answers `/reminders`; one for the process."""

    def __init__(self, store: Store, zone: str) -> None:
        """
        Args:
            zone: that in which times are written.
        """
        self._store = store
        self._zone = zone

    async def answer(self, message: MessageSent, language: str, form: str) -> str:
        """Return the list as Markdown, or what came of a change."""
        command, asked = form.format(word="reminders"), message.text.strip().lower()
        if not asked:
            return self._list(await self._waiting(message), language, command)
        match = _ASKED.fullmatch(asked)
        action = _ACTIONS.get(match["action"]) if match else None
        if match is None or action is None:
            return say("reminders_usage", language, command=command)
        return await self.change(message, action, int(match["number"]), language, form)

    async def buttons(self, message: MessageSent, language: str) -> tuple[Button, ...]:
        """Return what stands below the list: what can be done with each, as far as there is room."""
        found = [
            Button(control, one.number, say(f"button_{control}", language, number=one.number))
            for one in await self._waiting(message)
            for control in (
                *((Control.RESUME if one.paused else Control.PAUSE,) if one.repeat else ()),
                Control.DELETE,
            )
        ]
        return tuple(found[:MOST_BUTTONS])

    async def change(self, asked: MessageSent, action: Control, number: int, language: str, form: str) -> str:
        """Pause, resume or delete one of a person's reminders in a chat, and return what came of it.

        Args:
            asked: what they wrote, or pressed.
        """
        mine, command = (str(asked.chat), asked.sender.id), form.format(word="reminders")
        timers = self._store.timers.bind(asked.chat, asked.sender, None)
        reminder = next((one for one in await timers.pending(*mine) if one.number == number), None)
        if reminder is not None and reminder.repeat is None and action is not Control.DELETE:
            return say("reminders_once", language, number=number)
        change = {Control.PAUSE: timers.pause, Control.RESUME: timers.resume, Control.DELETE: timers.cancel}[action]
        if reminder is None or not await change(*mine, number):
            return say("reminders_no_such", language, number=number, command=command)
        [when] = [self._when(one) for one in await timers.pending(*mine) if one.number == number] or [""]
        return say(f"reminders_{action}", language, number=number, when=when)

    async def _waiting(self, message: MessageSent) -> list[Reminder]:
        timers = self._store.timers.bind(message.chat, message.sender, None)
        return await timers.pending(str(message.chat), message.sender.id)

    def _list(self, waiting: list[Reminder], language: str, command: str) -> str:
        if not waiting:
            return say("reminders_none", language)
        lines = [say("reminders_listed", language, zone=self._zone), ""]
        for one in waiting:
            when = say("reminders_paused", language) if one.paused else self._when(one)
            often = f" (`{one.repeat.rule}` {one.repeat.zone})" if one.repeat else ""
            asks = f" {say('reminders_asks', language)}" if one.question else ""
            lines.append(f"- `{one.number}` {when}{often}{asks} {clean_name(one.text)[:_TEXT_CHARS]}")
        return "\n".join([*lines, "", say("reminders_usage", language, command=command)])

    def _when(self, reminder: Reminder) -> str:
        return f"{datetime.datetime.fromtimestamp(reminder.due, zone_or_utc(self._zone)):%Y-%m-%d %H:%M}"
