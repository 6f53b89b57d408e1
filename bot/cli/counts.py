"""Numbers of things, as people write them."""

from __future__ import annotations


def count_of(number: int, thing: str) -> str:
    """Return `1 turn`, `0 turns` or `1,200 turns`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
