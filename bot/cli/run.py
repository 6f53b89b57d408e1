"""`parley run`."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from bot.configuration import Configuration, open_adapters
from bot.operations import Outlet

log = logging.getLogger(__name__)


async def run(configuration: Configuration, names: Iterable[str], outlet: Outlet) -> None:
    """`parley run`: until SIGTERM or Ctrl-C; a second one ends the process at once.

    Raises:
        SettingsError: it cannot start as configured.
    """
    from bot.cli.machine import standing_faults
    from bot.operations import StopRequest, set_loaded_apart
    from bot.store import lock_database

    stop = StopRequest()
    stop.hear()
    adapters = open_adapters(configuration, names)
    with lock_database(configuration.core.database_url, "run"), stop.while_starting():
        from bot.app import App  # loads everything, which takes a second: a signal ends the start meanwhile

        async with App(configuration, adapters, outlet=outlet) as app:
            stop.started()
            set_loaded_apart()
            for sentence in standing_faults(configuration.core, app.may_answer):
                log.warning("%s", sentence)
            await app.serve(stop.asked)
    log.info("stopped")
