"""Render Markdown for Discord: headings to level 3, no tables, no link previews, only ``` fences.

See https://support.discord.com/hc/en-us/articles/210298617. Addresses are put in angle brackets, since an edit has no
other way to prevent a preview. In plain text addresses, and texts that look like a mention, are escaped, and
`AllowedMentions.none()` pings nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote

from adapters.formatting.layout import GAP, Dialect, Line, Verbatim, taken_apart, unnested
from adapters.formatting.rendered import Rendered
from adapters.formatting.shortcodes import NAME, colons_of_names
from bot.markdown import (
    Block,
    Code,
    CodeBlock,
    Inline,
    Item,
    Link,
    Listing,
    Quote,
    Style,
    Styled,
    Table,
    Text,
    parse,
    text_of,
)

TICK_ALIKE = "\u2035"

_MARKS: dict[Style, str] = {"strong": "**", "emphasis": "*", "strike": "~~", "spoiler": "||"}
_ADDRESS = re.compile(r"(https?://[^\s<>]+)")
_EMOJI = (
    rf":{NAME}:|[#*0-9]\uFE0F?\u20E3|[^\s\x00-\x7F]\uFE0F"
    "|[\u2139\u231a-\u23ff\u25aa-\u25fe\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff]\ufe0f?"
)
_WITH_EMOJI = re.compile(_EMOJI)
_WHOLE_EMOJI = rf"(?:{_EMOJI})(?:\u200D|[\U000E0020-\U000E007F])*"
_EMOJI_BEFORE = re.compile(rf"(?:{_WHOLE_EMOJI}\s*)*+")
_EMOJI_AFTER = re.compile(rf"(?:\s*{_WHOLE_EMOJI})*+\s*\Z")
_REACH = 64
"""Characters at the end of a label in which emoji are looked for."""
_LANGUAGE = re.compile(r"[\w+#.\-]{1,40}")
_MARK = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\Z)"  # a backslash that Discord would treat as an escape
    r"|(?<!\s)\*|\*(?!\s)"  # an asterisk beside a word
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # an underscore at a word's border
    r"|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\||`"
    r"|\](?=\()"  # what only looks like a link
    r"|<(?=[@#:]|a:|t:|id:|/[^<>:\n]{1,100}:\d)"  # what only looks like a mention, an emoji, a time or a command
    r"|:"  # an address that is not a link by now is never one; what only looks like an emoji; see `_is_plain`
)
_BEGIN = re.compile(r"^([ \t]*)(#{1,3}(?= )|-#(?= )|>(?:>>)?(?= )|[-+*](?= )|\d+(?=\. ))", re.MULTILINE)


def render(body: str, *, final: bool = True) -> Rendered:
    """Render one page; with `final=False` the text may be cut off anywhere."""
    page, blocks = _Discord(), parse(body, final=final)
    text = page.document(blocks)
    if page.addressed and page.ticked:
        # A program that fetches previews may not know escapes: for it, a backtick that is text would open code, and its
        # end would expose the address that is code.
        page = _Discord(tick=TICK_ALIKE)
        text = page.document(blocks)
    text = text.strip("\n")
    return Rendered(text, len(text))


def written(text: str) -> str:
    """Escape plain text so that nothing in it acts as markup, a mention or a link."""
    return _Discord().text(text)


class _Discord(Dialect):
    bullet = "-"

    def __init__(self, tick: str = "`") -> None:
        self._tick = tick
        self.ticked = False
        """Somewhere a backtick is only text."""
        self.addressed = False
        """Somewhere an address is code."""

    def text(self, text: str) -> str:
        if "`" in text:
            self.ticked = True
            text = text.replace("`", self._tick)
        colons = colons_of_names(text)
        return _MARK.sub(lambda found: found[0] if _is_plain(found, colons) else f"\\{found[0]}", text)

    def inline(self, children: Sequence[Inline]) -> str:
        """Render inline nodes, separating marks that would merge into longer ones."""
        parts: list[str] = []
        for child in children:
            part = self.node(child)
            marked = not isinstance(child, Text)
            if marked and parts and part and parts[-1][-1:] == part[0] in "*_~|`":
                parts.append(GAP)
            parts.append(part)
        return "".join(parts)

    def paragraph(self, children: Sequence[Inline]) -> str:
        return _BEGIN.sub(_literal, self.inline(children))

    def task(self, bullet: str, checked: bool) -> str:
        return f"{bullet} {super().task(bullet, checked)}"

    def code(self, text: str) -> str:
        if not text.strip():
            return text
        self.addressed |= "://" in text
        if "`" not in text:
            return f"`{text}`"
        # Two backticks around can contain one; a longer run is broken up.
        text = re.sub("`(?=`)", f"`{GAP}", text)
        return f"`` {text} ``"

    def styled(self, style: Style, children: Sequence[Inline]) -> str:
        children = unnested(style, children)
        inner = self.inline(children)
        if not inner.strip():
            return inner
        mark = _MARKS[style]
        verbatim = _verbatim(children)
        ends = "".join(part[:1] + part[-1:] for part in map(str.strip, inner.split("\n")))
        if mark == "*" and mark in ends + verbatim:
            mark = "_"
        if mark in verbatim:
            return inner  # Discord ends a style at its mark, also inside code and addresses
        # In a list, Discord ends a style with its line.
        return "\n".join(_marked(line, mark) for line in inner.split("\n"))

    def link(self, link: Link) -> str:
        label = text_of(link.children).strip()
        if not label or label == link.url or label == link.url.removeprefix("mailto:"):
            return label if link.url.startswith("mailto:") else f"<{link.url}>"
        if len(parts := _ADDRESS.split(label)) > 1:
            # Discord makes no masked link of a label that contains an address, and escapes in an address would be
            # visible.
            if unquote(label) == unquote(link.url):
                return f"<{label}>"
            words = "".join(self.code(part) if odd % 2 else self.text(part) for odd, part in enumerate(parts))
            return f"{words} <{link.url}>"
        if link.url.startswith("mailto:"):
            return f"{self.inline(link.children)} ({link.url.removeprefix('mailto:')})"
        if _has_emoji(label):
            return self._beside_emoji(link)
        return f"[{self.inline(link.children)}](<{link.url}>)"

    def _beside_emoji(self, link: Link) -> str:
        """Render a link whose label contains an emoji; Discord would show its marks.

        By design: https://github.com/discord/discord-api-docs/issues/6088, …/issues/7510.
        """
        inner, before, after = list(link.children), "", ""
        if isinstance(first := inner[0], Text) and (found := _EMOJI_BEFORE.match(first.text)):
            before, inner[0] = found[0], Text(first.text[found.end() :])
        if isinstance(last := inner[-1], Text) and (
            found := _EMOJI_AFTER.search(last.text, max(0, len(last.text) - _REACH))
        ):
            after, inner[-1] = found[0], Text(last.text[: found.start()])
        if (words := text_of(inner).strip()) and not _has_emoji(words):
            return f"{self.text(before)}[{self.inline(inner).strip()}](<{link.url}>){self.text(after)}"
        return f"{self.inline(link.children)} <{link.url}>"

    def code_block(self, text: str, language: str) -> str:
        self.addressed |= "://" in text
        name = language if _LANGUAGE.fullmatch(language) else ""
        # Discord ends a block at the first three backticks. An empty block is not a block to Discord: it would extend
        # to the next three backticks.
        return f"```{name}\n{taken_apart(text) if text.strip(chr(10)) else ' '}\n```"

    def heading(self, level: int, children: Sequence[Inline]) -> str:
        if level > 3:
            return self.styled("strong", children)
        return f"{'#' * level} {self.inline(children)}"

    def marker(self, item: Item, before: Item | None) -> str:
        """Clients count on from the first number of a list: a number that does not follow is text."""
        marker = super().marker(item, before)
        follows = before is None or item.number is None or item.number == (before.number or 0) + 1
        return marker if follows else marker.replace(".", "\\.", 1)

    def listing(self, items: Sequence[Item]) -> list[Line | Verbatim]:
        """Discord has no quotes in lists, and so no code block in such a quote: the block goes into the item."""
        return super().listing([replace(item, blocks=tuple(_unquoted(item.blocks))) for item in items])

    def collapsed_quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        """A spoiler in a quote, in which Discord supports no second spoiler and no code block."""
        inner = "\n".join(line.text for line in lines).strip("\n")
        if any(isinstance(line, Verbatim) for line in lines) or "||" in inner or not inner.strip():
            return self.quote(lines)
        return self.quote([Line(f"||{inner}||")])

    def quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        """Discord's quote is one level deep."""
        return [
            Line(part if part.startswith("> ") and isinstance(line, Line) else f"> {part}")
            for line in lines
            for part in line.text.split("\n")
        ]


