"""An agent of another author in the place of ours: the same promises, on every platform."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.contract import SettingsError
from bot.policy.budgets import DAY
from bot.store import Recording
from playground.model import Reply
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_approvals import ALLOW, REFUSE, asked
from tests.journeys.test_controls import AGAIN, PLATFORMS, Room, ended
from tests.journeys.test_kill import STAGES, at_stage
from tests.journeys.test_tools import ask
from tests.patience import PATIENCE

LONG = " ".join(f"word{number}" for number in range(2_000))
FOUND = "Let me look.\n\nTea is made of leaves."


@pytest.fixture(params=PLATFORMS)
def room(request: pytest.FixtureRequest, world: World) -> Room:
    world.settings["AGENT"] = "tests.ownagents:Searching"
    return Room(world, request.param)


def looks() -> Reply:
    return Reply("Let me look.", calls=(("search_web", {"query": "green tea"}),))


async def test_its_answer_stands_whole_in_one_message_and_its_call_is_shown(
    room: Room, start: Start, world: World
) -> None:
    world.model.reply(looks(), Reply("Tea is made of leaves.", words_per_second=20))
    async with start(room.platform) as bot:
        room.ask("what is tea made of?")
        await room.answered(FOUND)
        await bot.dispatcher.wait_idle()

        [message] = room.shown
        assert any("search_web" in version.text for version in message.versions)
    assert (len(world.model.requests), len(world.tavily.requests)) == (2, 1)
    [first, again] = world.model.requests
    assert "what is tea made of?" in first.messages[-1]["content"]
    assert again.messages[-1]["role"] == "tool"


async def test_a_long_answer_is_shown_whole(room: Room, start: Start, world: World) -> None:
    world.model.reply(Reply(LONG))
    async with start(room.platform) as bot:
        room.ask("tell me all about tea")
        await bot.dispatcher.wait_idle()
        await room.until(lambda: " ".join(one.text for one in room.shown).split() == LONG.split())

    assert len(LONG) > 12_000


async def test_a_question_of_the_agent_is_a_card_and_an_allowed_call_runs_once(
    room: Room, start: Start, world: World
) -> None:
    world.settings["AGENT"] = "tests.ownagents:Asking"
    world.model.reply(looks(), Reply("Tea is made of leaves."))
    async with start(room.platform) as bot:
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "Query: green tea" in card.text and not world.tavily.requests
        room.press(card, ALLOW)
        await room.answered("Tea is made of leaves.")
        await bot.dispatcher.wait_idle()
        await room.until(lambda: card.text.endswith("✅ Allowed.") and not card.buttons)

    assert (len(world.model.requests), len(world.tavily.requests)) == (2, 1)


async def test_a_refused_call_does_not_run(room: Room, start: Start, world: World) -> None:
    world.settings["AGENT"] = "tests.ownagents:Asking"
    world.model.reply(looks(), Reply("Then I leave it."))
    async with start(room.platform):
        room.ask("what is tea made of?")
        card = await asked(room)
        room.press(card, REFUSE)
        await room.answered("Then I leave it.")

    assert world.tavily.requests == []
    assert "refused" in world.model.requests[1].messages[-1]["content"]


async def test_a_press_after_a_kill_runs_the_call_once(room: Room, process: Process, world: World) -> None:
    world.settings["AGENT"] = "tests.ownagents:Asking"
    tokens = dict.fromkeys(("SLACK_BOT_TOKEN", "DISCORD_BOT_TOKEN", "TELEGRAM_BOT_TOKEN"), "")
    del tokens[f"{room.platform.upper()}_BOT_TOKEN"]
    world.settings |= tokens
    world.model.reply(looks(), Reply("Tea is made of leaves."))
    await process.start()
    await room.ready(1)
    room.ask("what is tea made of?")
    card = await asked(room)
    await room.until(lambda: ended(world) == 1)
    await process.kill()

    await process.start()
    await room.ready(2)
    room.press(card, ALLOW)
    await room.answered("Tea is made of leaves.")

    assert (len(world.model.requests), len(world.tavily.requests)) == (2, 1)
    assert await process.stop() == 0


@pytest.mark.parametrize("stage", STAGES)
async def test_a_kill_at_any_stage_loses_nothing_and_repeats_nothing(
    stage: str, world: World, process: Process
) -> None:
    world.settings["AGENT"] = "tests.ownagents:Searching"
    await at_stage(stage, world, process)


@pytest.mark.soak
@pytest.mark.parametrize("time", range(20))
@pytest.mark.parametrize("stage", STAGES)
async def test_twenty_kills_at_every_stage(stage: str, time: int, world: World, process: Process) -> None:
    world.settings["AGENT"] = "tests.ownagents:Searching"
    await at_stage(stage, world, process)


async def test_one_that_fails_is_one_sentence_under_what_stands(room: Room, start: Start, world: World) -> None:
    world.settings["AGENT"] = "tests.ownagents:Failing"
    async with start(room.platform) as bot:
        room.ask("what is tea made of?")
        await bot.dispatcher.wait_idle()
        await room.until(lambda: room.shown and AGAIN in room.shown[0].buttons)
        [message] = room.shown

    begun, _, sentence = message.text.partition("\n\n")
    assert begun == "Half an answer." and sentence.startswith("Something went wrong") and "\n" not in sentence


async def test_hundreds_of_calls_at_once_are_shown_as_far_as_a_message_has_room(room: Room, start: Start) -> None:
    async with start(room.platform, AGENT="tests.ownagents:Busy") as bot:
        room.ask("what is on the shelves?")
        await room.answered("There are 42 teas.")
        await bot.dispatcher.wait_idle()

    [message] = room.shown
    assert any("Looking at 299" in version.text for version in message.versions)


async def test_an_absurd_report_of_what_was_used_takes_nothing_from_the_day(world: World, start: Start) -> None:
    async with start("telegram", AGENT="tests.ownagents:Wasteful") as bot:
        [failed] = await ask(world, bot, "what is tea made of?")
        [again] = await ask(world, bot, "and now?")

    assert failed.text.startswith("Leaves.\n\nSomething went wrong") and again.text == "Leaves."


async def test_a_flood_holds_up_nobody_and_ends_with_a_sentence(world: World, start: Start) -> None:
    async with start("telegram", AGENT="tests.ownagents:Flooding") as bot:
        shown = await ask(world, bot, "tell me everything")

    text = "".join(one.text for one in shown)
    assert 35_000 < len(text) < 45_000 and "word5000" not in text
    assert text.endswith("The answer was cut here because it became too long.")


async def test_stop_ends_the_agent_and_its_request_at_once(world: World, start: Start) -> None:
    world.settings["AGENT"] = "tests.ownagents:Searching"
    world.model.reply(Reply(LONG, words_per_second=20))
    async with start("telegram") as bot:
        world.telegram.person(7, "Ada")
        world.telegram.say(7, "tell me all about tea", person=7)
        await world.telegram.screen.until(lambda screen: any("word2" in one.text for one in screen.of("7")))
        world.telegram.say(7, "/stop", person=7)
        await bot.dispatcher.wait_idle()
        [request] = world.model.requests
        async with asyncio.timeout(PATIENCE):
            while not request.closed_early:
                await asyncio.sleep(0.005)


async def test_one_that_does_not_end_is_left_behind_and_the_chat_goes_on(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.settings["AGENT"] = "tests.ownagents:Stubborn"
    async with start("telegram") as bot:
        world.telegram.person(7, "Ada")
        world.telegram.say(7, "tell me all about tea", person=7)
        await world.telegram.screen.until(lambda screen: any("I go on." in one.text for one in screen.of("7")))
        world.telegram.say(7, "/stop", person=7)
        await bot.dispatcher.wait_idle()
        [message] = world.telegram.screen.of("7")

    assert message.text == "I go on.\n\nStopped." and "is left behind" in caplog.text


async def test_its_file_is_posted_and_what_it_used_counts(world: World, start: Start) -> None:
    world.model.reply(Reply("Leaves."))
    async with start("telegram", AGENT="tests.ownagents:Drawing") as bot:
        shown = await ask(world, bot, "draw a cup")
    async with start("telegram", AGENT="tests.ownagents:Searching") as bot:
        await ask(world, bot, "what is tea made of?")
        record = await bot.store.turns.find_record(2)
        recorded = await bot.store.recordings.load(2)
        spent = await bot.store.spending.list_used(["person telegram:7"], DAY)

    assert shown[0].text == "Here it is." and shown[1].files == [("drawing.svg", "image/svg+xml", b"<svg/>")]
    assert record is not None and record.usage.prompt > 50
    assert isinstance(recorded, Recording)
    # The first one reported nothing: its prompt and its text are estimated.
    assert spent[0].tokens > record.usage.prompt + record.usage.completion > 0


async def test_a_spent_quota_refuses_it_before_it_begins(world: World, start: Start) -> None:
    async with start("telegram", AGENT="tests.ownagents:Searching", TOKENS_PER_DAY_PERSON="500") as bot:
        [refused] = await ask(world, bot, "what is tea made of?")

    assert world.model.requests == [] and "day's budget" in refused.text


async def test_a_quota_that_runs_out_in_mid_answer_ends_it_with_the_sentence_and_is_not_overshot(
    room: Room, start: Start, world: World
) -> None:
    world.model.reply(Reply(LONG, words_per_second=400))
    async with start(room.platform, TOKENS_PER_DAY_PERSON="3000") as bot:
        room.ask("tell me all about tea")
        await bot.dispatcher.wait_idle()
        await room.until(lambda: room.shown and "resets in" in room.shown[-1].text)
        [request] = world.model.requests
        async with asyncio.timeout(PATIENCE):
            while not request.closed_early:
                await asyncio.sleep(0.005)
        [(_, spent)] = await bot.store.spending.list_top("person ", DAY, 1)

    begun, _, sentence = "\n\n".join(one.text for one in room.shown).rpartition("\n\n")
    assert sentence.startswith("Your budget for today is used up. It resets in")
    assert LONG.startswith(" ".join(begun.split())) and len(begun) > 2_000
    assert 2_500 < spent.tokens <= 3_000


async def test_a_chat_has_the_agent_that_the_file_names(world: World, start: Start, tmp_path: Path) -> None:
    file = tmp_path / "channels.yaml"
    chat = f"telegram:{world.telegram.world.bot['id']}/7"
    file.write_text(f"telegram:*:\n  agent: parley\n{chat}:\n  agent: tests.ownagents:Echo\n")
    async with start("telegram", CHANNELS_FILE=str(file)) as bot:
        [own] = await ask(world, bot, "what is tea made of?")
    file.write_text(f"{chat}:\n  agent: parley\n")
    world.model.reply(Reply("Leaves."))
    async with start("telegram", CHANNELS_FILE=str(file), AGENT="tests.ownagents:Echo") as bot:
        [ours] = await ask(world, bot, "what is tea made of?")

    assert (own.text, ours.text) == ("what is tea made of?", "Leaves.")


MINE = """
from parley_chat.agent import Text

