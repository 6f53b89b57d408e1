"""Bound the time of parsing outside JSON before it is parsed.

A parser holds the interpreter until it has made every value, and a thread beside the event loop does not help. Its time
goes with the number of values far more than with the bytes: ten megabytes of one text take ten milliseconds, two
megabytes of empty lists a quarter of a second.
"""

from __future__ import annotations

MOST_VALUES = 50_000
"""More are refused: some 25 ms. What is told a model has thousands at most."""


class ValueCounter:
    """Counts the values of a JSON text that arrives in pieces: an upper bound, with strings as one value each."""

    __slots__ = ("_escaping", "_in_text", "count")

    def __init__(self) -> None:
        self.count = 0
        self._in_text = False
        self._escaping = False
        """The last piece ended with a backslash that has not escaped anything yet."""

    def feed(self, piece: bytes) -> int:
        """Take the next piece, and return how many values there are so far."""
        if self._escaping:
            piece = b"\\" + piece
        self._escaping = (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
        if self._escaping:
            piece = piece[:-1]
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        return self.count

    @property
    def too_many(self) -> bool:
        """True if a parser would take too long."""
        return self.count > MOST_VALUES
