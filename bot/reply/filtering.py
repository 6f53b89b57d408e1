"""What a reply's text passes through before anybody may see it."""

from __future__ import annotations

from collections.abc import Callable

from bot.reply.pages import TextFilter


class FilterChain:
    """Filters of a stream, one behind the other."""

    def __init__(self, make: Callable[[], tuple[TextFilter, ...]]) -> None:
        self._make = make
        self._filters = make()

    def renew(self) -> None:
        """Begin again, and forget what was held back."""
        self._filters = self._make()

    def feed(self, text: str) -> str:
        """Return what is certain with this piece."""
        for one in self._filters:
            text = one.feed(text)
        return text

    def finish(self) -> str:
        """Return what was held back."""
        tail = ""
        for index, one in enumerate(self._filters):
            piece = one.feed(tail) if index else ""
            tail = piece + one.finish()
        return tail
