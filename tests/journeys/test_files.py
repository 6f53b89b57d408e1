"""Plots and files that code makes: in the chat after the text, whole, once, and said where it cannot be."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from bot.app import App
from playground.faults import Fault
from playground.model import Reply
from playground.model.images import png
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("sandbox_possible")

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9, 16])\nplt.title('Squares')"
PNG = b"\x89PNG\r\n\x1a\n"
DOT = png("a dot")
SMALL = f"open('dot.png', 'wb').write({DOT!r})"
PLATFORMS = ("telegram", "slack", "discord")


@pytest.fixture(autouse=True)
def _runs_code(world: World) -> None:
    world.settings["CODE_BACKEND"] = "auto"


def code(source: str, answer: str = "Here it is.") -> Callable[[RawJson], Reply]:
    """A model that runs `source` once and then answers."""

    def script(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply(answer)
        return Reply(calls=(("run_python", {"code": source}),))

    return script


@dataclass
class Place:
    """Where somebody writes, and what is seen there."""

    world: World
    platform: str
    chat: str
    say: Callable[[str], object]

    @property
    def messages(self) -> list[Shown]:
        return [one for one in getattr(self.world, self.platform).screen.of(self.chat) if one.versions or one.files]

    @property
    def files(self) -> list[tuple[str, str, bytes]]:
        return [file for message in self.messages for file in message.files]

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.messages if message.text)


def places(world: World) -> dict[str, Place]:
    """Every way of writing to the bot, each in a chat of its own."""
    telegram, slack, discord = world.telegram, world.slack, world.discord
    telegram.person(7, "Ada")
    telegram.group(-50, "Friends")
    slack.person("U7", "Ada")
    slack.channel("C1", "general")
    slack.channel("C2", "random")
    slack.channel("C3", "elsewhere", member=False)
    discord.person(7, "Ada")
    discord.guild(1, "Guild")
    discord.channel(11, 1, "general")
    discord.channel(12, 1, "random")
    direct, private = slack.direct("U7"), discord.direct(7)
    name = telegram.bot["username"]
    return {
        "telegram private": Place(world, "telegram", "7", lambda text: telegram.say(7, text, person=7)),
        "telegram group": Place(world, "telegram", "-50", lambda text: telegram.say(-50, f"@{name} {text}", person=7)),
        "slack direct": Place(world, "slack", direct, lambda text: slack.say(direct, text, person="U7")),
        "slack mention": Place(
            world, "slack", "C1", lambda text: slack.say("C1", f"<@{slack.bot_user_id}> {text}", person="U7")
        ),
        "slack command": Place(world, "slack", "C2", lambda text: slack.command("/parley", text, "C2", "U7")),
        "slack command elsewhere": Place(world, "slack", "C3", lambda text: slack.command("/parley", text, "C3", "U7")),
        "discord direct": Place(world, "discord", private.id, lambda text: discord.say(private, text, person=7)),
        "discord mention": Place(
            world, "discord", "11", lambda text: discord.say(11, f"{discord.mention()} {text}", person=7)
        ),
        "discord slash": Place(world, "discord", "12", lambda text: discord.slash("ask", {"question": text}, 12, 7)),
    }


PRIVATE = ("telegram private", "slack direct", "discord direct")


async def answered(bot: App, *everywhere: Place) -> None:
    async with asyncio.timeout(PATIENCE):
        while not all(place.messages for place in everywhere):
            await asyncio.sleep(0.01)
    await bot.dispatcher.wait_idle()


async def test_a_plot_appears_as_an_image_after_the_text_on_every_platform(world: World, start: Start) -> None:
    world.model.script = code(PLOT)
    everywhere = [places(world)[name] for name in PRIVATE]
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say("please plot the squares of one to four")
        await answered(bot, *everywhere)

    for place in everywhere:
        assert place.messages[0].text.strip() == "Here it is." and not place.messages[0].files, place.platform
        [(name, media, content)] = place.messages[-1].files
        assert name.endswith(".png") and media == "image/png" and content.startswith(PNG) and len(content) > 5_000
    assert [call.method for call in world.telegram.calls if call.method.startswith("send")][-1] == "sendPhoto"


async def test_a_file_is_the_new_message_of_an_answer_that_took_long(world: World, start: Start) -> None:
    """Its text ends where it stands: the channel becomes unread anyway."""
    go_on = asyncio.Event()

    def script(body: RawJson) -> Reply:
        reply = code(SMALL, "Here it is, and these are its words.")(body)
        return reply if reply.calls else replace(reply, hang_after=12, until=go_on)

    world.model.script = script
    everywhere = [places(world)[name] for name in PRIVATE]
    world.settings["FRESH_MESSAGE_SECONDS"] = "0.2"
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say("please draw a dot")
        async with asyncio.timeout(PATIENCE):
            while not all(any("Here" in one.text for one in place.messages) for place in everywhere):
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        first = [place.messages[0].id for place in everywhere]
        go_on.set()
        await bot.dispatcher.wait_idle()

    assert [place.messages[0].id for place in everywhere] == first
    for place in everywhere:
        assert [bool(one.files) for one in place.messages] == [False, True], place.platform
        assert place.text.startswith("Here it is, and these are its words."), place.platform


async def test_a_file_reaches_every_kind_of_chat_once(world: World, start: Start) -> None:
    world.model.script = code(SMALL)
    everywhere = places(world)
    outside = everywhere.pop("slack command elsewhere")
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in (*everywhere.values(), outside):
            place.say("please save a dot as a picture")
        await answered(bot, *everywhere.values(), outside)

    for name, place in everywhere.items():
        assert place.files == [("dot.png", "image/png", DOT)], name
        shown = [bool(message.files) for message in place.messages]
        assert shown == sorted(shown), f"{name}: a file stands before the text"
        assert "Here it is." in place.text
    # Slack gives a command's answer no way to carry a file where the bot is no member.
    assert not outside.files and re.search(r"The file dot\.png could not be posted here\.", outside.text)


async def test_several_files_come_in_order_and_a_document_is_no_picture(world: World, start: Start) -> None:
    world.model.script = code(f"open('a.csv', 'w').write('x,y')\n{SMALL}\nopen('z.txt', 'w').write('end')")
    everywhere = [places(world)[name] for name in PRIVATE]
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say("please save a table, a picture and a text")
        await answered(bot, *everywhere)

    for place in everywhere:
        assert [file[0] for file in place.files] == ["a.csv", "dot.png", "z.txt"], place.platform
        assert [file[2] for file in place.files] == [b"x,y", DOT, b"end"]


async def test_a_file_over_the_platforms_limit_is_said_plainly(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox lets out less than any platform takes, so the platforms take less here."""
    for name in ("telegram", "slack", "discord"):
        module = importlib.import_module(f"adapters.{name}.surface")
        monkeypatch.setattr(module, "LIMITS", replace(module.LIMITS, attachment_bytes=2**20))
        if name == "slack":
            monkeypatch.setattr(module, "_NO_STATUS", replace(module.LIMITS, typing_seconds=0.0))
    world.model.script = code("open('big.bin', 'wb').write(bytes(2 * 2**20))")
    everywhere = [places(world)[name] for name in PRIVATE]
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say("please save two megabytes")
        await answered(bot, *everywhere)

    for place in everywhere:
        assert place.text.strip() == "Here it is.\n\nThe file big.bin (2.0 MB) is too large to be posted here."
        assert not place.files


