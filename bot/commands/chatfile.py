"""Write a stored chat for people: as Markdown to read, or as JSON, without the program's internals."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from bot.markdown import quote
from bot.safety import Redact, clean_name
from bot.store import zone_or_utc
from tools.contract.json_values import map_texts

AT_ONCE: Final = 50
"""Turns that a thread writes at a time."""
_JOINED: Final = {"markdown": "\n\n", "json": ",\n"}
_SETTINGS: Final = ("persona", "model", "busy")
"""The settings that people make for a chat."""


class Form(StrEnum):
    """The format of the file."""

    MARKDOWN = "markdown"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ChatFile:
    """A chat as a file."""

    content: bytes
    turns: int
    """The number of turns in it."""


@dataclass(slots=True)
class ChatWriter:
    """Writes turns as `History.export` yields them."""

    form: Form
    redact: Redact
    zone: str = "UTC"

    def write(self, record: dict[str, Any]) -> str:
        """Return one turn, or the settings of the chat, in the format, with secrets masked; empty if nothing is
        shown."""
        shown: dict[str, Any] = {name: map_texts(one, self.redact) for name, one in self._shown(record).items()}
        if shown.get("settings") == {}:
            return ""
        return json.dumps(shown, ensure_ascii=False) if self.form is Form.JSON else _markdown(shown)

    def _shown(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return what people saw of a turn: without platforms' ids, errors, and text that only a model got."""
        if "settings" in record:
            settings = {name: value for name, value in record["settings"].items() if name in _SETTINGS}
            return {"chat": record["chat"], "settings": settings}
        asked = record["question"]
        text = str(asked.get("text", ""))
        command = asked.get("command", "")
        shown = {
            "turn": record["turn"],
            "asked_at": self._time(record["started_at"]),
            "person": record["person"],
            "name": clean_name(str(asked.get("sender", {}).get("name", ""))),
            "question": f"/{command} {text}".rstrip() if command else text,
            "files": [str(one.get("name", "")) for one in asked.get("enclosed", ())],
            "answer": record["answer"],
            "state": record["state"],
            "model": record["model"],
            "tools": record["calls"],
            "rating": record["rating"],
            "replaced_by": record["replaced_by"],
        }
        return {key: value for key, value in shown.items() if value not in ("", None, [])}

    def _time(self, at: float) -> str:
        return datetime.datetime.fromtimestamp(at, zone_or_utc(self.zone)).isoformat(timespec="seconds")


def _markdown(shown: dict[str, Any]) -> str:
    if "settings" in shown:
        lines = [f"- {name}: {' '.join(str(value).split())}" for name, value in shown["settings"].items()]
        return "\n".join(["## Settings of this chat", "", *lines])
    asked = [shown.get("question", ""), *(f"[{name or 'file'}]" for name in shown.get("files", ()))]
    head = f"## {shown['asked_at']} · {shown.get('name') or shown['person']}"
    answer = shown.get("answer") or f"({shown['state']})"
    return "\n\n".join([head, quote("\n".join(part for part in asked if part)), answer])


@dataclass(slots=True)
class _Pieces:
    """The written pieces, newest first, as far as there is room."""

    writer: ChatWriter
    room: int
    written: list[bytes] = field(default_factory=list)
    settings: bytes = b""
    full: bool = False

    def add(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            piece = self.writer.write(record).encode(errors="replace")
            if not piece:
                continue
            if (size := len(piece) + len(_JOINED[self.writer.form])) > self.room:
                self.full = True
                return
            self.room -= size
            if "settings" in record:
                self.settings = piece
            else:
                self.written.append(piece)

    def join(self) -> bytes:
        """Return the file, oldest first."""
        whole = [*([self.settings] if self.settings else []), *reversed(self.written)]
        content = _JOINED[self.writer.form].encode().join(whole)
        return b"[\n" + content + b"\n]\n" if self.writer.form is Form.JSON else content + b"\n"


async def write_chat(records: AsyncIterator[dict[str, Any]], writer: ChatWriter, most: int) -> ChatFile:
    """Write turns, which come newest first, as a file of at most `most` bytes; the oldest are left out.

    A thread writes them, a few at a time, so that a long chat delays nobody.
    """
    pieces = _Pieces(writer, most - len(b"[\n\n]\n"))
    waiting: list[dict[str, Any]] = []
    async for record in records:
        waiting.append(record)
        if len(waiting) == AT_ONCE:
            await asyncio.to_thread(pieces.add, waiting)
            waiting = []
        if pieces.full:
            break
    await asyncio.to_thread(pieces.add, waiting)
    return ChatFile(await asyncio.to_thread(pieces.join), len(pieces.written))
