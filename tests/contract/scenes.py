"""One scene for each place that a bot writes at: what the suites of this folder look at and act through.

A platform joins with a function that opens a `Scene` on its emulator, and its line in `SCENES`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from adapters.settings import DiscordSettings, SlackSettings, TelegramSettings
from adapters.slack.adapter import SlackAdapter
from adapters.telegram.adapter import TelegramAdapter
from bot.contract.messages import Incoming, MessageRef, ReplyTarget
from bot.contract.surface import Adapter, Surface
from playground.discord import DiscordServer
from playground.faults import Faults
from playground.screen import Screen, Shown
from playground.slack import SlackServer
from playground.slack.workspace import Workspace
from playground.telegram import TelegramServer
from tests.patience import PATIENCE


@dataclass
class Scene:
    """One place a reply is shown at, and the screen it is shown on."""

    surface: Surface
    target: ReplyTarget
    screen: Screen
    chat: str
    delete: Callable[[MessageRef], object]
    """Somebody takes a message of the bot away."""
    previews: Callable[[], Sequence[object]]
    """The addresses the platform would have fetched."""
    pings: Callable[[], Sequence[object]]
    """Whom the bot's messages would have woken."""
    enter: Callable[[], Awaitable[Adapter]]
    """Another process of the same bot."""
    faults: Faults
    """What goes wrong on this platform."""
    calls: Sequence[object]
    """The calls that reached the platform."""
    press: Callable[[str, str], object]
    """Ada presses a button under a message, by the message's id and the label."""
    told: Callable[[], Sequence[str]]
    """What was told to who pressed, and to nobody else."""
    say: Callable[[str], str]
    """Ada asks the bot something; the id of her message."""
    send: Callable[[tuple[str, str, bytes]], object]
    """She sends the bot a file: its name, media type and content."""
    ask: Callable[[str], object]
    """She asks the bot something in a channel of several people."""
    ask_in_thread: Callable[[str], object]
    """She asks in a thread or topic of that channel."""
    mention_later: Callable[[str], object]
    """She writes in that channel to others, and mentions the bot by editing her message."""
    quote: Callable[[str, str], object]
    """A program has written these words there, in whatever form its platform has for programs (blocks, embeds, a rich
    message) and with no plain text; she asks the bot something about that message."""
    forward: Callable[[str, str], object]
    """She forwards such a message to the bot as her client does it, with a comment or, where that is "", without."""
    edit: Callable[[str, str], object]
    """She changes a message, by its id, to another text for the bot."""
    touch: Callable[[str], object]
    """The platform tells of a change of it that no reader sees: a preview, a reaction."""
    withdraw: Callable[[str], object] | None
    """She deletes it; None where the platform tells bots nothing of that."""

    @property
    def shown(self) -> list[Shown]:
        """The bot's messages that stand, oldest first."""
        return self.screen.of(self.chat)

    @property
    def texts(self) -> list[str]:
        """What a person reads: signs without width are how Slack tells text from notation."""
        return [one.text.replace("\u200b", "") for one in self.shown]


