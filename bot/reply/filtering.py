"""The filters for a reply's text before anybody sees it."""

from __future__ import annotations

from collections.abc import Callable

from bot.reply.pages import TextFilter


class FilterChain:
    """Filters of a stream in sequence."""

    def __init__(self, make: Callable[[], tuple[TextFilter, ...]]) -> None:
        self._make = make
        self._filters = make()

    def renew(self) -> None:
        """Restart, and drop the text held back."""
        self._filters = self._make()

    def feed(self, text: str) -> str:
        """Return the text that this piece makes certain."""
        for one in self._filters:
            text = one.feed(text)
        return text

    def finish(self) -> str:
        """Return the text held back."""
        tail = ""
        for index, one in enumerate(self._filters):
            piece = one.feed(tail) if index else ""
            tail = piece + one.finish()
        return tail
