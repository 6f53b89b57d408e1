"""Pages on surfaces: what a test shows on a real one, and what one in memory is shown."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contract import CallCost, Drawn, MessageRef, Page, Surface


async def show(surface: Surface, page: Page, at: MessageRef | None, nonce: str = "") -> MessageRef:
    """Draw a page and show it."""
    return await surface.show(surface.draw(page), at, nonce)


def cost_of(surface: Surface, page: Page, at: MessageRef | None) -> CallCost:
    """What showing a page draws on."""
    return surface.cost(surface.draw(page), at)


@dataclass(frozen=True, slots=True)
class DrawnPage(Drawn):
    """A page as it is."""

    page: Page


def page_of(drawn: Drawn) -> Page:
    """The page that a surface in memory was told to show."""
    assert isinstance(drawn, DrawnPage)
    return drawn.page
