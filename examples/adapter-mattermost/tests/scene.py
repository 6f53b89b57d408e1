"""Mattermost as the contract's suites look at it and act through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from emulator import Fault, MattermostServer, Shown
from parley_mattermost import PLATFORM, MattermostSettings
from parley_mattermost.adapter import MattermostAdapter

from parley_chat.adapter import MessageRef, ReplyTarget
from parley_chat.contract.suites import Call, Scene

ACTIONS = "https://bot.example.org/mattermost"
CALLS = {Call.POST: "POST /posts", Call.EDIT: "PUT /posts", Call.FILE: "POST /files"}
REFUSED = {
    "size": (413, "api.file.upload_file.too_large_detailed.app_error"),
    "switched off": (403, "api.file.attachments.disabled.app_error"),
    "right": (403, "api.context.permissions.app_error"),
    "form": (400, "api.file.upload_file.incorrect_number_of_client_ids.app_error"),
}


def settings_for(server: MattermostServer) -> MattermostSettings:
    values = {"mattermost_url": server.base_url, "mattermost_token": server.token, "mattermost_actions_url": ACTIONS}
    return MattermostSettings.model_validate(values)


class MattermostScene(Scene):
    """A channel, or a direct conversation with Ada, who is also a member of a channel with threads."""

    platform = PLATFORM
    aside = False
    file_refusals = tuple(REFUSED)

    def __init__(self, server: MattermostServer, stack: AsyncExitStack, direct: bool = False) -> None:
        self.server, self._stack, self._direct = server, stack, direct
        self.ada, self.group = server.person("ada"), server.channel()
        self.channel = server.channel("D") if direct else self.group
        self._adapters: list[MattermostAdapter] = []
        self.target = ReplyTarget("mattermost", {"channel": self.channel, "root": ""})

    async def open(self) -> None:
        self.surface = (await self.enter()).surface(self.target)
        app = web.Application()
        app.router.add_post("/mattermost", self._take_in)
        runner = web.AppRunner(app)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port, *_ = runner.addresses[0]
        self.server.hosts[ACTIONS] = f"http://{host}:{port}/mattermost"

    async def _take_in(self, request: web.Request) -> web.Response:
        """What Parley's web server does with a request."""
        [entrance] = [one.entrance for one in self._adapters if one.entrance is not None]
        body, proof = await request.read(), entrance.expect(request.headers)
        if proof is None or not proof(body):
            return web.Response(status=401)
        answer = await entrance.take_in(request.headers, body)
        return web.Response(status=answer.status, body=answer.body)

    async def enter(self) -> MattermostAdapter:
        adapter = await self._stack.enter_async_context(MattermostAdapter(settings_for(self.server)))
        self._adapters.append(adapter)
        return adapter

    @property
    def shown(self) -> list[Shown]:
        return self.server.shown(self.channel)

    @property
    def calls(self) -> int:
        return len(self.server.calls)

    @property
    def signs(self) -> int:
        return self.server.signs

    @property
    def previews(self) -> list[str]:
        return self.server.previews

    @property
    def pings(self) -> list[str]:
        return self.server.pings

    def delete(self, ref: MessageRef) -> None:
        self.server.delete(ref.id)

    def say(self, text: str) -> str:
        return self.server.say(self.channel, self._addressed(text), self.ada)

    def ask(self, text: str) -> None:
        self.server.say(self.group, f"@parley {text}", self.ada)

    def ask_in_thread(self, text: str) -> None:
        root = self.server.say(self.group, "Tea is ready.", self.ada)
        self.server.say(self.group, f"@parley {text}", self.ada, root=root)

    def say_to_others(self, text: str) -> None:
        self.server.say(self.group, text, self.ada)

    def mention_later(self, text: str) -> None:
        self.server.edit(self.server.say(self.group, "hello all", self.ada), f"@parley {text}")

    def edit(self, id: str, text: str) -> None:
        self.server.edit(id, self._addressed(text))

    def _addressed(self, text: str) -> str:
        return text if self._direct else f"@parley {text}"

    def touch(self, id: str) -> None:
        self.server.pin(id)

    def withdraw(self, id: str) -> None:
        self.server.delete(id)

    def send(self, file: tuple[str, str, bytes]) -> None:
        self.server.say(self.channel, self._addressed("look"), self.ada, files=(file,))

    def press(self, id: str, label: str) -> None:
        self.server.press(id, label, self.ada)

    def gateway(self, call: Call, status: int) -> None:
        self.server.faults.append(Fault(CALLS[call], status=status, body="<html>Bad Gateway</html>"))

    def late(self, call: Call, until: asyncio.Event) -> asyncio.Event:
        self.server.faults.append(fault := Fault(CALLS[call], late=until))
        return fault.done

    def garble(self, answer: str) -> None:
        self.server.faults.append(Fault("*", answer=answer))

    def limit(self, call: Call, named: str | None) -> None:
        stated = {} if named is None else {"Retry-After": named.strip('"').encode("ascii", "ignore").decode()}
        self.server.faults.append(Fault(CALLS[call], status=429, headers=stated, body="limit exceeded\n"))

    def recover(self) -> None:
        self.server.faults.clear()

    def refuse_file(self, reason: str) -> None:
        status, code = REFUSED[reason]
        body = f'{{"id": "{code}", "message": "no", "status_code": {status}}}'
        self.server.faults.append(Fault("POST /files", status=status, body=body))


@asynccontextmanager
async def open_scene(direct: bool = False) -> AsyncIterator[MattermostScene]:
    async with MattermostServer(limits=False) as server, AsyncExitStack() as stack:
        scene = MattermostScene(server, stack, direct)
        await scene.open()
        yield scene
