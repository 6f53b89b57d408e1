"""A database for processes of the tests, whose tables are not the store's."""

from __future__ import annotations

import pytest

from tests.bot.intake.members import TABLES
from tests.postgres import Postgres, empty


@pytest.fixture
def postgres_url(postgres_server: Postgres, request: pytest.FixtureRequest) -> str:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "alone")
    address = postgres_server.make_database(f"processes_{worker}")
    empty(address)
    import psycopg

    with psycopg.connect(address, autocommit=True) as db:
        for statement in TABLES:
            db.execute(statement.encode())
    return address
