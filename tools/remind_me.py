"""Have the bot write into this chat again: at a time, or in a while."""

from __future__ import annotations

import datetime
import re
from typing import Literal

from tools import moments, zones
from tools.base import Timers, ToolContext, ToolError, ToolResult, Unavailable
from tools.function import FunctionTool, tool

FARTHEST = datetime.timedelta(days=5 * 366)
_DAYTIME = datetime.time(9)
"""When a reminder comes that names only a day."""
_CLOCK_ALONE = re.compile(r"[\d:.\s]+(?:[ap]\.?m\.?)?", re.IGNORECASE)
_EXAMPLES = (
    {"text": "Call the dentist", "at": "2026-12-01 09:00"},
    {"text": "Take the cake out of the oven", "delay": "25 minutes"},
    {"action": "list"},
    {"action": "cancel", "number": 3},
)
_ASKED = (
    "Remind me at nine on 1 December 2026 to call the dentist.",
    "In 25 minutes I must take the cake out of the oven.",
)
_KEYWORDS = (
    *("remind", "reminder", "alarm", "timer", "wake me", "in an hour", "tomorrow at", "don't let me forget", "notify"),
    *("提醒", "闹钟", "定时", "叫我", "分钟后", "小时后", "到时候", "别忘了"),
)


def open_tool(settings: object = None) -> FunctionTool:
    """The tool.

    Raises:
        Unavailable: this machine has no time zone data.
    """
    if not zones.has_data():
        raise Unavailable("it needs time zone data: install the package tzdata")
    return remind_me


@tool(
    category="time",
    examples=_EXAMPLES,
    asked=_ASKED,
    keywords=_KEYWORDS,
    icon="⏰",
    verb=("Seeing to a reminder", "正在处理提醒", "正在處理提醒"),
    label=("Remind you at a given time", "到时间提醒你", "到時間提醒你"),
    subject="text",
    effects=True,
    echoes=True,
)
async def remind_me(
    context: ToolContext,
    action: Literal["set", "list", "cancel"] = "set",
    text: str = "",
    at: str = "",
    delay: str = "",
    zone: str = "",
    number: int = 0,
) -> ToolResult | str:
    """Set, list or cancel reminders: at the time, the bot writes the text into this chat.

    Use when: the person wants to be reminded, woken or told something later.
    Not for: the time now (current_time), facts to keep (remember).

    Args:
        action: set a reminder, list those that wait, or cancel one.
        text: What to write then, to the person, in their language. Example: "Call the dentist"
        at: When, as a local date and time; resolve words such as "tomorrow" first. Example: "2026-12-01 09:00"
        delay: Or in how long, instead of at. Example: "90 minutes"
        zone: Time zone of `at`, as Europe/Paris; left out, the person's.
        number: Which one to cancel, as list shows it.
    """
    timers = context.timers
    if timers is None:
        raise ToolError(
            "No reminder can be set here: there is nobody who could write later (--data FILE).", retry=False
        )
    info = zones.find(zone or context.zone).info
    match action:
        case "list":
            # Words from outside may have had them set, in this conversation or in an earlier one.
            return ToolResult(text=await _listed(timers, context, info), untrusted=True)
        case "cancel":
            if not await timers.cancel(context.scope, context.person, number):
                raise ToolError(f"There is no reminder {number}. {await _listed(timers, context, info)}")
            return f"Reminder {number} is cancelled."
        case _:
            return await _set(timers, context, " ".join(text.split()), at.strip(), delay.strip(), info)


async def _set(timers: Timers, context: ToolContext, text: str, at: str, delay: str, zone: datetime.tzinfo) -> str:
    if not text:
        raise ToolError("Say in text what to write then.")
    if bool(at) == bool(delay):
        raise ToolError("Say when: either at (a local date and time) or delay (such as '90 minutes'), not both.")
    now = context.now()
    due = _at(at, now.astimezone(zone)) if at else moments.read_span(delay).add_to(now.astimezone(zone))
    if due <= now:
        raise ToolError(f"{_written(due)} is in the past: it is {_written(now.astimezone(zone))} now.")
    if due - now > FARTHEST:
        raise ToolError("That is too far away: at most five years are possible.")
    number = await timers.set(context.scope, context.person, due.timestamp(), text, outside=context.outside)
    return f"Reminder {number} is set for {_written(due)} ({zone}), {_in(due - now)}: {text}"


async def _listed(timers: Timers, context: ToolContext, zone: datetime.tzinfo) -> str:
    waiting = await timers.pending(context.scope, context.person)
    if not waiting:
        return "No reminders wait in this chat."
    lines = [
        f"- {number}: {_written(datetime.datetime.fromtimestamp(due, zone))} {text}" for number, due, text in waiting
    ]
    return "\n".join([f"Reminders of this chat ({zone}):", *lines])


def _at(said: str, now: datetime.datetime) -> datetime.datetime:
    """The moment named; a time of day alone is the next such time."""
    moment = moments.read(said, now)
    when = moment.when if moment.timed else datetime.datetime.combine(moment.when.date(), _DAYTIME, moment.when.tzinfo)
    when = when.replace(tzinfo=now.tzinfo) if when.tzinfo is None else when
    if when <= now and _CLOCK_ALONE.fullmatch(said):
        when += datetime.timedelta(days=1)
    # Through UTC, so that a time that the clocks skip becomes the one that they show.
    return when.astimezone(datetime.UTC).astimezone(now.tzinfo)


def _written(when: datetime.datetime) -> str:
    return when.strftime("%A %Y-%m-%d %H:%M")


def _in(span: datetime.timedelta) -> str:
    """A duration in its two largest units: `in 2 days 3 hours`."""
    left = max(1, round(span.total_seconds()))
    parts: list[str] = []
    for name, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, left = divmod(left, seconds)
        if count and len(parts) < 2:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return "in " + " ".join(parts)
