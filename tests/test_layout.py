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


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    forbidden = set(ALLOWED) - ALLOWED[package]

    wrong = {
        str(path.relative_to(ROOT)): found
        for path in (ROOT / package).rglob("*.py")
        if (found := imported(path) & forbidden)
    }

    assert not wrong


def test_only_app_loads_packages_by_name() -> None:
    """`bot/app.py` looks everywhere, late; the command line and the doctor may name a module to hand over to."""
    allowed = {"app.py", "cli.py", "doctor.py"}

    users = {path.name for path in (ROOT / "bot").rglob("*.py") if "importlib.import_module" in path.read_text()}

    assert users <= allowed


def test_a_module_is_read_in_one_sitting() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}

    assert len(lengths) > 200
    assert not {name: lines for name, lines in lengths.items() if lines > 500}
    assert not [name for name in lengths if re.search(r"(utils?|helpers?|managers?)\.py$", name)]


def test_env_example_lists_every_setting_with_its_default_and_its_sentence() -> None:
    """Written by `python -m bot.env_example > .env.example`."""
    assert (ROOT / ".env.example").read_text() == example()


def test_every_setting_has_a_sentence() -> None:
    settings = variables(app.settings_classes())

    assert settings
    assert not [name for name, about in settings.items() if not about[1].endswith((".", "…"))]


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


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_pins_what_the_constraints_pin_with_hashes_and_without_an_address(lock: str) -> None:
    """Written by the commands of CONTRIBUTING.md."""
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    locked = dict(entry.split()[0].split("==") for entry in entries)
    pins = dict(line.lower().replace("_", "-").split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pins = {name.replace(".", "-"): version for name, version in pins.items()}

    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert len(locked) > 80
    assert {name: locked[name] for name in locked.keys() & pins.keys()} == {
        name: pins[name] for name in locked.keys() & pins.keys()
    }
    # What is not pinned is needed on other systems or Pythons than that of the constraints.
    assert all(" ; " in entry.splitlines()[0] for entry in entries if entry.split("==")[0] not in pins)


def test_the_build_back_end_is_pinned_where_the_tests_install_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    (back_end,) = project["build-system"]["requires"]
    assert back_end in project["project"]["optional-dependencies"]["dev"]
    assert back_end in (ROOT / "constraints.txt").read_text().split()
    assert f"{back_end} " in (ROOT / "requirements-dev.lock").read_text()
