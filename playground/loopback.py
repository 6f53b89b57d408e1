"""Serving an emulator on a loopback port, and letting its calls meet the faults that wait for them."""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web

from playground.faults import Fault


class Loopback:
    """One aiohttp application on one port; port 0 takes a free one, `others` more are tried when `port` is taken.

    A handler is cancelled when its client leaves, so that a server can tell who hung up early.
    """

    def __init__(self, app: web.Application, host: str = "127.0.0.1", port: int = 0, *, others: int = 0) -> None:
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        self._host = host
        self._port = port
        self._others = others

    @property
    def url(self) -> str:
        """The root address, without a slash at the end."""
        return f"http://{self._host}:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    async def open(self) -> None:
        """Listen.

        Raises:
            OSError: the port, and every other that may be tried, is taken.
        """
        await self._runner.setup()
        last = self._port + self._others
        for port in range(self._port, last + 1):
            site = web.TCPSite(self._runner, self._host, port)
            try:
                await site.start()
            except OSError:
                if port == last:
                    await self._runner.cleanup()
                    raise
            else:
                break
        self._port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Stop listening; calls still in the air are cut off."""
        await self._runner.cleanup()


async def before(fault: Fault | None, request: web.Request, body: str = "") -> web.StreamResponse | None:
    """Let `fault` happen to a call that has arrived; what to answer instead of doing it, if anything.

    `body` is what the service sends with the fault's status when the fault brings no body of its own.
    """
    if fault is None:
        return None
    if fault.delay:
        await asyncio.sleep(fault.delay)
    if fault.hold is not None:
        await fault.hold.wait()
    if fault.drop == "before":
        return hang_up(request)
    if fault.status:
        headers = dict(fault.headers)
        if fault.retry_after:
            headers.setdefault("Retry-After", f"{fault.retry_after:g}")
        headers.setdefault("Content-Type", "application/json")
        return web.Response(status=fault.status, headers=headers, body=(fault.body or body).encode())
    return None


async def after(fault: Fault | None, request: web.Request) -> web.StreamResponse | None:
    """Let `fault` happen to a call that is done but not answered; what to answer instead, if anything."""
    if fault is None:
        return None
    if fault.hold_after is not None:
        await fault.hold_after.wait()
    if fault.drop == "after":
        return hang_up(request)
    return odd(fault) if fault.answer is not None else None


def odd(fault: Fault) -> web.Response:
    """The answer that a fault puts in the place of a good one."""
    return web.Response(text=fault.answer, content_type="application/json")


def hang_up(request: web.Request, *, reset: bool = False) -> web.StreamResponse:
    """Close the connection under the client: in order, or with a reset. The response is for the caller to return."""
    transport = request.transport
    if transport is not None:
        if reset:
            connection: socket.socket = transport.get_extra_info("socket")
            # A linger time of zero makes the kernel send RST instead of FIN.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
    return web.Response()
