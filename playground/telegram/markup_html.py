"""The service's HTML: a handful of tags, read by the service's own strict rules and refused in its words."""

from __future__ import annotations

from dataclasses import dataclass

from playground.telegram.call import ApiError, bad_request
from playground.telegram.entities import Entity, units

_TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "span": "spoiler",
    "tg-spoiler": "spoiler",
    "tg-emoji": "custom_emoji",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}
_SPACE = " \t\r\n\0\x0b"
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}


@dataclass(slots=True)
class _Open:
    tag: str
    argument: str
    offset: int
    begin: int
    """Where its text begins in `_Parser.out`."""


def refused(text: str) -> ApiError:
    """A 400 about markup."""
    return bad_request(f"can't parse entities: {text}")


def user_of(url: str) -> int:
    """The person that a `tg://user?id=` link means; 0 for another link."""
    head, _, number = url.partition("?id=")
    return int(number) if head in ("tg://user", "tg://user/") and number.isdecimal() else 0


def link(url: str, offset: int, length: int) -> Entity | None:
    """The entity of a link; `None` where the service drops an address that it cannot open."""
    if user := user_of(url):
        return Entity("text_mention", offset, length, {"user": {"id": user, "is_bot": False, "first_name": str(user)}})
    if "://" not in url and not url.startswith("mailto:"):
        if "." not in url or any(character.isspace() for character in url):
            return None
        url = f"http://{url}"
    if not url.startswith(("http://", "https://", "tg://", "ton://", "mailto:")):
        return None
    host = url.split("://", 1)[-1]
    if not host or any(character.isspace() for character in url):
        return None
    return Entity("text_link", offset, length, {"url": url + "/" if "://" in url and "/" not in host else url})


