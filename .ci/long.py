"""`python .ci/long.py`: write `tests/long.txt` anew, from a run of all tests: some ten minutes on two quiet cores.

It says how long each test takes that takes more than 0.1 s of processor time, all its cases together. What takes long
seldom breaks alone: so the README's line and the other Pythons of `.ci/run` leave it out, each from a limit of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPENT = "PARLEY_TESTS_SPENT"
"""The folder in which each process that runs tests leaves what they took."""
LONG = 0.1
"""Seconds of processor time from which on a test is worth a line."""

_spent: Counter[str] = Counter()


def _processor_time() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    began = _processor_time()
    ran = yield
    _spent[item.nodeid.partition("[")[0]] += _processor_time() - began
    return ran


def pytest_sessionfinish() -> None:
    place = Path(os.environ[SPENT], f"{os.getpid()}.spent")
    place.write_text(json.dumps(_spent), encoding="utf-8")


def main() -> int:
    spent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        walk = [sys.executable, "-m", "pytest", "-q", "-n", "4", "-p", "long", "tests"]
        here = os.environ | {SPENT: folder, "PYTHONPATH": str(Path(__file__).parent)}
        subprocess.run(walk, cwd=ROOT, env=here, check=True)
        for place in Path(folder).glob("*.spent"):
            spent.update(json.loads(place.read_text(encoding="utf-8")))
    lines = (f"{seconds:.2f} {test}\n" for test, seconds in sorted(spent.items()) if seconds > LONG)
    (ROOT / "tests" / "long.txt").write_text("".join(lines), encoding="utf-8")
    print(f"{sum(spent.values()):.0f} s of processor time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
