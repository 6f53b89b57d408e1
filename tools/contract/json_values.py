"""Read JSON from outside: completely, not too deep, with finite numbers, and in bounded time.

A parser holds the interpreter until it has made every value, even in a thread beside the event loop. Its time depends
on the number of values far more than on the bytes: ten megabytes in one text take ten milliseconds, two megabytes of
empty lists a quarter of a second. `ValueCounter` counts them before they are parsed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from tools.contract.base import Json

DEEPEST = 64
"""Levels of lists and objects; deeper ones are refused. Messages of the platforms have a dozen."""
MOST_VALUES = 50_000
"""More are refused: some 25 ms. A model's input has thousands at most."""


class TooDeep(ValueError):
    """The text may be JSON, and is nested too deeply."""


class OutsideDecoder(json.JSONDecoder):
    """Reads JSON from outside. Every fault is a `ValueError`; a `JSONDecodeError` if its place is known, and a plain
    one if it is nested too deeply."""

    def __init__(self, *, strict: bool = True, nulls: bool = False) -> None:
        """Read strictly by the standard.

        Args:
            strict: refuse control characters in strings.
            nulls: read numbers that are not finite as `null`, for which some servers write them, instead of refusing.
        """
        super().__init__(
            strict=strict,
            parse_constant=(lambda _: None) if nulls else _refuse,
            parse_float=_finite_or_null if nulls else _finite,
        )

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            value, end = super().raw_decode(s, idx)
        except RecursionError as error:
            raise TooDeep("nested too deeply") from error
        # A text with fewer brackets is not deeper, and most have few.
        if s.count("{", idx, end) + s.count("[", idx, end) > DEEPEST and is_too_deep(value):
            raise TooDeep("nested too deeply")
        return value, end


def is_too_deep(value: Any) -> bool:
    """Return True if lists and objects are nested too deeply to be read."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inside = [one for each in level for one in (each.values() if isinstance(each, dict) else each)]
        level = [one for one in inside if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"no finite number: {text[:80]!r}")
    return value


def _finite_or_null(text: str) -> float | None:
    value = float(text)
    return None if math.isinf(value) else value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def read_json(text: str | bytes | bytearray) -> Any:
    """Return the value of a JSON text in any Unicode encoding.

    Raises:
        ValueError: it is not JSON, is nested deeper than `DEEPEST`, or contains a number that is not finite.
    """
    return json.loads(text, cls=OutsideDecoder)


def write_json(value: Any) -> str:
    """Return a value that code of another author made as a JSON text that `read_json` reads.

    Raises:
        TypeError: it contains something that is no JSON.
        ValueError: it contains itself, is nested deeper than `DEEPEST`, or contains a number that is not finite.
    """
    try:
        written = json.dumps(value, allow_nan=False)
    except RecursionError as error:
        raise TooDeep("nested too deeply") from error
    if is_too_deep(value):
        raise TooDeep("nested too deeply")
    return written


def map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """Return a JSON value with every text changed, names of fields included."""
    match value:
        case str():
            return change(value)
        case list():
            return [map_texts(one, change) for one in value]
        case dict():
            return {change(name): map_texts(one, change) for name, one in value.items()}
        case _:
            return value


@dataclass(slots=True, eq=False, repr=False)
class ValueCounter:
    """Counts the values of a JSON text that arrives in pieces: an upper bound, counting each string as one value."""

    count: int = 0
    _in_text: bool = False
    _escaping: bool = False
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
