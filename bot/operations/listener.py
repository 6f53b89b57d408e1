"""A port of ours."""

from __future__ import annotations

import errno
import logging
import socket
from typing import TYPE_CHECKING

from bot.contract import SettingsError

if TYPE_CHECKING:
    from aiohttp import web


_LOG = logging.getLogger("aiohttp.server")


class Port:
    """Base class of what listens on a port until it is left."""

    _runner: web.AppRunner

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    @property
    def port(self) -> int:
        """The port it listens on; chosen by the system when the setting is 0."""
        return int(self._runner.addresses[0][1])


async def listen(
    app: web.Application, host: str, port: int, setting: str, logger: logging.Logger = _LOG
) -> web.AppRunner:
    """Serve an application at an address; the caller cleans up.

    Args:
        logger: told of requests that are no HTTP, with a traceback for each.

    Raises:
        SettingsError: nobody can listen there; `setting` is the one that names the port.
    """
    from aiohttp import web

    # What is compressed stays so: a signature is over the bytes as they were sent.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, auto_decompress=False, logger=logger)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        # From 3.13 on asyncio passes over addresses that are not this machine's, and then has none left: no number.
        if isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, None):
            where = setting.replace("_PORT", "_HOST")
            raise SettingsError(
                f"{where} {host!r} is no address of this machine; write 127.0.0.1, or 0.0.0.0 for all that it has"
            ) from None
        raise SettingsError(
            f"{setting} {port} at {host} cannot be used ({error.strerror}); choose another or unset it"
        ) from None
    return runner
