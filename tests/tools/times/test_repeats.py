"""How often something comes, in words, and its times around the changes of summer time."""

from __future__ import annotations

import datetime
import itertools
import zoneinfo

import pytest

from tools.times import cron, repeats

PARIS = zoneinfo.ZoneInfo("Europe/Paris")
NOW = datetime.datetime(2026, 10, 20, 12, 0, tzinfo=PARIS)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("every weekday at 8", "0 8 * * 1-5"),
        ("Every day at 08:30", "30 8 * * *"),
        ("daily", "0 9 * * *"),
        ("every morning at 7", "0 7 * * *"),
        ("every evening", "0 18 * * *"),
        ("at 9am every Monday and Thursday", "0 9 * * 1,4"),
        ("every Tue, Wed, and Saturday at 6:15 pm", "15 18 * * 2,3,6"),
        ("weekends at noon", "0 12 * * 0,6"),
        ("every Friday at 5 in the afternoon", "0 17 * * 5"),
        ("every month on the 15th at 10:00", "0 10 15 * *"),
        ("on the 1st of every month at 9", "0 9 1 * *"),
        ("every 15 minutes", "*/15 * * * *"),
        ("every hour", "0 */1 * * *"),
        ("every 2 hours", "0 */2 * * *"),
        ("每周一上午九点", "0 9 * * 1"),
        ("每週一上午九點", "0 9 * * 1"),
        ("每星期一三五晚上八点半", "30 20 * * 1,3,5"),
        ("每周一三点", "0 3 * * 1"),
        ("每周六到周日 10:00", "0 10 * * 6-7"),
        ("每个工作日8点", "0 8 * * 1-5"),
        ("每天早上七點", "0 7 * * *"),
        ("每晚十点", "0 22 * * *"),
        ("每月十五号下午三点", "0 15 15 * *"),
        ("每两小时", "0 */2 * * *"),
        ("每30分钟", "*/30 * * * *"),
        ("0 8 * * 1-5", "0 8 * * 1-5"),
        ("0 8 1 jan,jul mon", "0 8 1 jan,jul mon"),
    ],
)
def test_words_and_cron_name_a_rule(said: str, rule: str) -> None:
    assert repeats.read(said, PARIS, NOW) == rule


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("now and then", "how often"),
        ("every day at 25:00", "how often"),
        ("every day tomorrow", "how often"),
        ("every 7 minutes", "how often"),
        ("every 0 hours", "how often"),
        ("0 8 * * 9", "how often"),
        ("0 8 * * 5-1", "how often"),
        ("0 8/0 * * *", "how often"),
        ("*/x 8 * * *", "how often"),
        ("0 0 31 2 *", "eight years"),
        ("* 8 * * *", "too often"),
        ("every minute", "too often"),
        ("0,1 8 * * *", "too often"),
    ],
)
def test_what_is_no_rule_is_refused_with_what_to_write(said: str, why: str) -> None:
    with pytest.raises(repeats.NotARepeat, match=why):
        repeats.read(said, PARIS, NOW)


def times(rule: str, start: str, count: int, zone: datetime.tzinfo = PARIS) -> list[str]:
    """The next times after a local time, as local time with its offset."""
    after = datetime.datetime.fromisoformat(start).replace(tzinfo=zone).timestamp()
    found = []
    for _ in range(count):
        time = cron.next_after(rule, zone, after)
        assert time is not None
        found.append(f"{datetime.datetime.fromtimestamp(after := time, zone):%m-%d %H:%M %z}")
    return found


def test_a_time_that_the_clocks_skip_comes_once_that_day_and_later() -> None:
    assert times("30 2 * * *", "2027-03-27 00:00", 3) == ["03-27 02:30 +0100", "03-28 03:30 +0200", "03-29 02:30 +0200"]


def test_a_time_that_the_clocks_show_twice_comes_once_and_first() -> None:
    assert times("30 2 * * *", "2026-10-24 00:00", 3) == ["10-24 02:30 +0200", "10-25 02:30 +0200", "10-26 02:30 +0100"]
    second = datetime.datetime(2026, 10, 25, 2, 10, tzinfo=PARIS, fold=1).timestamp()
    following = cron.next_after("30 2 * * *", PARIS, second)
    assert following == datetime.datetime(2026, 10, 26, 2, 30, tzinfo=PARIS).timestamp()


def test_what_counts_by_elapsed_time_keeps_its_distance_on_both_days() -> None:
    assert times("0 * * * *", "2026-10-25 00:30", 4) == [
        "10-25 01:00 +0200", "10-25 02:00 +0200", "10-25 02:00 +0100", "10-25 03:00 +0100",
    ]  # fmt: skip
    assert times("0 * * * *", "2027-03-28 00:30", 3) == ["03-28 01:00 +0100", "03-28 03:00 +0200", "03-28 04:00 +0200"]


def test_every_day_of_a_year_has_one_time_in_zones_whose_clocks_change_oddly() -> None:
    """Lord Howe changes by half an hour, Santiago at midnight."""
    for name in ("Europe/Paris", "Australia/Lord_Howe", "America/Santiago", "Asia/Tehran", "America/St_Johns"):
        for rule in ("30 2 * * *", "0 0 * * *", "15 23 * * *", "5 1 * * *"):
            days = [time[:5] for time in times(rule, "2026-01-01 00:00", 370, zoneinfo.ZoneInfo(name))]
            assert len(set(days)) >= 364 and all(a != b for a, b in itertools.pairwise(days)), (name, rule)


def test_day_and_weekday_fit_as_in_cron() -> None:
    assert [time[:5] for time in times("0 8 13 * 5", "2026-11-01 00:00", 3)] == ["11-06", "11-13", "11-20"]
    assert [time[:5] for time in times("0 8 */2 * 1", "2026-11-01 00:00", 2)] == ["11-09", "11-23"]
    assert [time[:5] for time in times("0 8 * * 7", "2026-11-02 00:00", 1)] == ["11-08"]
    assert times("0 0 29 2 *", "2096-03-01 00:00", 1)[0].startswith("02-29")
    assert times("10/20 8 * * *", "2026-11-02 08:00", 2) == ["11-02 08:10 +0100", "11-02 08:30 +0100"]
