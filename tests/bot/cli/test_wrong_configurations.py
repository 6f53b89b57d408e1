"""Everything that operators set wrongly, as a table: one sentence, said once, one exit code, never a traceback."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from playground.telegram import TelegramServer
from tests.bot.cli.conftest import Inside
from tests.conftest import Nursery

KEY = "sk-loopback-key-0123456789"
TOKEN = "123:abcdefgh-ijklmnop"
WELL: Mapping[str, str] = {"TELEGRAM_BOT_TOKEN": TOKEN, "MODEL": "ollama:qwen3"}
FILE = "".join(f"{name}={value}\n" for name, value in WELL.items())


@dataclass(frozen=True)
class Wrong:
    """One row: what is set, and what is said of it."""

    says: str
    """What the sentence holds; the words before the first space name the setting."""
    set: Mapping[str, str] = field(default_factory=dict)
    """Beside what is right; in the environment."""
    file: str | bytes | None = None
    """The whole `.env`; None: there is no file, and the environment holds the right settings."""
    command: tuple[str, ...] = ("run",)
    code: int = 2


def wrong(says: str, **settings: str) -> Wrong:
    return Wrong(says, settings)


REFUSED = {
    "typo in .env": Wrong("TELEGRAM_BOT_TOKE in .env is not a setting of this program; did you mean TELEGRAM_BOT_TOKEN",
                          file=FILE.replace("TOKEN", "TOKE")),
    "word left out in .env": Wrong("did you mean SLACK_APP_TOKEN or SLACK_BOT_TOKEN?", file=FILE + "SLACK_TOKEN=x\n"),
    "letters swapped in .env": Wrong("OPENIA_API_KEY in .env", file=FILE + f"OPENIA_API_KEY={KEY}\n"),
    ".env in UTF-16": Wrong(".env: this file is not UTF-8 text", file=FILE.encode("utf-16")),
    ".env in Latin-1": Wrong(".env: this file is not UTF-8 text", file=FILE.encode() + b"BOT_NAME=Ren\xe9\n"),
    "another bot's name in .env": Wrong("of this program, which calls it ALLOWED_USERS", file=FILE + "ALLOW_USERS=1\n"),
    "proxy in .env": Wrong("HTTPS_PROXY in .env has no effect", file=FILE + "HTTPS_PROXY=http://h:1\n"),
    "key alone on its line": Wrong("line 3 of .env sets nothing", file=FILE + f"{KEY}\n"),
    "colon in place of =": Wrong("line 3 of .env sets nothing", file=FILE + f"OPENAI_API_KEY: {KEY}\n"),
    "quote not closed": Wrong("line 3 of .env sets nothing", file=FILE + "BOT_NAME='A\n"),
    ".env that is not there": wrong("PARLEY_ENV_FILE names 'gone.env'", PARLEY_ENV_FILE="gone.env"),
    # What the system says of a folder that is closed to this user, too; only of a name it says so to everybody.
    ".env that cannot be looked for": wrong("cannot be read: File name too long", PARLEY_ENV_FILE="n" * 300),
    "channels' file that cannot be looked for": wrong("cannot be read: File name too long", CHANNELS_FILE="n" * 300),
    "MCP's file that cannot be looked for": wrong("cannot be read: File name too long", MCP_CONFIG="n" * 300),
    ".env that is a folder": wrong("PARLEY_ENV_FILE names '.', which is not a file", PARLEY_ENV_FILE="."),
    ".env that cannot be read": wrong("/proc/self/mem cannot be read", PARLEY_ENV_FILE="/proc/self/mem"),
    "wrong value in .env": Wrong("HTTP_PORT must be a whole number", file=FILE + "HTTP_PORT=http\n"),
    "no platform": wrong("no platform is configured: set TELEGRAM_BOT_TOKEN", TELEGRAM_BOT_TOKEN=""),
    "no model": wrong("MODEL is not set and no provider's key is", MODEL=""),
    "model without provider": wrong("MODEL is 'gpt-5'", MODEL="gpt-5"),
    "unknown provider": wrong("'nobody' is no known provider", MODEL="nobody:gpt-5"),
    "model without key": wrong("so OPENAI_API_KEY must hold its API key", MODEL="openai:gpt-5-mini"),
    "fallback without key": wrong("so ARK_API_KEY must hold its API key", FALLBACK_MODELS="ark:doubao"),
    "fallback without provider": wrong("FALLBACK_MODELS is 'gpt-5'", FALLBACK_MODELS="gpt-5"),
    "choice without key": wrong("MODELS names 'ark', so ARK_API_KEY", MODELS="ark:doubao"),
    "choice without provider": wrong("MODELS is 'gpt-5'", MODELS="gpt-5"),
    "summary model without key": wrong("SUMMARY_MODEL names 'deepseek'", SUMMARY_MODEL="deepseek:deepseek-chat"),
    "choosing model without provider": wrong("TOOL_CHOICE_MODEL is 'small'", TOOL_CHOICE_MODEL="small"),
    "key with a space": wrong("OPENAI_API_KEY: it holds a space", MODEL="openai:x", OPENAI_API_KEY="sk-aaaa bbbb cccc"),
    "key in quotes": wrong("OPENAI_API_KEY: it holds a space, a quote", MODEL="openai:x", OPENAI_API_KEY=f'"{KEY}"'),
    "key with a foreign sign": wrong("TAVILY_API_KEY: it holds", TAVILY_API_KEY="tvly-dev-…"),
    "model address without scheme": wrong("OPENAI_BASE_URL: 'h:8000/v1' lacks http://", OPENAI_BASE_URL="h:8000/v1"),
    "local model without scheme": wrong("OLLAMA_API_URL: '127.0.0.1:11434' lacks", OLLAMA_API_URL="127.0.0.1:11434"),
    "platform address without scheme": wrong("SLACK_API_BASE_URL: 'slack.com' l", SLACK_API_BASE_URL="slack.com"),
    "tool address without scheme": wrong("TAVILY_API_BASE_URL: 'tavily.com' lacks", TAVILY_API_BASE_URL="tavily.com"),
    "key in an address's place": wrong("ARK_BASE_URL: this is no address", ARK_BASE_URL="sk4f9a8b7c6d5e4f3a"),
    "address with a wrong port": wrong("VLLM_BASE_URL: this is no address", VLLM_BASE_URL="http://localhost:99999"),
    "address with another scheme": wrong("IMAGE_BASE_URL: this is no address", IMAGE_BASE_URL="ftp://images.example"),
    "address with a password": wrong("OPENAI_BASE_URL must hold no user, password", MODEL="openai:x",
                                     OPENAI_BASE_URL="http://me:secret@h/v1"),
    "proxy of another kind": wrong("ALL_PROXY in the environment names a socks5 proxy", OLLAMA_API_URL="http://192.0.2.1/v1",
                                   ALL_PROXY="socks5://h:1"),
    "certificates that are gone": wrong("SSL_CERT_FILE names '/none.pem', and there is no", SSL_CERT_FILE="/none.pem"),
    "certificates for the doctor": Wrong("SSL_CERT_DIR names '/none'", {"SSL_CERT_DIR": "/none"}, command=("doctor",)),
    "database of another kind": wrong("DATABASE_URL names neither a SQLite file nor a", DATABASE_URL="mysql://h/x"),
    "database without scheme": wrong("DATABASE_URL names neither a SQLite file nor a", DATABASE_URL="data/parley.db"),
    "one role of a process on a file": Wrong("--only turns is for several processes on one PostgreSQL",
                                              command=("run", "--only", "turns")),
    "database in memory": wrong("DATABASE_URL names a database in memory", DATABASE_URL="sqlite:///:memory:"),
    "database that cannot be made": Wrong("/proc/none", {"DATABASE_URL": "sqlite:////proc/none/parley.db"}),
    "port that is none": wrong("HTTP_PORT must be a whole number from 0 to 65535, not '70000'", HTTP_PORT="70000"),
    "zone by its city": wrong("TIME_ZONE: there is no time zone 'Berlin'; did you mean Europe/Berlin?",
                              TIME_ZONE="Berlin"),
    "zone that never was": wrong("did you mean Asia/Shanghai?", TIME_ZONE="Asia/Beijing"),
    "zone as an offset": wrong("there is no time zone 'UTC+8'; did you mean Asia/Shanghai?", TIME_ZONE="UTC+8"),
    "zone of a large country": wrong("did you mean America/New_York, America/Chicago, ", TIME_ZONE="USA"),
    "zone of nowhere": wrong("'Mars/Base'; write a name such as Europe/Paris", TIME_ZONE="Mars/Base"),
    "provider with a slip": wrong("did you mean ollama:qwen3?", MODEL="olama:qwen3"),
    "model whose provider is plain": wrong("did you mean anthropic:claude-sonnet-5?", MODEL="claude-sonnet-5"),
    "model as another library writes it": wrong("did you mean openai:gpt-5-mini?", MODEL="openai/gpt-5-mini"),
    "price of an unknown provider": wrong("no known provider; did you mean openai:gpt-5?", PRICES="opnai:gpt-5=1/1/1"),
    "tool off by a slip": wrong("TOOLS_OFF names 'serch_web', and there is no such tool; did you mean search_web?",
                                      TOOLS_OFF="serch_web"),
    "tool left to some by a wrong name": wrong("TOOLS_FOR names 'get_wether'", TOOLS_FOR="get_wether=admins"),
    "tool to confirm by a wrong name": wrong("CONFIRM_TOOLS names 'calculatr'", CONFIRM_TOOLS="-calculatr"),
    "trusted tool of no server": wrong("TRUSTED_TOOLS names 'githb__list'", TRUSTED_TOOLS="githb__list"),
    "MCP's file that is not there": wrong("MCP gone.json cannot be used: MCP_CONFIG names 'gone.json', and there",
                                          MCP_CONFIG="gone.json"),
    "MCP's file that is no JSON": wrong("MCP torn.json cannot be used: 'torn.json' is no JSON in line 1",
                                        MCP_CONFIG="torn.json"),
    "MCP's file with a slip": wrong("did you mean torn.json?", MCP_CONFIG="tron.json"),
    "MCP server that cannot be run": wrong("MCP gone cannot be used: there is no program 'no-such-program'",
                                           MCP_CONFIG="servers.json"),
    "images without provider": wrong("IMAGE_MODEL: 'gpt-image-1' must be written openai:name, as openai:gpt-image-1",
                                     IMAGE_MODEL="gpt-image-1"),
    "images of another provider": wrong("IMAGE_MODEL: 'ark:seedream' must be written openai:name",
                                        IMAGE_MODEL="ark:seedream"),
    "images without key": wrong("generate_image cannot be used: it needs IMAGE_API_KEY",
                                IMAGE_MODEL="openai:gpt-image-1"),
    "code without key": wrong("run_python cannot be used: CODE_BACKEND=e2b needs E2B_API_KEY", CODE_BACKEND="e2b"),
    "databases not written right": wrong("query_database cannot be used: DATABASES is not written right",
                                         DATABASES="sales"),
    "database to read that is not there": wrong("DATABASES names sales, and there is no file /none/sales.db",
                                                DATABASES="sales=sqlite:////none/sales.db"),
    "database in no folder": wrong("there is no folder /none/deeper; make it, or",
                                   DATABASE_URL="sqlite:////none/deeper/data/parley.db"),
    "voice from a folder that is not there": wrong("TRANSCRIBE_MODEL is 'local:/none', but there is no folder /none",
                                                   TRANSCRIBE_MODEL="local:/none"),
    "page's host without port": wrong("FETCH_ALLOW: 'wiki.corp' must be written host:port", FETCH_ALLOW="wiki.corp"),
    "port at no host": wrong("HTTP_HOST 'no.such.invalid' is not an address", HTTP_HOST="no.such.invalid",
                             HTTP_PORT="0"),
    "port at another's address": wrong("HTTP_HOST '192.0.2.1' is not an address of this machine", HTTP_HOST="192.0.2.1",
                                       HTTP_PORT="0"),
    "chat's model of no provider": wrong("CHANNELS_FILE (opnai.yaml line 2, telegram:*) is 'opnai:x'",
                                         CHANNELS_FILE="opnai.yaml"),
    "chat's tool that is none": wrong("CHANNELS_FILE names 'serch_web'", CHANNELS_FILE="serch.yaml"),
    "rounds too few": wrong("MAX_TOOL_ROUNDS must be a whole number from 2 to 50, not '1'", MAX_TOOL_ROUNDS="1"),
    "time without end": wrong("TURN_SECONDS must be a number above 0, not 'inf'", TURN_SECONDS="inf"),
    "unknown mode": wrong("TOOL_MODE must be auto, native or prompt, not 'sometimes'", TOOL_MODE="sometimes"),
    "unknown level": wrong("LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not 'LOUD'", LOG_LEVEL="LOUD"),
    "neither true nor false": wrong("ALLOW_ALL must be true or false, not 'perhaps'", ALLOW_ALL="perhaps"),
    "unknown backend": wrong("CODE_BACKEND must be auto, bwrap, jupyter, monty, e2b or off", CODE_BACKEND="docker"),
    "price not written so": wrong("PRICES: 'gpt=1' must be written", PRICES="gpt=1"),
    "person without platform": wrong("ALLOWED_USERS: '12345' lacks its platform", ALLOWED_USERS="12345"),
    "person by name": wrong("ADMINS: '@ada' is not a person's id", ADMINS="@ada"),
    "host that is none": wrong("TRUSTED_HOSTS: 'https://example.org' is not a host", TRUSTED_HOSTS="https://example.org"),
    "tool left to nobody": wrong("TOOLS_FOR: 'run_python' must be written tool=who,who", TOOLS_FOR="run_python"),
    "tool left to a name": wrong("TOOLS_FOR: '@ada' is no", TOOLS_FOR="run_python=@ada"),
    "tool left twice": wrong("TOOLS_FOR: 'a' occurs twice", TOOLS_FOR="a=telegram:1;a=telegram:2"),
    "channels' file that is not there": wrong("CHANNELS_FILE: there is no file gone.yaml", CHANNELS_FILE="gone.yaml"),
    "channels' file that is no YAML": Wrong("CHANNELS_FILE: .env line ", file=FILE + "CHANNELS_FILE=.env\n"),
    "token that is none": wrong("TELEGRAM_BOT_TOKEN should look like 123456:ABC-DEF", TELEGRAM_BOT_TOKEN="not-a-token"),
    "half of Slack": Wrong("SLACK_APP_TOKEN is not set", file="MODEL=ollama:a\nSLACK_BOT_TOKEN=xoxb-1\n"),
    "Slack's tokens swapped": Wrong("contain each other's token: swap them",
                                    file="MODEL=ollama:a\nSLACK_BOT_TOKEN=xapp-1\nSLACK_APP_TOKEN=xoxb-1\n"),
    "Slack's key for signing": Wrong("SLACK_BOT_TOKEN should be the app's bot token",
                                     file=f"MODEL=ollama:a\nSLACK_BOT_TOKEN={'a' * 32}\nSLACK_APP_TOKEN=xapp-1\n"),
    "Telegram's token for Discord": Wrong("DISCORD_BOT_TOKEN should be three parts",
                                          file=f"MODEL=ollama:a\nDISCORD_BOT_TOKEN=123456:{'a' * 32}\n"),
    "chat that is unknown": Wrong("no chat 'console:a/b'", command=("chats", "export", "console:a/b"), code=1),
    "chat's id that is none": Wrong("which chat to forget?", command=("chats", "forget", "nonsense")),
    "wrong value for another command": Wrong("HTTP_PORT must be", {"HTTP_PORT": "x"}, command=("chats",)),
    "wrong value for the doctor": Wrong("HTTP_PORT must be", {"HTTP_PORT": "x"}, command=("doctor",)),
}  # fmt: skip


@pytest.mark.parametrize("row", REFUSED.values(), ids=REFUSED)
def test_what_cannot_start_is_one_sentence_and_one_exit_code(row: Wrong, inside: Inside, tmp_path: Path) -> None:
    right = WELL if row.file is None else {}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **right, **row.set}
    (tmp_path / "torn.json").write_text("{")
    (tmp_path / "servers.json").write_text('{"mcpServers": {"gone": {"command": "no-such-program"}}}')
    (tmp_path / "opnai.yaml").write_text("telegram:*:\n  model: opnai:x\n")
    (tmp_path / "serch.yaml").write_text("telegram:*:\n  tools: [serch_web]\n")
    if row.file is not None:
        (tmp_path / ".env").write_bytes(row.file if isinstance(row.file, bytes) else row.file.encode())

    ended = inside.run(*row.command, folder=tmp_path, environment=environment)

    assert ended.code == row.code and not ended.out
    [line] = ended.err.splitlines()
    assert line.startswith("parley: ") and row.says in line
    assert not [key for key in row.set.values() if len(key) > 12 and key in line and "KEY" in line.split(":")[1]]
    for foreign in ("Traceback", "pydantic", "Input should", "validation error", "Value error", "Errno", KEY, TOKEN):
        assert foreign not in line


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_file_with_keys_that_others_can_read_is_named_at_the_start(inside: Inside, mode: int) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        folder.chmod(0o711)
        (folder / ".env").write_text(FILE)
        (folder / "servers.json").write_text('{"mcpServers": {}}')
        files = (folder / ".env", folder / "servers.json")
        environment = {"PATH": os.environ["PATH"], "HOME": name, "MCP_CONFIG": "~/servers.json"}
        for file in files:
            file.chmod(0o600)
        own = inside.run("chats", folder=folder, environment=environment)
        for file in files:
            file.chmod(mode)
        shared = inside.run("chats", folder=folder, environment=environment)

    assert not own.err
    said = "parley: others on this machine can read the keys in {0} (mode {1:o}): run chmod 600 {0}"
    assert shared.err.splitlines() == [said.format(".env", mode), said.format(f"{name}/servers.json", mode)]


@pytest.mark.parametrize("command", [("chats",), ("usage",), ("backup", "to.db"), ("chats", "export", "telegram:4/2")])
def test_a_database_in_a_folder_that_is_closed_to_this_user_is_one_sentence(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """As for whoever is not the service's user. Nothing is closed to the user root, whom the tests may run as."""
    database, look = tmp_path / "closed" / "parley.db", Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path == database:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)

    ended = inside.run(*command, folder=tmp_path, environment={"DATABASE_URL": f"sqlite:///{database}"})

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("cannot be used by this user: Permission denied\n")
    assert ended.err.count("\n") == 1 and repr(str(database)) in ended.err