@asynccontextmanager
async def telegram() -> AsyncIterator[Scene]:
    async with TelegramServer(limits=False) as server, AsyncExitStack() as stack:
        server.person(1, "Ada")
        server.group(-50, "Friends", forum=True)
        settings = TelegramSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            telegram_bot_token=SecretStr(server.token),
            telegram_api_base_url=server.base_url,
        )

        async def enter() -> Adapter:
            adapter = await stack.enter_async_context(TelegramAdapter(settings))
            assert adapter._greeting is not None
            await adapter._greeting  # or it would meet the faults that are meant for what is shown
            return adapter

        target = ReplyTarget("telegram", {"chat": 1, "thread": None, "reply_to": None, "group": False})
        yield Scene(
            surface=(await enter()).surface(target),
            target=target,
            screen=server.screen,
            chat="1",
            delete=lambda ref: server.delete(1, int(ref.id)),
            previews=lambda: server.screen.previews,
            pings=list,
            enter=enter,
            faults=server.faults,
            calls=server.calls,
            press=lambda id, label: server.press(1, int(id), label, person=1),
            told=lambda: [str(one["text"]) for one in server.world.callbacks.values() if one is not None],
            say=lambda text: str(server.message_id(server.say(1, text, person=1))),
            send=lambda file: server.say(1, "look", person=1, files=[file]),
            ask=lambda text: server.say(-50, f"@{server.bot['username']} {text}", person=1),
            ask_in_thread=lambda text: server.say(-50, f"@{server.bot['username']} {text}", person=1, thread=5),
            mention_later=lambda text: server.edit(-50, _unheard(server), f"@{server.bot['username']} {text}"),
            quote=lambda words, text: _reply(server, words, f"@{server.bot['username']} {text}"),
            forward=lambda words, text: _forward(server, words, text),
            edit=lambda id, text: server.edit(1, int(id), text),
            touch=lambda id: server.edit(1, int(id), str(server.world.messages[1, int(id)].content["text"])),
            withdraw=None,
        )


def _rich(words: str) -> list[dict[str, Any]]:
    return [{"type": "heading", "size": 1, "text": "Alarm"}, {"type": "paragraph", "text": words}]


def _reply(server: TelegramServer, words: str, text: str) -> None:
    """Ada replies in the group to what was pasted there."""
    server.people.paste(-50, _rich(words), person=server.person(9, "Eve"))
    said = max(number for chat, number in server.world.messages if chat == -50)
    server.say(-50, text, person=1, reply_to=said)


def _forward(server: TelegramServer, words: str, text: str) -> None:
    if text:
        server.say(1, text, person=1)  # a comment is sent first
    server.people.paste(1, _rich(words), person=1, author=server.person(9, "Eve"))


def _unheard(server: TelegramServer) -> int:
    """Ada writes what bots do not hear; the number of her message."""
    assert not server.say(-50, "hello all", person=1)
    return max(number for chat, number in server.world.messages if chat == -50)


@asynccontextmanager
async def discord(answer: bool = False) -> AsyncIterator[Scene]:
    async with DiscordServer(limits=False) as server, AsyncExitStack() as stack:
        server.guild(10)
        server.permit(10, "MENTION_EVERYONE")
        server.person(1, "Ada")
        place = server.channel(20, 10)
        side = server.thread(place, "side talk")
        settings = DiscordSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            discord_bot_token=SecretStr(server.token),
            discord_api_base_url=server.base_url,
        )

        async def enter() -> DiscordAdapter:
            return await stack.enter_async_context(DiscordAdapter(settings))

        adapter = await enter()
        target = ReplyTarget("discord", {"channel": 20, "group": True, "reply_to": None})
        if answer:
            target = await _acknowledged(server, adapter, place, stack)
        yield Scene(
            surface=adapter.surface(target),
            target=target,
            screen=server.screen,
            chat="20",
            delete=lambda ref: server.delete(ref.id),
            previews=lambda: server.previews,
            pings=lambda: server.pings,
            enter=enter,
            faults=server.faults,
            calls=server.calls,
            press=lambda id, label: server.press(id, label, 1),
            told=lambda: [one.text for one in server.screen.of("20") if one.ephemeral],
            say=lambda text: server.say(20, f"{server.mention()} {text}", person=1),
            send=lambda file: server.say(20, f"{server.mention()} look", person=1, files=[file]),
            ask=lambda text: server.say(20, f"{server.mention()} {text}", person=1),
            ask_in_thread=lambda text: server.say(side, f"{server.mention()} {text}", person=1),
            mention_later=lambda text: server.edit(server.say(20, "hello all", person=1), f"{server.mention()} {text}"),
            quote=lambda words, text: server.say(
                20, f"{server.mention()} {text}", person=1, reply_to=_alarm(server, words)
            ),
            forward=lambda words, text: server.forward(server.direct(1), _alarm(server, words), person=1, comment=text),
            edit=lambda id, text: server.edit(id, f"{server.mention()} {text}"),
            touch=lambda id: server.state.tell("MESSAGE_UPDATE", server.message(id)),
            withdraw=server.delete,
        )


