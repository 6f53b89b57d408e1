"""Render pages for Telegram as HTML or as plain text, without unwanted links."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace

from telegram import MessageEntity
from telegram.constants import ParseMode

from adapters.telegram.html import MOST_ENTITIES, render
from adapters.telegram.limits import LIMITS
from adapters.telegram.live import defang, live_parts
from bot.contract import Button, Drawn, Page, TooLong, Unrenderable, utf16_length


@dataclass(frozen=True, slots=True)
class DrawnHtml(Drawn):
    """A page as it is sent to Telegram."""

    text: str
    mode: ParseMode | None
    """How Telegram must parse it."""
    entities: tuple[MessageEntity, ...] = ()
    """The code parts of a text without markup."""
    buttons: tuple[Button, ...] = ()
    live: bool = False
    """It is shown as a draft, which does not replace a message with the same text."""

    @property
    def said(self) -> str:
        return repr(replace(self, live=False))


def draw_page(page: Page) -> DrawnHtml:
    """Draw a page as an ordinary message. Raises as `draw`."""
    return draw(page, LIMITS.hard_length)


def draw(page: Page, limit: int) -> DrawnHtml:
    """Render a page of at most `limit` visible UTF-16 units.

    Raises:
        TooLong: it would show more.
        Unrenderable: it would show nothing.
    """
    status = "\n".join(line.text for line in page.status)
    gap = "\n\n" if status and page.body.strip() else ""
    entities: tuple[MessageEntity, ...] = ()
    if page.plain:
        text, mode = f"{page.body}{gap}{status}".strip(), None
        text, entities = _inert(text)
        length = utf16_length(text)
    else:
        done = render(page.body, final=page.final)
        if not done.text.strip() and not status and not page.final:
            done = render(page.body)  # all of it is the beginning of some markup: it is shown as it is
        text, mode, length = done.text, ParseMode.HTML, done.length
        if status:
            text += gap + _status(status)
            length += utf16_length(gap + status)
    if not text.strip():
        raise Unrenderable("the page shows nothing")
    if length > limit:
        raise TooLong(f"a page shows {length} units", by=length - limit)
    return DrawnHtml(text, mode, entities, page.buttons)


def _inert(text: str) -> tuple[str, tuple[MessageEntity, ...]]:
    """Return plain text, and the parts of it that must be code to prevent links."""
    parts = list(live_parts(text))
    if len(parts) > MOST_ENTITIES:
        return defang(text), ()
    return text, tuple(
        MessageEntity(MessageEntity.CODE, utf16_length(text[:start]), utf16_length(text[start:end]))
        for start, end in parts
    )


def _status(line: str) -> str:
    """Write status lines in italics, with parts that would become links as code."""
    shown: list[str] = []
    at = 0
    for start, end in [*live_parts(line), (len(line), len(line))]:
        if line[at:start]:
            shown.append(f"<i>{html.escape(line[at:start], quote=False)}</i>")
        if line[start:end]:
            shown.append(f"<code>{html.escape(line[start:end], quote=False)}</code>")
        at = end
    return "".join(shown)
