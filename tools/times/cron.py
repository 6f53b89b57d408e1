"""Five cron fields (`0 8 * * 1-5`) and when they come next in a time zone.

The two days a year on which the clocks change follow RFC 5545, as calendars do and as a reminder that comes once does:
a time that the clocks skip comes as much later as they skip (02:30 at 03:30), and a time that they show twice comes
the first time. A rule that begins its minute or hour with `*` counts by elapsed time instead, as in Debian's cron:
every 15 minutes stays every 15 minutes.
"""

from __future__ import annotations

import calendar
import datetime
import functools
from dataclasses import dataclass

from tools.contract.base import ToolError

_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_NAMES: tuple[dict[str, int], ...] = ({}, {}, {}, _MONTHS, _WEEKDAYS)
_HORIZON = 3_000
"""Days that are searched: 29 February comes within them even around 2100."""
_LONGEST = 200


class BadRule(ToolError):
    """The text is no cron rule. The message says what to write."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The fields of a cron rule."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    both: bool
    """Day and weekday must both fit: one of them begins with `*`."""
    elapsed: bool
    """Counts by elapsed time."""

    def fits(self, day: datetime.date) -> bool:
        """Return whether the rule comes on this day."""
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (in_month and in_week if self.both else in_month or in_week)


@functools.lru_cache(maxsize=1_000)
def parse(text: str) -> Rule:
    """Read five fields with numbers, names, lists, ranges and steps.

    Raises:
        BadRule: the text is something else.
    """
    fields = text.lower().split()
    if len(fields) != len(_RANGES) or len(text) > _LONGEST:
        raise _bad(text)
    try:
        minutes, hours, days, months, weekdays = (_field(field, place) for place, field in enumerate(fields))
    except ValueError as error:
        raise _bad(text) from error
    return Rule(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        both=fields[2].startswith("*") or fields[4].startswith("*"),
        elapsed=fields[0].startswith("*") or fields[1].startswith("*"),
    )


def next_after(rule: str, zone: datetime.tzinfo, after: float) -> float | None:
    """Return the first time of a rule later than `after` (seconds since the epoch); None: not within eight years."""
    fields = parse(rule)
    # A day that a zone left out, or a skipped time around midnight, is found from the day before.
    day = datetime.datetime.fromtimestamp(after, zone).date() - datetime.timedelta(days=1)
    for _ in range(_HORIZON):
        found = [time for time in _times(fields, zone, day) if time > after] if fields.fits(day) else []
        if found:
            return min(found)
        day += datetime.timedelta(days=1)
    return None


def _times(fields: Rule, zone: datetime.tzinfo, day: datetime.date) -> list[float]:
    return [
        datetime.datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=fold).timestamp()
        for hour in fields.hours
        for minute in fields.minutes
        for fold in ((0, 1) if fields.elapsed else (0,))
    ]


def _field(text: str, place: int) -> frozenset[int]:
    """Return the numbers of one field.

    Raises:
        ValueError: it is none.
    """
    low, high = _RANGES[place]
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        begin = low if span == "*" else _number(first, place)
        end = high if span == "*" or (slash and not dash) else _number(last if dash else first, place)
        stride = int(step) if slash else 1
        if not low <= begin <= end <= high or stride < 1:
            raise ValueError(part)
        found.update(range(begin, end + 1, stride))
    return frozenset(found)


def _number(text: str, place: int) -> int:
    if text in _NAMES[place]:
        return _NAMES[place][text]
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(text)
    return int(text)


def _bad(text: str) -> BadRule:
    return BadRule(
        f"{text[:60]!r} is no cron rule: write minute, hour, day, month and day of the week, as '0 8 * * 1-5'."
    )
