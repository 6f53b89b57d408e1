"""Asked to end, the process is gone within ten seconds, whatever hangs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Process, World
from tests.patience import PATIENCE, slowed

SERVER = Path(__file__).parents[1] / "tools" / "mcp" / "servers" / "plain.py"
WORDS = " ".join(f"word{number}" for number in range(60))
LONGEST = 10.0


async def until(seen: Callable[[], object], seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while not seen():
            await asyncio.sleep(0.01)


def stubborn_servers(world: World, count: int = 3) -> Callable[[], list[int]]:
    """Give the bot MCP servers that end for nobody; which of their processes run, asked at any time."""
    files = [world.data / f"brood{number}" for number in range(count)]
    entries = {
        f"b{number}": {"command": sys.executable, "args": [str(SERVER), "brood", str(file)]}
        for number, file in enumerate(files)
    }
    (world.data / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    world.settings["MCP_CONFIG"] = str(world.data / "mcp.json")

    def running() -> list[int]:
        pids = [int(pid) for file in files if file.exists() for pid in file.read_text().split()]
        return [pid for pid in pids if alive(pid)]

    return running


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextmanager
def locked(world: World, how: str) -> Iterator[None]:
    """Another program holds the database."""
    other = sqlite3.connect(world.data / "parley.db", isolation_level=None)
    try:
        other.execute(f"BEGIN {how}")
        yield
    finally:
        other.close()


async def stopped(process: Process) -> float:
    """How long it takes to end in order, once it is asked to."""
    since = time.monotonic()
    async with asyncio.timeout(PATIENCE):
        code = await process.stop()
    seconds = time.monotonic() - since
    assert code == 0, process.said
    return seconds


async def test_with_nothing_under_way_servers_that_end_for_nobody_hold_up_the_end_for_seconds_only(
    world: World, process: Process
) -> None:
    running = stubborn_servers(world)
    await process.start()
    await world.slack.sockets.until_connected(1)
    await until(lambda: len(running()) == 9)

    seconds = await stopped(process)

    assert seconds < slowed(6), process.said
    await until(lambda: not running(), PATIENCE)


async def test_a_turn_a_last_edit_stubborn_servers_and_a_locked_database_are_over_within_the_deadline(
    world: World, process: Process
) -> None:
    running = stubborn_servers(world)
    world.telegram.person(7, "Ada")
    world.telegram.person(8, "Bob")
    world.model.script = lambda body: (
        Reply("One two three four five.")
        if "bob" in str(body["messages"][-1])
        else Reply(f"Here it is: {WORDS}", hang_after=80, words_per_second=200)
    )
    await process.start()
    await world.slack.sockets.until_connected(1)
    await until(lambda: len(running()) == 9)
    last_edit = world.telegram.faults.add("editMessageText", Fault(hold=asyncio.Event()))
    world.telegram.say(8, "please tell bob", person=8)
    await asyncio.wait_for(last_edit.reached.wait(), PATIENCE)
    world.telegram.say(7, "please tell ada", person=7)
    await world.telegram.screen.until(lambda screen: screen.of("7") and len(screen.of("7")[0].versions) > 1)

    with locked(world, "IMMEDIATE"):
        seconds = await stopped(process)

    assert seconds < slowed(LONGEST), process.said
    assert "I am restarting" in world.telegram.screen.of("7")[0].text, "no store is needed to say so"
    await until(lambda: not running(), PATIENCE)


async def test_a_start_that_waits_for_a_locked_database_ends_when_it_is_asked_to(
    world: World, process: Process
) -> None:
    await process.start()
    await world.slack.sockets.until_connected(1)
    await process.kill()

    with locked(world, "EXCLUSIVE"):
        await process.start()
        lock = world.data / "parley.db.run.lock"
        await until(lambda: lock.read_text().split()[:1] == [str(process.child.pid)])
        seconds = await stopped(process)

    assert seconds < slowed(LONGEST), process.said
