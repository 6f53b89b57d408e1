"""Fetch a file that came with a message, piece by piece and no further than it may be long."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import aiohttp

from bot.contract import Clock, DeliveryError, TooLong, time_limit

DOWNLOAD_SECONDS: Final = 60.0
"""What one file may take."""
_LONGEST_ADDRESS: Final = 4_000
_PIECE: Final = 64 * 1024
_BEGINNING: Final = 32
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=20.0)


async def download(
    http: aiohttp.ClientSession,
    address: str,
    into: BinaryIO,
    most: int,
    *,
    clock: Clock,
    headers: Mapping[str, str] | None = None,
    proxy: str | None = None,
    refused: Collection[str] = (),
    never: tuple[bytes, ...] = (),
    size: int = 0,
) -> None:
    """Write the file at `address` into `into`. Redirections are not followed: they would take the token along.

    Args:
        refused: media types of the answers that come in place of a file.
        never: beginnings of such answers, in lower case.
        size: the bytes that the file has; 0: unknown.

    Raises:
        TooLong: it has more than `most` bytes.
        DeliveryError: it cannot be had; the text names neither the address nor a token.
    """
    try:
        async with (
            time_limit(clock, DOWNLOAD_SECONDS),
            http.get(address, headers=headers, proxy=proxy, timeout=_TIMEOUT, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise DeliveryError(f"a file cannot be fetched (status {response.status})")
            if response.content_type in refused:
                raise DeliveryError("a page stands in a file's place")
            got = 0
            async for piece in response.content.iter_chunked(_PIECE):
                if not got and never and piece.lstrip()[:_BEGINNING].lower().startswith(never):
                    raise DeliveryError("a page stands in a file's place")
                got += len(piece)
                if got > most:
                    raise TooLong(f"a file has more than {most:,} bytes", by=got - most)
                into.write(piece)
            if size and got != size:
                raise DeliveryError("something of another size stands in a file's place")
    except (aiohttp.ClientError, OSError, ValueError, TimeoutError) as error:
        raise DeliveryError(f"a file cannot be fetched ({type(error).__name__})") from None


def is_of(address: str, root: str, *domains: str) -> bool:
    """Return True if an address is of one of these domains, by HTTPS, or of the server at `root`."""
    if len(address) > _LONGEST_ADDRESS:
        return False
    try:
        parts, own = urlsplit(address), urlsplit(root)
        host = parts.hostname or ""
        if (parts.scheme, host, parts.port) == (own.scheme, own.hostname, own.port):
            return True
    except ValueError:
        return False
    return parts.scheme == "https" and any(host == domain or host.endswith(f".{domain}") for domain in domains)
