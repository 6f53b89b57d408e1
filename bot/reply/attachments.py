"""The files of a reply: each is posted once after its text, with a notice if the platform refuses it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Protocol

from bot.contract import (
    QUICK,
    Backoff,
    Clock,
    Closed,
    DeliveryError,
    File,
    MessageGone,
    MessageRef,
    RateLimited,
    Refused,
    RightMissing,
    Surface,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
    post_cost,
)
from bot.pacing import PATIENCE, Pacer, Purpose
from bot.store import PageState

log = logging.getLogger(__name__)


class FileDelivery(Protocol):
    """Where a file's delivery is recorded, before and after."""

    async def save_file(
        self, number: int, file: File, *, ref: MessageRef | None, state: PageState, nonce: str
    ) -> None: ...


@dataclass(eq=False, repr=False)
class Attachments:
    """The files of one reply."""

    surface: Surface
    pacer: Pacer
    delivery: FileDelivery
    clock: Clock
    _: KW_ONLY
    turn: str
    begun: Mapping[int, MessageRef | None] = field(default_factory=dict)
    """The files that an earlier process began to post, by number; None: it may or may not be there."""

    def __post_init__(self) -> None:
        self._files: list[File] = []
        self.undelivered: list[tuple[File, str]] = []
        """Files that the platform refused, each with the reason: a key of `bot.sentences`."""

    def add(self, file: File) -> None:
        """Add a file to post."""
        self._files.append(file)

    async def post(self, after: MessageRef | None) -> None:
        """Post all files, in order, after the message `after`.

        Raises:
            Closed: the platform accepts nothing for now.
        """
        for number, file in enumerate(self._files):
            if self.begun.get(number) is None:
                await self.post_one(number, file, after)

    async def post_one(self, number: int, file: File, after: MessageRef | None) -> None:
        """Post one file after the message `after`.

        Raises:
            Closed: the platform accepts nothing for now.
        """
        cost = post_cost(self.surface)
        nonce = f"{self.turn}-f{number}"
        if number in self.begun and not cost.repeats_safely:
            self._give_up(file, "file_unsure", "a former process may have posted it")
            return
        backoff, since, refusal = Backoff(self.clock, QUICK, endless=False), self.clock.monotonic(), ""
        while True:
            try:
                await self.pacer.call(cost, Purpose.FINAL, partial(self._put, number, file, after, nonce))
                return
            except Closed:
                raise
            except RateLimited as error:
                # It is surely not there, so the next process may post it.
                await self.delivery.save_file(number, file, ref=None, state=PageState.GONE, nonce=nonce)
                until = self.clock.monotonic() + error.retry_after
                if until - since > PATIENCE:
                    raise Closed(f"file {file.name!r} was refused for too long", until=until) from error
            except TooLong as error:
                self._give_up(file, "file_too_large", error)
                return
            except (Unrenderable, Unreachable, MessageGone) as error:
                # Also if only files are forbidden; if nothing can be written, there is no notice either.
                self._give_up(file, "file_failed", error)
                return
            except DeliveryError as error:
                unsure = isinstance(error, Unclear) and not cost.repeats_safely
                before, refusal = refusal, str(error) if isinstance(error, Refused) else ""
                if isinstance(error, Refused) and before == refusal:
                    self._give_up(file, "file_failed", error.lasting)
                    return
                if unsure or not await backoff.wait():
                    self._give_up(file, "file_unsure" if isinstance(error, Unclear) else "file_failed", error)
                    return

    async def _put(self, number: int, file: File, after: MessageRef | None, nonce: str) -> None:
        await self.delivery.save_file(number, file, ref=None, state=PageState.SENDING, nonce=nonce)
        ref = await self.surface.attach(file, after, nonce)
        await self.delivery.save_file(number, file, ref=ref, state=PageState.FINAL, nonce=nonce)

    def _give_up(self, file: File, why: str, error: object) -> None:
        """Give up posting it; the person reads `why`, a key of `bot.sentences`."""
        level = logging.ERROR if isinstance(error, RightMissing) else logging.WARNING
        log.log(level, "turn %s: file %r was not delivered: %s", self.turn, file.name, error)
        self.undelivered.append((file, why))
