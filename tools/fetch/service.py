"""Client of a public JSON service: one bounded session, opened late; failures are sentences for the model."""

from __future__ import annotations

import asyncio
import email.utils
import importlib
import logging
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.contract.base import ToolError
from tools.contract.findings import Finding
from tools.contract.json_values import ValueCounter, read_json
from tools.contract.network import UnusableProxy, proxy_before

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

log = logging.getLogger(__name__)

SECONDS = 10.0
MOST_BYTES = 4 * 1024 * 1024
MOST_CONNECTIONS = 4
LONGEST_TEXT = 20_000
"""Characters read of one field: more than any result can have."""
LONGEST_NUMBER = 400
MOST_ITEMS = 200
"""Items read of one list; requests ask for far fewer."""
USER_AGENT = "parley-chat/0.2 (assistant in chats, asked by a person)"


class ServiceError(ToolError):
    """The service fails; `reason` is for the operator."""

    def __init__(self, message: str, reason: str, *, retry: bool = True) -> None:
        super().__init__(message, retry=retry)
        self.reason = reason


@dataclass(eq=False, repr=False)
class JsonService:
    """One service. The model knows it as `name`; `setting` is the variable with its address.

    Addresses come from the operator, so the rules for pages do not apply; redirects are not followed.
    """

    name: str
    base_url: str
    setting: str
    _: KW_ONLY
    contact: str = ""
    seconds: float = SECONDS
    configured: bool = False
    """By the operator. A service that everybody may use is no fault of the settings where it fails."""

    def __post_init__(self) -> None:
        self.base_url = self.base_url.strip().rstrip("/")
        self.contact = " ".join(self.contact.split())
        self._session: ClientSession | None = None
        self._opening = asyncio.Lock()

    async def get(self, path: str, query: Mapping[str, str | int | float], *, base_url: str = "") -> Any:
        """The parsed answer, or None for status 404.

        Raises:
            ToolError: the service refuses, is busy, does not answer, or does not answer in JSON.
        """
        session = await self._open_session()
        url = (base_url.rstrip("/") or self.base_url) + path
        proxy = proxy_before(url, self.name)
        aiohttp: Any = importlib.import_module("aiohttp")
        try:
            async with asyncio.timeout(self.seconds):
                async with session.get(url, params=query, allow_redirects=False, proxy=proxy) as response:
                    body = await _read_body(response)
                    if response.status == 404:
                        return None
                    if response.status != 200:
                        raise self._explain_refusal(response.status, response.headers, body)
                return read_json(body)
        except TimeoutError as error:
            late = f"did not answer within {self.seconds:g} s"
            raise ServiceError(f"{self.name} {late}. Try once more, or answer without it.", late) from error
        except aiohttp.ClientPayloadError as error:
            text = f"{self.name}'s answer was cut off. Try once more, or answer without it."
            raise ServiceError(text, "sent an answer that was cut off") from error
        except (aiohttp.ClientError, OSError) as error:
            log.warning("%s cannot be reached (%s); %s says where it is", self.name, type(error).__name__, self.setting)
            text = f"{self.name} cannot be reached now. Answer without it, and say so."
            raise ServiceError(text, f"cannot be reached ({type(error).__name__})", retry=False) from error
        except ValueError as error:
            text = f"{self.name} answered with something that cannot be read. Answer without it, and say so."
            raise ServiceError(text, "answered with something that cannot be read", retry=False) from error

    async def check(
        self,
        path: str,
        query: Mapping[str, str | int | float],
        *,
        expected: str,
        offline: bool,
        base_url: str = "",
    ) -> Finding:
        """Check for the operator whether the service answers this request; `offline`: do not ask it.

        Args:
            expected: a field of its answer.
        """
        place = urlsplit(base_url or self.base_url).netloc.rpartition("@")[2]
        if offline:
            return Finding.not_asked(f"it needs {place}")
        try:
            if expected in fields_of(await self.get(path, query, base_url=base_url)):
                return Finding.ok(f"{place} answers")
            text = f"{place} answered with something else than was asked for; {self.setting} says where it is"
        except ServiceError as error:
            text = f"{place} {error.reason}; {self.setting} says where it is"
        except UnusableProxy as error:
            text = f"{place} cannot be reached: {error}"
        return Finding.bad(text) if self.configured else Finding.note(text)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _explain_refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
        said = _read_reason(body)
        reason, retry = f"answered with status {status}{said}", True
        if status == 429:
            wait = read_retry_after(headers)
            when = "later" if wait is None else f"in {_format_wait(wait)}"
            text = f"has had too many requests; it may be asked again {when}. Do not call it before; answer without it,"
            text, retry = f"{text} and say so.", False
        elif status in (400, 414, 422):
            text = f"refuses the request{said}. Change the arguments."
        elif status in (401, 402, 403):
            log.warning("%s refuses the bot (%d)%s", self.name, status, said)
            text = f"refuses the bot{said}. Only its operator can change that. Answer without it, and say so."
            retry = False
        elif status >= 500:
            text = f"has a fault of its own ({status}). Try once more, or answer without it."
        else:
            log.warning("%s answers %d; is %s right?", self.name, status, self.setting)
            text, retry = f"is not where it should be ({status}). Answer without it.", False
        return ServiceError(f"{self.name} {text}", reason, retry=retry)

    async def _open_session(self) -> ClientSession:
        async with self._opening:
            if self._session is None:
                aiohttp: Any = await asyncio.to_thread(importlib.import_module, "aiohttp")
                agent = f"{USER_AGENT} {self.contact}".rstrip()
                self._session = aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(limit=MOST_CONNECTIONS),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(5.0, self.seconds)),
                    headers={"User-Agent": agent, "Accept": "application/json"},
                    cookie_jar=aiohttp.DummyCookieJar(),
                )
            session: ClientSession = self._session
            return session


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that `Retry-After` names, as a number or as a date; None if it names none."""
    given = headers.get("Retry-After", "").strip()
    if given.isascii() and given.isdigit():
        return float(given[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def text_of(value: object) -> str:
    """Return a text field on one line, cut if it is very long; empty for any other type."""
    return " ".join(value[:LONGEST_TEXT].split()) if isinstance(value, str) else ""


def items_of(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list, cut if it is very long; empty for any other type."""
    return [one for one in value[:MOST_ITEMS] if isinstance(one, dict)] if isinstance(value, list) else []


def fields_of(value: object) -> dict[str, Any]:
    """An object; empty for any other type."""
    return value if isinstance(value, dict) else {}


def number_of(value: object) -> float | None:
    """Return a number, or a string with one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > LONGEST_NUMBER:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


async def _read_body(response: ClientResponse) -> bytes:
    body, values = bytearray(), ValueCounter()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        values.feed(chunk)
        if len(body) > MOST_BYTES or values.too_many:
            raise ValueError("the answer is too long")
    return bytes(body)


def _read_reason(body: bytes) -> str:
    """Return the reason in the body of a refusal, as a clause; empty if there is none."""
    try:
        found = read_json(body)
    except ValueError:
        return ""
    for name in ("reason", "message", "error", "info"):
        value = found.get(name) if isinstance(found, dict) else None
        if isinstance(value, dict):
            value = value.get("info") or value.get("message")
        if isinstance(value, str) and value.strip():
            return f": {text_of(value)[:200].rstrip('.')}"
    return ""


def _format_wait(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
