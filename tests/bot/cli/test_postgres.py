"""Commands on a PostgreSQL database."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.settings import DiscordSettings, SlackSettings, TelegramSettings
from bot.cli.sharing import digests_of
from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.contract.transcript import Usage
from bot.intake import digest_of_bot
from bot.settings import CoreSettings
from bot.settings.configuration import Configuration
from bot.store import Store, TurnState, list_processes, prepare_server
from tests.bot.cli.conftest import Inside
from tests.conftest import RawJson
from tests.postgres import Postgres, free_port

CHAT = ChatId("telegram", "42", "7")


async def ask(url: str) -> None:
    """One answered question and one that waits."""
    async with Store.open(url, clock=SystemClock()) as store:
        for number in range(2):
            sender, target = Sender(id="telegram:7", name="Ada"), ReplyTarget("telegram", {})
            sent = MessageSent(delivery=str(number), chat=CHAT, sender=sender, target=target, text="Hello")
            turn = await store.intake.take_in(sent)
            assert turn is not None
            if not number:
                await store.turns.open(turn, CHAT, "telegram:7")
                await store.turns.close(
                    turn, TurnState.DONE, (), visible="Hi", reasoning="", model="openai:m", usage=Usage(1000, 200)
                )


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("doctor", "--offline"), 1, ("PostgreSQL 1", "1 on telegram: answered at the next start")),
        (("chats",), 0, ("telegram:42/7", "1 turn")),
        (("usage",), 0, ("1,200", "telegram:7")),
        (("backup", "copy.db"), 2, ("names a PostgreSQL server and no file: its own programs (pg_dump",)),
        (("restore", "copy.db"), 2, ("names a PostgreSQL server and no file",)),
    ],
)
def test_commands_work_on_a_server_or_say_what_does(
    command: tuple[str, ...], code: int, said: tuple[str, ...], inside: Inside, tmp_path: Path, postgres_url: str
) -> None:
    asyncio.run(ask(postgres_url))

    told = inside.run(*command, folder=tmp_path, environment={"PARLEY_ENV_FILE": "", "DATABASE_URL": postgres_url})

    assert [part for part in said if part not in told.out + told.err] == [] and told.code == code
    assert "sesame" not in told.out + told.err


@pytest.mark.parametrize("command", [("doctor", "--offline"), ("chats",), ("usage",)])
def test_an_empty_database_has_nothing_to_show(
    command: tuple[str, ...], inside: Inside, tmp_path: Path, postgres_url: str
) -> None:
    told = inside.run(*command, folder=tmp_path, environment={"PARLEY_ENV_FILE": "", "DATABASE_URL": postgres_url})

    assert told.code in (0, 1) and "Traceback" not in told.err


MADE = (
    "SELECT nspname, relname, CASE WHEN relkind = 'r' THEN (xpath('/row/n/text()', query_to_xml(format("
    "'SELECT count(*) AS n FROM %I.%I', nspname, relname), false, true, '')))[1]::text END FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'i', 'S', 'v') "
    "AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1, 2"
)
"""Everything in a database, with how many rows it has."""
RUNNABLE = {
    "PARLEY_ENV_FILE": "",
    "MODEL": "openai:x",
    "OPENAI_API_KEY": "sk-none",
    "TELEGRAM_BOT_TOKEN": "42:" + "A" * 35,
    "TELEGRAM_API_BASE_URL": "http://127.0.0.1:1",
}
LATER_VERSION = "INSERT INTO steps (number, at) VALUES (999, 0)"
WRONG = {
    "another program's": ("CREATE TABLE invoices (number bigint)", "", "holds another program's tables (invoices)"),
    "another program's by a name of ours": (
        "CREATE TABLE workers (id bigint)",
        "",
        "another program's tables (workers)",
    ),
    "read-only": ("", "default_transaction_read_only = on", "is read-only (a standby server, or"),
    "of a later version": (LATER_VERSION, "", "was written by a later version of this program (its schema is 999"),
    "without a schema": ("", "search_path = nowhere", "has no schema to keep tables in"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_database_that_is_not_right_ends_the_start_with_a_sentence_and_is_left_as_it_is(
    wrong: str, inside: Inside, tmp_path: Path, postgres_server: Postgres
) -> None:
    import psycopg

    url = postgres_server.make_database(f"wrong {len(wrong)}").replace(" ", "%20")
    sql, setting, sentence = WRONG[wrong]
    if sql == LATER_VERSION:
        prepare_server(url, 0.0)
    with psycopg.connect(url, autocommit=True) as db:
        for statement in (sql, setting and f'ALTER DATABASE "wrong {len(wrong)}" SET {setting}'):
            db.execute((statement or "SELECT").encode())
        before = db.execute(MADE.encode()).fetchall()

        for command in ("run", "doctor"):
            said = ("--offline",) if command == "doctor" else ()
            told = inside.run(command, *said, folder=tmp_path, environment={**RUNNABLE, "DATABASE_URL": url})

            assert sentence in told.out + told.err and "Traceback" not in told.err
            assert told.code == (2 if command == "run" else 1)
            assert command == "doctor" or (told.err.startswith("parley: ") and told.err.count("\n") == 1)
        assert db.execute(MADE.encode()).fetchall() == before


def test_a_server_that_is_away_or_holds_no_such_database_ends_the_start_with_a_sentence(
    inside: Inside, tmp_path: Path, postgres_server: Postgres
) -> None:
    postgres_server.run("DROP DATABASE IF EXISTS ascii")
    postgres_server.run("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc")
    away = f"postgresql://me:open-sesame@127.0.0.1:{free_port()}/parley"
    for url, sentence in (
        (away, "cannot be used"),
        (postgres_server.address(database="nowhere"), "cannot be used"),
        (postgres_server.address(database="ascii"), "is in the encoding SQL_ASCII"),
    ):
        told = inside.run("run", folder=tmp_path, environment={**RUNNABLE, "DATABASE_URL": url})

        assert told.code == 2 and sentence in told.err and "sesame" not in told.err
        assert told.err.startswith("parley: ") and told.err.count("\n") == 1


def test_without_the_extra_the_start_says_how_to_install_it(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "dbos" else find(name, *more))

    told = inside.run("run", folder=tmp_path, environment={**RUNNABLE, "DATABASE_URL": "postgresql://127.0.0.1:1/x"})

    assert told.code == 2 and "dbos is missing: install the extra `postgres`" in told.err
    assert told.err.count("\n") == 1


@contextmanager
def another(url: str, **columns: str | float) -> Iterator[RawJson]:
    """A process that shares a database, as far as others see it."""
    import psycopg

    row = {
        "name": "east 42",
        "version": "1.2",
        "configuration": "",
        "listens": "",
        "role": "all",
        "ahead": 0,
        **columns,
    }
    with psycopg.connect(url, autocommit=True) as db:
        id = secrets.randbits(62)
        db.execute("SELECT pg_advisory_lock(%s)", [id])
        names = ", ".join(row)
        marks = ", ".join(["%s"] * (len(row) + 1))
        db.execute(f"INSERT INTO workers (id, {names}) VALUES ({marks})".encode(), [id, *row.values()])
        yield db
        db.execute("DELETE FROM workers WHERE id = %s", [id])


def test_a_start_with_other_settings_is_refused_and_changes_nothing(
    inside: Inside, tmp_path: Path, postgres_url: str
) -> None:
    prepare_server(postgres_url, 0.0)
    other = "BOT_NAME=0 MODEL=00000000 OF_A_LATER_VERSION=1"
    with another(postgres_url, configuration=other) as db:
        before = db.execute(MADE.encode()).fetchall()

        told = inside.run("run", folder=tmp_path, environment={**RUNNABLE, "DATABASE_URL": postgres_url})

        assert told.code == 2 and told.err.count("\n") == 1
        assert "The process east 42 answers from the same database with other settings: BOT_NAME, MODEL." in told.err
        assert db.execute(MADE.encode()).fetchall() == before

        # A dead one's row has no lock, and a frozen one's is old: both are no concern of a start.
        db.execute("SELECT pg_advisory_unlock_all()")
        assert list_processes(postgres_url) == ()


@pytest.mark.parametrize("options", [(), ("--new-settings",)])
def test_a_start_with_the_token_of_another_bot_is_refused_and_changes_nothing(
    options: tuple[str, ...], inside: Inside, tmp_path: Path, postgres_url: str
) -> None:
    prepare_server(postgres_url, 0.0)
    with another(postgres_url, configuration=f"{digest_of_bot('telegram', '7')} MODEL=00000000") as db:
        before = db.execute(MADE.encode()).fetchall()
        environment = {**RUNNABLE, "TELEGRAM_BOT_TOKEN": "8:A", "DATABASE_URL": postgres_url}

        told = inside.run("run", *options, folder=tmp_path, environment=environment)
        advice = inside.run("doctor", "--offline", folder=tmp_path, environment=environment).out

        sentence = "The process east 42 answers from the same database as another bot on telegram."
        assert told.code == 2 and told.err.count("\n") == 1
        assert sentence in told.err and f"BAD        processes: {sentence}" in advice
        assert db.execute(MADE.encode()).fetchall() == before


def test_which_bot_it_is_stays_the_same_with_a_renewed_token() -> None:
    def bots(telegram: str, discord: str) -> set[str]:
        platforms = {
            "telegram": TelegramSettings.model_validate({"telegram_bot_token": telegram}),
            "discord": DiscordSettings.model_validate({"discord_bot_token": discord}),
            "slack": SlackSettings.model_validate({"slack_bot_token": "xoxb-1-2-a"}),
        }
        configuration = Configuration(core=CoreSettings.model_validate({}), platforms=platforms, tools={}, file=None)
        return {pair for pair in digests_of(configuration).split() if pair.startswith("bot:")}

    mine = bots("7:old", "MTIz.GXx.old")
    others = bots("8:old", "MTI0.GXx.old")
    assert len(mine) == len(mine - others) == 2
    assert bots("7:new", "MTIz.GYy.new") == mine
    assert bots("", "") == set()


def test_the_doctor_says_who_shares_the_database_and_what_is_wrong_there(
    inside: Inside, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said() -> str:
        environment = {**RUNNABLE, "DATABASE_URL": postgres_url}
        return inside.run("doctor", "--offline", folder=tmp_path, environment=environment).out

    prepare_server(postgres_url, 0.0)
    with another(postgres_url, listens="slack, telegram"), another(postgres_url, name="west 7", role="of later"):
        told = said()
        line = r"^ok +process east 42: receives and answers, listens to slack, telegram; version 1\.2, heard \d\.\d s"
        assert re.search(line, told, re.MULTILINE)
        assert "process west 7: receives and answers, stands by" in told
        assert "connections" not in told and "clock" not in told and "settings than" not in told
    with another(postgres_url, role="intake", configuration="MODEL=0", ahead=-90.0):
        told = said()
        assert "process east 42: only receives" in told and "its clock is 90.0 s behind the database's" in told
        assert "BAD        processes: no process answers: what people write is stored" in told
        assert "BAD        processes: east 42 has other settings than this folder: MODEL" in told
    monkeypatch.setattr("bot.cli.fleetcheck.CONNECTIONS_EACH", 10_000)
    monkeypatch.setattr("bot.contract.clock.SystemClock.wall", lambda _: time.time() + 3_600)
    told = said()
    assert "connections are open; one more process needs 10000: raise max_connections, or run fewer" in told
    assert re.search(
        r"^BAD +clock: this machine's clock is 3(600|599)\.\d s ahead of the database's", told, re.MULTILINE
    )


def test_settings_are_compared_by_digests_and_keys_not_at_all(tmp_path: Path) -> None:
    def digests(channels: str, **settings: str | int) -> set[str]:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
        file.write_text(channels)
        core = CoreSettings.model_validate({"channels_file": str(file), **settings})
        kinds = [TelegramSettings.model_validate({"telegram_bot_token": f"{len(channels)}:A"})]
        configuration = Configuration(core=core, platforms={"telegram": kinds[0]}, tools={}, file=None)
        return set(digests_of(configuration).split())

    one = digests("a", model="openai:x", openai_api_key="sk-one", http_port=1)
    other = digests("a", model="openai:y", openai_api_key="sk-other", http_port=2)
    third = digests("ab", model="openai:x")

    assert {pair.partition("=")[0] for pair in one ^ other} == {"MODEL"}
    assert {pair.partition("=")[0] for pair in one ^ third} == {"CHANNELS_FILE", "OPENAI_API_KEY", "bot:telegram"}


def test_an_address_that_is_none_is_told_as_it_is_written(inside: Inside, tmp_path: Path) -> None:
    """What masks secrets takes nothing away from the sentence that says how to write one."""
    url = "postgresql://me:open-sesame@[::1/parley"

    told = inside.run("chats", folder=tmp_path, environment={"PARLEY_ENV_FILE": "", "DATABASE_URL": url})

    assert told.code == 2 and "sesame" not in told.err
    assert "write postgresql://HOST:PORT/DATABASE with ROLE:PASSWORD@ before the host" in told.err
