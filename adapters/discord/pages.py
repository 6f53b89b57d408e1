"""A page in Discord's form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import discord

from adapters.discord.limits import LIMITS
from adapters.discord.markdown import render, written
from bot.contract import Button, Drawn, Page, TooLong, Unrenderable

_MASKED: Final = re.compile(r"\[([^\[\]\n]*)\]\(<(https?://[^<>\s]*)>\)")
_ANGLE: Final = re.compile(r"<(https?://[^<>\s]*)>")
_ADDRESS: Final = re.compile(r"htt(ps?://)([^\s/<>()`]+)")
_URL: Final = re.compile(r"(?<!<)https?://[^\s<>)\]]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DrawnMarkdown(Drawn):
    """A page as it is sent to Discord."""

    text: str
    buttons: tuple[Button, ...] = ()


def draw_page(page: Page) -> DrawnMarkdown:
    """Draw a page. Raises as `Surface.draw`."""
    return DrawnMarkdown(rendered(page), page.buttons)


def view_of(buttons: tuple[Button, ...]) -> discord.ui.View | None:
    """Return the buttons in the library's form; None removes the present ones.

    No view is kept in memory: presses arrive as interactions, whichever process made the button.
    """
    if not buttons:
        return None
    view = discord.ui.View(timeout=None)
    for one in buttons:
        view.add_item(discord.ui.Button(label=one.label, custom_id=one.data))
    view.stop()
    return view


def rendered(page: Page) -> str:
    """Return the message content that shows a page.

    Raises:
        TooLong: it is longer than a message can be.
        Unrenderable: nothing in it can be shown.
    """
    status = "\n".join(f"-# {written(' '.join(line.text.split()))}" for line in page.status)
    body = _quiet(page.body) if page.plain else render(page.body, final=page.final).text
    if not body.strip() and not status:
        # Our notation draws nothing: the source says more than an empty message, which Discord refuses.
        body = _quiet(page.body)
    text = "\n".join(part for part in (body.strip(), status) if part)
    if not text:
        raise Unrenderable("the page is empty")
    if len(text) > LIMITS.hard_length:
        raise TooLong(f"a page has {len(text)} characters", by=len(text) - LIMITS.hard_length)
    return text


def _quiet(text: str) -> str:
    """Return a text with its addresses in angle brackets, which keeps Discord from fetching them."""
    return _URL.sub(r"<\g<0>>", text)


def without_links(text: str) -> str:
    """Return the content of a message with its addresses written so that they are none: `hxxps://a[.]example/b`."""
    text = _ANGLE.sub(r"\1", _MASKED.sub(r"\1 (\2)", text))
    return _ADDRESS.sub(lambda found: f"hxx{found[1]}{found[2].replace('.', '[.]')}", text)
