"""Whether the packages that Python finds under our names are ours: their names are common ones on package indexes.

Imports nothing of ours, which may be another's.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import sysconfig
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
"""The folder that holds the packages: a clone, or an environment's `site-packages`."""
DISTRIBUTION: Final = "parley-chat"
_PACKAGES: Final = ("bot", "adapters", "tools", "playground")


class Misplaced(Exception):
    """Another package stands where one of ours should; the text says which, and what helps."""


def read_version() -> str:
    """The installed version; "from a clone" where nothing is installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "from a clone"


def check_installation() -> None:
    """Return when Python imports our own packages.

    Raises:
        Misplaced: a package of the same name stands before one of ours, or was installed over it, as
            `pip install adapters` does.
    """
    hashes = _recorded()
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        expected = ROOT / name / "__init__.py"
        if found != expected or _is_replaced(expected, hashes.get(f"{name}/__init__.py")):
            raise Misplaced(
                f"the package {name!r} at {found.parent if found else ROOT / name} is not Parley's: another package of "
                "that name is installed beside it. Give Parley an environment of its own, made by `python3 -m venv`"
            )


def package_path() -> dict[str, str]:
    """The environment in which another interpreter, told to ignore its working directory (`-P`), finds our packages."""
    installed = str(ROOT) in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return {} if installed else {"PYTHONPATH": str(ROOT)}


def _recorded() -> dict[str, str]:
    """Installed file → its SHA-256 as the installer recorded it; empty in a clone.

    See https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
    """
    try:
        files = importlib.metadata.distribution(DISTRIBUTION).files or ()
    except importlib.metadata.PackageNotFoundError:
        return {}
    return {file.as_posix(): file.hash.value for file in files if file.hash is not None and file.hash.mode == "sha256"}


def _is_replaced(path: Path, recorded: str | None) -> bool:
    if recorded is None:
        return False
    digest = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != recorded
