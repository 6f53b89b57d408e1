"""`tests/long.txt`, by which the README's line and the other Pythons leave out what takes long, names tests."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHIPPED = {
    (suite.name, one.name)
    for file in (ROOT / "parley_chat/contract").glob("*.py")
    for suite in ast.parse(file.read_text(encoding="utf-8")).body
    if isinstance(suite, ast.ClassDef)
    for one in suite.body
    if isinstance(one, ast.AsyncFunctionDef)
}
"""The tests of the suites that are shipped, as (class, name)."""


def test_how_long_a_test_takes_is_told_of_each_once_and_of_none_that_is_gone() -> None:
    """Who renames a test has it run everywhere again; a name without a test says nothing and goes."""
    lines = (ROOT / "tests" / "long.txt").read_text(encoding="utf-8").splitlines()
    names = [name for _, _, name in (line.partition(" ") for line in lines)]
    there = set()
    for file in {name.partition("::")[0] for name in names}:
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                there.add(f"{file}::{node.name}")
            elif isinstance(node, ast.ClassDef):
                suites = {base.id for base in node.bases if isinstance(base, ast.Name)}
                there |= {f"{file}::{node.name}::{name}" for suite, name in SHIPPED if suite in suites}

    assert all(float(line.partition(" ")[0]) >= 0.1 for line in lines)
    assert names == sorted(set(names)) and not set(names) - there
