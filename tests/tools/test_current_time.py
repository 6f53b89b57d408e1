"""The clock, on one fixed day: Friday 20 March 2026, 10:30:15 UTC."""

from __future__ import annotations

import datetime
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.contract.base import ToolContext, ToolError, Unavailable
from tools.current_time import open_tool
from tools.times import moments, numerals, zones

NOW = datetime.datetime(2026, 3, 20, 10, 30, 15, tzinfo=datetime.UTC)


async def told(zone: str = "Asia/Shanghai", **arguments: str) -> str:
    """What the clock says to a person in `zone`."""
    result = await open_tool().run(arguments, ToolContext(zone=zone, now=lambda: NOW))
    return result.text


async def test_without_arguments_it_is_now_where_the_person_is() -> None:
    text = await told()

    assert text == "Now in Asia/Shanghai: Friday, 2026-03-20, 18:30:15, UTC+08:00 (CST), ISO week 12 of 2026"


async def test_a_person_whose_zone_makes_no_sense_gets_utc_and_is_told() -> None:
    text = await told(zone="Mars/Olympus")

    assert "Now in UTC: Friday, 2026-03-20, 10:30:15, UTC+00:00" in text
    assert "time zone is not known" in text


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("asia/tokyo", "Asia/Tokyo"),
        ("Tokyo", "Asia/Tokyo"),
        ("東京", None),
        ("东京", "Asia/Tokyo"),
        ("北京", "Asia/Shanghai"),
        ("北京时间", "Asia/Shanghai"),
        ("beijing time", "Asia/Shanghai"),
        ("New York", "America/New_York"),
        ("new_york", "America/New_York"),
        ("NYC", "America/New_York"),
        ("纽约", "America/New_York"),
        ("PST", "America/Los_Angeles"),
        ("Pacific Time", "America/Los_Angeles"),
        ("San Francisco", "America/Los_Angeles"),
        ("Paris, France", "Europe/Paris"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Zürich", "Europe/Zurich"),
        ("St. Petersburg", "Europe/Moscow"),
        ("UK", "Europe/London"),
        ("India", "Asia/Kolkata"),
        ("CET", "Europe/Paris"),
        ("UTC", "UTC"),
        ("Z", "UTC"),
        ("UTC+8", "UTC+08:00"),
        ("gmt-3:30", "UTC-03:30"),
        ("+05:30", "UTC+05:30"),
        ("UTC−5", "UTC-05:00"),
        ("东八区", "UTC+08:00"),
        ("西五区", "UTC-05:00"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("US/Pacific", "US/Pacific"),
        ("../../etc/passwd", None),
        ("Atlantis", None),
        ("UTC+25", None),
        ("\x00", None),
        ("x" * 5000, None),
    ],
)
async def test_zones_go_by_the_names_people_say(name: str, zone: str | None) -> None:
    if zone is None:
        with pytest.raises(ToolError) as error:
            await told(zone="UTC", to_zone=name)
        assert len(str(error.value)) < 300
    else:
        assert zones.find(name).name == zone


async def test_a_country_with_several_zones_asks_which() -> None:
    with pytest.raises(ToolError, match="America/Chicago"):
        await open_tool().run({"zone": "美国"}, ToolContext())


def test_every_zone_of_the_table_exists() -> None:
    every = zoneinfo.available_timezones()
    named = [line.partition(": ")[0] for line in zones._NAMES.strip().splitlines()]

    assert set(named) <= every
    assert len(named) == len(set(named))


def test_no_name_of_the_table_stands_for_two_zones() -> None:
    names = [name.strip() for line in zones._NAMES.strip().splitlines() for name in line.partition(": ")[2].split(",")]

    assert sorted({name for name in names if names.count(name) > 1}) == []


async def test_an_abbreviation_with_two_meanings_is_noted() -> None:
    result = await open_tool().run({"zone": "CST"}, ToolContext(now=lambda: NOW))

    assert "America/Chicago" in result.text
    assert "China's time is Asia/Shanghai" in result.text


async def test_a_time_is_converted_between_zones() -> None:
    result = await open_tool().run(
        {"time": "15:00", "zone": "New York", "to_zone": "北京"}, ToolContext(now=lambda: NOW)
    )

    assert "In America/New_York: Friday, 2026-03-20, 15:00:00, UTC-04:00 (EDT)" in result.text
    assert "The same moment in Asia/Shanghai: Saturday, 2026-03-21, 03:00:00, UTC+08:00 (CST)" in result.text
    assert "Asia/Shanghai is 12 h ahead of America/New_York then." in result.text


