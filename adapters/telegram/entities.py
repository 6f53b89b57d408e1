"""The formatting of a Telegram message as Markdown: its text says nothing of it, and hides where links lead.

See https://core.telegram.org/bots/api#messageentity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from telegram import Bot, MessageEntity

_STYLES: Final = {
    MessageEntity.BOLD: "**",
    MessageEntity.ITALIC: "_",
    MessageEntity.STRIKETHROUGH: "~~",
}
_QUOTES: Final = (MessageEntity.BLOCKQUOTE, MessageEntity.EXPANDABLE_BLOCKQUOTE)
_UNIT: Final = 2
"""Bytes of a UTF-16 unit, in which Telegram counts."""


def written_in(text: str, entities: Sequence[MessageEntity], bot: Bot | None = None) -> tuple[str, bool]:
    """Return a text with its formatting in Markdown, without mentions of `bot`, and whether there were any."""
    if not entities:
        return text, False
    reader = _Reader(text, bot)
    for entity in sorted(entities, key=lambda one: (one.offset, -one.length)):
        reader.begin(entity)
    return reader.finish(), reader.mentioned


class _Reader:
    """Writes one text, from one entity to the next; entities are nested in each other or apart."""

    def __init__(self, text: str, bot: Bot | None) -> None:
        self._units = text.encode("utf-16-le", "surrogatepass")
        self._bot = bot
        self._name = f"@{bot.username}".lower() if bot is not None else ""
        self._parts: list[str] = []
        self._at = 0
        self._open: list[tuple[int, str, str]] = []
        """Of each open entity: where it ends, its type, and what closes it."""
        self._quotes = 0
        """How many of them are quotes."""
        self.mentioned = False

    def begin(self, entity: MessageEntity) -> None:
        start, end = entity.offset, min(entity.offset + entity.length, len(self._units) // _UNIT)
        self._close(start)
        if start < self._at or end <= start:
            return
        inner = self._cut(start, end)
        self._write(start)
        if self._names_bot(entity, inner):
            self.mentioned, self._at = True, end
            return
        if self._open:
            end = min(end, self._open[-1][0])
        match entity.type:
            case str() as kind if kind in _STYLES and inner.strip():
                self._add(_STYLES[kind])
                self._open.append((end, kind, _STYLES[kind]))
            case MessageEntity.TEXT_LINK if entity.url and entity.url.rstrip("/") != inner.rstrip("/"):
                self._open.append((end, entity.type, f" ({entity.url})"))
            case MessageEntity.CODE:
                mark = "`" * (_longest_run(inner) + 1)
                gap = " " if len(mark) > 1 else ""
                self._add(mark + gap)
                self._open.append((end, entity.type, gap + mark))
            case MessageEntity.PRE:
                self._new_line()
                fence = "`" * max(3, _longest_run(inner) + 1)
                self._add(f"{fence}{entity.language or ''}\n")
                self._open.append((end, entity.type, f"\n{fence}"))
            case str() as kind if kind in _QUOTES:
                self._new_line()
                self._add("> ")
                self._open.append((end, kind, ""))
                self._quotes += 1

    def finish(self) -> str:
        """Return the whole text."""
        length = len(self._units) // _UNIT
        self._close(length)
        self._write(length)
        return "".join(self._parts)

    def _close(self, upto: int) -> None:
        while self._open and self._open[-1][0] <= upto:
            end, kind, mark = self._open[-1]
            self._write(end)
            self._open.pop()
            self._add(mark)
            self._quotes -= kind in _QUOTES
            if kind == MessageEntity.PRE and self._cut(end, end + 1) not in ("", "\n"):
                self._add("\n")

    def _write(self, upto: int) -> None:
        if upto > self._at:
            self._add(self._cut(self._at, upto))
            self._at = upto

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text.replace("\n", "\n> ") if self._quotes else text)

    def _new_line(self) -> None:
        if self._parts and not self._parts[-1].endswith(("\n", "\n> ")):
            self._add("\n")

    def _cut(self, start: int, end: int) -> str:
        return self._units[_UNIT * start : _UNIT * end].decode("utf-16-le", "replace")

    def _names_bot(self, entity: MessageEntity, inner: str) -> bool:
        if self._bot is None:
            return False
        if entity.type == MessageEntity.TEXT_MENTION:
            return entity.user is not None and entity.user.id == self._bot.id
        return entity.type == MessageEntity.MENTION and inner.lower() == self._name


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
