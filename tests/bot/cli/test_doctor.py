"""`parley doctor` against the services it looks at: one clear sentence for each thing that is wrong."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.cli.doctor import describe_access, examine
from bot.cli.main import configured, parser
from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.contract.transcript import Usage
from bot.operations import Outlet
from bot.settings import CoreSettings
from bot.store import Store, TurnState
from playground.discord import DiscordServer
from playground.model import ModelServer, Reply
from playground.slack import SlackServer
from playground.tavily import TavilyServer
from playground.telegram import TelegramServer
from playground.web import DexscreenerServer, MediaWikiServer, OpenAlexServer, OpenMeteoServer
from tests.bot.cli.conftest import Inside
from tests.bot.store.test_upgrading import lay_out
from tests.conftest import Nursery, RawObject
from tests.web import serving
from tools.contract.base import Tool
from tools.contract.findings import Finding
from tools.fetch.service import JsonService

TAVILY_KEY = "tvly-loopback-key-0123"
NOBODY = "http://127.0.0.1:9"


@dataclass
class Told:
    """What the doctor said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """(verdict, what, text) of every line but the sum."""
        read = [re.fullmatch(r"(ok|note|not asked|BAD) +(\S.*?): (.*)", line) for line in self.out.splitlines()[:-1]]
        assert all(read), self.out
        return [(line[1], line[2], line[3]) for line in read if line is not None]

    @property
    def sum(self) -> str:
        return self.out.splitlines()[-1]

    def of(self, what: str) -> list[tuple[str, str]]:
        """(verdict, text) of every line about `what`."""
        return [(verdict, text) for verdict, about, text in self.lines if about == what]


@dataclass
class World:
    """The services, and the settings that lead to them."""

    telegram: TelegramServer
    slack: SlackServer
    discord: DiscordServer
    model: ModelServer
    tavily: TavilyServer
    openalex: OpenAlexServer
    openmeteo: OpenMeteoServer
    mediawiki: MediaWikiServer
    dexscreener: DexscreenerServer
    data: Path
    inside: Inside

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.data),
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback-key-0123456789",
            "OPENAI_BASE_URL": self.model.base_url,
            # Its sandbox is tried by those who look at it.
            "CODE_BACKEND": "off",
            "OPENALEX_BASE_URL": self.openalex.base_url,
            "OPEN_METEO_BASE_URL": self.openmeteo.base_url,
            "OPEN_METEO_GEOCODING_URL": self.openmeteo.base_url,
            "WIKIPEDIA_BASE_URL": self.mediawiki.language_url,
            "DEXSCREENER_BASE_URL": self.dexscreener.base_url,
            **settings,
        }

    async def doctor(self, *options: str, **settings: str) -> Told:
        """What it says with nothing but these settings."""
        parsed = parser().parse_args(["doctor", *options])
        outlet = Outlet()
        with self.inside.alone(self.data, self.environment(**settings)):
            code = await examine(configured(outlet), outlet, offline=parsed.offline)
        told = self.inside.capsys.readouterr()
        assert "Traceback" not in told.out + told.err
        return Told(code, told.out, told.err)

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
async def world(tmp_path: Path, inside: Inside) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        world = World(
            telegram=await stack.enter_async_context(TelegramServer()),
            slack=await stack.enter_async_context(SlackServer()),
            discord=await stack.enter_async_context(DiscordServer()),
            model=await stack.enter_async_context(ModelServer()),
            tavily=await stack.enter_async_context(TavilyServer(key=TAVILY_KEY)),
            openalex=await stack.enter_async_context(OpenAlexServer()),
            openmeteo=await stack.enter_async_context(OpenMeteoServer()),
            mediawiki=await stack.enter_async_context(MediaWikiServer()),
            dexscreener=await stack.enter_async_context(DexscreenerServer()),
            data=tmp_path,
            inside=inside,
        )
        world.model.script = lambda body: Reply("ready")
        yield world


