"""The files a sandbox can read: the interpreter, system libraries and chosen packages.

Nothing else exists inside: no home, no settings, no program folder, no other packages. The paths inside reveal nothing
about the machine.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

PYTHON = "/python"
PACKAGES = "/packages"
_SYSTEM = (
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
)
_UNUSED = frozenset({"debugpy"})
"""A package's unnecessary dependency: the kernel's debugger, which nobody could reach."""
PROGRAM = Path(__file__).resolve().parents[2]
"""The folder this program lives in: never visible inside."""


def private() -> tuple[Path, ...]:
    """Return the folders no sandbox may contain: this program's, its working folder, and the user's home."""
    found = {PROGRAM, Path.cwd()}
    try:
        found.add(Path.home().resolve())
    except RuntimeError:
        pass  # A user without a name, as in many containers.
    # A service's home or working folder may be one that every sandbox has of its own.
    return tuple(found - {Path(own) for own in ("/", "/tmp", "/dev", "/proc", "/out")})


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine, and its path in the sandbox."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The file system of a sandbox."""

    mounts: tuple[Mount, ...]
    links: tuple[tuple[str, str], ...]
    """Symbolic links of the system's own folders: targets and places."""
    emptied: tuple[str, ...]
    """Folders inside that are covered, because they may contain anything."""
    interpreter: str
    packages: tuple[str, ...]
    """The distributions that code can import, as `numpy 2.4`."""
    program: tuple[str, ...]
    """The interpreter's program, with its arguments."""

    @property
    def tops(self) -> tuple[str, ...]:
        """The folders and files directly below which everything is mounted."""
        found: dict[str, None] = {}
        for mount in self.mounts:
            own = mount.target.startswith((PYTHON + "/", PACKAGES + "/"))
            found["/" + mount.target.split("/")[1] if own else mount.target] = None
        return tuple(found)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that have to exist before the mounts, outermost first."""
        found = {PACKAGES: None}
        for mount in self.mounts:
            for folder in reversed(Path(mount.target).parents):
                if str(folder) != "/":
                    found[str(folder)] = None
        return tuple(found)

    def exposes(self, path: Path) -> bool:
        """Return True if a sandbox can read `path` of this machine."""
        for mount in self.mounts:
            if path.is_relative_to(mount.source):
                inside = Path(mount.target) / path.relative_to(mount.source)
                if not any(inside.is_relative_to(folder) for folder in self.emptied):
                    return True
        return False


def code_layout(packages: Iterable[str], *, rich: bool = False) -> Layout:
    """Return the layout of a sandbox for cells that can import `packages`.

    `rich` adds the Jupyter kernel and the programs that run cells in it.
    """
    worker, notebook, kernel = (
        Path(__file__).resolve().with_name(name) for name in ("worker.py", "notebook.py", "kernel.py")
    )
    if rich:
        return layout((*packages, "ipykernel"), (worker, notebook), (kernel,))
    return layout(packages, (worker,))


def layout(
    packages: Iterable[str],
    program: Sequence[Path],
    beside: Sequence[Path] = (),
    modules: Mapping[str, Path] = MappingProxyType({}),
) -> Layout:
    """Return the layout of a sandbox that can import `packages` (installed distributions).

    Args:
        program: a file for the interpreter, and files whose paths inside are its arguments.
        beside: further visible files.
        modules: importable files, by their paths below a folder of packages.
    """
    packages = tuple(packages)
    mounts, links = _system()
    prefix = Path(sys.base_prefix).resolve()
    base = getattr(sys, "_base_executable", "") or sys.executable
    executable = Path(base).resolve()
    stdlib = Path(os.__file__).resolve().parent
    inside = f"{PYTHON}/{stdlib.relative_to(prefix) if stdlib.is_relative_to(prefix) else f'lib/{stdlib.name}'}"
    mounts.append(Mount(str(executable), f"{PYTHON}/bin/{executable.name}"))
    mounts.append(Mount(str(stdlib), inside))
    mounts += [
        Mount(str(file.resolve()), f"{PYTHON}/lib/{file.name}") for file in (prefix / "lib").glob("libpython3*.so*")
    ]
    # Packages beside the standard library are whatever somebody installed there, perhaps including this program.
    emptied = tuple(f"{inside}/{name}" for name in ("site-packages", "dist-packages") if (stdlib / name).is_dir())
    chosen = list(_distributions(packages))
    seen: set[str] = set()
    for package in chosen:
        for mount in package.mounts:
            if mount.target not in seen:
                seen.add(mount.target)
                mounts.append(mount)
    mounts += [Mount(str(file), f"/{file.name}") for file in (*program, *beside)]
    mounts += [Mount(str(file), f"{PACKAGES}/{path}") for path, file in modules.items()]
    named = {_normal(name) for name in packages}
    told = (f"{item.name} {item.version}" for item in chosen if _normal(item.name) in named)
    interpreter = f"{PYTHON}/bin/{executable.name}"
    runs = tuple(f"/{file.name}" for file in program)
    return Layout(tuple(mounts), tuple(links), emptied, interpreter, tuple(told), runs)


def _system() -> tuple[list[Mount], list[tuple[str, str]]]:
    mounts: list[Mount] = []
    links: list[tuple[str, str]] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            links.append((str(path.readlink()), str(path)))
        elif path.exists():
            mounts.append(Mount(str(path), str(path)))
    return mounts, links


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@dataclass(frozen=True, slots=True)
class _Package:
    """An installed distribution."""

    name: str
    version: str
    needs: tuple[str, ...]
    """The distributions that it needs, by their normal names."""
    mounts: tuple[Mount, ...]


def _distributions(names: Iterable[str]) -> Iterator[_Package]:
    """Return the installed distributions of `names` with their dependencies."""
    waiting = [_normal(name) for name in names]
    seen = set(waiting)
    while waiting:
        if package := _installed(waiting.pop(0)):
            yield package
            fresh = [name for name in package.needs if name not in seen]
            seen.update(fresh)
            waiting += fresh


@functools.cache
def _installed(name: str) -> _Package | None:
    """Return the distribution `name`, None if it is missing; the next process sees later installations."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    needs = dict.fromkeys(
        _normal(found.group())
        for requirement in distribution.requires or ()
        if (found := re.match(r"[A-Za-z0-9._-]+", requirement)) and not re.search(r"\bextra\s*==", requirement)
    )
    return _Package(
        distribution.name,
        distribution.version,
        tuple(need for need in needs if need not in _UNUSED),
        tuple(_contents(distribution)),
    )


def _contents(distribution: importlib.metadata.Distribution) -> Iterator[Mount]:
    """Return a distribution's top-level entries: not their folder, which contains others, too."""
    tops = {file.parts[0] for file in distribution.files or () if file.parts}
    for top in sorted(tops):
        if top in ("..", "__pycache__") or top.startswith("/") or top.endswith((".pth", ".egg-link")):
            continue
        source = Path(str(distribution.locate_file(top))).resolve()
        if source.exists():
            yield Mount(str(source), f"{PACKAGES}/{top}")
