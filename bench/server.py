"""A PostgreSQL server of the bench's own, in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PLACES = ("usr/lib/postgresql/*/bin", "usr/local/bin", "usr/bin", "opt/homebrew/bin")


class MissingServerError(Exception):
    """No PostgreSQL is installed."""


def _program(name: str) -> str:
    for place in _PLACES:
        for path in sorted(Path("/").glob(f"{place}/{name}"), reverse=True):
            return str(path)
    if found := shutil.which(name):
        return found
    raise MissingServerError(f"{name} is not installed: install PostgreSQL 15 or later (apt-get install postgresql)")


class Server:
    """It runs, with its defaults."""

    def __init__(self, port: int, pid: int) -> None:
        self._address = f"postgresql://owner@127.0.0.1:{port}"
        self._pid = pid

    def make_database(self, name: str) -> str:
        """Make an empty database, and return its address."""
        import psycopg

        with psycopg.connect(f"{self._address}/postgres", autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"{self._address}/{name}"

    def commits(self, name: str) -> int:
        """Return how many transactions a database has committed, as far as the server has counted them."""
        import psycopg

        with psycopg.connect(f"{self._address}/postgres") as db:
            found = db.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = %s", [name]).fetchone()
        return int(found[0]) if found else 0

    def cpu(self) -> float:
        """Return the processor seconds of all its processes, those that have ended too."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, fields = path.parent.name, path.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it has ended
            if int(pid) == self._pid:
                ticks += sum(int(field) for field in fields[11:15])
            elif int(fields[1]) == self._pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


_END = 'cat; "$0" stop -w -m immediate -D "$1/data"; rm -rf "$1"'
"""Waits for the end of its standard input, however the process that holds it ends."""


@contextmanager
def open_server() -> Iterator[Server]:
    """Start a server on loopback, as somebody who is not root; leaving ends it, and so does the end of this process.

    Raises:
        MissingServerError: none is installed.
    """
    initdb, control = _program("initdb"), _program("pg_ctl")
    try:
        import psycopg  # noqa: F401 - without it the server is of no use
    except ImportError:
        raise MissingServerError("psycopg is not installed: install the extra `postgres`") from None
    folder = Path(tempfile.mkdtemp(prefix="parley-bench-"))
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    if os.getuid() == 0:
        other = pwd.getpwnam("nobody")
        os.chown(folder, other.pw_uid, other.pw_gid)
        quiet |= {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
    ending = ["sh", "-c", _END, control, str(folder)]
    # A session of its own: Ctrl-C goes to all of a terminal's group.
    with subprocess.Popen(ending, stdin=subprocess.PIPE, start_new_session=True, **quiet):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        data = folder / "data"
        subprocess.run(
            [initdb, "-D", data, "-U", "owner", "--auth=trust", "-E", "UTF8", "--locale=C"], check=True, **quiet
        )
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200"
        subprocess.run([control, "start", "-w", "-D", data, "-o", options, "-l", folder / "log"], check=True, **quiet)
        yield Server(port, int((data / "postmaster.pid").read_text().split()[0]))
