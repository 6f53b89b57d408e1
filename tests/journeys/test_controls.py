"""A person presses the buttons under a reply."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise

import pytest

from bot.cli import chats
from playground.model import Reply
from playground.screen import Shown
from tests.journeys.conftest import Process, Start, World, more_than
from tests.patience import PATIENCE, slowed

PLATFORMS = ("telegram", "discord", "slack")
ADA, BOB = 7, 8
LONG = " ".join(f"word{number}" for number in range(400))
NOT_YOURS = "Only the person who asked, or an admin, may do that."
OLD = "This button belongs to an older answer; there is a newer one."
STOP, AGAIN, GO_ON, SPEAK, GOOD, BAD = "⏹ Stop", "🔄 Regenerate", "▶️ Continue", "🔊", "👍", "👎"


class Room:
    """A group on one platform, in which Ada asks and others press."""

    def __init__(self, world: World, platform: str) -> None:
        self.world, self.platform = world, platform
        self.thread = ""
        """Where one chat of Slack goes on."""
        self.screen = getattr(world, platform).screen
        self.chat = {"telegram": "-5", "discord": "11", "slack": "C1"}[platform]
        world.telegram.group(-5, "Group")
        world.discord.guild(1, "Guild")
        world.discord.channel(11, 1, "general")
        world.slack.channel("C1", "general")
        for id, name in ((ADA, "Ada"), (BOB, "Bob")):
            self.person(id, name)

    def person(self, id: int, name: str) -> None:
        match self.platform:
            case "telegram":
                self.world.telegram.person(id, name)
            case "discord":
                self.world.discord.person(id, name)
            case _:
                self.world.slack.person(f"U{id}", name)

    def ask(self, text: str) -> str:
        """Ask as Ada; the id of her message."""
        world = self.world
        match self.platform:
            case "telegram":
                update = world.telegram.say(-5, f"@{world.telegram.world.bot['username']} {text}", person=ADA)
                return str(world.telegram.message_id(update))
            case "discord":
                return world.discord.say(self.chat, f"{world.discord.mention()} {text}", person=ADA)
            case _:
                mention = f"<@{world.slack.bot_user_id}> {text}"
                ts = world.slack.say(self.chat, mention, person=f"U{ADA}", thread_ts=self.thread)
                self.thread = self.thread or ts
                return ts

    def change(self, question: str, text: str) -> None:
        """Edit what Ada asked; without a text, delete it, where a platform tells that."""
        world = self.world
        match self.platform:
            case "telegram":
                bot = world.telegram.world.bot["username"]
                world.telegram.edit(-5, int(question), f"@{bot} {text}")
            case "discord" if text:
                world.discord.edit(question, f"{world.discord.mention()} {text}")
            case "discord":
                world.discord.delete(question)
            case _ if text:
                world.slack.edit(self.chat, question, f"<@{world.slack.bot_user_id}> {text}")
            case _:
                world.slack.delete(self.chat, question)

    def reply(self, message: Shown, text: str) -> None:
        """Answer a message, where a platform knows that."""
        if self.platform == "telegram":
            self.world.telegram.say(-5, text, person=ADA, reply_to=int(message.id))
        else:
            self.world.discord.say(self.chat, text, person=ADA, reply_to=message.id)

    def press(self, message: Shown, button: str, person: int = ADA) -> None:
        match self.platform:
            case "telegram":
                self.world.telegram.press(-5, int(message.id), button, person=person)
            case "discord":
                self.world.discord.press(message.id, button, person)
            case _:
                self.world.slack.press(self.chat, message.id, button, f"U{person}")

    def heard(self) -> list[str]:
        """What was told aside to who pressed, in order."""
        if self.platform == "telegram":
            answers = self.world.telegram.world.callbacks.values()
            return [str(one["text"]) for one in answers if one is not None]
        return [one.text for one in self.screen.of(self.chat) if one.ephemeral]

    @property
    def calls(self) -> int:
        """Posts, edits and deletions that reached the platform."""
        shown = ("sendMessage", "editMessage", "deleteMessage", "chat.post", "chat.update", "chat.delete", "/messages")
        server = getattr(self.world, self.platform)
        return sum(any(name in str(call.method) for name in shown) for call in server.calls)

    @property
    def shown(self) -> list[Shown]:
        return [one for one in self.screen.of(self.chat) if not one.ephemeral]

    async def ready(self, starts: int) -> None:
        """Wait until a process that was started listens."""
        match self.platform:
            case "telegram":
                await self.until(lambda: sum(one.method == "getMe" for one in self.world.telegram.calls) >= starts)
            case "discord":
                await self.until(lambda: len(self.world.discord.gateway.identified) >= starts)
                await self.world.discord.gateway.until_ready(1)
            case _:
                await self.world.slack.sockets.until_connected(since=starts)

    async def until(self, seen: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not seen():
                await asyncio.sleep(0.005)

    async def answered(self, text: str) -> Shown:
        """The message that shows this text with buttons of an ended reply."""
        await self.until(lambda: any(one.text == text and AGAIN in one.buttons for one in self.shown))
        return next(one for one in self.shown if one.text == text)


def ended(world: World) -> int:
    """How many turns are stored as ended."""
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM turns WHERE ended_at IS NOT NULL").fetchone()[0])


@pytest.fixture(params=PLATFORMS)
def room(request: pytest.FixtureRequest, world: World) -> Room:
    return Room(world, request.param)


async def test_stop_closes_the_models_connection_and_what_was_shown_stays(
    room: Room, start: Start, world: World
) -> None:
    world.model.reply(Reply(LONG, words_per_second=20), Reply("And so on."))
    async with start(room.platform) as bot:
        room.ask("tell me much")
        await room.until(lambda: room.shown and "word9" in room.shown[0].text)
        [message] = room.shown
        assert message.buttons == [STOP]
        request = world.model.requests[0]

        pressed = asyncio.get_running_loop().time()
        room.press(message, STOP)
        await room.until(lambda: request.closed_early)
        assert asyncio.get_running_loop().time() - pressed < 1.0

        await bot.dispatcher.wait_idle()
        assert message.text.startswith("word0 word1") and message.text.endswith("Stopped.")
        assert message.buttons == [AGAIN, GO_ON, GOOD, BAD]

        room.press(message, GO_ON)
        below = await room.answered("And so on.")
        assert below is not message and message.text.endswith("Stopped.")


async def test_an_answer_whose_stream_broke_goes_on_at_a_press(room: Room, start: Start, world: World) -> None:
    world.model.reply(Reply("One two three four", drop_after=12), Reply("x", drop_after=0))
    async with start(room.platform) as bot:
        room.ask("count")
        await room.until(lambda: room.shown and GO_ON in room.shown[0].buttons)
        [message] = room.shown
        assert message.text.startswith("One two thre") and message.buttons == [AGAIN, GO_ON, GOOD, BAD]
        world.model.reply(Reply("four."))

        room.press(message, GO_ON)
        await room.answered("four.")
        await bot.dispatcher.wait_idle()

    assert "One two thre" in str(world.model.requests[-1].messages)


@pytest.mark.parametrize("text", ["and cakes?", ""])
async def test_what_continued_an_answer_goes_when_its_question_is_changed_or_deleted(
    room: Room, start: Start, world: World, text: str
) -> None:
    if not text and room.platform == "telegram":
        pytest.skip("Telegram tells nobody that a message was deleted")
    world.model.reply(Reply("One two three four", finish_reason="length"), Reply("five."))
    async with start(room.platform) as bot:
        question = room.ask("count")
        await room.until(lambda: room.shown and GO_ON in room.shown[0].buttons)
        await bot.dispatcher.wait_idle()
        room.press(room.shown[0], GO_ON)
        await room.answered("five.")
        await bot.dispatcher.wait_idle()
        world.model.reply(Reply("Cakes."))

        room.change(question, text)
        await room.until(lambda: [one.text for one in room.shown] == (["Cakes."] if text else []))
        await bot.dispatcher.wait_idle()

    assert [one.text for one in room.shown] == (["Cakes."] if text else [])


async def test_an_answer_that_is_asked_for_again_in_words_is_marked_once_there_is_a_new_one(
    room: Room, start: Start, world: World
) -> None:
    asked_again = "↻ Asked again: the new answer is below."
    word = "retry" if room.platform == "slack" else "/retry"
    world.model.reply(Reply("A stone."), Reply(status=401), Reply("A leaf."))
    async with start(room.platform) as bot:
        room.ask("what is tea?")
        former = await room.answered("A stone.")
        room.ask(word)
        await room.until(lambda: len(room.shown) == 2 and AGAIN in room.shown[1].buttons)
        await bot.dispatcher.wait_idle()
        assert former.text == "A stone." and former.buttons
        room.ask(word)
        await room.answered("A leaf.")
        await room.until(lambda: asked_again in former.text)
        await bot.dispatcher.wait_idle()

    assert former.text.startswith("A stone.\n") and not former.buttons
    assert [asked_again in one.text for one in room.shown] == [True, True, False]


async def test_slacks_own_stop_ends_the_answer_of_an_agent(world: World, process: Process) -> None:
    """Also where the former process was killed while it answered, so that nothing but the next one takes it away."""
    world.slack.scopes.add("assistant:write")
    world.slack.subscriptions.add("agent_session_stopped")
    world.settings = {"TELEGRAM_BOT_TOKEN": "", "DISCORD_BOT_TOKEN": ""}
    room = Room(world, "slack")
    world.model.script = lambda _: Reply("Tea.", reasoning=LONG, words_per_second=10)

    def works() -> bool:
        return world.slack.workspace.sessions.get(("C1", room.thread)) == "processing"

    await process.start()
    await room.ready(1)
    room.ask("tell me much")
    await room.until(works)
    await world.model.asked()
    await process.kill()
    await process.start()
    await room.ready(2)
    await world.model.asked(2)
    request = world.model.requests[1]
    await room.until(lambda: sum(call.method == "agents.sessions.setStatus" for call in world.slack.calls) == 2)
    world.slack.stop_session("C1", room.thread, f"U{BOB}")
    await room.until(lambda: room.heard() == [NOT_YOURS])
    assert works() and not request.closed_early

    since = time.monotonic()
    world.slack.stop_session("C1", room.thread, f"U{ADA}")
    await room.until(lambda: request.closed_early)

    assert time.monotonic() - since < slowed(1.0)
    await room.until(lambda: not works() and [one.text for one in room.shown] == ["Stopped."])
    assert world.slack.workspace.titles == {("C1", room.thread): "tell me much"}
    await room.until(lambda: ended(world) == 1)


@pytest.mark.soak
async def test_of_twenty_stops_nineteen_close_the_connection_within_a_second(
    room: Room, start: Start, world: World
) -> None:
    world.model.script = lambda _: Reply(LONG, words_per_second=20)
    seconds = []
    async with start(room.platform) as bot:
        for number in range(20):
            room.ask("tell me much")
            await room.until(lambda: len(room.shown) > number and "word9" in room.shown[-1].text)  # noqa: B023
            request, pressed = world.model.requests[-1], asyncio.get_running_loop().time()
            room.press(room.shown[-1], STOP)
            await room.until(lambda: request.closed_early)  # noqa: B023
            seconds.append(asyncio.get_running_loop().time() - pressed)
            await bot.dispatcher.wait_idle()
            # Telegram takes 20 messages a minute in a group.
            await asyncio.sleep(12)
    print(f"{room.platform}: closed after {sorted(seconds)[9]:.2f} s (p50), {sorted(seconds)[18]:.2f} s (p95)")
    assert sorted(seconds)[18] <= 1.0


async def test_regenerate_rewrites_the_same_message_and_an_old_button_does_nothing(
    room: Room, start: Start, world: World
) -> None:
    world.model.reply(Reply("First answer."), Reply("Second answer."), Reply("Another."))
    async with start(room.platform) as bot:
        room.ask("what is tea")
        message = await room.answered("First answer.")
        room.press(message, AGAIN)
        assert await room.answered("Second answer.") is message
        assert len(room.shown) == 1

        room.ask("and milk")
        await room.answered("Another.")
        room.press(message, AGAIN)
        await room.until(lambda: OLD in room.heard())
        await bot.dispatcher.wait_idle()
        assert message.text == "Second answer." and len(world.model.requests) == 3


def heard_by(room: Room, people: int) -> bool:
    """Whether so many were told something that only they see."""
    return len(room.heard()) >= people


async def test_presses_of_200_strangers_have_no_effect_and_each_hears_it_once(
    room: Room, start: Start, world: World
) -> None:
    world.model.reply(Reply("Tea is made of leaves."))
    async with start(room.platform) as bot:
        room.ask("what is tea")
        message = await room.answered("Tea is made of leaves.")
        calls = room.calls
        for number in range(200):
            room.person(100 + number, f"Stranger {number}")
            for button in (AGAIN, BAD):
                room.press(message, button, 100 + number)
            if number % 20 == 19:
                # More at once than a busy machine acknowledges in Discord's three seconds would be refused.
                await room.until(partial(heard_by, room, number + 1))
        await bot.dispatcher.wait_idle()

        assert room.heard() == [NOT_YOURS] * 200
        assert message.text == "Tea is made of leaves." and room.calls == calls
        assert len(world.model.requests) == 1
        [row] = await bot.store.history.list_chats()
        assert (row.good, row.bad) == (0, 0)


async def test_good_and_bad_are_kept_and_the_operator_reads_them(
    room: Room, start: Start, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.model.reply(Reply("Tea."), Reply("Milk."))
    async with start(room.platform) as bot:
        room.ask("what is tea")
        room.press(await room.answered("Tea."), GOOD)
        room.ask("what is milk")
        room.press(await room.answered("Milk."), BAD)
        await room.until(lambda: room.heard() == ["Noted, thank you."] * 2)
        await bot.dispatcher.wait_idle()

    await chats.list_chats(f"sqlite:///{world.data}/parley.db")
    assert "1 good, 1 bad" in capsys.readouterr().out


async def test_buttons_take_no_call_of_their_own(room: Room, start: Start, world: World) -> None:
    """How many edits there are follows the clock; none of them is made for buttons alone."""
    taken: list[list[str]] = []
    buttons: list[Sequence[str]] = []
    texts: list[str] = []
    for setting in ("true", "false"):
        before = len(room.shown)
        world.model.reply(Reply(LONG * 4, words_per_second=300))
        async with start(room.platform, REPLY_BUTTONS=setting) as bot:
            room.ask("tell me much")
            await room.screen.until(more_than(before, room.chat))
            await bot.dispatcher.wait_idle()
        versions = [[version.text for version in one.versions] for one in room.shown[before:]]
        taken.append([now for each in versions for old, now in pairwise(each) if old == now])
        texts.append("".join(one.text for one in room.shown[before:]))
        buttons.append([label for one in room.shown[before:] for label in one.buttons])

    assert taken == [[], []]
    assert texts[0] == texts[1]
    assert buttons == [[AGAIN, GOOD, BAD], []]


async def test_buttons_work_after_the_process_was_killed(room: Room, process: Process, world: World) -> None:
    world.model.reply(Reply("First answer."), Reply("Second answer."), Reply(LONG, words_per_second=20))
    world.settings = dict.fromkeys(("SLACK_BOT_TOKEN", "DISCORD_BOT_TOKEN", "TELEGRAM_BOT_TOKEN"), "")
    del world.settings[f"{room.platform.upper()}_BOT_TOKEN"]
    await process.start()
    await room.ready(1)
    room.ask("what is tea")
    message = await room.answered("First answer.")
    await room.until(lambda: ended(world) == 1)
    await process.kill()

    await process.start()
    await room.ready(2)
    room.press(message, AGAIN)
    assert await room.answered("Second answer.") is message

    room.ask("tell me much")
    await room.until(lambda: len(room.shown) > 1 and "word9" in room.shown[1].text)
    growing = room.shown[1]
    # A post that nobody answered yet would be made again.
    await room.until(lambda: len(growing.versions) > 1)
    await process.kill()
    world.model.reply(Reply(LONG, words_per_second=20))
    await process.start()
    await room.ready(3)
    await world.model.asked(4)
    since = time.monotonic()
    room.press(growing, STOP)
    await room.until(lambda: growing.text.endswith("Stopped."))
    assert time.monotonic() - since < slowed(10)


async def test_an_answer_is_spoken_at_a_press_once_and_after_a_kill(room: Room, process: Process, world: World) -> None:
    world.settings["SPEECH_MODEL"] = "openai:gpt-4o-mini-tts"
    kills, said = asyncio.Event(), world.model.speech.said

    async def before(_: str) -> None:
        await kills.wait()

    world.model.speech.before = before
    world.model.reply(Reply("Tea is a plant."))
    await process.start()
    await room.ready(1)
    room.ask("What is tea?")
    message = await room.answered("Tea is a plant.")
    room.press(message, SPEAK, BOB)
    room.press(message, SPEAK)
    room.press(message, SPEAK)
    await room.until(lambda: any(one.path.endswith("/audio/speech") for one in world.model.requests))
    assert NOT_YOURS in room.heard()
    await process.kill()
    kills.set()
    await process.start()
    await room.until(lambda: [one for one in room.shown if one.files])
    assert await process.stop() == 0

    assert len([one for one in room.shown if one.files]) == 1 and set(said) == {"Tea is a plant."}
    assert [one.text for one in room.shown if "Tea" in one.text] == ["Tea is a plant."]