async def test_a_hostile_file_name_does_nothing(world: World, start: Start) -> None:
    names = [
        "@everyone.txt",
        "a\u202etxt.exe",
        "<!channel>.txt",
        "x](www.evil.example).txt",
        "sk-0.txt-is-a-secret-here",
    ]
    source = "\n".join(f"open({name!r}, 'w').write('x')" for name in names)
    world.model.script = code(source)
    everywhere = [places(world)[name] for name in PRIVATE]
    async with start(*PLATFORMS, TOOL_MODE="native", OPENAI_API_KEY="sk-0.txt-is-a-secret-here") as bot:
        for place in everywhere:
            place.say("please save files with strange names")
        await answered(bot, *everywhere)

    assert not [*world.telegram.screen.pings, *world.slack.pings, *world.discord.pings]
    assert not [*world.telegram.screen.previews, *world.slack.previews, *world.discord.previews]
    for place in everywhere:
        shown = " ".join(file[0] for file in place.files)
        assert len(place.files) == len(names), place.platform
        assert not re.search(r"[@<>\u202e/\\]|secret-here", shown), shown


async def test_code_that_is_corrected_is_a_status_and_never_text(world: World, start: Start) -> None:
    def script(body: RawJson) -> Reply:
        results = [message for message in body["messages"] if message["role"] == "tool"]
        if len(results) == 2:
            return Reply("It is 4.")
        source = "1 / 0" if not results else "import time; time.sleep(0.7); 2 + 2"
        return Reply(calls=(("run_python", {"code": source}),))

    world.model.script = script
    everywhere = [places(world)[name] for name in PRIVATE]
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say("please compute two and two with code")
        await answered(bot, *everywhere)

    for place in everywhere:
        [message] = place.messages
        assert message.text.strip() == "It is 4."
        versions = [version.text for version in message.versions]
        assert any("Running code (2nd try)" in text for text in versions), versions
        assert not any("ZeroDivisionError" in text or "Traceback" in text for text in versions)


POSTS = {
    "telegram": "sendPhoto",
    "slack": "files.completeUploadExternal",
    "discord": "POST /channels/{channel}/messages",
}


async def ready(world: World, starts: int = 1) -> None:
    async with asyncio.timeout(PATIENCE):
        while (
            len(world.discord.gateway.identified) < starts
            or sum(call.method == "getMe" for call in world.telegram.calls) < starts
        ):
            await asyncio.sleep(0.01)
    await world.slack.sockets.until_connected(since=starts)
    await world.discord.gateway.until_ready(1)


