"""Discord's limits: the length of a message, the size of a file, and how often each route may be called."""

from __future__ import annotations

from typing import Final

from bot.contract import Pace, SurfaceLimits, Window

LIMITS = SurfaceLimits(
    # 2000 characters; the rest is room for escapes and for the status lines.
    page_length=1850,
    hard_length=2000,
    measure=len,
    attachment_bytes=10 * 1024 * 1024,
    # The sign lasts ten seconds.
    typing_seconds=8.0,
    collapses=True,
    unread=True,
    pace=Pace(apart=0.35, fresh=0.35, ahead=0.3),
)
# Discord promises only its headers; bots observe five in five seconds for each channel, sends and edits separately, and
# five in two seconds for an interaction. The library returns from the call that uses the last one only when the window
# is over (though it makes it at once): the pacer leaves that one to the end of a reply. In all, fifty a second: none is
# left for the library's own requests, which it makes while it connects, before a message can come; and each call counts
# until a second after its answer, so the few others find room. https://discord.com/developers/docs/topics/rate-limits
CHANNEL_WINDOW: Final = Window(5, 5.0)
HOOK_WINDOW: Final = Window(5, 2.0)
SIGN_WINDOW: Final = Window(1, 0.3)
"""Reactions, which a bot can change four times a second in a channel."""
BOT_WINDOW: Final = Window(50, 1.0)
