"""Which version this is, and where another interpreter finds it."""

from __future__ import annotations

import importlib.metadata
import sysconfig
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder that holds our packages: a clone, or an environment's `site-packages`."""
DISTRIBUTION: Final = "parley-chat"


def read_version() -> str:
    """The installed version; "from a clone" where nothing is installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "from a clone"


def package_path() -> dict[str, str]:
    """The environment in which another interpreter, told to ignore its working directory (`-P`), finds our packages."""
    installed = str(ROOT) in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return {} if installed else {"PYTHONPATH": str(ROOT)}
