"""The base of every group of queries: the connection that writes, those that read, and the clock; and the condition for
a place."""

from __future__ import annotations

from bot.contract import Clock
from bot.store.readers import Readers
from bot.store.writer import Writer


class Queries:
    """Queries about one noun; an attribute of `Store`."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock) -> None:
        self._writer = writer
        self._readers = readers
        self._clock = clock


def in_place(column: str) -> str:
    """Return the condition that a column of chat ids names a channel or one of its threads; see `place_range`."""
    return f"({column} = ? OR {column} > ? AND {column} < ?)"


def place_range(place: str) -> tuple[str, str, str]:
    """Return the values of `in_place`: "/" divides a channel from its threads, and "0" is the sign after it."""
    return place, f"{place}/", f"{place}0"


def place_of(chat: str) -> str:
    """Return the place of a chat's written id, without parsing it: thousands of them are compared."""
    return chat if chat.count("/") == 1 else chat.rpartition("/")[0]
