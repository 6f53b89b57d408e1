"""Inline marks that models write and CommonMark does not know: full-width and spaced ones, tags of HTML, formulas.

A Chinese-tuned model's substitute for a mark is read as that mark; a tag is shown as its meaning, if words can show it;
the characters of a formula stay as they are. Code is never examined.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

WIDE_MARK = "＊"
BREAKS = "breaks"
"""In a parser's `env`: the text is in a table or a list, where `<br>` breaks a line."""

_POWER = re.compile(
    r"(?<=[A-Za-z0-9_)\]])\*\*(?=-?\d)|(?:(?<=[0-9)\]])|(?<=(?<![A-Za-z0-9_])[A-Za-z]))\*\*(?=[a-z](?![A-Za-z*]))"
)
"""The operator of a power, `a**2`: bold begins neither after a letter nor before such a number."""
_NAMES = re.compile(
    r"__(?:init|new|del|main|name|file|doc|all|dict|class|slots|module|qualname|version|author|future|builtins|import"
    r"|package|path|spec|annotations|repr|str|bytes|format|hash|bool|call|len|iter|next|contains|reversed|index"
    r"|[gs]et(?:item|attr|state)?|del(?:item|attr|ete)|getattribute|enter|exit|a(?:enter|exit|iter|next|wait)"
    r"|eq|ne|lt|le|gt|ge|i?(?:add|sub|mul|(?:true|floor)?div|mod|pow|and|or|xor|[lr]shift|matmul)|neg|pos|abs|invert"
    r"|int|float|complex|round|copy|deepcopy|reduce(?:_ex)?|sizeof|init_subclass|post_init|pycache|proto|typename"
    r"|tests?|mocks?|dirname|filename|FILE|LINE|func|FUNCTION|VA_ARGS)__(?![A-Za-z0-9_])"
)
"""Names of programming languages, which no mark surrounds."""
_MARK_RUN = re.compile(r"(?<![*＊\\])(?:\*\*|＊＊)(?![*＊])")
_TAG = re.compile(
    r"<(/?)(br|kbd|code|tt|samp|su[bp]|details|summary|b|strong|i|em|s|del|u|ins|mark|small|big|center"
    r"|(?:font|span|p|div|a)(?=\s))"
    r"(?:\s([^<>\n]{0,200}))?/?>",
    re.IGNORECASE,
)
"""Without attributes the last five are rather words about HTML."""
_STYLES = {"summary": "strong", "b": "strong", "strong": "strong", "i": "em", "em": "em", "s": "s", "del": "s"}
_CODE = frozenset({"kbd", "code", "tt", "samp"})
_PLAIN = frozenset({"u", "ins", "mark", "small", "big", "center", "font", "span", "p", "div"})
"""Tags of a look that no chat has, around text."""
_ADDRESS = re.compile(r"""href\s?=\s?["']?(`*)([^\s"'<>`]+)""", re.IGNORECASE)
_LIVE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LONGEST_SHOWN = 60
"""Characters of a key or code, and of raised or lowered text, with the tag after it."""
_LONGEST = 2_000
"""Characters of a formula, and of text that a tag makes bold, with its closer."""
_RAISED = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_SHORT_FORMULA = re.compile(r"\$(?=[^\s$])([^$\n]{0,300}[^\s$\\])\$(?!\d)")
_TEX = re.compile(r"[\\^_{}]")
_FORMULAS = {
    r"\(": (r"\)", re.compile(r"[^\\^_{}=+<>]*[\\^_{}=+<>](?s:.*)|\s*\S{1,3}\s*")),
    r"\[": (r"\]", re.compile(r"[^\\^_{}=+<>]*[\\^_{}=+<>](?s:.*)|\s(?s:.*)")),
    "$$": ("$$", re.compile(r"(?s:.+)")),
}
"""The end of a formula for each beginning, and its content: escaped brackets contain only words."""


def is_wide(sign: str) -> bool:
    """Return True for a letter or character of a script without spaces between words."""
    return sign >= "\u1100" and unicodedata.east_asian_width(sign) in "WF"


