"""The same paths on all three platforms, in one process, as a person of each would walk them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bot.app import App
from playground.model import Reply
from playground.model.texts import long_answer
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World


@dataclass
class Person:
    """Somebody who writes on one platform."""

    world: World
    platform: str
    place: str
    say: Callable[[str], object]

    @property
    def messages(self) -> list[Shown]:
        return list(getattr(self.world, self.platform).screen.of(self.place))

    async def ask(self, bot: App, text: str) -> list[Shown]:
        before = len(self.messages)
        asked = len(self.world.model.requests)
        self.say(text)
        await self.world.model.asked(asked + 1)
        await getattr(self.world, self.platform).screen.until(lambda _: len(self.messages) > before)
        await bot.dispatcher.wait_idle()
        return self.messages[before:]


def person(world: World, way: str) -> Person:
    """A person for one way of writing."""
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    slack, discord = world.slack, world.discord
    match way:
        case "telegram":
            return Person(world, "telegram", "7", lambda text: world.telegram.say(7, text, person=7))
        case "telegram group":
            name = world.telegram.bot["username"]
            world.telegram.group(-50, "Friends")
            return Person(world, "telegram", "-50", lambda text: world.telegram.say(-50, f"@{name} {text}", person=7))
        case "slack direct":
            place = slack.direct("U7")
            return Person(world, "slack", place, lambda text: slack.say(place, text, person="U7"))
        case "slack mention":
            slack.channel("C1", "general")
            root: list[str] = []

            def mention(text: str) -> None:
                thread = root[0] if root else ""
                root.append(slack.say("C1", f"<@{slack.bot_user_id}> {text}", person="U7", thread_ts=thread))

            return Person(world, "slack", "C1", mention)
        case "slack command":
            slack.channel("C2", "random")
            return Person(world, "slack", "C2", lambda text: slack.command("/parley", text, "C2", "U7"))
        case "discord direct":
            direct = discord.direct(7)
            return Person(world, "discord", direct.id, lambda text: discord.say(direct, text, person=7))
        case "discord mention":
            discord.guild(1, "Guild")
            discord.channel(11, 1, "general")
            return Person(world, "discord", "11", lambda text: discord.say(11, f"{discord.mention()} {text}", person=7))
        case "discord slash":
            discord.guild(2, "Another")
            discord.channel(12, 2, "general")
            return Person(world, "discord", "12", lambda text: discord.slash("ask", {"question": text}, 12, 7))
    raise ValueError(way)


WAYS = (
    "telegram",
    "telegram group",
    "slack direct",
    "slack mention",
    "slack command",
    "discord direct",
    "discord mention",
    "discord slash",
)
SYNTAX = ("tool_call", "search_web", '{"', "arguments", "</")


def script(mode: str, final: str) -> Callable[[RawJson], Reply]:
    """A model that searches first, in native calls or in text, then answers."""

    def answer(body: RawJson) -> Reply:
        told = str(body["messages"][-1].get("content"))
        if body["messages"][-1]["role"] == "tool" or "<tool_result" in told:
            return Reply(final, words_per_second=80)
        return Reply(
            "I look that up.",
            calls=(("search_web", {"query": "green tea"}),),
            text_calls="" if mode == "native" else "hermes",
            words_per_second=80,
        )

    return answer


@pytest.mark.parametrize("mode", ["native", "prompt"])
async def test_a_question_that_needs_a_search_is_answered_in_two_passes(mode: str, world: World, start: Start) -> None:
    final = "Green tea is **not** fermented. " + " ".join(f"word{number}" for number in range(60)) + " 完了"
    world.model.script = script(mode, final)
    async with start("telegram", "slack", "discord", TOOL_MODE=mode) as bot:
        question = "please find out what green tea is"
        answers = await asyncio.gather(*(person(world, way).ask(bot, question) for way in WAYS))

    for way, messages in zip(WAYS, answers, strict=True):
        shown = "\n".join(message.text for message in messages)
        assert shown.endswith(final.replace("**", "")), (way, shown)
        for message in messages:
            for version in message.versions:
                assert not any(piece in version.text for piece in SYNTAX), (way, version.text)
    assert len(world.model.requests) == 2 * len(WAYS)
    assert all(request.status == 200 for request in world.model.requests)


EACH = ("telegram", "slack direct", "discord slash")
REST = tuple(way for way in WAYS if way not in EACH)


@pytest.mark.parametrize("ways", [EACH, pytest.param(REST, marks=pytest.mark.soak)], ids=["each", "rest"])
async def test_an_answer_of_three_thousand_tokens_arrives_whole(
    ways: tuple[str, ...], world: World, start: Start
) -> None:
    world.model.script = lambda body: Reply(long_answer(), words_per_second=2000)
    async with start("telegram", "slack", "discord") as bot:
        answers = await asyncio.gather(*(person(world, way).ask(bot, "please write the long text") for way in ways))

    headings = re.findall(r"^#+ (.+)$", re.sub(r"^(`{3,}|~{3,}).*?^\1", "", long_answer(), flags=re.M | re.S), re.M)
    for way, messages in zip(ways, answers, strict=True):
        platform = way.partition(" ")[0]
        shown = "".join(message.text for message in messages)
        assert shown.rstrip().endswith("the answer arrived whole. 🏁"), way
        for heading in headings:
            assert re.sub(r"[*_`]", "", heading) in shown, (way, heading)
        limit = {"telegram": 4096, "slack": 4000, "discord": 2000}[platform]
        assert all(len(message.text) <= limit for message in messages), way
        assert getattr(world, platform).refusals == 0, way


async def test_every_chat_is_remembered_after_a_restart(world: World, start: Start) -> None:
    cats = {way: f"Minka{number}" for number, way in enumerate(WAYS)}
    async with start("telegram", "slack", "discord") as bot:
        people = {way: person(world, way) for way in WAYS}
        for way, cat in cats.items():
            world.model.reply(Reply(f"Noted, {cat} it is."))
            await people[way].ask(bot, f"my cat is called {cat}, please remember")
    async with start("telegram", "slack", "discord") as bot:
        for way, cat in cats.items():
            world.model.reply(Reply(f"{cat}."))
            await people[way].ask(bot, "what is my cat called, please")

            told = "\n".join(str(message["content"]) for message in world.model.requests[-1].messages)
            assert f"my cat is called {cat}" in told, way
            assert f"Noted, {cat} it is." in told, way
            assert not any(other in told for other in cats.values() if other != cat), way


async def test_three_platforms_answer_side_by_side_and_mix_nothing_up(world: World, start: Start) -> None:
    def echo(body: RawJson) -> Reply:
        return Reply(f"You said: {body['messages'][-1]['content']}", words_per_second=30)

    world.model.script = echo
    async with start("telegram", "slack", "discord") as bot:
        people = [person(world, way) for way in ("telegram", "slack direct", "discord direct")]
        for number, somebody in enumerate(people):
            somebody.say(f"this is secret number {number}")
        for somebody in people:
            await getattr(world, somebody.platform).screen.until(lambda _, one=somebody: one.messages)
        await bot.dispatcher.wait_idle()

    for number, somebody in enumerate(people):
        assert [message.text for message in somebody.messages] == [f"You said: this is secret number {number}"]


async def test_an_unreachable_platform_holds_no_other(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.settings["SLACK_API_BASE_URL"] = "http://127.0.0.1:9/api/"
    world.model.reply(Reply("Here I am."))
    async with start("telegram", "slack?", "discord") as bot:
        [message] = await person(world, "telegram").ask(bot, "please answer me")

    assert message.text == "Here I am."
    assert any("slack receives nothing now" in record.getMessage() for record in caplog.records)


async def test_a_refused_token_switches_one_platform_off_with_one_sentence(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.settings["DISCORD_BOT_TOKEN"] = "this.is.wrong"
    world.model.reply(Reply("Here I am."))
    async with start("telegram", "discord?") as bot:
        [message] = await person(world, "telegram").ask(bot, "please answer me")

    assert message.text == "Here I am."
    assert any("DISCORD_BOT_TOKEN" in record.getMessage() for record in caplog.records)