async def test_everything_right_is_well_on_all_three_platforms(world: World, nursery: Nursery) -> None:
    environment = world.environment(**world.tokens, CODE_BACKEND="auto")
    ended = await nursery.talk("bot", "doctor", folder=world.data, environment=environment)
    told = Told(ended.code, ended.out, ended.err)

    assert told.code == 0, told.out + told.err
    for what in (
        "telegram",
        "slack",
        "discord",
        "model",
        "database",
        "disk",
        "time zone",
        "prices",
        "quotas",
        "run_python",
    ):
        assert told.of(what), f"nothing is said of {what}:\n{told.out}"
    assert "the token works" in told.of("telegram")[0][1] and "the token works" in told.of("discord")[0][1]
    assert not told.err
    assert not any(token in told.out for name, token in world.tokens.items() if name.endswith("TOKEN"))


async def test_a_sandbox_that_does_not_hold_is_said_with_its_reason(world: World, refusing_bwrap: str) -> None:
    told = await world.doctor(PATH=refusing_bwrap, CODE_BACKEND="bwrap")

    [(_, text)] = told.of("run_python")
    assert text.startswith("not offered: bwrap: ") and "No permissions to create new namespace" in text
    [(_, text)] = told.of("read_page")
    assert "not in a sandbox: bwrap: No permissions to create new namespace" in text


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
    [bad] = [text for verdict, text in told.of(platform) if verdict == "BAD"]
    assert name in bad
    for other in others:
        assert not [text for verdict, text in told.of(other) if verdict == "BAD"]
    assert wrong not in told.out + told.err


async def test_half_of_slacks_tokens_is_a_sentence(world: World) -> None:
    told = await world.doctor(SLACK_BOT_TOKEN=world.slack.bot_token, SLACK_API_BASE_URL=world.slack.base_url)

    assert told.code == 1
    assert "SLACK_APP_TOKEN" in told.out


async def test_a_platform_that_cannot_be_reached_is_a_sentence(world: World) -> None:
    told = await world.doctor(**{**world.tokens, "TELEGRAM_API_BASE_URL": "http://127.0.0.1:9"})

    assert told.code == 1
    [(verdict, _)] = told.of("telegram")
    assert verdict == "BAD"


async def test_every_model_that_may_answer_is_asked(world: World) -> None:
    world.model.models.append("small")

    told = await world.doctor(FALLBACK_MODELS="openai:gone", SUMMARY_MODEL="openai:small")

    assert told.code == 1
    assert [verdict for verdict, _ in told.of("model")] == ["ok", "BAD", "ok"]
    assert "gone" in told.of("model")[1][1] and "openai:small answers" in told.of("model")[2][1]


@pytest.mark.parametrize(
    ("settings", "code", "verdict", "said"),
    [
        ({}, 0, "ok", "openai:gpt-4o-mini-transcribe transcribes voice messages"),
        ({"TRANSCRIBE_MODEL": "openai:whisper-1"}, 0, "ok", "openai:whisper-1 transcribes voice messages"),
        ({"TRANSCRIBE_MODEL": "off"}, 0, "note", "voice messages are not transcribed; set TRANSCRIBE_MODEL"),
        (
            {"TRANSCRIBE_MODEL": "local:/no/such"},
            1,
            "BAD",
            "local:/no/such cannot listen: there is no",
        ),
        ({"TRANSCRIBE_MODEL": "openai:gone"}, 1, "BAD", "voice messages are not transcribed: openai:gone is not known"),
    ],
)
async def test_what_transcribes_voice_messages_is_asked(
    world: World, settings: dict[str, str], code: int, verdict: str, said: str
) -> None:
    told = await world.doctor(**settings)

    [(found, text)] = told.of("voice")
    assert (told.code, found) == (code, verdict) and said in text


@pytest.mark.parametrize(
    ("settings", "code", "verdict", "said"),
    [
        ({}, 0, "note", "answers are not spoken (/voice); set SPEECH_MODEL to change that"),
        ({"SPEECH_MODEL": "openai:gpt-4o-mini-tts"}, 0, "ok", "openai:gpt-4o-mini-tts speaks answers (/voice)"),
        ({"SPEECH_MODEL": "openai:gone"}, 1, "BAD", "answers are not spoken: openai:gone is not known"),
        ({"SPEECH_MODEL": "openai:tts-1", "SPEECH_VOICE": "me"}, 1, "BAD", "answers are not spoken: openai:tts-1"),
    ],
)
async def test_what_speaks_answers_is_asked(
    world: World, settings: dict[str, str], code: int, verdict: str, said: str
) -> None:
    told = await world.doctor(**settings)

    [(found, text)] = told.of("speech")
    assert (told.code, found) == (code, verdict) and said in text


