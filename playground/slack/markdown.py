"""Standard Markdown as `markdown_text`, streams and the markdown block show it: text, safe HTML, links, mentions."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from functools import partial

from playground import emoji
from playground.slack.mrkdwn import Drawn, anchor, angle

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*$")
_TABLE_RULE = re.compile(r"\s*\|?(\s*:?-{1,}:?\s*\|)+\s*(:?-{1,}:?)?\s*$")
_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?P<image>!)?\[(?P<label>[^\[\]]*)\]\((?P<url>[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+\"[^\"]*\")?\)"
    r"|<(?P<angle>[^<>\n]+)>"
    r"|(?P<bare>https?://[^\s<>`]+[^\s<>`.,;:!?'\")\]}*_~])"
)
_STYLES = (
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), "b"),
    (re.compile(r"(?<![\w*])(\*)(?=[^\s*])([^*]*[^\s*])\1(?!\*)|(?<!\w)(_)(?=[^\s_])([^_]*[^\s_])\3(?!\w)"), "i"),
    (re.compile(r"(~~)(?=\S)(.+?)(?<=\S)\1"), "s"),
)
_SLOT = re.compile(r"\x00(\d+)\x00")


def draw_markdown(source: str, names: Mapping[str, str]) -> Drawn:
    """Read `source` as Markdown. A fence left open runs to the end, as it does while text is still arriving."""
    drawn = Drawn()
    lines = source.replace("\x00", "").split("\n")
    texts: list[str] = []
    marks: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if fence := _FENCE.match(line):
            inner: list[str] = []
            closing = re.compile(rf" {{0,3}}{re.escape(fence[1][0])}{{{len(fence[1])},}}\s*$")
            while index < len(lines) and not closing.match(lines[index]):
                inner.append(lines[index])
                index += 1
            index += 1
            body = "\n".join(inner)
            _called(body, names, drawn)
            texts.append(body)
            marks.append(f"<pre>{html.escape(body)}</pre>")
            continue
        text, markup = _line(line, names, drawn)
        if text is not None:
            texts.append(text)
            marks.append(markup)
    drawn.text = "\n".join(texts)
    drawn.html = "<br>".join(marks)
    return drawn


def _called(code: str, names: Mapping[str, str], drawn: Drawn) -> None:
    """Note whom code would call: Slack documents for its own notation only that it calls from there."""
    for found in re.finditer(r"<([@!][^<>\n]+)>", code):
        angle(found[1], names, drawn)


def _line(line: str, names: Mapping[str, str], drawn: Drawn) -> tuple[str | None, str]:
    if heading := _HEADING.match(line):
        text, markup = _inline(heading[1], names, drawn)
        return text, f"<b>{markup}</b>"
    if _RULE.match(line):
        return "", "<hr>"
    if "|" in line and _TABLE_RULE.match(line):
        return None, ""
    if line.lstrip().startswith("|") and line.rstrip().endswith("|") and len(line.strip()) > 1:
        cells = [_inline(cell.strip(), names, drawn) for cell in line.strip().strip("|").split("|")]
        return " | ".join(text for text, _ in cells), " | ".join(markup for _, markup in cells)
    if line.startswith(">"):
        text, markup = _inline(line.lstrip(">").lstrip(), names, drawn)
        return text, f"<blockquote>{markup}</blockquote>"
    if item := _ITEM.match(line):
        bullet = "•" if item[2] in "-*+" else item[2]
        text, markup = _inline(item[3], names, drawn)
        return f"{item[1]}{bullet} {text}", f"{item[1]}{bullet} {markup}"
    return _inline(line, names, drawn)


def _inline(source: str, names: Mapping[str, str], drawn: Drawn) -> tuple[str, str]:
    slots: list[tuple[str, str]] = []

    def keep(text: str, markup: str) -> str:
        slots.append((text, markup))
        return f"\x00{len(slots) - 1}\x00"

    def token(match: re.Match[str]) -> str:
        if match["escape"]:
            return keep(match["escape"][1], html.escape(match["escape"][1]))
        if match["code"] is not None:
            inner = match["code"].strip() or match["code"]
            _called(inner, names, drawn)
            return keep(inner, f"<code>{html.escape(inner)}</code>")
        if match["url"] is not None:
            url = html.unescape(match["url"])
            if url.startswith(("http://", "https://")):
                drawn.links.append(url)
            label, _ = _inline(match["label"], names, drawn)
            return keep(label or url, anchor(url, label or url))
        if match["angle"]:
            found = angle(match["angle"], names, drawn)
            return keep(*found) if found else match[0]
        drawn.links.append(match["bare"])
        return keep(match["bare"], anchor(match["bare"], match["bare"]))

    text = emoji.drawn(html.unescape(_TOKEN.sub(token, source)))
    markup = html.escape(text)
    for pattern, tag in _STYLES:
        text = pattern.sub(_inside, text)
        markup = pattern.sub(partial(_tagged, tag), markup)
    return _fill(text, slots, 0), _fill(markup, slots, 1)


def _tagged(tag: str, match: re.Match[str]) -> str:
    return f"<{tag}>{_inside(match)}</{tag}>"


def _inside(match: re.Match[str]) -> str:
    return match[2] if match[2] is not None else match[4]


def _fill(text: str, slots: list[tuple[str, str]], side: int) -> str:
    # Slots hold finished text without slots of their own, so one round fills them all.
    return _SLOT.sub(lambda match: slots[int(match[1])][side] if int(match[1]) < len(slots) else "", text)
