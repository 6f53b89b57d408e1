"""Markdown as a tree: what the renderers of all platforms draw.

`parse` accepts any text and loses none of it. `close_open` (from `unfinished`) closes what a half-written reply left
open; `quote` and `escape` write other people's text into Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from markdown_it.token import Token

from bot.markdown.addresses import hides_host, host_of
from bot.markdown.dialect import DEEPEST, make_parser, references
from bot.markdown.lines import Kind, LineScanner
from bot.markdown.unfinished import close_open

__all__ = ["close_open", "escape", "parse", "quote", "text_of"]

Style: TypeAlias = Literal["strong", "emphasis", "strike", "spoiler"]
Align: TypeAlias = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words, with newlines where the source has them."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Inline code."""

    text: str


@dataclass(frozen=True, slots=True)
class Styled:
    """Words that look different."""

    style: Style
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A link with an http, https or mailto address; its label never hides where it leads."""

    url: str
    children: tuple[Inline, ...]


Inline: TypeAlias = Text | Code | Styled | Link


@dataclass(frozen=True, slots=True)
class Paragraph:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    text: str
    """Without the last newline."""
    language: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote; a `collapsed` one opens on a press, if the platform can do that."""

    blocks: tuple[Block, ...]
    collapsed: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list; `checked` is None if it is not a task, `number` None if it has a bullet."""

    blocks: tuple[Block, ...]
    checked: bool | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first row is the header. Rows may have more or fewer cells than it."""

    rows: tuple[tuple[tuple[Inline, ...], ...], ...]
    aligns: tuple[Align, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""


Block: TypeAlias = Paragraph | Heading | CodeBlock | Quote | Listing | Table | Rule

_STYLES: dict[str, Style] = {
    "strong_open": "strong",
    "em_open": "emphasis",
    "s_open": "strike",
    "spoiler_open": "spoiler",
}
_COLLAPSED = "[!more]\n"
"""The first line of a collapsed quote, in the manner of GitHub's `> [!NOTE]`."""
_ALERT = re.compile(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\](?=\s|\Z)", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\][ \t]+")


def parse(text: str, *, final: bool = True) -> tuple[Block, ...]:
    """Read Markdown; with `final=False` what a stream left open at the end is closed first. Never raises."""
    if not final:
        text = close_open(text)
    known = references(text)
    return tuple(block for chunk in _chunks(text) for block in _parsed(chunk, known))


def _chunks(text: str) -> Iterator[str]:
    """Cut a text at places where its parts can be parsed separately.

    A growing page is parsed again for every edit; most of its parts are then the same as before.
    """
    scanner = LineScanner()
    start = chunk = 0
    before = Kind.BLANK
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        kind = scanner.feed(line, start)
        if before is Kind.BLANK and start > chunk and kind in _FRESH and line[0] not in " \t>":
            yield text[chunk:start]
            chunk = start
        before = kind
        start = end
    if chunk < len(text):
        yield text[chunk:]


_FRESH = (Kind.TEXT, Kind.HEADING, Kind.FENCE_OPEN)


@lru_cache(maxsize=512)
def _parsed(text: str, known: tuple[tuple[str, str], ...]) -> tuple[Block, ...]:
    env = {"references": {name: {"title": "", "href": url} for name, url in known}} if known else {}
    tokens = make_parser().parse(text, env)
    if any(token.level >= DEEPEST - 2 for token in tokens):
        # The parser drops deeper nesting; nobody means it, but nothing may be lost.
        return (Paragraph((Text(text.strip("\n")),)),)
    return tuple(_blocks(iter(tokens)))


def _blocks(tokens: Iterator[Token], until: str = "") -> Iterator[Block]:
    for token in tokens:
        match token.type:
            case kind if kind == until:
                return
            case "paragraph_open":
                if content := _content(tokens):  # a hidden tag may be all
                    yield Paragraph(content)
            case "heading_open":
                yield Heading(int(token.tag[1:]), _content(tokens))
            case "fence":
                language = token.info.split(maxsplit=1)
                yield CodeBlock(token.content.removesuffix("\n"), language[0] if language else "")
            case "blockquote_open":
                yield _quote(tuple(_blocks(tokens, "blockquote_close")))
            case "bullet_list_open":
                yield Listing(tuple(_items(tokens, "bullet_list_close")))
            case "ordered_list_open":
                yield Listing(_numbered(tuple(_items(tokens, "ordered_list_close"))))
            case "table_open":
                yield Table(tuple(_rows(tokens)), tuple(token.meta["aligns"]))
            case "hr":
                yield Rule()