async def test_a_providers_own_transcriber_that_is_missing_is_no_fault(world: World) -> None:
    world.model.transcriptions.models.clear()

    told = await world.doctor()

    [(found, text)] = told.of("voice")
    assert (
        told.code == 0
        and found == "note"
        and "voice messages are not transcribed: openai:gpt-4o-mini-transcribe" in text
    )


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
    spoiled = path.read_bytes()[:8192]
    damaged.write_bytes(spoiled)
    letter = world.data / "letter.txt"
    letter.write_text("no database at all")
    foreign = world.data / "foreign.db"
    with closing(sqlite3.connect(foreign)) as other, other:
        other.execute("CREATE TABLE theirs (a)")

    sound = await world.doctor()
    bad = await world.doctor(DATABASE_URL=f"sqlite:///{damaged}")
    theirs = await world.doctor(DATABASE_URL=f"sqlite:///{foreign}")
    mistyped = await world.doctor(DATABASE_URL=f"sqlite:///{letter}")

    assert sound.code == 0 and "is sound" in sound.of("database")[0][1]
    assert sound.of("unfinished") == [
        ("note", "2 on slack: answered at the next start; slack must be configured again for them"),
        ("note", "1 on telegram: answered at the next start; telegram must be configured again for them"),
    ]
    assert bad.code == 1 and "is damaged" in bad.of("database")[0][1]
    assert damaged.read_bytes() == spoiled
    assert theirs.code == 1 and "another program's" in theirs.of("database")[0][1]
    assert mistyped.code == 1 and "is not an SQLite database" in mistyped.of("database")[0][1]


async def test_an_older_database_and_the_copies_that_are_kept_are_named(world: World) -> None:
    path = world.data / "data" / "parley.db"
    path.parent.mkdir()
    lay_out(11, path)
    link = world.data / "link.db"
    link.symlink_to(path)

    older = await world.doctor(DATABASE_URL=f"sqlite:///{link}")
    async with Store.open(f"sqlite:///{path}", clock=SystemClock()):
        pass
    upgraded = await world.doctor()

    assert [word for word, _ in older.of("database")] == ["ok", "note"] and older.code == 0
    assert (
        "parley.db is from an earlier version; the next start upgrades it and keeps a copy"
        in older.of("database")[1][1]
    )
    assert [word for word, _ in upgraded.of("database")] == ["ok", "note"]
    assert "212 KiB of earlier copies are beside" in upgraded.of("database")[1][1]


