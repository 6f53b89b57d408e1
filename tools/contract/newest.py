"""A bounded list of the newest entries."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(OrderedDict[K, V]):
    """Keeps at most so many entries; each further one drops the oldest."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: K, value: V) -> None:
        """Add an entry as the newest."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
