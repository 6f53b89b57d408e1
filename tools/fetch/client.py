"""Fetching one page as the guard allows: checked addresses, checked redirects, little time, few bytes, text only."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from tools.contract.base import ToolError
from tools.fetch.bodies import MOST_BYTES, Unreadable, read_body
from tools.fetch.guard import PORTS, Address, Destination, Lookup, Refused, approved, destination

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 10.0
MOST_REDIRECTS = 3
PDF_BYTES = 20 * 1024 * 1024
"""A PDF must be complete: its table of contents is at its end."""
USER_AGENT = "Mozilla/5.0 (compatible; Parley/0.1; a page a person asked for)"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, application/json;q=0.8, */*;q=0.1"
_TEXT = re.compile(r"text/[\w.+-]+$|application/(json|xml|xhtml\+xml|[\w.-]+\+(json|xml)|x-ndjson|yaml|x-yaml)$")
_REASONS = {
    401: "it asks for a login",
    403: "it does not let the bot in",
    404: "there is no such page",
    410: "the page is gone",
    429: "it has had too many requests",
    451: "it is blocked for legal reasons",
}

Dial: TypeAlias = Callable[[aiohttp.AddrInfoType], socket.socket]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched page."""

    url: str
    """After redirects."""
    media_type: str
    charset: str
    """As the server says; empty when it does not."""
    body: bytes | bytearray
    cut: bool
    """More would have come."""