def _quote(blocks: tuple[Block, ...]) -> Quote:
    match blocks:
        case (Paragraph((Text(text), *more)), *rest) if text.startswith(_COLLAPSED):
            first = Paragraph((Text(text.removeprefix(_COLLAPSED)), *more))
            return Quote((first, *rest), collapsed=True)
        case (Paragraph((Text(text), *more)), *rest) if found := _ALERT.match(text):
            named = Paragraph((Styled("strong", (Text(found[1].capitalize()),)), Text(text[found.end() :]), *more))
            return Quote((named, *rest))
    return Quote(blocks)


def _content(tokens: Iterator[Token]) -> tuple[Inline, ...]:
    """Return the content between the beginning of a paragraph or heading and its end, and pass both."""
    children = inlines(next(tokens).children or [])
    next(tokens)
    return children


def _numbered(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Number a list as it is written, as an answer to points 1 and 3 must be, or a countdown.

    CommonMark counts on from the first number; a list that repeats a number means that.
    """
    if len({item.number for item in items}) == len(items):
        return items
    first = items[0].number or 0
    return tuple(replace(item, number=first + place) for place, item in enumerate(items))


def _items(tokens: Iterator[Token], until: str) -> Iterator[Item]:
    while (token := next(tokens)).type != until:
        blocks = tuple(_blocks(tokens, "list_item_close"))
        checked = None
        if blocks and isinstance(first := blocks[0], Paragraph) and first.children:
            words = first.children[0]
            if isinstance(words, Text) and (found := _TASK.match(words.text)):
                checked = found[1] != " "
                rest = (Text(words.text[found.end() :]), *first.children[1:])
                blocks = (Paragraph(rest), *blocks[1:])
        yield Item(blocks, checked, int(token.info) if token.info else None)


def _rows(tokens: Iterator[Token]) -> Iterator[tuple[tuple[Inline, ...], ...]]:
    cells: list[tuple[Inline, ...]] = []
    while (token := next(tokens)).type != "table_close":
        if token.type == "inline":
            cells.append(inlines(token.children or []))
        elif token.type == "tr_close":
            yield tuple(cells)
            cells = []


def inlines(tokens: Sequence[Token]) -> tuple[Inline, ...]:
    """Build the inline tree of one paragraph."""
    stack: list[tuple[Token | None, list[Inline]]] = [(None, [])]
    for token in tokens:
        here = stack[-1][1]
        match token.type:
            case "text":
                _add(here, token.content)
            case "softbreak" | "hardbreak":
                _add(here, "\n")
            case "code_inline":
                here.append(Code(token.content))
            case "image":
                # Every reader's client would fetch an image; show its description and its URL as text.
                _add(here, token.content)
                here.extend((Text(" ("), Code(str(token.attrs["src"])), Text(")")))
            case "link_open" | "strong_open" | "em_open" | "s_open" | "spoiler_open":
                stack.append((token, []))
            case _:  # the end of what was opened last
                opened, children = stack.pop()
                assert opened is not None
                if opened.type == "link_open" and not opened.attrs["href"]:
                    for child in children or [Text("[]()")]:  # it leads nowhere
                        if isinstance(child, Text):
                            _add(stack[-1][1], child.text)
                        else:
                            stack[-1][1].append(child)
                else:
                    stack[-1][1].append(_closed(opened, children))
    return tuple(stack[0][1])


def _add(here: list[Inline], text: str) -> None:
    if here and isinstance(last := here[-1], Text):
        here[-1] = Text(last.text + text)
    elif text:
        here.append(Text(text))


def _closed(opened: Token, children: list[Inline]) -> Inline:
    if opened.type in _STYLES:
        return Styled(_STYLES[opened.type], tuple(children))
    url = str(opened.attrs["href"])
    if (label := text_of(children)) != url and hides_host(label, url):
        children.append(Text(f" ({host_of(url)})"))
    return Link(url, tuple(children) or (Text(url),))


def text_of(children: Sequence[Inline]) -> str:
    """Return the words of an inline tree without any style."""
    return "".join(child.text if isinstance(child, Text | Code) else text_of(child.children) for child in children)


_SIGNS = re.compile(r"[\\`*_{}\]<>)#+\-.!|~&:@$]")
_ENTITIES = str.maketrans({sign: f"&#{ord(sign)};" for sign in "[(＊｜"})
"""Characters that a backslash does not escape: before a bracket it begins a formula."""


def escape(text: str) -> str:
    """Write other people's text so that Markdown shows it literally: no mark, link or mention takes effect."""
    return _SIGNS.sub(r"\\\g<0>", text).translate(_ENTITIES)


def quote(text: str, *, collapsed: bool = False) -> str:
    """Write Markdown as a quote."""
    text = f"{_COLLAPSED}{text}" if collapsed else text
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
