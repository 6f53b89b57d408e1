"""Real servers in their own processes, and a registry that uses them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.conftest import RawJson, RawObject
from tests.patience import PATIENCE
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext, ToolResult, ToolSpec
from tools.mcp.config import read_config
from tools.mcp.source import McpSource

SERVERS = Path(__file__).parent / "servers"


class Pauses:
    """Stands for sleeping: writes down how long it should be, and goes on at once or when it is let."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.held = False
        self._go = asyncio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        if self.held:
            await self._go.acquire()
        await asyncio.sleep(0)

    def go_on(self) -> None:
        self._go.release()


class Bench:
    """A registry with the servers of one mcp.json."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal"
        self.pauses = Pauses()
        self.registry = ToolRegistry([], timeout=PATIENCE)
        self.source: McpSource | None = None
        self._calls = 0

    def everything(self, **more: RawJson) -> RawObject:
        """An entry of mcp.json for the server with a tool for every behaviour."""
        return {"command": sys.executable, "args": [str(SERVERS / "everything.py"), str(self.journal)], **more}

    def plain(self, mode: str, **more: RawJson) -> RawObject:
        """An entry for the badly behaved one."""
        return {"command": sys.executable, "args": [str(SERVERS / "plain.py"), mode], **more}

    def handy(self, **more: RawJson) -> RawObject:
        """An entry for one that is well behaved and starts at once, with tools that have to do with its process."""
        return self.plain("handy", args=[str(SERVERS / "plain.py"), "handy", str(self.journal)], **more)

    def listed(self, *tools: RawJson) -> RawObject:
        """An entry for one with these tools, whatever they look like."""
        file = self.folder / "listed.json"
        file.write_text(json.dumps(tools))
        return self.plain("listed", args=[str(SERVERS / "plain.py"), "listed", str(file)])

    async def open(self, servers: Mapping[str, RawJson], environment: Mapping[str, str] | None = None) -> None:
        """Start them, and wait until each was tried once."""
        file = self.folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}))
        self.source = McpSource(read_config(file, environment or {}), sleep=self.pauses)
        self.registry.add_source(self.source)
        await self.registry.settle(PATIENCE)

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.registry.specs()]

    def spec(self, name: str) -> ToolSpec:
        spec = self.registry.spec(name)
        assert spec is not None
        return spec

    async def call(self, name: str, arguments: Mapping[str, RawJson] | None = None, **context: Any) -> ToolResult:
        self._calls += 1
        call = ToolCall(f"call-{self._calls}", name, dict(arguments or {}))
        return await self.registry.run(call, ToolContext(scope=f"chat-{self._calls}", **context))

    def journalled(self) -> list[str]:
        """What happened in the server with a tool for every behaviour."""
        return self.journal.read_text().splitlines() if self.journal.exists() else []

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what happens in another process."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process is in the table and runs; one that is dead and not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    yield made
    await made.registry.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """A bench with the server with a tool for every behaviour, for all tests of a module."""
    made = Bench(tmp_path_factory.mktemp("shared"))
    await made.open({"e": made.everything()})
    yield made
    await made.registry.close()


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    return alive


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The server with a tool for every behaviour as a service for all tests of a module: its port and its journal."""
    journal = tmp_path_factory.mktemp("service") / "journal"
    command = [sys.executable, str(SERVERS / "everything.py"), str(journal), "--http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), journal
        process.kill()


Serve = Callable[[int], Awaitable[tuple[asyncio.subprocess.Process, int]]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Start the server with a tool for every behaviour as a service; its process and its port."""
    started: list[asyncio.subprocess.Process] = []

    async def start(port: int) -> tuple[asyncio.subprocess.Process, int]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(SERVERS / "everything.py"),
            str(tmp_path / "journal"),
            "--http",
            str(port),
            stdout=asyncio.subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        return process, int(await process.stdout.readline())

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()
