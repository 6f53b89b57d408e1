"""Markdown as HTML, and buttons as reactions.

The tags: https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

import parley_chat.adapter as parley

PAGE: Final = 6_000
LONGEST: Final = 10_000
"""Bytes of a page, which an edit carries four times: as text and as HTML, for new clients and for old ones."""
LONGEST_EVENT: Final = 60_000
"""The homeserver takes 65,536 bytes, of which it needs some itself."""
_TAGS: Final = {"strong": "strong", "emphasis": "em", "strike": "del", "spoiler": "span data-mx-spoiler"}


def length(text: str) -> int:
    return len(text.encode(errors="replace"))


class Html(parley.Dialect):
    def text(self, text: str) -> str:
        return escape(text, quote=False)

    def code(self, text: str) -> str:
        return f"<code>{escape(text, quote=False)}</code>"

    def styled(self, style: parley.Style, children: Sequence[parley.Inline]) -> str:
        return f"<{_TAGS[style]}>{self.inline(children)}</{_TAGS[style].partition(' ')[0]}>"

    def link(self, link: parley.Link) -> str:
        return f'<a href="{escape(link.url)}">{self.inline(link.children)}</a>'

    def code_block(self, text: str, language: str) -> str:
        known = f' class="language-{escape(language)}"' if language else ""
        return f"<pre><code{known}>{escape(text, quote=False)}</code></pre>"

    def heading(self, level: int, children: Sequence[parley.Inline]) -> str:
        return f"<strong>{self.inline(children)}</strong>"

    def quote(self, lines: Sequence[parley.Line | parley.Verbatim]) -> Sequence[parley.Line | parley.Verbatim]:
        return [parley.Line("<blockquote>" + "\n".join(line.text for line in lines) + "</blockquote>")]


@dataclass(frozen=True, slots=True)
class Drawing(parley.Drawn):
    html: str
    body: str = field(compare=False)
    """What clients without HTML show."""
    buttons: tuple[tuple[str, str, str], ...]
    """Of each: the reaction that presses it, its label, its data."""

    def content(self) -> dict[str, object]:
        """The message, which wakes nobody, and of whose links nobody fetches a preview (MSC4095)."""
        form = {"format": "org.matrix.custom.html", "formatted_body": self.html, "chat.parley.buttons": self.buttons}
        return {"msgtype": "m.text", "body": self.body, **form, "m.mentions": {}, "com.beeper.linkpreviews": []}


def draw(page: parley.Page) -> Drawing:
    signs = [pressed_by(button.label) for button in page.buttons]
    signs = signs if len(set(signs)) == len(signs) else [button.label.replace("\ufe0f", "") for button in page.buttons]
    buttons = tuple((sign, button.label, button.data) for sign, button in zip(signs, page.buttons, strict=True))
    below = [line.text for line in page.status] + [" · ".join(button.label for button in page.buttons)]
    html = page.plain and escape(page.body, quote=False)
    html = html or Html().document(parley.parse_markdown(page.body, final=page.final))
    if not html.strip() and not page.status:
        raise parley.Unrenderable("nothing in the page is visible")
    html = "\n".join([html, *(f"<em>{escape(line, quote=False)}</em>" for line in below if line)])
    drawing = Drawing(_broken(html), "\n".join([page.body, *below]).rstrip(), buttons)
    written = 2 * length(json.dumps(drawing.content(), ensure_ascii=False))
    if (over := max(length(page.body) - LONGEST, (written - LONGEST_EVENT + 3) // 4)) > 0:
        raise parley.TooLong("the page is too long", by=over)
    return drawing


def pressed_by(label: str) -> str:
    """The emoji that a label begins with, as clients send it; else the whole label."""
    sign = label.partition(" ")[0].replace("\ufe0f", "")
    return sign if sign and not any(one.isalnum() for one in sign) else label


def _broken(html: str) -> str:
    """Write each end of a line and each indent so that HTML shows them; code keeps its own."""
    pieces = re.split(r"(<pre>.*?</pre>)", html, flags=re.DOTALL)
    for number in range(0, len(pieces), 2):
        pieces[number] = re.sub(r"(?m)^ +", lambda found: "&nbsp;" * len(found[0]), pieces[number]).replace(
            "\n", "<br>"
        )
    return "".join(pieces)
