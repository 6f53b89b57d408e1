"""A reply's pages: as an earlier process left them, as the platform shows them, and where they are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bot.attachments import FileDelivery
from bot.messages import MessageRef, Page


class Delivery(FileDelivery, Protocol):
    """Where a reply records what it shows, before and after: `store.turns` of one turn."""

    async def save_page(self, number: int, *, body: str, ref: MessageRef | None, state: str, nonce: str) -> None: ...


class TextFilter(Protocol):
    """What text passes through before anybody may see it (secrets, links, control characters)."""

    def feed(self, text: str) -> str: ...

    def finish(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """A page that an earlier process showed, or was about to show."""

    ref: MessageRef | None
    state: str


@dataclass(slots=True)
class PageNow:
    """One page as the platform shows it now."""

    ref: MessageRef | None = None
    page: Page | None = None
    state: str = ""
    plain: bool = False
    gone: int = 0
    """How often somebody deleted it."""
    held: bool = False
    """Its post may or may not have arrived: nothing more until it is found, or until the end."""
    looked: bool = False
    """It was looked for since."""
    unclear: int = 0
    """How many of its posts may or may not have arrived."""
    tries: int = 0
    shrunk: int = 0
    since: float | None = None
    """When its final text was first tried."""
    renewed: bool = False
