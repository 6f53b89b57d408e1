"""The short id of a turn in sentences for people, the log and `parley chats trace`."""

from __future__ import annotations

from typing import Final

_FACTOR: Final = 0x9E3779
"""Odd, so that no two of 16 million turns in a row have the same id; the id does not reveal the number of turns."""
_SHIFT: Final = 0x5BD1E9
_IDS: Final = 1 << 24
_INVERSE: Final = pow(_FACTOR, -1, _IDS)


def reference_of(turn: int) -> str:
    """Return the id of a turn: six hexadecimal digits, the same in every attempt."""
    return f"{(turn * _FACTOR + _SHIFT) % _IDS:06x}"


def turns_of(reference: str, last: int) -> list[int]:
    """Return the turns up to number `last` with this id, the latest first.

    Raises:
        ValueError: it is not such an id.
    """
    if len(reference) != 6:
        raise ValueError(f"{reference!r} is not a reference: one has six hexadecimal digits")
    first = (int(reference, 16) - _SHIFT) * _INVERSE % _IDS
    return list(range(first, last + 1, _IDS))[::-1]
