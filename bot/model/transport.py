"""HTTP to the models' servers: aiohttp under httpx's client, read in batches by `bot.model.readbatcher`.

A client accepts a custom transport: https://www.python-httpx.org/advanced/transports/
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

import aiohttp
import httpx2

from bot.contract import SettingsError
from bot.model.readbatcher import BatchedRead, ReadBatcher
from bot.network import httpx2_context, proxy_before, trusted
from tools.programs.cancelling import is_cancelled

_PIECE: Final = 256 * 1024
MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of an unpacked body. The longest answers have some megabytes, and 30 with pictures."""
MOST_ERROR_BYTES: Final = 256 * 1024
"""Bytes of a refusal: its text is read no further."""
_PLAIN: Final = ("", "identity")
ENDING: Final = "parley.ending"
"""The extension of a response whose value, a function, is called near its end: the rest is then read as it arrives.
https://www.python-httpx.org/advanced/extensions/"""

_FAILURES: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol),
    (TimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
)
"""aiohttp's failures and those of `httpx2`; every other one is a failure to read."""


class StreamTransport(httpx2.AsyncBaseTransport):
    """One pool of connections to the servers of all models, through the environment's proxies."""

    def __init__(self, batcher: ReadBatcher, *, connections: int, keep_seconds: float) -> None:
        """
        Args:
            batcher: paces the reads of the streams.
            connections: the most that are open at the same time.
            keep_seconds: how long an idle connection is kept.
        """
        self._batcher = batcher
        self._connections = connections
        self._keep_seconds = keep_seconds
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._proxies: dict[str, str | None] = {}
        """By server: only the few in the settings are ever asked."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, and return when the headers have arrived.

        Raises:
            httpx2.TransportError: no answer.
        """
        url, waits = str(request.url), request.extensions.get("timeout", {})
        try:
            session = await self.open()
            response = await session.request(
                request.method,
                url,
                data=await _body(request),
                headers=[
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, value in request.headers.raw
                    # The length of the body is known, whatever its source.
                    if name.lower() != b"transfer-encoding"
                ],
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    connect=waits.get("pool"), sock_connect=waits.get("connect"), sock_read=waits.get("read")
                ),
                proxy=self._proxy(request.url),
            )
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # No caller cancelled this call: the pool was closed while it waited for a connection.
            raise httpx2.PoolTimeout("the connections were closed", request=request) from None
        except SettingsError as error:
            raise httpx2.ProxyError(str(error), request=request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error, request) from error
        read = self._batcher.join()
        stream: httpx2.AsyncByteStream = _Stream(response, request, read)
        headers = response.raw_headers
        if response.headers.get("Content-Encoding", "").strip().lower() not in _PLAIN:
            stream = _Unpacked(httpx2.Response(response.status, headers=headers, stream=stream, request=request))
            # About the packed bytes; the length, too.
            headers = tuple(one for one in headers if one[0].lower() not in (b"content-encoding", b"content-length"))
        return httpx2.Response(
            response.status,
            headers=headers,
            stream=_Limited(stream, request, refused=response.status >= 400),
            request=request,
            extensions={"http_version": b"HTTP/1.1", ENDING: read.leave},
        )

    async def aclose(self) -> None:
        self._closed = True
        await self._batcher.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _proxy(self, url: httpx2.URL) -> str | None:
        server = f"{url.scheme}://{url.netloc.decode()}"
        if server not in self._proxies:
            self._proxies[server] = proxy_before(server, f"the model at {url.host}")
        return self._proxies[server]

    async def open(self) -> aiohttp.ClientSession:
        """Return the session, created at the first call."""
        if self._session is None:
            # Reading the certificates takes a tenth of a second of the processor.
            context = await asyncio.to_thread(trusted, httpx2_context)
        if self._closed:
            raise aiohttp.ClientConnectionError("the connections were closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections,
                    keepalive_timeout=self._keep_seconds,
                    ssl=context,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(),
            )
        return self._session


class _Stream(httpx2.AsyncByteStream):
    """An answer's body, read as it arrives; if there are many, in larger pieces."""

    def __init__(self, response: aiohttp.ClientResponse, request: httpx2.Request, read: BatchedRead) -> None:
        self._response = response
        self._request = request
        self._read = read
        response.content.on_eof(read.hurry)

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> bytes:
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            await self._read.gather()
        try:
            chunk = _left(content) or await content.readany()
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            # A RuntimeError: the reader of the body does not learn what closed the connection (a broken chunk). The
            # body keeps its error: with the frames that it passed through, that would be a circle.
            raise _failure(error, self._request) from error.with_traceback(None)
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        self._read.leave()
        self._response.release()
        await self._response.wait_for_close()


class _Unpacked(httpx2.AsyncByteStream):
    """A body before compression, in pieces that are unpacked one after another."""

    def __init__(self, packed: httpx2.Response) -> None:
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._packed.aiter_bytes():
            yield piece
            await asyncio.sleep(0)  # a thousand pieces may come out of one packet

    async def aclose(self) -> None:
        await self._packed.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A body of at most so many bytes: the rest of a refusal is left out, an answer breaks off there."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, *, refused: bool) -> None:
        self._stream = stream
        self._pieces = aiter(stream)
        self._request = request
        self._refused = refused
        self._room = MOST_ERROR_BYTES if refused else MOST_BYTES

    def __aiter__(self) -> _Limited:
        return self

    async def __anext__(self) -> bytes:
        if self._refused and self._room <= 0:
            raise StopAsyncIteration
        piece = await anext(self._pieces)
        self._room -= len(piece)
        if self._room >= 0:
            return piece
        if not self._refused:
            raise httpx2.ReadError(f"more than {MOST_BYTES:,} bytes", request=self._request)
        return piece[: self._room]

    async def aclose(self) -> None:
        await self._stream.aclose()


def _left(content: aiohttp.StreamReader) -> bytes:
    """Return what arrived before the connection broke: aiohttp would raise first, and lose it."""
    broken = content.exception()
    if broken is None:
        return b""
    content.set_exception(None)  # type: ignore[arg-type]  # aiohttp types no None, and has no other way
    try:
        return content.read_nowait()
    finally:
        content.set_exception(broken)


async def _body(request: httpx2.Request) -> AsyncIterable[bytes] | bytes | io.BytesIO | None:
    """Return the body to send: a large one is written in pieces, so that others get their turn between them, and a form
    with a file while that is read."""
    whole = isinstance(request.stream, httpx2.ByteStream) or "content-length" not in request.headers
    if isinstance(request.stream, AsyncIterable) and not whole:
        return request.stream
    body = await request.aread()
    return io.BytesIO(body) if len(body) > _PIECE else body or None


def _failure(error: Exception, request: httpx2.Request) -> httpx2.TransportError:
    kind = next((ours for theirs, ours in _FAILURES if isinstance(error, theirs)), httpx2.ReadError)
    return kind(type(error).__name__, request=request)
