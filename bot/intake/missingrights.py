"""Rights that the bot lacks somewhere, for the operator: noted when a platform says so, until such a call works there
again."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar

from bot.contract import (
    Drawn,
    File,
    FileWithheld,
    MessageRef,
    Refused,
    ReplyTarget,
    RightMissing,
    Surface,
    SurfaceLimits,
)
from tools.contract.newest import Newest

T = TypeVar("T")
_MOST: Final = 20
"""The most places noted: anybody who adds the bot to a chat can withhold a right there."""
_WITHHELD: Final = "right"
"""See `FileWithheld.why`."""


class MissingRights:
    """The missing rights, newest last; one object for the process."""

    def __init__(self) -> None:
        self._told: Newest[tuple[str, str], str] = Newest(_MOST)
        self._odd: Newest[tuple[str, str], str] = Newest(_MOST)
        """Refusals that may be accidental, until the next one has the same words."""

    @property
    def told(self) -> list[str]:
        """One line for each place and kind of call."""
        return [f"{where}: {problem}" for (where, _), problem in self._told.items()]

    async def noting(self, where: str, kind: str, call: Awaitable[T]) -> T:
        """Make a call of a kind, and note whether the bot has the right to it; returns and raises as the call does."""
        try:
            made = await call
        except RightMissing as error:
            self._told.put((where, kind), str(error))
            raise
        except Refused as error:
            if isinstance(error.lasting, RightMissing):
                if self._odd.get((where, kind)) == str(error):
                    self._told.put((where, kind), str(error.lasting))
                self._odd.put((where, kind), str(error))
            raise
        except FileWithheld as error:
            if error.why == _WITHHELD:
                self._told.put((where, kind), str(error))
            raise
        self._told.pop((where, kind), None)
        self._odd.pop((where, kind), None)
        return made

    def watch(self, surface: Surface, target: ReplyTarget) -> Surface:
        """Return a surface that notes its calls."""
        place = target.data.get("channel", target.data.get("chat"))
        return _Watched(surface, target.platform if place is None else f"{target.platform} {place}", self)


class _Watched:
    """A surface that notes its calls."""

    def __init__(self, surface: Surface, where: str, rights: MissingRights) -> None:
        self._surface = surface
        self._where = where
        self._rights = rights
        self.draw = surface.draw
        self.cost = surface.cost
        self.typing = surface.typing
        self.receipt_cost = surface.receipt_cost
        self.find = surface.find

    @property
    def limits(self) -> SurfaceLimits:
        return self._surface.limits

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        return await self._rights.noting(self._where, "show", self._surface.show(drawn, at, nonce))

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        return await self._rights.noting(self._where, "attach", self._surface.attach(file, after, nonce))

    async def remove(self, at: MessageRef) -> None:
        await self._rights.noting(self._where, "remove", self._surface.remove(at))

    async def receipt(self, message_id: str, waits: bool) -> None:
        await self._rights.noting(self._where, "receipt", self._surface.receipt(message_id, waits))
