"""The locks are closed: pip installs what they list, without resolving, and nothing is missing."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = canonicalize_name(PROJECT["name"])
EXTRAS = {"requirements.lock": "all", "requirements-dev.lock": "dev"}
"""Which extra of ours each lock holds."""
PYTHONS = {"3.11": "3.11.2", "3.12": "3.12.0", "3.13": "3.13.0", "3.14": "3.14.0", "3.15": "3.15.0"}
"""The Pythons that we promise, and their oldest release there may be."""
SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "darwin": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    "win32": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
}
LINES = {
    lock: [Requirement(line.rstrip(" \\")) for line in (ROOT / lock).read_text().splitlines() if line[:1].isalnum()]
    for lock in EXTRAS
}


@cache
def _requirements(package: str) -> list[Requirement]:
    """What a package needs, with all its extras, as it says itself; empty where it is not installed here."""
    if package == NAME:
        own = [(line, None) for line in PROJECT["dependencies"]]
        own += [(line, extra) for extra, lines in PROJECT["optional-dependencies"].items() for line in lines]
        return [
            Requirement(line if extra is None else f"{line} {'and' if ';' in line else ';'} extra == '{extra}'")
            for line, extra in own
        ]
    try:
        return [Requirement(line) for line in requires(package) or []]
    except PackageNotFoundError:
        return []


def _close(extra: str, environment: dict[str, str]) -> dict[NormalizedName, list[Requirement]]:
    """Return every package that one of our extras leads to in an environment, with all that is required of it."""
    needed: dict[NormalizedName, list[Requirement]] = {}
    seen: set[tuple[str, str]] = set()
    left: list[tuple[NormalizedName, str]] = [(NAME, ""), (NAME, extra)]
    while left:
        package, chosen = left.pop()
        if (package, chosen) in seen:
            continue
        seen.add((package, chosen))
        for requirement in _requirements(package):
            if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": chosen}):
                name = canonicalize_name(requirement.name)
                if name != NAME:
                    needed.setdefault(name, []).append(requirement)
                left += [(name, one) for one in ("", *requirement.extras)]
    return needed


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", EXTRAS)
def test_a_lock_holds_exactly_what_is_needed(lock: str, python: str, system: str) -> None:
    """Extras and markers included. What a package needs that is not installed here is left to the long test below."""
    environment = {
        "python_version": python,
        "python_full_version": PYTHONS[python],
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        **SYSTEMS[system],
    }
    held = {
        canonicalize_name(line.name): line
        for line in LINES[lock]
        if line.marker is None or line.marker.evaluate(environment)
    }

    needed = _close(EXTRAS[lock], environment)

    assert needed.keys() - held.keys() == set()
    missed = [name for name in held if name not in needed]
    # Only what comes with a package that is not installed here may look superfluous.
    assert not missed or any(not _installed(name) for name in needed), missed
    for name, requirements in needed.items():
        (pin,) = held[name].specifier
        assert pin.operator == "=="
        for requirement in requirements:
            assert requirement.specifier.contains(pin.version, prereleases=True), (name, str(requirement))


def _installed(package: str) -> bool:
    try:
        requires(package)
    except PackageNotFoundError:
        return False
    return True


@pytest.mark.parametrize("lock", EXTRAS)
def test_each_package_of_a_lock_is_pinned_as_in_the_constraints_and_by_hash(lock: str) -> None:
    pins: dict[str, list[str]] = {}
    for constraint in (ROOT / "constraints.txt").read_text().splitlines():
        pinned = Requirement(constraint)
        pins.setdefault(canonicalize_name(pinned.name), []).append(str(pinned.specifier))
    text = (ROOT / lock).read_text()

    entries = re.split(r"\n(?=\w)", text)

    assert len(entries) == len(LINES[lock]) and all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    for line in LINES[lock]:
        name = canonicalize_name(line.name)
        # The constraints name what Linux installs; a package of another system alone is pinned by the lock alone.
        assert name in pins or (line.marker is not None and not line.marker.evaluate()), name
        assert str(line.specifier) in pins.get(name, [str(line.specifier)])


def test_whatever_installs_from_a_lock_resolves_nothing() -> None:
    """An old pip does not apply the pin of a package to the same package with extras, and looks for a newer one."""
    for file in ("README.md", "Dockerfile", ".ci/python", "CONTRIBUTING.md", "docs/operating.md"):
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            if re.search(r"pip\"? install .*-r requirements", line):
                assert "--no-deps" in line, f"{file}: {line}"


PIPS = ("23.0.1", "bundled", "newest")
"""The pip of Debian 12, that of each Python, and what an index calls the newest."""
FOUND = {
    python: str(max((Path.home() / ".pyenv/versions").glob(f"{python}.*/bin/python"), default=f"python{python}"))
    for python in PYTHONS
}


@pytest.mark.soak
@pytest.mark.parametrize("lock", EXTRAS)
@pytest.mark.parametrize("pip", PIPS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_pip_installs_a_lock_and_finds_nothing_missing(python: str, pip: str, lock: str, tmp_path: Path) -> None:
    if subprocess.run([FOUND[python], "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"needs python{python}")
    if pip == "23.0.1" and python != "3.11":
        pytest.skip("pip 23.0.1 does not run with Python 3.12 and later")
    subprocess.run([FOUND[python], "-m", "venv", str(tmp_path / "made")], check=True)
    tool = str(tmp_path / "made/bin/pip")
    if pip != "bundled":
        wanted = ["--upgrade", "pip"] if pip == "newest" else [f"pip=={pip}"]
        subprocess.run([f"{tool[:-3]}python", "-m", "pip", "install", "-q", *wanted], check=True)

    subprocess.run([tool, "install", "-q", "--no-compile", "--no-deps", "-r", str(ROOT / lock)], check=True)

    told = subprocess.run([tool, "check"], capture_output=True, text=True, check=False)
    assert told.stdout.strip() == "No broken requirements found.", told.stdout
