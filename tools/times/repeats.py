"""Read how often something comes back, in English and Chinese words: `every weekday at 8`, `每周一上午九点`."""

from __future__ import annotations

import datetime
import re
import unicodedata

from tools.contract.base import ToolError
from tools.times import cron, moments, numerals

SHORTEST = 300.0
"""Seconds between two times at least: more would not be read, and a chat is no log."""
_DAYTIME = datetime.time(9)
"""When something comes that names only days."""
_EVENING = datetime.time(18)
_CHECKED = 12
"""Times of a rule whose distances are looked at, those within two days and one more."""
_LOOKED_AHEAD = 2 * 86_400.0
_LONGEST = 200
_SIMPLIFIED = str.maketrans("週點號時個鐘禮後隔兩", "周点号时个钟礼后隔两")
_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_DAY = r"(?:sun|mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur)(?:days?)?"
_CHINESE_DAYS = {day: number for number, day in enumerate("日一二三四五六")} | {"天": 0}
_WEEK = r"(?:周|星期|礼拜)"
_PLAIN = (
    (re.compile(r"\b(?:every ?day|daily|each day|every (?=morning|afternoon|evening|night))"), "*"),
    (re.compile(r"\b(?:(?:on|every|each) )?(?:weekdays?|work(?:ing )?days?)\b"), "1-5"),
    (re.compile(r"\b(?:(?:on|every|each|at) )?(?:the )?weekends?\b"), "0,6"),
    (re.compile(r"(?:每个?)?工作日"), "1-5"),
    (re.compile(r"每个?周末"), "0,6"),
    (re.compile(r"每天|每日|天天|每(?=早|晚|上午|下午)"), "*"),
)
_ON_DAYS = re.compile(
    rf"\b(?:every|each|weekly on|every week on) (?P<days>{_DAY}(?:(?:, ?and |, ?| and | & ){_DAY})*)\b"
)
_ON_CHINESE_DAYS = re.compile(
    rf"每个?{_WEEK}(?P<first>[一二三四五六日天])"
    rf"(?:[到至-]{_WEEK}?(?P<last>[一二三四五六日天])|(?P<more>(?:[、,和]?{_WEEK}?[一二三四五六日天](?![点时十:]))*))"
)
_MONTHLY = (
    re.compile(r"\b(?:every month|monthly|each month)(?: on)?(?: the)? (?P<d>\d{1,2})(?:st|nd|rd|th)?\b"),
    re.compile(r"\b(?:on )?(?:the )?(?P<d>\d{1,2})(?:st|nd|rd|th)? of (?:every|each) month\b"),
    re.compile(r"每个?月(?P<d>\d{1,2})[号日]"),
)
_STEP = re.compile(r"(?:(?:every|each) |每隔?)(?P<n>\d+)? ?个?(?P<unit>minute|min|hour|hr|分钟|小时|钟头)s?")
_HELP = (
    "write it as 'every weekday at 8', 'every Monday at 09:00', 'every month on the 1st at 9', 'every 2 hours' "
    "or as cron, '0 8 * * 1-5'."
)


class NotARepeat(ToolError):
    """The text does not say how often. The message says what to write."""


def read(text: str, zone: datetime.tzinfo, now: datetime.datetime) -> str:
    """Return the cron rule that `text` names, in words or as cron.

    Raises:
        NotARepeat: it names none, or one that never comes or too often.
    """
    said = " ".join(unicodedata.normalize("NFKC", text[:_LONGEST]).lower().split()).translate(_SIMPLIFIED)
    try:
        rule = said if len(said.split()) == 5 and said[0] in "*0123456789" else _in_words(said, now)
        cron.parse(rule)
    except ToolError as error:
        raise NotARepeat(f"{text[:60]!r} does not say how often in words that are known: {_HELP}") from error
    earlier = now.timestamp()
    for place in range(_CHECKED):
        time = cron.next_after(rule, zone, earlier)
        if time is None:
            raise NotARepeat(f"{text[:60]!r} does not come within eight years.")
        if place and time - earlier < SHORTEST:
            raise NotARepeat(f"{text[:60]!r} comes too often: at least {SHORTEST / 60:.0f} minutes must lie between.")
        earlier = time
        if place and time - now.timestamp() > _LOOKED_AHEAD:
            break
    return rule


def _in_words(said: str, now: datetime.datetime) -> str:
    """Return the rule that words name.

    Raises:
        ToolError: they name none.
    """
    day, week, rest = "*", "*", said
    if match := _ON_CHINESE_DAYS.search(said):
        week = _chinese_week(match)
    elif match := _ON_DAYS.search(said):
        week = ",".join(str(_DAYS[name]) for name in re.findall("|".join(_DAYS), match["days"]))
    else:
        said = rest = numerals.RUN.sub(lambda run: str(numerals.read(run[0]) or run[0]), said)
        if match := _STEP.fullmatch(said):
            return _step(int(match["n"] or 1), match["unit"])
        match = next(filter(None, (pattern.search(said) for pattern in _MONTHLY)), None)
        if match is not None:
            day = match["d"]
        else:
            match, week = next(
                ((found, days) for pattern, days in _PLAIN if (found := pattern.search(said))), (None, "")
            )
    if match is None:
        raise NotARepeat("no rule")
    rest = f"{said[: match.start()]} {said[match.end() :]}"
    time = _time(rest, now)
    return f"{time.minute} {time.hour} {day} * {week}"


def _chinese_week(match: re.Match[str]) -> str:
    first = _CHINESE_DAYS[match["first"]]
    if match["last"]:
        # Sunday ends a week there.
        return f"{first}-{_CHINESE_DAYS[match['last']] or 7}"
    more = [_CHINESE_DAYS[char] for char in match["more"] or "" if char in _CHINESE_DAYS]
    return ",".join(str(number) for number in (first, *more))


def _step(count: int, unit: str) -> str:
    """Return the rule of "every 15 minutes"; what does not divide its hour or day would come unevenly."""
    minutes = unit in ("minute", "min", "分钟")
    if not count or (60 if minutes else 24) % count:
        raise NotARepeat("uneven")
    return f"*/{count} * * * *" if minutes else f"0 */{count} * * *"


def _time(rest: str, now: datetime.datetime) -> datetime.time:
    rest = re.sub(r"\b(?:in the )?morning\b", "am", rest)
    rest = re.sub(r"\b(?:in the )?(?:afternoon|evening)\b|\bat night\b", "pm", rest)
    # "every morning at 8" says the half of the day before the hour.
    rest = re.sub(r"^\s*(am|pm)\b(.*\d.*)$", r"\2 \1", rest)
    rest = re.sub(r"\b(?:at|on)\b|[的,]", " ", rest)
    rest = re.sub(r"早(?![上晨])|清晨|早晨", "早上", " ".join(rest.split()))
    if rest in ("", "am"):
        return _DAYTIME
    if rest == "pm":
        return _EVENING
    rest = re.sub(r"^(\d{1,2})(?= ?(?:am|pm)?$)", r"\1:00", rest)
    moment = moments.read(rest, now)
    if not moment.timed:
        raise NotARepeat("no time of day")
    return moment.when.time()
