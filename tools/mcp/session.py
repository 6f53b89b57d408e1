"""One connection to an MCP server, through the official SDK. Imported late and in a thread: the SDK is large.

The SDK's exceptions are translated here. Two things bypass its client: tools/call is sent without the check of results
against the server's own output schema, because that check runs the server's patterns on the server's text in our event
loop; and a list of tools with one malformed entry loses that entry, not all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from tools.contract.json_values import MOST_VALUES, ValueCounter
from tools.contract.network import httpx2_context, proxy_before, trusted
from tools.mcp import flood
from tools.mcp.config import Command, Endpoint, ServerConfig
from tools.mcp.errors import LastWords, ServerGone, ServerRefused
from tools.mcp.listed import ListedTool
from tools.mcp.mending import LEFT_OUT, SCHEMA, cut_answer, mend_list, mended_answer
from tools.mcp.process import MOST_MESSAGE_BYTES, process_transport
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

MOST_PAGES = 50
MOST_TOOLS = 500
AGAIN_SECONDS = 5.0
"""Seconds between the end of a subscription and the next one."""

_Answer = types.CallToolResult | types.InputRequiredResult
_ANSWER: TypeAdapter[_Answer] = TypeAdapter(_Answer)
_LIST = TypeAdapter(types.ListToolsResult)


class Session:
    """An established connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def title(self) -> str:
        """The server's name for itself."""
        info = self._client.server_info
        return (info.title or info.name) if info is not None else ""

    async def list_tools(self) -> list[ListedTool]:
        """Return all its tools.

        Raises:
            ServerGone, ServerRefused: as described there.
        """
        tools: list[ListedTool] = []
        seen: set[str] = set()
        cursor: str | None = None
        with _translated():
            while len(seen) < MOST_PAGES and len(tools) < MOST_TOOLS:
                page = await self._client.list_tools(cursor=cursor)
                tools += [_listed(tool) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None or cursor in seen:
                    break
                seen.add(cursor)
        return tools[:MOST_TOOLS]

    async def call(
        self, name: str, arguments: Mapping[str, Any], seconds: float, progress: ProgressFnT
    ) -> types.CallToolResult:
        """Call a tool; on cancellation or after `seconds` the server is asked to stop.

        Raises:
            ServerGone, ServerRefused: as described there.
            TimeoutError: no answer within `seconds`.
        """
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=dict(arguments)))
        with _translated():
            answer = await self._client.session.send_request(
                request, _ANSWER, request_read_timeout_seconds=seconds, progress_callback=progress
            )
        if isinstance(answer, types.InputRequiredResult):
            raise ServerRefused("it wants to ask the person something while it works, which is not possible here")
        return answer


@asynccontextmanager
async def open_session(
    config: ServerConfig, changed: Callable[[], None], ended: Callable[[], None], words: LastWords
) -> AsyncGenerator[Session, None]:
    """Connect; `changed` is called when the tools may have changed, `ended` when the connection ends.

    Afterwards `words` describes how a program ended.

    Enter and leave it in the same task; anything may be raised on entering.
    """

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    def cut(why: str) -> None:
        words.cut(why)
        ended()

    sieve = _Sieve(_transport(config, ended, words), config.name, cut)
    client = Client(
        sieve,
        read_timeout_seconds=config.start_seconds,
        message_handler=heard,
        client_info=types.Implementation(name="parley", version="0.2.0"),
        cache=None,
    )
    async with client:
        sieve.version = client.protocol_version
        follower = asyncio.create_task(_follow(client, changed), name=f"mcp {config.name} changes")
        try:
            yield Session(client)
        finally:
            await end_tasks(follower)


async def _follow(client: Client, changed: Callable[[], None]) -> None:
    """Subscribe to changes if the protocol version needs it; older servers send them anyway."""
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return
    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    changed()
        except (ListenNotSupportedError, MCPError, TimeoutError, ValueError) as error:
            log.debug("it does not report changes of its tools: %s", error)
            return
        except SubscriptionLost:
            pass
        # Changes in between were not reported; and a lost connection shows when the list is requested.
        changed()
        await asyncio.sleep(AGAIN_SECONDS)


