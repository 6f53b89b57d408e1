"""Opening a port of ours."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bot.contract import SettingsError

if TYPE_CHECKING:
    from aiohttp import web


_LOG = logging.getLogger("aiohttp.server")


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
        raise SettingsError(
            f"{setting} {port} at {host} cannot be used ({error.strerror}); choose another or unset it"
        ) from None
    return runner
