"""The installed version, and the folder from which another interpreter can import it."""

from __future__ import annotations

import importlib.metadata
import sysconfig
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder that contains our packages: a clone, or an environment's `site-packages`."""
DISTRIBUTION: Final = "parley-chat"


def read_version() -> str:
    """Return the installed version; "from a clone" if none is installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "from a clone"


def package_path() -> dict[str, str]:
    """Return an environment in which another interpreter that ignores its working directory (`-P`) finds our
    packages."""
    installed = str(ROOT) in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return {} if installed else {"PYTHONPATH": str(ROOT)}
