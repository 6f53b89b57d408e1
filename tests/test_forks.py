"""Tests run in forks as they do anywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux alone")

CONFTEST = """
import pytest
from tests.forks import Forks, Tally

class Number(Tally):
    heard = 0

    def say(self):
        return "1"

    def hear(self, said):
        self.heard += int(said)

    def write(self):
        print("\\nforks that ended:", self.heard)

def pytest_configure(config):
    forks = Forks(2, seconds={"test_b.py::test_5": 9.0}, given=lambda: {"a": "b"}, tally=Number())
    config.pluginmanager.register(forks)

@pytest.fixture(scope="session")
def made(tmp_path_factory):
    yield tmp_path_factory.mktemp("made")

@pytest.fixture(scope="module", autouse=True)
def closed(request):
    yield
    with open("closed", "a") as file:
        file.write(request.node.name + "\\n")
"""
TESTS = """
import os, pytest

@pytest.mark.parametrize("case", range(3))
def test_passes(case, request, made):
    print("never seen")
    assert request.config.workerinput["a"] == "b" and request.config.workerinput["workerid"] in str(made)

def test_fails():
    print("said before")
    assert 1 == 2

def test_dies():
    os._exit(3)

def test_goes_on():
    pass

@pytest.mark.skip(reason="why not")
def test_is_skipped():
    pass
"""


def run(folder: Path, *options: str) -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_a.py").write_text(TESTS)
    for name in "bcd":
        (folder / f"test_{name}.py").write_text("def test_5(made): assert made.is_dir()\n")
    root = str(Path(__file__).parent.parent)
    command = [sys.executable, "-m", "pytest", "--disable-plugin-autoload", "-p", "no:cacheprovider", *options]
    environment = {"PYTHONPATH": root, "PATH": ""}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert not ended.stderr
    return ended.stdout


def test_forks_run_each_test_once_and_tell_what_failed(tmp_path: Path) -> None:
    told = run(tmp_path)
    assert "2 failed, 7 passed, 1 skipped" in told
    assert "said before" in told and "assert 1 == 2" in told and "never seen" not in told
    assert "its process died: 3" in told
    # The one that died tells nothing; another one took its place.
    assert "forks that ended: 2" in told
    assert sorted((tmp_path / "closed").read_text().split()) == ["test_a.py", "test_b.py", "test_c.py", "test_d.py"]


def test_forks_end_after_the_first_failure_where_that_is_asked_for(tmp_path: Path) -> None:
    assert "stopping after 1 failures" in run(tmp_path, "-x")
