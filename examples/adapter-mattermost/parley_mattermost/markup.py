"""A page in Mattermost's Markdown, in which nothing wakes anybody and no address is fetched.

https://docs.mattermost.com/end-user-guide/collaborate/format-messages.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from parley_chat.adapter import Dialect, Inline, Line, Link, Style, Styled, Verbatim, text_of

GAP: Final = "\u200b"
"""A space without width: mentions are looked for in what is read, so no backslash keeps `@all` from waking people."""
_SIGN: Final = re.compile(r"[\\`*{}\[\]()#+\-.!_>~|]")
_LOADED: Final = re.compile(r"@|:(?=//)|:(?=[\w+-]+:)|&(?=#?\w+;)")
_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,40}")
_MARKS: Final[dict[Style, str]] = {"strong": "**", "emphasis": "_", "strike": "~~", "spoiler": ""}


class Mattermost(Dialect):
    bullet = "-"

    def text(self, text: str) -> str:
        return _LOADED.sub(rf"\g<0>{GAP}", _SIGN.sub(r"\\\g<0>", text))

    def code(self, text: str) -> str:
        fence = "`" * (_longest_run(text) + 1)
        pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
        return f"{fence}{pad}{text}{pad}{fence}" if text.strip() else text

    def styled(self, style: Style, children: Sequence[Inline]) -> str:
        flat = [part for one in children for part in (one.children if isinstance(one, Styled) else (one,))]
        inner, mark = self.inline(flat if len(flat) == len(children) == 1 else children), _MARKS[style]
        core = inner.strip()
        return inner.replace(core, f"{mark}{core}{mark}", 1) if core else inner

    def link(self, link: Link) -> str:
        label, mail = text_of(link.children).strip(), link.url.startswith("mailto:")
        if mail or not label or label == link.url:
            return self.text(label or link.url.removeprefix("mailto:")) if mail else f"<{link.url}>"
        return f"[{self.text(label)}](<{link.url}>)"

    def code_block(self, text: str, language: str) -> str:
        fence = "`" * max(3, _longest_run(text) + 1)
        return f"{fence}{language if _LANGUAGE.fullmatch(language) else ''}\n{text}\n{fence}"

    def heading(self, level: int, children: Sequence[Inline]) -> str:
        return f"{'#' * level} {' '.join(self.inline(children).split())}"

    def quote(self, lines: Sequence[Line | Verbatim]) -> Sequence[Line | Verbatim]:
        return [Line(f"> {part}") for line in lines for part in line.text.split("\n")]


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
