"""Render Markdown as Telegram's HTML: only tags it knows, at most 100 entities.

See https://core.telegram.org/bots/api#html-style. Tables become aligned text, headings bold. Code is never inside
another style, because Telegram allows code to contain nothing and to be inside nothing but a quote. Names and addresses
that Telegram would turn into links are code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from adapters.formatting.layout import Dialect, Line, Verbatim
from adapters.formatting.rendered import Rendered
from adapters.telegram.live import defang, without_life
from bot.contract import utf16_length
from bot.markdown import Code, Inline, Link, Style, Styled, Text, parse, text_of

MOST_ENTITIES = 100
"""Telegram ignores further entities."""

_TAGS: dict[Style, str] = {"strong": "b", "emphasis": "i", "strike": "s", "spoiler": "tg-spoiler"}
_LANGUAGE = re.compile(r"[\w+#.\-]{1,40}")
_TAG = re.compile(r"<[^<>]*>")
_QUOTE_TAG = re.compile(r"</?blockquote(?: expandable)?>")


def render(body: str, *, final: bool = True) -> Rendered:
    """Render one page as balanced HTML; with `final=False` the text may be cut off anywhere."""
    page = _Html()
    text = page.document(parse(body, final=final)).strip("\n")
    return Rendered(text, visible_length(text), page.entities)


def visible_length(text: str) -> int:
    """Count as Telegram does: UTF-16 units without the markup."""
    return utf16_length(html.unescape(_TAG.sub("", text)))


class _Html(Dialect):
    def __init__(self) -> None:
        self.entities = 0

    def tag(self, name: str, inner: str, attributes: str = "") -> str:
        """Put a tag around rendered text, unless Telegram's limit of entities is reached."""
        if not inner.strip() or self.entities >= MOST_ENTITIES:
            return inner
        self.entities += 1
        return f"<{name}{attributes}>{inner}</{name}>"

    def text(self, text: str) -> str:
        return html.escape(text, quote=False)

    def code(self, text: str) -> str:
        if self.entities >= MOST_ENTITIES:
            text = defang(text)
        return self.tag("code", self.text(text))

    def paragraph(self, children: Sequence[Inline]) -> str:
        return self.inline(without_life(children))

    def styled(self, style: Style, children: Sequence[Inline]) -> str:
        return self.runs(list(_leaves(children, (style,))))

    def runs(self, leaves: Sequence[tuple[Inline, tuple[Style, ...]]]) -> str:
        """Write adjacent leaves that share outer styles inside one tag."""
        parts: list[str] = []
        for style, group in groupby(leaves, key=lambda leaf: leaf[1][0] if leaf[1] else None):
            if style is None:
                parts.extend(self.node(leaf) for leaf, _ in group)
            else:
                parts.append(self.tag(_TAGS[style], self.runs([(leaf, styles[1:]) for leaf, styles in group])))
        return "".join(parts)

    def link(self, link: Link) -> str:
        children: Sequence[Inline] = _without_code(link.children)
        if self.entities >= MOST_ENTITIES:
            children = [Text(defang(text_of(children)))]
        inner = self.runs(list(_leaves(children, ())))
        return self.tag("a", inner, f' href="{html.escape(link.url)}"')

    def code_block(self, text: str, language: str) -> str:
        if not text.strip():
            return self.text(text)
        if self.entities >= MOST_ENTITIES:
            text = defang(text)
        name = language if _LANGUAGE.fullmatch(language) else ""
        if name and self.entities < MOST_ENTITIES:
            self.entities += 1
            return f'<pre><code class="language-{html.escape(name)}">{self.text(text)}</code></pre>'
        return self.tag("pre", self.text(text))

    def heading(self, level: int, children: Sequence[Inline]) -> str:
        return self.styled("strong", without_life(children))

    def collapsed_quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        return self._quoted(lines, " expandable")

    def quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        return self._quoted(lines)

    def _quoted(self, lines: Sequence[Line | Verbatim], attributes: str = "") -> Sequence[Line | Verbatim]:
        """A quote cannot contain another, nor a code block: the block stands between two quotes."""
        result: list[Line | Verbatim] = []
        for kind, group in groupby(lines, key=type):
            if kind is Verbatim:
                result.extend(group)
                continue
            inner = "\n".join(line.text for line in group).strip("\n")
            self.entities -= inner.count("</blockquote>")
            inner = _QUOTE_TAG.sub("", inner)
            if inner:
                result.append(Line(self.tag("blockquote", inner, attributes)))
        return result


def _leaves(children: Sequence[Inline], styles: tuple[Style, ...]) -> Iterator[tuple[Inline, tuple[Style, ...]]]:
    """Return the leaves, each with its styles once; code has none."""
    for child in children:
        match child:
            case Styled(style, inner):
                yield from _leaves(inner, styles if style in styles else (*styles, style))
            case Code():
                yield child, ()
            case _:
                yield child, styles


def _without_code(children: Sequence[Inline]) -> list[Inline]:
    return [
        Text(child.text)
        if isinstance(child, Code)
        else Styled(child.style, tuple(_without_code(child.children)))
        if isinstance(child, Styled)
        else Text(text_of(child.children))
        if isinstance(child, Link)
        else child
        for child in children
    ]
