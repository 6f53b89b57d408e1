"""What this machine has left: memory, and the names that it can resolve."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bot.contract import Clock, time_limit
from tools.contract.network import UnusableProxy, proxy_before

_PROC: Final = Path("/proc/meminfo")
_CGROUP: Final = Path("/sys/fs/cgroup")
_RESOLVE_SECONDS: Final = 3.0
UNKNOWN: Final = (1, 1)


def read_memory(proc: Path = _PROC, cgroup: Path = _CGROUP) -> tuple[int, int]:
    """Return the bytes of memory that are left for this process, and all: the machine's, or its container's if that has
    less left; `UNKNOWN` where the system does not say."""
    found = [one for one in (_of_machine(proc), _of_container(cgroup)) if one is not None]
    return min(found, default=UNKNOWN)


def _of_machine(proc: Path) -> tuple[int, int] | None:
    try:
        lines = dict(line.split(":", 1) for line in proc.read_text().splitlines() if ":" in line)
        left, whole = (int(lines[name].split()[0]) * 1024 for name in ("MemAvailable", "MemTotal"))
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return left, whole


def _of_container(cgroup: Path) -> tuple[int, int] | None:
    try:
        whole = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        stat = dict(line.split(" ", 1) for line in (cgroup / "memory.stat").read_text().splitlines() if " " in line)
        # The cache of files is given back as soon as somebody needs the memory.
        freed = int(stat.get("inactive_file", 0)) + int(stat.get("active_file", 0))
    except (OSError, ValueError):
        return None
    return max(0, whole - used + freed), whole


async def find_unresolved(address: str, clock: Clock) -> str:
    """Return the host of a URL, or of the proxy before it, if its name cannot be resolved now; else an empty text."""
    with suppress(UnusableProxy):
        address = proxy_before(address, "a service") or address
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        async with time_limit(clock, _RESOLVE_SECONDS):
            await asyncio.get_running_loop().getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (socket.gaierror, TimeoutError):
        return host
    except (OSError, ValueError):
        return ""
    return ""
