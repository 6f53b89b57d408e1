"""`tests/long.txt`, by which the README's line and the other Pythons leave out what takes long, names tests."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_how_long_a_test_takes_is_told_of_each_once_and_of_none_that_is_gone() -> None:
    """Who renames a test has it run everywhere again; a name without a test says nothing and goes."""
    lines = (ROOT / "tests" / "long.txt").read_text(encoding="utf-8").splitlines()
    names = [name for _, _, name in (line.partition(" ") for line in lines)]
    there = set()
    for file in {name.partition("::")[0] for name in names}:
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                there.add(f"{file}::{node.name}")

    assert all(float(line.partition(" ")[0]) >= 0.1 for line in lines)
    assert names == sorted(set(names)) and not set(names) - there
