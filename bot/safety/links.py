"""Filter links in streaming Markdown: allowed ones stay, all others become text or code.

`LinkFilter` applies `linkpolicy` before the text is cut into pages, so that every platform and every stored page
gets the same, and the renderers stay simple. Where another reader of Markdown might see something else than this
filter does, it takes the careful reading: code in doubt is no code, and what is written for an address stands apart.
"""

from __future__ import annotations

import html
import re
from typing import TypeAlias

from bot.markdown import (
    ANGLE,
    BARE_URL,
    CODE_KINDS,
    MAIL_LINK,
    MAIL_REACH,
    SCHEMES,
    Kind,
    LineScanner,
    bare_mail,
    bare_url,
    mail_link,
    scheme_of,
)
from bot.safety.linkpolicy import Code, Link, LinkPolicy
from bot.safety.spans import half_open, is_marked_words, last_marker, mark_code, mark_words, separate, without_markers

__all__ = ["LinkFilter", "LinkPolicy"]


_Found: TypeAlias = tuple[str, int]
"""The replacement, and the position after what it replaces."""

_LABEL_HELD = 300
_URL_HELD = 2_100
_INFO = re.compile(r"[ \t]*([\w+#.-]{0,30})[ \t]*(\n|\Z)")
_CODE_HELD = 400
_MAIL_HELD = 255

_MARKER_PART = re.compile(r"[-*+]|\d{1,9}[.)]?")
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*)*")
_FENCE_BEGUN = frozenset(mark * size for mark in "`~" for size in (1, 2, 3))
_NEWLINE = re.compile(r"\n")
_BESIDE = {"`": re.compile(r"[^ \t>`]"), "~": re.compile(r"[^ \t>~]")}
"""Matches a line inside a fence that cannot close it."""
_SPECIAL = re.compile(
    r"[`\[!<\\\n]|(?:(?<=[A-Za-z0-9.+%_\-])|\A)@|\](?:\(|\Z)|https?://|www\.[A-Za-z0-9]|mailto:", re.IGNORECASE
)
_NEW_BLOCK = re.compile(r"\n(?=[ \t]*(?:[#>\-+*=|]|```|~~~|\d|\n|\Z))")
"""Matches where a paragraph may end, and inline code with it."""
_BESIDE_WORDS = re.compile(r"\\\S*\Z")
"""Something escaped in the same run of signs."""
_DEFINES = re.compile(rf"(?:\]:|\A[ \t]{{{MAIL_REACH // 2}}})[ \t]*\Z")
"""Matches a link definition, which makes a URL the target of links elsewhere that do not show its host."""
_ADDRESS_IN = re.compile(r"https?:|www\.|mailto:|@|\]\(|\]:", re.IGNORECASE)
_PARTIAL = re.compile(
    r"(?:h|ht|htt|https?|https?:|https?:/|(?<![A-Za-z0-9])(?:w|ww|www\.?|m|ma|mai|mail|mailt|mailto))\Z", re.IGNORECASE
)
_GROWS = re.compile(r"[^\s<>\[\]`|\\]*")
"""Matches what may stand between a URL and text that would lengthen it."""
_WORD_BEFORE = re.compile(r"[A-Za-z0-9]\Z")
_LABEL = re.compile(r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*\](?:\([^()\s]*\))?)*+", re.DOTALL)
_TARGET = re.compile(
    r"""\(\s*+(?:<(?P<angle>[^<>\n]*+)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))*+))"""
    r"""(?P<title>\s++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?+\s*+\)""",
    re.DOTALL,
)
_INNER_PART = re.compile(r"(?:\[(?:[^\[\]\\]|\\.)*)?\\?\Z", re.DOTALL)
_TARGET_PART = re.compile(
    r"""\(\s*+(?:<[^<>\n]*+>?|(?:[^\s()\\]|\\.?|\((?:[^\s()\\]|\\.)*+\)?)*+)(?:\s++(?:["'(][^"'()]*+["')]?\s*+)?)?+""",
    re.DOTALL,
)
_ANGLE_PART = re.compile(r"<(?:[\w.+%\-]*(?:[:@][^\s<>]*)?)?\Z")
_ANGLE_BEGUN = re.compile(r"<(?:https?:|mailto:|[A-Za-z0-9.+%_\-]*@)", re.IGNORECASE)
_TICKS = re.compile("`+")
_DOMAIN_PART = re.compile(rf"[A-Za-z0-9.\-]{{0,{_MAIL_HELD}}}")


