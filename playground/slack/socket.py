"""Socket Mode: several connections of one app, each envelope to one of them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from aiohttp import WSMsgType, web

from playground.slack.delivery import EVENTS, Deliveries, Delivery
from playground.slack.errors import Json
from playground.slack.workspace import Workspace


@dataclass(slots=True, eq=False)
class Connection:
    """One open socket of the app."""

    socket: web.WebSocketResponse
    number: int
    retiring: bool = False
    """Told to go away; it gets no more envelopes but may still acknowledge."""


class Sockets:
    """The app's connections; envelopes take turns on them."""

    def __init__(self, workspace: Workspace, deliveries: Deliveries) -> None:
        self._workspace, self._deliveries = workspace, deliveries
        self._tickets: set[str] = set()
        self._turn = 0
        self._opened = 0
        self._changed = asyncio.Event()
        self.connections: list[Connection] = []
        self.received: list[tuple[int, str]] = []
        """(connection number, envelope id) of every envelope sent."""

    def ticket(self) -> str:
        """The address for one new connection; it works once."""
        ticket = self._workspace.new_id("K")
        self._tickets.add(ticket)
        base = self._workspace.base.replace("http://", "ws://")
        return f"{base}/link/?ticket={ticket}&app_id={self._workspace.app_id}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """A connection from its first to its last frame."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=403, text="invalid ticket")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(max_msg_size=16 * 1024 * 1024)
        await socket.prepare(request)
        if len(self.connections) >= self._workspace.limits.connections:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets", "debug_info": {}})
            await socket.close()
            return socket
        self._opened += 1
        connection = Connection(socket, self._opened)
        self.connections.append(connection)
        debug = {"host": "applink-1", "approximate_connection_time": 18_060}
        info = {"app_id": self._workspace.app_id}
        hello = {
            "type": "hello",
            "num_connections": len(self.connections),
            "debug_info": debug,
            "connection_info": info,
        }
        try:
            await socket.send_json(hello)
            self._wake()
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    self._acknowledged(frame.data)
        except ConnectionError:
            pass
        finally:
            if connection in self.connections:
                self.connections.remove(connection)
            self._wake()
        return socket

    async def transmit(self, delivery: Delivery, envelope_id: str) -> str:
        """Send an attempt on the connection whose turn it is."""
        envelope: Json = {"envelope_id": envelope_id, "payload": delivery.payload, "type": delivery.kind}
        envelope["accepts_response_payload"] = delivery.kind != EVENTS
        if delivery.kind == EVENTS:
            envelope |= {"retry_attempt": delivery.retry, "retry_reason": delivery.reason if delivery.retry else ""}
        usable = [c for c in self.connections if not c.retiring and not c.socket.closed]
        if not usable:
            return "connection_failed"
        self._turn += 1
        connection = usable[self._turn % len(usable)]
        try:
            await connection.socket.send_json(envelope)
        except ConnectionError:
            return "connection_failed"
        self.received.append((connection.number, envelope_id))
        return ""

    async def disconnect(self, reason: str = "refresh_requested", number: int | None = None) -> None:
        """Ask a connection (every one, without `number`) to be replaced: `refresh_requested` or `warning`."""
        for connection in list(self.connections):
            if number in (None, connection.number):
                # A warning comes some ten seconds before the end; the connection still works until then.
                connection.retiring = reason != "warning"
                await connection.socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "1"}})

    async def ping(self) -> None:
        """A ping frame on every connection."""
        for connection in list(self.connections):
            await connection.socket.ping(b"playground")

    async def drop(self) -> None:
        """Close every connection without a word."""
        for connection in list(self.connections):
            await connection.socket.close()

    async def until_connected(self, count: int = 1, seconds: float = 120.0, *, since: int = 1) -> None:
        """Wait until that many connections take envelopes; only those from number `since` on count.

        Raises:
            TimeoutError: there were not as many within `seconds`.
        """
        async with asyncio.timeout(seconds):
            while sum(not c.retiring and c.number >= since for c in self.connections) < count:
                await self._changed.wait()

    def _acknowledged(self, frame: str) -> None:
        try:
            body = json.loads(frame)
        except ValueError:
            return
        if isinstance(body, dict) and isinstance(body.get("envelope_id"), str):
            answer = body.get("payload")
            self._deliveries.acknowledge(body["envelope_id"], answer if isinstance(answer, dict) else None)

    def _wake(self) -> None:
        # Whoever waits holds the old event; the next change gets a new one.
        self._changed.set()
        self._changed = asyncio.Event()
