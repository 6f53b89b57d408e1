"""Markdown as text, as a web page or a terminal could show it."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.formatting.layout import Dialect, Line, Verbatim
from adapters.formatting.rendered import Rendered
from bot.markdown import Inline, Link, Style, parse, text_of


def render(body: str, *, final: bool = True) -> Rendered:
    """Render one page as plain text; links show their URLs."""
    text = _Plain().document(parse(body, final=final)).strip("\n")
    return Rendered(text, len(text))


class _Plain(Dialect):
    def text(self, text: str) -> str:
        return text

    def code(self, text: str) -> str:
        return text

    def styled(self, style: Style, children: Sequence[Inline]) -> str:
        return self.inline(children)

    def link(self, link: Link) -> str:
        label = text_of(link.children)
        return label if label in (link.url, link.url.removeprefix("mailto:")) else f"{label} <{link.url}>"

    def code_block(self, text: str, language: str) -> str:
        return text

    def heading(self, level: int, children: Sequence[Inline]) -> str:
        return self.inline(children)

    def quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        return [Line(f"> {part}".rstrip()) for line in lines for part in line.text.split("\n")]
