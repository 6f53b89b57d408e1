"""What the operator can read of a question afterwards: the log, and `parley chats trace`."""

from __future__ import annotations

import io
import re

import pytest

from bot.app import App
from bot.cli import chats
from bot.operations.logs import set_up
from bot.operations.outlet import Outlet
from playground.model import Reply
from tests.journeys.conftest import Start, World

ADA = 7


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """The log as `parley run` writes it."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    set_up("INFO", "console", Outlet(()))
    return stream


async def ask(world: World, bot: App, text: str) -> str:
    world.telegram.person(ADA, "Ada")
    before = len(world.telegram.screen.of(str(ADA)))
    world.telegram.say(ADA, text, person=ADA)
    await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) > before)
    await bot.dispatcher.wait_idle()
    return str(world.telegram.screen.of(str(ADA))[-1].text)


async def test_the_log_tells_question_passes_tools_and_answer_under_one_reference(
    world: World, start: Start, log: io.StringIO
) -> None:
    world.model.reply(
        Reply(calls=(("calculator", {"expression": "6*7"}), ("calculator", {"expression": "1/0"}))),
        Reply("It is forty-two."),
    )
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please work out what six times seven is")

    told = [line for line in log.getvalue().splitlines() if "bot.turn.story" in line]
    assert len({tuple(re.findall(r"\[(telegram:\S+ t\d+ [0-9a-f]{6})\]", line)) for line in told}) == 1
    said = [line.partition("] ")[2] for line in told]
    assert said[0] == "question of telegram:7, 39 characters"
    assert re.fullmatch(
        r"pass 1: openai:scripted, \d+ tokens in \(\d+ cached\), \d+ out, [\d.]+ s; asks for calculator, calculator",
        said[1],
    )
    assert re.fullmatch(r"tool calculator: completed, [\d.]+ s, \d+ characters", said[2])
    assert re.fullmatch(r"tool calculator: failed, [\d.]+ s, \d+ characters", said[3])
    assert "WARNING" in told[3]
    assert re.fullmatch(r"pass 2: openai:scripted, .* s", said[4])
    assert re.fullmatch(r"answer done: 1 pages, \d+ edits, \d+ tokens, \$0\.0000, [\d.]+ s", said[5])
    assert len(said) == 6
    assert "forty-two" not in log.getvalue() and "six times" not in log.getvalue()


async def test_the_reference_that_a_person_was_shown_finds_everything(
    world: World, start: Start, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    world.model.reply(Reply(calls=(("calculator", {"expression": "6*7"}),)), *[Reply.refusal(401, "no")] * 2)
    async with start("telegram", TOOL_MODE="native") as bot:
        answer = await ask(world, bot, "please work out what six times seven is")
    reference = re.findall(r"[0-9a-f]{6}", answer)[-1]

    assert all(reference in line for line in log.getvalue().splitlines() if "bot.turn.story" in line)
    url = f"sqlite:///{world.data}/parley.db"
    assert await chats.trace(url, reference.upper()) == 0
    told = capsys.readouterr().out
    assert f"[{reference}] in telegram:" in told and "asked by telegram:7" in told
    assert "calculator completed" in told and '{"expression": "6*7"}' in told and "= 42" in told
    assert "error: " in told
    assert await chats.trace(url, "ffffff") == 1
