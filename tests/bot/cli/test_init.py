"""`parley init` at a scripted terminal, against the services it asks: what is typed, checked and written."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from dotenv import dotenv_values

from adapters.slack.manifest import new_app_link
from bot.cli import init
from bot.cli.envfile import changed, check_value, write_settings
from bot.cli.init import begin
from bot.contract import SettingsError
from bot.operations import Outlet
from playground.discord import DiscordServer
from playground.model import ModelServer, Reply
from playground.slack import SlackServer
from playground.telegram import TelegramServer
from tests.bot.cli.conftest import Inside

NOBODY = "http://127.0.0.1:9"
KEY = "sk-loopback-key-0123456789"
STOP = "Ctrl-C"


@dataclass
class Typist:
    """Answers questions by a word in them, in order; nothing where no answer is left."""

    answers: list[tuple[str, str]]
    said: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.said.append(line)

    def ask(self, question: str, *, hidden: bool = False) -> str:
        self.said.append(question)
        place = next((place for place, (word, _) in enumerate(self.answers) if word in question), None)
        text = self.answers.pop(place)[1] if place is not None else ""
        if text == STOP:
            raise KeyboardInterrupt
        if hidden and text:
            self.unseen.append(text)
        return text

    @property
    def text(self) -> str:
        return "\n".join(self.said)


@dataclass
class Desk:
    """The services, and somebody who sets up the bot beside them."""

    telegram: TelegramServer
    slack: SlackServer
    discord: DiscordServer
    model: ModelServer
    folder: Path
    inside: Inside

    async def init(self, *answers: tuple[str, str], offline: bool = False, **settings: str) -> tuple[int, Typist]:
        """Answer its questions; return the exit code, and what was said."""
        typist = Typist(list(answers))
        environment = {
            "TELEGRAM_API_BASE_URL": self.telegram.base_url,
            "SLACK_API_BASE_URL": self.slack.base_url,
            "DISCORD_API_BASE_URL": self.discord.base_url,
            "OPENAI_BASE_URL": self.model.base_url,
            **settings,
        }
        with self.inside.alone(self.folder, environment):
            code = await asyncio.to_thread(begin, Outlet(), typist, offline=offline)
        return code, typist

    @property
    def file(self) -> Path:
        return self.folder / ".env"

    @property
    def written(self) -> dict[str, str | None]:
        return dotenv_values(self.file)


@pytest.fixture
async def desk(tmp_path: Path, inside: Inside) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer())
        slack = await stack.enter_async_context(SlackServer())
        discord = await stack.enter_async_context(DiscordServer())
        model = await stack.enter_async_context(ModelServer())
        model.script, model.models = lambda body: Reply("ready"), ["scripted", "gpt-5-mini"]
        yield Desk(telegram, slack, discord, model, tmp_path, inside)


async def test_four_questions_make_a_file_with_which_the_bot_starts(desk: Desk) -> None:
    """Each answer is checked at once; secrets are typed unseen and never shown; only the owner can read the file."""
    code, typist = await desk.init(
        ("Telegram", desk.telegram.token),
        ("xoxb", desk.slack.bot_token),
        ("xapp", desk.slack.app_token),
        ("Discord", desk.discord.token),
        ("Model", "openai:scripted"),
        ("OpenAI", KEY),
        ("Your id", "telegram:123"),
        ("File", "talks/parley.db"),
    )

    assert code == 0, typist.text
    assert desk.written == {
        "TELEGRAM_BOT_TOKEN": desk.telegram.token,
        "SLACK_BOT_TOKEN": desk.slack.bot_token,
        "SLACK_APP_TOKEN": desk.slack.app_token,
        "DISCORD_BOT_TOKEN": desk.discord.token,
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": KEY,
        "ADMINS": "telegram:123",
        "DATABASE_URL": "sqlite:///talks/parley.db",
    }
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    for found in ("telegram: the token works", "slack: ", "discord: the token works", "model: openai:scripted answers"):
        assert f"ok  {found}" in typist.text
    assert "Telegram: write /newbot to https://t.me/BotFather" in typist.text
    assert f"create the app at {new_app_link()} " in typist.text
    assert "invite it to a server with https://discord.com/oauth2/authorize?client_id=" in typist.text
    assert "BAD" not in typist.text and not [secret for secret in typist.unseen if secret in typist.text]
    assert len(typist.unseen) == 5 and "WEB_TOKEN" not in typist.text
    assert list(desk.folder.iterdir()) == [desk.file], "a database is made by the start, and nothing else is left"


async def test_what_is_refused_is_asked_again_and_never_written(desk: Desk) -> None:
    code, typist = await desk.init(
        ("Telegram", "12"),
        ("Telegram", "123456:AAE-wrong-token-that-nobody-gave"),
        ("Telegram", desk.telegram.token),
        ("Model", "gpt"),
        ("Model", "openai:scripted"),
        ("OpenAI", "sk-a b"),
        ("Model", "openai"),
        ("OpenAI", KEY),
        ("Your id", "@ada"),
        ("Your id", "telegram:123"),
        ("File", "/proc/nowhere/parley.db"),
    )

    assert code == 0, typist.text
    assert desk.written == {
        "TELEGRAM_BOT_TOKEN": desk.telegram.token,
        "MODEL": "openai:gpt-5-mini",
        "OPENAI_API_KEY": KEY,
        "ADMINS": "telegram:123",
    }
    for why in (
        "BAD  telegram: TELEGRAM_BOT_TOKEN should look like",
        "BAD  telegram: TELEGRAM_BOT_TOKEN is refused",
        "BAD  model: MODEL is 'gpt'",
        "BAD  owner: ",
        "BAD  database: ",
    ):
        assert why in typist.text, typist.text
    assert "wrong-token" not in typist.text


async def test_a_key_that_is_refused_is_asked_for_again(desk: Desk) -> None:
    desk.model.key = KEY
    code, typist = await desk.init(
        ("Model", "openai:scripted"), ("OpenAI", "sk-another-key-9876543210"), ("Model", ""), ("OpenAI", KEY)
    )

    assert code == 0, typist.text
    assert desk.written == {"MODEL": "openai:gpt-5-mini", "OPENAI_API_KEY": KEY}
    assert "BAD  model: " in typist.text and "another-key" not in typist.text


@pytest.mark.parametrize("offline", [True, False])
async def test_without_a_network_everything_is_taken_and_said_not_to_be_asked(desk: Desk, offline: bool) -> None:
    nobody = dict.fromkeys(("TELEGRAM_API_BASE_URL", "OPENAI_BASE_URL"), NOBODY) if not offline else {}
    code, typist = await desk.init(
        ("Telegram", desk.telegram.token), ("Model", "openai:scripted"), ("OpenAI", KEY), offline=offline, **nobody
    )

    assert code == 0, typist.text
    assert desk.written == {
        "TELEGRAM_BOT_TOKEN": desk.telegram.token,
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": KEY,
    }
    assert "not asked  telegram: " in typist.text and "not asked  model: " in typist.text
    assert "BAD" not in typist.text


async def test_what_stands_is_replaced_only_if_somebody_says_so_and_other_lines_stay(desk: Desk) -> None:
    before = (
        "# mine\nexport TIME_ZONE=Asia/Tokyo # home\nMODEL=openai:scripted\n\nOPENAI_API_KEY=sk-old-key-0123456789\n"
        "TELEGRAM_BOT_TOKEN=1:old-token-of-somebody\nINSTRUCTIONS='two\nlines'\nADMINS=telegram:5"
    )
    desk.file.write_text(before)
    desk.file.chmod(0o644)

    code, typist = await desk.init()
    assert (code, desk.file.read_text()) == (0, before), "Enter keeps all of it"
    assert "There is nothing to write." in typist.text
    code, typist = await desk.init(
        ("TELEGRAM_BOT_TOKEN. Replace?", "y"), ("Telegram: the token", desk.telegram.token), ("MODEL. Replace?", "n")
    )

    assert code == 0, typist.text
    assert desk.file.read_text() == before.replace("1:old-token-of-somebody", desk.telegram.token)
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    assert "old-token" not in typist.text


async def test_of_a_pair_of_tokens_the_one_that_stands_is_kept_and_the_other_asked_for(desk: Desk) -> None:
    desk.file.write_text(f"SLACK_BOT_TOKEN={desk.slack.bot_token}\n")

    code, typist = await desk.init(("xapp", desk.slack.app_token), offline=True)

    assert code == 0, typist.text
    assert desk.written == {"SLACK_BOT_TOKEN": desk.slack.bot_token, "SLACK_APP_TOKEN": desk.slack.app_token}


async def test_what_the_environment_sets_is_checked_and_left_there(desk: Desk) -> None:
    code, typist = await desk.init(
        ("Telegram", "x"), MODEL="openai:scripted", OPENAI_API_KEY=KEY, TELEGRAM_BOT_TOKEN=desk.telegram.token
    )

    assert (code, desk.file.exists()) == (0, False)
    assert "MODEL is set in the environment" in typist.text and "openai:scripted answers" in typist.text


@pytest.mark.parametrize("where", ["Telegram", "Model", "Your id", "File"])
async def test_whoever_breaks_off_leaves_everything_as_it_was(desk: Desk, where: str) -> None:
    given = {"Telegram": desk.telegram.token, "Model": "ollama:qwen3", "Your id": "telegram:1", "File": "a.db"}
    code, typist = await desk.init(*({**given, where: STOP}).items(), offline=True)

    assert (code, list(desk.folder.iterdir())) == (130, [])
    assert "Nothing was written." in typist.text


def test_a_kill_while_the_file_is_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ".env"
    file.write_text("MODEL=openai:a\n")

    def stop(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_settings(file, {"MODEL": "openai:b"})

    assert (file.read_text(), list(tmp_path.iterdir())) == ("MODEL=openai:a\n", [file])


async def test_a_postgresql_address_is_typed_unseen_and_its_password_never_shown(desk: Desk) -> None:
    address = "postgresql://parley:a-long-secret-word@127.0.0.1:9/parley"
    code, typist = await desk.init(("File", "postgresql"), ("USER:PASSWORD", address), offline=True)

    assert code == 0, typist.text
    assert desk.written == {"DATABASE_URL": address}
    assert "not asked  database" in typist.text and "a-long-secret-word" not in typist.text


async def test_a_value_that_a_file_cannot_hold_is_refused_as_it_is_typed(desk: Desk) -> None:
    code, typist = await desk.init(("OpenAI", "sk-${HOME}-0123456789"), ("OpenAI", KEY), offline=True)

    assert code == 0, typist.text
    assert desk.written["OPENAI_API_KEY"] == KEY
    assert "OPENAI_API_KEY cannot be written" in typist.text


@pytest.mark.parametrize("text", ["a b", "it's", "back\\slash", "#hash", '"', "x=y", "鏡", "a\\'b", "$1", ""])
def test_what_is_written_is_read_again_as_it_was_typed(text: str, tmp_path: Path) -> None:
    check_value("INSTRUCTIONS", text)
    write_settings(tmp_path / "new/.env", {"INSTRUCTIONS": text, "MODEL": "openai:a"})

    assert dotenv_values(tmp_path / "new/.env") == {"INSTRUCTIONS": text, "MODEL": "openai:a"}


def test_a_line_that_stands_twice_holds_once_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "kept/settings", tmp_path / ".env"
    real.parent.mkdir()
    real.write_text("\nMODEL=a\nADMINS=telegram:1\nmodel=b")
    link.symlink_to(real)

    write_settings(link, {"MODEL": "openai:c"})

    assert link.is_symlink() and real.read_text() == "\nMODEL=openai:c\nADMINS=telegram:1\n"
    assert changed("A=1", {"B": "2"}) == "A=1\nB=2\n"


def test_without_a_terminal_or_a_file_it_says_so(inside: Inside, tmp_path: Path) -> None:
    told = inside.run("init", folder=tmp_path, environment={})
    assert (told.code, told.out) == (2, "") and "in a terminal" in told.err
    (tmp_path / ".env").write_text("MODEL\n")
    with inside.alone(tmp_path, {}), pytest.raises(SettingsError, match="line 1"):
        begin(Outlet(), Typist([]))
    with (
        inside.alone(tmp_path, {"PARLEY_ENV_FILE": ""}),
        pytest.raises(SettingsError, match="PARLEY_ENV_FILE is empty"),
    ):
        begin(Outlet(), Typist([]))
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match="cannot be written"):
        write_settings(tmp_path / "folder", {"MODEL": "openai:a"})


def test_a_key_is_asked_for_unseen_in_a_real_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda question: f"unseen {question}")
    monkeypatch.setattr("builtins.input", lambda question: f"seen {question}")
    console = init._Console(Outlet())

    assert (console.ask("key", hidden=True), console.ask("name")) == ("unseen key", "seen name")