class Mine:
    async def answer(self, question):
        yield Text("Mine.")
"""


async def test_an_agent_beside_env_is_found(process: Process, world: World, tmp_path: Path) -> None:
    (tmp_path / "mine_of_a_test.py").write_text(MINE)
    (tmp_path / ".env").write_text("")
    world.settings |= {"AGENT": "mine_of_a_test:Mine", "PARLEY_ENV_FILE": str(tmp_path / ".env")}
    world.settings |= {"SLACK_BOT_TOKEN": "", "DISCORD_BOT_TOKEN": ""}
    world.telegram.person(7, "Ada")
    world.telegram.say(7, "what is tea made of?", person=7)
    await process.start()
    await world.telegram.screen.until(lambda screen: [one.text for one in screen.of("7")] == ["Mine."])
    assert await process.stop() == 0


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("no_such_module_here:agent", "No module named 'no_such_module_here'"),
        ("tests.ownagents:nothing", "has no attribute 'nothing'"),
        ("tests.ownagents:SEARCH", "a dict without a method answer(question)"),
        ("nobody", "write module:object, or the name of an agent that an installed package brings"),
    ],
)
async def test_one_that_cannot_be_loaded_is_one_sentence(agent: str, why: str, world: World, start: Start) -> None:
    with pytest.raises(SettingsError) as raised:
        async with start("telegram", AGENT=agent):
            pass

    [sentence] = raised.value.args
    assert sentence.startswith("AGENT: ") and agent in sentence and why in sentence
