"""What is possible under a platform's limits, in simulated time."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from bench import limits
from bench.bound import PATIENCES, Bound, Writing, _Schedule, best, floor, shares_of, together
from bench.limits import Call, Count, Limits, Rate, Way
from bench.reader import Answer, follow

TOKENS = ["wor10", *(f" wor{11 + index % 80}" for index in range(199))]
ANSWER = Answer("".join(TOKENS))


def alone(chat: Rate, *, once: bool = False) -> Limits:
    call = Call((), (chat,))
    return Limits((Way(call, (call,), (call,)),), carries=1.0, once=once)


def writing(begin: float, tokens: int = 200, rate: float = 50.0) -> Writing:
    answer = Answer("".join(TOKENS[:tokens]))
    shares = shares_of(answer, TOKENS[:tokens])
    return Writing(begin, begin, begin + (tokens - 1) / rate, shares, answer.first_words)


def every_schedule(one: Writing, chat: Rate) -> float:
    """The least wait over all choices of calls at the moments of tokens and at the end."""
    moments = [one.begin + index * 0.1 for index in range(3, int((one.end - one.begin) / 0.1) + 1)]
    least = one.end - one.begin
    for size in range(chat.calls):
        for chosen in combinations(moments, size):
            count, fits = Count(chat), True
            for at in (*chosen, one.end):
                fits = fits and count.ready_at(at) <= at + 1e-9
                count.take(at)
            if fits:
                shown = [(at, one.written(at)) for at in (*chosen, one.end)]
                least = min(least, follow(shown, one.begin, one.end)[0])
    return least


@pytest.mark.parametrize("chat", [Rate("chat", 1, 9.0), Rate("chat", 2, 9.0), Rate("chat", 3, 9.0)])
def test_one_reply_alone_waits_as_under_the_best_of_all_schedules(chat: Rate) -> None:
    one = writing(0.0, tokens=21, rate=10.0)

    found = best(alone(chat), [one])

    assert found.waits[0] == pytest.approx(every_schedule(one, chat), abs=0.1)


def test_a_reply_with_calls_to_spare_waits_for_its_first_words_only() -> None:
    found = best(limits.TELEGRAM, together(1, TOKENS, 50.0))

    assert found.waits == pytest.approx([0.04])
    assert found.lags == pytest.approx([0.0], abs=1e-6)
    assert found.edits == 2


@pytest.mark.parametrize(
    ("known", "replies"), [(limits.TELEGRAM, 100), (limits.SLACK, 300), (limits.DISCORD_MENTION, 100)]
)
@pytest.mark.parametrize("patience", [PATIENCES[0], PATIENCES[4]])
def test_no_schedule_breaks_a_limit(known: Limits, replies: int, patience: float) -> None:
    schedule = _Schedule(known, together(replies, TOKENS, 50.0), patience=patience)
    taken: dict[str, list[float]] = {}
    for rate, count in schedule.counts.items():
        take, at = count.take, taken.setdefault(rate.name, [])
        count.take = lambda now, take=take, at=at: (at.append(now), take(now))[1]  # type: ignore[method-assign, misc]

    schedule.run()

    for rate in known.shared:
        times = taken[rate.name]
        for index in range(rate.calls, len(times)):
            span = times[index] - times[index - rate.calls]
            # A fixed span lets twice as many through around its end.
            assert span >= rate.seconds - 1e-6 or rate.kind == "fixed"
    assert all(reply.whole is not None for reply in schedule.replies)


def test_streams_are_begun_only_where_their_stop_is_free() -> None:
    schedule = _Schedule(limits.SLACK, together(60, TOKENS, 50.0))

    schedule.run()

    used = schedule.result().used
    assert (used["start"], used["stop"]) == (20, 20)


def test_the_floor_lies_under_every_schedule() -> None:
    chance = random.Random(7)
    moments = [chance.uniform(0, 10) for _ in range(150)]
    writings = [writing(moment) for moment in sorted(moments)]

    lowest = floor(limits.TELEGRAM, writings)

    for patience in PATIENCES:
        schedule = _Schedule(limits.TELEGRAM, writings, patience=patience)
        schedule.run()
        assert lowest <= schedule.result().mean + 1e-9


def test_a_burst_that_first_posts_fill_waits_for_its_turn() -> None:
    """Thirty posts a second: of ninety replies, thirty wait a second and thirty two."""
    assert floor(limits.TELEGRAM, together(90, TOKENS, 50.0)) == pytest.approx(0.04 + 1.0)


def test_a_first_post_that_cannot_be_repeated_is_never_the_whole_answer() -> None:
    short = [writing(0.0, tokens=2)]

    once, free = best(alone(Rate("chat", 9, 9.0), once=True), short), best(alone(Rate("chat", 9, 9.0)), short)

    assert (once.edits, free.edits) == (1, 0)


def test_more_calls_make_no_reader_wait_longer() -> None:
    def mean(calls: int) -> float:
        bot = Call((Rate("bot", calls, 1.0),))
        found: Bound = best(Limits((Way(bot, (bot,), (bot,)),), carries=1.0), together(30, TOKENS, 50.0))
        return found.mean

    assert mean(40) <= mean(20) <= mean(10)


def test_counts_keep_each_kind_of_rate() -> None:
    fixed, sliding, bucket = (Count(Rate("x", 2, 1.0, kind)) for kind in ("fixed", "sliding", "bucket"))
    for count in (fixed, sliding, bucket):
        count.take(0.0)
        count.take(0.6)

    assert fixed.ready_at(0.7) == pytest.approx(1.0)
    assert sliding.ready_at(0.7) == pytest.approx(1.0)
    assert bucket.ready_at(0.7) == pytest.approx(0.7)
    fixed.take(1.0)
    fixed.take(1.0)
    sliding.take(1.0)
    bucket.take(0.7)
    assert fixed.ready_at(1.1) == pytest.approx(2.0)
    assert sliding.ready_at(1.1) == pytest.approx(1.6)
    assert bucket.ready_at(0.7) == pytest.approx(1.1)