@dataclass(slots=True)
class _Checked(AbstractResolver):
    """A resolver that returns only addresses checked before, and looks up nothing."""

    known: dict[tuple[str, int], tuple[Address, ...]] = field(default_factory=dict)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = self.known.get((host.rstrip(".").lower(), port), ())
        if not found:
            raise OSError("not checked")
        return [
            ResolveResult(
                hostname=host,
                host=str(one),
                port=port,
                family=socket.AF_INET if one.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for one in found
        ]

    async def close(self) -> None:
        return None


class Fetcher:
    """Fetches pages, without connections or cookies shared between them.

    `allow` names the operator's exceptions (`host:port`). The rest is for tests.
    """

    def __init__(
        self,
        *,
        allow: Collection[str] = (),
        ports: Collection[int] = PORTS,
        lookup: Lookup | None = None,
        dial: Dial | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow = frozenset(one.strip().lower() for one in allow)
        self._ports = frozenset(ports)
        self._lookup: Lookup = lookup or self._system_lookup
        self._dial: Dial = dial or _socket
        self._tls: ssl.SSLContext | bool = tls if tls is not None else True
        self._threads: ThreadPoolExecutor | None = None

    async def get(
        self,
        address: str,
        *,
        seconds: float = TOTAL_SECONDS,
        pdf: bool = False,
        follow: Callable[[str], bool] = lambda address: True,
    ) -> Fetched:
        """Fetch the page at `address`, following redirects as `follow` allows.

        Raises:
            Refused: it must not be opened.
            ToolError: it could not be fetched, with the reason.
        """
        seconds = min(seconds, TOTAL_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(address, pdf, follow)
        except TimeoutError as error:
            raise ToolError(f"The page did not arrive within {seconds:g} s. Try another source.") from error

    async def close(self) -> None:
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    async def _follow(self, address: str, pdf: bool, follow: Callable[[str], bool]) -> Fetched:
        where = destination(address, allow=self._allow, ports=self._ports)
        for _ in range(MOST_REDIRECTS + 1):
            got = await self._once(where, pdf)
            if isinstance(got, Fetched):
                return got
            if not follow(str(got)):
                raise Refused(f"The page redirects to {got.host!r}, which may not be opened now. Try another address.")
            where = destination(got, allow=self._allow, ports=self._ports)
        raise ToolError(f"The page redirects more than {MOST_REDIRECTS} times. Try another address.")

    async def _once(self, where: Destination, pdf: bool) -> Fetched | URL:
        """Return the page, or the redirect target."""
        loop = asyncio.get_running_loop()
        until = loop.time() + CONNECT_SECONDS
        try:
            async with asyncio.timeout_at(until):
                addresses = await approved(where, self._lookup)
        except TimeoutError as error:
            raise ToolError(f"The name {where.host!r} could not be resolved in time. Try another source.") from error
        left = max(0.1, until - loop.time())
        connector = aiohttp.TCPConnector(
            resolver=_Checked({(where.host, where.port): addresses}),
            use_dns_cache=False,
            force_close=True,
            limit=1,
            ssl=self._tls,
            socket_factory=self._only(addresses),
        )
        timeout = aiohttp.ClientTimeout(total=None, connect=left, sock_connect=left)
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector,
                    timeout=timeout,
                    trust_env=False,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    auto_decompress=False,
                    headers={"User-Agent": USER_AGENT, "Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate"},
                ) as session,
                session.get(where.url, allow_redirects=False) as response,
            ):
                return await self._read(where, response, pdf)
        except ToolError:
            raise
        except Unreadable as error:
            raise ToolError(f"{error} Try another source.") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise ToolError(f"The certificate of {where.host!r} is not valid. Try another source.") from error
        except aiohttp.ClientSSLError as error:
            raise ToolError(f"No secure connection to {where.host!r} is possible. Try another source.") from error
        except (aiohttp.ServerTimeoutError, aiohttp.ClientConnectorError) as error:
            raise ToolError(f"{where.host!r} cannot be reached. Try another source.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolError(f"{where.host!r} gave no proper answer. Try another source.") from error

    async def _read(self, where: Destination, response: aiohttp.ClientResponse, pdf: bool) -> Fetched | URL:
        status = response.status
        if status in _REDIRECTS:
            target = response.headers.get("Location", "")
            try:
                return where.url.join(URL(target)) if target else where.url
            except (ValueError, UnicodeError) as error:
                raise Refused("The page redirects to something that is no address.") from error
        if status != 200:
            reason = _REASONS.get(status, "it has a fault" if status >= 500 else "it gives no page")
            wait = response.headers.get("Retry-After", "")
            later = f" It asks to wait {wait} s." if wait.isdigit() else ""
            raise ToolError(f"The page answers {status}: {reason}.{later} Try another source.")
        kind = response.content_type.lower() if "Content-Type" in response.headers else ""
        is_pdf = kind in ("application/pdf", "application/x-pdf")
        if kind and not _TEXT.match(kind) and not (pdf and is_pdf):
            raise ToolError(f"The address leads to {kind}, not to a text that can be read.")
        most = PDF_BYTES if is_pdf else MOST_BYTES
        body, cut = await read_body(response.content, response.headers.get("Content-Encoding", ""), most)
        if body.startswith(b"%PDF-"):
            is_pdf = True
        if is_pdf and not pdf:
            raise ToolError("The address leads to a PDF, not to a text that can be read.")
        if is_pdf and cut:
            raise ToolError(f"The PDF is larger than {most >> 20} MiB and is not read. Try an HTML version of it.")
        if not is_pdf and b"\0" in body[:4096] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ToolError("The address leads to a binary file, not to a text that can be read.")
        return Fetched(str(where.url), "application/pdf" if is_pdf else kind, response.charset or "", body, cut)

    def _only(self, addresses: Sequence[Address]) -> Dial:
        """Return a socket factory that connects only to `addresses`, in case a library looks them up again."""
        known = {str(one) for one in addresses}

        def make(info: aiohttp.AddrInfoType) -> socket.socket:
            if str(info[4][0]) not in known:
                raise OSError("this address was not checked")
            return self._dial(info)

        return make

    async def _system_lookup(self, host: str, port: int) -> Sequence[str]:
        # Separate threads: a silent name server must not block other work in threads.
        if self._threads is None:
            self._threads = ThreadPoolExecutor(4, thread_name_prefix="resolve")
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        )
        return [str(one[4][0]) for one in found]


def _socket(info: aiohttp.AddrInfoType) -> socket.socket:
    made = socket.socket(info[0], info[1], info[2])
    made.setblocking(False)
    return made
