"""How wide and how high a picture is, read from its first bytes, so that a page can keep its place free."""

from __future__ import annotations

import struct

_LONGEST_HEADER = 65_536


def measured(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG; None for anything else."""
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", content[16:24])
        if content.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack("<HH", content[6:10])
        if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
            return _of_webp(content)
        if content.startswith(b"\xff\xd8"):
            return _of_jpeg(content)
    except struct.error:
        return None
    return None


def _of_webp(content: bytes) -> tuple[int, int] | None:
    match content[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(content[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack("<HH", content[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


def _of_jpeg(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at < min(len(content), 16 * _LONGEST_HEADER) and content[at] == 0xFF:
        kind = content[at + 1] if at + 1 < len(content) else 0
        (length,) = struct.unpack(">H", content[at + 2 : at + 4])
        # Start of frame; C4, C8 and CC in that range are tables.
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + max(length, 2)
    return None
