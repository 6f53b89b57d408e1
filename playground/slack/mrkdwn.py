"""Slack's own notation: what a person sees of it, as text and as safe HTML, and whom and what it calls."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from playground import emoji

_FENCE = re.compile(r"```(.+?)```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_ANGLE = re.compile(r"<([^<>\n]+)>")
_BARE = re.compile(r"https?://[^\s<>|`\x00]+[^\s<>|`\x00.,;:!?'\")\]}*_~]")
_NAME = re.compile(r"(?<![\w@])@(channel|here|everyone|[\w.-]+)")
_STYLES = (
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])"), "b"),
    (re.compile(r"(?<![\w_])_(?=[^\s_])([^_\n]*[^\s_])_(?![\w_])"), "i"),
    (re.compile(r"(?<![\w~])~(?=[^\s~])([^~\n]*[^\s~])~(?![\w~])"), "s"),
)
_SLOT = re.compile(r"\x00(\d+)\x00")


@dataclass(slots=True)
class Drawn:
    """What notation amounts to."""

    text: str = ""
    html: str = ""
    links: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    """`U…`, `!channel`, `!here`, `!everyone`, `!subteam^S…`: whoever is notified."""

    def add(self, other: Drawn, between: str = "\n") -> None:
        """Put `other` behind this."""
        if other.text or other.html:
            self.text += (between if self.text else "") + other.text
            self.html += ("<br>" if self.html and between else "") + other.html
        self.links += other.links
        self.mentions += other.mentions


def unescape(text: str) -> str:
    """Slack knows three entities and no others."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def anchor(url: str, label: str) -> str:
    """A link as HTML; anything but http, https and mailto stays text."""
    if re.match(r"(https?://|mailto:)", url, re.IGNORECASE):
        return f'<a href="{html.escape(url)}" rel="noopener noreferrer nofollow">{html.escape(label)}</a>'
    return html.escape(label)


def draw_mrkdwn(source: str, names: Mapping[str, str], *, autolink: bool = True, link_names: bool = False) -> Drawn:
    """Read `source` as mrkdwn; `names` holds what people and channels are called, by id.

    `autolink` makes links of bare addresses (`parse="none"` does not); `link_names` makes mentions of `@name`.
    """
    return _Reader(names, autolink, link_names).read(source.replace("\x00", ""))


def angle(inner: str, names: Mapping[str, str], drawn: Drawn) -> tuple[str, str] | None:
    """The text and HTML of `<inner>`, noting links and mentions; None when it is no notation at all."""
    target, _, label = inner.partition("|")
    if match := re.fullmatch(r"@([UW]\w+)", target):
        drawn.mentions.append(match[1])
        return _span(f"@{names.get(match[1], label or match[1])}")
    if match := re.fullmatch(r"#(C\w+)", target):
        return _span(f"#{names.get(match[1], label or match[1])}")
    if match := re.fullmatch(r"!(channel|here|everyone)", target):
        drawn.mentions.append(target)
        return _span(f"@{match[1]}")
    if target.startswith("!subteam^"):
        drawn.mentions.append(target)
        return _span(label or f"@{target.removeprefix('!subteam^')}")
    if target.startswith("!"):
        return _span(label or target)
    if re.match(r"(https?://|mailto:)", target, re.IGNORECASE):
        url, shown = unescape(target), emoji.drawn(unescape(label)) or unescape(target.removeprefix("mailto:"))
        if not target.lower().startswith("mailto:"):
            drawn.links.append(url)
        return shown, anchor(url, shown)
    return None


def _span(text: str) -> tuple[str, str]:
    shown = unescape(text)
    return shown, f'<span class="mention">{html.escape(shown)}</span>'


class _Reader:
    """One reading: finished pieces wait in numbered slots while the styles around them are found."""

    def __init__(self, names: Mapping[str, str], autolink: bool, link_names: bool) -> None:
        self._names, self._autolink, self._link_names = names, autolink, link_names
        self._slots: list[tuple[str, str]] = []
        self._drawn = Drawn()

    def read(self, source: str) -> Drawn:
        # Angle brackets come first: the service resolves mentions and links inside code as well.
        source = _ANGLE.sub(self._angle, source)
        source = _FENCE.sub(self._fence, source)
        source = _CODE.sub(self._code, source)
        if self._autolink:
            source = _BARE.sub(self._bare, source)
        if self._link_names:
            source = _NAME.sub(self._name, source)
        lines = [self._line(line) for line in source.split("\n")]
        self._drawn.text = self._fill("\n".join(text for text, _ in lines), 0)
        markup = "<br>".join(markup for _, markup in lines)
        # Lines of a quote stand in one, and the end of its last line is the quote's.
        markup = markup.replace("</blockquote><br><blockquote>", "<br>").replace("</blockquote><br>", "</blockquote>")
        self._drawn.html = self._fill(markup, 1)
        return self._drawn

    def _line(self, line: str) -> tuple[str, str]:
        quoted = re.match(r"(?:>|&gt;) ?", line)
        text = emoji.drawn(unescape(line[quoted.end() :] if quoted else line))
        markup = html.escape(text)
        for pattern, tag in _STYLES:
            text = pattern.sub(r"\1", text)
            markup = pattern.sub(rf"<{tag}>\1</{tag}>", markup)
        return text, f"<blockquote>{markup}</blockquote>" if quoted else markup

    def _keep(self, text: str, markup: str) -> str:
        self._slots.append((text, markup))
        return f"\x00{len(self._slots) - 1}\x00"

    def _fill(self, text: str, side: int) -> str:
        while _SLOT.search(text):
            text = _SLOT.sub(lambda match: self._slots[int(match[1])][side], text)
        return text

    def _angle(self, match: re.Match[str]) -> str:
        found = angle(match[1], self._names, self._drawn)
        return self._keep(*found) if found else match[0]

    def _fence(self, match: re.Match[str]) -> str:
        inner = unescape(match[1].strip("\n"))
        return self._keep(inner, f"<pre>{html.escape(inner)}</pre>")

    def _code(self, match: re.Match[str]) -> str:
        inner = unescape(match[1])
        return self._keep(inner, f"<code>{html.escape(inner)}</code>")

    def _bare(self, match: re.Match[str]) -> str:
        url = unescape(match[0])
        self._drawn.links.append(url)
        return self._keep(url, anchor(url, url))

    def _name(self, match: re.Match[str]) -> str:
        if match[1] in ("channel", "here", "everyone"):
            self._drawn.mentions.append(f"!{match[1]}")
            return self._keep(*_span(match[0]))
        for id, name in self._names.items():
            if name == match[1] and id[0] in "UW":
                self._drawn.mentions.append(id)
                return self._keep(*_span(match[0]))
        return match[0]
