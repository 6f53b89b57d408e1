"""`python .ci/floors.py REPORT`: fail where fewer branches were taken than `tool.floors` of pyproject.toml asks for.

REPORT is what `pytest --count REPORT` wrote.
"""

import json
import sys
import tomllib
from pathlib import Path


def main() -> int:
    floors = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["floors"]
    files = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"]
    missed = 0
    for room, floor in floors.items():
        inside = [of["summary"] for name, of in files.items() if room == "all" or Path(name).is_relative_to(room)]
        taken = sum(summary["covered_branches"] for summary in inside)
        branches = taken + sum(summary["missing_branches"] for summary in inside)
        low = 100 * taken < floor * branches or not branches
        missed += low
        print(f"{'LOW ' if low else 'ok  '}{room}: {taken} of {branches} branches, floor {floor} %")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
