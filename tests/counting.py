"""Which branches the tests take: `pytest -n 4 --count FILE` writes them as JSON, for `.ci/floors.py`.

slipcover counts by what it puts into the code; the tests take a quarter longer than without. It is no part of the
environment of the tests; `.ci/run` installs it.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = [str(ROOT / name) for name in ("bot", "adapters", "tools")]
_ASKED = "PARLEY_TESTS_COUNT"
"""Tells workers, before they load what is counted; no program that a test starts is told."""

RARE = 1_000_000
"""After so many times on a line its mark is taken out, for which all code is looked through: tenths of a second."""
_slipcover = importlib.import_module("slipcover") if os.environ.pop(_ASKED, None) else None
_counts = _slipcover and _slipcover.Slipcover(branch=True, d_miss_threshold=RARE)
if _slipcover is not None:
    _slipcover.ImportManager(_counts, _slipcover.FileMatcher(sources=PLACES)).__enter__()


class Worker:
    """Tells whoever hands out the tests which branches were taken here."""

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        told: dict[str, str] = session.config.workeroutput  # type: ignore[attr-defined]
        told["branches"] = json.dumps(_counts.get_coverage())  # type: ignore[union-attr]


class Sum:
    """Has each worker count, and writes the sum as the tests end."""

    def __init__(self, report: Path) -> None:
        self._report = report
        slipcover = importlib.import_module("slipcover")
        self._merge = slipcover.merge_coverage
        # What no worker loads is there as well, and nothing of it taken.
        self._taken = slipcover.Slipcover(branch=True, source=PLACES).get_coverage()
        os.environ[_ASKED] = "yes"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        # A worker that died has told nothing.
        if told := getattr(node, "workeroutput", {}).get("branches"):
            self._taken = self._merge(self._taken, json.loads(told))

    def pytest_unconfigure(self) -> None:
        self._report.parent.mkdir(parents=True, exist_ok=True)
        self._report.write_text(json.dumps(self._taken), encoding="utf-8")


def counting(config: pytest.Config, report: str) -> Worker | Sum:
    """Return the plugin that counts in this process; a `UsageError` without workers, which alone can begin in time."""
    if _counts is not None:
        return Worker()
    if not config.getoption("numprocesses"):
        raise pytest.UsageError("--count needs workers: -n 2")
    return Sum(config.rootpath / report)
