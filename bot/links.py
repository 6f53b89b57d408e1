"""Which links may be links: only addresses that the person or a tool brought, and never a label that deceives.

`LinkFilter` applies the rules to Markdown while it streams, before it is cut into pages, so that every platform and
every stored page gets the same, and the renderers stay simple.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from bot.lines import Kind, LineScanner

SCHEMES = ("http", "https", "mailto")


@dataclass(frozen=True, slots=True)
class Link:
    """It may be a link, with this label."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Code:
    """It is no link: the label as text, if it says more than the address, and the address as code."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Text:
    """It is only text."""

    text: str


_ASCII = r"[A-Za-z0-9\-._~:/?#@!$&'()*+,;=%{}]"
_BEYOND = r"[^\x00-\x7f\s\u3000-\u303f\uff00-\uff65\u2010-\u2027]"
BARE_URL = re.compile(rf"(?:https?://|www\.(?=[A-Za-z0-9]))(?:{_ASCII}|(?<=[/=_%\-]){_BEYOND}+)+", re.IGNORECASE)
"""A web address in running text. Letters beyond ASCII belong to it only at the begin of a part of its path, because
Chinese puts no space after an address."""
_EMAIL = re.compile(r"[\w.+\-]{1,64}@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+")
_HOST = re.compile(r"(?<![\w@.\-])(?:[\w\-]{1,63}\.)+[^\W\d_]{2,24}(?![\w\-])")


def trim_url(url: str) -> str:
    """Take off the punctuation of the sentence around a bare address."""
    while url:
        if url[-1] not in ".,;:!?'*_~{}$&" and (url[-1] != ")" or url.count(")") <= url.count("(")):
            break
        url = url[:-1]
    return url


def scheme_of(url: str) -> str:
    """The scheme in small letters; empty when there is none."""
    head, colon, _ = url.strip().partition(":")
    return head.lower() if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]*", head) else ""


def host_of(url: str) -> str:
    """The host (of an e-mail address: its domain) in small letters; empty when there is none."""
    if scheme_of(url) == "mailto":
        return url.rpartition("@")[2].partition("?")[0].lower()
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def hides_host(label: str, url: str) -> bool:
    """Tell whether the label names a host that is not where the link leads."""
    host = host_of(url)
    named = [found.lower() for found in _HOST.findall(label)]
    return bool(named) and not any(host == name or host.endswith("." + name) for name in named)


def _key(url: str) -> str:
    """What two spellings of one address have in common."""
    url = html.unescape(url.strip())
    if url.lower().startswith("www."):
        url = "http://" + url
    if scheme_of(url) == "mailto":
        return "mailto:" + unquote(url[7:].partition("?")[0]).lower()
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url
    host = (parts.hostname or "").lower().rstrip(".")
    try:
        host = host.encode("idna").decode("ascii")
    except UnicodeError:
        pass
    account = f"{parts.username}@" if parts.username else ""
    query = f"?{unquote(parts.query)}" if parts.query else ""
    return f"{account}{host}{port}{unquote(parts.path).rstrip('/')}{query}"


class LinkPolicy:
    """The addresses of one turn that may be links: those in the person's message and in the tools' results."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = {_key(url) for url in known}

    def learn(self, text: str) -> None:
        """Allow every address in `text`."""
        for found in BARE_URL.finditer(text):
            url = found.group()
            self._known.add(_key(url))
            self._known.add(_key(trim_url(url)))
        for found in _EMAIL.finditer(text):
            self._known.add(_key("mailto:" + found.group()))

    def allows(self, url: str) -> bool:
        """Tell whether `url` may be a link."""
        if url.lower().startswith("www."):
            url = "http://" + url
        return scheme_of(url) in SCHEMES and _key(url) in self._known

    def shown(self, label: str, url: str, *, image: bool = False) -> Link | Code | Text:
        """Decide how a link (or an image) is shown."""
        if not url:
            return Text(label)
        if image or not self.allows(url):
            return Code("" if label.strip() in (url, re.sub(r"^\w+:(//)?", "", url)) else label, url)
        if hides_host(label, url):
            return Link(f"{label} ({host_of(url)})", url)
        return Link(label, url)


def code_span(text: str, taken: Collection[int] = ()) -> str:
    """Write an address as inline code, between runs of backticks that are in none of the lengths `taken`."""
    text = " ".join(text.split("\n")).replace("|", "%7C").replace("`", "%60")
    marks = "`" * next(size for size in count(1) if size not in taken)
    return f"{marks}{text}{marks}"


