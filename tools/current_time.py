"""The date and the time: now or at a given moment, here or elsewhere, and how far from another day."""

from __future__ import annotations

import datetime

from tools.calling.function import FunctionTool, tool
from tools.contract.base import Arguments, ToolContext, Unavailable
from tools.times import moments, zones
from tools.times.zones import Zone

_EXAMPLES: tuple[Arguments, ...] = (
    {"zone": "Asia/Tokyo"},
    {},
    {"time": "15:00", "zone": "New York", "to_zone": "北京"},
    {"until": "2030-12-25"},
    {"time": "2024-02-28", "add": "2 days"},
)
_ASKED = (
    "What time is it in Tokyo?",
    "今天几号？",
)
_KEYWORDS = (
    *("time", "date", "today", "now", "clock", "weekday", "day", "timezone", "zone", "tomorrow", "days until", "week"),
    *("时间", "日期", "今天", "现在", "几点", "星期几", "几号", "时区", "明天", "多少天", "天后", "倒计时", "礼拜"),
)


def open_tool(settings: object = None) -> FunctionTool:
    """The clock.

    Raises:
        Unavailable: this machine has no time zone data.
    """
    if not zones.has_data():
        raise Unavailable("it needs time zone data: install the package tzdata")
    return current_time


@tool(
    category="time",
    examples=_EXAMPLES,
    asked=_ASKED,
    keywords=_KEYWORDS,
    same="current time date datetime now clock today local | time date clock",
    icon="🕒",
    verb=("Looking at the clock", "正在查看时间", "正在查看時間"),
    label=("Tell time and dates anywhere, count days", "查询各地时间和日期、计算天数", "查詢各地時間與日期、計算天數"),
    subject="zone",
    timeout=5.0,
    own_words=True,
)
async def current_time(
    context: ToolContext, zone: str = "", time: str = "", to_zone: str = "", add: str = "", until: str = ""
) -> str:
    """Tell the date, time, weekday and UTC offset, now or at a given time, in any time zone.

    Use when: the person asks for the time or date, a weekday, the time elsewhere, to convert a time between zones,
        the days between two dates, or the date in or after some days.
    Not for: arithmetic with plain numbers or units (calculator), or when something happened (search_web).
    Source: this machine's clock and the IANA time zone database

    Args:
        zone: Time zone or city; without it the person's own. Example: "Asia/Tokyo"
        time: A moment in that zone instead of now. Example: "2026-05-31 15:30"
        to_zone: A second zone in which to show the same moment. Example: "London"
        add: A duration to add; a minus sign goes back. Example: "45 days"
        until: A second date, to count the days from the first to it. Example: "2030-12-25"
    """
    notes: list[str] = []
    here = _zone(zone, notes) if zone.strip() else _own(context, notes)
    now = context.now().astimezone(here.info)
    given = moments.read(time, now) if time.strip() else None
    start = _placed(given, here, notes) if given is not None else now
    # The clock of a bare date would be made up; it is shown only where a zone has to be converted.
    timed = given is None or given.timed or bool(to_zone.strip())
    lines = [_line(start, here, "In" if given is not None else "Now in", timed)]
    moved = start
    if add.strip():
        span = moments.read_span(add)
        moved = span.add_to(start)
        lines.append(_line(moved, here, f"Moved by {add.strip()[:60]!r}, in", timed or bool(span.seconds)))
    if to_zone.strip():
        there = _zone(to_zone, notes)
        lines.append(_line(_elsewhere(moved, there), there, "The same moment in"))
        lines.append(_apart(moved, here, there))
    if until.strip():
        end = _placed(moments.read(until, now), here, notes)
        lines.append(_between(moved, end))
    return "\n".join([*lines, *(f"Note: {note}" for note in dict.fromkeys(notes))])


def _zone(name: str, notes: list[str]) -> Zone:
    found = zones.find(name)
    if found.note:
        notes.append(found.note)
    return found


def _own(context: ToolContext, notes: list[str]) -> Zone:
    try:
        return zones.find(context.zone or "UTC")
    except zones.UnknownZone:
        notes.append("The person's time zone is not known; UTC was used.")
        return zones.find("UTC")


