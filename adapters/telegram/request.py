"""Send Bot API requests over aiohttp, like those to Slack, Discord and the models.

The library's own client (httpx) needs about three times the processor time for a request, and with many chats at once
the next reply waits for that. `BaseRequest` is made to be implemented:
https://docs.python-telegram-bot.org/en/stable/telegram.request.baserequest.html
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any, BinaryIO, Final

import aiohttp
import aiohttp.abc
import httpx
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

from adapters.download import download
from bot.contract import Clock, DeliveryError, bound_pause, time_limit
from bot.network import proxy_before, trusted
from tools.contract.json_values import read_json
from tools.programs.cancelling import is_cancelled

_CONNECT_SECONDS: Final = 5.0
"""For looking up the address, and connecting to it."""
_CONNECTION_SECONDS: Final = 30.0
"""How long a call waits for a free connection."""
_WRITE_SECONDS: Final = 5.0
_UPLOAD_SECONDS: Final = 300.0
"""The time for sending a large file."""


class _ClosedError(Exception):
    """The connection pool was closed while a call waited."""


NOT_SENT: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL, _ClosedError)
"""Causes of a failure after which Telegram has certainly read nothing of the request."""


class AiohttpRequest(BaseRequest):
    """A connection pool for the Bot API."""

    def __init__(self, root: str, clock: Clock, *, connections: int, read_timeout: float) -> None:
        """
        Args:
            root: the address of all requests; the environment's proxy for it applies to them.
            connections: open at the same time at most.
            read_timeout: seconds of silence after which an answer is given up.
        """
        self._root = root
        self._clock = clock
        self._connections = connections
        self._read_timeout = read_timeout
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        return self._read_timeout

    async def initialize(self) -> None:
        """Open the pool.

        Raises:
            SettingsError: the environment names an unsupported kind of proxy.
        """
        # Reading the certificates takes a tenth of a second of the processor.
        context = await asyncio.to_thread(trusted, httpx.create_ssl_context)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=context, resolver=_Resolver(self._clock)),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self.USER_AGENT},
            proxy=proxy_before(self._root, "Telegram"),
        )

    async def shutdown(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """See `BaseRequest.do_request`; missing timeouts are this object's own.

        Raises:
            TimedOut: no answer in time; the cause says whether a connection was made.
            NetworkError: no answer.
        """
        if self._session is None:
            raise RuntimeError("the requests were shut down")
        uploads = request_data is not None and request_data.contains_files
        read, write, connect, pool = (
            default if given is BaseRequest.DEFAULT_NONE else given
            for given, default in (
                (read_timeout, self._read_timeout),
                (write_timeout, _UPLOAD_SECONDS if uploads else _WRITE_SECONDS),
                (connect_timeout, _CONNECT_SECONDS),
                (pool_timeout, _CONNECTION_SECONDS),
            )
        )
        waits = (pool, connect, write, read)
        timeout = aiohttp.ClientTimeout(
            total=None if None in waits else sum(waits),
            connect=None if None in (pool, connect) else pool + connect,
            sock_connect=connect,
            sock_read=read,
        )
        data, headers = _body(request_data)
        try:
            # The Bot API never redirects: a server that does is not Telegram, and gets no message.
            async with self._session.request(
                method, url, data=data, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                status, body = response.status, await response.read()
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # Nobody cancelled this call: its pool was closed while it waited there.
            raise NetworkError("the requests were shut down") from _ClosedError()
        except TimeoutError as error:
            raise TimedOut(type(error).__name__) from error
        except (aiohttp.ClientError, OSError) as error:
            # Their texts can contain the address, which contains the token.
            raise NetworkError(type(error).__name__) from error
        return status, _with_pause(body) if status == 429 else body

    async def download(self, address: str, into: BinaryIO, most: int) -> None:
        """Write a file into `into`; see `adapters.download.download`."""
        if self._session is None:
            raise DeliveryError("the requests were shut down")
        await download(self._session, address, into, most, clock=self._clock)


class _Resolver(aiohttp.ThreadedResolver):
    """A resolver that reports a silent name server as a failed connection, within the connect timeout."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        async with time_limit(self._clock, _CONNECT_SECONDS):
            return await super().resolve(host, port, family)


def _with_pause(body: bytes) -> bytes:
    """Make a refusal's `retry_after` a number: the library fails on anything else."""
    try:
        answer = read_json(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        answer = {"ok": False, "error_code": 429, "description": "Too Many Requests"}
    parameters = answer.get("parameters")
    named = parameters.get("retry_after") if isinstance(parameters, dict) else None
    return json.dumps(answer | {"parameters": {"retry_after": bound_pause(named)}}).encode()


def _body(data: RequestData | None) -> tuple[bytes | aiohttp.FormData | None, dict[str, str]]:
    """Return the request body and its headers. https://core.telegram.org/bots/api#making-requests"""
    if data is None:
        return None, {}
    if not data.contains_files:
        return json.dumps(data.parameters).encode(), {"Content-Type": "application/json"}
    # Names in plain UTF-8: percent-encoded, they would be shown so.
    form = aiohttp.FormData(quote_fields=False)
    for name, value in data.json_parameters.items():
        form.add_field(name, value)
    for name, (filename, content, media_type) in data.multipart_data.items():
        form.add_field(name, content, filename=filename, content_type=media_type)
    return form, {}