@contextlib.contextmanager
def _translated() -> Any:
    try:
        yield
    except MCPError as error:
        if error.code == types.REQUEST_TIMEOUT:
            raise TimeoutError(str(error)) from error
        if error.code == types.CONNECTION_CLOSED:
            raise ServerGone("the connection was closed") from error
        raise ServerRefused(str(error)) from error
    except ValidationError as error:
        raise ServerRefused("its answer does not follow the protocol") from error
    except RuntimeError as error:
        raise ServerGone("the connection was closed") from error


def _listed(tool: types.Tool) -> ListedTool:
    hints, meta = tool.annotations, tool.meta or {}
    return ListedTool(
        name=tool.name,
        title=tool.title or (hints.title if hints is not None else None) or "",
        description=tool.description or "",
        parameters=meta.get(SCHEMA, tool.input_schema),
        read_only=hints is not None and hints.read_only_hint is True,
        destroys=hints is None or hints.destructive_hint is not False,
        closed=hints is not None and hints.open_world_hint is False,
        left_out=tuple(f"its {one}" for one in meta.get(LEFT_OUT, ())),
        as_task=tool.execution is not None and tool.execution.task_support == "required",
    )


def _transport(config: ServerConfig, ended: Callable[[], None], words: LastWords) -> AbstractAsyncContextManager[Any]:
    match config.reach:
        case Command() as command:
            return process_transport(command, config.name, ended, words)
        case Endpoint() as endpoint:
            return _http_transport(endpoint)


@asynccontextmanager
async def _http_transport(endpoint: Endpoint) -> AsyncGenerator[Any, None]:
    # Without compression a body is as large as it looks.
    headers = {"Accept-Encoding": "identity", **endpoint.headers}
    limits = httpx2.Timeout(30.0, read=None)
    context = await asyncio.to_thread(trusted, httpx2_context)
    async with (
        httpx2.AsyncClient(
            headers=headers,
            timeout=limits,
            event_hooks={"response": [_limit]},
            trust_env=False,
            proxy=proxy_before(endpoint.url, "the MCP server"),
            verify=context,
        ) as http,
        streamable_http_client(endpoint.url, http_client=http, max_sse_event_size=MOST_MESSAGE_BYTES) as streams,
    ):
        yield streams


