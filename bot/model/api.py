"""One server's interface: its address, its key, and its answers, with a 2xx status or as a refusal.

Requests go through the OpenAI SDK's client unchanged: its walk through the types of every message and every tool's
schema takes longer than everything else in a request, and changes nothing in plain values. It is large, so it is loaded
in a thread once the platforms are polled, or at the first request, and without its types (`bot.model.library`).
https://github.com/openai/openai-python#undocumented-endpoints
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import httpx2

from tools.contract.json_values import ValueCounter, read_json

if TYPE_CHECKING:
    import openai

_MOST_BYTES: Final = 4 * 1024 * 1024
"""For an answer that is neither a stream nor sound."""
_AT_ONCE: Final = 256 * 1024
"""Characters that are written in one piece, unless a single text has more."""
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_UNREAD: Final = {"X-Stainless-Raw-Response": "stream"}
"""The SDK's own way of requesting an unread response."""


class Refused(Exception):
    """The server answered with a status other than 2xx."""

    def __init__(self, status: int, headers: Mapping[str, str], body: object) -> None:
        """
        Args:
            body: the error object, if the body is JSON with one; else the whole body.
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
        self._client: openai.AsyncOpenAI | None = None

    def beside(self, base_url: str) -> Api:
        """Another interface of the same server."""
        return Api(self._http, base_url, self._key)

    def load(self) -> openai.AsyncOpenAI:
        """Return the SDK's client; the first call loads the SDK, which takes a third of a second of the processor."""
        if self._client is None:
            from bot.model.library import openai

            self._client = openai.AsyncOpenAI(
                # Unlike an empty one, a key that a server does not ask for is never looked for in the environment.
                api_key=self._key,
                base_url=self._base_url,
                max_retries=0,
                timeout=self._http.timeout,
                http_client=self._http,
            )
        return self._client

    @asynccontextmanager
    async def post(
        self, path: str, body: Mapping[str, Any], file: tuple[str, BinaryIO, str] | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request; entering waits for the answer's headers, leaving closes its stream.

        Args:
            body: sent as JSON, or beside a file as form fields.
            file: its name, its content, read from the start, and its media type.

        Raises:
            Refused: the status is not 2xx.
            httpx2.HTTPError, OSError, ValueError: it was not sent, or the server did not answer.
        """
        if file is None:
            sent: dict[str, Any] = {"content": await _write(body)}
            headers = {**_UNREAD, "Content-Type": "application/json"}
        else:
            sent = {"body": body, "files": [("file", file)]}
            headers = {**_UNREAD, "Content-Type": "multipart/form-data"}
        response = await self._ask("post", path, options={"headers": headers}, **sent)
        try:
            yield response
        finally:
            await response.aclose()

    async def get(self, path: str) -> Any:
        """Return the JSON value at `path`; raises as `post`."""
        response = await self._ask("get", path, options={"headers": _UNREAD})
        try:
            return await read_value(response)
        finally:
            await response.aclose()

    async def _ask(self, method: str, path: str, **request: Any) -> httpx2.Response:
        client = self._client or await asyncio.to_thread(self.load)
        import openai  # loaded by now

        try:
            answer = await getattr(client, method)(
                path, cast_to=object, stream=True, stream_cls=openai.AsyncStream[Any], **request
            )
        except openai.APIStatusError as error:
            raise _refused(error.response) from None
        except openai.APIConnectionError as error:
            raise error.__cause__ or httpx2.ConnectError(str(error)) from None
        response: httpx2.Response = answer.http_response
        return response


async def _write(body: Mapping[str, Any]) -> bytes:
    """Return JSON, written in pieces, so that others get their turn between large ones, especially pictures."""
    pieces, size = [], 0
    for piece in _pieces(body):
        pieces.append(piece)
        size += len(piece)
        if size > _AT_ONCE:
            size = 0
            await asyncio.sleep(0)
    return "".join(pieces).encode()


def _pieces(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the JSON of an object in pieces: its lists item by item, recursively."""
    for place, (name, one) in enumerate(value.items()):
        yield f"{',' if place else '{'}{_encode(str(name))}:"
        if isinstance(one, list) and one:
            for number, each in enumerate(one):
                yield "," if number else "["
                if isinstance(each, dict) and any(isinstance(part, list) for part in each.values()):
                    yield from _pieces(each)
                else:
                    yield _encode(each)
            yield "]"
        else:
            yield _encode(one)
    yield "}" if value else "{}"


async def read_value(response: httpx2.Response) -> Any:
    """Return the JSON value of a whole answer.

    Raises:
        ValueError: it is not one, or takes too long to read.
        httpx2.HTTPError: it broke off.
    """
    content, values = bytearray(), ValueCounter()
    async for piece in response.aiter_bytes():
        content += piece
        values.feed(piece)
        if len(content) > _MOST_BYTES or values.too_many:
            raise ValueError("an answer with too many values")
    return read_json(content)


def _refused(response: httpx2.Response) -> Refused:
    body: object = response.text.strip()
    try:
        body = read_json(response.content)
    except ValueError:
        pass  # a page, or a sentence
    if isinstance(body, dict):
        body = body.get("error", body)
    return Refused(response.status_code, response.headers, body)