def _is_plain(found: re.Match[str], colons: set[int]) -> bool:
    """Return True for a colon that begins neither an address nor an emoji."""
    return found[0] == ":" and found.start() not in colons and not found.string.startswith("//", found.end())


def _unquoted(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Quote) and any(map(_has_code, block.blocks)):
            yield from _unquoted(block.blocks)
        else:
            yield block


def _has_code(block: Block) -> bool:
    match block:
        case CodeBlock() | Table():
            return True
        case Quote(blocks):
            return any(map(_has_code, blocks))
        case Listing(items):
            return any(_has_code(inner) for item in items for inner in item.blocks)
        case _:
            return False


def _has_emoji(label: str) -> bool:
    words = colons_of_names(label)
    return any(found.start() not in words for found in _WITH_EMOJI.finditer(label))


def _verbatim(children: Sequence[Inline]) -> str:
    """Render without escapes."""
    parts = []
    for child in children:
        match child:
            case Code(text):
                parts.append(text)
            case Link(url, inner):
                parts += [url, _verbatim(inner)]
            case Styled(_, inner):
                parts.append(_verbatim(inner))
    return "\n".join(parts)


def _marked(line: str, mark: str) -> str:
    core = line.strip()
    return line.replace(core, f"{mark}{core}{mark}", 1) if core else line


def _literal(found: re.Match[str]) -> str:
    """Escape the start of a line that would begin a heading, a list or a quote."""
    lead, sign = found.groups()
    return f"{lead}{sign}\\" if sign.isdigit() else f"{lead}\\{sign}"