async def _limit(response: httpx2.Response) -> None:
    """Limit the size of a message; the bytes of an event are limited by the SDK."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("the server compresses although it was asked not to", request=response.request)
    events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    response.stream = _Limited(response.stream, events=events)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, *, events: bool) -> None:
        self._stream = stream
        self._events = events
        self._values = ValueCounter()
        self._line_ended = False
        self._noise = flood.noise()
        self._line_begins, self._in_comment = True, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MOST_MESSAGE_BYTES and not self._events:
                raise httpx2.StreamError(f"the answer has more than the {MOST_MESSAGE_BYTES} bytes that are taken")
            self._count(chunk)
            if self._events:
                self._listen(chunk)
            yield chunk

    def _listen(self, chunk: bytes) -> None:
        """Count everything outside messages: comments and empty lines.

        Raises:
            StreamError: there is too much of it.
        """
        first, *lines = chunk.split(b"\n")
        if self._line_begins:
            lines.insert(0, first)
            first = b""
        size = len(first) if self._in_comment else 0
        size += sum(len(line) + 1 for line in lines if not line or line[:1] in (b":", b"\r"))
        if lines:
            self._line_begins, self._in_comment = not lines[-1], lines[-1][:1] == b":"
        try:
            self._noise.take(size)
        except flood.Flooded as error:
            raise httpx2.StreamError(str(error)) from error

    def _count(self, chunk: bytes) -> None:
        """Count each message's content: a body is one message, a stream has one between empty lines.

        Raises:
            StreamError: it contains too much to parse.
        """
        messages = [chunk]
        if self._events:
            lines = (b"\n" if self._line_ended else b"") + chunk.replace(b"\r", b"")
            self._line_ended = lines.endswith(b"\n")
            messages = lines.split(b"\n\n")
        for number, message in enumerate(messages):
            if number:
                self._values = ValueCounter()
            if self._values.feed(message) > MOST_VALUES:
                raise httpx2.StreamError(f"the answer has more than the {MOST_VALUES} values that are taken")

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Sieve:
    """A transport that repairs messages that the client would refuse as a whole for one bad part."""

    def __init__(self, transport: AbstractAsyncContextManager[Any], server: str, cut: Callable[[str], None]) -> None:
        """
        Args:
            cut: called with the reason if the connection must end.
        """
        self._transport = transport
        self._server = server
        self._cut = cut
        self._unasked = flood.unasked()
        self._calls: set[types.RequestId] = set()
        """Tool calls without an answer yet."""
        self._lost = 0
        self._mended = False
        self.version = ""

    async def __aenter__(self) -> tuple[Any, Any]:
        reading, writing = await self._transport.__aenter__()
        return _SievedStream(reading, self), _NotedStream(writing, self)

    async def __aexit__(self, *exc: Any) -> bool | None:
        return await self._transport.__aexit__(*exc)

    def note(self, item: SessionMessage) -> None:
        """Remember which answers will be tools' answers."""
        match item.message:
            case types.JSONRPCRequest(method="tools/call", id=number):
                self._calls.add(number)
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                self._calls.discard((params or {}).get("requestId"))

    def pass_on(self, item: Any) -> Any:
        """Return the item, repaired.

        Raises:
            EndOfStream: the server floods.
        """
        try:
            return self._mend(item)
        except flood.Flooded as error:
            self._cut(str(error))
            raise anyio.EndOfStream from error

    def _mend(self, item: Any) -> Any:
        message = item.message if isinstance(item, SessionMessage) else None
        if not (isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id in self._calls):
            self._unasked.take()
        if isinstance(message, types.JSONRPCError):
            self._calls.discard(message.id)
        if isinstance(message, types.JSONRPCResponse):
            if message.id in self._calls:
                self._calls.discard(message.id)
                message.result = self._answer(message.result)
            elif isinstance(message.result.get("tools"), list) and not self._is_list(message.result):
                self._mend_list(message.result)
        return item

    def _answer(self, result: dict[str, Any]) -> dict[str, Any]:
        cut_answer(result)
        if self._is_answer(result):
            return result
        if not self._mended:
            self._mended = True
            log.warning("MCP server %r: an answer does not follow the protocol; what can be read is used", self._server)
        return mended_answer(result, self._is_answer)

    def _mend_list(self, result: dict[str, Any]) -> None:
        del result["tools"][MOST_TOOLS * 2 :]
        lost = mend_list(result, self._is_list)
        if lost != self._lost:
            self._lost = lost
            log.warning("MCP server %r: %d tools that have no name were left out", self._server, lost)

    def _is_list(self, result: dict[str, Any]) -> bool:
        return self._follows("tools/list", _LIST, result)

    def _is_answer(self, result: dict[str, Any]) -> bool:
        return self._follows("tools/call", _ANSWER, result)

    def _follows(self, method: str, form: TypeAdapter[Any], result: dict[str, Any]) -> bool:
        try:
            methods.validate_server_result(method, self.version, result)
            form.validate_python(result, by_name=False)
        except (ValueError, KeyError):
            return False
        return True


class _SieveEnd:
    """A stream for the SDK that goes through a `_Sieve`."""

    def __init__(self, stream: Any, sieve: _Sieve) -> None:
        self._stream = stream
        self._sieve = sieve

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        closed: bool | None = await self._stream.__aexit__(*exc)
        return closed


class _SievedStream(_SieveEnd):
    """Filters what is read."""

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return self._sieve.pass_on(await self._stream.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _NotedStream(_SieveEnd):
    """Reports the requests that are written."""

    async def send(self, item: SessionMessage) -> None:
        self._sieve.note(item)
        await self._stream.send(item)
