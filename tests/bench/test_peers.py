"""Another bot is led to the emulators by its library's address alone, and judged by what stands on the screen."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from bench.peers import Program, allow, options_of, outcome
from bench.setups import SETUPS
from playground.discord import DiscordServer

REDIRECT = Path(__file__).parents[2] / "bench/redirect.py"
TELEGRAM = 'from telegram.ext import ApplicationBuilder as B; b = B().token("1:x").build().bot; print(b.base_url)'
SLACK = 'from slack_sdk import WebClient; print(WebClient(token="xoxb-1").base_url)'
DISCORD = "from discord import gateway, http; print(http.Route.BASE, gateway.DiscordWebSocket.DEFAULT_GATEWAY)"


async def printed(tmp_path: Path, script: str, **settings: str) -> str:
    """What a script prints that is run as another bot is."""
    (tmp_path / "main.py").write_text(f"import beside\n{script}\n")
    (tmp_path / "beside.py").write_text("")
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, str(REDIRECT), "main.py")
    process = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, env=settings, stdout=pipe)
    told, _ = await process.communicate()
    return told.decode().strip()


async def test_a_library_calls_the_emulator_and_nothing_else_of_the_program_is_changed(tmp_path: Path) -> None:
    assert await printed(tmp_path, TELEGRAM, TELEGRAM_API_BASE_URL="http://127.0.0.1:1") == "http://127.0.0.1:1/bot1:x"
    assert await printed(tmp_path, SLACK, SLACK_API_BASE_URL="http://127.0.0.1:1/api") == "http://127.0.0.1:1/api/"
    async with DiscordServer() as server:
        settings = {"DISCORD_API_BASE_URL": server.base_url, "DISCORD_BOT_TOKEN": server.token}
        told = await printed(tmp_path, DISCORD, **settings)

        assert told == f"{server.base_url} {server.gateway_url}"


def test_the_command_stands_behind_two_dashes() -> None:
    given = ["telegram", "--chats", "1", "20", "--set", "A=1", "--set", "B={model}", "--kill", "5"]
    options = options_of([*given, "--", "python", "bot/main.py", "--fast"])

    assert (options.platform, options.chats, options.kill) == ("telegram", [1, 20], 5)
    assert (options.set, options.command) == (["A=1", "B={model}"], ["python", "bot/main.py", "--fast"])
    assert options_of(["slack"]).command == []


def test_another_bot_is_granted_on_discord_what_it_asks_its_operator_for() -> None:
    mine, other = SETUPS["discord-mention"](), SETUPS["discord-mention"]()
    allow(mine, Program())
    allow(other, Program(["python", "bot.py"]))

    assert (mine.server.privileged_intents, other.server.privileged_intents) == (0, 1 << 15)


@pytest.mark.parametrize(
    ("texts", "whole", "doubled"),
    [
        (["Answer 3: Rain falls."], True, False),
        (["Answer 3: Rain", " falls."], True, False),
        (["Answer 3: Rain fa"], False, False),
        (["Answer 3: Rain fa", "Answer 3: Rain falls."], True, True),
        (["Answer 3: Rain falls. The bot was restarted."], True, False),
        ([], False, False),
    ],
)
def test_what_a_kill_left_is_whole_where_every_word_stands_and_doubled_where_it_begins_twice(
    texts: list[str], whole: bool, doubled: bool
) -> None:
    assert outcome("Answer 3: Rain falls.", texts) == (whole, doubled)
