"""Lay out a Markdown tree as lines: what the renderers of all platforms share.

A platform's renderer is a `Dialect`: it says how words, code and quotes are written; the order of blocks, lists,
numbers, indentation and the columns of tables are the same everywhere.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from bot.markdown import (
    Align,
    Block,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    Paragraph,
    Quote,
    Rule,
    Style,
    Styled,
    Table,
    Text,
    text_of,
)

RULE = "─" * 10
GAP = "\u200b"
"""A space without width, between signs that would be one mark."""
_TASKS = {True: "☑", False: "☐"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of words, which a list may indent and a quote may prefix."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Code: its lines must stay at the margin."""

    text: str
    """As the dialect writes it."""
    code: str
    language: str


class Dialect(ABC):
    """The notation of one platform; one object renders one page."""

    bullet = "•"

    @abstractmethod
    def text(self, text: str) -> str:
        """Write plain text, escaped so that nothing in it acts as markup."""

    @abstractmethod
    def code(self, text: str) -> str:
        """Write inline code."""

    @abstractmethod
    def styled(self, style: Style, children: Sequence[Inline]) -> str:
        """Write styled text."""

    @abstractmethod
    def link(self, link: Link) -> str:
        """Write a link."""

    @abstractmethod
    def code_block(self, text: str, language: str) -> str:
        """Write a code block."""

    @abstractmethod
    def heading(self, level: int, children: Sequence[Inline]) -> str:
        """Write a heading."""

    @abstractmethod
    def quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        """Write a quote around rendered lines."""

    def collapsed_quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        """Write a collapsed quote; as a plain quote where the platform has none."""
        return self.quote(lines)

    def task(self, bullet: str, checked: bool) -> str:
        """Write the check box of a task."""
        return _TASKS[checked]

    def paragraph(self, children: Sequence[Inline]) -> str:
        """Write a paragraph."""
        return self.inline(children)

    def inline(self, children: Sequence[Inline]) -> str:
        """Write inline nodes."""
        return "".join(self.node(child) for child in children)

    def node(self, node: Inline) -> str:
        """Write one inline node."""
        match node:
            case Text(text):
                return self.text(text)
            case Code(text):
                return self.code(text)
            case Styled(style, children):
                return self.styled(style, children)
        return self.link(node)

    def document(self, blocks: Sequence[Block]) -> str:
        """Write a whole page."""
        return "\n".join(line.text for line in self.lines(blocks, apart=True))

    def lines(self, blocks: Sequence[Block], *, apart: bool) -> list[Line | Verbatim]:
        """Write blocks, separated by an empty line if `apart`."""
        result: list[Line | Verbatim] = []
        for block in blocks:
            drawn = self.block(block)
            if result and drawn and apart:
                result.append(Line(""))
            result.extend(drawn)
        return result

    def block(self, block: Block) -> Sequence[Line | Verbatim]:
        """Write one block."""
        match block:
            case Paragraph(children):
                return [Line(line) for line in self.paragraph(children).split("\n")]
            case Heading(level, children):
                return [Line(line) for line in self.heading(level, children).split("\n")]
            case CodeBlock(text, language):
                return [Verbatim(self.code_block(text, language), text, language)]
            case Table(rows, aligns):
                text = aligned(rows, aligns)
                return [Verbatim(self.code_block(text, ""), text, "")]
            case Quote(blocks, collapsed):
                lines = self.lines(blocks, apart=True)
                return self.collapsed_quote(lines) if collapsed else self.quote(lines)
            case Rule():
                return [Line(RULE)]
        return self.listing(block.items)

    def marker(self, item: Item, before: Item | None) -> str:
        """Write the bullet or the number of an item."""
        marker = self.bullet if item.number is None else f"{item.number}."
        return marker if item.checked is None else self.task(marker, item.checked)

    def listing(self, items: Sequence[Item]) -> list[Line | Verbatim]:
        """Write a list, with the contents of an item indented under it."""
        result: list[Line | Verbatim] = []
        for before, item in zip((None, *items), items, strict=False):
            marker = self.marker(item, before)
            drawn = self.lines(item.blocks, apart=False)
            indent = " " * (width(marker) + 1)
            head = drawn.pop(0).text if drawn and isinstance(drawn[0], Line) else ""
            result.append(Line(f"{marker} {head}" if head else marker))
            for line in drawn:
                result.append(Line(indent + line.text) if isinstance(line, Line) and line.text else line)
        return result


def unnested(style: Style, children: Sequence[Inline]) -> list[Inline]:
    """Return what is inside of a style without the same style again: two marks beside each other are another one."""
    flat: list[Inline] = []
    for child in children:
        if isinstance(child, Styled):
            inner = unnested(style, child.children)
            flat.extend(inner if child.style == style else [Styled(child.style, tuple(inner))])
        else:
            flat.append(child)
    return flat


def taken_apart(text: str) -> str:
    """Break runs of three backticks in code, where they would end it anywhere."""
    return re.sub("`{3,}", lambda found: GAP.join(found.group()), text)


def width(text: str) -> int:
    """Count the columns of `text` in a fixed-width font: two for wide characters, none for combining marks."""
    if text.isascii():
        return len(text)
    total = 0
    joined = False
    for sign in text:
        if joined:
            joined = False
        elif sign == "\u200d":
            joined = True
        elif unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf") or "🏻" <= sign <= "🏿":
            pass
        elif "\U0001f1e6" <= sign <= "\U0001f1ff":
            total += 1  # two of them are one flag
        else:
            total += 2 if unicodedata.east_asian_width(sign) in "WF" else 1
    return total


def aligned(rows: Sequence[Sequence[Sequence[Inline]]], aligns: Sequence[Align]) -> str:
    """Return a table as aligned text, with a line under its header."""
    # A cell with line breaks takes several lines of the row.
    words = [[[" ".join(line.split()) for line in text_of(cell).split("\n")] for cell in row] for row in rows]
    columns = zip_longest(*words, fillvalue=[""])
    widths = [max(width(line) for cell in column for line in cell) for column in columns]
    lines = []
    for index, row in enumerate(words):
        for parts in zip_longest(*row, fillvalue=""):
            cells = [
                _padded(cell, size, align)
                for cell, size, align in zip_longest(parts, widths, aligns[: len(widths)], fillvalue=None)
            ]
            lines.append(" | ".join(cells).rstrip())
        if not index:
            lines.append("-+-".join("-" * size for size in widths))
    return "\n".join(lines)


def _padded(cell: str | None, size: int | None, align: str | None) -> str:
    cell = cell or ""
    room = (size or 0) - width(cell)
    if align == "right":
        return " " * room + cell
    if align == "center":
        return " " * (room // 2) + cell + " " * (room - room // 2)
    return cell + " " * room
