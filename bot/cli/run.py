"""`parley run`."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from bot.contract import SettingsError
from bot.operations import Outlet
from bot.settings import Configuration, open_adapters

log = logging.getLogger(__name__)


async def run(
    configuration: Configuration,
    names: Iterable[str],
    outlet: Outlet,
    only: str | None = None,
    *,
    new_settings: bool = False,
) -> None:
    """Run `parley run` until SIGTERM or Ctrl-C; a second signal ends the process at once.

    Args:
        only: `intake` or `turns`: the only half that this process does, of several.
        new_settings: running processes may have other settings.

    Raises:
        SettingsError: it cannot start as configured.
    """
    from bot.cli.standing import standing_faults
    from bot.contract import SystemClock
    from bot.operations import StopRequest, open_tracing, raise_descriptor_limit, set_loaded_apart
    from tools.contract.folders import sweep_folders

    raise_descriptor_limit()
    stop = StopRequest()
    stop.hear()
    adapters = open_adapters(configuration, names)
    with stop.while_starting():
        async with _take_part(configuration, only, new_settings) as (mine, part):
            from bot.app import App  # loads everything, which takes a second; a signal ends the start meanwhile

            async with (
                open_tracing(SystemClock(), outlet, os.environ) as watchers,
                App(mine, adapters, outlet=outlet, watchers=watchers, **part) as app,
            ):
                stop.started()
                set_loaded_apart()
                await asyncio.to_thread(sweep_folders)
                for sentence in standing_faults(configuration.core, app.may_answer):
                    log.warning("%s", sentence)
                await app.serve(stop.asked)
    log.info("stopped")


@asynccontextmanager
async def _take_part(
    configuration: Configuration, only: str | None, new_settings: bool
) -> AsyncIterator[tuple[Configuration, dict[str, Any]]]:
    """Be the one process of a SQLite file, or one of those that share a PostgreSQL database.

    Yields:
        The configuration for this process, and what `App` needs to know about it.
    """
    from bot.store import is_server, lock_database

    core = configuration.core
    if not is_server(core.database_url):
        if only is not None:
            raise SettingsError(
                f"--only {only} is for several processes on one PostgreSQL (DATABASE_URL=postgresql://…): "
                "with a SQLite file one process does both."
            )
        with lock_database(core.database_url, "run"):
            yield configuration, {}
        return
    from bot.cli.installation import read_version
    from bot.cli.sharing import digests_of
    from bot.contract import SystemClock
    from bot.intake import Fleet, Membership, Role, refuse_differences, refuse_other_bots
    from bot.store import is_idle_on_server, list_processes, prepare_server

    clock, digests = SystemClock(), digests_of(configuration)
    # before a later version's tables are made
    others = await asyncio.to_thread(list_processes, core.database_url)
    refuse_other_bots(digests, others)
    if not new_settings:
        refuse_differences(digests, others)
    await asyncio.to_thread(prepare_server, core.database_url, clock.wall())
    name, role = f"{platform.node()} {os.getpid()}", Role(only or Role.ALL)
    member = Membership(
        core.database_url,
        clock,
        name=name,
        version=read_version(),
        configuration=digests,
        may_differ=new_settings,
        role=role,
    )
    async with Fleet.open(member, is_idle_on_server) as fleet:
        own = core.model_copy(update={"database_url": fleet.address_of(core.database_url)})
        log.info("process %r shares the database with the other processes on it", name)
        if not (role.receives and role.answers):
            log.info("this process %s", "only receives" if role.receives else "only answers")
        part = {"ownership": fleet, "locks": fleet, "sessions": fleet, "members": fleet, "worker": fleet.worker}
        yield replace(configuration, core=own), part
