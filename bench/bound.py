"""What replies could be like under a platform's limits: the yardstick of `bench.delivery`, in the reader's measure.

A simulation without a network: calls take no time, every token and every end are known in advance, and limits are used
to the last call. It is given the times at which a run's models wrote, so that it answers the very questions that the
program answered.

`best` is a schedule that keeps every limit, so what it shows is possible. It makes a call when a reader runs out, the
longest overdue first; an end is due when its reader runs out, at most a second after the last token; a first post holds
first words (`bench.reader`). How long first posts should wait for more words, so that fewer calls are needed, and
whether a reply begins whose end has no call of its own, it finds by trying: the least mean of reader waits is the
answer. Where replies share nothing this is exact up to the steps of `PATIENCES` (the tests try every schedule); where
many share a budget it is the best schedule found, not a proof. `floor` is one: under no schedule is the mean less.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, count, product

from bench.limits import Call, Count, Limits, Rate, Way
from bench.reader import Answer, follow, squeeze

PATIENCES = (0.0, *(0.06 * 1.3**step for step in range(11)), 2.0, float("inf"))
"""Seconds that a schedule lets a first post wait for more words (at most until the last token), and a reader who has
run out for the last token."""
GRACES = (0.0, 0.5)
"""Seconds for which first posts then give way to readers who run out: who begins later needs fewer calls."""
LONG = 10.0
"""A budget of so many seconds can be used up for longer than a reply takes."""
END_WITHIN = 1.0
"""Seconds from the last token in which an answer should be whole, whether its reader has run out or not."""


@dataclass(frozen=True)
class Writing:
    """When one reply was asked for, and when its model wrote: its tokens come at an even pace from `begin` to `end`."""

    asked: float
    begin: float
    end: float
    shares: tuple[float, ...]
    """The reading time of the text after each token."""
    first_words: float = 0.0
    """The reading time of the shortest beginning worth showing."""

    @cached_property
    def _step(self) -> float:
        return (self.end - self.begin) / max(1, len(self.shares) - 1)

    def written(self, now: float) -> float:
        """The reading time of what is written by `now`."""
        if now < self.begin:
            return 0.0
        if now >= self.end:
            return self.shares[-1]
        return self.shares[int((now - self.begin) / self._step + 1e-9)]

    def more_at(self, share: float) -> float:
        """When there is a word more to read than `share`."""
        return min(self.end, self.begin + bisect_right(self.shares, share + 1e-9) * self._step)


def shares_of(answer: Answer, tokens: Iterable[str]) -> tuple[float, ...]:
    """The reading time of a text after each of its tokens."""
    return tuple(answer.readable_length(length) for length in accumulate(len(squeeze(token)) for token in tokens))


@dataclass(frozen=True)
class Bound:
    """What a schedule gives each reply, in seconds."""

    waits: list[float]
    first: list[float]
    """From the question to the first call with words."""
    gaps: list[float]
    lags: list[float]
    edits: float
    """Calls after the first, a reply."""
    used: dict[str, int]
    """Calls by shared budget."""

    @property
    def mean(self) -> float:
        return sum(self.waits) / len(self.waits)


@dataclass(eq=False)
class _Reply:
    writing: Writing
    number: int
    own: dict[Rate, Count] = field(default_factory=dict)
    way: int = -1
    """Which of the ways it is shown in; -1: not begun."""
    shown: list[tuple[float, float]] = field(default_factory=list)
    position: float = 0.0
    """How far its reader has read when it was last shown."""
    whole: float | None = None

    @property
    def share(self) -> float:
        return self.shown[-1][1] if self.shown else 0.0

    @property
    def runs_out(self) -> float:
        """When its reader has read what is shown."""
        return self.shown[-1][0] + self.share - self.position if self.shown else self.writing.begin

    def show(self, now: float, share: float) -> None:
        if self.shown:
            self.position = min(self.share, self.position + now - self.shown[-1][0])
        self.shown.append((now, share))


class _Schedule:
    """One simulation."""

    def __init__(
        self,
        limits: Limits,
        writings: Sequence[Writing],
        *,
        patience: float = 0.0,
        grace: float = 0.0,
        sure: bool = False,
        first_only: bool = False,
    ) -> None:
        """
        Args:
            patience: one of `PATIENCES`.
            grace: one of `GRACES`.
            sure: a reply begins before its end only where the preferred last call will be free.
            first_only: a first post is all that replies get.
        """
        self.limits, self.patience, self.grace = limits, patience, grace
        self.sure, self.first_only = sure, first_only
        self.counts = {rate: Count(rate) for rate in limits.shared}
        self.replies = [_Reply(writing, number) for number, writing in enumerate(writings)]
        self._later: list[tuple[float, int, _Reply]] = []
        """Calls that nobody wants yet, by time."""
        self._wanted: dict[tuple[int, bool], list[tuple[float, int, _Reply]]] = {}
        """Calls that are wanted, by what they draw on (the way, and whether it is the last), the longest due first."""
        self._order = count()
        self._ends: dict[int, list[float]] = {index: [] for index in range(len(limits.ways))}
        """When the replies end that are under way in each way."""
        for reply in self.replies:
            self._plan(reply)

    def run(self) -> None:
        now = 0.0
        while self._later or any(self._wanted.values()):
            if not any(self._wanted.values()):
                now = max(now, self._later[0][0])
            while self._later and self._later[0][0] <= now + 1e-9:
                _, _, reply = heapq.heappop(self._later)
                kind = (reply.way, self._is_last(reply, now))
                heapq.heappush(self._wanted.setdefault(kind, []), (self._due(reply), next(self._order), reply))
            blocked_until = self._serve(now)
            upcoming = min(blocked_until, self._later[0][0] if self._later else float("inf"))
            if upcoming < float("inf"):
                now = max(now, upcoming)

    def _serve(self, now: float) -> float:
        """Make every call that can be made now; return when the next of the wanted ones can be."""
        until = float("inf")
        # What draws on the same budgets waits together: when the longest due of them is held up, all of them are.
        for queue in sorted((queue for queue in self._wanted.values() if queue), key=lambda queue: queue[0]):
            while queue:
                reply = queue[0][2]
                ready, way, call = min(self._options(reply, now), key=lambda option: option[0])
                if ready > now + 1e-9:
                    until = min(until, ready)
                    break
                heapq.heappop(queue)
                own = max((self._own(reply, rate).ready_at(now) for rate in call.own), default=now)
                if own > now + 1e-9:
                    heapq.heappush(self._later, (own, next(self._order), reply))
                    continue
                self._make(reply, way, call, now)
        return until

    def _options(self, reply: _Reply, now: float) -> Iterator[tuple[float, int, Call]]:
        """Yield when each call that would do can be made by the shared budgets, with its way."""
        if reply.way < 0:
            for index, way in enumerate(self.limits.ways):
                ready = self._ready(way.first, now)
                if (way.reserved or (self.sure and not self._is_last(reply, now))) and not self.first_only:
                    ready = max(ready, self._reserve_at(index, way, reply, now))
                yield ready, index, way.first
            return
        way = self.limits.ways[reply.way]
        for call in way.last if self._is_last(reply, now) else way.more:
            yield self._ready(call, now), reply.way, call

    def _reserve_at(self, index: int, way: Way, reply: _Reply, now: float) -> float:
        """When a reply could begin so that its last call is free at its end; a moment later where it is not now."""
        rate = next((rate for rate in way.last[0].shared if rate.seconds >= LONG), None)
        if rate is None:
            return now
        end = max(now, reply.writing.end)
        made = self.counts[rate].since(end - rate.seconds)
        return now if made + len(self._ends[index]) < rate.calls else now + 0.25

    def _ready(self, call: Call, now: float) -> float:
        return max((self.counts[rate].ready_at(now) for rate in call.shared), default=now)

    def _own(self, reply: _Reply, rate: Rate) -> Count:
        return reply.own.setdefault(rate, Count(rate))

    def _is_last(self, reply: _Reply, now: float) -> bool:
        return now >= reply.writing.end - 1e-9

    def _make(self, reply: _Reply, way: int, call: Call, now: float) -> None:
        for rate in call.shared:
            self.counts[rate].take(now)
        for rate in call.own:
            self._own(reply, rate).take(now)
        first = reply.way < 0
        if first:
            reply.way = way
            self._ends[way].append(reply.writing.end)
        reply.show(now, reply.writing.written(now))
        if self.first_only:
            return
        if self._is_last(reply, now) and not (first and self.limits.once):
            reply.whole = now
            self._ends[reply.way].remove(reply.writing.end)
            return
        self._plan(reply)

    def _plan(self, reply: _Reply) -> None:
        """Queue the next call of a reply for the moment from which it is wanted."""
        writing = reply.writing
        if not reply.shown:
            at = max(writing.more_at(writing.first_words - 1e-6), min(writing.end, writing.begin + self.patience))
        else:
            at = max(reply.runs_out, writing.more_at(reply.share))
            if at > writing.end - self.patience:
                at = writing.end
        heapq.heappush(self._later, (max(at, reply.shown[-1][0] if reply.shown else at), next(self._order), reply))

    def _due(self, reply: _Reply) -> float:
        end = reply.writing.end
        if not reply.shown:
            return min(end, reply.writing.begin + self.patience + self.grace)
        return min(reply.runs_out, end + END_WITHIN)

    def result(self) -> Bound:
        waits, gaps, lags = [], [], []
        for reply in self.replies:
            assert reply.whole is not None
            waiting, gap = follow(reply.shown, reply.writing.begin, reply.whole)
            waits.append(waiting)
            gaps.append(gap)
            lags.append(reply.whole - reply.writing.end)
        return Bound(
            waits,
            [reply.shown[0][0] - reply.writing.asked for reply in self.replies],
            gaps,
            lags,
            sum(len(reply.shown) - 1 for reply in self.replies) / len(self.replies),
            {rate.name: one.made for rate, one in self.counts.items()},
        )


def best(limits: Limits, writings: Sequence[Writing]) -> Bound:
    """The best schedule found for replies written so: the one with the least mean of reader waits."""
    found = []
    for patience, grace, sure in product(PATIENCES, GRACES, (False, True) if _long(limits) else (False,)):
        schedule = _Schedule(limits, writings, patience=patience, grace=grace, sure=sure)
        schedule.run()
        found.append(schedule.result())
    return min(found, key=lambda bound: bound.mean)


def floor(limits: Limits, writings: Sequence[Writing]) -> float:
    """A mean of reader waits that no schedule under these limits can go below.

    Nobody reads before a first post, which holds first words. If first posts were all that calls are spent on, in the
    order of the beginnings, the k-th of them would come as early as under any schedule.
    """
    schedule = _Schedule(limits, writings, first_only=True)
    schedule.run()
    delays = [reply.shown[0][0] - reply.writing.begin for reply in schedule.replies]
    return sum(delays) / len(delays)


def together(replies: int, tokens: Sequence[str], rate: float) -> list[Writing]:
    """So many replies asked for and written at the same moment, at `rate` tokens a second."""
    answer = Answer("".join(tokens))
    return [Writing(0.0, 0.0, (len(tokens) - 1) / rate, shares_of(answer, tokens), answer.first_words)] * replies


def _long(limits: Limits) -> bool:
    return any(rate.seconds >= LONG for rate in limits.shared)
