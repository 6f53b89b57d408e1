"""A PostgreSQL server with something to read, and a pooler before it."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.patience import PATIENCE
from tests.postgres import Postgres, free_port, own_server, program

POOL = 3
"""Connections to the server that all who come through the pooler share."""
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
    """Roles are a whole server's, and so is what these tests do to it."""
    pytest.importorskip("asyncpg", reason="asyncpg is not installed (the extra postgres)")
    with own_server() as server:
        server.run(CONTENT)
        yield server


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
    pgbouncer = program("pgbouncer", "pgbouncer")
    made = Postgres(postgres.folder, free_port())
    file = postgres.folder / f"pgbouncer-{request.param}.ini"
    text = POOLER.format(server=postgres.port, port=made.port, mode=request.param, pool=POOL)
    # Whoever comes is the user of the pool: pgbouncer asks for no name in the mode that asks for no password.
    file.write_text(text.replace(f"port={postgres.port}\n", f"port={postgres.port} user=reader\n"))
    process = subprocess.Popen([pgbouncer, str(file)], **made.quiet)
    try:
        deadline = time.monotonic() + PATIENCE
        with socket.socket() as probe:
            while probe.connect_ex(("127.0.0.1", made.port)):
                assert time.monotonic() < deadline, "pgbouncer does not listen"
                time.sleep(0.02)
        yield made
    finally:
        process.kill()
        process.wait(20)
