"""Have the bot write into this chat again: at a time, in a while, or again and again."""

from __future__ import annotations

import datetime
import re
from typing import Literal

from tools.calling.function import FunctionTool, tool
from tools.contract.base import NewReminder, Repeat, Timers, ToolContext, ToolError, ToolResult, Unavailable
from tools.times import cron, moments, repeats, zones
from tools.times.zones import Zone

FARTHEST = datetime.timedelta(days=5 * 366)
_DAYTIME = datetime.time(9)
"""When a reminder comes that names only a day."""
_CLOCK_ALONE = re.compile(r"[\d:.\s]+(?:[ap]\.?m\.?)?", re.IGNORECASE)
_EXAMPLES = (
    {"text": "Call the dentist", "at": "2030-12-02 09:00"},
    {"text": "Stand-up in five minutes", "every": "weekday at 9:55"},
    {"text": "Take the cake out of the oven", "delay": "25 minutes"},
    {"text": "What is in the news on tea?", "every": "day at 7:30", "ask": True},
    {"action": "list"},
    {"action": "pause", "number": 3},
)
_ASKED = (
    "Remind me at nine on 2 December 2030 to call the dentist.",
    "Every weekday at 9:55 tell us that the stand-up begins in five minutes.",
)
_DONE = {"delete": "deleted", "pause": "paused", "resume": "resumed"}
_KEYWORDS = (
    *("remind", "reminder", "alarm", "timer", "wake me", "in an hour", "tomorrow at", "don't let me forget", "notify"),
    *("every day at", "every morning", "every weekday", "every monday", "schedule", "cron"),
    *("提醒", "闹钟", "定时", "叫我", "分钟后", "小时后", "到时候", "别忘了", "每天", "每周", "每月", "工作日"),
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
    action: Literal["set", "list", "pause", "resume", "delete"] = "set",
    text: str = "",
    at: str = "",
    delay: str = "",
    every: str = "",
    zone: str = "",
    ask: bool = False,
    number: int = 0,
) -> ToolResult | str:
    """Set, list, pause, resume or delete reminders: at the time, once or again and again, the bot writes the text here.

    Use when: the person wants to be reminded, woken or told something later.
    Not for: the time now (current_time), facts to keep (remember).

    Args:
        action: set a reminder, list those that wait, delete one, or pause and resume one that repeats.
        text: What to write then, to the person, in their language. Example: "Call the dentist"
        at: When, as a local date and time; resolve words such as "tomorrow" first. Example: "2030-12-02 09:00"
        delay: Or in how long, instead of at. Example: "90 minutes"
        every: Or how often, in words or as cron.
            Example: "weekday at 8", "every month on the 1st at 9", "0 8 * * 1-5"
        zone: Time zone of `at` and `every`, as Europe/Paris; left out, the person's.
        ask: True: the text is a question to you, answered by you at that time with your tools; else it is only written.
        number: Which one to pause, resume or delete, as list shows it.
    """
    timers = context.timers
    if timers is None:
        raise ToolError(
            "No reminder can be set here: there is nobody who could write later (--data FILE).", retry=False
        )
    place = zones.find(zone or context.zone)
    match action:
        case "list":
            # Words from outside may have had them set, in this conversation or in an earlier one.
            return ToolResult(text=await _listed(timers, context, place.info), untrusted=True)
        case "delete" | "pause" | "resume":
            change = {"delete": timers.cancel, "pause": timers.pause, "resume": timers.resume}[action]
            if not await change(context.scope, context.person, number):
                kind = "reminder" if action == "delete" else "reminder that repeats with the number"
                raise ToolError(f"There is no {kind} {number}. {await _listed(timers, context, place.info)}")
            return f"Reminder {number} is {_DONE[action]}."
        case _:
            pass
    text, at, delay, every = " ".join(text.split()), at.strip(), delay.strip(), every.strip()
    if not text:
        raise ToolError("Say in text what to write then.")
    if bool(at) + bool(delay) + bool(every) != 1:
        raise ToolError("Say when: at (a local date and time), delay (such as '90 minutes') or every, one of them.")
    if ask and context.outside:
        # It is asked in the person's name, with what the person may: no page or file may write it.
        raise ToolError(
            "A question cannot be set here: this conversation holds text from outside. Set a plain reminder, or the "
            "person asks again in a new conversation.",
            retry=False,
        )
    if every:
        return await _repeat(timers, context, text, every, place, ask=ask)
    return await _set(timers, context, text, at, delay, place.info, ask=ask)


async def _repeat(timers: Timers, context: ToolContext, text: str, every: str, zone: Zone, *, ask: bool) -> str:
    now = context.now()
    rule = repeats.read(every, zone.info, now.astimezone(zone.info))
    due = cron.next_after(rule, zone.info, now.timestamp())
    assert due is not None, "`read` takes no rule that never comes"
    repeat = Repeat(rule, zone.name, " ".join(every.split()))
    number = await timers.set(
        context.scope, context.person, NewReminder(due, text, repeat=repeat, question=ask, outside=context.outside)
    )
    first = datetime.datetime.fromtimestamp(due, zone.info)
    return f"Reminder {number} is set, {_often(repeat)}, first for {_written(first)}, {_in(first - now)}: {text}"


async def _set(
    timers: Timers, context: ToolContext, text: str, at: str, delay: str, zone: datetime.tzinfo, *, ask: bool
) -> str:
    now = context.now()
    due = _at(at, now.astimezone(zone)) if at else moments.read_span(delay).add_to(now.astimezone(zone))
    if due <= now:
        raise ToolError(f"{_written(due)} is in the past: it is {_written(now.astimezone(zone))} now.")
    if due - now > FARTHEST:
        raise ToolError("That is too far away: at most five years are possible.")
    number = await timers.set(
        context.scope, context.person, NewReminder(due.timestamp(), text, question=ask, outside=context.outside)
    )
    return f"Reminder {number} is set for {_written(due)} ({zone}), {_in(due - now)}: {text}"


async def _listed(timers: Timers, context: ToolContext, zone: datetime.tzinfo) -> str:
    waiting = await timers.pending(context.scope, context.person)
    if not waiting:
        return "No reminders wait in this chat."
    lines = []
    for one in waiting:
        when = "paused" if one.paused else _written(datetime.datetime.fromtimestamp(one.due, zone))
        often = f" ({_often(one.repeat)})" if one.repeat else ""
        lines.append(f"- {one.number}: {when}{often} {'question: ' if one.question else ''}{one.text}")
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


def _often(repeat: Repeat) -> str:
    return f"repeated {repeat.said!r} = {repeat.rule} {repeat.zone}"


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
