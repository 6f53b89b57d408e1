"""Read a response body up to a limit of decompressed bytes."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Protocol

MOST_BYTES = 2 * 1024 * 1024
_CHUNK = 64 * 1024
_PIECE = 1024 * 1024
"""Bytes that are unpacked at once: more would block the loop."""


class Unreadable(Exception):
    """The body is not in its declared encoding; the text is a sentence."""


class Stream(Protocol):
    """A source of body bytes."""

    async def read(self, n: int = -1) -> bytes: ...


async def read_body(stream: Stream, encoding: str, most: int) -> tuple[bytearray, bool]:
    """Return the decompressed body and whether it was cut at `most` bytes, without keeping more than that.

    Raises:
        Unreadable: it is packed in an unrequested way, or damaged.
    """
    unpack = _unpacker(encoding)
    body = bytearray()
    came = 0
    while chunk := await stream.read(_CHUNK):
        came += len(chunk)
        if unpack is None:
            body += chunk[: most + 1 - len(body)]
        else:
            for piece in unpack.feed(chunk, most + 1 - len(body)):
                body += piece
                await asyncio.sleep(0)
        # The packed data has a limit, too: empty members and junk at the end unpack to nothing, for ever.
        if len(body) > most or came > most + _CHUNK:
            del body[most:]
            return body, True
    return body, False


class _Unpacker:
    """Decompresses gzip and deflate in limited pieces, so that a bomb ends at the limit and not in memory."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._open: zlib._Decompress | None = None
        self._ended = False

    def feed(self, data: bytes, room: int) -> Iterator[bytes]:
        """Yield the decompressed `data` in small pieces, at most `room` bytes (above 0)."""
        try:
            while data and room > 0 and not self._ended:
                if self._open is None:
                    self._open = zlib.decompressobj(31 if self._gzip else 15 if _has_header(data) else -15)
                piece = self._open.decompress(data, min(room, _PIECE))
                room -= len(piece)
                yield piece
                data = self._open.unconsumed_tail
                if self._open.eof:
                    # A gzip body may have several members; data after a deflate body is ignored.
                    data = self._open.unused_data
                    self._ended = not self._gzip or (bool(data) and not data.startswith(b"\x1f"))
                    self._open = None
        except zlib.error as error:
            raise Unreadable("The page arrived damaged.") from error


def _unpacker(encoding: str) -> _Unpacker | None:
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Unpacker(True)
        case "deflate":
            return _Unpacker(False)
        case _:
            raise Unreadable("The page is packed in a way that cannot be read.")


def _has_header(data: bytes) -> bool:
    """Return True if deflate data has its zlib header, as it should; some servers send it bare."""
    return data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] << 8 | data[1]) % 31 == 0)
