"""The block structure of Markdown, line by line: fences, tables, headings, list items, blank lines.

A scanner of its own instead of the Markdown parser, because paging and the link filter look at every line of every
reply, mostly more than once while it is written. It agrees with `tree` on what opens and closes a fence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum

from bot.markdown.variants import is_wide


class Kind(IntEnum):
    """The kinds of lines."""

    BLANK = 0
    TEXT = 1
    HEADING = 2
    ITEM = 3
    FENCE_OPEN = 4
    CODE = 5
    CODE_BLANK = 6
    FENCE_CLOSE = 7
    TABLE_RULE = 8
    """The row of dashes: the line before it was the header."""
    TABLE_ROW = 9


CODE_KINDS = frozenset({Kind.FENCE_OPEN, Kind.CODE, Kind.CODE_BLANK, Kind.FENCE_CLOSE})
"""Lines in a fence, or its ends."""


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence: enough to close it, and to reopen it on another page."""

    lead: str
    """Quote signs and indentation before the mark; list markers have become spaces."""
    mark: str
    info: str
    quotes: tuple[int, ...]
    """For each enclosing quote, the least indentation of its sign, from the list items around it."""

    @property
    def depth(self) -> int:
        """In how many quotes it is nested."""
        return len(self.quotes)

    @property
    def opener(self) -> str:
        return f"{self.lead}{self.mark}{self.info}"

    @property
    def closer(self) -> str:
        return self.lead + self.mark


@dataclass(frozen=True, slots=True)
class TableHead:
    """An open table: where its header row begins and its row of dashes ends, as offsets into the scanned text."""

    start: int
    body: int


LONGEST_FENCE = 200
"""Characters of a fence's mark and its prefix; with more, a page would contain little but its fences."""
_LINE = re.compile(r"([ \t>]*)((?:(?:[-*+]|\d{1,9}[.)])(?:[ \t][ \t>]*|$))*)(`{3,}|~{3,})?([^\r\n]*)")
_QUOTES = re.compile(r"([ \t]*)>")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])([ \t]+)")
_MARKER = re.compile(r"[^\s>]")
_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
BORDERS = ("|", "｜")
"""Separators between the cells of a table's row."""
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_UNSPACED_HEADING = re.compile(r"#{1,6}(?=[^\s#])(?:\*\*|\d{1,3}[.)、]|(?P<sign>[^\x00-\u10ff]))")


def columns(row: str) -> int:
    """Count the cells of a table row."""
    return len(_CELL_BORDER.findall(row.strip().removeprefix("|").removesuffix("|"))) + 1


def in_cells(row: str, wanted: int) -> str:
    """Return a row with narrow borders: some of its full-width ones are borders if it otherwise has too few cells."""
    return row.replace("｜", "|") if "｜" in row and columns(row) < wanted else row


def heading_level(line: str) -> int:
    """Return the level of a heading without a space after its marks, as `###标题`; 0 for any other line.

    A tag in Latin letters is not one, and one mark before a word is a tag if another one follows.
    """
    found = _UNSPACED_HEADING.match(line)
    if found is None:
        return 0
    level = found.group().count("#")
    single = level == 1 and (found["sign"] is None or "#" in line[1:])
    return 0 if single or (found["sign"] and not is_wide(found["sign"])) else level


@dataclass(slots=True, eq=False, repr=False)
class LineScanner:
    """Classifies each line in turn; `fence` and `table` are open after the last one. No line is empty."""

    fence: Fence | None = field(default=None, init=False)
    table: TableHead | None = field(default=None, init=False)
    _before: str = field(default="", init=False)
    _before_start: int = field(default=0, init=False)

    def feed(self, line: str, start: int = 0) -> Kind:
        """Take one line, with or without its newline; `start` is its offset, which `table` reports back."""
        fence = self.fence
        if fence is None:
            if self.table is None and line[0].isalpha():  # most lines
                self._before = line
                self._before_start = start
                return Kind.TEXT
            if line == "\n":
                self.table = None
                self._before = ""
                return Kind.BLANK
        else:
            rest = line if not fence.quotes else _unquoted(line, fence.quotes)
            if rest is not None:
                rest = rest.strip(" \t\r\n")
                if not rest:
                    return Kind.CODE_BLANK
                if rest[0] == fence.mark[0] and len(rest) >= len(fence.mark) and not rest.strip(fence.mark[0]):
                    self.fence = None
                    return Kind.FENCE_CLOSE
                return Kind.CODE
            self.fence = None  # a quote that ends takes its fence with it
        found = _LINE.match(line)
        assert found is not None
        lead, items, mark, rest = found.groups()
        before, before_start = self._before, self._before_start
        self._before, self._before_start = "", start
        is_fence = mark and (mark[0] == "~" or "`" not in rest)
        if is_fence and len(lead) + len(items) + len(mark) <= LONGEST_FENCE:
            self.table = None
            self.fence = Fence(lead + _MARKER.sub(" ", items), mark, rest, _quotes(lead, items))
            return Kind.FENCE_OPEN
        if not rest and not items and not mark:
            self.table = None
            return Kind.BLANK
        if self.table is not None and not items:
            if lead.count(">") == before.count(">"):
                self._before = lead
                return Kind.TABLE_ROW
            self.table = None
        if rest.startswith("#") and not mark and (rest.lstrip("#")[:1] in ("", " ", "\t") or heading_level(rest)):
            self.table = None
            return Kind.HEADING
        rule = rest.replace("｜", "|")
        if before and not mark and rule[:1] in "|:-" and _RULE.fullmatch(rule) and _is_header(before, rule, lead):
            self.table = TableHead(before_start, start + len(line))
            self._before = lead
            return Kind.TABLE_RULE
        self.table = None
        self._before = line
        return Kind.ITEM if items else Kind.TEXT


def _quotes(lead: str, items: str) -> tuple[int, ...]:
    """The quote signs before a line, and in list items: each with the indentation that lines after it need."""
    needed = [0] * lead.count(">")
    for before in items.split(">")[:-1]:
        width = sum(len(item[1]) + (len(item[2]) if len(item[2]) < 5 else 1) for item in _ITEM.finditer(before))
        needed.append(width + bool(width and needed))
    return tuple(needed)


def _unquoted(line: str, quotes: tuple[int, ...]) -> str | None:
    """`line` without these quote signs; None when it has not all of them."""
    position = 0
    for needed in quotes:
        found = _QUOTES.match(line, position)
        if found is None or len(found[1].expandtabs(4)) < needed:
            return None
        position = found.end()
    return line[position:]


def _is_header(before: str, rule: str, lead: str) -> bool:
    found = _LINE.match(before)
    assert found is not None
    header = before[found.end(2) :].strip()
    wanted = columns(rule)
    header = in_cells(header, wanted)
    return "|" in header and found[1].count(">") == lead.count(">") and columns(header) == wanted
