"""The image's recipe, as far as it can be followed without a Docker engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECIPE = (ROOT / "Dockerfile").read_text()


def test_the_image_installs_from_the_lock_with_hashes_and_runs_as_nobody() -> None:
    assert "pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock" in RECIPE
    assert RECIPE.index("USER parley") < RECIPE.index("ENTRYPOINT")
    assert "://" not in RECIPE.replace("http://127.0.0.1:8080/health", "").replace("sqlite:////data/parley.db", "")


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    copied = re.findall(r"^COPY (\S+) ", RECIPE, re.M)
    ignored = (ROOT / ".dockerignore").read_text().split()

    assert {"adapters", "bot", "playground", "tools"} < set(copied)
    for name in copied:
        assert (ROOT / name).exists() and f"!{name}" in ignored


def test_its_command_starts_from_its_folders(tmp_path: Path) -> None:
    """As in the image: the packages by PYTHONPATH, another working directory, nothing configured."""
    entry = json.loads(RECIPE.split("ENTRYPOINT ")[1].splitlines()[0])
    command = json.loads(RECIPE.split("\nCMD ")[1].splitlines()[0])

    told = subprocess.run(
        [sys.executable, *entry[1:], *command],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 2
    assert "no platform is configured" in told.stderr and "Traceback" not in told.stderr