async def test_wrong_settings_of_the_machine_are_sentences(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = await world.doctor(MONEY_PER_DAY="5", HTTP_PORT=str(port))

    assert told.code == 1
    assert "add it to PRICES" in told.of("prices")[0][1]
    assert f"HTTP_PORT {port}" in told.of("http")[0][1]


async def test_how_each_platform_receives_is_said(world: World) -> None:
    by_web = {
        "TELEGRAM_WEBHOOK_URL": "https://bot.example/telegram",
        "SLACK_APP_TOKEN": "",
        "SLACK_SIGNING_SECRET": "s" * 32,
        "DISCORD_PUBLIC_KEY": "0" * 64,
        "WEB_PORT": "0",
    }
    connected = await world.doctor("--offline", **world.tokens)
    posted = await world.doctor("--offline", **world.tokens | by_web)

    platforms = "telegram", "slack", "discord"
    assert [connected.of(name)[-1][1].partition("receives ")[2] for name in platforms] == [
        "by polling: TELEGRAM_WEBHOOK_URL is not set",
        "over Socket Mode: SLACK_APP_TOKEN is set",
        "over the gateway, commands too: DISCORD_PUBLIC_KEY is not set",
    ]
    assert [posted.of(name)[-1][1].partition("receives ")[2] for name in platforms] == [
        "by web, at https://bot.example/telegram",
        "by web: SLACK_APP_TOKEN is not set",
        "over the gateway, commands by web",
    ]
    assert connected.of("web") == []


async def test_the_port_of_the_public_address_is_looked_at(world: World) -> None:
    by_web = world.tokens | {"TELEGRAM_WEBHOOK_URL": "https://bot.example/telegram"}
    async with serving() as web:
        ours = await world.doctor("--offline", **by_web, WEB_PORT=str(web.port))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        taken = await world.doctor("--offline", **by_web, WEB_PORT=str(port))
    free = await world.doctor("--offline", **by_web, WEB_PORT=str(web.port))

    assert ours.of("web") == [("ok", f"a running bot serves 127.0.0.1:{web.port}")]
    [(verdict, text)] = taken.of("web")
    assert verdict == "BAD" and text.startswith(f"WEB_PORT {port} at 127.0.0.1 cannot be used")
    assert free.of("web") == [("ok", f"127.0.0.1:{web.port} is free")]


async def test_a_price_of_ones_own_is_known(world: World) -> None:
    told = await world.doctor(MONEY_PER_DAY="5", PRICES="openai:scripted=0.25/0.025/2.00")

    assert told.of("prices") == [
        ("ok", "openai:scripted: $0.25 in, $2 out for a million tokens"),
        ("ok", "openai:gpt-4o-mini-transcribe: $0.003 for a minute of speech"),
    ]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "about 336 people may ask at once"),
        ({"tokens_per_day": 125_000}, "about 21 people may ask at once"),
        ({"money_per_day": 1.0, "prices": ["openai:scripted=1/0.1/10"]}, "about 58 people may ask at once"),
        ({"tokens_per_day": 0, "money_per_day": 0.0}, "any number of people may ask at once"),
        ({"tokens_per_day": 2_000}, "nobody gets an answer"),
    ],
)
def test_how_many_people_may_ask_at_once_is_told(settings: RawObject, told: str) -> None:
    from bot.cli.machine import examine_quotas

    [(about, finding)] = examine_quotas(CoreSettings.model_construct(**settings), ["openai:scripted"], 3_000)

    assert about == "quotas" and told in finding.text


async def test_how_many_may_ask_at_once_follows_from_what_prompts_take(world: World) -> None:
    """At first from this configuration's own prompt, then from the newest answers."""
    few, path = "about ([0-9,]+) people may ask at once", world.data / "parley.db"

    async def told(**settings: str) -> int:
        said = await world.doctor("--offline", DATABASE_URL=f"sqlite:///{path}", **settings)
        [(_, text)] = said.of("quotas")
        return int(re.findall(few, text)[0].replace(",", ""))

    at_first = await told()
    assert await told(INSTRUCTIONS="Be brief. " * 2_000) < at_first / 2

    async with Store.open(f"sqlite:///{path}", clock=SystemClock()) as store:
        for number, prompt in enumerate((40, 100, 90_000), 1):
            chat = ChatId("telegram", "42", str(number))
            sender, target = Sender(id="telegram:7", name="Ada"), ReplyTarget("telegram", {})
            asked = MessageSent(delivery=f"d{number}", chat=chat, sender=sender, target=target, text="Tell me.")
            turn = await store.intake.take_in(asked)
            assert turn is not None
            await store.turns.begin(turn, chat, "telegram:7")
            used = Usage(prompt, 40)
            await store.turns.close(turn, TurnState.DONE, (), visible="", reasoning="", model="m", usage=used)

    assert await told() == 1_600_000 // (125 + 1_000)


async def test_a_server_of_tools_that_does_not_come_up_is_named(world: World) -> None:
    program = "import sys; sys.exit('FORGE_URL is not set')"
    servers = {"mcpServers": {"broken": {"command": sys.executable, "args": ["-c", program]}}}
    (world.data / "mcp.json").write_text(json.dumps(servers))

    told = await world.doctor(MCP_CONFIG=str(world.data / "mcp.json"))

    assert told.code == 1
    [(verdict, text)] = told.of("MCP broken")
    assert verdict == "BAD" and text.startswith("not offered") and "FORGE_URL is not set" in text


async def test_an_agent_that_cannot_be_loaded_is_named(world: World) -> None:
    told = await world.doctor(AGENT="no_such_module_here:agent")

    assert told.code == 1
    [(verdict, text)] = told.of("agent")
    assert verdict == "BAD" and "No module named 'no_such_module_here'" in text