def _alarm(server: DiscordServer, words: str) -> str:
    """A program writes an embed and mentions the bot, which is else told nothing of it; the id of its message."""
    return server.say(20, server.mention(), webhook="Grafana", embeds=[{"title": "Alarm", "description": words}])


@asynccontextmanager
async def slack(direct: bool = False) -> AsyncIterator[Scene]:
    async with SlackServer(limits=False) as server, AsyncExitStack() as stack:
        server.person("U1", "Ada")
        server.channel("C1", "general")
        settings = SlackSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            slack_bot_token=SecretStr(server.bot_token),
            slack_app_token=SecretStr(server.app_token),
            slack_api_base_url=server.base_url,
        )

        async def enter() -> Adapter:
            return await stack.enter_async_context(SlackAdapter(settings))

        chat = server.direct("U1") if direct else "C1"
        asked = server.say(chat, f"<@{server.bot_user_id}> why?", person="U1")
        root = server.say("C1", "Tea is ready.", person="U1")
        data = {"team": server.team_id, "channel": chat, "thread": "" if direct else asked, "user": "U1"}
        target = ReplyTarget("slack", {**data, "asked": asked})
        yield Scene(
            surface=(await enter()).surface(target),
            target=target,
            screen=server.screen,
            chat=chat,
            delete=lambda ref: server.delete(chat, ref.id),
            previews=lambda: server.previews,
            pings=lambda: server.pings,
            enter=enter,
            faults=server.faults,
            calls=server.calls,
            press=lambda id, label: server.press(chat, id, label, "U1"),
            told=lambda: [one.text for one in server.screen.of(chat) if one.ephemeral],
            say=lambda text: server.say(chat, f"<@{server.bot_user_id}> {text}", person="U1"),
            send=lambda file: server.say(chat, f"<@{server.bot_user_id}> look", person="U1", files=[file]),
            ask=lambda text: server.say("C1", f"<@{server.bot_user_id}> {text}", person="U1"),
            ask_in_thread=lambda text: server.say("C1", f"<@{server.bot_user_id}> {text}", person="U1", thread_ts=root),
            mention_later=lambda text: server.edit(
                "C1", server.say("C1", "hello all", person="U1"), f"<@{server.bot_user_id}> {text}"
            ),
            quote=lambda words, text: server.forward(
                "C1", ("C1", _notice(server, words)), f"<@{server.bot_user_id}> {text}", person="U1"
            ),
            forward=lambda words, text: server.forward(
                server.direct("U1"), ("C1", _notice(server, words)), text, person="U1"
            ),
            edit=lambda id, text: server.edit(chat, id, f"<@{server.bot_user_id}> {text}"),
            touch=lambda id: _look(server.workspace, chat, id),
            withdraw=lambda id: server.delete(chat, id),
        )


def _notice(server: SlackServer, words: str) -> str:
    """Another app posts blocks; the `ts` of its message."""
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": words}}]
    return server.say("C1", "", person="U9", bot_id="B7", blocks=blocks)


def _look(workspace: Workspace, channel: str, ts: str) -> None:
    """Let Slack say that a message changed of which nothing did, as it does when it looked at its links."""
    message = workspace.message(channel, ts)
    workspace.change(message, workspace.travel(message), fetch=False)


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


SCENES: dict[str, Callable[[], AbstractAsyncContextManager[Scene]]] = {
    "telegram": telegram,
    "discord": discord,
    "discord-answer": lambda: discord(answer=True),
    "slack": slack,
    "slack-direct": lambda: slack(direct=True),
}
