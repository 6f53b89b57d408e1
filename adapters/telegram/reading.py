"""What a person sees of a Telegram message, in any position: text, a rich message's blocks, polls, places and stickers.

Formatted pastes and forwards of other bots' answers are rich messages with neither text nor caption (Bot API 10.1),
which the library passes on as they come. See https://core.telegram.org/bots/api#richmessage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from telegram import Bot, ExternalReplyInfo, Message

from adapters.telegram.entities import written_in
from bot.contract import LONGEST_TEXT

_DEEPEST: Final = 20
"""Nested blocks that are read; Telegram allows 16."""
_STYLES: Final = {"bold": "**", "italic": "_", "strikethrough": "~~", "code": "`"}
_MEDIA: Final = ("animation", "audio", "photo", "video", "voice_note", "map")


def words_of(message: Message) -> str:
    """Return the text of a message, or its caption, with its formatting; of a rich message its words with their
    structure."""
    return said_to(message, None)[0]


def said_to(message: Message, bot: Bot | None) -> tuple[str, bool]:
    """Return the words of a message without mentions of `bot`, and whether there were any."""
    if said := message.text or message.caption:
        entities = message.entities if message.text else message.caption_entities
        text, mentioned = written_in(said, entities, bot)
        return text[:LONGEST_TEXT], mentioned
    return rich_text(message, bot)


def rich_text(message: Message, bot: Bot | None = None) -> tuple[str, bool]:
    """Return the words of a rich message in Markdown, without mentions of `bot`, and whether there were any."""
    rich = message.api_kwargs.get("rich_message")
    if not isinstance(rich, Mapping):
        return "", False
    reader = _Reader(bot)
    return reader.blocks(rich.get("blocks"), 0).strip()[:LONGEST_TEXT], reader.mentioned


def things_in(message: Message | ExternalReplyInfo) -> str:
    """Return the description of a poll, a list, a place or a sticker in plain words; "" if there is none."""
    if (poll := message.poll) is not None:
        return "\n".join((f"[poll] {poll.question}", *(f"• {one.text}" for one in poll.options)))
    if (listed := getattr(message, "checklist", None)) is not None:
        marks = (f"{'☑' if one.completion_date else '☐'} {one.text}" for one in listed.tasks)
        return "\n".join((f"[checklist] {listed.title}", *marks))
    if (venue := message.venue) is not None:
        at = venue.location
        return f"[venue] {venue.title}, {venue.address} ({at.latitude}, {at.longitude})"
    if (place := message.location) is not None:
        return f"[location] {place.latitude}, {place.longitude}"
    if (contact := message.contact) is not None:
        name = " ".join(part for part in (contact.first_name, contact.last_name) if part)
        return f"[contact] {name}, {contact.phone_number}"
    if (dice := message.dice) is not None:
        return f"[dice] {dice.emoji} {dice.value}"
    return f"[sticker] {emoji}" if message.sticker is not None and (emoji := message.sticker.emoji) else ""


class _Reader:
    """Reads the blocks of one rich message."""

    def __init__(self, bot: Bot | None) -> None:
        self._bot = bot
        self._name = f"@{bot.username}".lower() if bot is not None else ""
        self.mentioned = False

    def blocks(self, blocks: Any, depth: int) -> str:
        """Return blocks below each other."""
        if depth > _DEEPEST:
            return ""
        return "\n\n".join(text for one in _maps(blocks) if (text := self._block(one, depth)))

    def _block(self, block: Mapping[str, Any], depth: int) -> str:
        kind, text = block.get("type"), self._text(block.get("text"), depth)
        match kind:
            case "heading":
                size = block.get("size")
                return f"{'#' * (size if isinstance(size, int) and 1 <= size <= 6 else 1)} {text}"
            case "pre":
                return f"```{block.get('language') or ''}\n{text}\n```"
            case "divider":
                return "---"
            case "mathematical_expression":
                return f"$${block.get('expression') or ''}$$"
            case "anchor":
                return ""
            case "list":
                return "\n".join(self._items(block.get("items"), depth))
            case "blockquote" | "pullquote":
                inner = self.blocks(block.get("blocks"), depth + 1) or text
                credit = self._text(block.get("credit"), depth)
                said = f"{inner}\n— {credit}" if credit else inner
                return "\n".join(f"> {line}" for line in said.split("\n"))
            case "table":
                rows = ("| " + " | ".join(self._cells(row, depth)) + " |" for row in block.get("cells") or ())
                return "\n".join((*filter(None, (self._caption(block, depth),)), *rows))
            case "details":
                return "\n\n".join(
                    filter(None, (self._text(block.get("summary"), depth), self.blocks(block.get("blocks"), depth + 1)))
                )
            case str() if kind in _MEDIA:
                caption = self._caption(block, depth)
                return f"[{kind.replace('_', ' ')}]{f' {caption}' if caption else ''}"
        parts = (text, self.blocks(block.get("blocks"), depth + 1), self._caption(block, depth))
        # A kind newer than this program contains something that a person sees.
        return "\n\n".join(part for part in parts if part) or f"[{str(kind)[:40].replace('_', ' ')}]"

    def _items(self, items: Any, depth: int) -> Iterator[str]:
        for one in _maps(items):
            label = str(one.get("label") or "•")
            if one.get("has_checkbox"):
                label = "☑" if one.get("is_checked") else "☐"
            inner = self.blocks(one.get("blocks"), depth + 1) or self._text(one.get("text"), depth)
            yield f"{label} {inner.replace(chr(10), chr(10) + '  ')}"

    def _cells(self, row: Any, depth: int) -> Iterator[str]:
        for cell in _maps(row):
            yield self._text(cell.get("text"), depth).replace("\n", " ")

    def _caption(self, block: Mapping[str, Any], depth: int) -> str:
        caption = block.get("caption")
        if isinstance(caption, Mapping) and "type" not in caption:
            parts = (self._text(caption.get(name), depth) for name in ("text", "credit"))
            return " — ".join(part for part in parts if part)
        return self._text(caption, depth)

    def _text(self, text: Any, depth: int) -> str:
        """Read rich text: a string, a list of such, or one of a kind with text in it."""
        if isinstance(text, str):
            return text
        if isinstance(text, list) and depth <= _DEEPEST:
            return "".join(self._text(one, depth + 1) for one in text)
        if not isinstance(text, Mapping) or depth > _DEEPEST:
            return ""
        inner, kind = self._text(text.get("text"), depth + 1), text.get("type")
        if self._names(kind, inner, text):
            self.mentioned = True
            return ""
        if kind == "url" and (url := str(text.get("url") or "")) and url.rstrip("/") != inner.rstrip("/"):
            return f"{inner} ({url})" if inner else url
        if kind == "mathematical_expression":
            return f"${text.get('expression') or inner}$"
        mark = _STYLES.get(str(kind), "") if inner.strip() else ""
        return f"{mark}{inner}{mark}" if mark else inner or str(text.get("alternative_text") or "")

    def _names(self, kind: object, inner: str, text: Mapping[str, Any]) -> bool:
        if self._bot is None:
            return False
        user = text.get("user")
        if kind == "text_mention" and isinstance(user, Mapping):
            return bool(user.get("id") == self._bot.id)
        return kind == "mention" and inner.lower() == self._name


def _maps(values: Any) -> Iterable[Mapping[str, Any]]:
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, list | tuple) else ()
