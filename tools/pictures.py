"""What a picture is, by its first bytes."""

from __future__ import annotations

from typing import Final

_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"GIF87a", "image/gif", "gif"),
    (b"GIF89a", "image/gif", "gif"),
)


def kind_of(head: bytes) -> tuple[str, str]:
    """Return the media type and the file ending that the first bytes of a picture tell; empty for no picture.

    What a platform or a server says of a file is what its sender said.
    """
    for sign, media_type, ending in _SIGNS:
        if head.startswith(sign):
            return media_type, ending
    return ("image/webp", "webp") if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ("", "")
