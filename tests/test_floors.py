"""`.ci/floors.py`: a room in which too few branches were taken fails the run that counts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FLOORS = Path(__file__).parent.parent / ".ci" / "floors.py"


@pytest.mark.parametrize(
    ("counted", "code", "low"),
    [
        ({"bot/reply/a.py": (49, 50), "bot/reply/b.py": (49, 50), "tools/c.py": (8, 10)}, 0, set()),
        ({"bot/reply/a.py": (48, 50), "bot/reply/b.py": (49, 50), "tools/c.py": (10, 10)}, 1, {"bot/reply"}),
        ({"bot/reply/a.py": (100, 100), "bot/reply_of/b.py": (0, 900)}, 1, {"all"}),
        ({"tools/c.py": (10, 10)}, 1, {"bot/reply"}),
    ],
    ids=["enough", "one branch too few in a room", "too few over all", "a room that is not there"],
)
def test_a_room_below_its_floor_fails_the_run(
    counted: dict[str, tuple[int, int]], code: int, low: set[str], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.floors]\n"bot/reply" = 98\nall = 92\n')
    files = {
        name: {"summary": {"covered_branches": taken, "missing_branches": there - taken}}
        for name, (taken, there) in counted.items()
    }
    (tmp_path / "report.json").write_text(json.dumps({"files": files}))

    told = subprocess.run(
        [sys.executable, str(FLOORS), "report.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert told.returncode == code, told.stderr
    assert {line.split()[1].rstrip(":") for line in told.stdout.splitlines() if line.startswith("LOW")} == low
