"""The shape of the project: which way imports go, and that what is written twice agrees."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from bot import app
from bot.env_example import example
from bot.settings import variables

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "adapters": {"adapters", "bot", "tools"},
    "bot": {"bot", "tools"},
    "tools": {"tools"},
    "playground": {"playground"},
}
MODULES = [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """The top-level packages a module imports, late imports included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]

    wrong = imported(path) & (set(ALLOWED) - ALLOWED[package])

    assert not wrong, f"{path.relative_to(ROOT)} must not import {wrong}"


def test_only_app_loads_packages_by_name() -> None:
    """`bot/app.py` looks everywhere, late; the command line and the doctor may name a module to hand over to."""
    allowed = {"app.py", "cli.py", "doctor.py"}

    users = {path.name for path in (ROOT / "bot").rglob("*.py") if "importlib.import_module" in path.read_text()}

    assert users <= allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500
    assert not re.search(r"(utils?|helpers?|managers?)\.py$", path.name)


def test_env_example_lists_every_setting_with_its_default_and_its_sentence() -> None:
    """Written by `python -m bot.env_example > .env.example`."""
    assert (ROOT / ".env.example").read_text() == example()


@pytest.mark.parametrize("name", variables(app.settings_classes()))
def test_every_setting_has_a_sentence(name: str) -> None:
    assert variables(app.settings_classes())[name][1].endswith((".", "…"))


def test_every_dependency_is_pinned_without_an_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }

    for dependency in [*project["dependencies"], *extras]:
        name = re.split(r"[\[>=<;\s]", dependency)[0].lower().replace("_", "-")
        assert name in pinned or name == "parley-chat", f"{name} is not in constraints.txt"
    assert "://" not in (ROOT / "constraints.txt").read_text()