class _Parser:
    """One pass over the text, tag by tag; positions in messages count UTF-8 bytes, as the service's do."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.length = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []

    def byte(self, index: int) -> int:
        return len(self.text[:index].encode("utf-8", "replace"))

    def peek(self) -> str:
        """The next character; `\\0` at the end, as in the C strings these rules were written for."""
        return self.text[self.at] if self.at < len(self.text) else "\0"

    def ended(self) -> bool:
        return self.at >= len(self.text)

    def put(self, text: str) -> None:
        self.out.append(text)
        self.length += units(text)

    def run(self) -> tuple[str, list[Entity]]:
        while not self.ended():
            character = self.peek()
            if character == "&" and (decoded := self.reference()):
                self.put(decoded)
            elif character != "<":
                self.put(character)
                self.at += 1
            elif self.text.startswith("/", self.at + 1):
                self.end_tag()
            else:
                self.start_tag()
        if self.open:
            raise refused(f'Can\'t find end tag corresponding to start tag "{self.open[-1].tag}"')
        plain = [Entity(one.type, one.offset, one.length) if one.type == "code" else one for one in self.entities]
        return "".join(self.out), plain

    def reference(self) -> str:
        """The character that a reference at this place stands for, stepping over it; empty: an ordinary `&`."""
        end = self.at + 1
        if self.text.startswith("#", end):
            end += 1
            base, digits = 10, "0123456789"
            if self.text.startswith("x", end):
                end, base, digits = end + 1, 16, "0123456789abcdefABCDEF"
            start = end
            while end < len(self.text) and self.text[end] in digits:
                end += 1
            code = int(self.text[start:end] or "0", base) if end - self.at < 10 else 0
            if code == 0 or code >= 0x10FFFF or 0xD800 <= code < 0xE000:
                return ""
            decoded = chr(code)
        else:
            while end < len(self.text) and self.text[end].isascii() and self.text[end].isalpha():
                end += 1
            decoded = _NAMED.get(self.text[self.at + 1 : end], "")
            if not decoded:
                return ""
        self.at = end + 1 if self.text.startswith(";", end) else end
        return decoded

    def skip_space(self) -> None:
        while not self.ended() and self.peek() in _SPACE:
            self.at += 1

    def start_tag(self) -> None:
        begin = self.at
        self.at += 1
        while self.peek() not in _SPACE and self.peek() != ">":
            self.at += 1
        if self.ended():
            raise refused(f"Unclosed start tag at byte offset {self.byte(begin)}")
        tag = self.text[begin + 1 : self.at].lower()
        if tag not in _TAGS:
            raise refused(f'Unsupported start tag "{tag}" at byte offset {self.byte(begin)}')
        argument = ""
        while self.peek() != ">":
            self.skip_space()
            if self.peek() == ">":
                break
            argument = self.attribute(tag, begin) or argument
        self.at += 1
        if tag == "span" and argument != "spoiler":
            raise refused(f'Tag "span" must have class "tg-spoiler" at byte offset {self.byte(begin)}')
        if tag == "tg-emoji" and not argument.isdecimal():
            raise refused("Invalid custom emoji identifier specified")
        self.open.append(_Open(tag, argument, self.length, len(self.out)))

    def attribute(self, tag: str, begin: int) -> str:
        """Read one attribute; what it means for the tag, or empty."""
        start = self.at
        while self.peek() not in _SPACE and self.peek() not in "=>/\"'":
            self.at += 1
        name = self.text[start : self.at]
        if not name:
            if self.ended():
                raise refused(f"Unclosed start tag at byte offset {self.byte(begin)}")
            raise refused(f'Empty attribute name in the tag "{tag}" at byte offset {self.byte(begin)}')
        self.skip_space()
        if self.peek() != "=":
            if self.ended():
                raise refused(f"Unclosed start tag at byte offset {self.byte(begin)}")
            return "1" if tag == "blockquote" and name == "expandable" else ""
        self.at += 1
        self.skip_space()
        value = self.value()
        if self.ended():
            raise refused(f"Unclosed start tag at byte offset {self.byte(begin)}")
        match tag, name:
            case ("a", "href") | ("tg-emoji", "emoji-id"):
                return value
            case ("code", "class") if value.startswith("language-"):
                return value.removeprefix("language-")
            case ("span", "class") if value.startswith("tg-"):
                return value.removeprefix("tg-")
            case ("blockquote", "expandable"):
                return "1"
        return ""

    def value(self) -> str:
        quote = self.peek()
        start = self.at
        if quote not in "'\"":
            while self.peek().isascii() and (self.peek().isalnum() or self.peek() in ".-"):
                self.at += 1
            if self.peek() not in _SPACE and self.peek() != ">":
                raise refused(f"Unexpected end of name token at byte offset {self.byte(start)}")
            return self.text[start : self.at].lower()
        self.at += 1
        parts: list[str] = []
        while not self.ended() and self.peek() != quote:
            if self.peek() == "&" and (decoded := self.reference()):
                parts.append(decoded)
                continue
            parts.append(self.peek())
            self.at += 1
        if not self.ended():
            self.at += 1
        return "".join(parts)

    def end_tag(self) -> None:
        begin = self.at
        if not self.open:
            raise refused(f"Unexpected end tag at byte offset {self.byte(begin)}")
        self.at += 2
        while self.peek() not in _SPACE and self.peek() != ">":
            self.at += 1
        name = self.text[begin + 2 : self.at]
        self.skip_space()
        if self.peek() != ">":
            raise refused(f"Unclosed end tag at byte offset {self.byte(begin)}")
        self.at += 1
        last = self.open.pop()
        if name and name != last.tag:
            raise refused(
                f'Unmatched end tag at byte offset {self.byte(begin)}, expected "</{last.tag}>", found "</{name}>"'
            )
        if self.length > last.offset:
            self.close(last)

    def close(self, last: _Open) -> None:
        offset, length = last.offset, self.length - last.offset
        kind = _TAGS[last.tag]
        before = self.entities[-1] if self.entities else None
        same = before is not None and (before.offset, before.length) == (offset, length)
        if kind == "text_link":
            entity = link(last.argument or "".join(self.out[last.begin :]), offset, length)
            if entity is not None:
                self.entities.append(entity)
        elif kind == "pre" and same and before is not None and before.type == "code" and before.extra:
            self.entities[-1] = Entity("pre", offset, length, before.extra)
        elif kind == "code" and same and before is not None and before.type == "pre" and last.argument:
            self.entities[-1] = Entity("pre", offset, length, {"language": last.argument})
        elif kind == "code":
            self.entities.append(Entity(kind, offset, length, {"language": last.argument} if last.argument else {}))
        elif kind == "custom_emoji":
            self.entities.append(Entity(kind, offset, length, {"custom_emoji_id": last.argument}))
        elif kind == "blockquote" and last.argument:
            self.entities.append(Entity("expandable_blockquote", offset, length))
        else:
            self.entities.append(Entity(kind, offset, length))


def parse_html(text: str) -> tuple[str, list[Entity]]:
    """The text without its tags, and the entities they stood for.

    Raises:
        ApiError: `can't parse entities: …`
    """
    return _Parser(text).run()
