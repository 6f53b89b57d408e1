"""A person replies to an older answer: the conversation continues from there, and what came later is not told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_changed import TOKENS, ready
from tests.patience import PATIENCE

LONG = " ".join(f"word{number}" for number in range(900))
REPLYING = ("telegram", "discord")


class OnTelegram:
    def __init__(self, world: World, group: bool) -> None:
        self.server, self.chat = world.telegram, -5 if group else 7
        self.server.person(7, "Ada")
        self.server.group(-5, "Group")
        self.mention = f"@{self.server.world.bot['username']} " if group else ""

    def say(self, text: str, reply_to: str = "") -> str:
        said = self.server.say(self.chat, self.mention + text, person=7, reply_to=int(reply_to or 0))
        return str(self.server.message_id(said))

    def edit(self, message: str, text: str) -> None:
        self.server.edit(self.chat, int(message), self.mention + text)

    def messages(self) -> dict[str, str]:
        return {message.id: message.text for message in self.server.screen.of(str(self.chat))}


class OnDiscord:
    def __init__(self, world: World, group: bool) -> None:
        self.server = world.discord
        self.server.person(7, "Ada")
        self.server.guild(1, "Guild")
        self.server.channel(11, 1, "general")
        self.channel = "11" if group else self.server.direct(7).id
        self.mention = f"{self.server.mention()} " if group else ""

    def say(self, text: str, reply_to: str = "") -> str:
        return self.server.say(self.channel, self.mention + text, person=7, reply_to=reply_to)

    def edit(self, message: str, text: str) -> None:
        self.server.edit(message, self.mention + text)

    def messages(self) -> dict[str, str]:
        return {message.id: message.text for message in self.server.screen.of(self.channel)}


def person_on(world: World, platform: str, group: bool = False) -> OnTelegram | OnDiscord:
    return OnTelegram(world, group) if platform == "telegram" else OnDiscord(world, group)


def answer(body: RawJson) -> Reply:
    """The answer to "tea?" is "TEA!", to "long?" one of several messages."""
    asked = letters(body)[-1]
    return Reply(f"{asked.upper()}! {LONG}" if asked == "long" else f"{asked.upper()}!")


def letters(body: RawJson) -> list[str]:
    """What was asked, in order, each as the model was told it."""
    said = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    return [text.removesuffix("?").rsplit("\n", 1)[-1].rsplit(" ", 1)[-1] for text in said]


async def until(seen: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.005)


class Talk:
    """Questions and answers, each named by its word."""

    def __init__(self, world: World, person: OnTelegram | OnDiscord) -> None:
        self.world, self.person = world, person
        world.model.script = answer

    async def ask(self, word: str, reply_to: str = "", part: int = 0) -> list[str]:
        """Ask, in reply to the answer to another word, and wait for the end of the answer; what was told before it."""
        asked = len(self.world.model.requests)
        self.person.say(f"{word}?", self.shown(reply_to, part) if reply_to else "")
        return await self.answered(asked, word)

    async def answered(self, asked: int, word: str) -> list[str]:
        await self.world.model.asked(asked + 1)
        await until(lambda: any(text.startswith(f"{word.upper()}!") for text in self.person.messages().values()))
        return letters(self.world.model.requests[-1].body)[:-1]

    def shown(self, word: str, part: int = 0) -> str:
        """The message that shows an answer, or a later one of its parts."""
        ids = [*self.person.messages()]
        [at] = [
            number for number, text in enumerate(self.person.messages().values()) if text.startswith(f"{word.upper()}!")
        ]
        return ids[at + part]


@pytest.mark.parametrize("group", [False, True], ids=["private", "group"])
@pytest.mark.parametrize("platform", REPLYING)
async def test_a_reply_to_an_older_answer_continues_from_it(
    world: World, start: Start, platform: str, group: bool
) -> None:
    talk = Talk(world, person_on(world, platform, group))
    async with start(platform) as bot:
        for word in ("tea", "milk", "cocoa"):
            await talk.ask(word)
            await bot.dispatcher.wait_idle()
        assert await talk.ask("lemon", "tea") == ["tea"]
        await bot.dispatcher.wait_idle()
        said = str(world.model.requests[-1].body)
        assert await talk.ask("sugar", "lemon") == ["tea", "lemon"]
        await bot.dispatcher.wait_idle()
        assert await talk.ask("honey") == ["tea", "lemon", "sugar"], "what replies to nothing stays on the branch"
        await bot.dispatcher.wait_idle()
        assert await talk.ask("foam", "cocoa") == ["tea", "milk", "cocoa"]

    assert "MILK" not in said and "cocoa" not in said


@pytest.mark.parametrize("platform", REPLYING)
async def test_a_reply_to_any_message_of_a_long_answer_continues_from_it(
    world: World, start: Start, platform: str
) -> None:
    talk = Talk(world, person_on(world, platform))
    async with start(platform) as bot:
        await talk.ask("long")
        await bot.dispatcher.wait_idle()
        await talk.ask("milk")
        await bot.dispatcher.wait_idle()

        assert await talk.ask("lemon", "long", part=1) == ["long"]


@pytest.mark.parametrize("platform", REPLYING)
async def test_a_reply_to_a_persons_message_or_after_new_continues_all_of_the_chat(
    world: World, start: Start, platform: str
) -> None:
    person = person_on(world, platform)
    talk = Talk(world, person)
    async with start(platform) as bot:
        await talk.ask("tea")
        await bot.dispatcher.wait_idle()
        written = person.say("milk?")
        await talk.answered(1, "milk")
        await bot.dispatcher.wait_idle()
        person.say("lemon?", written)
        assert await talk.answered(2, "lemon") == ["tea", "milk"]
        await bot.dispatcher.wait_idle()
        person.say("/new")
        await until(lambda: any("new conversation" in text for text in person.messages().values()))
        await bot.dispatcher.wait_idle()
        await talk.ask("sugar")
        await bot.dispatcher.wait_idle()

        assert await talk.ask("honey", "tea") == ["sugar"], "what was left behind stays behind"


@pytest.mark.parametrize("platform", REPLYING)
async def test_a_changed_question_and_one_asked_again_stay_on_their_branch(
    world: World, start: Start, platform: str
) -> None:
    person = person_on(world, platform)
    talk = Talk(world, person)
    async with start(platform) as bot:
        for word in ("tea", "milk"):
            await talk.ask(word)
            await bot.dispatcher.wait_idle()
        written = person.say("lemon?", talk.shown("tea"))
        await talk.answered(2, "lemon")
        await bot.dispatcher.wait_idle()
        person.edit(written, "sugar?")
        assert await talk.answered(3, "sugar") == ["tea"]
        await bot.dispatcher.wait_idle()
        person.say("/retry")
        await world.model.asked(5)
        assert letters(world.model.requests[-1].body) == ["tea", "sugar"]
        await bot.dispatcher.wait_idle()

        assert await talk.ask("foam", "milk") == ["tea", "milk"]


@pytest.mark.parametrize("platform", REPLYING)
async def test_a_reply_to_an_older_answer_continues_from_it_after_the_process_died(
    world: World, process: Process, platform: str
) -> None:
    """Killed while it is answered, and again before the branch goes on."""
    person = person_on(world, platform)
    talk = Talk(world, person)
    world.settings |= {f"{name.upper()}_{key}": "" for name in TOKENS if name != platform for key in TOKENS[name]}
    await process.start()
    await ready(world, platform, 1)
    for word in ("tea", "milk"):
        await talk.ask(word)
    gate = asyncio.Event()
    world.model.script = lambda body: Reply("LEMON", hang_after=0, until=gate)
    person.say("lemon?", talk.shown("tea"))
    await world.model.asked(3)
    await process.kill()
    world.model.script = answer
    await process.start()
    assert await talk.answered(3, "lemon") == ["tea"]
    await ready(world, platform, 2)
    assert await talk.ask("sugar") == ["tea", "lemon"]
    await process.kill()
    await process.start()
    await ready(world, platform, 3)

    assert await talk.ask("honey", "milk") == ["tea", "milk"]
    assert await talk.ask("foam", "sugar") == ["tea", "lemon", "sugar"]


async def test_in_slack_an_older_answer_that_is_forwarded_is_not_replied_to(world: World, start: Start) -> None:
    """A thread of Slack has no replies to one of its messages; a thread is a conversation of its own."""
    slack = world.slack
    slack.person("U7", "Ada")
    channel = slack.direct("U7")
    world.model.script = answer
    async with start("slack") as bot:
        for number, word in enumerate(("tea", "milk")):
            slack.say(channel, f"{word}?", person="U7")
            await world.model.asked(number + 1)
            await bot.dispatcher.wait_idle()
        older = next(one for one in slack.screen.of(channel) if one.text.startswith("TEA!"))
        slack.forward(channel, (channel, older.id), "lemon?", person="U7")
        await world.model.asked(3)
        assert letters(world.model.requests[-1].body) == ["tea", "milk", "lemon"]
        await bot.dispatcher.wait_idle()
        slack.say(channel, "sugar?", person="U7", thread_ts=older.id)
        await world.model.asked(4)

        assert letters(world.model.requests[-1].body) == ["sugar"]
        assert "TEA!" in str(world.model.requests[-1].body), "the answer that the thread stands under is quoted"
