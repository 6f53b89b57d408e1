"""A surface that edits messages and posts none."""

from __future__ import annotations

from bot.contract import Drawn, File, MessageRef, Surface, SurfaceLimits, Unreachable


class EditsOnly:
    """The same surface for a reply that is not to be posted anew where somebody deleted it."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self.draw = surface.draw
        self.cost = surface.cost
        self.receipt_cost = surface.receipt_cost
        self.receipt = surface.receipt
        self.typing = surface.typing
        self.find = surface.find
        self.remove = surface.remove

    @property
    def limits(self) -> SurfaceLimits:
        return self._surface.limits

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        """Edit a message.

        Raises:
            Unreachable: there is none.
        """
        if at is None:
            raise Unreachable("it is not posted anew")
        return await self._surface.show(drawn, at, nonce)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        """Post nothing.

        Raises:
            Unreachable: always.
        """
        raise Unreachable("it is not posted anew")
