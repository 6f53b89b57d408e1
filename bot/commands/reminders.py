"""`/reminders`: a person's reminders in a chat, listed, paused, resumed and deleted."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Sequence

from bot.context import Admitted
from bot.contract import MARK_CHARS, MOST_BUTTONS, Button, Control, MessageSent, SurfaceLimits
from bot.safety import clean_name
from bot.store import Store, zone_or_utc
from tools.contract.base import Reminder

_ACTIONS = {
    **dict.fromkeys(("pause", "暂停", "暫停"), Control.PAUSE),
    **dict.fromkeys(("resume", "恢复", "恢復", "继续", "繼續"), Control.RESUME),
    **dict.fromkeys(("delete", "cancel", "删除", "刪除", "取消"), Control.DELETE),
}
_ASKED = re.compile(r"(?P<action>[^\W\d]+)\s*#?(?P<number>\d{1,12})")
_TEXT_CHARS = (200, 80, 40, 20)
"""Characters of each text in a list, reduced until the list fits one message."""
_PAGED_CHARS = 40
"""The same if it does not fit, and has pages."""
_PAGE_DIGITS = 4
"""Hexadecimal digits of a page's number in a mark."""


def list_mark(person: str, page: int) -> str:
    """Return the mark for the buttons under a page of a person's reminders."""
    digest = hashlib.blake2b(person.encode(), digest_size=MARK_CHARS // 2).hexdigest()
    return f"{digest[:-_PAGE_DIGITS]}{page % 16**_PAGE_DIGITS:0{_PAGE_DIGITS}x}"


def page_of(mark: str, person: str) -> int:
    """Return the page that such a mark names; 0 for a mark of another person's list, or of none."""
    page = int(mark[-_PAGE_DIGITS:], 16) if mark else 0
    return page if mark == list_mark(person, page) else 0


def asked_page(message: MessageSent) -> int | None:
    """Return the requested page of the list; None if the argument asks for something else."""
    asked = message.text.strip()
    return int(asked or 1) if not asked or (len(asked) <= _PAGE_DIGITS and asked.isdecimal()) else None


def _shortened(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


class ReminderList:
    """Answers `/reminders`; one for the process."""

    def __init__(self, store: Store, zone: str) -> None:
        """
        Args:
            zone: the time zone of the shown times.
        """
        self._store = store
        self._zone = zone

    async def answer(self, asked: Admitted, limits: SurfaceLimits) -> str:
        """Return the list as Markdown, or the outcome of a change."""
        message = asked.message
        form, wish = limits.command_form, message.text.strip().lower()
        if (page := asked_page(message)) is not None:
            return (await self.write_list(asked, limits, page))[0]
        match = _ASKED.fullmatch(wish)
        action = _ACTIONS.get(match["action"]) if match else None
        if match is None or action is None:
            return asked.say("reminders_usage", command=form.format(word="reminders"))
        return await self.change(asked, action, int(match["number"]), form)

    async def write_list(self, asked: Admitted, limits: SurfaceLimits, page: int) -> tuple[str, tuple[Button, ...]]:
        """Return the list as Markdown, and its buttons, as many as fit.

        The texts are shortened until the list fits one message; otherwise it has pages of one message each.

        Args:
            page: the page's number; numbers after the last mean the last.
        """
        message = asked.message
        timers = self._store.timers.bind(message.chat, message.sender, None)
        waiting = await timers.pending(str(message.chat), message.sender.id)
        command = limits.command_form.format(word="reminders")
        for chars in _TEXT_CHARS:
            text = self._write(waiting, asked, command, chars)
            if limits.measure(text) <= limits.page_length:
                page = 1
                break
        else:
            pages = self._cut(waiting, asked, command, limits)
            page = min(max(1, page), len(pages))
            waiting = pages[page - 1]
            text = self._write(waiting, asked, command, _PAGED_CHARS, page, len(pages))
        mark = list_mark(message.sender.id, page)
        found = [
            Button(control, one.number, asked.say(f"button_{control}", number=one.number), mark)
            for one in waiting
            for control in (
                *((Control.RESUME if one.paused else Control.PAUSE,) if one.repeat else ()),
                Control.DELETE,
            )
        ]
        return text, tuple(found[:MOST_BUTTONS])

    def _cut(
        self, waiting: Sequence[Reminder], asked: Admitted, command: str, limits: SurfaceLimits
    ) -> list[list[Reminder]]:
        """Return the reminders of each page."""
        most = len(waiting)
        left = limits.page_length - limits.measure(self._write(waiting[:0], asked, command, 0, most, most))
        pages, used = [list[Reminder]()], 0
        for one in waiting:
            length = limits.measure(self._line(one, asked, _PAGED_CHARS)) + 1
            if used and used + length > left:
                pages.append([])
                used = 0
            pages[-1].append(one)
            used += length
        return pages

    async def change(self, asked: Admitted, action: Control, number: int, form: str) -> str:
        """Pause, resume or delete one of a person's reminders in a chat, and return the outcome.

        Args:
            asked: the words or the button of the request.
        """
        message, command = asked.message, form.format(word="reminders")
        mine = (str(message.chat), message.sender.id)
        timers = self._store.timers.bind(message.chat, message.sender, None)
        reminder = next((one for one in await timers.pending(*mine) if one.number == number), None)
        if reminder is not None and reminder.repeat is None and action is not Control.DELETE:
            return asked.say("reminders_once", number=number)
        change = {Control.PAUSE: timers.pause, Control.RESUME: timers.resume, Control.DELETE: timers.cancel}[action]
        if reminder is None or not await change(*mine, number):
            return asked.say("reminders_no_such", number=number, command=command)
        [when] = [self._when(one) for one in await timers.pending(*mine) if one.number == number] or [""]
        return asked.say(f"reminders_{action}", number=number, when=when)

    def _write(
        self, waiting: Sequence[Reminder], asked: Admitted, command: str, chars: int, page: int = 1, pages: int = 1
    ) -> str:
        if not waiting and pages == 1:
            return asked.say("reminders_none")
        lines = [asked.say("reminders_listed", zone=self._zone), ""]
        lines += [self._line(one, asked, chars) for one in waiting]
        if pages > 1:
            lines += ["", asked.say("reminders_page", page=page, pages=pages, command=command)]
        return "\n".join([*lines, "", asked.say("reminders_usage", command=command)])

    def _line(self, one: Reminder, asked: Admitted, chars: int) -> str:
        when = asked.say("reminders_paused") if one.paused else self._when(one)
        often = f" (`{one.repeat.rule}` {one.repeat.zone})" if one.repeat else ""
        asks = f" {asked.say('reminders_asks')}" if one.question else ""
        return f"- `{one.number}` {when}{often}{asks} {_shortened(clean_name(one.text), chars)}"

    def _when(self, reminder: Reminder) -> str:
        return f"{datetime.datetime.fromtimestamp(reminder.due, zone_or_utc(self._zone)):%Y-%m-%d %H:%M}"
