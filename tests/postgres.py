"""PostgreSQL servers of the tests, on loopback, as a user who is not root; each is ended with whoever started it.

`python -m tests.postgres FOLDER` makes one in a folder and stays behind as its watch: whoever started it holds a lock
in that folder, and when the kernel takes the lock back, however that process ended, the server and the folder go.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.patience import PATIENCE

if TYPE_CHECKING:
    from tests.conftest import RawObject

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/opt/homebrew/bin")
PASSWORD = "open-sesame-42"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # What a killed process wrote is in the system's memory, and no test cuts the power.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    # As on everybody's servers: without it, rows that change all the time leave megabytes behind within the hour.
    "autovacuum": "on",
    "log_line_prefix": "%d: ",
}
# Ordered as on most people's servers, which is not the order of bytes: a comparison that forgets to say so is seen.
_INITDB = (
    "-U",
    "owner",
    "--auth=trust",
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
    "--locale-provider=icu",
    "--icu-locale=en-US",
)


def program(name: str, package: str = "postgresql") -> str:
    """Where it is installed; the test is skipped where it is not."""
    for place in _PLACES:
        for path in sorted(Path("/").glob(f"{place[1:]}/{name}"), reverse=True):
            return str(path)
    return shutil.which(name) or pytest.skip(f"{name} is not installed on this machine (apt-get install {package})")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def user_to_run_as(folder: Path) -> RawObject:
    """For root somebody else, as the server demands; the folder becomes theirs."""
    if os.getuid() != 0:
        return {}
    try:
        other = pwd.getpwnam("postgres")
    except KeyError:
        other = pwd.getpwnam("nobody")
    os.chown(folder, other.pw_uid, other.pw_gid)
    return {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}


class Postgres:
    """A server, and a folder that it may write to."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.quiet: RawObject = {
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL),
            **user_to_run_as(folder),
            "cwd": folder,
        }

    def address(self, role: str = "owner", database: str = "postgres") -> str:
        return f"postgresql://{role}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def control(self, command: str, *arguments: str) -> None:
        """Have `pg_ctl` start, stop or restart it, and wait until that is done."""
        control = [program("pg_ctl"), command, "-w", "-D", str(self.folder / "data"), "-t", str(int(PATIENCE))]
        subprocess.run([*control, *arguments], check=True, **self.quiet)

    @contextmanager
    def without_circles(self, database: str) -> Iterator[None]:
        """Meanwhile no two transactions in a database wait for each other: the server notices that after a second."""
        log = self.folder / "log"
        before = log.stat().st_size
        yield
        with log.open(errors="replace") as file:
            file.seek(before)
            said = f"{database}: ERROR:  deadlock detected"
            assert not [line for line in file if line.startswith(said)], said

    def run(self, sql: str, database: str = "postgres") -> None:
        """Do what a script in SQL says."""
        import psycopg

        with psycopg.connect(self.address(database=database), autocommit=True) as db:
            db.execute(sql.encode())

    def make_database(self, name: str) -> str:
        """Its address; it is made if it is new."""
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as db:
            if db.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
                db.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.address(database=name)


def start(folder: Path) -> Postgres:
    """The server of a folder whose lock somebody holds; started unless it has been.

    Its users are many where several processes share the folder: the first of them starts it.
    """
    pytest.importorskip("psycopg", reason="psycopg is not installed (the extra postgres)")
    program("initdb")
    with (folder / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        port = folder / "port"
        if not port.exists():
            command = [sys.executable, "-m", "tests.postgres", str(folder)]
            made = subprocess.run(
                command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False
            )
            assert not made.returncode, made.stderr
        return Postgres(folder, int(port.read_text()))


class Shared:
    """A folder for the server of several processes; it lasts until this is closed, or this process has ended."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
        self._held = (self.folder / "held").open("w")
        # A lock of this kind is the process's own: what it forks or starts holds nothing.
        fcntl.lockf(self._held, fcntl.LOCK_EX)

    def close(self) -> None:
        """Have the server ended, if one was started."""
        self._held.close()
        if not (self.folder / "port").exists():
            shutil.rmtree(self.folder)


@contextmanager
def own_server() -> Iterator[Postgres]:
    """A server that nobody else has: it may be stopped, and its roles are one's own."""
    with closing(Shared()) as alone:
        yield start(alone.folder)


EMPTY = """
DO $$
DECLARE one regclass; filled text[]; found boolean;
BEGIN
    FOR one IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relname NOT IN ('steps', 'dbos_migrations')
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', one) INTO found;
        IF found THEN filled := filled || one::text; END IF;
    END LOOP;
    IF filled IS NOT NULL THEN EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' CASCADE'; END IF;
    PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false)
        FROM pg_sequences WHERE last_value IS NOT NULL;
END $$
"""
"""Leaves what the tables are, and which steps made them."""


def empty(address: str) -> None:
    """Delete what is in the tables of a database, and end whoever is still there."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        db.execute(EMPTY.encode())


def main() -> None:
    """Start a server, then let a process stay behind that ends it."""
    folder = Path(sys.argv[1])
    user = user_to_run_as(folder)
    data = folder / "data"
    initdb = [program("initdb"), "-D", str(data), "--no-sync", *_INITDB]
    subprocess.run(initdb, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user)
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in _SETTINGS.items())
    for left in reversed(range(5)):
        server = Postgres(folder, free_port())
        try:
            server.control("start", "-o", f"-p {server.port}", "-l", str(folder / "log"))
            break
        except subprocess.CalledProcessError:  # somebody else took the port meanwhile
            if not left:
                sys.stderr.write((folder / "log").read_text())
                raise
    (folder / "port").write_text(str(server.port))
    if os.fork():
        os._exit(0)
    os.setsid()
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    with (folder / "held").open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
    subprocess.run([program("pg_ctl"), "stop", "-m", "immediate", "-D", str(data)], check=False, **server.quiet)
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(0.1)


if __name__ == "__main__":
    main()
