"""All MCP servers of a configuration as one source of tools that come and go."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tools.contract.base import Tool, ToolSpec
from tools.contract.names import SEPARATOR, owner
from tools.mcp.config import McpConfig, missing_program, read_config

if TYPE_CHECKING:
    from tools.mcp.server import McpServer, Sleep

log = logging.getLogger(__name__)

NOT_INSTALLED = "MCP servers need mcp, which is not installed: pip install mcp"
STOP_SECONDS = 4.0


class McpSource:
    """The tools of all servers; `start` starts them."""

    def __init__(self, config: McpConfig, *, file: Path | None = None, sleep: Sleep = asyncio.sleep) -> None:
        self._file = file
        self._started = 0.0
        self._problems = dict(config.problems)
        self._servers: list[McpServer] = []
        if config.servers:
            from tools.mcp.server import McpServer

            self._servers = [McpServer(server, sleep=sleep) for server in config.servers]
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def unavailable(self) -> Mapping[str, str]:
        """By server, why its tools are not offered now."""
        down = {server.config.name: server.problem for server in self._servers if not server.up}
        return {f"MCP {name}": reason for name, reason in (self._problems | down).items()}

    @property
    def faults(self) -> Mapping[str, str]:
        """The same without servers that are still starting."""
        starting = {f"MCP {server.config.name}" for server in self._servers if not server.tried.is_set()}
        return {name: reason for name, reason in self.unavailable.items() if name not in starting}

    def could_bring(self, pattern: str) -> bool:
        """Return True if a server that is not up may have a tool of this name or pattern."""
        head = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
        prefixes = [f"{server.config.prefix}{SEPARATOR}" for server in self._servers if not server.up]
        return any(head.startswith(one) or (one.startswith(head) and head != pattern) for one in prefixes)

    def starting(self, permits: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the names of servers in their first start, whose tools may be used."""
        waiting = (server.config for server in self._servers if not server.tried.is_set())
        return tuple(config.name for config in waiting if permits(config.prefix + SEPARATOR))

    async def wait_for(self, tool: str) -> None:
        """Wait for the server of a tool while it is down, for as long as its start may take."""
        for server in self._servers:
            if server.config.prefix == owner(tool):
                await server.wait_up()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values given to servers that may be keys."""
        return tuple(secret for server in self._servers for secret in server.config.secrets)

    def start(self) -> None:
        """Start every server in the background; a second call does nothing."""
        if not self._tasks:
            self._started = asyncio.get_running_loop().time()
            if self._servers:
                log.info("MCP servers of %s: %s", self._file, ", ".join(server.config.name for server in self._servers))
            self._tasks = [
                asyncio.create_task(server.run(), name=f"mcp {server.config.name}") for server in self._servers
            ]

    async def settle(self, seconds: float) -> None:
        """Wait until every server was tried once, up to a limit of seconds since their start."""
        self.start()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._started + seconds):
                for server in self._servers:
                    await server.tried.wait()

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools that can be called now, in the order of the file."""
        return tuple(spec for server in self._servers for spec in server.offered)

    def tool(self, name: str) -> Tool | None:
        """Return a tool by name, even of a server that is restarting."""
        return next((server.tools[name] for server in self._servers if name in server.tools), None)

    async def close(self) -> None:
        """End every server and all processes it started."""
        for server in self._servers:
            server.stop()
        pending = set(self._tasks)
        while pending:
            # A second cancellation ends a server at once; it comes if the first one took too long.
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=STOP_SECONDS)


def _without_missing_programs(config: McpConfig, environment: Mapping[str, str]) -> McpConfig:
    """Leave out servers whose program or folder does not exist, and report them."""
    gone = {server.name: missing_program(server.reach, environment.get("PATH")) for server in config.servers}
    servers = tuple(server for server in config.servers if not gone[server.name])
    return McpConfig(servers, {**config.problems, **{name: why for name, why in gone.items() if why}})


def open_source(file: str, environment: Mapping[str, str] = os.environ) -> McpSource | None:
    """Return the servers of `file` as a source; None if it names none."""
    if not file:
        return None
    path = Path(file).expanduser()
    config = read_config(path, environment)
    if config.servers and importlib.util.find_spec("mcp") is None:
        config = McpConfig((), {**config.problems, path.name: NOT_INSTALLED})
    config = _without_missing_programs(config, environment)
    return McpSource(config, file=path)
