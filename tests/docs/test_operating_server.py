"""What docs/operating.md says of several processes on PostgreSQL, tried on a server and looked for in the program."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from pathlib import Path

from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.store import Store, prepare_server
from tests.postgres import Postgres, program

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
CHAT = ChatId("telegram", "42", "7")


def blocks(language: str, title: str) -> list[str]:
    """The lines of a section in this language."""
    section = re.split(r"^##+ ", PAGE.partition(f"\n### {title}\n")[2], flags=re.MULTILINE)[0]
    return [
        line
        for block in re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]


async def hold(url: str) -> None:
    """Keep a question that waits."""
    async with Store.open(url, clock=SystemClock()) as store:
        await store.intake.take_in(
            MessageSent(
                delivery="1", chat=CHAT, sender=Sender(id="telegram:7"), target=ReplyTarget("telegram", {}), text="Tea?"
            )
        )


async def held(url: str) -> list[str]:
    async with Store.open(url, clock=SystemClock()) as store:
        rows = await store.intake.list_waiting()
        return [row.incoming.text for row in rows if isinstance(row.incoming, MessageSent)]


def test_a_copy_that_is_made_as_the_page_says_is_put_back_as_it_says(postgres_server: Postgres, tmp_path: Path) -> None:
    for name in ("copied", "put_back"):
        postgres_server.run(f"DROP DATABASE IF EXISTS {name}")
    url, other = postgres_server.make_database("copied"), postgres_server.make_database("put_back")
    asyncio.run(hold(url))
    commands = blocks("sh", "Replacing a version while it runs")
    folder = Path(program("pg_dump")).parent
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "DATABASE_URL": url, "NEW_DATABASE_URL": other}

    for command in commands:
        subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, check=True, capture_output=True)

    assert [command.split()[0] for command in commands] == ["pg_dump", "pg_restore"]
    assert asyncio.run(held(other)) == ["Tea?"]


def test_what_shows_who_is_there_runs_as_it_is_written(postgres_url: str) -> None:
    import psycopg

    prepare_server(postgres_url, 0.0)
    queries = blocks("sql", "Alarms")
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("INSERT INTO workers (id, name, version, configuration) VALUES (1, 'east 42', '1.2', '')")
        db.execute("INSERT INTO places (place, job, owner) VALUES ('slack:C1', 'x', 1)")
        found = [db.execute(query.encode()).fetchall() for query in queries]

    assert found[0][0][:4] == ("east 42", "all", "1.2", "") and found[1] == [("east 42", 1)]


def test_what_to_watch_is_what_the_program_says() -> None:
    """The metrics exist in the program, and the quoted lines in its log."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "bot").rglob("*.py"))
    section = PAGE.partition("\n### Alarms\n")[2].partition("\n### ")[0]
    metrics = set(re.findall(r"`((?:parley|process)_\w+)`", section))
    lines = re.findall(r"^\| log: `([^`]+)`", section, re.MULTILINE)

    assert len(metrics) > 7 and len(lines) > 4
    assert not [name for name in metrics if f'"{name}"' not in code]
    assert not [line for line in lines if line not in code]