_Found: TypeAlias = tuple[str, int]
"""What to write instead, and where to go on."""

_LABEL_HELD = 600
_URL_HELD = 2_100
_CODE_HELD = 400
_PIECE = 1_000
"""Characters of an address that stand in one piece of code."""

_MARKER_PART = re.compile(r"[-*+]|\d{1,9}[.)]?")
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_SPECIAL = re.compile(r"[`\[!<\\\n]|\](?:\(|\Z)|https?://|www\.[A-Za-z0-9]|mailto:", re.IGNORECASE)
_NEW_BLOCK = re.compile(r"\n(?=[ \t]*(?:[#>\-+*=|]|```|~~~|\d|\n|\Z))")
"""Where a paragraph may end, and inline code with it."""
_OPENS, _CLOSES = "\ue010", "\ue011"
"""Stand for a moment at the ends of code that is written for an address."""
_BORDERS = re.compile(f"[{_OPENS}{_CLOSES}]")
_TOO_NEAR = re.compile(rf"(?<=[`\\]){_OPENS}|{_CLOSES}(?=[`{_OPENS}])")
_ADDRESS_IN = re.compile(r"://|www\.|mailto:|\]\(|\]:", re.IGNORECASE)
_PARTIAL = re.compile(
    r"(?:h|ht|htt|https?|https?:|https?:/|(?<![A-Za-z0-9_])(?:w|ww|www\.?|m|ma|mai|mail|mailt|mailto))\Z", re.IGNORECASE
)
_WORD_BEFORE = re.compile(r"[A-Za-z0-9_]\Z")
_LABEL = re.compile(r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*\](?:\([^()\s]*\))?)*+", re.DOTALL)
_TARGET = re.compile(
    r"""\(\s*(?:<(?P<angle>[^<>\n]*)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"""
    r"""(?P<title>\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""",
    re.DOTALL,
)
_INNER_PART = re.compile(r"(?:\[(?:[^\[\]\\]|\\.)*)?\\?\Z", re.DOTALL)
_TARGET_PART = re.compile(
    r"""\(\s*(?:<[^<>\n]*>?|(?:[^\s()\\]|\\.?|\((?:[^\s()\\]|\\.)*\)?)*)(?:\s+(?:["'(][^"'()]*["')]?\s*)?)?""",
    re.DOTALL,
)
_ANGLE = re.compile(r"<((?:https?://|mailto:)[^\s<>]*|[\w.+\-]{1,64}@[A-Za-z0-9.\-]+)>", re.IGNORECASE)
_ANGLE_PART = re.compile(r"<(?:[A-Za-z][\w.+\-]*(?:[:@][^\s<>]*)?)?\Z")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
_MAIL_LINK = re.compile(r"mailto:[\w.+\-%]+@[A-Za-z0-9.\-]+(?:\?[\w=&%+.\-]*)?", re.IGNORECASE)