async def test_a_database_that_does_not_answer_is_named(world: World) -> None:
    with closing(sqlite3.connect(world.data / "sales.db")) as sales, sales:
        sales.execute("CREATE TABLE orders (a)")
    well = f"sales=sqlite:///{world.data}/sales.db"

    (world.data / "torn.db").write_text("no database")
    told = await world.doctor(DATABASES=f"{well},torn=sqlite:///{world.data}/torn.db")

    assert told.code == 1
    [(verdict, text)] = told.of("query_database")
    assert verdict == "BAD" and text.startswith("torn: ") and text.endswith("sales answers")
    assert (await world.doctor(DATABASES=well)).of("query_database") == [("ok", "read-only databases: sales answers")]


async def test_a_short_secret_is_named_because_it_cannot_be_masked(world: World) -> None:
    told = await world.doctor(OPENAI_API_KEY="short")

    assert told.code == 1
    assert told.of("secrets")[0][1].startswith("OPENAI_API_KEY: shorter than 12 characters")


def test_nothing_is_said_of_a_port_that_is_not_used() -> None:
    from bot.cli.machine import _examine_port

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    result = _examine_port("HTTP_PORT", "127.0.0.1", port)

    assert result == ("http", Finding.ok(f"127.0.0.1:{port} is free"))


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

    assert not [text for what in ("settings", "database") for _, text in hidden.of(what) if "can read" in text]
    told = [text for what in ("settings", "database") for verdict, text in seen.of(what) if verdict == "BAD"]
    assert [text for text in told if str(secrets) in text and f"chmod 600 {secrets}" in text]
    assert [text for text in told if str(servers) in text and f"chmod 600 {servers}" in text]
    assert [text for text in told if str(database) in text and "644" in text and "next start" in text]
    assert seen.code == 1 and modes == [0o644] * 3


async def test_what_is_configured_is_asked_once_and_well(world: World) -> None:
    world.model.models += ["gpt-image-1", "default"]

    told = await world.doctor(
        TAVILY_API_KEY=TAVILY_KEY,
        TAVILY_API_BASE_URL=world.tavily.base_url,
        IMAGE_MODEL="openai:gpt-image-1",
        VLLM_API_KEY="vllm-loopback-key-012345",
        VLLM_BASE_URL=world.model.base_url,
        CODE_BACKEND="off",
    )

    assert told.code == 0, told.out + told.err
    assert told.of("search_web")[0][1].endswith(" answers") and told.of("generate_image")[0][1].endswith(
        "takes the key"
    )
    assert [request.path for request in world.tavily.requests] == ["/search"]
    assert world.tavily.requests[0].body["max_results"] == 1
    assert [request.path for request in world.model.requests if "chat" in request.path] == ["/v1/chat/completions"] * 2
    assert "VLLM_API_KEY" in told.of("model")[1][1]
    assert told.of("run_python") == [("note", "not offered: it is turned off (CODE_BACKEND=off)")]
    assert told.of("query_database")[0][1].startswith("not offered: it needs DATABASES")


