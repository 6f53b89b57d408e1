"""The built package, installed as a user installs it, in places that hold folders of the same names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("bot", "adapters", "tools", "playground")

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel of this tree, and the libraries of the one that runs the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    build = "import sys, setuptools.build_meta as build; print(build.build_wheel(sys.argv[1]))"
    _ran([sys.executable, "-W", "ignore", "-c", build, str(folder)], source)
    (wheel,) = folder.glob("*.whl")
    made = folder / "environment"
    _ran([sys.executable, "-m", "venv", "--without-pip", str(made)], folder)
    install = ("install", "-q", "--no-index", "--no-deps", "--no-compile", str(wheel))
    _ran([sys.executable, "-m", "pip", "--python", str(made / "bin/python"), *install], folder)
    (site,) = made.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("site-packages")))
    return made


@pytest.fixture
def misleading(tmp_path: Path) -> Path:
    """A folder in which somebody else's packages have the names of ours."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (tmp_path / package / file).write_text("raise SystemExit('somebody else was started')\n")
    return tmp_path


@pytest.fixture
def replaced(environment: Path) -> Iterator[str]:
    """The environment after another distribution wrote its own package over one of ours."""
    (site,) = environment.glob("lib/python*/site-packages")
    ours = site / "adapters/__init__.py"
    text = ours.read_text()
    ours.write_text("__version__ = '1.2.0'\n")
    yield "adapters"
    ours.write_text(text)


def _ran(command: list[str], folder: Path, code: int = 0, **settings: str) -> str:
    told = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == code, told.stdout + told.stderr
    return told.stdout + told.stderr


def test_both_names_start_the_program_where_folders_mislead(environment: Path, misleading: Path) -> None:
    parley, chat = (environment / "bin" / name for name in ("parley", "parley-chat"))
    for script in (parley, chat):
        assert _ran([str(script), "--version"], misleading).startswith("parley 0.")
    assert "calculator" in _ran([str(parley), "tools"], misleading)
    assert chat.read_text() == parley.read_text(), "what is true of one is true of the other"


def test_the_playground_that_starts_is_ours_where_a_folder_has_its_name(environment: Path, misleading: Path) -> None:
    command = [str(environment / "bin/parley"), "playground", "--no-browser", "--port", "0", "--data", str(misleading)]
    playing = subprocess.Popen(
        command,
        cwd=misleading,
        env={"PATH": os.environ["PATH"], "HOME": str(misleading)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert playing.stdout is not None
    try:
        first = playing.stdout.readline()
    finally:
        playing.terminate()
        rest = playing.stdout.read()
        playing.stdout.close()
        playing.wait(20)

    assert "http://127.0.0.1:" in first + rest
    assert "somebody else" not in first + rest


def test_a_package_that_was_installed_over_ours_is_named(environment: Path, tmp_path: Path, replaced: str) -> None:
    told = _ran([str(environment / "bin/parley"), "tools"], tmp_path, code=2)

    assert told.count("\n") == 1
    assert f"the package '{replaced}' at" in told and "an environment of its own" in told


def test_a_package_that_stands_before_ours_is_named(environment: Path, misleading: Path) -> None:
    shutil.copytree(misleading / "tools", misleading / "late/tools")
    told = _ran([str(environment / "bin/parley"), "tools"], misleading, code=2, PYTHONPATH=str(misleading / "late"))

    assert told.count("\n") == 1
    assert "the package 'tools' at" in told