class LinkFilter:
    """Applies a `LinkPolicy` to Markdown while it streams; code and every other character pass unchanged.

    A link, image or address is held back until it is complete, and only that; what never completes is text.
    """

    def __init__(self, policy: LinkPolicy) -> None:
        self._policy = policy
        self._scanner = LineScanner()
        self._last = ""
        self._closed = False
        self._ticks: set[int] = set()
        """Lengths of the runs of backticks in this paragraph that begin no code."""
        self._held = ""
        self._line_start = True
        self._raw = False
        """In the middle of a line of code."""
        self._word = False
        """The last character given out belongs to a word, so that no address begins after it."""

    def feed(self, text: str) -> str:
        """Take more Markdown; return what may be shown now."""
        return self._apart(self._run(self._held + _BORDERS.sub("", text), final=False))

    def finish(self) -> str:
        """Return what was held back: the text ends here."""
        return self._apart(self._run(self._held, final=True))

    def _span(self, url: str) -> str:
        """An address as code, with a mark at each end."""
        # In pieces that no page cuts: the beginning of an address without its end would be no code.
        pieces = [url[at : at + _PIECE] for at in range(0, len(url), _PIECE)]
        return " ".join(f"{_OPENS}{code_span(piece, self._ticks)}{_CLOSES}" for piece in pieces)

    def _apart(self, text: str) -> str:
        """Keep code of ours apart from backticks and backslashes beside it."""
        if not text:
            return ""
        before = self._last
        text = before + (_CLOSES if self._closed else "") + text
        self._closed = text.endswith(_CLOSES)
        text = _BORDERS.sub("", _TOO_NEAR.sub(" ", text))
        self._last = text[-1]
        return text[len(before) :]

    def _run(self, text: str, *, final: bool) -> str:
        shown: list[str] = []
        position = 0
        while position < len(text):
            if self._raw:
                end = text.find("\n", position) + 1
                self._raw = not end
                self._line_start = bool(end)
                end = end or len(text)
                shown.append(text[position:end])
                position = end
                continue
            if self._line_start:
                taken = self._begin_line(text, position, final)
                if taken is None:
                    break
                if taken > position:
                    shown.append(text[position:taken])
                    position = taken
                    self._word = False
                    continue
            position, waits = self._inline(text, position, final, shown)
            if waits:
                break
        for part in reversed(shown):
            if part:
                self._word = _WORD_BEFORE.search(part) is not None
                break
        self._held = text[position:]
        return "".join(shown)

    def _begin_line(self, text: str, position: int, final: bool) -> int | None:
        """Take what belongs to a fence from the begin of a line; None when more is needed to know."""
        newline = text.find("\n", position) + 1
        line = text[position : newline or len(text)]
        complete = bool(newline) or final
        fence = self._scanner.fence
        if fence is not None:
            if not complete and not line.strip(" \t>" + fence.mark[0]):
                return None
            kind = self._scanner.feed(line)
            if kind in (Kind.CODE, Kind.CODE_BLANK, Kind.FENCE_CLOSE, Kind.FENCE_OPEN):
                self._raw = not newline
                self._line_start = bool(newline)
                return position + len(line)
            self._line_start = False
            return position
        if newline and not line.strip(" \t>\n"):
            self._ticks.clear()  # a paragraph ends
        lead = _LEAD.match(line)
        assert lead is not None
        rest = line[lead.end() :]
        if not complete:
            mark = rest[:3]
            if not mark or _MARKER_PART.fullmatch(rest) or (mark[0] in "`~" and mark == mark[0] * len(mark)):
                return None
        if rest[:3] in ("```", "~~~") and self._scanner.feed(line) is Kind.FENCE_OPEN:
            self._line_start = bool(newline)
            return position + len(line)
        self._line_start = False
        return position

    def _inline(self, text: str, position: int, final: bool, shown: list[str]) -> tuple[int, bool]:
        """Pass text up to and with the next special thing; the second value says that this is not complete yet."""
        found = _SPECIAL.search(text, position)
        if found is None:
            partial = None if final else _PARTIAL.search(text, max(position, len(text) - 7))
            if partial is not None and self._word and not partial.start() and text[0] not in "hH":
                partial = None
            end = partial.start() if partial is not None else len(text)
            shown.append(text[position:end])
            return end, partial is not None
        start = found.start()
        if start > position:
            shown.append(text[position:start])
        match text[start]:
            case "\n":
                self._line_start = True
                result: _Found | None = ("\n", start + 1)
            case "\\":
                # A backslash before a line's end stays out of it: the next line begins as any other.
                whole = final or start + 1 < len(text)
                # Before a letter it is only itself, and an address may begin there.
                step = 1 if re.match(r"[\n\w]", text[start + 1 : start + 2]) else 2
                result = (text[start : start + step], start + step) if whole else None
            case "]":
                # What is no link for us is to be none for any other reader of Markdown.
                whole = final or start + 1 < len(text)
                result = (text[start : start + 2].replace("](", "]\\("), start + 2) if whole else None
            case "`":
                result = self._code(text, start, final)
            case "[" | "!":
                result = self._bracket(text, start, final)
            case "<":
                result = self._angle(text, start, final)
            case _:
                before = text[start - 1 : start] or ("a" if self._word else "")
                result = self._bare(text, start, final, before)
        if result is None:
            return start, True
        shown.append(result[0])
        return min(result[1], len(text)), False

    def _code(self, text: str, start: int, final: bool) -> _Found | None:
        """Inline code passes unchanged, whatever stands in it.

        What another reader might not take for code (at the begin of a block, or over the cells of a table) is none.
        Backticks that begin none are remembered: code that is written after them must not end at them.
        """
        run = len(text) - start - len(text[start:].lstrip("`"))
        end = start + run
        if end == len(text) and not final:
            return None
        limit = min(len(text), start + _CODE_HELD)
        block = _NEW_BLOCK.search(text, end, limit)
        if block is not None and block.end() == len(text) and not final:
            return None  # the next line's first sign is not known
        stop = block.start() if block else limit
        for closing in re.finditer("`+", text[end:stop]):
            if len(closing.group()) == run:
                after = end + closing.end()
                if after == len(text) and not final:
                    return None  # the run may go on
                inner = text[end : end + closing.start()]
                doubtful = "|" in inner or "\n" in inner
                doubtful = doubtful or run in self._ticks
                if doubtful and _ADDRESS_IN.search(inner):
                    break
                if doubtful:
                    self._ticks.update(range(1, run + 1))
                return text[start:after], after
        else:
            if not final and block is None and limit - start < _CODE_HELD:
                return None
        self._ticks.add(run)
        return text[start:end], end

    def _bracket(self, text: str, start: int, final: bool) -> _Found | None:
        """A link or an image; a bracket that is neither is text."""
        image = text[start] == "!"
        opened = start + image
        literal = (text[start : opened + (not image)], opened + (not image))
        if opened == len(text):
            return literal if final else None
        if text[opened] != "[":
            return literal
        waits = not final and len(text) - start < _URL_HELD
        label = _LABEL.match(text, opened + 1, opened + 1 + _LABEL_HELD)
        assert label is not None
        blank = _BLANK_LINE.search(text, opened, label.end())
        closed = label.end()
        if waits and blank is None and _INNER_PART.match(text, closed):
            return None
        if blank is not None or (closed < len(text) and text[closed] != "]"):
            return ("![" if image else "["), opened + 1
        if closed == len(text):
            return None if waits else (("![" if image else "["), opened + 1)
        if closed + 1 == len(text) and waits:
            return None
        if text[closed + 1 : closed + 2] != "(":
            return ("![" if image else "["), opened + 1
        target = _TARGET.match(text, closed + 1)
        if target is None:
            end = _BLANK_LINE.search(text, closed + 1)
            open_still = end is None and _TARGET_PART.fullmatch(text, closed + 1) is not None
            return None if waits and open_still else (("![" if image else "["), opened + 1)
        raw = target["angle"] if target["angle"] is not None else target["plain"]
        url = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", raw or "")).strip()
        words = label.group()
        if "[" in words or "<" in words:
            words = self._inside(words)
        match self._policy.shown(words, url, image=image):
            case Link(shown, _):
                return f"[{shown}]{target.group()}", target.end()
            case Code("", url):
                return self._span(url), target.end()
            case Code(shown, url):
                return f"{self._inside(shown)} ({self._span(url)})", target.end()
            case Text(shown):
                return self._inside(shown), target.end()

    def _inside(self, label: str) -> str:
        """A label as text of its own."""
        inner = LinkFilter(self._policy)
        inner._line_start = False
        inner._ticks = self._ticks
        return inner._run(label, final=True)

    def _angle(self, text: str, start: int, final: bool) -> _Found | None:
        """An address in angle brackets; other HTML is text, and the addresses in it are bare ones."""
        found = _ANGLE.match(text, start)
        if found is None:
            if not final and len(text) - start < _URL_HELD and _ANGLE_PART.match(text, start):
                return None
            return "<", start + 1
        url = found.group(1)
        known = self._policy.allows(url if scheme_of(url) in SCHEMES else f"mailto:{url}")
        return (found.group() if known else self._span(url)), found.end()

    def _bare(self, text: str, start: int, final: bool, before: str) -> _Found | None:
        """An address in running text."""
        mail = text[start] in "mM"
        if _WORD_BEFORE.search(before) and text[start] not in "hH":
            return text[start], start + 1
        found = (_MAIL_LINK if mail else BARE_URL).match(text, start)
        end = len(text) if found is None else found.end()
        if end == len(text) and not final and len(text) - start < _URL_HELD:
            return None
        if found is None:
            return text[start], start + 1
        url = trim_url(found.group())
        if len(url) < 9 and not mail and not url.lower().startswith("www."):
            return text[start], start + 1
        end = start + len(url)
        known = self._policy.allows(url) and not _WORD_BEFORE.search(before)
        return (url if known else self._span(url)), end
