"""Discord's Markdown as a client shows it: the visible text, and the same as safe HTML.

What is not closed is shown as written, as the real client does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from html import escape
from typing import TypeAlias

from playground import emoji

Names: TypeAlias = Callable[[str, str], str]
"""What a mention shows: (`user`, `role` or `channel`; id) → its name with its sign."""

_FENCE = r"```(?:[\w+\-.#]+\n)?\n*[^\n][\s\S]*?\n*```"
_FENCED = re.compile(r"```(?:(?P<language>[\w+\-.#]+)\n)?\n*(?P<code>[^\n][\s\S]*?)\n*```")
_QUOTE = re.compile(r">>> (?P<rest>[\s\S]*)|> [^\n]*(?:\n> [^\n]*)*")
_HEADING = re.compile(r"(?P<level>#{1,3}) +(?P<title>[^\n]+)")
_SUBTEXT = re.compile(r"-# +(?P<small>[^\n]+)")
_ITEM = re.compile(r"(?P<indent> *)(?P<marker>[-*]|\d+\.) +(?P<item>\S[^\n]*)")
_STOP = re.compile(r"\n(?=> |>>> |#{1,3} |-# | *(?:[-*]|\d+\.) +\S)|" + _FENCE)
_INLINE = re.compile(
    r"""
      \\(?P<escape>[^0-9A-Za-z\s])
    | (?P<ticks>`+)(?P<code>[\s\S]*?[^`])(?P=ticks)(?!`)
    | <(?P<plain>https?://[^ >]+)>
    | \[(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]*\])+)\]\(\s*<?(?P<target>https?://(?:\([^\s()]*\)|[^\s()>])+)>?(?:\s+"[^"\n]*")?\s*\)
    | (?P<url>https?://[^\s<]+[^<.,:;"')\]\s])
    | <@!?(?P<user>\d+)> | <@&(?P<role>\d+)> | <\#(?P<channel>\d+)>
    | <a?(?P<emoji>:\w+:)\d+> | <t:(?P<time>\d{1,11})(?::[tTdDfFR])?>
    | \*\*(?P<bold>(?:\\[\s\S]|[^\\])+?)\*\*(?!\*)
    | __(?P<under>(?:\\[\s\S]|[^\\])+?)__(?!_)
    | \*(?=\S)(?P<star>(?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)
    | \b_(?P<low>(?:__|\\[\s\S]|[^\\_])+?)_\b
    | ~~(?P<strike>[\s\S]+?)~~(?!_)
    | \|\|(?P<spoiler>[\s\S]+?)\|\|
    """
    rf"| (?P<named>{emoji.NAMED})",
    re.VERBOSE,
)
_DRAWN = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23fa]|[^\\s]\ufe0f")
"""An emoji."""
_OWN = re.compile(r"<a?:\w+:\d+>")
"""An emoji of a server."""
_SPANS = {
    "bold": ("<strong>", "</strong>"),
    "under": ("<u>", "</u>"),
    "star": ("<em>", "</em>"),
    "low": ("<em>", "</em>"),
    "strike": ("<s>", "</s>"),
    "spoiler": ('<span class="spoiler">', "</span>"),
}


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message as it looks."""

    text: str
    html: str


_DEEPEST = 8
"""Spans inside spans that are still shown as such; hostile text nests hundreds."""


def render(source: str, names: Names, *, quoted: bool = False) -> Rendered:
    """Take the markup away from `source`, and write it as HTML that holds nothing but this markup.

    In what is `quoted` already, a further quotation sign is shown as written.
    """
    text: list[str] = []
    html: list[str] = []
    at, end = 0, len(source)
    while at < end:
        block = _block(source, at, names, quoted)
        if block is not None:
            shown, at = block
            if text and not text[-1].endswith("\n"):
                text.append("\n")
            text.append(shown.text)
            html.append(shown.html)
            if at < end:
                at += source[at] == "\n"
                text.append("\n" if at < end else "")
            continue
        stop = _STOP.search(source, at)
        until = stop.start() if stop else end
        shown = _inline(source[at:until], names)
        text.append(shown.text)
        html.append(shown.html)
        at = until
        if at < end and source[at] == "\n":
            text.append("\n")
            at += 1
    return Rendered("".join(text), "".join(html))


def _block(source: str, at: int, names: Names, quoted: bool) -> tuple[Rendered, int] | None:
    if found := _FENCED.match(source, at):
        code = found["code"]
        language = f' class="language-{escape(found["language"])}"' if found["language"] else ""
        return Rendered(code, f"<pre><code{language}>{escape(code)}</code></pre>"), found.end()
    if at and source[at - 1] != "\n":
        return None
    if not quoted and (found := _QUOTE.match(source, at)):
        inner = found["rest"]
        if inner is None:
            inner = "\n".join(line[2:] for line in found[0].split("\n"))
        shown = render(inner, names, quoted=True)
        return Rendered(shown.text, f"<blockquote>{shown.html}</blockquote>"), found.end()
    if found := _HEADING.match(source, at):
        shown = _inline(found["title"], names)
        level = len(found["level"])
        return Rendered(shown.text, f"<h{level}>{shown.html}</h{level}>"), found.end()
    if found := _SUBTEXT.match(source, at):
        shown = _inline(found["small"], names)
        return Rendered(shown.text, f"<small>{shown.html}</small><br>"), found.end()
    if found := _ITEM.match(source, at):
        shown = _inline(found["item"], names)
        sign = f"{found['indent']}{'•' if found['marker'] in '-*' else found['marker']} "
        return Rendered(sign + shown.text, f'<div class="item">{escape(sign)}{shown.html}</div>'), found.end()
    return None


def _inline(source: str, names: Names, depth: int = 0) -> Rendered:
    if depth > _DEEPEST:
        return Rendered(source, escape(source))
    text: list[str] = []
    html: list[str] = []

    def put(shown: str, markup: str | None = None) -> None:
        text.append(shown)
        html.append(escape(shown).replace("\n", "<br>") if markup is None else markup)

    at = 0
    for found in _INLINE.finditer(source):
        put(source[at : found.start()])
        at = found.end()
        kind = found.lastgroup or ""
        if kind == "target":
            label = _inline(found["label"], names, depth + 1)
            anchor = partial(_anchor, found["target"])
            if _DRAWN.search(label.text) or _OWN.search(found["label"]):
                # Not a link of this name, by design: discord/discord-api-docs#6088, #6810, #7510.
                put(f"[{label.text}]({found['target']})", f"[{label.html}]({anchor(escape(found['target']))})")
            else:
                put(label.text, anchor(label.html))
        elif kind in _SPANS:
            inner = _inline(found[kind], names, depth + 1)
            put(inner.text, _SPANS[kind][0] + inner.html + _SPANS[kind][1])
        elif kind == "code":
            # One space beside a backtick that belongs to the code is not shown.
            code = found["code"].strip() if "`" in found["code"] else found["code"]
            put(code, f"<code>{escape(code)}</code>")
        elif kind in ("plain", "url"):
            put(found[kind], _anchor(found[kind], escape(found[kind])))
        elif kind in ("user", "role", "channel"):
            name = names(kind, found[kind])
            put(name, f'<span class="mention">{escape(name)}</span>')
        elif kind == "time":
            put(datetime.fromtimestamp(int(found["time"]), UTC).strftime("%Y-%m-%d %H:%M UTC"))
        else:
            put(emoji.drawn(found[kind]))
    put(source[at:])
    return Rendered("".join(text), "".join(html))


def _anchor(address: str, inner: str) -> str:
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow" target="_blank">{inner}</a>'
