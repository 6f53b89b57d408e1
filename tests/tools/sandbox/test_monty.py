"""The backend for machines without namespaces."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.patience import LATE, slowed
from tools.sandbox.cell import SandboxFailed
from tools.sandbox.limits import MIB, Limits
from tools.sandbox.monty import Monty

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pydantic_monty") is None, reason="pydantic-monty is not installed (extra: code)"
)


@pytest.fixture
async def monty() -> AsyncIterator[Monty]:
    backend = Monty(Limits(wall=slowed(0.5), memory=64 * MIB))
    yield backend
    await backend.close()


async def test_it_keeps_state_for_each_chat_alone(monty: Monty) -> None:
    await monty.run("one", "x = 41", LATE)

    assert (await monty.run("one", "print('said')\nx + 1", LATE)).value == "42"
    assert "NameError" in (await monty.run("two", "x", LATE)).error


async def test_errors_show_the_line_and_keep_the_variables(monty: Monty) -> None:
    await monty.run("chat", "x = 1", LATE)
    cell = await monty.run("chat", "y = 2\n1 / 0", LATE)

    assert "line 2" in cell.error
    assert "ZeroDivisionError" in cell.error
    assert (cell.lost, (await monty.run("chat", "x + y", LATE)).value) == (False, "3")
    assert "SyntaxError" in (await monty.run("chat", "def f(:", LATE)).error


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\nwhile True: time.sleep(1)",  # one sleep alone ends after ten seconds, whatever it asks for
        "'a' * 10**10",
        "10 ** 10 ** 9",
        "x = []\nwhile True: x.append('a' * 10**6)",
        "while True: print('x' * 1000)",
        "def f(): return f()\nf()",
    ],
)
async def test_what_goes_too_far_is_stopped_in_time(monty: Monty, code: str) -> None:
    began, margin = time.monotonic(), slowed(1.0)

    cell = await monty.run("chat", code, LATE)

    assert time.monotonic() - began < monty.limits.wall + max(margin, slowed(1.0))
    assert cell.error
    assert (await monty.run("chat", "6 * 7", LATE)).value == "42"


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "import os\nos.environ",
        "import os\nos.getenv('HOME')",
        "import os\nos.listdir('/')",
        "import os\nos.system('id')",
        "import socket",
        "import subprocess",
        "import ctypes",
        "from pathlib import Path\nPath('/etc/passwd').read_text()",
        "().__class__.__base__.__subclasses__()",
    ],
)
async def test_nothing_of_the_machine_is_in_reach(monty: Monty, code: str) -> None:
    assert (await monty.run("chat", code, LATE)).error


async def test_its_workers_have_no_environment(monty: Monty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD_BOT_TOKEN", "canary")
    await monty.run("chat", "1", LATE)

    own = Path("/proc/self/task").resolve()
    children = [pid for task in own.iterdir() for pid in (task / "children").read_text().split()]
    workers = [pid for pid in children if b"monty" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    assert workers
    assert all(b"canary" not in Path(f"/proc/{pid}/environ").read_bytes() for pid in workers)


async def test_a_cancelled_cell_ends_its_interpreter_and_the_next_one_says_so(monty: Monty) -> None:
    await monty.run("chat", "x = 1", LATE)
    task = asyncio.create_task(monty.run("chat", "while True: pass", LATE))
    while not monty._places["chat"].waiting:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    cell = await monty.run("chat", "1", LATE)

    assert cell.value == "1"
    assert "an earlier cell was stopped" in cell.notes[0]


async def test_its_self_test_passes_and_leaves_nothing(monty: Monty) -> None:
    await monty.check()

    assert not monty._places
    assert "Monty" in monty.summary


async def test_an_interpreter_that_reads_files_fails_the_self_test(
    monty: Monty, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = monty.run

    async def run(scope: str, code: str, seconds: float):  # type: ignore[no-untyped-def]
        return await real(scope, "'root:x:0'" if "passwd" in code else code, seconds)

    monkeypatch.setattr(monty, "run", run)

    with pytest.raises(SandboxFailed, match="does not confine"):
        await monty.check()