FAULTS = {
    "search key refused": (
        {"TAVILY_API_KEY": "tvly-wrong-key-0123", "TAVILY_API_BASE_URL": "{tavily}"},
        ("search_web", "Tavily refuses the key of TAVILY_API_KEY"),
    ),
    "search unreachable": (
        {"TAVILY_API_KEY": TAVILY_KEY, "TAVILY_API_BASE_URL": NOBODY},
        ("search_web", "Tavily at 127.0.0.1:9 does not answer (ConnectError); TAVILY_API_BASE_URL says where it is"),
    ),
    "image model unknown": (
        {"IMAGE_MODEL": "openai:gpt-image-9"},
        ("generate_image", "does not know the model IMAGE_MODEL=gpt-image-9"),
    ),
    "image key refused": (
        {"IMAGE_MODEL": "openai:gpt-image-1", "IMAGE_API_KEY": "sk-wrong-key-0123456"},
        ("generate_image", "refuses the key of IMAGE_API_KEY"),
    ),
    "images unreachable": (
        {"IMAGE_MODEL": "openai:gpt-image-1", "IMAGE_BASE_URL": NOBODY},
        ("generate_image", "127.0.0.1:9 does not answer (APIConnectionError); IMAGE_BASE_URL says where it is"),
    ),
    "images half set": (
        {
            "IMAGE_MODEL": "openai:gpt-image-1",
            "MODEL": "vllm:scripted",
            "OPENAI_API_KEY": "",
            "VLLM_BASE_URL": "{model}",
        },
        ("generate_image", "not offered: it needs IMAGE_API_KEY, or OPENAI_API_KEY"),
    ),
    "E2B without key": (
        {"CODE_BACKEND": "e2b"},
        ("run_python", "not offered: CODE_BACKEND=e2b needs E2B_API_KEY, a key from e2b.dev"),
    ),
    "E2B unreachable": (
        {"CODE_BACKEND": "e2b", "E2B_API_KEY": "e2b_0123456789abcdef", "E2B_API_BASE_URL": NOBODY},
        ("run_python", "not offered: e2b: E2B could not be reached"),
    ),
    "database not written right": (
        {"DATABASES": "no-name-and-no-address"},
        ("query_database", "not offered: DATABASES is not written right"),
    ),
    "database file missing": (
        {"DATABASES": "sales=sqlite:////nowhere/sales.db"},
        ("query_database", "not offered: DATABASES names sales, and there is no file /nowhere/sales.db"),
    ),
    "database server unreachable": (
        {"DATABASES": "crm=postgresql://reader:hunter2hunter2@127.0.0.1:9/crm"},
        ("query_database", "crm: "),
    ),
    "mcp.json missing": (
        {"MCP_CONFIG": "gone.json"},
        ("MCP gone.json", "not offered: MCP_CONFIG names 'gone.json', and there is no such file"),
    ),
    "mcp.json no JSON": ({"MCP_CONFIG": "torn.json"}, ("MCP torn.json", "'torn.json' is no JSON in line 1")),
    "model key refused": ({"OPENAI_API_KEY": "sk-wrong-key-0123456"}, ("model", "refuses the key of OPENAI_API_KEY")),
    "model unreachable": (
        {"OPENAI_BASE_URL": f"{NOBODY}/v1"},
        ("model", "openai:scripted cannot be reached at 127.0.0.1:9"),
    ),
    "key of another model refused": (
        {"VLLM_API_KEY": "vllm-wrong-key-012345", "VLLM_BASE_URL": "{model}"},
        ("model", "vllm:default refuses the key of VLLM_API_KEY"),
    ),
    "slip in the environment": (
        {"OPENAI_APIKEY": "sk-wrong-key-0123456"},
        ("settings", "OPENAI_APIKEY in the environment is not a setting of this program; did you mean OPENAI_API_KEY?"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "said"), FAULTS.values(), ids=FAULTS)
async def test_what_is_configured_and_fails_is_bad_in_one_line(
    world: World, settings: dict[str, str], said: tuple[str, str]
) -> None:
    world.model.key = "sk-loopback-key-0123456789"
    (world.data / "torn.json").write_text("{")
    places = {"tavily": world.tavily.base_url, "model": world.model.base_url}
    if "VLLM_BASE_URL" in settings and "MODEL" in settings:
        world.model.key = ""

    told = await world.doctor(**{name: value.format(**places) for name, value in settings.items()})

    assert told.code == 1 and not told.err
    bad = [line for line in told.out.splitlines() if line.startswith("BAD")]
    [line] = [line for line in bad if re.match(f"BAD +{said[0]}: ", line)]
    assert said[1] in line and bad == [line]
    assert told.sum.endswith(f" not asked, 1 BAD: {said[0]}")
    assert not [value for name, value in settings.items() if name.endswith("KEY") and value and value in told.out]
    assert "hunter2" not in told.out and "Answer without" not in told.out


async def test_offline_nothing_is_asked_and_no_program_started(world: World) -> None:
    started = world.data / "started"
    program = {"command": sys.executable, "args": ["-c", f"open({str(started)!r}, 'w')"]}
    (world.data / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": program}}))

    told = await world.doctor(
        "--offline",
        **world.tokens,
        MCP_CONFIG=str(world.data / "mcp.json"),
        TAVILY_API_KEY=TAVILY_KEY,
        TAVILY_API_BASE_URL=world.tavily.base_url,
        IMAGE_MODEL="openai:gpt-image-1",
        CODE_BACKEND="e2b",
        E2B_API_KEY="e2b_0123456789abcdef",
        E2B_API_BASE_URL=NOBODY,
        ARK_API_KEY="ark-loopback-key-012345",
    )

    assert told.code == 0, told.out + told.err
    assert not world.model.requests and not world.tavily.requests and not started.exists()
    for what in ("telegram", "slack", "discord", "model", "search_web", "generate_image", "run_python", "MCP mine"):
        assert told.of(what) and all(verdict == "not asked" for verdict, _ in told.of(what)), what


async def test_what_is_switched_off_or_left_to_some_is_named_and_names_that_are_no_tools(world: World) -> None:
    told = await world.doctor(TOOLS_OFF="calculator,run_pyton", TOOLS_FOR="wikipedia=admins", CHANNELS_FILE="gone.yaml")

    assert told.code == 1
    assert told.of("calculator") == [("note", "not offered: switched off by TOOLS_OFF")]
    assert [line for line in told.of("tools") if not line[1].startswith("ask before")] == [
        ("note", "tools switched off: calculator, run_pyton"),
        ("note", "wikipedia is reserved for admins"),
        ("BAD", "TOOLS_OFF names 'run_pyton', and there is no such tool; did you mean run_python?"),
    ]
    assert told.of("channels") == [("BAD", "CHANNELS_FILE: there is no file gone.yaml")]


async def test_tools_that_ask_first_are_named_and_names_of_settings_that_are_no_tools(world: World) -> None:
    told = await world.doctor(CONFIRM_TOOLS="wiki*,-calculatr", TRUSTED_TOOLS="remembr")

    asking, *wrong = told.of("tools")
    assert asking[0] == "note" and re.match(r"ask before they run: .*\bwikipedia\b", asking[1])
    assert wrong == [
        ("BAD", "CONFIRM_TOOLS names 'calculatr', and there is no such tool; did you mean calculator?"),
        ("BAD", "TRUSTED_TOOLS names 'remembr', and there is no such tool; did you mean remember?"),
    ]


async def test_the_models_of_single_chats_are_asked_too(world: World, tmp_path: Path) -> None:
    file = tmp_path / "channels.yaml"
    file.write_text(
        "telegram:*:\n  tools: [-run_python]\ntelegram:42/7:\n  instructions: Be brief.\n  model: openai:gone\n"
        "slack:T1/C1:\n  who: [slack:T1/U1]\n  model: ark:x\n"
    )

    told = await world.doctor(CHANNELS_FILE=str(file))

    assert [verdict for verdict, _ in told.of("model")] == ["ok", "BAD", "BAD"]
    assert "gone" in told.of("model")[1][1] and "names 'ark'" in told.of("model")[2][1]
    everywhere = "who as everywhere (ALLOWED_…)"
    assert [text for _, text in told.of("channels")] == [
        "telegram:*: model openai:scripted (MODEL); no instructions of its own; "
        f"tools -run_python (channels.yaml line 2); {everywhere}",
        "telegram:42/7: model openai:gone (channels.yaml line 5); instructions (channels.yaml line 4); "
        f"tools -run_python (channels.yaml line 2); {everywhere}",
        "slack:T1/C1: model ark:x (channels.yaml line 8); no instructions of its own; "
        "tools as everywhere (TOOLS_OFF, TOOLS_FOR); who slack:T1/U1 (channels.yaml line 7)",
    ]


async def test_offline_no_server_is_started_to_look_for_names(world: World, tmp_path: Path) -> None:
    started = tmp_path / "started"
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"s": {"command": "touch", "args": [str(started)]}}}))

    told = await world.doctor("--offline", MCP_CONFIG=str(config), TOOLS_OFF="run_pyton,s__delete")

    [wrong] = [text for verdict, text in told.of("tools") if verdict == "BAD"]
    assert "did you mean run_python?" in wrong
    assert not started.exists()


