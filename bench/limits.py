"""The platforms' limits as `bench.bound` and `bench.delivery` count with them: the numbers of `playground/*/limits.py`.

Each set-up of the bench has its `Limits`: the ways in which a reply can be shown, and what each of its calls draws on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rate:
    """So many calls in so many seconds.

    `sliding`: in any such span. `fixed`: from the first call of a span to its end, then all come back at once.
    `bucket`: so many at once, and one more every `seconds / calls`.
    """

    name: str
    calls: int
    seconds: float
    kind: Literal["sliding", "fixed", "bucket"] = "sliding"


class Count:
    """The calls that were made under one `Rate`."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.made = 0
        self._recent: deque[float] = deque(maxlen=rate.calls)
        self._ends, self._used = float("-inf"), 0
        self._full_at = float("-inf")

    def ready_at(self, now: float) -> float:
        """When the next call may be made; `now`, or later."""
        rate = self.rate
        if rate.kind == "bucket":
            step = rate.seconds / rate.calls
            return max(now, self._full_at - (rate.calls - 1) * step)
        if rate.kind == "fixed":
            return now if now >= self._ends or self._used < rate.calls else self._ends
        return now if len(self._recent) < rate.calls else max(now, self._recent[0] + rate.seconds)

    def take(self, now: float) -> None:
        """Count a call made `now`, which was its time."""
        self.made += 1
        rate = self.rate
        if rate.kind == "bucket":
            self._full_at = max(self._full_at, now) + rate.seconds / rate.calls
        elif rate.kind == "fixed":
            if now >= self._ends:
                self._ends, self._used = now + rate.seconds, 0
            self._used += 1
        else:
            self._recent.append(now)

    def since(self, moment: float) -> int:
        """How many calls of a sliding span were made after `moment`."""
        return sum(at > moment for at in self._recent)


@dataclass(frozen=True, slots=True)
class Call:
    """What one call draws on: budgets of the bot, and of the reply's own chat."""

    shared: tuple[Rate, ...] = ()
    own: tuple[Rate, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """A way to show a reply: its first call, and what each further one and the last can be, the preferred one first."""

    first: Call
    more: tuple[Call, ...]
    last: tuple[Call, ...]
    reserved: bool = False
    """It is begun only where its last call is sure to be free, because nothing else can end it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """All ways of one set-up, the preferred one first."""

    ways: tuple[Way, ...]
    carries: float
    """Replies a second for which the limits have a first and a last call each: what steady load is measured against."""
    once: bool = False
    """A first post is never the whole answer: it cannot be repeated safely, so a crash would make a second answer."""

    @property
    def shared(self) -> tuple[Rate, ...]:
        """Every budget that replies share."""
        calls = [call for way in self.ways for call in (way.first, *way.more, *way.last)]
        return tuple(dict.fromkeys(rate for call in calls for rate in call.shared))


def _telegram(chat: tuple[Rate, ...]) -> Limits:
    call = Call((Rate("bot", 30, 1.0),), chat)
    return Limits((Way(call, (call,), (call,)),), carries=15.0, once=True)


def _slack() -> Limits:
    post = Call((Rate("post", 300, 60.0),), (Rate("channel", 3, 3.0, "bucket"),))
    update = Call((Rate("update", 50, 60.0),))
    start, append, stop = (
        Call((Rate("start", 20, 60.0),)),
        Call((Rate("append", 100, 60.0),)),
        Call((Rate("stop", 20, 60.0),)),
    )
    streamed = Way(start, (append,), (stop,), reserved=True)
    posted = Way(post, (update, post), (update, post))
    # A minute: 20 streams, 50 posts with an edit, and 125 posts that a second post completes.
    return Limits((streamed, posted), carries=(20 + 50 + (300 - 50) / 2) / 60)


def _discord_channel() -> Limits:
    # Counted in any second: no header says when Discord's own begins, and a program that opened seconds of its own was
    # refused. https://github.com/discord/discord-api-docs/issues/5144
    bot = Rate("bot", 50, 1.0)
    send, edit = Call((bot,), (Rate("send", 5, 5.0, "fixed"),)), Call((bot,), (Rate("edit", 5, 5.0, "fixed"),))
    return Limits((Way(send, (edit,), (edit,)),), carries=25.0)


def _discord_command() -> Limits:
    hook = Call((), (Rate("token", 5, 2.0, "fixed"),))
    # Nothing is shared: an interaction's calls do not count against the bot's. Loads are those of mentions.
    return Limits((Way(hook, (hook,), (hook,)),), carries=25.0)


TELEGRAM = _telegram((Rate("chat", 3, 3.0, "bucket"),))
TELEGRAM_GROUP = _telegram((Rate("chat", 3, 3.0, "bucket"), Rate("group", 20, 60.0)))
SLACK = _slack()
DISCORD_COMMAND = _discord_command()
DISCORD_MENTION = _discord_channel()
