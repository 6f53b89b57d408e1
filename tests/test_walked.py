"""What the README's line leaves out takes long, and walks nothing that another test does not walk, too."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def choose() -> Callable[[dict[str, float], dict[str, set[int]]], list[str]]:
    chosen: Callable[[dict[str, float], dict[str, set[int]]], list[str]] = runpy.run_path(f"{ROOT / '.ci/walked.py'}")[
        "choose"
    ]
    return chosen


@pytest.mark.parametrize(
    ("spent", "taken", "left_out"),
    [
        ({"long": 9, "short": 0.1}, {"long": {1}, "short": {1}}, ["long"]),
        ({"long": 9, "longer": 10}, {"long": {1}, "longer": {1}}, ["longer"]),
        ({"long": 9, "short": 0.1}, {"long": {1, 2}, "short": {1}}, []),
        ({"short": 0.1, "shorter": 0.05}, {"short": {1}, "shorter": {1}}, []),
        ({"a": 3, "b": 2, "c": 1}, {"a": {1, 2}, "b": {1}, "c": {2}}, ["a"]),
        ({"a": 3, "b": 2, "c": 1}, {"a": {1}, "b": {1, 2}, "c": {2}}, ["a", "c"]),
    ],
    ids=[
        "another takes it",
        "one of two alike stays",
        "one branch is its own",
        "short ones stay",
        "others take both",
        "who takes both stays",
    ],
)
def test_every_branch_is_still_taken_and_the_longest_go_first(
    choose: Callable[[dict[str, float], dict[str, set[int]]], list[str]],
    spent: dict[str, float],
    taken: dict[str, set[int]],
    left_out: list[str],
) -> None:
    assert choose(spent, taken) == left_out


def test_how_long_a_test_takes_is_told_of_each_once() -> None:
    lines = (ROOT / "tests" / "long.txt").read_text(encoding="utf-8").splitlines()
    names = [name for _, _, name in (line.partition(" ") for line in lines)]

    assert all(float(line.partition(" ")[0]) >= 0.2 for line in lines) and names == sorted(set(names))


def test_what_is_left_out_is_there() -> None:
    """Who renames a test has it run everywhere again; a name without a test says nothing and goes."""
    names = (ROOT / "tests" / "walked.txt").read_text(encoding="utf-8").split()
    there = set()
    for file in {name.partition("::")[0] for name in names}:
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                there.add(f"{file}::{node.name}")

    assert names == sorted(set(names)) and not set(names) - there
