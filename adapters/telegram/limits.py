"""Telegram's limits: the length of a message, the size of a file, and how often it may be called."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.contract import Pace, SurfaceLimits, Window, utf16_length

LIMITS = SurfaceLimits(
    # 4096 UTF-16 units without the markup; the rest is room for rendering.
    page_length=3600,
    hard_length=4096,
    measure=utf16_length,
    attachment_bytes=50 * 1024 * 1024,
    collapses=True,
    unread=True,
    pace=Pace(apart=0.35, fresh=0.35, ahead=0.3),
    # A chat action lasts five seconds or until a message arrives.
    typing_seconds=4.5,
    # https://core.telegram.org/bots/api#sendvoice
    sound="opus",
)

DRAFT_LIMITS: Final = replace(LIMITS, passing_seconds=20.0)
"""For answers shown as drafts: a draft disappears after thirty seconds, and its next call may have to wait."""

PRESS_LIMITS: Final = SurfaceLimits(200, 200, utf16_length, typing_seconds=0.0)
"""A notice that answers the press of a button. https://core.telegram.org/bots/api#answercallbackquery"""

# One message a second in a chat, with short bursts; 20 a minute in a group; about 30 a second in all. A call counts
# until a second after its answer, so that thirty-one never meet, however calls bunch up on the way. Edits share these
# limits with sends. https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
CHAT_RATE: Final = 1.0
CHAT_BURST: Final = 3
GROUP_WINDOW: Final = Window(20, 60.0)
BOT_WINDOW: Final = Window(30, 1.0)
PHOTO_BYTES: Final = 10 * 1024 * 1024
"""The largest picture that Telegram accepts as a photo; a larger one is sent as a document."""