PUBLIC = {
    "search_papers": ("OPENALEX_BASE_URL",),
    "get_weather": ("OPEN_METEO_BASE_URL", "OPEN_METEO_GEOCODING_URL"),
    "wikipedia": ("WIKIPEDIA_BASE_URL",),
    "token_price": ("DEXSCREENER_BASE_URL",),
}
"""Tools whose service everybody may ask, and the settings that say where it is."""


async def test_a_web_tool_is_ok_only_where_its_service_answered(world: World) -> None:
    servers = (world.openalex, world.openmeteo, world.mediawiki, world.dexscreener)

    well = await world.doctor()
    asked = [len(server.requests) for server in servers]
    offline = await world.doctor("--offline")
    away = await world.doctor(**{name: NOBODY for names in PUBLIC.values() for name in names})

    assert [well.of(tool)[0][0] for tool in PUBLIC] == ["ok"] * 4 and well.code == 0
    assert asked == [1, 2, 1, 1] == [len(server.requests) for server in servers]
    assert offline.of("wikipedia") == [("not asked", f"it needs {world.mediawiki.base_url.removeprefix('http://')}")]
    assert {verdict for tool in PUBLIC for verdict, _ in offline.of(tool)} == {"not asked"} and offline.code == 0
    assert away.of("wikipedia") == [
        ("BAD", "127.0.0.1:9 cannot be reached (ClientConnectorError); WIKIPEDIA_BASE_URL says where it is")
    ]
    assert away.sum.endswith(f"4 BAD: {', '.join(PUBLIC)}") and away.code == 1


