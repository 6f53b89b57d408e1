"""Pages on surfaces: what a test shows on a real one, and what one in memory is shown."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contract import Drawn, Page
from parley_chat.contract.scene import cost_of as cost_of
from parley_chat.contract.scene import show as show


@dataclass(frozen=True, slots=True)
class DrawnPage(Drawn):
    """A page as it is."""

    page: Page


def page_of(drawn: Drawn) -> Page:
    """The page that a surface in memory was told to show."""
    assert isinstance(drawn, DrawnPage)
    return drawn.page
