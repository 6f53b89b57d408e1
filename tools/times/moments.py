"""Parse dates, times and durations as people write them, in English and Chinese."""

from __future__ import annotations

import calendar
import datetime
import re
import unicodedata
from dataclasses import dataclass

from tools.contract.base import ToolError
from tools.times import numerals

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAYS = {
    "today": 0, "tonight": 0, "now": 0, "tomorrow": 1, "yesterday": -1,
    "今天": 0, "今日": 0, "今晚": 0, "现在": 0, "明天": 1, "明日": 1, "后天": 2, "昨天": -1, "昨日": -1, "前天": -2,
}  # fmt: skip
_DATES = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?:(?P<y>\d{4})\s*年)?\s*(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*[日号]"),
    re.compile(rf"\b(?P<n>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?(?![\d:])\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<n>{_MONTH})\b\.?(?:,?\s+(?P<y>\d{{4}})\b)?"),
    re.compile(r"(?<!\d)(?P<m>\d{2})-(?P<d>\d{2})(?!\d)"),
)
_CLOCK = re.compile(
    r"(?P<before>凌晨|早上|上午|中午|下午|傍晚|晚上|晚)?\s*(?P<h>\d{1,2})"
    r"(?:\s*[:时点h]\s*(?P<i>\d{1,2}|半)?\s*分?(?::(?P<s>\d{2})(?:\.\d+)?)?)?\s*(?P<after>am|pm|a\.m\.|p\.m\.)?"
)
_NUMERALS = re.compile(rf"(?<![期周拜零一二三四五六七八九十]){numerals.RUN.pattern}")
_CHINESE_WEEKDAY = re.compile(r"(?:这|本|(?P<next>下+)个?)?(?:周|星期|礼拜)(?P<w>[一二三四五六日天])")
_ZONE = re.compile(r"(?P<z>z|[+-]\d{2}:?\d{2})$")
_SLASHES = re.compile(r"\b\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?\b")
_UNITS = {
    "second": "seconds", "sec": "seconds", "s": "seconds", "秒": "seconds", "秒钟": "seconds",
    "minute": "minutes", "min": "minutes", "分钟": "minutes", "分": "minutes",
    "hour": "hours", "hr": "hours", "h": "hours", "小时": "hours", "个小时": "hours", "钟头": "hours",
    "day": "days", "d": "days", "天": "days", "日": "days",
    "weekday": "weekdays", "workday": "weekdays", "business day": "weekdays", "working day": "weekdays",
    "工作日": "weekdays", "个工作日": "weekdays",
    "week": "weeks", "wk": "weeks", "w": "weeks", "周": "weeks", "星期": "weeks", "个星期": "weeks", "礼拜": "weeks",
    "month": "months", "mo": "months", "个月": "months", "月": "months",
    "quarter": "quarters", "季度": "quarters", "个季度": "quarters",
    "year": "years", "yr": "years", "y": "years", "年": "years",
    "decade": "decades", "century": "centuries",
}  # fmt: skip
_FACTORS = {
    "seconds": ("seconds", 1), "minutes": ("seconds", 60), "hours": ("seconds", 3600),
    "days": ("days", 1), "weeks": ("days", 7), "weekdays": ("weekdays", 1),
    "months": ("months", 1), "quarters": ("months", 3), "years": ("months", 12),
    "decades": ("months", 120), "centuries": ("months", 1200),
}  # fmt: skip
"""The part of a span that a unit counts in, and how many of it."""
_LONGEST = 200
"""Characters of a date, a time or a duration."""
_PART = re.compile(
    r"\s*(?:and\b|,)?\s*([+-]?)\s*(\d+(?:\.\d+)?|an?\b|半)\s*([a-z]+(?:\s+days?)?|[\u4e00-\u9fff]+?(?=\d|前|后|$|\s))"
)


class NotAMoment(ToolError):
    """The text is not a date, time or duration. The message says what to write."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, a time of day, or both."""

    when: datetime.datetime
    """Aware only if the text named an offset."""
    timed: bool
    """Whether the text named a time of day; else `when` is midnight."""


