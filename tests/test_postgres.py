"""The PostgreSQL of the tests: one for all, empty for each test, and gone with whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.patience import PATIENCE

STARTED = """
import sys
from tests import postgres
shared = postgres.Shared()
print(postgres.start(shared.folder).folder, flush=True)
sys.stdin.read()
"""

ON_SQLITE = """
import asyncio, importlib, sys
from tests.nursery import LOADED

async def use():
    from bot.contract import SystemClock
    from bot.store import Store
    async with Store.open("sqlite:///own.db", clock=SystemClock()):
        pass

for name in LOADED:
    importlib.import_module(name)
asyncio.run(use())
print(sorted({"asyncpg", "dbos", "psycopg", "sqlalchemy"} & sys.modules.keys()))
"""


def test_a_bot_on_sqlite_loads_nothing_of_postgresql(tmp_path: Path) -> None:
    """It would cost 50 MB and half a second."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", ON_SQLITE]

    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert told.stdout == "[]\n", told.stderr


def test_a_database_is_empty_whatever_the_test_before_left_there(postgres_url: str) -> None:
    import psycopg

    from tests.postgres import empty

    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE TABLE IF NOT EXISTS people (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text)")
        db.execute("CREATE TABLE IF NOT EXISTS pets (owner bigint REFERENCES people, name text)")
        db.execute("INSERT INTO pets SELECT id, 'Rex' FROM people")
        assert db.execute("INSERT INTO people (name) VALUES ('Ada') RETURNING id").fetchone() == (1,)
        left = psycopg.connect(postgres_url)
        left.execute("UPDATE people SET name = 'Bob'")  # in a transaction that nobody ends

    empty(postgres_url)

    left.close()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        assert db.execute("SELECT count(*) FROM people").fetchone() == (0,)
        assert db.execute("INSERT INTO people (name) VALUES ('Ada') RETURNING id").fetchone() == (1,)
        db.execute("DROP TABLE people, pets")


def test_a_server_goes_with_a_test_run_that_is_killed(postgres_url: str) -> None:
    run = subprocess.Popen([sys.executable, "-c", STARTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        assert (folder / "data/postmaster.pid").exists()
        run.kill()

    deadline = time.monotonic() + PATIENCE
    while folder.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
