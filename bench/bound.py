"""The best that any scheduler could do under a platform's limits: the yardstick of `bench.delivery`.

A simulation without a network: calls take no time, every reply's beginning and end are known in advance, and the
limits are used to the last call. It is given the times at which a run's models wrote, so that it answers the very
questions the program answered: what a program does before its models write is measured on its own.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

STEP = 0.01


@dataclass(frozen=True)
class Limits:
    """A platform's limits: per reply a bucket or a window, over all replies a window."""

    rate: float
    burst: int
    calls: int
    """Calls of all replies in any `seconds`."""
    seconds: float
    posts_count: bool = True
    """A first message draws on the shared window too."""
    posts: int = 0
    """Where first messages do not count there: as many of all replies in any `seconds`; such a reply may appear once,
    whole, if no call is left for its end."""
    edits: tuple[int, float] | None = None
    """Per reply at most so many edits in so many seconds, beside its first message."""


TELEGRAM = Limits(rate=1.0, burst=3, calls=30, seconds=1.0)
SLACK = Limits(rate=1000.0, burst=1000, calls=50, seconds=60.0, posts_count=False, posts=300)
DISCORD = Limits(rate=1000.0, burst=1000, calls=50, seconds=1.0, edits=(5, 5.0))


@dataclass(frozen=True)
class Writing:
    """When one reply was asked for, and when its model began and ended; seconds of any clock."""

    asked: float
    begin: float
    end: float


@dataclass
class _Reply:
    asked: float
    begin: float
    end: float
    tokens: float
    level_at: float = 0.0
    shown: float = 0.0
    """Share of the text that is visible."""
    first: float = -1.0
    whole: float = -1.0
    edited: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)

    def written(self, now: float) -> float:
        if now <= self.begin:
            return 0.0
        return min(1.0, (now - self.begin) / (self.end - self.begin)) if self.end > self.begin else 1.0

    def age(self, now: float) -> float:
        return max(0.0, now - (self.begin + self.shown * (self.end - self.begin)))

    def held(self, now: float, limits: Limits, final: bool) -> bool:
        """Its own window of edits is used up, or its calls up to the known end are better spread out."""
        if limits.edits is None or self.first < 0:
            return False
        calls, seconds = limits.edits
        recent = [at for at in self.edited if at > now - seconds]
        if final:
            return len(recent) >= calls
        # Those whose window is over before the end come free again.
        left = calls - 1 - sum(at > self.end - seconds for at in recent)
        last = self.edited[-1] if self.edited else self.first
        return left < 1 or len(recent) >= calls - 1 or now - last < (self.end - last) / (left + 1)


@dataclass(frozen=True)
class Bound:
    """Seconds; medians and 95th percentiles."""

    first: tuple[float, float]
    lag: tuple[float, float]
    stale: float
    share: float
    """Of the calls that the limits allow while the model writes, those spent on progress."""


def allowed(limits: Limits, replies: int, seconds: float) -> float:
    """How many calls the limits allow `replies` replies in `seconds`."""
    own = limits.burst + limits.rate * seconds
    if limits.edits is not None:
        own = min(own, 1 + limits.edits[0] * max(1.0, seconds / limits.edits[1]))
    return min(replies * own, limits.calls * max(1.0, seconds / limits.seconds))


def together(replies: int, seconds: float) -> list[Writing]:
    """So many replies asked for and written at the same moment, for so many seconds."""
    return [Writing(0.0, 0.0, seconds)] * replies


def best(  # noqa: C901  # one pass over the moments at which something can be shown
    limits: Limits, writings: Sequence[Writing], *, once: bool = False
) -> Bound:
    """What could be seen of replies written so; first words count from the question.

    With `once`, no first post is the whole text: where a post cannot be repeated safely, that is what keeps a crash
    from making a second answer, and every reply takes two calls.
    """
    replies = [_Reply(one.asked, one.begin, one.end, float(limits.burst)) for one in writings]
    start, stop = min(reply.begin for reply in replies), max(reply.end for reply in replies)
    calls: deque[float] = deque()
    posts: deque[float] = deque()
    progress = 0
    now = start
    horizon = stop + len(replies) / limits.calls * limits.seconds + 60.0
    while now < horizon and any(reply.whole < 0 for reply in replies):
        while calls and calls[0] <= now - limits.seconds + 1e-9:
            calls.popleft()
        while posts and posts[0] <= now - limits.seconds + 1e-9:
            posts.popleft()
        for reply in replies:
            reply.tokens = min(limits.burst, reply.tokens + STEP * limits.rate)
        live = [reply for reply in replies if reply.begin <= now and reply.whole < 0]
        # Replies that end before the window is over keep their call: their ends are known.
        ending = sum(1 for reply in live if now < reply.end <= now + limits.seconds)

        def urgency(reply: _Reply, now: float = now) -> tuple[int, float]:
            if reply.end <= now and not (once and reply.first < 0):
                return 0, reply.end
            return (1, reply.begin) if reply.first < 0 else (2, -reply.age(now))

        for reply in sorted(live, key=urgency):
            final, first = reply.end <= now, reply.first < 0
            shared = limits.posts_count or not first
            room = limits.calls - len(calls) - (0 if final or first else min(ending, limits.calls // 2))
            own = reply.tokens - (0 if final or first else 1)
            if reply.written(now) <= reply.shown or own < 1 or (shared and room < 1):
                continue
            if reply.held(now, limits, final):
                continue
            if first and limits.posts:
                begun = sum(1 for one in live if one.first >= 0)
                if len(posts) >= limits.posts or (not final and begun + len(calls) >= limits.calls):
                    continue
                posts.append(now)
            # Progress is spread evenly over the window: spent at once, it would leave nothing to who asks next.
            if not final and not first and calls and now - calls[-1] < 0.98 * limits.seconds / limits.calls:
                continue
            reply.tokens -= 1
            if not first:
                reply.edited.append(now)
            progress += not final and not first
            if shared:
                calls.append(now)
            reply.shown = reply.written(now)
            if first:
                reply.first = now
                if final and once:
                    reply.shown -= 1e-6
                    continue
            if final:
                reply.whole = now
        for reply in live:
            if now < reply.end:
                reply.ages.append(reply.age(now))
        now += STEP
    return Bound(
        first=_pair([reply.first - reply.asked for reply in replies]),
        lag=_pair([max(0.0, reply.whole - reply.end) for reply in replies]),
        stale=statistics.median(statistics.median(reply.ages) for reply in replies if reply.ages),
        share=progress / allowed(limits, len(replies), stop - start),
    )


def _pair(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


if __name__ == "__main__":
    for name, limits in (("telegram", TELEGRAM), ("slack", SLACK), ("discord", DISCORD)):
        for count in (1, 20, 100, 500):
            print(name, count, best(limits, together(count, 4.0)))