class LinkFilter:
    """Applies a `LinkPolicy` to streaming Markdown; code and all other text pass unchanged.

    A link, image or address is held back until it is complete, and only that; what never completes is text.
    """

    def __init__(self, policy: LinkPolicy) -> None:
        self._policy = policy
        self._scanner = LineScanner()
        self._last = ""
        """The end of what was given out by former calls."""
        self._shown: list[str] = []
        """What this call gives out."""
        self._closed = ""
        """The mark at the end of it."""
        self._ticks: set[int] = set()
        """Lengths of the runs of backticks in this paragraph that begin no code."""
        self._held = ""
        self._later: list[str] = []
        """Text that arrived since and decides nothing."""
        self._awaits: re.Pattern[str] | None = None
        """Matches the text that must arrive before another attempt is worthwhile."""
        self._line_start = True
        self._lead: list[str] = []
        """The start of this line as given out so far: spaces, quote marks, list markers."""
        self._raw = False
        """The position is inside a line of code."""
        self._address = False
        """The last text given out is a live URL that may continue."""
        self._word = False
        """The last character given out belongs to a word, so that no URL can start after it."""

    def feed(self, text: str) -> str:
        """Take more Markdown and return what may be shown now."""
        text = without_markers(text)
        self._later.append(text)
        if self._awaits is not None and self._awaits.search(text) is None:
            return ""
        return self._apart(self._run(final=False))

    def finish(self) -> str:
        """Return the text held back, at the end of the text."""
        return self._apart(self._run(final=True))

    def _span(self, url: str) -> str:
        """Return a URL as code or as words, with a marker at each end."""
        return mark_words(url) if self._policy.unknown == "text" else mark_code(url, self._ticks)

    def _apart(self, text: str) -> str:
        """Separate inserted code from backticks and backslashes beside it."""
        if not text:
            return ""
        before = self._last[-1:]
        marked = before + self._closed + text
        self._closed = last_marker(text)
        text = separate(marked)[len(before) :]
        self._last = (self._last + text)[-MAIL_REACH:]
        return text

    def _run(self, *, final: bool) -> str:
        text = "".join([self._held, *self._later])
        self._later.clear()
        self._awaits = None
        shown = self._shown = []
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
        """Read a fence or a line inside one at the start of a line; None if more text is needed to decide."""
        newline = text.find("\n", position) + 1
        line = text[position : newline or len(text)]
        complete = bool(newline) or final
        fence = self._scanner.fence
        if fence is not None:
            rest = line.lstrip(" \t>")
            # A line outside the quote of a fence is one like any other; it may open another fence.
            if not complete and not rest.strip(" \t>" + fence.mark[0]):
                self._awaits = _BESIDE[fence.mark[0]]
                return None
            if not complete and fence.depth and rest[0] in "`~":
                self._awaits = _NEWLINE
                return None
            kind = self._scanner.feed(line)
            if kind in CODE_KINDS:
                self._raw = not newline
                self._line_start = bool(newline)
                return position + len(line)
            self._line_start = False
            return position
        lead = _LEAD.match(line)
        assert lead is not None
        rest = line[lead.end() :]
        mark = rest[:3]
        if not complete and (not mark or _MARKER_PART.fullmatch(rest) or mark in _FENCE_BEGUN):
            self._awaits = _NEWLINE if len(mark) == 3 and mark in _FENCE_BEGUN else None
            self._lead.append(lead.group())  # it is the same whatever follows
            return position + lead.end() if lead.group() else None
        line = "".join([*self._lead, line])
        self._lead.clear()
        if newline and not line.strip(" \t>\n"):
            self._ticks.clear()  # a paragraph ends
        if mark in _FENCE_BEGUN and len(mark) == 3 and self._scanner.feed(line) is Kind.FENCE_OPEN:
            self._line_start = bool(newline)
            return newline or len(text)
        self._line_start = False
        return position

    def _inline(self, text: str, position: int, final: bool, shown: list[str]) -> tuple[int, bool]:
        """Pass text through the next special character; the second value is True if more text is needed."""
        found = _SPECIAL.search(text, position)
        if found is None:
            partial = None if final else _PARTIAL.search(text, max(position, len(text) - 7))
            if partial is not None and self._word and not partial.start() and text[0] not in "hH":
                partial = None
            end = partial.start() if partial is not None else len(text)
            self._address = self._address and _GROWS.fullmatch(text, position, end) is not None
            shown.append(text[position:end])
            return end, partial is not None
        start = found.start()
        if start > position:
            shown.append(text[position:start])
        # A label that is only text does not make the address before it longer.
        grows = self._address and _GROWS.fullmatch(text, position, start) is not None
        self._address = False
        apart = " " if grows else ""
        match text[start]:
            case "\n":
                self._line_start = True
                result: _Found | None = ("\n", start + 1)
            case "\\":
                # A backslash before a line's end stays out of it: the next line begins as any other.
                whole = final or start + 1 < len(text)
                # Before a letter it is only itself, and an address may begin there.
                step = 1 if re.match(r"[\n\w]", text[start + 1 : start + 2]) else 2
                run = _TICKS.match(text, start + 1)
                if run is not None and run.end() == len(text) and not final:
                    whole = False
                elif run is not None and len(run.group()) in self._ticks:
                    # It may end code that another reader sees begin before it, all of it.
                    self._ticks.update(range(1, len(run.group()) + 1))
                result = (text[start : start + step], start + step) if whole else None
            case "]":
                # What is no link for us is to be none for any other reader of Markdown.
                whole = final or start + 1 < len(text)
                result = (text[start : start + 2].replace("](", "]\\("), start + 2) if whole else None
            case "`":
                result = self._code(text, start, final)
            case "[" | "!":
                result = self._bracket(text, start, final, apart)
            case "<":
                result = self._angle(text, start, final)
            case "@":
                result = self._mail(text, start, final)
            case _:
                before = text[start - 1 : start] or ("a" if self._word else "")
                result = self._bare(text, start, final, before)
        if result is None:
            self._address = grows
            return start, True
        if grows and is_marked_words(result[0]):
            shown.append(" ")
        shown.append(result[0])
        self._address |= grows and _GROWS.fullmatch(result[0]) is not None
        return min(result[1], len(text)), False

    def _code(self, text: str, start: int, final: bool) -> _Found | None:
        """Pass inline code unchanged, whatever it contains.

        What another reader might not take for code (at the begin of a block, or over the cells of a table) is none.
        Backticks that begin none are remembered: code that is written after them must not end at them.
        """
        end = start + (run := len(text) - start - len(text[start:].lstrip("`")))
        if end == len(text) and not final:
            return None
        if run >= 3 and (info := _INFO.match(text, end)) and (info[2] or not final):
            if not info[2]:
                return None
            if info[1] or (text[max(0, start - 9) : start] or self._last).rstrip(" \t")[-1:] in (":", "："):
                self._line_start = True  # a fence behind words is none to anybody
                return "\n", start
        limit = min(len(text), start + _CODE_HELD)
        block = _NEW_BLOCK.search(text, end, limit)
        if block is not None and block.end() == len(text) and not final:
            return None  # the next line's first sign is not known
        stop = block.start() if block else limit
        inside: set[int] = set()
        for closing in re.finditer("`+", text[end:stop]):
            if len(closing.group()) == run:
                after = end + closing.end()
                if after == len(text) and not final:
                    return None  # the run may go on
                inner = text[end : end + closing.start()]
                doubtful = not {"|", "｜", "\n"}.isdisjoint(inner)
                # A run that began no code for us may begin some for another reader, and end it in here.
                doubtful = doubtful or run in self._ticks or not inside.isdisjoint(self._ticks)
                if doubtful and _ADDRESS_IN.search(inner):
                    break
                if doubtful:
                    self._ticks.update(range(1, max(run, 0, *inside) + 1))
                return text[start:after], after
            inside.add(len(closing.group()))
        else:
            if not final and block is None and limit - start < _CODE_HELD:
                return None
        self._ticks.add(run)
        return text[start:end], end

    def _bracket(  # noqa: C901  # each way in which a bracket is no link, in order
        self, text: str, start: int, final: bool, apart: str
    ) -> _Found | None:
        """Handle a link or an image; any other bracket is text."""
        image = text[start] == "!"
        opened = start + image
        if opened == len(text) and not final:
            return None
        if text[opened : opened + 1] != "[":
            return text[start : opened + (not image)], opened + (not image)
        bracket = text[start : opened + 1], opened + 1
        waits = not final and len(text) - start < _URL_HELD
        label = _LABEL.match(text, opened + 1, opened + 1 + _LABEL_HELD)
        assert label is not None
        border = _NEW_BLOCK.search(text, opened, label.end())
        if border is not None and border.end() == label.end():
            border = None  # what follows the newline is not in the label
        closed = label.end()
        if waits and border is None and _INNER_PART.match(text, closed):
            return bracket if half_open(label.group()) else None
        if border is not None or (closed < len(text) and text[closed] != "]"):
            return bracket
        if closed + 1 >= len(text) and waits:
            return None
        if text[closed + 1 : closed + 2] != "(":
            return bracket
        target = _TARGET.match(text, closed + 1)
        if target is not None and _NEW_BLOCK.search(text, closed, target.end()):
            return bracket
        if target is None:
            if waits and _TARGET_PART.fullmatch(text, closed + 1):
                end = _NEW_BLOCK.search(text, closed + 1)
                if end is None or end.end() == len(text):
                    return None
            return bracket
        raw = target["angle"] if target["angle"] is not None else target["plain"]
        url = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", raw or "")).strip()
        words = label.group()
        doubtful = "|" in words or "[" in words or "\n" in text[start : target.end()]
        if doubtful and target.end() == len(text) and not final:
            return None
        if doubtful or "<" in words:
            words = self._inside(words)
        match self._policy.decide(words, url, image=image):
            case Link(shown, _):
                # Where it is none for another reader, what follows does not make its address longer.
                follows = " " if doubtful and _GROWS.fullmatch(text[target.end() : target.end() + 1] or " ") else ""
                return f"[{shown}]{target.group()}{follows}", target.end()
            case Code("", url):
                return self._span(url), target.end()
            case Code(shown, url):
                if shown.startswith("`") and self._before().endswith("`"):
                    apart = " "
                return f"{apart}{self._inside(shown, apart)} ({self._span(url)})", target.end()
            case none:
                return f"[{self._inside(none.text)}]()", target.end()

    def _inside(self, label: str, apart: str = "[") -> str:
        """Filter the text of a label by itself."""
        inner = LinkFilter(self._policy)
        inner._line_start = False
        inner._ticks = self._ticks
        inner._last = apart or self._before()
        inner._held = label
        return inner._run(final=True)

    def _angle(self, text: str, start: int, final: bool) -> _Found | None:
        """Handle a URL in angle brackets; other HTML is text, with the URLs in it handled as bare ones."""
        found = ANGLE.match(text, start)
        if found is None:
            if not final and len(text) - start < _URL_HELD and _ANGLE_PART.match(text, start):
                return None
            # Closed by what is written for something behind it, it would be an address after all.
            return ("\\<" if _ANGLE_BEGUN.match(text, start, start + _URL_HELD) else "<"), start + 1
        url = found.group(1)
        live = self._lives(url if scheme_of(url) in SCHEMES else f"mailto:{url}")
        return (found.group() if live else self._span(url)), found.end()

    def _lives(self, url: str) -> bool:
        """Return True if a bare URL may be a link; one in a link definition must have been brought by somebody."""
        if not self._policy.allows(url):
            return False
        return self._policy.knows(url) or _DEFINES.search(self._before()) is None

    def _mail(self, text: str, start: int, final: bool) -> _Found | None:
        """Escape the @ of an e-mail address that must not become a link; what precedes it is given out already."""
        before = self._before()
        if not bare_mail(before, "@a.b", 0):
            return "@", start + 1
        part = _DOMAIN_PART.match(text, start + 1)
        if part is not None and part.end() == len(text) and not final and part.end() - start < _MAIL_HELD:
            return None
        mail = bare_mail(before, text, start)
        if not mail:
            return "@", start + 1
        self._address = self._policy.allows("mailto:" + mail)
        if not self._address or (self._policy.unknown == "text" and _BESIDE_WORDS.search(before)):
            self._address = False
            return "\\@", start + 1
        if not self._policy.knows("mailto:" + mail):
            return "@", start + 1  # the domain may end with the scheme of another address
        domain = text[start : start + len(mail) - mail.index("@")]
        return domain, start + len(domain)

    def _before(self) -> str:
        """Return the end of what was given out."""
        parts: list[str] = []
        length = 0
        for part in reversed(self._shown):
            parts.append(part[-MAIL_REACH:])
            length += len(parts[-1])
            if length >= MAIL_REACH:
                break
        else:
            parts.append(self._last)
        return "".join(reversed(parts))

    def _bare(self, text: str, start: int, final: bool, before: str) -> _Found | None:
        """Handle a bare URL in text."""
        mail = text[start] in "mM"
        if _WORD_BEFORE.search(before) and text[start] not in "hH":
            return text[start], start + 1
        found = (MAIL_LINK if mail else BARE_URL).match(text, start)
        end = len(text) if found is None else found.end()
        if end == len(text) and not final and len(text) - start < _URL_HELD:
            return None
        if found is None:
            self._address = not mail
            return text[start], start + 1
        url = mail_link(text, start) if mail else bare_url(text, start)
        if not url:
            self._address = True  # a scheme, and perhaps more of it
            return text[start], start + 1
        end = start + len(url)
        self._address = self._lives(url) and not _WORD_BEFORE.search(before)
        return (url if self._address else self._span(url)), end
