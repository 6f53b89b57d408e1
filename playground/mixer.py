"""Bad luck on demand: faults drawn by chance, the same ones again for the same seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from playground.faults import Fault
from playground.model.reply import Reply

Make = Callable[[random.Random], Fault]


def slow(chance: random.Random) -> Fault:
    """It takes a while."""
    return Fault(delay=chance.uniform(0.05, 0.6))


def undone(chance: random.Random) -> Fault:
    """The connection breaks before anything is done."""
    return Fault(drop="before")


def unanswered(chance: random.Random) -> Fault:
    """It is done, and the connection breaks."""
    return Fault(drop="after")


def failed(chance: random.Random) -> Fault:
    """The service has trouble of its own."""
    return Fault(status=chance.choice((500, 502)))


def too_often(chance: random.Random) -> Fault:
    """The service asks for a pause."""
    return Fault(status=429, retry_after=chance.choice((1, 1, 2)))


KINDS: Sequence[Make] = (slow, slow, undone, unanswered, failed, too_often)
"""What happens to calls of a platform."""


class Mixer:
    """Draws a fault for a share of all calls and answers. Print `seed` when a run fails."""

    def __init__(self, seed: int, share: float = 0.1) -> None:
        self.seed = seed
        self.share = share
        self.drawn: Counter[str] = Counter()
        """How often each kind of fault was drawn."""
        self._chance = random.Random(seed)

    def calls(self, methods: Collection[str], kinds: Sequence[Make] = KINDS) -> Callable[[str], Fault | None]:
        """A source for `Faults` that lets a share of the calls of `methods` go wrong."""

        def draw(method: str) -> Fault | None:
            if method not in methods or self._chance.random() >= self.share:
                return None
            fault = self._chance.choice(kinds)(self._chance)
            self.drawn[_told(fault)] += 1
            return fault

        return draw

    def answer(self, reply: Reply) -> Reply:
        """`reply`, or for a share of them the same one going wrong somewhere."""
        if self._chance.random() >= self.share:
            return reply
        where = self._chance.randrange(len(reply.text) + 1)
        spoiled = self._chance.choice(
            (
                replace(reply, drop_after=where),
                replace(reply, cut_after=where),
                replace(reply, reset_after=where),
                replace(reply, malformed_line=where),
                replace(reply, error_object=where),
                replace(reply, hang_after=where),
                replace(reply, hang_after=where, comments_forever=True),
                Reply(html_200=True),
                Reply(only_done=True),
                Reply(""),
                Reply.refusal(500, "no"),
                Reply.rate_limited(0.2),
                Reply(hang_before_headers=True),
            )
        )
        self.drawn["model"] += 1
        return spoiled

    def happens(self) -> bool:
        """Draw whether something else goes wrong, such as a delivery that comes twice."""
        return self._chance.random() < self.share


def _told(fault: Fault) -> str:
    if fault.status:
        return str(fault.status)
    return f"dropped {fault.drop}" if fault.drop else "slow"