@pytest.mark.parametrize(
    ("written", "day", "clock"),
    [
        ("now", "2026-03-20", "18:30:15"),
        ("today", "2026-03-20", ""),
        ("tomorrow", "2026-03-21", ""),
        ("yesterday 8am", "2026-03-19", "08:00:00"),
        ("tomorrow at 15:30", "2026-03-21", "15:30:00"),
        ("2024-05-01", "2024-05-01", ""),
        ("2024/5/1", "2024-05-01", ""),
        ("2024-05-01 15:30", "2024-05-01", "15:30:00"),
        ("2024-05-01T15:30:45", "2024-05-01", "15:30:45"),
        ("2026-05-01T10:00:00Z", "2026-05-01", "18:00:00"),
        ("2026-05-01T10:00:00+02:00", "2026-05-01", "16:00:00"),
        ("3pm", "2026-03-20", "15:00:00"),
        ("12am", "2026-03-20", "00:00:00"),
        ("12:30 p.m.", "2026-03-20", "12:30:00"),
        ("noon", "2026-03-20", "12:00:00"),
        ("midnight", "2026-03-20", "00:00:00"),
        ("May 1, 2027", "2027-05-01", ""),
        ("1 May 2027", "2027-05-01", ""),
        ("Sept 3rd", "2026-09-03", ""),
        ("1 May at 5:15 pm", "2026-05-01", "17:15:00"),
        ("next Friday 18:00", "2026-03-27", "18:00:00"),
        ("Tuesday", "2026-03-24", ""),
        ("1700000000", "2023-11-15", "06:13:20"),
        ("今天", "2026-03-20", ""),
        ("明天9点", "2026-03-21", "09:00:00"),
        ("下午3点半", "2026-03-20", "15:30:00"),
        ("晚上八点", "2026-03-20", "20:00:00"),
        ("五月一日", "2026-05-01", ""),
        ("2026年3月2日 14:05", "2026-03-02", "14:05:00"),
        ("下周一 下午三点", "2026-03-23", "15:00:00"),
        ("周日", "2026-03-22", ""),
        ("２０２６－０５－０１", "2026-05-01", ""),
    ],
)
async def test_moments_are_read_as_people_write_them(written: str, day: str, clock: str) -> None:
    line = (await told(time=written)).splitlines()[0]

    assert f", {day}, {clock}" in line
    assert bool(clock) == ("UTC+08:00" in line)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("05/06/2026", "two ways"),
        ("2026-02-30", "There is no day"),
        ("25:00", "hours go from 0 to 23"),
        ("13pm", "mixes"),
        ("soon", "is no date or time"),
        ("25", "is no date or time"),
        ("0001-01-01 00:00", "outside the years"),
    ],
)
async def test_a_moment_that_makes_no_sense_is_an_error_with_what_to_write(written: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await told(time=written)


@pytest.mark.parametrize(
    ("start", "span", "end"),
    [
        ("2024-02-28", "2 days", "2024-03-01"),
        ("2026-01-31", "1 month", "2026-02-28"),
        ("2024-02-29", "1 year", "2025-02-28"),
        ("2026-03-20", "-3 weeks", "2026-02-27"),
        ("2026-03-20", "2 weeks ago", "2026-03-06"),
        ("2026-03-20", "1 year 2 months 3 days", "2027-05-23"),
        ("2026-03-20", "3 business days", "2026-03-25"),
        ("2026-03-20", "-1 workday", "2026-03-19"),
        ("2026-03-20", "1000000 workdays", "5859-04-15"),
        ("2026-03-21", "1 workday", "2026-03-23"),
        ("2026-03-21", "5 workdays", "2026-03-27"),
        ("2026-03-22", "-1 workday", "2026-03-20"),
        ("2026-03-20", "1 quarter", "2026-06-20"),
        ("2026-03-20", "a week", "2026-03-27"),
        ("2026-03-20", "10天后", "2026-03-30"),
        ("2026-03-20", "两天", "2026-03-22"),
        ("2026-03-20", "三十五天前", "2026-02-13"),
        ("2026-03-20", "1年2个月", "2027-05-20"),
        ("2026-03-20", "5个工作日", "2026-03-27"),
    ],
)
async def test_durations_are_added_by_the_calendar(start: str, span: str, end: str) -> None:
    assert f", {end}," in (await told(time=start, add=span)).splitlines()[1]


async def test_hours_are_added_as_they_pass_and_days_by_the_clock_on_the_wall() -> None:
    """Clocks in Paris go forward on 29 March 2026."""
    hours = await told(zone="Europe/Paris", time="2026-03-28 12:00", add="24 hours")
    days = await told(zone="Europe/Paris", time="2026-03-28 12:00", add="1 day")

    assert "2026-03-29, 13:00:00" in hours
    assert "2026-03-29, 12:00:00" in days


@pytest.mark.parametrize("span", ["soon", "10", "1.5 months", "5 parsecs", "99999999 years", "1e5 days", ""])
async def test_a_duration_that_makes_no_sense_is_an_error(span: str) -> None:
    if not span:
        assert "Moved" not in await told(add=span)
        return
    with pytest.raises(ToolError):
        await told(add=span)


async def test_days_between_two_dates_are_counted() -> None:
    text = await told(time="2026-03-20", until="2026-12-25")

    assert text.splitlines()[1] == (
        "From 2026-03-20 to 2026-12-25 (Friday): 280 days "
        "(40 weeks; 9 months 5 days; 200 weekdays; the first day not counted)."
    )


async def test_a_date_in_the_past_is_counted_backwards() -> None:
    text = await told(until="2026-03-19")

    assert "-1 day (" in text
    assert "lies before the first" in text


async def test_the_same_day_is_no_days_away() -> None:
    assert "0 days (the same day)" in await told(until="today")


async def test_a_time_that_clocks_skip_or_repeat_is_noted() -> None:
    skipped = await told(zone="Europe/Paris", time="2026-03-29 02:30")
    repeated = await told(zone="Europe/Paris", time="2026-10-25 02:30")

    assert "03:30:00" in skipped
    assert "does not exist" in skipped
    assert "comes twice" in repeated


def test_without_time_zone_data_it_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "has_data", lambda: False)

    with pytest.raises(Unavailable, match="tzdata"):
        open_tool()


