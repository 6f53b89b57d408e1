"""Render Markdown as Slack's mrkdwn: `*bold*`, `_italic_`, `~strike~`, `<address|label>`; tables as aligned code.

See https://docs.slack.dev/messaging/formatting-message-text. Slack treats a mark as formatting only at the border of a
word, so beside a letter (always, in Chinese) a zero-width space U+200B is put outside it. Slack has no escape for its
marks, and a zero-width space inside does not stop them: `marks.py` writes marks that are only text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adapters.formatting.layout import GAP, Dialect, Line, Verbatim, taken_apart, unnested
from adapters.formatting.rendered import Rendered
from adapters.formatting.shortcodes import names_as_code, without_names
from adapters.slack.marks import as_text, held
from bot.markdown import Inline, Link, Style, Styled, parse, text_of

_MARKS: dict[Style, str] = {"strong": "*", "emphasis": "_", "strike": "~"}
_FALSE_QUOTE = re.compile(r"^(?=&gt;)", re.MULTILINE)
_BORDER = re.compile(r"(?<=\w)\ue000|\ue001(?=[\w\ue000])")


def render(body: str, *, final: bool = True) -> Rendered:
    """Render one page; with `final=False` the text may be cut off anywhere."""
    text = _Mrkdwn().document(parse(body, final=final)).strip("\n")
    return Rendered(text, len(text))


def escaped(text: str) -> str:
    """Escape text so that Slack sees no link, mention or entity in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Mrkdwn(Dialect):
    def text(self, text: str) -> str:
        return escaped(held(text.replace("\ue000", "").replace("\ue001", "")))

    def code(self, text: str) -> str:
        if "`" in text or not text.strip() or "\n" in text:
            return self.text(text)  # Slack cannot write a backtick inside code
        return f"\ue000`{escaped(text)}`\ue001"

    def styled(self, style: Style, children: Sequence[Inline]) -> str:
        inner = self.inline(unnested(style, children))
        mark = _MARKS.get(style)
        if mark is None:
            return inner  # Slack has no spoilers
        return "\n".join(_marked(line, mark) for line in inner.split("\n"))

    def link(self, link: Link) -> str:
        label = " ".join(text_of(link.children).split())
        url = escaped(link.url).replace("|", "%7C").replace(" ", "%20")
        return f"<{url}>" if label in ("", link.url) else f"<{url}|{escaped(without_names(label))}>"

    def code_block(self, text: str, language: str) -> str:
        # Three backticks inside would end the block.
        return f"```\n{taken_apart(escaped(text))}\n```"

    def heading(self, level: int, children: Sequence[Inline]) -> str:
        return self.paragraph([Styled("strong", tuple(children))])

    def paragraph(self, children: Sequence[Inline]) -> str:
        drawn = _BORDER.sub(GAP, self.inline(tuple(names_as_code(children))))
        return _FALSE_QUOTE.sub(GAP, as_text(drawn.replace("\ue000", "").replace("\ue001", "")))

    def quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        """Slack's quote is one level deep and contains no code block: its lines become inline code."""
        result: list[Line | Verbatim] = []
        for line in lines:
            if isinstance(line, Line):
                result.append(Line(line.text if line.text.startswith("> ") else f"> {line.text}".rstrip()))
            else:
                result.extend(Line(f"> {self.paragraph_of_code(code)}".rstrip()) for code in line.code.split("\n"))
        return result

    def paragraph_of_code(self, text: str) -> str:
        """Write one line of code inside a quote."""
        return as_text(self.code(text).replace("\ue000", "").replace("\ue001", ""))


def _marked(line: str, mark: str) -> str:
    """Put marks around the words of one line; Slack ignores marks beside a space."""
    inner = line.strip()
    if not inner:
        return line
    at = line.index(inner)
    return f"{line[:at]}\ue000{mark}{inner}{mark}\ue001{line[at + len(inner) :]}"
