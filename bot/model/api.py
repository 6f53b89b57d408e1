"""One server's interface: its address, its key, and what it answers, with a status of 2xx or as a refusal.

The SDK is not used for it: loading its types takes half a second and 20 MiB, and all that is left of it here is a POST.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, Final

import httpx2

from tools.json_values import ValueCounter, read_json

_MOST_BYTES: Final = 4 * 1024 * 1024
"""Of an answer that is neither a stream nor sound."""
_AT_ONCE: Final = 256 * 1024
"""Characters that are written in one piece, unless one text has more."""
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_HEADERS: Final = {"Accept": "application/json", "User-Agent": "parley-chat/0.1"}


class Refused(Exception):
    """The server answered with another status than 2xx."""

    def __init__(self, status: int, headers: Mapping[str, str], body: object) -> None:
        """
        Args:
            body: the error object, where the body is JSON that holds one; else the whole body.
        """
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


class Api:
    """An OpenAI-compatible interface at one address."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str, key: str) -> None:
        self._http = http
        self._base_url = base_url.rstrip("/")
        self._key = key
        self._headers = {**_HEADERS, "Authorization": f"Bearer {key}"}

    def beside(self, base_url: str) -> Api:
        """Another interface of the same server."""
        return Api(self._http, base_url, self._key)

    @asynccontextmanager
    async def post(
        self, path: str, body: Mapping[str, Any], file: tuple[str, BinaryIO, str] | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request; entering waits for the headers of the answer, leaving closes its stream.

        Args:
            body: sent as JSON, or beside a file as fields of a form.
            file: its name, its content, which is read from the start, and its media type.

        Raises:
            Refused: the status is not 2xx.
            httpx2.HTTPError, OSError, ValueError: it was not sent, or nobody answered.
        """
        url = self._base_url + path
        if file is None:
            content = await _write(body)
            headers = {**self._headers, "Content-Type": "application/json"}
            request = self._http.build_request("POST", url, content=content, headers=headers)
        else:
            request = self._http.build_request(
                "POST", url, data=dict(body), files={"file": file}, headers=self._headers
            )
        response = await self._http.send(request, stream=True)
        try:
            if not response.is_success:
                raise await _refused(response)
            yield response
        finally:
            await response.aclose()

    async def get(self, path: str) -> Any:
        """Return the JSON value at `path`; raises as `post`."""
        request = self._http.build_request("GET", self._base_url + path, headers=self._headers)
        response = await self._http.send(request, stream=True)
        try:
            if not response.is_success:
                raise await _refused(response)
            return await read_value(response)
        finally:
            await response.aclose()


async def _write(body: Mapping[str, Any]) -> bytes:
    """Return JSON, written piece by piece, so that others have their turn between large ones: pictures above all."""
    pieces, size = [], 0
    for piece in _pieces(body):
        pieces.append(piece)
        size += len(piece)
        if size > _AT_ONCE:
            size = 0
            await asyncio.sleep(0)
    return "".join(pieces).encode()


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and any(isinstance(one, list) for one in value.values()):
        for place, (name, one) in enumerate(value.items()):
            yield f"{',' if place else '{'}{_encode(str(name))}:"
            yield from _pieces(one)
        yield "}"
    elif isinstance(value, list) and value:
        for place, one in enumerate(value):
            yield "," if place else "["
            yield from _pieces(one)
        yield "]"
    else:
        yield _encode(value)


async def read_value(response: httpx2.Response) -> Any:
    """Return the JSON value that a whole answer holds.

    Raises:
        ValueError: it is none, or one that takes too long to read.
        httpx2.HTTPError: it broke off.
    """
    content, values = bytearray(), ValueCounter()
    async for piece in response.aiter_bytes():
        content += piece
        values.feed(piece)
        if len(content) > _MOST_BYTES or values.too_many:
            raise ValueError("an answer with too many values")
    return read_json(content)


async def _refused(response: httpx2.Response) -> Refused:
    await response.aread()
    body: object = response.text.strip()
    try:
        body = read_json(response.content)
    except ValueError:
        pass  # a page, or a sentence
    if isinstance(body, dict):
        body = body.get("error", body)
    return Refused(response.status_code, response.headers, body)
