"""Try the agents of other authors that the settings name: each is loaded and opened, and asked nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Final

from bot.app import name_agents, open_agent
from bot.contract import SettingsError
from bot.settings import ChannelsFile, Configuration
from tools.contract.findings import Finding

OPEN_SECONDS: Final = 30.0


async def examine_agents(configuration: Configuration, channels: ChannelsFile) -> AsyncIterator[Finding]:
    """Yield a finding for each agent, in one sentence."""
    for name, setting in name_agents(configuration.core.agent, channels).items():
        try:
            async with asyncio.timeout(OPEN_SECONDS), AsyncExitStack() as stack:
                await open_agent(name, setting, configuration.file, stack)
        except SettingsError as error:
            yield Finding.bad(str(error))
        except TimeoutError:
            yield Finding.bad(f"{setting}: the agent {name!r} did not open and close within {OPEN_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001 - it closes as its author likes
            yield Finding.bad(f"{setting}: the agent {name!r} cannot be closed: {type(error).__name__}")
        else:
            yield Finding.ok(f"{name} can be loaded ({setting}); it was asked nothing")
