"""The registry with MCP servers: what it offers, and what it costs to those who have none."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.mcp.conftest import Bench
from tools.calling.function import tool
from tools.calling.registry import ToolRegistry
from tools.contract.base import Tool, ToolResult


@tool()
async def echo(word: str) -> ToolResult | str:
    """Say it again."""
    return word


async def test_our_own_tool_is_preferred_over_a_server_s(bench: Bench) -> None:
    own: list[Tool] = [echo]
    bench.registry = ToolRegistry(own)
    await bench.open({"e": bench.plain("good")})

    specs = {spec.name: spec for spec in bench.registry.specs()}

    assert specs["echo"].use_when == "Preferred over e__echo"
    assert specs["e__echo"].use_when.startswith("Fallback for echo: ")
    assert bench.registry.specs() is bench.registry.specs(), "nothing is worked out again while nothing changes"


async def test_the_bot_runs_while_the_library_is_loaded_and_servers_start(bench: Bench) -> None:
    """Loading takes half a second or more of the processor, in a thread."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await bench.open({"e": bench.plain("good")})
    ticking.cancel()

    assert ticks > 2


def test_without_a_configuration_the_library_is_never_loaded(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from tools import open_registry\n"
        "from tools.settings import McpSettings\n"
        "async def main():\n"
        "    registry = open_registry({'mcp': McpSettings()})\n"
        "    await registry.settle(5)\n"
        "    registry.specs()\n"
        "    await registry.close()\n"
        "asyncio.run(main())\n"
        "import tools.mcp.source\n"
        "assert not {'mcp', 'mcp_types', 'anyio', 'httpx2'} & set(sys.modules), sys.modules.keys()\n"
    )
    root = Path(__file__).parents[3]

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={"PYTHONPATH": str(root)}, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


async def test_what_the_operator_says_of_a_tool_is_told_with_it(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    told = {"category": "tests", "useWhen": "the person tests", "prefer": {"e__fine": "words", "gone": "nothing"}}
    wrong = {"examples": [{"word": 5}, {"word": "tea"}]}

    await bench.open({"e": bench.plain("malformed", describe={"circle": told, "fine": wrong, "absent": told})})

    specs = {spec.name: spec for spec in bench.registry.specs()}
    assert specs["e__circle"].description.startswith("[tests] ")
    assert "Use when: the person tests. Not for: for words prefer e__fine." in specs["e__circle"].description
    assert specs["e__fine"].examples == ({"word": "tea"},)
    assert "'fine': an example in the file does not fit: {'word': 5}" in caplog.text
    assert "'absent' is described in the file and not listed by the server" in caplog.text
