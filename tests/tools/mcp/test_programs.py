"""Servers that are programs: started, called, lost, started again, and gone with us."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.tools.mcp.conftest import Bench
from tools.contract.base import ToolCall, ToolContext
from tools.mcp import process
from tools.mcp.config import Command, read_config
from tools.mcp.errors import LastWords
from tools.mcp.source import McpSource

ROOT = Path(__file__).parents[3]
SERVER = Path(__file__).parent / "servers" / "plain.py"


async def test_a_call_out_of_time_is_a_result_and_the_server_goes_on(bench: Bench) -> None:
    await bench.open({"e": bench.handy(timeout=0.5)})

    result = await bench.call("e__wait")

    assert result.status == "timeout"
    assert "0.5 s" in result.text
    await bench.until(lambda: "cancelled" in bench.journalled())
    assert (await bench.registry.run(ToolCall("1", "e__add", {"a": 2, "b": 2}), ToolContext())).text == "4"
    assert sum(line.startswith("pid") for line in bench.journalled()) == 1, "it was not started again"


async def test_a_server_that_crashes_in_a_call_is_started_again(bench: Bench) -> None:
    await bench.open({"e": bench.handy()})
    bench.pauses.held = True

    crashed = await bench.call("e__crash")
    await bench.until(lambda: bench.pauses.asked)

    assert not crashed.ok and not crashed.retry
    assert "unknown" in crashed.text
    assert bench.names == []
    assert bench.registry.unavailable == {"MCP e": "it ended; exit code 3"}
    bench.pauses.held = False
    bench.pauses.go_on()
    assert (await bench.call("e__add", {"a": 1, "b": 2})).text == "3", "a call waits for a server that is on its way"
    assert bench.journalled().count("crashed") == 1, "a call that may have been done is not sent again"


async def test_a_changed_list_is_followed(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.open({"old": bench.plain("legacy")})
    assert "old__later" not in bench.names
    before = bench.registry.spec("old__echo")

    await bench.call("old__echo")
    await bench.until(lambda: "old__later" in bench.names)

    assert (await bench.call("old__later")).ok
    assert bench.registry.spec("old__echo") is before
    assert caplog.text.count("minimum of 'x' ('1')") == 1, "what is odd is said once, however often it is listed"


async def test_lists_of_the_operator_decide_what_is_offered(bench: Bench) -> None:
    await bench.open({"e": bench.plain("pages", allow=["echo1*"], deny=["echo1[0-9]"])})

    assert bench.names == ["e__echo1"]
    assert "There is no tool" in (await bench.call("e__echo10")).text


async def test_the_same_tool_of_two_servers_has_two_names(bench: Bench) -> None:
    await bench.open({"a": bench.plain("good"), "b": bench.plain("good")})

    one, two = await bench.call("a__echo"), await bench.call("b__echo")

    assert bench.names == ["a__echo", "b__echo"]
    assert one.text != two.text, "each says its own process"


async def test_a_child_gets_what_the_file_gives_and_nothing_of_ours(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "canary-of-ours")
    await bench.open({"e": bench.plain("environment", env={"GIVEN": "${VALUE}"})}, {"VALUE": "from-outside"})

    seen = json.loads((await bench.call("e__echo")).text)

    assert seen["GIVEN"] == "from-outside"
    assert "TELEGRAM_BOT_TOKEN" not in seen
    assert set(seen) <= {"GIVEN", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}


async def test_a_server_that_cannot_start_holds_nobody_up(bench: Bench) -> None:
    bench.pauses.held = True
    await bench.open({"missing": {"command": "/no/such/program"}, "e": bench.plain("good")})

    assert bench.names == ["e__echo"]
    assert bench.registry.unavailable["MCP missing"] == (
        "it cannot be started: No such file or directory: '/no/such/program'"
    )


async def test_attempts_come_at_growing_distances(bench: Bench) -> None:
    await bench.open({"missing": {"command": "/no/such/program"}})

    await bench.until(lambda: len(bench.pauses.asked) >= 8)

    assert bench.pauses.asked[:8] == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_nothing_is_left_running_after_closing(bench: Bench, is_alive: Callable[[int], bool]) -> None:
    await bench.open({"e": bench.handy(), "rude": bench.plain("stubborn")})
    pids = [int(pid) for pid in (await bench.call("e__child")).text.split()]
    pids.append(int((await bench.call("rude__echo")).text))
    assert all(is_alive(pid) for pid in pids) and len(pids) == 3

    await bench.registry.close()

    await bench.until(lambda: not [pid for pid in pids if is_alive(pid)])


async def test_closing_while_servers_start_leaves_nothing_running(bench: Bench) -> None:
    """Whatever stage the start has reached: before the process, before the handshake, before the list."""
    for turns in (0, 1, 5, 20, 100):
        file = bench.folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"e": bench.plain("silent"), "f": bench.plain("good")}}))
        source = McpSource(read_config(file, {}))
        source.start()
        for _ in range(turns):
            await asyncio.sleep(0.001)
        await source.close()

    def children() -> list[str]:
        return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit() and is_server(entry)]

    def is_server(entry: Path) -> bool:
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            return parent == str(os.getpid()) and f"\0{SERVER}\0" in (entry / "cmdline").read_text()
        except OSError:
            return False

    await bench.until(lambda: not children())


async def test_a_cancelled_program_leaves_nothing_running(bench: Bench, is_alive: Callable[[int], bool]) -> None:
    """The loop is ended around everything, as by Ctrl-C, and nobody closes the registry."""
    await bench.open({"e": bench.handy()})
    pids = [int(pid) for pid in (await bench.call("e__child")).text.split()]

    tasks = [task for task in asyncio.all_tasks() if task.get_name().startswith("mcp ")]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)

    await bench.until(lambda: not [pid for pid in pids if is_alive(pid)])


async def brood(bench: Bench) -> list[int]:
    """The processes of a server that ends for nobody, with a child in its group and one that has left it."""
    file = bench.folder / "brood"
    await bench.until(lambda: file.exists() and len(file.read_text().split()) == 3)
    return [int(pid) for pid in file.read_text().split()]


async def test_a_server_that_ends_for_nobody_is_killed_with_all_it_has_started(
    bench: Bench, is_alive: Callable[[int], bool]
) -> None:
    await bench.open({"b": bench.plain("brood", args=[str(SERVER), "brood", str(bench.folder / "brood")])})
    pids = await brood(bench)
    assert all(is_alive(pid) for pid in pids)

    await bench.registry.close()

    assert not [pid for pid in pids if is_alive(pid)]


async def test_what_a_server_has_started_ends_with_it(bench: Bench, is_alive: Callable[[int], bool]) -> None:
    bench.pauses.held = True
    await bench.open({"b": bench.plain("brood", args=[str(SERVER), "brood", str(bench.folder / "brood")])})
    pids = await brood(bench)

    os.kill(pids[0], signal.SIGKILL)

    await bench.until(lambda: not [pid for pid in pids if is_alive(pid)])
    await bench.until(lambda: bench.pauses.asked)
    assert "exit code 137" in bench.registry.unavailable["MCP b"]


async def test_when_we_are_killed_the_servers_and_all_they_have_started_end(
    bench: Bench, is_alive: Callable[[int], bool]
) -> None:
    servers = {
        "e": bench.handy(),
        "b": bench.plain("brood", args=[str(SERVER), "brood", str(bench.folder / "brood")]),
    }
    (bench.folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    program = (
        "import asyncio, os, signal, sys\n"
        "from tools import open_registry\n"
        "from tools.settings import McpSettings\n"
        "async def main():\n"
        "    registry = open_registry({'mcp': McpSettings(mcp_config=sys.argv[1])})\n"
        "    await registry.settle(30)\n"
        "    assert registry.spec('e__add') and registry.spec('b__echo')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )

    ours = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(bench.folder / "mcp.json"), env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert await ours.wait() == -signal.SIGKILL

    pids = [int(bench.journalled()[0].split()[1]), *await brood(bench)]
    await bench.until(lambda: not [pid for pid in pids if is_alive(pid)])


async def test_what_a_server_wrote_before_it_died_is_told(bench: Bench) -> None:
    """Its keys are left out."""
    await bench.open({"d": bench.plain("dies", env={"FORGE_TOKEN": "canary-of-a-token-1"})})

    reason = bench.registry.unavailable["MCP d"]

    assert "exit code 2" in reason and "no database at /srv/forge" in reason
    assert "canary" not in reason
    assert "\n" not in reason


async def test_a_tool_that_runs_only_as_a_task_is_not_offered(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.open({"t": bench.plain("tasks")})

    assert bench.names == ["t__echo", "t__either"]
    assert "'research' is not offered: it runs only as a task" in caplog.text


async def test_waiting_for_servers_ends_so_long_after_their_start(bench: Bench) -> None:
    """A server that never comes up holds up the first seconds, not every turn."""
    await bench.open({"p": bench.plain("pid")})
    assert bench.source is not None
    bench.source.start()
    bench.source._started -= 10.0
    bench.source._servers[0].tried.clear()

    async with asyncio.timeout(PATIENCE):
        await bench.registry.settle(9.0)


async def test_output_that_nobody_read_is_let_go_with_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio reads no further than somebody takes, and so never sees the end of such a pipe."""
    program = """
import json, sys
for _ in range(20_000):
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 100}}))
"""
    for patience in ("PATIENCE_SECONDS", "KEEPER_SECONDS", "WORDS_SECONDS"):
        monkeypatch.setattr(process, patience, 0.2)
    descriptors = Path("/proc/self/fd")
    before = set(descriptors.iterdir())

    command = Command(sys.executable, ("-c", program))
    async with process.process_transport(command, "w", lambda: None, LastWords()) as (said, _):
        await said.receive()
    await asyncio.sleep(0)

    left = [one for one in set(descriptors.iterdir()) - before if one.is_symlink()]
    assert [pipe for one in left if (pipe := str(one.readlink())).startswith("pipe")] == []
