"""`python .ci/walked.py`: write `tests/long.txt` and `tests/walked.txt` anew, from two runs of all tests.

On two quiet cores that takes three quarters of an hour.

The first says how long each test takes that takes more than 0.2 s of processor time, all its cases together. The second
names the tests that take more than 0.2 s of processor time, all their cases together, and in which no branch of the
program is taken that another test does not take. They prove that what is walked is right in one more case, which a
change seldom breaks alone: so they run in `.ci/run` with the first Python, and wherever they are named.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPENT = "PARLEY_TESTS_SPENT"
"""The folder in which each process that runs tests leaves what they took."""
LONG = 0.2
"""Seconds of processor time from which on a test is worth a line."""

_spent: Counter[str] = Counter()


def _processor_time() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    began = _processor_time()
    ran = yield
    _spent[function_of(item.nodeid)] += _processor_time() - began
    return ran


def pytest_sessionfinish() -> None:
    place = Path(os.environ[SPENT], f"{os.getpid()}.spent")
    place.write_text(json.dumps(_spent), encoding="utf-8")


def function_of(name: str) -> str:
    """The name of a test without the case and the phase that coverage's contexts and pytest put behind it."""
    return name.partition("[")[0].partition("|")[0]


def choose(spent: Mapping[str, float], taken: Mapping[str, set[Hashable]]) -> list[str]:
    """Return the tests that can be left out together, so that every branch is still taken: the longest ones first."""
    takers = Counter(branch for branches in taken.values() for branch in branches)
    chosen = []
    for test in sorted((test for test in taken if spent.get(test, 0) > LONG), key=lambda test: -spent[test]):
        if all(takers[branch] > 1 for branch in taken[test]):
            takers.subtract(taken[test])
            chosen.append(test)
    return sorted(chosen)


def read_branches(data: Path, report: Path) -> dict[str, set[Hashable]]:
    """Return the branches that are taken in each test, without those that are taken as the program is loaded."""
    branches = {
        (str(ROOT / name), first, then)
        for name, told in json.loads(report.read_text(encoding="utf-8"))["files"].items()
        for first, then in told["executed_branches"]
    }
    taken: dict[str, set[Hashable]] = defaultdict(set)
    db = sqlite3.connect(data)
    for context, *branch in db.execute(
        """
        SELECT context, path, fromno, tono
        FROM arc JOIN context ON context.id = context_id JOIN file ON file.id = file_id
        """
    ):
        if tuple(branch) in branches:
            taken[function_of(context)].add(tuple(branch))
    db.close()
    loaded = taken.pop("", set())
    return {test: found - loaded for test, found in taken.items()}


def measure(*more: str, **settings: str) -> Counter[str]:
    """Run all tests, and return the seconds of processor time that each took."""
    with tempfile.TemporaryDirectory() as folder:
        walk = [sys.executable, "-m", "pytest", "-q", "-n", "4", "-p", "walked", *more, "tests"]
        here = os.environ | {SPENT: folder, "PYTHONPATH": str(Path(__file__).parent), **settings}
        subprocess.run(walk, cwd=ROOT, env=here, check=True)
        spent: Counter[str] = Counter()
        for place in Path(folder).glob("*.spent"):
            spent.update(json.loads(place.read_text(encoding="utf-8")))
        return spent


def main() -> int:
    spent = measure()  # without counting, which takes as much again
    long = {test: seconds for test, seconds in sorted(spent.items()) if seconds > LONG}
    lines = (f"{seconds:.2f} {test}\n" for test, seconds in long.items())
    (ROOT / "tests" / "long.txt").write_text("".join(lines), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder, "coverage"), Path(folder, "report.json")
        # The list of before must not hide what could be on it.
        counting = ("--cov", "--cov-context=test", "--count-all", f"--cov-report=json:{report}")
        measure(*counting, COVERAGE_FILE=str(data))
        chosen = choose(spent, read_branches(data, report))
    (ROOT / "tests" / "walked.txt").write_text("".join(f"{test}\n" for test in chosen), encoding="utf-8")
    print(f"{len(chosen)} tests, {sum(spent[test] for test in chosen):.0f} of {sum(spent.values()):.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
