"""A page in Slack's form: its text in mrkdwn, and its buttons."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

from adapters.formatting.shortcodes import colons_of_names
from adapters.slack.limits import LIMITS
from adapters.slack.marks import look_alike
from adapters.slack.mrkdwn import escaped, render
from bot.contract import Button, Drawn, Page, Status, TooLong, Unrenderable

_MARK = re.compile(r"[*_~]")


@dataclasses.dataclass(frozen=True, slots=True)
class DrawnMrkdwn(Drawn):
    """A page as it is sent to Slack."""

    text: str
    whole: bool
    """The page need not be held back until it is final, as on surfaces whose messages can hardly be changed."""
    buttons: tuple[Button, ...] = ()
    grows: bool = False
    """More text will follow in it, without an edit."""
    cards: tuple[Status, ...] = ()
    """The cards of tool calls, above text that grows."""

    @property
    def said(self) -> str:
        return repr(dataclasses.replace(self, whole=True, grows=False, cards=()))


def draw_page(page: Page) -> DrawnMrkdwn:
    """Draw a page as an ordinary message. Raises as `Surface.draw`."""
    return drawn_of(page, whole=True)


def drawn_of(page: Page, *, whole: bool) -> DrawnMrkdwn:
    """Draw a page. Raises as `Surface.draw`."""
    cards = page.status if page.grows else ()
    return DrawnMrkdwn(_rendered(page), whole, page.buttons, grows=page.grows and not page.final, cards=cards)


def blocks_of(buttons: tuple[Button, ...]) -> list[dict[str, Any]]:
    """Return the buttons as blocks."""
    elements = [
        {"type": "button", "action_id": one.data, "text": {"type": "plain_text", "text": one.label, "emoji": True}}
        for one in buttons
    ]
    return [{"type": "actions", "elements": elements}] if elements else []


def attachments_of(buttons: tuple[Button, ...]) -> list[dict[str, Any]]:
    """Return the buttons as an attachment: as blocks of the message itself they would replace its text.

    https://docs.slack.dev/messaging/formatting-message-text
    """
    return [{"blocks": blocks}] if (blocks := blocks_of(buttons)) else []


def _rendered(page: Page) -> str:
    """Return the text as it is sent.

    Raises:
        TooLong: it is longer than an edit allows; counted in characters of the page, some of which grow fourfold.
        Unrenderable: nothing in it is visible.
    """
    body = escaped(page.body) if page.plain else render(page.body, final=page.final).text
    if not body.strip() and not page.status and not page.final:
        body = render(page.body).text  # all of it is the beginning of some markup: it is shown as it is
    status = "\n".join(_set_off(line.text) for line in page.status if line.text.strip() and not line.task)
    gap = "\n\n" if status and body.strip() else ""
    text = body + gap + status
    if len(text) > LIMITS.hard_length:
        over = len(text) - LIMITS.hard_length
        by = math.ceil(over * min(1.0, len(page.body) / max(1, len(body))))
        raise TooLong(f"a page has {len(text)} characters", by=max(1, by))
    if not text.strip():
        raise Unrenderable("the page shows nothing")
    return text


def _set_off(line: str) -> str:
    """Write a status line in italics; as code if it contains marks, which Slack cannot escape."""
    safe = escaped(" ".join(line.split()))
    if "`" in safe:
        return look_alike(safe)
    return f"`{safe}`" if _MARK.search(safe) or colons_of_names(safe) else f"_{safe}_"
