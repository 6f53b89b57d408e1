"""Formatted text: a plain text and the entities over it, counted in UTF-16 units as the service counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from playground.telegram.call import Json, bad_request

MOST_ENTITIES = 100
CODE = frozenset({"code", "pre"})
_FOUND = re.compile(
    r"(?P<url>https?://[^\s<>\"'`]+|(?<![\w@./])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|example|me|de|cn)\b(?:/[^\s<>\"'`]*)?)"
    r"|(?P<email>(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<mention>(?<![\w@])@[A-Za-z0-9_]{3,32}\b)"
    r"|(?P<bot_command>(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/]))"
    r"|(?P<hashtag>(?<![\w#])#(?=\w*[^\W\d])\w{1,256})",
    re.IGNORECASE,
)
_CONTROLS = {code: " " for code in range(32) if code not in (9, 10, 13)} | {9: " ", 13: ""}
_REMOVED = dict.fromkeys(range(0x2028, 0x202F), "")


def units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def cut(text: str, start: int, end: int) -> str:
    """The part between two UTF-16 offsets; a lone half of a pair becomes a replacement character."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


def clean(text: str) -> str:
    """The text without the characters that the service never stores."""
    return text.translate(_CONTROLS | _REMOVED)


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of text that means or looks something."""

    type: str
    offset: int
    length: int
    extra: Json = field(default_factory=dict, hash=False)
    """`url`, `language`, `user`, `custom_emoji_id`: what the type needs beside the stretch."""

    @property
    def end(self) -> int:
        return self.offset + self.length

    def json(self) -> Json:
        return {"type": self.type, "offset": self.offset, "length": self.length} | self.extra


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text as it is stored."""

    text: str
    entities: tuple[Entity, ...] = ()

    def json(self, name: str = "text", entities: str = "entities") -> Json:
        """The fields of a message; `entities` is left out when there are none, as the service does."""
        found: Json = {name: self.text}
        if self.entities:
            found[entities] = [entity.json() for entity in self.entities]
        return found


def found(text: str) -> list[Entity]:
    """What the service recognises by itself: commands, mentions, addresses, hashtags."""
    entities = []
    for match in _FOUND.finditer(text):
        kind = str(match.lastgroup)
        word = match.group().rstrip(".,;:!?)]}*_~") if kind == "url" else match.group()
        entities.append(Entity(kind, units(text[: match.start()]), units(word)))
    return entities


def fix(text: str, entities: Iterable[Entity]) -> Formatted:
    """The text and entities as they are stored: ends trimmed, nothing inside code, what is recognised added, 100 kept.

    Raises:
        ApiError: an entity begins or ends outside the text.
    """
    length = units(text)
    wanted = sorted(
        (entity for entity in entities if entity.length > 0), key=lambda entity: (entity.offset, -entity.length)
    )
    for entity in wanted:
        if entity.offset < 0 or entity.end > length:
            raise bad_request(
                f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the text "
                f"at UTF-16 offset {length}"
            )
    body = text.rstrip()
    first = wanted[0].offset if wanted else length
    lead = min(len(body) - len(body.lstrip(" \n")), first)
    body = body[lead:]
    length = units(body)
    clipped = []
    for entity in wanted:
        offset = entity.offset - lead
        if (size := min(entity.end - lead, length) - offset) > 0:
            clipped.append(replace(entity, offset=offset, length=size))
    kept: list[Entity] = []
    for entity in sorted(clipped, key=lambda entity: (entity.offset, -entity.length, entity.type != "pre")):
        if entity.type in CODE and not any(_overlap(entity, one) for one in kept):
            kept.append(entity)
    kept += [part for entity in clipped if entity.type not in CODE for part in _outside(entity, kept)]
    blocked = [entity for entity in kept if entity.type in {*CODE, "text_link", "text_mention"}]
    kept += [entity for entity in found(body) if not any(_overlap(entity, one) for one in blocked)]
    kept.sort(key=lambda entity: (entity.offset, -entity.length))
    return Formatted(body, tuple(kept[:MOST_ENTITIES]))


def _overlap(one: Entity, other: Entity) -> bool:
    return one.offset < other.end and other.offset < one.end


def _outside(entity: Entity, code: list[Entity]) -> list[Entity]:
    """What is left of an entity where code takes no other formatting; a quotation may stand around code."""
    if entity.type.endswith("blockquote"):
        return [entity]
    parts = [entity]
    for one in code:
        if one.type not in CODE:
            continue
        pieces = []
        for part in parts:
            if not _overlap(part, one):
                pieces.append(part)
                continue
            if part.offset < one.offset:
                pieces.append(replace(part, length=one.offset - part.offset))
            if part.end > one.end:
                pieces.append(replace(part, offset=one.end, length=part.end - one.end))
        parts = pieces
    return parts


def preview(formatted: Formatted) -> str:
    """The address whose page the service would fetch: the first one in the text, or empty."""
    for entity in formatted.entities:
        if entity.type == "text_link":
            address = str(entity.extra["url"])
            if address.startswith(("http://", "https://")):
                return address
        if entity.type == "url":
            address = cut(formatted.text, entity.offset, entity.end)
            return address if "://" in address else f"http://{address}"
    return ""
