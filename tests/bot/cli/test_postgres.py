"""Commands on a PostgreSQL database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.cli.run import digests_of
from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.contract.transcript import Usage
from bot.settings import CoreSettings
from bot.store import Store, TurnState
from tests.bot.cli.conftest import Inside
from tests.postgres import Postgres

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


def test_a_database_of_another_program_is_refused_and_left_as_it_is(
    inside: Inside, tmp_path: Path, postgres_server: Postgres
) -> None:
    import psycopg

    url = postgres_server.make_database("others")
    made = "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r' "
    made += "AND nspname NOT IN ('pg_catalog', 'information_schema')"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE TABLE IF NOT EXISTS invoices (number bigint)")
        environment = {
            "PARLEY_ENV_FILE": "",
            "DATABASE_URL": url,
            "MODEL": "openai:x",
            "OPENAI_API_KEY": "sk-none",
            "TELEGRAM_BOT_TOKEN": "42:" + "A" * 35,
            "TELEGRAM_API_BASE_URL": "http://127.0.0.1:1",
        }

        told = inside.run("run", folder=tmp_path, environment=environment)

        assert told.code == 2 and "holds another program's tables (invoices)" in told.err
        assert db.execute(made.encode()).fetchall() == [("public", "invoices")]


def test_settings_are_compared_by_digests_and_keys_not_at_all() -> None:
    one = CoreSettings.model_validate({"model": "openai:x", "openai_api_key": "sk-one", "http_port": 1})
    other = CoreSettings.model_validate({"model": "openai:y", "openai_api_key": "sk-other", "http_port": 2})

    differing = set(digests_of(one).split()) ^ set(digests_of(other).split())

    assert {pair.partition("=")[0] for pair in differing} == {"MODEL"}


def test_an_address_that_is_none_is_told_as_it_is_written(inside: Inside, tmp_path: Path) -> None:
    """What masks secrets takes nothing away from the sentence that says how to write one."""
    url = "postgresql://me:open-sesame@[::1/parley"

    told = inside.run("chats", folder=tmp_path, environment={"PARLEY_ENV_FILE": "", "DATABASE_URL": url})

    assert told.code == 2 and "sesame" not in told.err
    assert "write postgresql://HOST:PORT/DATABASE with ROLE:PASSWORD@ before the host" in told.err
