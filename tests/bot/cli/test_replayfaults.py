"""Of many different faults in as many written tests' turns, each makes its test fail."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bot.cli.replay import load
from bot.cli.replaytest import write_test
from bot.contract import reference_of
from playground.model import Reply
from tests.bot.cli import faults, test_replay
from tests.bot.cli.replaying import UNLIMITED, Stored, calls, storing
from tests.bot.cli.replaykinds import KINDS, Made

PLATFORMS = ("telegram", "slack", "discord")


def _scripted(*replies: Reply) -> Made:
    async def make(one: Stored) -> int:
        return await one.ask(*replies)

    return make


MADE: Mapping[str, Made] = {
    **KINDS,
    "plain": _scripted(Reply("Tea is a **leaf**.", reasoning="They ask about tea.")),
    "search": _scripted(calls("tea"), Reply("It costs 800 yen [1].")),
    "several": _scripted(calls("tea", "cups"), Reply("Tea [1], cups [2].")),
    "failed": _scripted(calls("nothing"), Reply("The search is away, so I do not know.")),
    "long": _scripted(Reply(test_replay.LONG)),
}


def write_tests(folder: Path, patch: pytest.MonkeyPatch, names: Sequence[str]) -> dict[str, Path]:
    """Store a turn for each fault, of its kind, on one platform after the other; write each as a test."""

    async def work() -> dict[str, Path]:
        files = {}
        for place, platform in enumerate(PLATFORMS):
            turns = {}
            (folder / platform).mkdir()
            async with storing(folder / platform, patch, platform, **UNLIMITED) as one:
                for name in names[place::3]:
                    await one.app.store.settings.set(one.question().chat, "busy", None)
                    turns[name] = await MADE[faults.FAULTS[name][0]](one)
            for name, turn in turns.items():
                files[name] = folder / f"test_{turn}_{platform}.py"
                recording = await load(one.url, reference_of(turn))
                assert await write_test(recording, {}, str(files[name]), str) == "", name
        return files

    return asyncio.run(work())


def fails(file: Path) -> bool:
    """Run a written test in this process; return whether it fails."""
    try:
        runpy.run_path(str(file))["test_the_turn_comes_out_the_same"]()
    except AssertionError:
        return True
    return False


def find_unnoticed(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the faults with which their written test passes, and tests that fail without one."""
    with pytest.MonkeyPatch.context() as patch:
        files = write_tests(folder, patch, names)
    unnoticed = [f"{name}: fails without a fault" for name, file in files.items() if fails(file)]
    for name, file in files.items():
        with pytest.MonkeyPatch.context() as patch:
            faults.FAULTS[name][1](patch)
            if not fails(file):
                unnoticed.append(name)
    return unnoticed


def test_a_planted_fault_makes_its_written_test_fail(tmp_path: Path) -> None:
    assert find_unnoticed(tmp_path, list(faults.FAULTS)[::10]) == []


@pytest.mark.soak
def test_each_of_many_planted_faults_makes_its_written_test_fail(tmp_path: Path) -> None:
    assert len(faults.FAULTS) >= 50
    assert find_unnoticed(tmp_path, list(faults.FAULTS)) == []
