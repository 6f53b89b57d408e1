"""A PostgreSQL server of this machine with a pooler before it, on loopback, as a user who is not root."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RawObject

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/opt/homebrew/bin")
POOL = 3
"""Connections to the server that all who come through the pooler share."""
PASSWORD = "open-sesame-42"


def program(name: str) -> str:
    """Where it is installed; the test is skipped where it is not."""
    for place in _PLACES:
        for path in sorted(Path("/").glob(f"{place[1:]}/{name}"), reverse=True):
            return str(path)
    return shutil.which(name) or pytest.skip(f"{name} is not installed on this machine")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Postgres:
    """The server, and a folder that it may write to."""

    def __init__(self, folder: Path, port: int, user: RawObject) -> None:
        self.folder = folder
        self.port = port
        self.quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}

    def address(self, role: str, database: str = "postgres") -> str:
        return f"postgresql://{role}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    async def run(self, sql: str, database: str = "postgres", role: str = "owner") -> None:
        import asyncpg

        for _ in range(400):
            try:
                db = await asyncpg.connect(self.address(role, database))
                break
            except (OSError, asyncpg.CannotConnectNowError):
                await asyncio.sleep(0.05)
        try:
            await db.execute(sql)
        finally:
            await db.close()


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


CONTENT = """
CREATE TYPE mood AS ENUM ('well', 'ill');
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, tags text[], born date, mood mood);
INSERT INTO customers SELECT n, 'Person ' || n, ARRAY['a','b'], '1990-01-01', 'well' FROM generate_series(1,1000) n;
CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers, amount numeric(10,2));
CREATE SEQUENCE counter;
CREATE FUNCTION sly() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM customers RETURNING 1';
CREATE FUNCTION slyer() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM customers; RETURN 1; END $$;
CREATE FUNCTION unlimited() RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT set_config('statement_timeout', '0', false) $$;
CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
GRANT USAGE ON SEQUENCE counter TO reader; GRANT EXECUTE ON FUNCTION sly, slyer, unlimited TO reader;
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("asyncpg", reason="asyncpg is not installed (the extra postgres)")
    initdb, server = program("initdb"), program("postgres")
    folder = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
    made = Postgres(folder, free_port(), user_to_run_as(folder))
    data = str(folder / "data")
    command = [initdb, "-D", data, "-U", "owner", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"]
    subprocess.run(command, check=True, **made.quiet)
    command = [server, "-D", data, "-p", str(made.port), "-h", "127.0.0.1", "-k", "", "-F"]
    process = subprocess.Popen(command, **made.quiet)
    try:
        asyncio.run(made.run(CONTENT))
        yield made
    finally:
        process.send_signal(signal.SIGINT)  # without waiting for its clients
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


POOLER = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {pool}
max_client_conn = 500
"""


@pytest.fixture(scope="module", params=["transaction", "session"])
def pooler(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[Postgres]:
    """The same server behind pgbouncer."""
    pgbouncer = program("pgbouncer")
    made = Postgres(postgres.folder, free_port(), user_to_run_as(postgres.folder))
    file = postgres.folder / f"pgbouncer-{request.param}.ini"
    text = POOLER.format(server=postgres.port, port=made.port, mode=request.param, pool=POOL)
    # Whoever comes is the user of the pool: pgbouncer asks for no name in the mode that asks for no password.
    file.write_text(text.replace(f"port={postgres.port}\n", f"port={postgres.port} user=reader\n"))
    process = subprocess.Popen([pgbouncer, str(file)], **made.quiet)
    try:
        asyncio.run(made.run("SELECT 1"))
        yield made
    finally:
        process.kill()
        process.wait(20)
