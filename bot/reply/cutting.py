"""Where to cut a page that is too long, and how to close it and continue after the cut."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from bot.markdown import Fence, Kind, LineScanner, TableHead
from bot.reply.graphemes import boundary_before, is_boundary

_NO_SENTENCE = 300
"""After this many characters without a sentence's end, none is expected."""
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]*_]*\s+|[。！？；][”’」』）】》*_]*\s*")
_MARKER = re.compile(r"\n[ \t>]*(?:\d{1,9}[.)]|[-+*]|\#{1,6})[ \t]*")
_LONGEST_MARKER = 32
_WORD = re.compile(r"\s+|[，、：。！？；…][”’」』）】》*_]*")

# Units that a cut should not split. Each alternative is bounded, so a page of openers stays linear.
_UNIT = re.compile(
    r"""
      (?<!`)(?P<tick>`++).{1,600}?(?<!`)(?P=tick)(?!`)                          # inline code
    | \\[^\w\s]                                                                 # an escaped sign
    | !?\[[^\[\]\n]{0,600}\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ ]"[^"\n]*")?\)?|\[[^\[\]\n]{0,200}\]?)
    | <[^<>\s]{1,600}>
    | (?:https?://|mailto:|www\.)\S+
    | &\#?\w{1,31};?
    | \*\*(?=\S).{1,600}?\*\*
    | __(?=\S).{1,600}?__
    | ~~(?=\S).{1,600}?~~
    | \|\|(?=\S).{1,600}?\|\|
    | \*(?=[^\s*])[^*\n]{1,300}\*
    | \b_(?=[^\s_])[^_\n]{1,300}_\b
    | (?:(?<!`)`++|\*\*|!?\[|<)[^\n]{0,200}+\Z                                 # one that is still being written
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Border:
    """The text between two pages."""

    closer: str
    """Added at the end of the page that is sealed."""
    opener: str
    """Added at the beginning of the next."""


def fit(text: str, length: int, measure: Callable[[str], int]) -> int:
    """Return how many leading characters of `text` measure at most `length`; every character measures at least 1."""
    high = min(len(text), max(length, 0))
    if measure(text[:high]) <= length:
        return high
    low, used = 0, 0
    while high - low > 1:
        middle = (low + high) // 2
        part = measure(text[low:middle])
        if used + part <= length:
            low, used = middle, used + part
        else:
            high = middle
    return low


def sentence_end(text: str, floor: int) -> int:
    """Return the end of the last whole sentence of `text` after `floor`, its space included; 0 if none ends there.

    If many words make no sentence, as in lists and code, it is the end of the last line, or else of the last word.
    """
    # A character after the last may belong to the same number, address or character.
    ends = [at for at in _ends(_SENTENCE, text, floor, len(text)) if at < len(text)]
    if ends or len(text) - floor < _NO_SENTENCE:
        return ends[-1] if ends else 0
    return max(text.rfind("\n", floor, -1), text.rfind(" ", floor, -1) if "\n" not in text[floor:-1] else 0, 0) + 1


def _ends(pattern: re.Pattern[str], text: str, floor: int, end: int) -> list[int]:
    """Return the ends of the matches, except those within a line's marker: no item is separated from its number."""
    return [match.end() for match in pattern.finditer(text, floor, end) if not _ends_in_marker(text, match.end())]


def _ends_in_marker(text: str, at: int) -> bool:
    """Return True if the last line of `text[:at]` is only a marker."""
    begin = text.rfind("\n", max(0, at - _LONGEST_MARKER), at)
    if begin >= 0:
        return _MARKER.fullmatch(text, begin, at) is not None
    return at < _LONGEST_MARKER and _MARKER.fullmatch("\n" + text[:at]) is not None


def border_at(page: str, at: int, length: int, following: str) -> Border:
    """Return how the page `page[:at]` is closed and how the next one opens if `following` is the next character.

    It depends on nothing else, so that stored cuts give the same pages again.
    """
    scanner = LineScanner()
    position = 0
    line = ""
    while position < at:
        end = page.find("\n", position, at) + 1 or at
        line = page[position:end]
        scanner.feed(line, position)
        position = end
    return _border(page, at, length, following, scanner.fence, scanner.table, line)


def _border(
    page: str, at: int, length: int, following: str, fence: Fence | None, table: TableHead | None, line: str
) -> Border:
    whole = line.endswith("\n")
    if fence is not None:
        opener = fence.opener if len(fence.opener) <= length // 4 else fence.closer
        quotes = "" if whole or not fence.depth else "> " * fence.depth
        return Border(("" if whole else "\n") + fence.closer, f"{opener}\n{quotes}")
    if table is not None and whole:
        header = page[table.start : table.body]
        begins = ">" in header[: len(header) - len(header.lstrip(" \t>"))]
        if len(header) <= length // 3 and (following not in "\r\n#>`~" or (following == ">" and begins)):
            return Border("", header)
    if not whole:
        lead = line[: len(line) - len(line.lstrip(" \t>"))]
        opener = "> " * lead.count(">")
        if len(lead) < len(line) and len(opener) <= length // 4:
            return Border("", opener)
    return Border("", "")


@dataclass(frozen=True, slots=True)
class Cut:
    """A page's end."""

    at: int
    border: Border


class _Candidates:
    """The places where a page can be cut, best kind first; within a kind in order of position."""

    def __init__(self) -> None:
        self.paragraphs: list[int] = []
        self.lines: list[int] = []
        self.code_gaps: list[int] = []
        self.code_lines: list[int] = []
        self.rows: list[int] = []
        self.block = 0
        """Where the last block began: the units that a cut may split begin after it."""
        self.table: TableHead | None = None
        """The table the limit falls into."""
        self.plain: set[int] = set()
        """The places where nothing is open."""
        self.fences: dict[int, Fence] = {}
        """The open fence at each place in code."""
        self.open: Fence | None = None
        """The fence the limit falls into."""

    def kinds(self) -> tuple[list[int], ...]:
        return (self.paragraphs, self.lines, self.code_gaps, self.code_lines, self.rows)


def find_cut(page: str, floor: int, length: int, measure: Callable[[str], int], room: int = 0) -> Cut:
    """Find the best place to cut a page that measures more than `length`.

    The first `floor` characters of `page` were added by paging. The cut leaves room for the page's closers, and is
    after `floor`; headers and openers that would take a large part of `room` (a whole page, by default `length`) are
    left out.
    """
    room = room or length
    limit = fit(page, length, measure)
    if limit <= floor:
        limit = floor + 1
    found = _scan(page, floor, limit)
    at = _choose(page, floor, limit, room, found)
    fence = found.fences.get(at)
    following = page[at : at + 1] or "x"
    if fence is not None:
        return Cut(at, _border(page, at, room, following, fence, None, "\n"))
    if at in found.plain:
        return Cut(at, Border("", ""))
    border = border_at(page, at, room, following)
    while border.closer and at > floor + 1 and measure(page[:at]) + measure(border.closer) > length:
        # The limit is in a line that is a fence only because it is cut.
        at = max(boundary_before(page, min(limit - len(border.closer), at - 1), floor), floor + 1)
        border = border_at(page, at, room, page[at])
    return Cut(at, border)


def _choose(  # noqa: C901  # the places to cut at, the best first
    page: str, floor: int, limit: int, room: int, found: _Candidates
) -> int:
    table = found.table
    if table is not None and table.start > floor and _table_end(page, table) - table.start <= room:
        return table.start  # it fits on a page of its own
    half = floor + (limit - floor) // 2
    spans: list[tuple[int, int]] | None = None

    def whole(position: int) -> bool:
        """Return True if a cut here splits nothing."""
        nonlocal spans
        if position > found.block:
            if spans is None:
                spans = _units(page, found.block, limit, room // 2)
            before = bisect_left(spans, (position, 0)) - 1
            if before >= 0 and position < spans[before][1]:
                return False
        return is_boundary(page, position)

    def last(positions: list[int], least: int) -> int:
        for position in reversed(positions):
            if position < least:
                break
            if whole(position):
                return position
        return 0

    for positions in found.kinds():
        if at := last(positions, half):
            return at
    end = limit if found.open is None else max(limit - len(found.open.closer) - 1, floor + 1)
    sentences = _ends(_SENTENCE, page, floor, end) if found.open is None else []
    words = _ends(_WORD, page, floor, end)
    for positions in (sentences, words):
        if at := last(positions, half):
            return at
    every = sorted({*(position for kind in found.kinds() for position in kind), *sentences, *words})
    if at := last(every, floor + 1):
        return at
    for position in reversed(words):
        if position >= half and is_boundary(page, position):
            return position
    at = boundary_before(page, end, floor)
    return at if at > floor else end


def _scan(page: str, floor: int, limit: int) -> _Candidates:
    """Classify every line up to `limit`, and note where the page can be cut."""
    found = _Candidates()
    scanner = LineScanner()
    feed, find = scanner.feed, page.find
    start = 0
    before = Kind.BLANK
    previous = ""
    code_limit = limit
    while start <= limit and start < len(page):
        end = find("\n", start) + 1 or len(page)
        line = page[start:end]
        found.open = scanner.fence
        kind = feed(line, start)
        if start > floor:
            if kind is Kind.CODE or kind is Kind.CODE_BLANK:
                if before is not Kind.FENCE_OPEN and start <= code_limit and scanner.fence is not None:
                    (found.code_gaps if before is Kind.CODE_BLANK else found.code_lines).append(start)
                    found.fences[start] = scanner.fence
            elif kind is Kind.TEXT and before is Kind.TEXT:
                if not (line[0] == "|" and previous[0] == "|"):
                    found.lines.append(start)
                    found.plain.add(start)
            elif kind is Kind.TABLE_ROW:
                if before is Kind.TABLE_ROW:
                    found.rows.append(start)
            elif before is Kind.HEADING:
                if kind is not Kind.BLANK:
                    found.lines.append(start)
            elif kind is not Kind.TABLE_RULE and kind is not Kind.FENCE_CLOSE:
                found.paragraphs.append(start)
                if before is not Kind.TABLE_ROW and before is not Kind.TABLE_RULE:
                    found.plain.add(start)
                found.block = start
        if kind is Kind.FENCE_OPEN and scanner.fence is not None:
            code_limit = limit - len(scanner.fence.closer) - 1
        if kind is not Kind.BLANK or before is not Kind.HEADING:  # a heading stays with its section
            before = kind
        previous = line
        start = end
    found.table = scanner.table
    found.open = scanner.fence or found.open
    return found


def _table_end(page: str, table: TableHead) -> int:
    """Return where the table ends, as far as it is written."""
    position = table.body
    while position < len(page):
        end = page.find("\n", position) + 1 or len(page)
        if not page[position:end].strip(" \t>\r\n"):
            break
        position = end
    return position


def _units(page: str, start: int, limit: int, longest: int) -> list[tuple[int, int]]:
    """Return the units around `limit` that should stay whole, in order, without overlaps."""
    return [
        found.span() for found in _UNIT.finditer(page, start, limit + 640) if found.end() - found.start() <= longest
    ]
