"""One scene for each place that a bot writes at: what the suites of `parley_chat.contract` look at and act through.

A platform joins with a class that is a `Scene` on its emulator, and its line in `SCENES`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

import pytest
from pydantic import SecretStr

from adapters import PLATFORMS
from adapters.discord.adapter import DiscordAdapter
from adapters.settings import DiscordSettings, SlackSettings, TelegramSettings
from adapters.slack.adapter import SlackAdapter
from adapters.telegram.adapter import TelegramAdapter
from bot.contract.messages import Incoming, MessageRef, ReplyTarget
from bot.contract.surface import Adapter, Surface
from parley_chat.contract.scene import Call, Scene
from playground.discord import DiscordServer
from playground.faults import Fault, Faults
from playground.screen import Screen, Shown
from playground.slack import SlackServer
from playground.telegram import TelegramServer
from tests.patience import PATIENCE

NO_JSON: Final = ("NaN", "Infinity")
"""Waits with which a body is no JSON: what counts is the header, where there is one."""


class EmulatedScene(Scene):
    """A scene on one of the emulators of `playground/`, which have their screens and their faults in common."""

    methods: dict[Call, str]
    """What posts, edits and posts a file, as faults name it."""
    refused: dict[str, tuple[str, int, str]] = {}
    """Reason → method, status and body of the answer to a file."""
    chat: str
    surface: Surface

    def __init__(self, screen: Screen, faults: Faults, calls: Sequence[object]) -> None:
        self.screen, self.faults, self._calls = screen, faults, calls
        self.file_refusals = list(self.refused)

    @property
    def shown(self) -> list[Shown]:
        return self.screen.of(self.chat)

    @property
    def calls(self) -> int:
        return len(self._calls)

    @property
    def signs(self) -> int:
        return len(self.screen.notices)

    @property
    def told(self) -> list[str]:
        return [one.text for one in self.shown if one.ephemeral]

    def gateway(self, call: Call, status: int) -> None:
        self.faults.add(self.methods[call], Fault(status=status))

    def late(self, call: Call, until: asyncio.Event) -> asyncio.Event:
        return self.faults.add(self.methods[call], Fault(drop="late", hold=until)).done

    def garble(self, answer: str) -> None:
        self.faults.add("*", Fault(answer=answer))

    def recover(self) -> None:
        self.faults.clear()

    def refuse_file(self, reason: str) -> None:
        method, status, body = self.refused[reason]
        self.faults.add(method, Fault(status=status, body=body))


def _named(wait: str | None) -> str:
    """A wait, byte for byte, as a part of a JSON object."""
    return "" if wait is None else f', "retry_after": {wait}'


def _bot_api(status: int, words: str) -> tuple[str, int, str]:
    return "sendDocument", status, json.dumps({"ok": False, "error_code": status, "description": words})


class TelegramScene(EmulatedScene):
    """A private chat with Ada, and a group with topics."""

    platform = PLATFORMS["telegram"]
    methods = {Call.POST: "sendMessage", Call.EDIT: "editMessageText", Call.FILE: "sendDocument"}
    refused = {
        "size": _bot_api(413, "Request Entity Too Large"),
        "size in words": _bot_api(400, "Bad Request: file is too big"),
        "right": _bot_api(400, "Bad Request: not enough rights to send documents to the chat"),
        "forbidden": _bot_api(400, "Bad Request: CHAT_SEND_DOCS_FORBIDDEN"),
        "type": _bot_api(400, "Bad Request: wrong type of the web page content"),
        "blocked": _bot_api(403, "Forbidden: bot was blocked by the user"),
    }
    chat = "1"
    target = ReplyTarget("telegram", {"chat": 1, "thread": None, "reply_to": None, "group": False})
    pings = ()

    def __init__(self, server: TelegramServer, stack: AsyncExitStack) -> None:
        super().__init__(server.screen, server.faults, server.calls)
        self.server, self._stack, self._bot = server, stack, f"@{server.bot['username']}"

    async def enter(self) -> Adapter:
        settings = TelegramSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            telegram_bot_token=SecretStr(self.server.token),
            telegram_api_base_url=self.server.base_url,
        )
        adapter = await self._stack.enter_async_context(TelegramAdapter(settings))
        assert adapter._greeting is not None
        await adapter._greeting  # or it would meet the faults that are meant for what is shown
        return adapter

    @property
    def previews(self) -> Sequence[object]:
        return self.server.screen.previews

    @property
    def told(self) -> list[str]:
        return [str(one["text"]) for one in self.server.world.callbacks.values() if one is not None]

    def limit(self, call: Call, named: str | None) -> float | None:
        parameters = f', "parameters": {{{_named(named)[2:]}}}' if named is not None else ""
        body = f'{{"ok": false, "error_code": 429, "description": "Too Many"{parameters}}}'
        self.faults.add(self.methods[call], Fault(status=429, body=body))
        return 1.0 if named in NO_JSON else None

    def delete(self, ref: MessageRef) -> None:
        self.server.delete(1, int(ref.id))

    def press(self, id: str, label: str) -> None:
        self.server.press(1, int(id), label, person=1)

    def say(self, text: str) -> str:
        return str(self.server.message_id(self.server.say(1, text, person=1)))

    def send(self, file: tuple[str, str, bytes]) -> None:
        self.server.say(1, "look", person=1, files=[file])

    def ask(self, text: str) -> None:
        self.server.say(-50, f"{self._bot} {text}", person=1)

    def ask_in_thread(self, text: str) -> None:
        self.server.say(-50, f"{self._bot} {text}", person=1, thread=5)

    def say_to_others(self, text: str) -> None:
        assert not self.server.say(-50, text, person=1), "bots do not hear it"

    def mention_later(self, text: str) -> None:
        self.say_to_others("hello all")
        self.server.edit(-50, self._newest(), f"{self._bot} {text}")

    def quote(self, words: str, text: str) -> None:
        self.server.people.paste(-50, _rich(words), person=self.server.person(9, "Eve"))
        self.server.say(-50, f"{self._bot} {text}", person=1, reply_to=self._newest())

    def forward(self, words: str, text: str) -> None:
        if text:
            self.server.say(1, text, person=1)  # a comment is sent first
        self.server.people.paste(1, _rich(words), person=1, author=self.server.person(9, "Eve"))

    def edit(self, id: str, text: str) -> None:
        self.server.edit(1, int(id), text)

    def touch(self, id: str) -> None:
        self.server.edit(1, int(id), str(self.server.world.messages[1, int(id)].content["text"]))

    def _newest(self) -> int:
        return max(number for chat, number in self.server.world.messages if chat == -50)


def _rich(words: str) -> list[dict[str, Any]]:
    return [{"type": "heading", "size": 1, "text": "Alarm"}, {"type": "paragraph", "text": words}]


@asynccontextmanager
async def telegram() -> AsyncIterator[TelegramScene]:
    async with TelegramServer(limits=False) as server, AsyncExitStack() as stack:
        server.person(1, "Ada")
        server.group(-50, "Friends", forum=True)
        scene = TelegramScene(server, stack)
        scene.surface = (await scene.enter()).surface(scene.target)
        yield scene


def _discord_says(status: int, code: int, words: str) -> tuple[str, int, str]:
    return "POST /channels/{channel}/messages", status, json.dumps({"message": words, "code": code})


class DiscordScene(EmulatedScene):
    """A channel of a server, and a thread in it."""

    platform = PLATFORMS["discord"]
    methods = {
        Call.POST: "POST /channels/{channel}/messages",
        Call.EDIT: "PATCH /channels/{channel}/messages/{message}",
        Call.FILE: "POST /channels/{channel}/messages",
    }
    refused = {
        "size": _discord_says(413, 40005, "Request entity too large"),
        "form": _discord_says(400, 50035, "Invalid Form Body"),
        "right": _discord_says(403, 50013, "Missing Permissions"),
        "missing": _discord_says(404, 0, "Not Found"),
        "content": _discord_says(400, 20009, "Explicit content cannot be sent to the desired recipient(s)"),
    }
    chat = "20"
    target = ReplyTarget("discord", {"channel": 20, "group": True, "reply_to": None})

    def __init__(self, server: DiscordServer, stack: AsyncExitStack) -> None:
        super().__init__(server.screen, server.faults, server.calls)
        self.server, self._stack = server, stack
        self.place = server.channel(20, 10)
        self._side = server.thread(self.place, "side talk")

    async def enter(self) -> DiscordAdapter:
        settings = DiscordSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            discord_bot_token=SecretStr(self.server.token),
            discord_api_base_url=self.server.base_url,
        )
        return await self._stack.enter_async_context(DiscordAdapter(settings))

    @property
    def previews(self) -> Sequence[object]:
        return self.server.previews

    @property
    def pings(self) -> Sequence[object]:
        return self.server.pings

    def limit(self, call: Call, named: str | None, *, everywhere: bool = False) -> float | None:
        flag = ', "global": true' if everywhere else ""
        # The header names another wait, as the service rounds up; what counts is the body.
        headers = {"Via": "1.1 google"} | ({} if named is None else {"Retry-After": "41"})
        body = f'{{"message": "You are being rate limited."{_named(named)}{flag}}}'
        self.faults.add(self.methods[call], Fault(status=429, body=body, headers=headers))
        return 41.0 if named in NO_JSON else None

    def delete(self, ref: MessageRef) -> None:
        self.server.delete(ref.id)

    def press(self, id: str, label: str) -> None:
        self.server.press(id, label, 1)

    def say(self, text: str) -> str:
        return self.server.say(20, f"{self.server.mention()} {text}", person=1)

    def send(self, file: tuple[str, str, bytes]) -> None:
        self.server.say(20, f"{self.server.mention()} look", person=1, files=[file])

    def ask(self, text: str) -> None:
        self.say(text)

    def ask_in_thread(self, text: str) -> None:
        self.server.say(self._side, f"{self.server.mention()} {text}", person=1)

    def say_to_others(self, text: str) -> None:
        self.server.say(20, text, person=1)

    def mention_later(self, text: str) -> None:
        self.edit(self.server.say(20, "hello all", person=1), text)

    def quote(self, words: str, text: str) -> None:
        self.server.say(20, f"{self.server.mention()} {text}", person=1, reply_to=self._alarm(words))

    def forward(self, words: str, text: str) -> None:
        self.server.forward(self.server.direct(1), self._alarm(words), person=1, comment=text)

    def edit(self, id: str, text: str) -> None:
        self.server.edit(id, f"{self.server.mention()} {text}")

    def touch(self, id: str) -> None:
        self.server.state.tell("MESSAGE_UPDATE", self.server.message(id))

    def withdraw(self, id: str) -> None:
        self.server.delete(id)

    def _alarm(self, words: str) -> str:
        """A program writes an embed and mentions the bot, which is else told nothing of it; the id of its message."""
        embed = {"title": "Alarm", "description": words}
        return self.server.say(20, self.server.mention(), webhook="Grafana", embeds=[embed])


_HOOK: Final = "/webhooks/{application}/{token}"


class AnswerScene(DiscordScene):
    """The answer to a slash command, which its token can show to one person alone."""

    methods = {
        Call.POST: f"PATCH {_HOOK}/messages/{{message}}",
        Call.EDIT: f"PATCH {_HOOK}/messages/{{message}}",
        Call.FILE: "POST /channels/{channel}/messages",
    }
    refused = {}
    private = True

    def limit(self, call: Call, named: str | None, *, everywhere: bool = False) -> float | None:
        if call is Call.POST and any(self.texts):
            call = Call.FILE  # what follows the answer is an ordinary message
        return super().limit(call, named, everywhere=everywhere)

    def close_private(self) -> None:
        gone = '{"message": "gone", "code": 10015}'
        self.faults.add(f"POST {_HOOK}", Fault(status=404, body=gone))


@asynccontextmanager
async def discord(answer: bool = False) -> AsyncIterator[DiscordScene]:
    async with DiscordServer(limits=False) as server, AsyncExitStack() as stack:
        server.guild(10)
        server.permit(10, "MENTION_EVERYONE")
        server.person(1, "Ada")
        scene = (AnswerScene if answer else DiscordScene)(server, stack)
        adapter = await scene.enter()
        if answer:
            scene.target = await _acknowledged(server, adapter, scene.place, stack)
        scene.surface = adapter.surface(scene.target)
        yield scene


async def _acknowledged(
    server: DiscordServer, adapter: DiscordAdapter, place: Any, stack: AsyncExitStack
) -> ReplyTarget:
    """Somebody used a slash command, and reads that the bot thinks."""
    stored: asyncio.Queue[Incoming] = asyncio.Queue()
    listening = asyncio.create_task(adapter.listen(stored.put))

    async def end() -> None:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)

    stack.push_async_callback(end)
    async with asyncio.timeout(PATIENCE):
        await server.gateway.until_ready()
        while not server.commands.registered.get(""):
            await asyncio.sleep(0.001)
        server.slash("ask", {"question": "why?"}, place, 1)
        await server.screen.until(lambda screen: screen.of("20"))
        return (await stored.get()).target


def _slack_says(code: str, method: str = "files.getUploadURLExternal") -> tuple[str, int, str]:
    return method, 200, json.dumps({"ok": False, "error": code})


class SlackScene(EmulatedScene):
    """A thread of a channel, or a direct conversation."""

    platform = PLATFORMS["slack"]
    methods = {Call.POST: "chat.postMessage", Call.EDIT: "chat.update", Call.FILE: "files.completeUploadExternal"}
    refused = {
        **{
            word: _slack_says(word)
            for word in (
                "file_upload_size_restricted",
                "file_type_not_allowed",
                "file_uploads_disabled",
                "file_uploads_except_images_disabled",
                "storage_limit_reached",
                "missing_scope",
                "a_word_of_next_year",
            )
        },
        "size": ("upload", 413, "too large"),
        "upload": ("upload", 403, "forbidden"),
        **{
            word: _slack_says(word, "files.completeUploadExternal")
            for word in ("not_in_channel", "slack_connect_blocked_file_type", "posting_to_channel_denied")
        },
    }
    private = True

    def __init__(self, server: SlackServer, stack: AsyncExitStack, direct: bool) -> None:
        super().__init__(server.screen, server.faults, server.calls)
        self.server, self._stack, self._bot = server, stack, f"<@{server.bot_user_id}>"
        self.chat = server.direct("U1") if direct else "C1"
        asked = server.say(self.chat, f"{self._bot} why?", person="U1")
        self._root = server.say("C1", "Tea is ready.", person="U1")
        data = {"team": server.team_id, "channel": self.chat, "thread": "" if direct else asked, "user": "U1"}
        self.target = ReplyTarget("slack", {**data, "asked": asked})

    async def enter(self) -> Adapter:
        settings = SlackSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            slack_bot_token=SecretStr(self.server.bot_token),
            slack_app_token=SecretStr(self.server.app_token),
            slack_api_base_url=self.server.base_url,
        )
        return await self._stack.enter_async_context(SlackAdapter(settings))

    @property
    def previews(self) -> Sequence[object]:
        return self.server.previews

    @property
    def pings(self) -> Sequence[object]:
        return self.server.pings

    def limit(self, call: Call, named: str | None) -> None:
        stated = {} if named is None else {"Retry-After": named.strip('"').encode("ascii", "ignore").decode()}
        body = '{"ok": false, "error": "ratelimited"}'
        self.faults.add(self.methods[call], Fault(status=429, body=body, headers={"Retry-After": "", **stated}))

    def close_private(self) -> None:
        refused = '{"ok": false, "error": "user_not_in_channel"}'
        self.faults.add("chat.postEphemeral", Fault(status=200, body=refused))

    def delete(self, ref: MessageRef) -> None:
        self.server.delete(self.chat, ref.id)

    def press(self, id: str, label: str) -> None:
        self.server.press(self.chat, id, label, "U1")

    def say(self, text: str) -> str:
        return self.server.say(self.chat, f"{self._bot} {text}", person="U1")

    def send(self, file: tuple[str, str, bytes]) -> None:
        self.server.say(self.chat, f"{self._bot} look", person="U1", files=[file])

    def ask(self, text: str) -> None:
        self.server.say("C1", f"{self._bot} {text}", person="U1")

    def ask_in_thread(self, text: str) -> None:
        self.server.say("C1", f"{self._bot} {text}", person="U1", thread_ts=self._root)

    def say_to_others(self, text: str) -> None:
        self.server.say("C1", text, person="U1")

    def mention_later(self, text: str) -> None:
        self.server.edit("C1", self.server.say("C1", "hello all", person="U1"), f"{self._bot} {text}")

    def quote(self, words: str, text: str) -> None:
        self.server.forward("C1", ("C1", self._notice(words)), f"{self._bot} {text}", person="U1")

    def forward(self, words: str, text: str) -> None:
        self.server.forward(self.server.direct("U1"), ("C1", self._notice(words)), text, person="U1")

    def edit(self, id: str, text: str) -> None:
        self.server.edit(self.chat, id, f"{self._bot} {text}")

    def touch(self, id: str) -> None:
        """Slack says that a message changed of which nothing did, as it does when it looked at its links."""
        workspace = self.server.workspace
        message = workspace.message(self.chat, id)
        workspace.change(message, workspace.travel(message), fetch=False)

    def withdraw(self, id: str) -> None:
        self.server.delete(self.chat, id)

    def _notice(self, words: str) -> str:
        """Another app posts blocks; the `ts` of its message."""
        blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": words}}]
        return self.server.say("C1", "", person="U9", bot_id="B7", blocks=blocks)


@asynccontextmanager
async def slack(direct: bool = False) -> AsyncIterator[SlackScene]:
    async with SlackServer(limits=False) as server, AsyncExitStack() as stack:
        server.person("U1", "Ada")
        server.channel("C1", "general")
        scene = SlackScene(server, stack, direct)
        scene.surface = (await scene.enter()).surface(scene.target)
        yield scene


SCENES: dict[str, Callable[[], AbstractAsyncContextManager[EmulatedScene]]] = {
    "telegram": telegram,
    "discord": discord,
    "discord-answer": lambda: discord(answer=True),
    "slack": slack,
    "slack-direct": lambda: slack(direct=True),
}
PLACES = tuple(name for name in SCENES if name != "discord-answer")
"""Where people write messages; behind a slash command there is none to change."""
PLATFORM_SCENES = ("telegram", "discord", "slack")


async def opened(request: pytest.FixtureRequest) -> AsyncIterator[EmulatedScene]:
    """The scene that a fixture's parameter names."""
    async with SCENES[request.param]() as scene:
        yield scene
