"""How platforms measure the length of a text."""

from __future__ import annotations


def utf16_length(text: str) -> int:
    """Count UTF-16 units, as Telegram does: one for most characters, two for an emoji."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
