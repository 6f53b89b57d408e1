"""The Markdown that models write: CommonMark with tables, strikethrough, spoilers and bare links, read tolerantly.

It differs from CommonMark where a chat answer, cut into pages and read while it grows, would suffer:

- no indented code, no underlined headings, no raw HTML: a page may begin in the middle of a nested list, and a
  half-written list (`text`, newline, `-`) is not a heading;
- a fence in a list item goes on when its lines are not indented;
- a row with more cells than its table's header keeps them;
- `**粗体：**文字` is bold: Chinese and Japanese put no space around emphasis;
- what Chinese-tuned models write for a mark is that mark: `＊＊粗体＊＊`, `** 粗体 **`, `｜` in a table and `###标题`;
- a tag is what it means, and a formula stays as it is: `bot.markdown.variants`;
- `2*3*4` is no emphasis;
- a list may follow a line of text whatever its first number is, as a page may begin in the middle of it;
- addresses are those of `bot.markdown.addresses`, so that the link filter and the parser mean the same;
- a link definition stays visible, because the link that uses it may stand on another page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace, mdTrim, normalizeReference
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, heading, list_block
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from bot.markdown.addresses import ANGLE, MAIL_REACH, SCHEMES, bare_mail, bare_url, mail_link, scheme_of
from bot.markdown.lines import CODE_KINDS, LONGEST_FENCE, LineScanner, heading_level, in_cells
from bot.markdown.variants import BREAKS, RULES, WIDE_MARK, Closers, is_wide

DEEPEST = 60
"""How deep blocks can nest; deeper text is shown as written."""

_DEEPEST_INLINE = 8
"""The same for links and spoilers, which hardly ever nest. The number of readings of a row of open brackets grows with
it."""
_DEFINITION = re.compile(
    r"^[ ]{0,3}\[([^\[\]\n]{1,200})\]:[ \t]*(?=<?(?:https?://|mailto:))", re.MULTILINE | re.IGNORECASE
)
_TITLE = re.compile(r"(?:[ \t]+[\"'(][^\n]*)?[ \t]*$", re.MULTILINE)
_FENCED = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+[ \t>]*)*(?:~~~|`{3,}[^`]*\Z)")
_NUMBERED = re.compile(r"\d{1,9}[.)][ \t]+\S")
_RULE_CELL = re.compile(r":?-+:?")


class _State(StateInline):
    closers: Closers

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """Like CommonMark, but a letter of a script without spaces beside a mark counts as a space.

        One asterisk between two Latin letters or digits is a sign of multiplication.
        """
        marker = self.src[start]
        end = start
        while end < self.posMax and self.src[end] == marker:
            end += 1
        before = self.src[start - 1] if start > 0 else " "
        after = self.src[end] if end < self.posMax else " "
        before_wide, after_wide = is_wide(before), is_wide(after)
        before_sign = not before_wide and _punctuation(before)
        after_sign = not after_wide and _punctuation(after)
        before_space, after_space = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
        left = not after_space and (not after_sign or before_space or before_sign or before_wide)
        right = not before_space and (not before_sign or after_space or after_sign or after_wide)
        if marker == "*" and end == start + 1 and _letter(before) and _letter(after):
            return Scanned(False, False, 1)  # 2*3*4
        opens = left and (canSplitWord or not right or before_sign)
        closes = right and (canSplitWord or not left or after_sign)
        return Scanned(opens, closes, end - start)


def _punctuation(sign: str) -> bool:
    return isMdAsciiPunct(ord(sign)) or isPunctChar(sign)


def _letter(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        state.level = DEEPEST - _DEEPEST_INLINE
        state.closers = Closers(src)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Anything else is no link and stays as it is written."""
        return scheme_of(url) in SCHEMES

    def normalizeLinkText(self, link: str) -> str:
        return link


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    position = state.bMarks[start] + state.tShift[start]
    line = state.src[position : state.eMarks[start]]
    mark = line[:1]
    if mark not in ("`", "~") or len(line) < 3:
        return False
    info = line.lstrip(mark)
    length = len(line) - len(info)
    if length < 3 or (mark == "`" and mark in info):
        return False
    if position + length - state.src.rfind("\n", 0, position) - 1 > LONGEST_FENCE:
        return False
    if silent:
        return True
    following = start
    closed = False
    while not closed:
        following += 1
        # A negative count: the line is outside the fence's quote.
        if following >= end or (state.sCount[following] < 0 and not state.isEmpty(following)):
            break
        text = state.src[state.bMarks[following] + state.tShift[following] : state.eMarks[following]].rstrip(" \t")
        closed = len(text) >= length and not text.strip(mark)
    state.line = following + (1 if closed else 0)
    token = state.push("fence", "code", 0)
    token.info = info
    # Without the last newline, as the last line of a text has none.
    token.content = state.getLines(start + 1, following, state.sCount[start], False) + "\n" * (following > start + 1)
    token.map = [start, state.line]
    return True


