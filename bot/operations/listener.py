"""A listening port."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from typing import TYPE_CHECKING, Any, Final

from bot.contract import LogThrottle, SettingsError, SystemClock

if TYPE_CHECKING:
    from aiohttp import web


_LOG = logging.getLogger("aiohttp.server")
_OWN_LOG: Final = logging.getLogger(__name__)
_BACKLOG: Final = 128
"""Connections that the system queues until they are accepted."""
_MOST_DESCRIPTORS: Final = 65_536


class Port:
    """Base class of a listener on a port."""

    _listening: asyncio.Server
    _runner: web.AppRunner

    async def __aexit__(self, *exc: object) -> None:
        self._listening.close()
        await self._runner.cleanup()

    @property
    def port(self) -> int:
        """The port it listens on; chosen by the system when the setting is 0."""
        return int(self._listening.sockets[0].getsockname()[1])

    async def listen(
        self, app: web.Application, host: str, port: int, setting: str, logger: logging.Logger = _LOG
    ) -> None:
        """Serve an application at an address until the block ends.

        Args:
            logger: gets requests that are not HTTP, with a traceback for each.

        Raises:
            SettingsError: the address cannot be used; `setting` names the port.
        """
        from aiohttp import web

        from bot.operations.connections import Connections

        connections = Connections(app, logger)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        connections.server = runner.server
        loop = asyncio.get_running_loop()
        try:
            # One is accepted in a turn of the loop: without free descriptors asyncio keeps accepting as often as its
            # backlog, and starts again after each of these failures, so they double every second.
            self._listening = await loop.create_server(connections, host, port, backlog=1)
        except OSError as error:
            await runner.cleanup()
            raise _no_address(error, host, port, setting) from None
        for one in self._listening.sockets:
            with one.dup() as same:
                same.listen(_BACKLOG)
        loop.set_exception_handler(_Faults())
        self._runner = runner


class _Faults:
    """Logs the event loop's errors as usual, but only once that no connection can be accepted."""

    def __init__(self) -> None:
        self._full = LogThrottle(_OWN_LOG, SystemClock(), logging.ERROR)

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "socket" in context and isinstance(context.get("exception"), OSError):
            self._full.warn(f"no connection can be accepted: {context['exception']}")
        else:
            loop.default_exception_handler(context)


def raise_descriptor_limit() -> None:
    """Raise this process's limit of open files and connections to the system's maximum."""
    try:
        import resource
    except ImportError:  # not Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _no_address(error: OSError, host: str, port: int, setting: str) -> SettingsError:
    """Return why an address cannot be used."""
    # From 3.13 on asyncio skips addresses that are not this machine's, and then has none left: no error number.
    if isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, None):
        where = setting.replace("_PORT", "_HOST")
        return SettingsError(
            f"{where} {host!r} is not an address of this machine; write 127.0.0.1, or 0.0.0.0 for all of its addresses"
        )
    return SettingsError(f"{setting} {port} at {host} cannot be used ({error.strerror}); choose another or unset it")
