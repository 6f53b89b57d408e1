"""A server's statements about itself as plain text."""

from __future__ import annotations


def plain_text(text: str, most: int) -> str:
    """Clean outside text to one line of at most `most` characters, without invisible or bidi characters."""
    seen = " ".join(text[: most * 8].split())
    if not (seen.isascii() and seen.isprintable()):
        seen = " ".join("".join(one for one in seen if one.isprintable() and not _is_tag(one)).split())
    return seen if len(seen) <= most else seen[: most - 1].rstrip() + "…"


def _is_tag(character: str) -> bool:
    """Return True for tag characters, which people do not see and models read."""
    return 0xE0000 <= ord(character) <= 0xE0FFF