def _paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    following = start + 1
    rules = state.md.block.ruler.getRules("paragraph")
    end = state.lineMax
    parent = state.parentType
    state.parentType = "paragraph"
    while following < end and not state.isEmpty(following):
        if state.sCount[following] >= 0 and any(rule(state, following, end, True) for rule in rules):
            break
        following += 1
    state.line = following
    state.push("paragraph_open", "p", 1)
    _inline(state, mdTrim(state.getLines(start, following, state.blkIndent, False)), start, following)
    state.push("paragraph_close", "p", -1)
    state.parentType = parent
    return True


def _list(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    position = state.bMarks[start] + state.tShift[start]
    if not (silent and state.parentType == "paragraph" and _NUMBERED.match(state.src, position, state.eMarks[start])):
        return list_block(state, start, end, silent)
    state.parentType = "list"
    try:
        return list_block(state, start, end, silent)
    finally:
        state.parentType = "paragraph"


def _inline(state: StateBlock, content: str, start: int, end: int) -> None:
    token = state.push("inline", "", 0)
    token.content = content
    token.map = [start, end]
    token.children = []


def _heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if heading(state, start, end, silent):
        return True
    line = _line(state, start)
    if not (level := heading_level(line)):
        return False
    if not silent:
        state.line = start + 1
        state.push("heading_open", f"h{level}", 1)
        _inline(state, line[level:], start, state.line)
        state.push("heading_close", f"h{level}", -1)
    return True


def _line(state: StateBlock, line: int) -> str:
    return mdTrim(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])


def _cells(row: str, wanted: int = 0) -> list[str]:
    cells = escapedSplit(in_cells(row, wanted))
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return [mdTrim(cell) for cell in cells]


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if start + 2 > end or state.sCount[start + 1] < state.blkIndent:
        return False
    rule = _line(state, start + 1).replace("｜", "|")
    if rule[:1] not in ("|", "-", ":") or "-" not in rule:
        return False
    header = _line(state, start)
    if "|" not in header and "｜" not in header:
        return False
    if header.startswith(">") or _FENCED.match(header):
        return False  # a quote, or a fence, whatever stands behind it
    marks = [cell.strip() for cell in rule.removeprefix("|").removesuffix("|").split("|")]
    if not all(map(_RULE_CELL.fullmatch, marks)) or len(marks) != len(_cells(header, len(marks))):
        return False
    if silent:
        return True
    parent = state.parentType
    state.parentType = "table"
    rules = state.md.block.ruler.getRules("blockquote")
    table = state.push("table_open", "table", 1)
    table.meta["aligns"] = [
        "center" if mark[0] == mark[-1] == ":" else "right" if mark[-1] == ":" else "left" for mark in marks
    ]
    _row(state, _cells(header, len(marks)), start)
    following = start + 2
    while following < end and state.sCount[following] >= state.blkIndent:
        if any(rule(state, following, end, True) for rule in rules) or not (row := _line(state, following)):
            break
        _row(state, _cells(row, len(marks)), following)
        following += 1
    state.push("table_close", "table", -1)
    state.parentType = parent
    state.line = following
    return True


def _row(state: StateBlock, cells: Sequence[str], line: int) -> None:
    state.push("tr_open", "tr", 1)
    for cell in cells:
        _inline(state, cell, line, line + 1)
    state.push("tr_close", "tr", -1)


