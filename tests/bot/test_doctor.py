"""`parley doctor` against the services it looks at: one clear sentence for each thing that is wrong."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.clock import SystemClock
from bot.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.store import Store
from playground.discord import DiscordServer
from playground.model import ModelServer, Reply
from playground.slack import SlackServer
from playground.telegram import TelegramServer


@dataclass
class Told:
    """What the doctor said."""

    code: int
    out: str
    err: str

    def of(self, what: str) -> list[tuple[bool, str]]:
        """(well, text) of every line about `what`."""
        lines = [line.partition(": ") for line in self.out.splitlines()]
        return [(head.startswith("ok"), text) for head, _, text in lines if head.split(maxsplit=1)[1:] == [what]]


@dataclass
class World:
    """The services, and the settings that lead to them."""

    telegram: TelegramServer
    slack: SlackServer
    discord: DiscordServer
    model: ModelServer
    data: Path
    nursery: Any

    async def doctor(self, **settings: str) -> Told:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.data),
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback-key-0123456789",
            "OPENAI_BASE_URL": self.model.base_url,
            **settings,
        }
        ended = await self.nursery.talk("bot", "doctor", folder=self.data, environment=environment)
        told = Told(ended.code, ended.out, ended.err)
        assert "Traceback" not in told.out + told.err
        return told

    @property
    def tokens(self) -> dict[str, str]:
        return {
            "TELEGRAM_BOT_TOKEN": self.telegram.token,
            "TELEGRAM_API_BASE_URL": self.telegram.base_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_API_BASE_URL": self.slack.base_url,
            "DISCORD_BOT_TOKEN": self.discord.token,
            "DISCORD_API_BASE_URL": self.discord.base_url,
        }


@pytest.fixture
async def world(tmp_path: Path, nursery: Any) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        world = World(
            telegram=await stack.enter_async_context(TelegramServer()),
            slack=await stack.enter_async_context(SlackServer()),
            discord=await stack.enter_async_context(DiscordServer()),
            model=await stack.enter_async_context(ModelServer()),
            data=tmp_path,
            nursery=nursery,
        )
        world.model.script = lambda body: Reply("ready")
        yield world


async def test_everything_right_is_well_on_all_three_platforms(world: World) -> None:
    told = await world.doctor(**world.tokens)

    assert told.code == 0, told.out + told.err
    for what in ("telegram", "slack", "discord", "model", "database", "disk", "time zone", "prices", "run_python"):
        assert told.of(what), f"nothing is said of {what}:\n{told.out}"
    assert "the token works" in told.of("telegram")[0][1] and "the token works" in told.of("discord")[0][1]
    assert not told.err
    assert not any(token in told.out for name, token in world.tokens.items() if name.endswith("TOKEN"))


async def test_a_sandbox_that_does_not_hold_is_said_with_its_reason(world: World, refusing_bwrap: str) -> None:
    told = await world.doctor(PATH=refusing_bwrap, CODE_BACKEND="bwrap")

    [(_, text)] = told.of("run_python")
    assert text.startswith("not offered: bwrap: ") and "No permissions to create new namespace" in text


@pytest.mark.parametrize(
    ("name", "wrong", "platform", "others"),
    [
        ("TELEGRAM_BOT_TOKEN", "7000000001:AAF3wrongwrongwrongwrongwrongwrong0", "telegram", ("slack", "discord")),
        ("SLACK_BOT_TOKEN", "xoxb-1-2-wrongwrongwrong", "slack", ("telegram", "discord")),
        ("SLACK_APP_TOKEN", "xapp-1-A1-2-wrongwrongwrong", "slack", ("telegram", "discord")),
        ("DISCORD_BOT_TOKEN", "MTE.wrong.wrongwrongwrongwrongwrongwrong", "discord", ("telegram", "slack")),
    ],
)
async def test_a_wrong_token_is_one_sentence_that_names_it_and_the_others_are_well(
    world: World, name: str, wrong: str, platform: str, others: tuple[str, ...]
) -> None:
    told = await world.doctor(**{**world.tokens, name: wrong})

    assert told.code == 1
    [bad] = [text for well, text in told.of(platform) if not well]
    assert name in bad
    for other in others:
        assert all(well for well, _ in told.of(other))
    assert wrong not in told.out + told.err


async def test_half_of_slacks_tokens_is_a_sentence(world: World) -> None:
    told = await world.doctor(SLACK_BOT_TOKEN=world.slack.bot_token, SLACK_API_BASE_URL=world.slack.base_url)

    assert told.code == 1
    assert "SLACK_APP_TOKEN" in told.out


async def test_a_platform_that_cannot_be_reached_is_a_sentence(world: World) -> None:
    told = await world.doctor(**{**world.tokens, "TELEGRAM_API_BASE_URL": "http://127.0.0.1:9"})

    assert told.code == 1
    [(well, _)] = told.of("telegram")
    assert not well


async def test_every_model_that_may_answer_is_asked(world: World) -> None:
    world.model.models.append("small")

    told = await world.doctor(FALLBACK_MODELS="openai:gone", SUMMARY_MODEL="openai:small")

    assert told.code == 1
    assert [well for well, _ in told.of("model")] == [True, False, True]
    assert "gone" in told.of("model")[1][1] and "openai:small answers" in told.of("model")[2][1]


async def test_no_model_at_all_is_a_sentence(world: World) -> None:
    told = await world.doctor(MODEL="", OPENAI_API_KEY="")

    assert told.code == 1
    assert "MODEL is not set" in told.of("model")[0][1]


async def test_the_database_is_looked_at_and_not_touched(world: World) -> None:
    path = world.data / "data" / "parley.db"
    async with Store.open(f"sqlite:///{path}", clock=SystemClock()) as store:
        for number, place in enumerate(("telegram:42/7", "slack:T1/D1", "slack:T1/C2")):
            chat = ChatId.parse(place)
            target = ReplyTarget(chat.platform, {})
            sender = Sender(id="x", name="Ada")
            await store.intake.take_in(
                MessageSent(delivery=f"d{number}", chat=chat, sender=sender, target=target, text="hi")
            )
    damaged = world.data / "damaged.db"
    damaged.write_bytes(b"no database at all " * 1000)
    foreign = world.data / "foreign.db"
    with closing(sqlite3.connect(foreign)) as other, other:
        other.execute("CREATE TABLE theirs (a)")

    sound = await world.doctor()
    bad = await world.doctor(DATABASE_URL=f"sqlite:///{damaged}")
    theirs = await world.doctor(DATABASE_URL=f"sqlite:///{foreign}")

    assert sound.code == 0 and "is sound" in sound.of("database")[0][1]
    assert sound.of("unfinished") == [
        (True, "2 on slack: answered at the next start, for which slack has to be configured again"),
        (True, "1 on telegram: answered at the next start, for which telegram has to be configured again"),
    ]
    assert bad.code == 1 and "is damaged" in bad.of("database")[0][1]
    assert damaged.read_bytes() == b"no database at all " * 1000
    assert theirs.code == 1 and "another program's" in theirs.of("database")[0][1]


async def test_wrong_settings_of_the_machine_are_sentences(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = await world.doctor(TIME_ZONE="Europe/Pariss", MONEY_PER_DAY="5", HTTP_PORT=str(port))

    assert told.code == 1
    assert "TIME_ZONE 'Europe/Pariss'" in told.of("time zone")[0][1]
    assert "add it to PRICES" in told.of("prices")[0][1]
    assert f"HTTP_PORT {port}" in told.of("http")[0][1]


async def test_a_price_of_ones_own_is_known(world: World) -> None:
    told = await world.doctor(MONEY_PER_DAY="5", PRICES="openai:scripted=0.25/0.025/2.00")

    assert told.of("prices") == [(True, "openai:scripted: $0.25 in, $2 out for a million tokens")]


async def test_a_server_of_tools_that_does_not_come_up_is_named(world: World) -> None:
    program = "import sys; sys.exit('FORGE_URL is not set')"
    servers = {"mcpServers": {"broken": {"command": sys.executable, "args": ["-c", program]}}}
    (world.data / "mcp.json").write_text(json.dumps(servers))

    told = await world.doctor(MCP_CONFIG=str(world.data / "mcp.json"))

    assert told.code == 1
    [(well, text)] = told.of("MCP broken")
    assert not well and text.startswith("not offered") and "FORGE_URL is not set" in text


async def test_a_database_that_does_not_answer_is_named(world: World) -> None:
    with closing(sqlite3.connect(world.data / "sales.db")) as sales, sales:
        sales.execute("CREATE TABLE orders (a)")
    well = f"sales=sqlite:///{world.data}/sales.db"

    told = await world.doctor(DATABASES=f"{well},gone=sqlite:///{world.data}/none.db")

    assert told.code == 1
    [(ok, text)] = told.of("query_database")
    assert not ok and text.startswith("gone: The database cannot be opened") and text.endswith("sales answers")
    assert (await world.doctor(DATABASES=well)).of("query_database") == [(True, "read-only databases: sales answers")]


async def test_a_short_secret_is_named_because_it_cannot_be_masked(world: World) -> None:
    told = await world.doctor(OPENAI_API_KEY="short")

    assert told.code == 1
    assert "never masked" in told.of("secrets")[0][1]


def test_nothing_is_said_of_a_port_that_is_not_used() -> None:
    from bot.checkup import _port

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    result: Any = _port("127.0.0.1", port)

    assert result.ok and "is free" in result.text


async def test_what_every_user_of_the_machine_can_read_is_named(world: World) -> None:
    """Where the folders above let them through. The next start mends the database; files of keys are the operator's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        secrets, servers, database = folder / ".env", folder / "mcp.json", folder / "parley.db"
        secrets.write_text("BOT_NAME=Someone\n")
        servers.write_text('{"mcpServers": {}}')
        settings = {
            "DATABASE_URL": f"sqlite:///{database}",
            "PARLEY_ENV_FILE": str(secrets),
            "MCP_CONFIG": str(servers),
        }
        async with Store.open(settings["DATABASE_URL"], clock=SystemClock()):
            pass
        for file in (secrets, servers, database):
            file.chmod(0o644)
        hidden = await world.doctor(**settings)
        folder.chmod(0o755)

        seen = await world.doctor(**settings)
        modes = [file.stat().st_mode & 0o777 for file in (secrets, servers, database)]

    assert not [text for what in ("settings", "database") for _, text in hidden.of(what) if "every user" in text]
    told = [text for what in ("settings", "database") for well, text in seen.of(what) if not well]
    assert [text for text in told if str(secrets) in text and f"chmod 600 {secrets}" in text]
    assert [text for text in told if str(servers) in text and f"chmod 600 {servers}" in text]
    assert [text for text in told if str(database) in text and "644" in text and "next start" in text]
    assert seen.code == 1 and modes == [0o644] * 3
