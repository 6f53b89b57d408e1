"""A backend with short limits, and a look at the machine's process table."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.patience import slowed
from tools.sandbox import processes
from tools.sandbox.bwrap import Bubblewrap
from tools.sandbox.limits import MIB, Limits

LIMITS = Limits(wall=0.6, cpu=3.0, memory=128 * MIB, file=8 * MIB, disk=16 * MIB, entries=2000, grace=0.3)


@pytest.fixture
async def backend(sandbox_possible: None) -> AsyncIterator[Bubblewrap]:
    made = Bubblewrap(("numpy", "matplotlib"), replace(LIMITS, wall=slowed(LIMITS.wall), grace=slowed(LIMITS.grace)))
    yield made
    await made.close()


def _namespace(pid: int | str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _over(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture
def namespaces_of() -> Iterator[Callable[[int], frozenset[str]]]:
    """The process namespaces below a process, kept open during the test: the kernel would give their names again."""
    held: list[int] = []

    def find(pid: int) -> frozenset[str]:
        below = processes.descendants(pid)
        held.extend(os.open(f"/proc/{each}/ns/pid", os.O_RDONLY | os.O_CLOEXEC) for each in below)
        return frozenset(map(_namespace, below)) - {"", _namespace("self")}

    yield find
    for descriptor in held:
        os.close(descriptor)


@pytest.fixture
def inside(namespaces_of: Callable[[int], frozenset[str]]) -> Callable[[Bubblewrap, str], frozenset[str]]:
    """The process namespaces of a chat's sandbox."""

    def find(backend: Bubblewrap, scope: str) -> frozenset[str]:
        session = backend._places[scope].session
        assert session is not None
        return namespaces_of(session.pid)

    return find


@pytest.fixture
def running() -> Callable[[frozenset[str]], list[str]]:
    """Every process of the machine that lives in one of these namespaces; not one that waits to be collected."""

    def find(namespaces: frozenset[str]) -> list[str]:
        pids = (entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in pids if _namespace(pid) in namespaces and not _over(pid)]

    return find