async def test_a_public_service_that_refuses_is_bad_only_where_the_operator_configured_it() -> None:
    async with MediaWikiServer() as server:
        server.articles.clear()
        for configured, verdict in ((False, "note"), (True, "BAD")):
            service = JsonService("Wikipedia", server.base_url, "WIKIPEDIA_BASE_URL", configured=configured)
            found = await service.check("/en/w/api.php", {"action": "query"}, expected="query", offline=False)
            await service.close()

            assert found.verdict == verdict and "answered with something else" in found.text


async def test_a_key_that_is_refused_transcribes_nothing(world: World) -> None:
    world.model.key = "sk-loopback-key-0123456789"

    told = await world.doctor(OPENAI_API_KEY="sk-wrong-key-0123456")

    [(verdict, text)] = told.of("voice")
    assert verdict == "note" and text.startswith("voice messages are not transcribed: ")
    assert told.sum.endswith("1 BAD: model")


async def test_the_last_line_counts_the_words_and_names_what_is_bad(world: World) -> None:
    well = await world.doctor()
    bad = await world.doctor(OPENAI_API_KEY="short", FALLBACK_MODELS="openai:gone,openai:away")

    for told in (well, bad):
        counts = {word: [verdict for verdict, _, _ in told.lines].count(word) for word in ("ok", "note", "not asked")}
        assert told.sum.startswith(f"{counts['ok']} ok, {counts['note']} notes, {counts['not asked']} not asked, ")
        assert "not offered" not in " ".join(text for verdict, _, text in told.lines if verdict == "ok")
    assert well.sum.endswith(", 0 BAD") and well.code == 0
    assert bad.sum.endswith(", 3 BAD: model, secrets") and bad.code == 1


async def test_a_tool_that_breaks_is_bad_and_the_others_are_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(self: object, *, offline: bool = False) -> Finding:
        raise RuntimeError("no pipe")

    def opens(settings: object) -> Tool:
        raise OSError("no such device")

    monkeypatch.setattr("tools.wikipedia.Wikipedia.check", fails)
    monkeypatch.setattr("tools.calculator.open_tool", opens)

    told = await world.doctor()

    [(_, wikipedia)], [(_, calculator)] = told.of("wikipedia"), told.of("calculator")
    assert wikipedia.startswith("its check failed: RuntimeError: no pipe (test_doctor.py, line ")
    assert calculator.startswith("not offered: it cannot be opened: OSError: no such device (")
    assert told.of("token_price")[0][0] == "ok" and told.code == 1
    assert told.sum.endswith("2 BAD: wikipedia, calculator")


def test_it_says_where_listed_people_may_write() -> None:
    told = [
        describe_access(CoreSettings.model_construct(allow_all=everybody, people_in_groups=groups))
        for everybody, groups in ((True, True), (False, True), (False, False))
    ]

    assert "everybody" in told[0] and "every group" in told[1] and "PEOPLE_IN_GROUPS=false)" in told[2]