async def test_a_file_survives_a_kill_between_the_text_and_the_file_and_is_posted_once(
    world: World, process: Process
) -> None:
    """The last edit of the text is held open: it has arrived, and nothing of the file has."""
    world.settings["TOOL_MODE"] = "native"
    world.model.script = code(SMALL)
    everywhere = [places(world)[name] for name in PRIVATE]
    let_go = asyncio.Event()
    await process.start()
    await ready(world)
    edits = {
        "telegram": "editMessageText",
        "slack": "chat.update",
        "discord": "PATCH /channels/{channel}/messages/{message}",
    }
    for platform, method in edits.items():
        getattr(world, platform).faults.add(method, Fault(hold_after=let_go), times=4)
    for place in everywhere:
        place.say("please save a dot as a picture")
    async with asyncio.timeout(PATIENCE):
        while not all("Here it is." in place.text for place in everywhere):
            await asyncio.sleep(0.01)
    await process.kill()
    let_go.set()
    assert not any(place.files for place in everywhere)
    for platform in edits:
        getattr(world, platform).faults.clear()

    await process.start()
    async with asyncio.timeout(PATIENCE):
        while not all(place.files for place in everywhere):
            await asyncio.sleep(0.01)
    await ready(world, starts=2)
    # Whatever else would come, comes before the next answer.
    world.model.script = lambda body: Reply("And on.")
    for place in everywhere:
        place.say("please go on")
    async with asyncio.timeout(PATIENCE):
        while not all("And on." in place.text for place in everywhere):
            await asyncio.sleep(0.01)

    for place in everywhere:
        assert [file[0] for file in place.files] == ["dot.png"], place.platform
        assert place.text.count("Here it is.") == 1, place.platform
    assert await process.stop() == 0


@pytest.mark.parametrize("arrived", [False, True])
async def test_a_file_killed_on_its_way_is_never_posted_twice_and_never_lost_in_silence(
    arrived: bool, world: World, process: Process
) -> None:
    """Discord knows a repeated post again; elsewhere the person is told that the file may be missing."""
    world.settings["TOOL_MODE"] = "native"
    world.model.script = code(SMALL)
    everywhere = [places(world)[name] for name in PRIVATE]
    let_go = asyncio.Event()
    await process.start()
    await ready(world)
    held = []
    for platform in ("telegram", "slack"):
        fault = Fault(hold_after=let_go) if arrived else Fault(hold=let_go)
        held.append(getattr(world, platform).faults.add(POSTS[platform], fault))
    for place in everywhere:
        place.say("please save a dot as a picture")
    async with asyncio.timeout(PATIENCE):
        while not all(fault.reached.is_set() for fault in held) or not everywhere[2].files:
            await asyncio.sleep(0.01)
    await process.kill()
    for platform in PLATFORMS:
        getattr(world, platform).faults.clear()

    await process.start()
    async with asyncio.timeout(PATIENCE):
        while not all("I cannot tell whether the file dot.png arrived" in place.text for place in everywhere[:2]):
            await asyncio.sleep(0.01)
    assert await process.stop() == 0

    for place in everywhere[:2]:
        assert len(place.files) == arrived, place.platform
    assert len(everywhere[2].files) == 1 and "cannot tell" not in everywhere[2].text
    let_go.set()


async def test_a_file_that_may_not_be_posted_is_told_of_once_and_the_chat_goes_on(world: World, start: Start) -> None:
    """Slack was not given the scope, Discord's channel takes no files, Telegram's group allows no documents."""

    def script(body: RawJson) -> Reply:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Reply("Here it is.")
        if "go on" in str(last["content"]):
            return Reply("And on.")
        return Reply(calls=(("run_python", {"code": "open('a.csv', 'w').write('x,y')"}),))

    world.model.script = script
    everywhere = [places(world)[name] for name in ("telegram private", "slack direct", "discord mention")]
    world.slack.scopes.discard("files:write")
    world.discord.state.channels["11"].denied.add("ATTACH_FILES")
    forbidden = {"ok": False, "error_code": 400, "description": "Bad Request: CHAT_SEND_DOCS_FORBIDDEN"}
    world.telegram.faults.add("sendDocument", Fault(status=400, body=json.dumps(forbidden)), 100)
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say("please save a table")
            place.say("please go on")
        await answered(bot, *everywhere)

    sentence = r"The file a\.csv could not be posted here\. \(Reference t\d+\)"
    for place in everywhere:
        assert not place.files
        assert re.search(rf"Here it is\.\s+{sentence}\s+And on\.", place.text), (place.platform, place.text)
        assert len(re.findall(sentence, place.text)) == 1, place.platform
    tries = [call.method for call in world.telegram.calls] + [call.method for call in world.slack.calls]
    assert tries.count("sendDocument") == tries.count("files.getUploadURLExternal") == 1
    assert sum(call.status == 403 for call in world.discord.calls) == 1


async def test_an_image_that_telegram_cannot_read_goes_as_a_document(world: World, start: Start) -> None:
    world.model.script = code(f"open('odd.png', 'wb').write({PNG + b'no image'!r})")
    place = places(world)["telegram private"]
    async with start("telegram", TOOL_MODE="native") as bot:
        place.say("please save an odd picture")
        await answered(bot, place)

    assert [(file[0], file[2]) for file in place.files] == [("odd.png", PNG + b"no image")]
