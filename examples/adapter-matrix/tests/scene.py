"""The place where the suites look and act: a room of Ada and the bot, and one with Bob, on the homeserver."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from homeserver import Fault, Homeserver, read
from parley_matrix import PLATFORM, MatrixSettings
from parley_matrix.adapter import MatrixAdapter
from pydantic import SecretStr

from parley_chat.adapter import Adapter, MessageRef, ReplyTarget
from parley_chat.contract.suites import Call, Scene

BOT, ADA, BOB = "@parley:example.org", "@ada:example.org", "@bob:example.org"
ROOM, TEAM = "!room:example.org", "!team:example.org"


def settings_for(url: str, token: str = "token") -> MatrixSettings:
    return MatrixSettings(matrix_url=url, matrix_token=SecretStr(token), matrix_rate=1000, matrix_burst=1000)


class Version:
    def __init__(self, content: dict[str, Any]) -> None:
        text = read(content)
        self.text = text.rpartition("\n")[0] if content.get("chat.parley.buttons") else text
        self.markup = str(content.get("formatted_body") or content.get("body"))
        if content.get("chat.parley.buttons"):
            self.markup = self.markup.rpartition("<br>")[0]


class Message:
    """One message of the bot, as people see it."""

    ephemeral = False
    live = False

    def __init__(self, server: Homeserver, event: dict[str, Any]) -> None:
        self.id = event["event_id"]
        contents = server.versions(event)
        newest = contents[-1]
        self.versions = [Version(content) for content in contents]
        self.text = self.versions[-1].text
        self.buttons = [label for _, label, _ in newest.get("chat.parley.buttons", [])]
        self.files = [server.media[newest["url"].rpartition("/")[2]]] if "url" in newest else []


class MatrixScene(Scene):
    """Ada talks to the bot in a room of two; in a room of three she mentions it."""

    platform = PLATFORM
    aside = False

    def __init__(self, server: Homeserver, stack: AsyncExitStack) -> None:
        self.server, self._stack = server, stack
        self._thread = ""
        self.target = ReplyTarget("matrix", {"room": ROOM, "thread": "", "asked": ""})

    @property
    def shown(self) -> Sequence[Message]:
        return [Message(self.server, event) for event in self.server.shown(ROOM, BOT)]

    @property
    def calls(self) -> int:
        return len(self.server.calls)

    @property
    def signs(self) -> int:
        return sum(on for _, on in self.server.typing)

    @property
    def previews(self) -> Sequence[str]:
        return [
            url
            for _, event in self.server.stream
            if event["sender"] == BOT and event["content"].get("com.beeper.linkpreviews") is None
            for url in re.findall(r"https?://\S+", str(event["content"].get("body", "")))
        ]

    @property
    def pings(self) -> Sequence[str]:
        return self.server.pings(BOT)

    async def enter(self) -> Adapter:
        settings = settings_for(self.server.url)
        return await self._stack.enter_async_context(MatrixAdapter(settings))

    def delete(self, ref: MessageRef) -> None:
        self.server.redact(ROOM, ADA, ref.id)

    def say(self, text: str) -> str:
        return self.server.write(ROOM, ADA, {"msgtype": "m.text", "body": text})

    def ask(self, text: str) -> None:
        self.server.write(TEAM, ADA, _mention(text))

    def ask_in_thread(self, text: str) -> None:
        if not self._thread:
            self._thread = self.server.write(TEAM, BOB, {"msgtype": "m.text", "body": "a topic"})
        relation = {
            "rel_type": "m.thread",
            "event_id": self._thread,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": self._thread},
        }
        self.server.write(TEAM, ADA, _mention(text) | {"m.relates_to": relation})

    def say_to_others(self, text: str) -> None:
        self._last = self.server.write(TEAM, ADA, {"msgtype": "m.text", "body": text, "m.mentions": {}})

    def mention_later(self, text: str) -> None:
        self.say_to_others(text)
        self._change(TEAM, self._last, _mention(text))

    def edit(self, id: str, text: str) -> None:
        self._change(ROOM, id, {"msgtype": "m.text", "body": text})

    def _change(self, room: str, id: str, content: dict[str, Any]) -> None:
        relation = {"rel_type": "m.replace", "event_id": id}
        whole = content | {"body": f"* {content['body']}", "m.new_content": content, "m.relates_to": relation}
        self.server.write(room, ADA, whole)

    def touch(self, id: str) -> None:
        relation = {"rel_type": "m.annotation", "event_id": id, "key": "👍"}
        self.server.write(ROOM, ADA, {"m.relates_to": relation}, "m.reaction")

    def withdraw(self, id: str) -> None:
        self.server.redact(ROOM, ADA, id)

    def send(self, file: tuple[str, str, bytes]) -> None:
        name, media_type, content = file
        url = self.server.store(*file)
        info = {"mimetype": media_type, "size": len(content)}
        self.server.write(ROOM, ADA, {"msgtype": "m.file", "body": name, "url": url, "info": info})

    def signs_of(self, id: str) -> list[str]:
        """The reactions that press the buttons below a message."""
        event = self.server.find(ROOM, id)
        assert event is not None
        return [sign for sign, _, _ in self.server.versions(event)[-1]["chat.parley.buttons"]]

    def press(self, id: str, label: str) -> None:
        stands = next(one for one in self.shown if one.id == id)
        sign = self.signs_of(id)[stands.buttons.index(label)]
        relation = {"rel_type": "m.annotation", "event_id": id, "key": sign}
        self.server.write(ROOM, ADA, {"m.relates_to": relation}, "m.reaction")

    def gateway(self, call: Call, status: int) -> None:
        self.server.faults.append(Fault(call.value, status=status))

    def late(self, call: Call, until: asyncio.Event) -> asyncio.Event:
        fault = Fault(call.value, lose=until)
        self.server.faults.append(fault)
        return fault.done

    def garble(self, answer: str) -> None:
        self.server.faults.append(Fault("any", body=answer))

    def limit(self, call: Call, named: str | None) -> float | None:
        self.server.faults.append(Fault(call.value, status=429, named=named))
        try:
            float(named or "0")
        except ValueError:
            return 1.0
        return None

    def recover(self) -> None:
        self.server.faults.clear()


def _mention(text: str) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": f"Parley: {text}", "m.mentions": {"user_ids": [BOT]}}


@asynccontextmanager
async def open_scene(rate: float = 1000.0, burst: int = 1000) -> AsyncIterator[MatrixScene]:
    async with Homeserver(rate=rate, burst=burst) as server, AsyncExitStack() as stack:
        server.add_user(BOT, "token")
        server.add_room(ROOM, ADA, BOT)
        server.add_room(TEAM, ADA, BOB, BOT)
        scene = MatrixScene(server, stack)
        adapter = await scene.enter()
        scene.surface = adapter.surface(scene.target)
        yield scene
