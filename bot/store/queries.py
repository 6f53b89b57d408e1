"""What every group of queries has: the connection that writes, those that read, and the clock."""

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
