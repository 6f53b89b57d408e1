"""Which branches the tests take: `PARLEY_TESTS_COUNT=yes pytest -n 0 --forks 4 --count FILE` writes them as JSON, for
`.ci/floors.py`.

slipcover counts by what it puts into the code; the tests take a quarter longer than without. It is no part of the
environment of the tests; `.ci/run` installs it.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

from tests.forks import Tally

ROOT = Path(__file__).parent.parent
PLACES = [str(ROOT / name) for name in ("bot", "adapters", "tools")]
RARE = 1_000_000
"""After so many times on a line its mark is taken out, for which all code is looked through: tenths of a second."""
# Before what is counted is loaded; no program that a test starts is told.
_slipcover = importlib.import_module("slipcover") if os.environ.pop("PARLEY_TESTS_COUNT", None) else None
_counts = _slipcover and _slipcover.Slipcover(branch=True, d_miss_threshold=RARE)
if _slipcover is not None:
    _slipcover.ImportManager(_counts, _slipcover.FileMatcher(sources=PLACES)).__enter__()


class Branches(Tally):
    """The sum of what all forks have taken, written as the tests end."""

    def __init__(self, report: Path) -> None:
        if _slipcover is None or _counts is None:
            raise ValueError("--count needs PARLEY_TESTS_COUNT=yes in the environment, and slipcover")
        self._report = report
        self._merge = _slipcover.merge_coverage
        # What no test loads is there as well, and nothing of it taken.
        self._taken = _slipcover.Slipcover(branch=True, source=PLACES).get_coverage()

    def say(self) -> str:
        return json.dumps(_counts.get_coverage())  # type: ignore[union-attr]

    def hear(self, said: str) -> None:
        self._taken = self._merge(self._taken, json.loads(said))

    def write(self) -> None:
        self._report.parent.mkdir(parents=True, exist_ok=True)
        self._report.write_text(json.dumps(self._taken), encoding="utf-8")
