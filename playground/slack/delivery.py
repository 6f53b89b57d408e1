"""Handing envelopes to the app: acknowledged within three seconds, or sent again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from playground.slack.errors import Json
from playground.slack.limits import Limits

EVENTS, COMMANDS, PRESSES = "events_api", "slash_commands", "interactive"


@dataclass(slots=True, eq=False)
class Delivery:
    """One thing the app has to hear of, and how often it was told."""

    id: str
    """The `event_id`, or an id of the emulator's own."""
    kind: str
    payload: Json
    sent: list[tuple[float, str]] = field(default_factory=list)
    """(at, envelope id) of each attempt."""
    reason: str = ""
    """Why it was sent again."""
    acked: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Json | None = None
    """What came with the acknowledgement."""
    given_up: bool = False
    deadline: float | None = None
    next_at: float | None = None
    abandon: Callable[[], object] | None = None
    """Ends the attempt under way, when it is one that can be ended."""

    @property
    def retry(self) -> int:
        """`retry_attempt` of the newest attempt; 0 for the first."""
        return max(0, len(self.sent) - 1)


class Transport(Protocol):
    """A way to the app: sockets or signed posts."""

    async def transmit(self, delivery: Delivery, envelope_id: str) -> str:
        """Send one attempt; the reason when it could not be sent, empty when it was."""


class Deliveries:
    """Everything that was to be delivered, and the attempts that are due."""

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._limits, self._now = limits, now
        self._queue: asyncio.Queue[Delivery] = asyncio.Queue()
        self._open: dict[Delivery, None] = {}
        self._envelopes: dict[str, Delivery] = {}
        self._count = itertools.count(1)
        self._changed = asyncio.Event()
        self.all: list[Delivery] = []
        self.transport: Transport | None = None
        self.on_answer: Callable[[Delivery, Json], None] = lambda delivery, answer: None
        self.on_failure: Callable[[Delivery], None] = lambda delivery: None

    def send(self, kind: str, payload: Json, id: str) -> Delivery:
        """Queue a new delivery."""
        delivery = Delivery(id, kind, payload)
        self.all.append(delivery)
        self._open[delivery] = None
        self._queue.put_nowait(delivery)
        return delivery

    def again(self, id: str, reason: str) -> Delivery:
        """Send something once more, whether or not it was acknowledged. Raises KeyError for an unknown id."""
        for delivery in self.all:
            if delivery.id == id:
                delivery.reason, delivery.next_at, delivery.given_up = reason, None, False
                delivery.acked.clear()
                self._open[delivery] = None
                self._queue.put_nowait(delivery)
                return delivery
        raise KeyError(id)

    def acknowledge(self, envelope_id: str, answer: Json | None) -> None:
        """The app has it. An acknowledgement that comes late still stops further attempts."""
        delivery = self._envelopes.get(envelope_id)
        if delivery is None or delivery.acked.is_set():
            return
        self._open.pop(delivery, None)
        delivery.answer, delivery.deadline, delivery.next_at, delivery.abandon = answer, None, None, None
        delivery.acked.set()
        self._wake()
        if answer and not delivery.given_up:
            self.on_answer(delivery, answer)

    def fail(self, delivery: Delivery, reason: str, *, final: bool = False) -> None:
        """This attempt did not arrive: plan the next one, if there is one."""
        delivery.deadline, delivery.abandon = None, None
        self._wake()
        waits = self._limits.retry_after
        # Only events are tried again; a command or a press just fails in front of the person.
        if final or delivery.kind != EVENTS or delivery.retry >= len(waits):
            delivery.given_up, delivery.next_at = True, None
            delivery.reason = reason
            self._open.pop(delivery, None)
            self.on_failure(delivery)
            return
        delivery.reason = reason
        delivery.next_at = self._now() + waits[delivery.retry]
        self._release(delivery)

    def tick(self) -> None:
        """Fail what was not acknowledged in time; send what is due."""
        now = self._now()
        for delivery in list(self._open):
            if delivery.deadline is not None and delivery.deadline <= now:
                abandon = delivery.abandon
                self.fail(delivery, "http_timeout" if abandon else "timeout")
                if abandon:
                    abandon()
            self._release(delivery)

    async def until(self, seen: Callable[[list[Delivery]], object], seconds: float) -> None:
        """Wait until `seen(all)` is true; look again at every attempt, failure and acknowledgement."""
        async with asyncio.timeout(seconds):
            while not seen(self.all):
                await self._changed.wait()

    async def run(self) -> None:
        """Send queued attempts in order, for ever."""
        while True:
            delivery = await self._queue.get()
            envelope_id = f"envelope-{next(self._count)}"
            self._envelopes[envelope_id] = delivery
            delivery.sent.append((self._now(), envelope_id))
            delivery.deadline = self._now() + self._limits.ack_within
            self._wake()
            assert self.transport is not None
            if reason := await self.transport.transmit(delivery, envelope_id):
                self.fail(delivery, reason)

    def _wake(self) -> None:
        # Whoever waits holds the old event; the next change gets a new one.
        self._changed.set()
        self._changed = asyncio.Event()

    def _release(self, delivery: Delivery) -> None:
        if delivery.next_at is not None and delivery.next_at <= self._now():
            delivery.next_at = None
            self._queue.put_nowait(delivery)
