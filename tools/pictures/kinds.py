"""What a picture is, by its first bytes: nothing of it is unpacked here."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"GIF87a", "image/gif", "gif"),
    (b"GIF89a", "image/gif", "gif"),
)
_OTHERS: Final = (b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""How bitmaps and TIFF begin."""
_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif", b"avis")
"""What follows `ftyp` in a picture of the HEIF family."""
_FRAMES: Final = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))
"""The marks of a JPEG that its size follows."""
_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD9)))
"""The marks of a JPEG that have no length."""
_MOST_MARKS: Final = 1000
_ORIENTATION: Final = 0x0112


@dataclass(frozen=True, slots=True)
class Look:
    """What the header of a picture tells; zeros where it does not, or is of a kind that is not known here."""

    width: int = 0
    height: int = 0
    turned: bool = False
    """It says that it is to be shown another way up than it is stored."""
    animated: bool = False
    """There may be more than one frame."""


def kind_of(head: bytes) -> tuple[str, str]:
    """Return the media type and the file ending that the first bytes of a picture tell; empty for no picture.

    What a platform or a server says of a file is what its sender said.
    """
    for sign, media_type, ending in _SIGNS:
        if head.startswith(sign):
            return media_type, ending
    return ("image/webp", "webp") if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ("", "")


def is_picture(head: bytes) -> bool:
    """True for the first bytes of a picture, also of a kind that models do not take."""
    if kind_of(head)[0] or head.startswith(_OTHERS[1:]):
        return True
    # A bitmap's header is as long as one of these; "BM" alone begins many a text.
    bitmap = head[:2] == _OTHERS[0] and len(head) >= 16 and head[14:16] in (b"\x0c\0", b"\x28\0", b"\x6c\0", b"\x7c\0")
    return bitmap or (head[4:8] == b"ftyp" and head[8:12] in _BRANDS)


def look_at(content: bytes) -> Look:
    """What the header of a picture says about it."""
    media_type, _ = kind_of(content[:16])
    try:
        match media_type:
            case "image/png":
                return Look(*struct.unpack(">II", content[16:24]))
            case "image/gif":
                width, height = struct.unpack("<HH", content[6:10])
                return Look(width, height, animated=True)
            case "image/jpeg":
                return _look_at_jpeg(content)
            case "image/webp":
                return _look_at_webp(content)
    except struct.error:  # it ends within its header
        pass
    return Look()


def _look_at_jpeg(content: bytes) -> Look:
    place, turned = 2, False
    for _ in range(_MOST_MARKS):
        if content[place : place + 2] == b"\xff\xff":  # it may be filled up before a mark
            place += 1
            continue
        start, mark = struct.unpack(">BB", content[place : place + 2])
        if start != 0xFF:
            break
        if mark in _ALONE:
            place += 2
            continue
        (length,) = struct.unpack(">H", content[place + 2 : place + 4])
        if mark in _FRAMES:
            height, width = struct.unpack(">HH", content[place + 5 : place + 9])
            return Look(width, height, turned)
        if mark == 0xE1 and content[place + 4 : place + 10] == b"Exif\0\0":
            turned = turned or _is_turned(content[place + 10 : place + 2 + length])
        place += 2 + max(2, length)
    return Look(turned=turned)


def _is_turned(exif: bytes) -> bool:
    """True where the Exif data of a picture tell another way up."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return False
    try:
        (first,) = struct.unpack(f"{order}I", exif[4:8])
        (count,) = struct.unpack(f"{order}H", exif[first : first + 2])
        for place in range(first + 2, first + 2 + 12 * min(count, 100), 12):
            tag, _, _, value = struct.unpack(f"{order}HHIH", exif[place : place + 10])
            if tag == _ORIENTATION:
                return value in range(2, 9)
    except struct.error:
        pass
    return False


def _look_at_webp(content: bytes) -> Look:
    head = content[12:30]
    if head[:4] == b"VP8X":
        width, height = (int.from_bytes(head[place : place + 3], "little") + 1 for place in (12, 15))
        return Look(width, height, turned=bool(head[8] & 8), animated=bool(head[8] & 2))
    if head[:4] == b"VP8L":
        (bits,) = struct.unpack("<I", head[9:13])
        return Look((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    width, height = struct.unpack("<HH", head[14:18])
    return Look(width & 0x3FFF, height & 0x3FFF)
