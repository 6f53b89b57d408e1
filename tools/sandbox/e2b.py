"""Run cells in E2B's remote sandboxes. Code and its output leave this machine, so it must be enabled explicitly.

Four plain HTTP requests: create a sandbox, extend its lifetime, run a cell as a stream of JSON lines, end it. The
sandbox is created without internet access. Written by hand instead of using the package e2b-code-interpreter 2.11,
which would save about 30 lines for 13 more packages (22 MB, a Rust HTTP client), 29 MB of memory and 0.4 s of import;
it has no limit for the length of a line or of the output, and logs the code. See docs/decisions.md, 2026-11-22. See:
https://e2b.dev/docs/api-reference
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from tools.contract.base import ProducedFile
from tools.contract.json_values import read_json
from tools.contract.network import UnusableProxy, proxy_before
from tools.sandbox.cell import Cell, SandboxFailed, produced
from tools.sandbox.limits import KIB, Limits
from tools.sandbox.places import Place, Places

IDLE_SECONDS = 600
_PORT = 49999
"""Where the code interpreter listens inside a sandbox."""
_TEMPLATE = "code-interpreter-v1"
_LINE_BYTES = 24 * 1024 * KIB
_IMAGES = {"png": "image/png", "jpeg": "image/jpeg"}


@dataclass(slots=True)
class _Remote:
    """A sandbox at E2B."""

    id: str
    url: str
    headers: dict[str, str]


class E2B(Places[_Remote]):
    """The backend `e2b`."""

    name = "e2b"

    def __init__(
        self,
        key: str,
        base_url: str,
        sandbox_url: str = "",
        limits: Limits | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sandbox_url` replaces the addresses of the sandboxes, for a proxy."""
        super().__init__(now)
        self._key = key
        self._base_url = base_url.rstrip("/")
        self._sandbox_url = sandbox_url.rstrip("/")
        self.limits = limits or Limits()
        self._http: aiohttp.ClientSession | None = None

    @property
    def summary(self) -> str:
        return "E2B: remote sandboxes, code and files leave this machine"

    async def check(self) -> None:
        """Check that the key creates a sandbox, and end that at once. Raises SandboxFailed."""
        remote = await self._create()
        await self._end(remote)

    def paid_seconds(self, scope: str, seconds: float) -> float:
        place = self._places.get(scope)
        now = self._now()
        until = now + min(seconds, self.limits.wall) + self.limits.grace + IDLE_SECONDS
        return max(0.0, until - max(now, place.paid_until if place is not None else 0.0))

    async def run(self, scope: str, code: str, seconds: float) -> Cell:
        async with self._use(scope) as place:
            paid_until = max(self._now(), place.paid_until)
            cell = await self._run(place, code, min(seconds, self.limits.wall))
            # A sandbox that was not ended lives until it has been idle for IDLE_SECONDS.
            place.paid_until = self._now() + (IDLE_SECONDS if place.session is not None else 0.0)
            return replace(cell, paid_seconds=max(0.0, place.paid_until - paid_until))

    async def close(self) -> None:
        remotes = [place.session for place in self._places.values() if place.session is not None]
        self._places.clear()
        if self._http is not None:
            await asyncio.gather(*(self._end(remote) for remote in remotes), return_exceptions=True)
            await self._http.close()
            self._http = None

    async def _run(self, place: Place[_Remote], code: str, seconds: float) -> Cell:
        if place.session is not None and not await self._extend(place.session):
            place.session, place.lost = None, "the sandbox had expired"
        if place.session is None:
            place.session = await self._create()
        remote, notes = place.session, place.take_notes()
        output = _CellOutput(self.limits)
        try:
            async with asyncio.timeout(seconds + self.limits.grace):
                await self._execute(remote, code, output)
        except TimeoutError:
            error = f"Stopped: it ran longer than {seconds:g} s."
        except (aiohttp.ClientError, ValueError) as failure:
            error = f"The sandbox broke off ({type(failure).__name__})."
        except _TooMuchOutput:
            error = "Stopped: it printed more than is allowed."
        except BaseException:
            await self._drop(place, "an earlier cell was stopped")
            raise
        else:
            return output.build(notes)
        await self._drop(place, "")
        return output.build(notes, error=error, lost=True)

    async def _execute(self, remote: _Remote, code: str, output: _CellOutput) -> None:
        body = {"code": code, "context_id": None, "language": None, "env_vars": None}
        url = f"{remote.url}/execute"
        async with self._client().post(url, json=body, headers=remote.headers, proxy=_proxy(url)) as response:
            if response.status != 200:
                raise ValueError(f"status {response.status}")
            line = bytearray()
            async for part in response.content.iter_chunked(64 * KIB):
                line += part
                if b"\n" in part:
                    *whole, rest = bytes(line).split(b"\n")
                    for each in whole:
                        output.read_line(each)
                    line = bytearray(rest)
                if len(line) > _LINE_BYTES:
                    raise _TooMuchOutput
            output.read_line(bytes(line))

    async def _create(self) -> _Remote:
        body = {"templateID": _TEMPLATE, "timeout": IDLE_SECONDS, "allow_internet_access": False}
        try:
            async with self._ask("POST", "", body) as response:
                if response.status == 401:
                    raise SandboxFailed("E2B refused the key E2B_API_KEY")
                if response.status >= 400:
                    raise SandboxFailed(f"E2B answered with status {response.status}")
                made = await response.json(content_type=None)
            name, domain = str(made["sandboxID"]), str(made.get("domain") or "e2b.app")
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
            raise SandboxFailed(f"E2B could not be reached ({type(error).__name__})") from error
        headers = {"E2b-Sandbox-Id": name, "E2b-Sandbox-Port": str(_PORT)}
        for field_name, header in (
            ("envdAccessToken", "X-Access-Token"),
            ("trafficAccessToken", "E2B-Traffic-Access-Token"),
        ):
            if made.get(field_name):
                headers[header] = str(made[field_name])
        return _Remote(name, self._sandbox_url or f"https://{_PORT}-{name}.{domain}", headers)

    async def _extend(self, remote: _Remote) -> bool:
        """Extend the lifetime of a sandbox; return False if it has expired."""
        try:
            async with self._ask("POST", f"/{remote.id}/timeout", {"timeout": IDLE_SECONDS}) as response:
                return response.status < 400
        except (aiohttp.ClientError, TimeoutError) as error:
            raise SandboxFailed(f"E2B could not be reached ({type(error).__name__})") from error

    async def _end(self, remote: _Remote) -> None:
        with suppress(aiohttp.ClientError, TimeoutError):  # it ends by itself after its timeout
            async with self._ask("DELETE", f"/{remote.id}"):
                pass

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send a request to E2B itself; those to a sandbox go to its own address."""
        url = f"{self._base_url}/sandboxes{path}"
        return self._client().request(method, url, json=body, headers={"X-API-KEY": self._key}, proxy=_proxy(url))

    def _client(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30, connect=5), trust_env=False)
        return self._http


def _proxy(url: str) -> str | None:
    """Return the proxy for an address of E2B; None if it is reached directly."""
    try:
        return proxy_before(url, "E2B")
    except UnusableProxy as error:
        raise SandboxFailed(str(error)) from None


class _TooMuchOutput(Exception):
    """The output exceeds the limit."""


class _CellOutput:
    """The output of a cell, read line by line."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._output: list[str] = []
        self._size = 0
        self._value = ""
        self._error = ""
        self._files: list[ProducedFile] = []
        self._taken: set[str] = set()

    def read_line(self, line: bytes) -> None:
        """Add one line of the stream. Raises ValueError if it is not a JSON object."""
        if not line.strip():
            return
        said = read_json(line)
        if not isinstance(said, dict):
            raise ValueError("not an object")
        match said.get("type"):
            case "stdout" | "stderr":
                self._print(str(said.get("text", "")))
            case "result":
                self._add_result(said)
            case "error":
                trace = str(said.get("traceback") or "")
                last = f"{said.get('name', 'Error')}: {said.get('value', '')}"
                self._error = (trace or last)[-self._limits.value :]

    def build(self, notes: tuple[str, ...], *, error: str = "", lost: bool = False) -> Cell:
        return Cell(
            output="".join(self._output),
            value=self._value,
            error=error or self._error,
            files=tuple(self._files),
            notes=notes,
            lost=lost,
        )

    def _print(self, text: str) -> None:
        self._size += len(text)
        if self._size > self._limits.output:
            raise _TooMuchOutput
        self._output.append(text)

    def _add_result(self, said: dict[str, Any]) -> None:
        for kind in _IMAGES:
            content = said.get(kind)
            if isinstance(content, str) and len(self._files) < self._limits.files:
                try:
                    image = base64.b64decode(content)
                except (binascii.Error, ValueError):
                    continue
                if len(image) <= self._limits.file_sent:
                    self._files.append(produced(f"figure.{kind}", image, self._taken))
                return
        text = str(said.get("text") or "")[: self._limits.value]
        if said.get("is_main_result"):
            self._value = text
        elif text:
            self._print(text + "\n")