def _placed(moment: moments.Moment, zone: Zone, notes: list[str]) -> datetime.datetime:
    """A written moment in `zone`; says so when clocks skip or repeat it there."""
    if moment.when.tzinfo is not None:
        return _elsewhere(moment.when, zone)
    local = moment.when.replace(tzinfo=zone.info)
    try:
        real = local.astimezone(datetime.UTC).astimezone(zone.info)
        later = local.replace(fold=1).utcoffset()
    except OverflowError as error:
        raise moments.NotAMoment("That lies outside the years 1 to 9999.") from error
    if real.replace(tzinfo=None) != moment.when:
        notes.append(f"{moment.when:%H:%M} does not exist in {zone.name} on that day, because clocks go forward.")
    elif local.utcoffset() != later:
        notes.append(f"{moment.when:%H:%M} comes twice in {zone.name} on that day; the first is meant here.")
    return real


def _elsewhere(when: datetime.datetime, zone: Zone) -> datetime.datetime:
    try:
        return when.astimezone(zone.info)
    except OverflowError as error:
        raise moments.NotAMoment("That lies outside the years 1 to 9999.") from error


def _line(when: datetime.datetime, zone: Zone, head: str, timed: bool = True) -> str:
    short = when.tzname() or ""
    named = f" ({short})" if short.isalpha() and short != zone.name else ""
    year, week, _ = when.isocalendar()
    clock = f"{when:%H:%M:%S}, {_offset(when)}{named}, " if timed else ""
    return f"{head} {zone.name}: {_DAYS[when.weekday()]}, {when.date().isoformat()}, {clock}ISO week {week} of {year}"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _offset(when: datetime.datetime) -> str:
    minutes = round((when.utcoffset() or datetime.timedelta()).total_seconds() / 60)
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _apart(when: datetime.datetime, here: Zone, there: Zone) -> str:
    other = _elsewhere(when, there)
    gap = (other.utcoffset() or datetime.timedelta()) - (when.utcoffset() or datetime.timedelta())
    minutes = round(gap.total_seconds() / 60)
    if not minutes:
        return f"{there.name} and {here.name} have the same time then."
    hours = f"{abs(minutes) // 60} h" + (f" {abs(minutes) % 60} min" if minutes % 60 else "")
    return f"{there.name} is {hours} {'ahead of' if minutes > 0 else 'behind'} {here.name} then."


def _between(start: datetime.datetime, end: datetime.datetime) -> str:
    """How many days, weeks, months and weekdays lie between two days."""
    first, last = start.date(), end.date()
    days = (last - first).days
    counted = f"{days} day{'' if abs(days) == 1 else 's'}"
    head = f"From {first.isoformat()} to {last.isoformat()} ({_DAYS[last.weekday()]}): {counted}"
    if not days:
        return f"{head} (the same day)."
    parts = [] if abs(days) < 7 else [_counted((abs(days) // 7, "week"), (abs(days) % 7, "day"))]
    years, months, rest = _calendar(min(first, last), max(first, last))
    if years or months:
        parts.append(_counted((years, "year"), (months, "month"), (rest, "day")))
    parts.append(f"{_workdays(min(first, last), max(first, last))} weekdays")
    past = "; the second date lies before the first" if days < 0 else ""
    return f"{head} ({'; '.join(parts)}; the first day not counted{past})."


def _counted(*parts: tuple[int, str]) -> str:
    return " ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in parts if number)


def _calendar(first: datetime.date, last: datetime.date) -> tuple[int, int, int]:
    """Years, months and days from `first` to `last`."""
    months = (last.year - first.year) * 12 + last.month - first.month
    start = datetime.datetime.combine(first, datetime.time())
    reached = moments.Span(months=months).add_to(start)
    if reached.date() > last:
        months -= 1
        reached = moments.Span(months=months).add_to(start)
    return months // 12, months % 12, (last - reached.date()).days


def _workdays(first: datetime.date, last: datetime.date) -> int:
    """Days from Monday to Friday after `first`, up to and with `last`."""
    weeks, rest = divmod((last - first).days, 7)
    return weeks * 5 + sum((first.weekday() + 1 + offset) % 7 < 5 for offset in range(rest))
