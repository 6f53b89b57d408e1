"""Close what a half-written reply left open, so that a progress edit looks like the finished text.

Only the last lines matter: earlier parts cannot be open any more, except a fence, which ends by itself.
"""

from __future__ import annotations

import re
from collections import Counter

from bot.markdown.lines import BORDERS, Kind, LineScanner, columns
from bot.markdown.variants import is_power

_LONE = re.compile(r"[ \t>]*+(?:[-*+=_#~`|:]++|\d{1,9}[.)]|(?:[-*+]|\d{1,9}[.)])[ \t]++[*_~`#\[|]{0,3})?[ \t]*+")
"""A last line of only marks: a bullet, a rule, a heading or a fence, still undecided."""
_BEGINS = re.compile(r"[ \t]*(?:[#>\-+*=|]|\d)")
"""A line that may begin a new paragraph: open marks before it end there for certain."""
_RULE_PART = re.compile(r"[ \t>]*+[|｜:\- \t]*+")
_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<code>`+)|(?P<link>!?\[)|(?P<end>\](?P<url>\([^()\s]*(?:\([^()\s]*\))?[^()\s]*)?)"
    r"|(?P<mark>\*{1,3}|_{1,3}|~~|\|\||＊＊)",
    re.DOTALL,
)
_LONGEST_WORD = 2_100
_TAIL = re.compile(r"(?:(?<!\*)\*+|(?<!＊)＊+|(?<!_)_+|(?<!~)~+|(?<!`)`+|\||!?\[|\\|<[^<>\s]*|&\#?\w*)\Z")


def close_open(text: str) -> str:
    """Close what the end of an unfinished Markdown text left open.

    Inline code, bold, italic, strike and spoiler are closed; a link shows its label until its address is complete; a
    table shows as a table from its header on; undecided marks at the very end are held back.
    """
    start = 0
    scanner = LineScanner()
    kind = Kind.BLANK
    block = 0
    previous = ""
    line = ""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        previous, line = line, text[start:end]
        fence = scanner.fence
        before = kind
        kind = scanner.feed(line, start)
        if kind is not Kind.TEXT or before is not Kind.TEXT or _BEGINS.match(line):
            block = start
        if end == len(text):
            break
        start = end
    if fence_open := scanner.fence:
        if kind is Kind.FENCE_OPEN and not line.endswith("\n"):
            return text[:start]  # the language may still be growing
        tail = line.strip(" \t>")
        if kind is Kind.CODE and tail and not tail.strip(fence_open.mark[0]) and not line.endswith("\n"):
            return text[:start]  # the fence's end, half written
        return text
    if not line or line.endswith("\n") or (fence and kind is Kind.FENCE_CLOSE):
        return _table_begun(text, start, line) if line.endswith("\n") and kind is Kind.TEXT else text
    if kind is Kind.TEXT and _RULE_PART.fullmatch(line) and _bordered(previous):
        return text[:start] + _rule_for(previous)
    if _LONE.fullmatch(line):
        return text[:start]
    if kind is Kind.TEXT and _bordered(line) and not _bordered(previous):
        cut = start + _last_border(line) + 1
        return _table_begun(text[:cut] + _inline(text[cut:]), block, text[block:])
    if kind is Kind.TABLE_ROW:
        cut = _last_border(line) + 1
        return text[: start + cut] + _inline(line[cut:])
    return text[:block] + _inline(text[block:])


def _bordered(line: str) -> bool:
    line = line.strip(" \t>\r\n")
    return line[:1] in BORDERS and line[1:2] not in ("", *BORDERS)


def _last_border(line: str) -> int:
    return max(map(line.rfind, BORDERS))


def _table_begun(text: str, start: int, line: str) -> str:
    """Make a header row a table before its row of dashes has come."""
    if not _bordered(line) or (start and _bordered(text[:start].rstrip("\n").rpartition("\n")[2])):
        return text
    return text.rstrip("\n") + "\n" + _rule_for(text[start:])


def _rule_for(header: str) -> str:
    lead = header[: len(header) - len(header.lstrip(" \t>"))]
    header = header.strip(" \t>\r\n")
    return lead + "|" + "---|" * columns(header.replace("｜", "|") if header[0] == "｜" else header)


def _inline(text: str) -> str:
    """Close the marks that one paragraph leaves open."""
    tail = _TAIL.search(text)
    if tail is not None and not _closes(text, tail.start(), tail.group()):
        text = text[: tail.start()]
    shown: list[str] = []
    marks: list[str] = []
    """The open marks, and in `counts` their numbers."""
    counts: Counter[str] = Counter()
    labels: list[int] = []
    position = 0
    closing = 0
    """The last bracket that closed an address; -1 once there are no more."""
    while (found := _TOKEN.search(text, position)) is not None:
        shown.append(text[position : found.start()])
        position = found.end()
        sign = found.group()
        if found["code"]:
            end = re.compile(rf"(?<!`){sign}(?!`)").search(text, position)
            if end is None:
                rest = text[position:]
                if rest.strip("` \n"):
                    # Code that ends there may be code after all, if what seems open is not: it stays whole.
                    shown.append(sign + rest + (" " if rest.endswith("`") else "") + sign)
                position = len(text)
                break
            shown.append(text[found.start() : end.end()])
            position = end.end()
        elif found["link"]:
            labels.append(len(shown))
            shown.append(sign)
        elif found["end"]:
            at = labels.pop() if labels else -1
            if found["url"] and closing >= 0:
                closing = text.find(")", position)
                position = closing + 1 or position
            if at >= 0 and found["url"] and closing < 0 and position == len(text):
                _unlabel(shown, at)  # the address is not complete: the label alone
            else:
                shown.append(text[found.start() : position])
        elif found["mark"]:
            _mark(text, found.start(), position, marks, counts)
            shown.append(sign)
        else:
            shown.append(sign)
    shown.append(text[position:])
    if labels and len(text) - sum(map(len, shown[: labels[-1]])) < 200:
        _unlabel(shown, labels[-1])
    result = "".join(shown)
    if not marks:
        return result
    body = result.rstrip()
    # A mark is closed only beside a word: `**` after a space would be visible.
    return body + "".join(reversed(marks)) + result[len(body) :]


def _unlabel(shown: list[str], at: int) -> None:
    """Remove a bracket, unless it separates two runs of backticks, or an address and a word."""
    before, after = "".join(shown[:at]), "".join(shown[at + 1 :])
    if not before or before[-1].isspace():
        shown[at] = ""
        return
    word = before[-_LONGEST_WORD:].split()[-1] + " " + (after[:_LONGEST_WORD].split(maxsplit=1) or [""])[0]
    if not (before.endswith("`") or any(sign in word for sign in (":", "@", "www."))):
        shown[at] = ""


def _mark(text: str, start: int, end: int, marks: list[str], counts: Counter[str]) -> None:
    """Open or close what the mark `text[start:end]` means, or neither."""
    sign, before, after = text[start:end], text[start - 1 : start], text[end : end + 1]
    closes = bool(before) and not before.isspace()
    opens = bool(after) and not after.isspace()
    if sign in ("_", "*", "__") and before.isalnum() and after.isalnum() and (before + after).isascii():
        closes = opens = False
    if sign == "**" and not counts[sign] and is_power(text, start):
        closes = opens = False
    if closes and counts[sign]:
        while True:
            last = marks.pop()
            counts[last] -= 1
            if last == sign:
                break
    elif opens:
        marks.append(sign)
        counts[sign] += 1


def _closes(text: str, start: int, sign: str) -> bool:
    """Return True if the marks at the end close something open before them."""
    if sign[0] not in "*_~`|＊" or not text[:start].strip():
        return False
    if sign == "`" * len(sign):
        runs = [run for run in re.findall("`+", text[:start]) if run == sign]
        return len(runs) % 2 == 1
    before = text[start - 1]
    opened = len(re.findall(rf"(?<!{re.escape(sign[0])}){re.escape(sign)}(?!{re.escape(sign[0])})", text[:start]))
    return not before.isspace() and opened % 2 == 1 and sign not in ("~", "|")
