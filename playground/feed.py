"""What happens on the screens, as events for the pages that look."""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from playground.facts import not_meant
from playground.pictures import measured
from playground.screen import Screen, Shown
from playground.windows import Window

Json: TypeAlias = dict[str, Any]
_THINKING = "<em>Parley is thinking…</em>"
_MOST_NOTES = 100


def view(window: Window, message: Shown) -> Json:
    """A message as the page draws it."""
    place, thread = window.locate(message)
    author, name = window.who(message.author)
    facts = window.facts(message)
    reacted: Json = facts.pop("reactions", {})
    mention = next((one.mention for one in window.places if one.id == place), "")
    last = message.versions[-1] if message.versions else None
    body = _THINKING if last is None else last.html or html.escape(last.text).replace("\n", "<br>")
    at = message.versions[0].at if message.versions else window.screen.now()
    return {
        "platform": window.name,
        "place": place,
        "thread": thread,
        "id": message.id,
        "chat": message.chat,
        "author": author,
        "name": name,
        "html": body,
        "edits": max(0, len(message.versions) - 1),
        "live": message.live,
        "deleted": message.deleted,
        "ephemeral": message.ephemeral,
        "files": [_file(*file) for file in message.files],
        "replyTo": message.reply_to,
        "written": "" if message.author == "bot" else window.written(message),
        "at": time.time() - (window.screen.now() - at),
        "note": not_meant(message, mention, thread, window.screen.get(message.chat, message.reply_to)),
        **facts,
        "reactions": [
            {"sign": sign, "people": [window.who(id)[0] for id in people]} for sign, people in reacted.items()
        ],
    }


def _file(name: str, media: str, content: bytes) -> Json:
    told: Json = {"name": name, "media": media.partition(";")[0], "size": len(content)}
    if size := measured(content):
        told["width"], told["height"] = size
    return told


class Viewer:
    """One open page: what it has not been told yet. A message that changed twice meanwhile is told once."""

    def __init__(self) -> None:
        self.messages: dict[tuple[str, str, str], tuple[Window, Shown]] = {}
        self.events: list[tuple[str, Json]] = []
        self.wake = asyncio.Event()

    def take(self) -> list[tuple[str, Json]]:
        """Everything new since the last call."""
        self.wake.clear()
        events, self.events = self.events, []
        messages, self.messages = self.messages, {}
        return [*(("message", view(*pair)) for pair in messages.values()), *events]


class Feed:
    """Watches the screens and tells every viewer."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = windows
        self._viewers: set[Viewer] = set()
        self._noted = 0
        self.notes: list[Json] = []
        """What happened to the bot itself: shown in all chats between the messages."""

    def open(self) -> Viewer:
        """A new viewer; give it back with `close`."""
        viewer = Viewer()
        self._viewers.add(viewer)
        return viewer

    def close(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)

    def so_far(self) -> list[Json]:
        """Every message that stands."""
        return [
            view(window, message)
            for window in self._windows
            for message in window.screen.messages
            if not message.deleted
        ]

    def tell(self, kind: str, data: Json) -> None:
        """Send one event to every viewer."""
        for viewer in self._viewers:
            viewer.events.append((kind, data))
            viewer.wake.set()

    def note(self, text: str) -> None:
        """Write a line between the messages of every chat."""
        self._noted += 1
        note = {"text": text, "at": time.time(), "id": self._noted}
        self.notes = [*self.notes[1 - _MOST_NOTES :], note]
        self.tell("note", note)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for window in self._windows:
                group.create_task(self._messages(window))
                group.create_task(self._notices(window))

    async def _messages(self, window: Window) -> None:
        queue = window.screen.listen()
        try:
            while True:
                message = await queue.get()
                for viewer in self._viewers:
                    viewer.messages[window.name, message.chat, message.id] = (window, message)
                    viewer.wake.set()
        finally:
            window.screen.unlisten(queue)

    async def _notices(self, window: Window) -> None:
        seen = len(window.screen.notices)
        while True:
            try:
                await window.screen.until(partial(_longer_than, seen), seconds=3600)
            except TimeoutError:
                continue
            for _, chat, what in window.screen.notices[seen:]:
                sign = window.sign(what)
                if sign is not None:
                    place, thread = window.locate(Shown("", chat, "bot"))
                    told = {"platform": window.name, "place": place, "thread": thread}
                    self.tell("sign", {**told, "kind": sign.kind, "text": sign.text})
            seen = len(window.screen.notices)


def _longer_than(count: int, screen: Screen) -> bool:
    return len(screen.notices) > count
