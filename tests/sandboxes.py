"""Whether this machine allows sandboxes, found out without code of the bot: a fault of its own is no reason to skip."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

import pytest

from tests.patience import PATIENCE

_NOBODY = "65534"
_INNER = ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--ro-bind", "/", "/")
_OUTER = ("--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
_TREE = ("--ro-bind", "/", "/", "--tmpfs", "/tmp", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc")
"""Bubblewrap builds its own tree below /tmp."""


@cache
def refusal() -> str:
    """Why bubblewrap cannot confine a program here that does nothing, as nobody; empty if it can."""
    needed = ("bwrap", "setpriv") if os.geteuid() == 0 else ("bwrap",)
    if missing := [name for name in needed if shutil.which(name) is None]:
        return f"{' and '.join(missing)} is not installed"
    command = ["bwrap", *_INNER, "--proc", "/proc", "--dev", "/dev", "--", "true"]
    if os.geteuid() == 0:
        as_nobody = ["setpriv", "--reuid", _NOBODY, "--regid", _NOBODY, "--clear-groups", "--no-new-privs", "--"]
        command = ["bwrap", *_OUTER, *_TREE, "--", *as_nobody, *command]
    tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"bwrap ended with {tried.returncode}"


@pytest.fixture(scope="session")
def sandbox_possible() -> None:
    """Skips the test where no sandbox works on this machine."""
    if refused := refusal():
        pytest.skip(f"no bubblewrap sandbox on this machine: {refused}")