NOT_WORKING = {
    "slip in the environment": ({"OPENAI_APIKEY": KEY}, "OPENAI_APIKEY in the environment is not a setting"),
    "another program's name in the environment": ({"TZ": "Europe/Berlin"}, "which calls it TIME_ZONE"),
    "other programs' names in .env": ({}, "ignored in .env: POSTGRES_PASSWORD, COMPOSE_FILE (not settings"),
    "price missing": ({"MONEY_PER_DAY": "5"}, "the price of openai:scripted is unknown, so no limit"),
    "half of Slack beside it": ({"SLACK_BOT_TOKEN": "xoxb-1-2-abcd"}, "slack is off: SLACK_APP_TOKEN is not set"),
    "token refused, the last platform": ({}, "TELEGRAM_BOT_TOKEN is refused by Telegram: copy it again from BotFather"),
}  # fmt: skip


async def test_what_will_not_work_is_said_in_a_line_each_at_the_start(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("POSTGRES_PASSWORD=hunter2\nCOMPOSE_FILE=a.yml\n")
    async with TelegramServer() as telegram:
        settings = {
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_BASE_URL": telegram.base_url,
            "MODEL": "openai:scripted",
            "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        }
        for more, _ in NOT_WORKING.values():
            settings |= more
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **settings}
        ended = await nursery.talk("bot", "run", folder=tmp_path, environment=environment)

    assert ended.code == 2
    for name, (_, said) in NOT_WORKING.items():
        assert ended.err.count(said) == 1, name
    told = [line for line in ended.err.splitlines() if re.match(r"\S+ (WARNING|ERROR)|parley: ", line)]
    assert len([line for line in told if "/pair" not in line]) == len(NOT_WORKING), ended.err
    assert "Traceback" not in ended.err and KEY not in ended.err and "hunter2" not in ended.err


async def test_what_stands_in_the_way_is_one_sentence(nursery: Nursery, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **WELL, "HTTP_PORT": str(port)}
        ended = await nursery.talk("bot", "run", folder=tmp_path, environment=environment)

    [line] = [line for line in ended.err.splitlines() if f"{port}" in line]
    assert line.startswith("parley: HTTP_PORT") and ended.code == 2 and "Traceback" not in ended.err


def test_all_that_is_wrong_is_told_at_once(nursery: Nursery, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    wrong = (
        "TELEGRAM_TOKEN=x\nMODLE=x\nLOG_LEVEL=LOUD\nCONTEXT_TOKENS=lots\nALLOWED_USERS=12345\nSEARCH_FALLBACK=bottom\n"
    )
    (tmp_path / ".env").write_text(wrong)

    ended = nursery.run("bot", "run", folder=tmp_path, environment=environment)

    assert ended.code == 2
    lines = ended.err.splitlines()
    assert all(line.startswith("parley: ") for line in lines)
    for line, says in zip(
        lines,
        ("TELEGRAM_TOKEN", "MODLE", "CONTEXT_TOKENS", "ALLOWED_USERS", "LOG_LEVEL", "SEARCH_FALLBACK"),
        strict=True,
    ):
        assert says in line