class Closers:
    """Finds closers in time that grows only with the text, however much is open."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._missing: set[tuple[str, int]] = set()
        self._pairs: dict[int, int] | None = None
        self._powers: set[int] | None = None

    def find(self, closer: str, start: int, end: int) -> int:
        """Return where the next one stands before `end`; -1 for nowhere."""
        if (closer, end) in self._missing:
            return -1
        found = self._text.find(closer, start, end)
        if found < 0:
            self._missing.add((closer, end))
        return found

    def pair(self, start: int) -> int:
        """Return the second mark of the pair of two asterisks that begins here; -1 if the line has no such pairs."""
        if self._pairs is None:
            self._pairs = {}
            first = 0
            for line in self._text.split("\n"):
                runs = [first + found.start() for found in _MARK_RUN.finditer(line)]
                if len(runs) % 2 == 0:
                    self._pairs.update(zip(runs[::2], runs[1::2], strict=True))
                first += len(line) + 1
        return self._pairs.get(start, -1)

    def is_power(self, start: int) -> bool:
        """Return True if the two asterisks that begin here are an operator: no bold of their line is open before."""
        if self._powers is None:
            self._powers = set()
            first = 0
            for line in self._text.split("\n"):
                opened = False
                for found in _MARK_RUN.finditer(line):
                    if not opened and is_power(line, found.start()):
                        self._powers.add(first + found.start())
                    else:
                        opened = not opened
                first += len(line) + 1
        return start in self._powers


def is_power(text: str, at: int) -> bool:
    """Return True if the two asterisks at a position look like the operator of a power."""
    return _POWER.match(text, at) is not None


def power(state: StateInline, silent: bool, closers: Closers) -> bool:
    """Read the operator of a power, as in `a**2 + b**2`, as text."""
    if not closers.is_power(state.pos):
        return False
    if not silent:
        state.push("text", "", 0).content = "**"
    state.pos += 2
    return True


def name(state: StateInline, silent: bool, closers: Closers) -> bool:
    """Read a name such as `__init__` as text."""
    found = _NAMES.match(state.src, state.pos, state.posMax)
    if found is None or (state.pos and (state.src[state.pos - 1].isalnum() or state.src[state.pos - 1] == "_")):
        return False
    if not silent:
        state.push("text", "", 0).content = found.group()
    state.pos = found.end()
    return True


def wide_emphasis(state: StateInline, silent: bool, closers: Closers) -> bool:
    """Read two and more full-width asterisks as that many narrow ones; a single one is a character of its own."""
    if silent or not state.src.startswith(WIDE_MARK * 2, state.pos):
        return False
    scanned = state.scanDelims(state.pos, True)
    for _ in range(scanned.length):
        state.push("text", "", 0).content = WIDE_MARK
        place = len(state.tokens) - 1
        state.delimiters.append(
            Delimiter(ord("*"), scanned.length, place, -1, open=scanned.can_open, close=scanned.can_close)
        )
    state.pos += scanned.length
    return True


def spaced_strong(state: StateInline, silent: bool, closers: Closers) -> bool:
    """Read `** 粗体 **` as bold if the asterisks of the line come in pairs; between Latin words they are characters."""
    start = state.pos + 2
    end = closers.pair(state.pos)
    if end < start or end + 2 > state.posMax:
        return False
    inner = state.src[start:end]
    words = inner.strip()
    if words == inner or not words or "`" in words or not (is_wide(words[0]) or is_wide(words[-1])):
        return False
    if not silent:
        _around(state, "strong", start + inner.index(words), end)
    state.pos = end + 2
    return True


def tag(state: StateInline, silent: bool, closers: Closers) -> bool:
    """Read a tag as its meaning; one without a meaning in a chat, or without an end, stays as it is written."""
    found = _TAG.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    name = found[2].lower()
    if name == "br":
        return _break(state, found.end(), silent)
    if name == "details":
        state.pos = found.end()
        return True
    around = name in _STYLES or name in _PLAIN or name == "a"
    reach = min(state.posMax, found.end() + (_LONGEST if around else _LONGEST_SHOWN))
    end = -1 if found[1] else closers.find(f"</{found[2]}>", found.end(), reach)
    inner = state.src[found.end() : end] if end > found.end() else ""
    if not inner.strip() or "`" in inner:  # code that ends behind it would be none
        return False
    if around:
        if not silent:
            _show_around(state, name, found[3] or "", found.end(), end)
    elif (shown := _shown(name, inner)) is None:
        return False
    elif not silent:
        state.push("code_inline" if name in _CODE else "text", "", 0).content = shown
    state.pos = end + len(found[2]) + 3
    return True


def _break(state: StateInline, end: int, silent: bool) -> bool:
    """Outside of lists and tables a tag after a space may be a word of the sentence."""
    at_end = end >= state.posMax or state.src[end] == "\n"
    if not (state.env.get(BREAKS) or at_end or (state.pos and not state.src[state.pos - 1].isspace())):
        return False
    if not silent and not at_end:
        state.push("hardbreak", "br", 0)
    state.pos = end
    while state.pos < state.posMax and state.src[state.pos] in " \t":
        state.pos += 1
    return True


def _shown(name: str, inner: str) -> str | None:
    if name in _CODE:
        return inner.strip()
    shown = inner.translate(_RAISED if name == "sup" else _LOWERED)
    return None if any(one == other and not one.isspace() for one, other in zip(inner, shown, strict=True)) else shown


def formula(state: StateInline, silent: bool, closers: Closers) -> bool:
    r"""Leave a formula as it is written: `\(a\,b\)`, `\[ … \\ … \]`, `$$ … $$` and `$x_1$`."""
    src, start = state.src, state.pos
    opener = src[start : start + 2]
    if opener in _FORMULAS:
        closer, inside = _FORMULAS[opener]
        end = closers.find(closer, start + 2, min(state.posMax, start + _LONGEST))
        end = end + 2 if end > 0 and inside.fullmatch(src, start + 2, end) else -1
    else:
        found = _SHORT_FORMULA.match(src, start, state.posMax)
        end = found.end() if found and _TEX.search(found[1]) else -1
    if end < 0 or "`" in src[start:end]:
        return False
    if not silent:
        state.push("text", "", 0).content = src[start:end]
    state.pos = end
    return True


def _show_around(state: StateInline, name: str, attributes: str, start: int, end: int) -> None:
    address = _ADDRESS.search(attributes) if name == "a" else None
    live = address is not None and not address[1] and _LIVE.match(address[2])
    _around(state, _STYLES.get(name, ""), start, end, address[2] if address is not None and live else "")
    if address is not None and not live:
        # An address that may not be a link is written as code before the text is parsed.
        state.push("text", "", 0).content = " ("
        state.push("code_inline", "", 0).content = address[2]
        state.push("text", "", 0).content = ")"


def _around(state: StateInline, style: str, start: int, end: int, url: str = "") -> None:
    """Read a part of the text inside a style, or as the label of a link."""
    limit, kind, name = state.posMax, "link" if url else style, "a" if url else style
    if kind:
        opened = state.push(f"{kind}_open", name, 1)
        opened.attrs = {"href": url} if url else {}
    state.pos, state.posMax = start, end
    state.md.inline.tokenize(state)
    state.posMax = limit
    if (last := state.tokens[-1]).type == "text":
        last.content = last.content.rstrip(" ")
    if kind:
        state.push(f"{kind}_close", name, -1)


RULES: Mapping[str, tuple[Callable[[StateInline, bool, Closers], bool], ...]] = {
    WIDE_MARK: (spaced_strong, wide_emphasis),
    "*": (power, spaced_strong),
    "_": (name,),
    "<": (tag,),
    "\\": (formula,),
    "$": (formula,),
}
"""The rules for what a character may begin."""
