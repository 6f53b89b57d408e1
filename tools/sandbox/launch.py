"""Build the command line that starts a sandbox with bubblewrap.

As an ordinary user one bubblewrap does everything. As root that would leave the code root on this machine, whom the
limit of processes does not bind; so an outer one lays out the files, which perhaps only root can reach, gives up root
for good, and starts the inner one as the user nobody. The inner one is the same in both cases.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.sandbox.cell import SandboxFailed
from tools.sandbox.layout import PACKAGES, PYTHON, Layout
from tools.sandbox.limits import Limits

NOBODY = "65534"
FOLDER = "/out"
"""The current folder of the code; files left there are sent to the chat."""
_ENVIRONMENT = {
    "HOME": "/tmp",  # the sandbox's own
    "TMPDIR": "/tmp",
    "PATH": f"{PYTHON}/bin",
    "LANG": "C.UTF-8",
    "LD_LIBRARY_PATH": f"{PYTHON}/lib",
    "PYTHONPATH": PACKAGES,
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp/matplotlib",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs that confine."""

    bubblewrap: str
    setpriv: str


def programs() -> Programs:
    """Find the programs.

    Raises:
        SandboxFailed: one is missing; the text says which package contains it.
    """
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise SandboxFailed("bwrap is not installed (package bubblewrap, version 0.8 or later)")
    setpriv = shutil.which("setpriv")
    if setpriv is None and os.geteuid() == 0:
        raise SandboxFailed("as root it also needs setpriv (package util-linux)")
    return Programs(bubblewrap, setpriv or "")


def command(found: Programs, layout: Layout, limits: Limits, filter_fd: int, *, root: bool) -> list[str]:
    """Build the command; `filter_fd` is the descriptor of the system call filter, `root` says whether we are root."""
    inner = [
        found.bubblewrap,
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox", "--clearenv"),
        *("--seccomp", str(filter_fd)),
    ]
    for name, value in _ENVIRONMENT.items():
        inner += ["--setenv", name, value]
    if root:
        inner += _links(layout)
        for path in layout.tops:
            inner += ["--ro-bind", path, path]
    else:
        inner += _files(layout)
    disk = str(limits.disk)
    inner += [
        *("--proc", "/proc", "--dev", "/dev", "--size", disk, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--size", disk, "--tmpfs", "/tmp", "--size", disk, "--tmpfs", FOLDER),
        *("--chdir", FOLDER, "--remount-ro", "/", "--"),
        *(layout.interpreter, "-s", "-P", "-B", "-X", "utf8", *layout.program),
    ]
    if not root:
        return inner
    # `--bind /proc` because the kernel allows a new procfs only to those who see a whole one, and because forbidding
    # further user namespaces is written there. Bubblewrap builds its tree below /tmp.
    programs_used = sorted({found.bubblewrap, found.setpriv})
    outer = [
        found.bubblewrap,
        *("--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
        *_files(layout),
        *(part for path in programs_used for part in ("--dir", str(Path(path).parent), "--ro-bind", path, path)),
        *("--dir", "/tmp", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--remount-ro", "/", "--"),
        *(found.setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--no-new-privs"),
        # Changing the user clears the wish to die with the parent: it is made again.
        *("--pdeathsig", "KILL", "--"),
    ]
    return outer + inner


def _links(layout: Layout) -> list[str]:
    return [part for target, path in layout.links for part in ("--symlink", target, path)]


def _files(layout: Layout) -> list[str]:
    parts: list[str] = []
    for folder in layout.folders:
        parts += ["--dir", folder]
    parts += _links(layout)
    for mount in layout.mounts:
        parts += ["--ro-bind", mount.source, mount.target]
    for folder in layout.emptied:
        parts += ["--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
    return parts