@pytest.mark.parametrize(
    ("written", "number"),
    [
        *(
            ("三", 3),
            ("十", 10),
            ("十二", 12),
            ("三十五", 35),
            ("一百零五", 105),
            ("两千零二十六", 2026),
            ("二〇二六", 2026),
        ),
        *(("三万五千", 35_000), ("一亿二千万", 120_000_000), ("零", 0), ("万", None), ("百", None), ("", None)),
    ],
)
def test_chinese_numerals_are_numbers(written: str, number: int | None) -> None:
    assert numerals.read(written) == number


@given(st.text(max_size=40), st.text(max_size=40))
@settings(deadline=None, max_examples=200)
def test_no_text_raises_anything_but_a_sentence(written: str, zone: str) -> None:
    try:
        moments.read(written, NOW)
    except moments.NotAMoment as error:
        assert str(error)
    try:
        moments.read_span(written).add_to(NOW)
    except moments.NotAMoment as error:
        assert str(error)
    try:
        zones.find(zone)
    except zones.UnknownZone as error:
        assert str(error)


_VOCABULARY = (
    "1 12 31 99 2026 1700000000 - / : . pm am at next friday may tomorrow 明天 下午 点 半 月 日 年 三 十 周 天 后 前 "
    "days weeks month a and ago +"
)
_WORDS = _VOCABULARY.split()


@given(st.lists(st.sampled_from(_WORDS), max_size=8), st.sampled_from(["", " "]))
@settings(deadline=None, max_examples=300)
def test_no_words_raise_anything_but_a_sentence(words: list[str], between: str) -> None:
    written = between.join(words)
    for compute in (lambda: moments.read(written, NOW), lambda: moments.read_span(written).add_to(NOW)):
        try:
            compute()
        except moments.NotAMoment as error:
            assert str(error)


@given(st.dates(), st.dates())
@settings(deadline=None)
def test_what_is_counted_between_two_days_leads_from_one_to_the_other(
    first: datetime.date, last: datetime.date
) -> None:
    from tools.current_time import _calendar, _workdays

    first, last = min(first, last), max(first, last)
    years, months, days = _calendar(first, last)
    start = datetime.datetime.combine(first, datetime.time())

    assert moments.Span(months=years * 12 + months, days=days).add_to(start).date() == last
    if (last - first).days < 4000:
        counted = sum((first + datetime.timedelta(days=day)).weekday() < 5 for day in range(1, (last - first).days + 1))
        assert _workdays(first, last) == counted