def _bare_link(state: StateInline, silent: bool) -> bool:
    if silent or state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    start = state.pos - (5 if state.src[max(0, state.pos - 5) : state.pos].lower() == "https" else 4)
    if start < 0 or (start and re.match(r"[A-Za-z0-9]", state.src[start - 1])):
        return False
    url = bare_url(state.src, start, state.posMax)
    scheme = state.src[start : state.pos]
    if not url or not state.pending.endswith(scheme):
        return False
    state.pending = state.pending[: -len(scheme)]
    _link(state, url, url)
    state.pos = start + len(url)
    return True


def _bare_mail(state: StateInline, silent: bool) -> bool:
    if silent or state.linkLevel or state.src[state.pos] != "@":
        return False
    mail = bare_mail(state.src[max(0, state.pos - MAIL_REACH) : state.pos], state.src, state.pos, state.posMax)
    local = mail.partition("@")[0]
    if not mail or not state.pending.endswith(local):
        return False
    state.pending = state.pending[: -len(local)]
    _link(state, f"mailto:{mail}", mail)
    state.pos += len(mail) - len(local)
    return True


def _angle_link(state: StateInline, silent: bool) -> bool:
    found = ANGLE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        _link(state, found[1] if scheme_of(found[1]) in SCHEMES else f"mailto:{found[1]}", found[1])
    state.pos = found.end()
    return True


def _link(state: StateInline, url: str, label: str) -> None:
    state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(url)}
    state.push("text", "", 0).content = label
    state.push("link_close", "a", -1)


def _spoiler(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("||", state.pos):
        return False
    start = state.pos + 2
    end = state.src.find("||", start, state.posMax)
    inner = state.src[start:end] if end > start else ""
    if not inner or inner != inner.strip() or "`" in inner or "\n\n" in inner:
        return False
    if not silent:
        limit = state.posMax
        state.push("spoiler_open", "", 1)
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.posMax = limit
        state.push("spoiler_close", "", -1)
    state.pos = end + 2
    return True


def _variant(state: StateInline, silent: bool) -> bool:
    assert isinstance(state, _State)
    return any(rule(state, silent, state.closers) for rule in RULES.get(state.src[state.pos], ()))


def _inlines(state: StateCore) -> None:
    """Read the words of each block, with what it stands in."""
    depth = 0
    for token in state.tokens:
        if token.type in ("tr_open", "tr_close", "list_item_open", "list_item_close"):
            depth += token.nesting
        elif token.type == "inline":
            state.env[BREAKS] = depth > 0
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


@cache
def make_parser() -> MarkdownIt:
    """Build the parser, once."""
    parser = _Parser("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.inline = _Inline()
    parser.configure("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.disable(["code", "lheading", "html_block", "html_inline", "reference"])
    parser.block.ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.block.ruler.at("paragraph", _paragraph)
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("heading", _heading, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.core.ruler.at("inline", _inlines)
    parser.inline.add_terminator_char("|")
    parser.inline.add_terminator_char(WIDE_MARK)
    parser.inline.add_terminator_char("@")
    parser.inline.ruler.at("autolink", _angle_link)
    parser.inline.ruler.before("escape", "bare_link", _bare_link)
    parser.inline.ruler.before("escape", "bare_mail", _bare_mail)
    parser.inline.ruler.before("escape", "spoiler", _spoiler)
    parser.inline.ruler.before("escape", "variant", _variant)
    return parser


def _without_code(text: str) -> str:
    """Return the lines outside fences."""
    if "```" not in text and "~~~" not in text:
        return text
    scanner = LineScanner()
    return "".join(line for line in text.splitlines(keepends=True) if scanner.feed(line) not in CODE_KINDS)


def references(text: str) -> tuple[tuple[str, str], ...]:
    """Return the link definitions in `text`, anywhere: (normalised name, address)."""
    if "]:" not in text:
        return ()
    found: dict[str, str] = {}
    text = _without_code(text)
    for definition in _DEFINITION.finditer(text):
        angle = ANGLE.match(text, definition.end())
        url = angle[1] if angle else mail_link(text, definition.end()) or bare_url(text, definition.end())
        if url and _TITLE.match(text, definition.end() + len(url) + 2 * bool(angle)):
            found.setdefault(normalizeReference(definition[1]), url)
    return tuple(found.items())
