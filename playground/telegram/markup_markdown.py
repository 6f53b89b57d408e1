"""MarkdownV2: every reserved character is either markup or escaped, or the whole message is refused."""

from __future__ import annotations

from dataclasses import dataclass

from playground.telegram.entities import Entity, units
from playground.telegram.markup_html import link, refused

_RESERVED = "_*[]()~`>#+-=|{}.!\n"
_NAMES = {
    "bold": "Bold",
    "italic": "Italic",
    "underline": "Underline",
    "strikethrough": "Strikethrough",
    "spoiler": "Spoiler",
    "code": "Code",
    "pre": "Pre",
    "text_link": "TextUrl",
    "custom_emoji": "CustomEmoji",
    "blockquote": "BlockQuote",
}
_CLOSERS = {
    "bold": "*",
    "underline": "__",
    "italic": "_",
    "strikethrough": "~",
    "spoiler": "||",
    "code": "`",
    "pre": "```",
    "text_link": "]",
    "custom_emoji": "]",
}


@dataclass(slots=True)
class _Open:
    kind: str
    offset: int
    place: int
    """Where it was opened in the source."""
    begin: int
    """Where its text begins in `_Parser.out`."""
    language: str = ""


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.length = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []
        self.line_start = True

    def byte(self, index: int) -> int:
        return len(self.text[:index].encode("utf-8", "replace"))

    def put(self, text: str) -> None:
        self.out.append(text)
        self.length += units(text)

    def run(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.text):
            character = self.text[self.at]
            following = self.text[self.at + 1 : self.at + 2]
            top = self.open[-1].kind if self.open else ""
            started, self.line_start = self.line_start, False
            if character == "\\" and following and 0 < ord(following) <= 126:
                self.put(following)
                self.at += 2
            elif character not in (_RESERVED if top not in ("code", "pre") else "`"):
                self.put(character)
                self.at += 1
            elif character == "\n":
                self.newline()
            elif character == ">" and started and not (self.open and top != "blockquote"):
                self.at += 1
                if top != "blockquote":
                    self.begin("blockquote", self.at - 1)
            elif top in _CLOSERS and self.closes(top):
                self.end()
            elif top == "blockquote" and self.text.startswith("||", self.at) and self.line_ends(self.at + 2):
                self.at += 2
                self.end_quote("expandable_blockquote")
            else:
                self.start(character, following, started)
        if self.open and self.open[-1].kind == "blockquote":
            self.end_quote("blockquote")
        if self.open:
            last = self.open[-1]
            name = "PreCode" if last.language else _NAMES[last.kind]
            raise refused(f"Can't find end of {name} entity at byte offset {self.byte(last.place)}")
        return "".join(self.out), self.entities

    def closes(self, top: str) -> bool:
        closer = _CLOSERS[top]
        if top == "italic" and self.text.startswith("__", self.at):
            return False
        return self.text.startswith(closer, self.at)

    def line_ends(self, index: int) -> bool:
        return index >= len(self.text) or self.text[index] == "\n"

    def newline(self) -> None:
        """A quotation ends with the first line that does not begin with `>`."""
        self.at += 1
        quoted = bool(self.open) and self.open[-1].kind == "blockquote"
        if quoted and not self.text.startswith(">", self.at):
            self.put("\n")
            self.end_quote("blockquote")
        else:
            self.put("\n")
        self.line_start = True

    def begin(self, kind: str, place: int, language: str = "") -> None:
        self.open.append(_Open(kind, self.length, place, len(self.out), language))

    def start(self, character: str, following: str, started: bool) -> None:
        place = self.at
        match character, following:
            case "_", "_":
                kind, width = "underline", 2
            case "|", "|":
                kind, width = "spoiler", 2
            case "!", "[":
                kind, width = "custom_emoji", 2
            case "_", _:
                kind, width = "italic", 1
            case "*", "*" if started and self.text.startswith("**>", self.at):
                # An empty bold pair that parts two quotations.
                self.at += 2
                self.line_start = True
                return
            case "*", _:
                kind, width = "bold", 1
            case "~", _:
                kind, width = "strikethrough", 1
            case "[", _:
                kind, width = "text_link", 1
            case "`", _:
                self.start_code(place)
                return
            case _:
                raise refused(f"Character '{character}' is reserved and must be escaped with the preceding '\\'")
        self.at += width
        self.begin(kind, place)

    def start_code(self, place: int) -> None:
        if not self.text.startswith("```", place):
            self.at += 1
            self.begin("code", place)
            return
        self.at += 3
        end = self.at
        while end < len(self.text) and not self.text[end].isspace() and self.text[end] != "`":
            end += 1
        language = ""
        if end > self.at and end < len(self.text) and self.text[end] != "`":
            language = self.text[self.at : end]
            self.at = end
        if self.text.startswith(("\r\n", "\n\r"), self.at):
            self.at += 2
        elif self.text.startswith(("\n", "\r"), self.at):
            self.at += 1
        self.begin("pre", place, language)

    def end(self) -> None:
        last = self.open.pop()
        self.at += len(_CLOSERS[last.kind])
        length = self.length - last.offset
        if last.kind in ("text_link", "custom_emoji"):
            self.end_link(last, length)
        elif length:
            self.entities.append(
                Entity(last.kind, last.offset, length, {"language": last.language} if last.language else {})
            )

    def end_link(self, last: _Open, length: int) -> None:
        url = "".join(self.out[last.begin :])
        if self.text.startswith("(", self.at):
            self.at += 1
            begin = self.at
            parts: list[str] = []
            while self.at < len(self.text) and self.text[self.at] != ")":
                if self.text[self.at] == "\\" and self.at + 1 < len(self.text):
                    self.at += 1
                parts.append(self.text[self.at])
                self.at += 1
            if self.at >= len(self.text):
                raise refused(f"Can't find end of a URL at byte offset {self.byte(begin)}")
            self.at += 1
            url = "".join(parts)
        elif last.kind == "custom_emoji":
            raise refused("Custom emoji entity must contain a tg://emoji URL")
        if not length:
            return
        if last.kind == "custom_emoji":
            number = url.removeprefix("tg://emoji?id=")
            if number == url or not number.isdecimal():
                raise refused("Custom emoji URL must have an emoji identifier")
            self.entities.append(Entity(last.kind, last.offset, length, {"custom_emoji_id": number}))
            return
        entity = link(url, last.offset, length)
        if entity is not None:
            self.entities.append(entity)

    def end_quote(self, kind: str) -> None:
        last = self.open.pop()
        if self.length > last.offset:
            self.entities.append(Entity(kind, last.offset, self.length - last.offset))


def parse_markdown(text: str) -> tuple[str, list[Entity]]:
    """The text without its MarkdownV2 marks, and the entities they stood for.

    Raises:
        ApiError: `can't parse entities: …`
    """
    return _Parser(text).run()
