"""Ruff, as part of the suite: it takes a moment. Types are checked by `.ci/run`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_code_passes(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}

    told = subprocess.run(
        [sys.executable, *CHECKS[name]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert told.returncode == 0, told.stdout + told.stderr