@dataclass(frozen=True, slots=True)
class Span:
    """A calendar duration: months and days first, then exact seconds."""

    months: int = 0
    days: int = 0
    weekdays: int = 0
    seconds: float = 0.0

    def add_to(self, when: datetime.datetime) -> datetime.datetime:
        """`when` plus this duration: days and more by the wall clock, hours and less by elapsed time.

        Raises:
            NotAMoment: the sum lies outside the years 1 to 9999.
        """
        try:
            month = when.year * 12 + when.month - 1 + self.months
            year, month = divmod(month, 12)
            last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 0
            when = when.replace(year=year, month=month + 1, day=min(when.day, last))
            when += datetime.timedelta(days=self.days)
            when = _add_workdays(when, self.weekdays)
            if self.seconds and when.tzinfo is not None:
                zone = when.tzinfo
                moved = when.astimezone(datetime.UTC) + datetime.timedelta(seconds=self.seconds)
                return moved.astimezone(zone)
            return when + datetime.timedelta(seconds=self.seconds)
        except (ValueError, OverflowError) as error:
            raise NotAMoment("That lies outside the years 1 to 9999.") from error


def read(text: str, now: datetime.datetime) -> Moment:
    """The day and time that `text` names; missing parts come from `now`.

    Raises:
        NotAMoment: it names neither.
    """
    said = _normalize(text)
    if re.fullmatch(r"@?\d{9,11}", said):
        return Moment(datetime.datetime.fromtimestamp(int(said.lstrip("@")), datetime.UTC), True)
    rest = re.sub(r"(?<=\d)t(?=\d)", " ", said)
    offset: datetime.tzinfo | None = None
    zone = _ZONE.search(rest)
    if zone and ":" in rest[: zone.start()]:
        offset = _parse_offset(zone["z"])
        rest = rest[: zone.start()]
    day, rest = _read_day(rest, now)
    rest = re.sub(r"^\s*(?:at|on|@|,|的)\s*", "", rest).strip(" ,")
    base = datetime.datetime.combine(day or now.date(), now.time().replace(microsecond=0))
    if rest in ("", "now", "at"):
        if day is None and "now" not in said and "现在" not in said:
            raise _not_understood(text)
        if "now" in said or "现在" in said:
            return Moment(base.replace(tzinfo=offset), True)
        return Moment(datetime.datetime.combine(base.date(), datetime.time(), offset), False)
    return Moment(datetime.datetime.combine(base.date(), _read_clock(rest, text), offset), True)


