"""`/reminders`: a person's reminders in a chat, listed, paused, resumed and deleted."""

from __future__ import annotations

import datetime
import re

from bot.contract import MessageSent
from bot.safety import clean_name
from bot.sentences import say
from bot.store import Store, zone_or_utc
from tools.base import Reminder

_ACTIONS = {
    **dict.fromkeys(("pause", "暂停", "暫停"), "pause"),
    **dict.fromkeys(("resume", "恢复", "恢復", "继续", "繼續"), "resume"),
    **dict.fromkeys(("delete", "cancel", "删除", "刪除", "取消"), "delete"),
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
        mine = str(message.chat), message.sender.id
        timers = self._store.timers.bind(message.chat, message.sender, None)
        waiting = {one.number: one for one in await timers.pending(*mine)}
        command, asked = form.format(word="reminders"), message.text.strip().lower()
        if not asked:
            return self._list([*waiting.values()], language, command)
        match = _ASKED.fullmatch(asked)
        action = _ACTIONS.get(match["action"]) if match else None
        if match is None or action is None:
            return say("reminders_usage", language, command=command)
        number = int(match["number"])
        reminder = waiting.get(number)
        if reminder is not None and reminder.repeat is None and action != "delete":
            return say("reminders_once", language, number=number)
        change = {"pause": timers.pause, "resume": timers.resume, "delete": timers.cancel}[action]
        if reminder is None or not await change(*mine, number):
            return say("reminders_no_such", language, number=number, command=command)
        [when] = [self._when(one) for one in await timers.pending(*mine) if one.number == number] or [""]
        return say(f"reminders_{action}", language, number=number, when=when)

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
