"""The whole playground in one object: emulators, scripted model, canned search, page, and the bot as a child."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from playground import choices
from playground.calls import Calls
from playground.child import BOT, Child
from playground.choices import NO_QUOTAS, PAID, SCRIPTED, Choice
from playground.discord import DiscordServer
from playground.facts import PEOPLE, SIGNS
from playground.feed import Feed, Json
from playground.loopback import Loopback
from playground.model import ModelServer, texts
from playground.scenes import SCENES, Scenes
from playground.slack import SlackServer
from playground.switches import KINDS, Switches
from playground.tavily import TavilyServer
from playground.telegram import TelegramServer
from playground.turns import last_turn, mark
from playground.web import DexscreenerServer, MediaWikiServer, OpenAlexServer, OpenMeteoServer
from playground.website import Website
from playground.windows import DiscordWindow, Impossible, SlackWindow, TelegramWindow, Window
from playground.wire import Wire

DEFAULT_PORT = 8765
_OTHER_PORTS = 20
_SHOWN_LINES = 14
_PATIENCE = 8.0
"""Seconds for which a message waits for a bot that is not connected yet: Discord never delivers it later."""
_KEY = "sk-playground"


class Playground:
    """The whole playground. `async with` opens the servers and the page and starts the bot; leaving ends all of it.

    A `port` that was asked for is taken or refused; without one it is 8765 or the next free one. `data` is a folder
    that keeps the bot's database; without one, a temporary folder. `command` is what runs as the bot.
    """

    def __init__(
        self,
        *,
        port: int | None = None,
        data: Path | None = None,
        command: Sequence[str] = BOT,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._port = port
        self._data = data
        self._command = command
        self._environ = environ
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self.telegram, self.slack, self.discord = TelegramServer(now=now), SlackServer(now=now), DiscordServer(now=now)
        self.model, self.tavily = ModelServer(key=_KEY), TavilyServer(key="tvly-playground")
        self.model.transcriptions.script = lambda recording: texts.HEARD
        self.papers, self.weather = OpenAlexServer(), OpenMeteoServer()
        self.articles, self.prices = MediaWikiServer(), DexscreenerServer()
        self.url = ""
        """Where the page is."""
        self.child: Child
        self.windows: dict[str, Window] = {}
        self._choices: dict[str, Choice] = {}
        self._chosen = SCRIPTED
        self._run = secrets.token_hex(8)
        self._stateful = asyncio.Event()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for server in (self.telegram, self.slack, self.discord, self.model, self.tavily):
                await stack.enter_async_context(server)
            for service in (self.papers, self.weather, self.articles, self.prices):
                await stack.enter_async_context(service)
            windows: tuple[Window, ...] = (
                TelegramWindow(self.telegram),
                SlackWindow(self.slack),
                DiscordWindow(self.discord),
            )
            self.windows = {window.name: window for window in windows}
            self._choices = {
                choice.id: choice
                for choice in (choices.scripted(self.model.base_url, _KEY), *choices.with_keys(self._environ))
            }
            if self._data is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="parley-playground-")))
            else:
                folder = self._data.resolve()
                folder.mkdir(parents=True, exist_ok=True)
            self.feed = Feed(windows)
            self.child = Child(folder, lambda: self.settings(folder), self._changed, self.feed.note, self._command)
            self.scenes = Scenes(self.windows, self.feed.tell, lambda: self._kill({}), self._connected)
            stack.push_async_callback(self.scenes.close)
            calls: dict[str, Calls[Any]] = {
                "telegram": self.telegram.calls,
                "slack": self.slack.calls,
                "discord": self.discord.calls,
            }
            self.wire = Wire(self.windows, calls, self.model.requests, self.feed.tell)
            servers = self.telegram, self.slack, self.discord, self.model
            self.switches = Switches(*servers, self.windows, self.feed.tell)
            acts = {"kill": self._kill, "restart": self._restart, "use": self._use, "scene": self._play}
            acts["fault"] = self._switch
            site = Website(self.windows, self.feed, self._start, acts, self._connected, self.wire)
            site.turn = lambda platform: last_turn(
                folder / "parley.db",
                platform,
                self.windows[platform].title,
                self.model.requests,
                time.time() - time.monotonic(),
            )
            page = await self._open_page(site)
            stack.push_async_callback(page.close)
            self.url = f"{page.url}/"
            # The bot ends before the platforms it is connected to.
            stack.push_async_callback(self.child.close)
            stack.push_async_callback(self._cancel)
            for work in (self.feed.run(), self.child.run(), self._find_ollama()):
                self._tasks.append(asyncio.create_task(work))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open_page(self, site: Website) -> Loopback:
        if self._port is None:
            page = Loopback(site.app, port=DEFAULT_PORT, others=_OTHER_PORTS)
        else:
            page = Loopback(site.app, port=self._port)
        await page.open()
        return page

    def settings(self, folder: Path) -> Mapping[str, str]:
        """What the bot is started with: everything leads to this process, except a model somebody clicked on."""
        settings: dict[str, str] = {}
        for window in self.windows.values():
            settings |= window.environment
        choice = self._choices[self._chosen]
        # Without a file of our own, one that lies in the operator's folder would start servers of theirs.
        servers = folder / "no-servers.json"
        servers.write_text('{"mcpServers": {}}', encoding="utf-8")
        chats = folder / "channels.yaml"
        told = {f"{window.name}:*": {"instructions": mark(window.title)} for window in self.windows.values()}
        chats.write_text(json.dumps(told), encoding="utf-8")
        return {
            **settings,
            **choice.environment,
            # What tools may open besides the services below; with a model outside, the bot has to get out.
            "PLAYGROUND_STAYS_HOME": "" if choice.outside else "1",
            "TAVILY_API_KEY": self.tavily.key,
            "TAVILY_API_BASE_URL": self.tavily.base_url,
            "IMAGE_MODEL": "openai:gpt-image-1",
            "IMAGE_API_KEY": _KEY,
            "IMAGE_BASE_URL": self.model.base_url,
            "OPENALEX_BASE_URL": self.papers.base_url,
            "OPEN_METEO_BASE_URL": self.weather.base_url,
            "OPEN_METEO_GEOCODING_URL": self.weather.base_url,
            "WIKIPEDIA_BASE_URL": self.articles.language_url,
            "DEXSCREENER_BASE_URL": self.prices.base_url,
            "MCP_CONFIG": str(servers),
            "CHANNELS_FILE": str(chats),
            "ALLOW_ALL": "true",
            # One tool that changes something, so that a person sees what it is to be asked.
            "CONFIRM_TOOLS": "forget",
            **(PAID if choice.outside else NO_QUOTAS),
            # What the emulators sell costs nothing.
            "IMAGE_PRICE": "0",
            "DATABASE_URL": f"sqlite:///{(folder / 'parley.db').as_posix()}",
        }

    def _start(self) -> Json:
        """What a page that opens has to know."""
        windows = [
            {
                "name": window.name,
                "title": window.title,
                "offers": window.offers,
                "recording": window.recording,
                "mostBytes": window.most_bytes,
                "workspace": window.workspace,
                "places": [
                    {"id": place.id, "name": place.name, "kind": place.kind, "mention": bool(place.mention)}
                    for place in window.places
                ],
            }
            for window in self.windows.values()
        ]
        told: Json = {"run": self._run, "windows": windows, "people": PEOPLE, "signs": list(SIGNS)}
        told["scenes"] = [
            {"id": one.id, "name": one.english, "chinese": one.chinese, "about": one.about} for one in SCENES
        ]
        told["kinds"] = [{"id": one.id, "name": one.name, "about": one.about, "how": one.how} for one in KINDS]
        return {**told, "faults": self.switches.told(), "state": self._state()}

    def _state(self) -> Json:
        state = self.child.state
        return {
            "phase": state.phase,
            "message": state.message,
            "pid": state.pid,
            "starts": state.starts,
            "platforms": dict(state.platforms or {}),
            "busy": state.busy,
            "log": list(self.child.log)[-_SHOWN_LINES:],
            "chosen": self._chosen,
            "scripted": self._chosen == SCRIPTED,
            "choices": [{"id": choice.id, "label": choice.label} for choice in self._choices.values()],
            "commands": {window.name: window.commands() for window in self.windows.values()},
        }

    async def _connected(self, platform: str) -> None:
        """Wait, but not for ever, until the bot listens to a platform."""
        if self._command is not BOT:
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                while (self.child.state.platforms or {}).get(platform) != "listening":
                    self._stateful.clear()
                    await self._stateful.wait()
        except TimeoutError:
            return

    def _changed(self) -> None:
        self._stateful.set()
        self.feed.tell("state", self._state())

    def _kill(self, body: Mapping[str, Any]) -> None:
        if self.child.state.phase not in ("starting", "ready"):
            raise Impossible("the bot is not running")
        self.child.kill()

    def _restart(self, body: Mapping[str, Any]) -> None:
        self.child.restart()

    def _play(self, body: Mapping[str, Any]) -> None:
        """Play a scene on the platforms that are named."""
        self.scenes.play(str(body["id"]), [str(one) for one in body["platforms"]], str(body.get("language", "en")))

    def _switch(self, body: Mapping[str, Any]) -> None:
        """Switch a fault on or off."""
        self.switches.set(str(body["platform"]), str(body["kind"]), str(body["how"]))

    def _use(self, body: Mapping[str, Any]) -> None:
        """Let another model answer: the bot is started anew with it."""
        choice = self._choices.get(str(body["id"]))
        if choice is None:
            raise Impossible("there is no such model")
        if choice.id != self._chosen:
            self._chosen = choice.id
            self.feed.note(f"From now on answers {choice.label}.")
            self.child.restart()
            self._changed()

    async def _find_ollama(self) -> None:
        found = await choices.of_ollama(self._environ)
        if found:
            self._choices |= {choice.id: choice for choice in found}
            self._changed()