def read_span(text: str) -> Span:
    """The duration that `text` names, as `3 weeks`, `-2 months`, `1 year 10 days`, `10天后`.

    Raises:
        NotAMoment: it names none.
    """
    said = _normalize(text)
    back = bool(re.search(r"\b(?:ago|before|earlier)$|前$", said)) or said.startswith("minus ")
    said = re.sub(r"\b(?:ago|before|earlier|from now|later|after)$|[以之]?[前后]$", "", said).strip()
    said = re.sub(r"^(?:in|plus|minus)\s+", "", said)
    sums = {"months": 0.0, "days": 0.0, "weekdays": 0.0, "seconds": 0.0}
    at, sign = 0, 1
    while at < len(said):
        match = _PART.match(said, at)
        unit = _find_unit(match[3]) if match else None
        if match is None or unit is None:
            raise NotAMoment(f"{text[:60]!r} is no duration: write it as '10 days', '-3 weeks' or '1 year 2 months'.")
        sign = {"+": 1, "-": -1}.get(match[1], sign)
        number = 1.0 if match[2] in ("a", "an") else 0.5 if match[2] == "半" else float(match[2])
        field, factor = _FACTORS[unit]
        sums[field] += sign * number * factor
        at = match.end()
    if at == 0 or max(map(abs, sums.values())) > 1e12:
        raise NotAMoment(f"{text[:60]!r} is no duration that fits: write it as '10 days' or '-3 weeks'.")
    if sums["months"] % 1 or sums["weekdays"] % 1:
        raise NotAMoment("Parts of a month, a year or a workday have no fixed length: write whole ones, or days.")
    seconds = sums["seconds"] + sums["days"] % 1 * 86_400 if sums["days"] % 1 else sums["seconds"]
    turn = -1 if back else 1
    whole = int(sums["days"] // 1)
    return Span(turn * int(sums["months"]), turn * whole, turn * int(sums["weekdays"]), turn * seconds)


def _find_unit(word: str) -> str | None:
    word = " ".join(word.split())
    if word in _UNITS:
        return _UNITS[word]
    if word == "centuries":
        return "centuries"
    return _UNITS.get(word.removesuffix("s"))


def _add_workdays(when: datetime.datetime, count: int) -> datetime.datetime:
    """Add `count` workdays, whole weeks at once: a million costs as much as one."""
    step = 1 if count > 0 else -1
    while count and when.weekday() >= 5:
        # From a weekend, count from the last workday before it: Saturday plus one workday is Monday.
        when -= datetime.timedelta(days=step)
    when += datetime.timedelta(days=step * (abs(count) // 5 * 7))
    left = abs(count) % 5
    while left:
        when += datetime.timedelta(days=step)
        left -= when.weekday() < 5
    return when


def _read_day(said: str, now: datetime.datetime) -> tuple[datetime.date | None, str]:
    """The date that `said` names, or None, and the rest of the text."""
    for word, days in _DAYS.items():
        if re.search(rf"\b{word}\b" if word.isascii() else word, said):
            try:
                return now.date() + datetime.timedelta(days=days), said.replace(word, " ", 1).strip()
            except OverflowError as error:
                raise NotAMoment("That lies outside the years 1 to 9999.") from error
    for pattern in _DATES:
        match = pattern.search(said)
        if match is None:
            continue
        parts = match.groupdict()
        month = _MONTHS[parts["n"]] if parts.get("n") else int(parts["m"])
        try:
            day = datetime.date(int(parts.get("y") or now.year), month, int(parts["d"]))
        except ValueError as error:
            raise NotAMoment(f"There is no day {match[0].strip()!r} ({error}).") from error
        return day, (said[: match.start()] + " " + said[match.end() :]).strip()
    for name, number in _WEEKDAYS.items():
        match = re.search(rf"\b(?:next |on |this )?(?:{name}|{name[:3]})\b", said)
        if match is not None:
            ahead = (number - now.weekday()) % 7 or 7
            rest = (said[: match.start()] + said[match.end() :]).strip()
            return now.date() + datetime.timedelta(days=ahead), rest
    match = _CHINESE_WEEKDAY.search(said)
    if match is not None:
        number = 6 if match["w"] in "日天" else numerals.DIGITS[match["w"]] - 1
        monday = now.date() - datetime.timedelta(days=now.weekday())
        day = monday + datetime.timedelta(days=number + 7 * len(match["next"] or ""))
        return day, (said[: match.start()] + said[match.end() :]).strip()
    if _SLASHES.search(said):
        raise NotAMoment(f"{said[:40]!r} can be read in two ways: write the date as 2026-05-31.")
    return None, said


def _read_clock(said: str, text: str) -> datetime.time:
    if said in ("noon", "midday", "中午"):
        return datetime.time(12)
    if said in ("midnight", "午夜", "零点"):
        return datetime.time(0)
    match = _CLOCK.fullmatch(said)
    if match is None or not (match["before"] or match["after"] or re.search(r"[:时点h]", said)):
        raise _not_understood(text)
    hour, minute = int(match["h"]), 30 if match["i"] == "半" else int(match["i"] or 0)
    half = (match["after"] or "").replace(".", "")
    if half and not 1 <= hour <= 12:
        raise NotAMoment(f"{text[:60]!r} mixes 24 hours with {half}.")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif match["before"] in ("下午", "傍晚", "晚上", "晚") and hour < 12:
        hour += 12
    try:
        return datetime.time(hour, minute, int(match["s"] or 0))
    except ValueError as error:
        raise NotAMoment(
            f"There is no time {text[:60]!r}: hours go from 0 to 23, minutes and seconds to 59."
        ) from error


def _parse_offset(said: str) -> datetime.tzinfo:
    if said == "z":
        return datetime.UTC
    minutes = int(said[1:3]) * 60 + int(said[-2:])
    if minutes >= 24 * 60:
        raise NotAMoment(f"There is no UTC offset {said!r}.")
    return datetime.timezone(datetime.timedelta(minutes=minutes if said[0] == "+" else -minutes))


def _normalize(text: str) -> str:
    """Lower case with ASCII signs and digits for Chinese numerals (but not the 一 of 星期一).

    Raises:
        NotAMoment: the text is too long.
    """
    if len(text) > _LONGEST:
        raise _not_understood(text)
    said = " ".join(unicodedata.normalize("NFKC", text).replace("−", "-").lower().split())
    return _NUMERALS.sub(_replace_numeral, said)


def _replace_numeral(match: re.Match[str]) -> str:
    number = numerals.read(match[0])
    return match[0] if number is None else str(number)


def _not_understood(text: str) -> NotAMoment:
    return NotAMoment(f"{text[:60]!r} is no date or time: write it as '2026-05-31', '15:30' or '2026-05-31 15:30'.")
