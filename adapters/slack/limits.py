"""Slack's limits: the length of a message, the size of a file, and how often each method may be called."""

from __future__ import annotations

from typing import Final

from bot.contract import Pace, SurfaceLimits, Window

LIMITS = SurfaceLimits(
    # `chat.update` refuses more than 4,000 characters of escaped text; the rest is room for rendering.
    page_length=3600,
    hard_length=4000,
    measure=len,
    # Slack accepts 1 GB; this is what one upload can send within the time of a call.
    attachment_bytes=50 * 1024 * 1024,
    # A status lasts two minutes or until the bot's next message in the thread.
    typing_seconds=30.0,
    typing_stays=True,
    unread=True,
    pace=Pace(apart=0.35, fresh=0.35, ahead=0.3),
    command_form="/parley {word}",
)

# Per method and workspace; the tiers are 50 and, for posts, some hundreds a minute, with one a second in a channel.
# https://docs.slack.dev/apis/web-api/rate-limits
UPDATE_WINDOW: Final = Window(48, 60.0)
POST_WINDOW: Final = Window(290, 60.0)
STATUS_WINDOW: Final = Window(285, 60.0)
"""Half of six hundred calls, as one that shows a status is followed by one that removes it."""
SESSION_WINDOW: Final = Window(24, 60.0)
"""`agents.sessions.setStatus` for beginnings: half of fifty calls, as each is followed by one that ends it."""
PROMPTS_WINDOW: Final = Window(95, 60.0)
"""`assistant.threads.setSuggestedPrompts`."""
STREAM_WINDOW: Final = Window(19, 60.0)
"""Streams that are started; as many are stopped."""
APPEND_WINDOW: Final = Window(95, 60.0)
STREAM_BYTES: Final = 10_000
"""The size of a stream: Slack refuses more than about 10,600."""
CARD_BYTES: Final = 72
MOST_CARDS: Final = 4
"""Cards of tools in a stream, each sent twice: with all of them it stays below Slack's limit."""
STREAM_SECONDS: Final = 300.0
"""Slack ends a stream after this time."""
SIGN_WINDOW: Final = Window(48, 60.0)
UNSIGN_WINDOW: Final = Window(19, 60.0)
PRIVATE_WINDOW: Final = Window(95, 60.0)
CHANNEL_RATE: Final = 1.0
# Slack allows fifty `conversations.replies` and as many `conversations.history` a minute.
REPLIES_WINDOW: Final = Window(24, 60.0)
"""For a thread's messages before a question."""
LOOK_REPLIES_WINDOW: Final = Window(14, 60.0)
"""For posts of unknown outcome in threads: after an outage there are many, and each one not found may come twice."""
LOOK_HISTORY_WINDOW: Final = Window(28, 60.0)
"""For posts of unknown outcome beside threads."""
MISSED_LISTS_WINDOW: Final = Window(20, 60.0)
"""For the conversations in which they may have written."""
MISSED_REPLIES_WINDOW: Final = Window(10, 60.0)
"""For what people wrote in threads while the bot was away."""
MISSED_HISTORY_WINDOW: Final = Window(20, 60.0)
"""For what they wrote beside threads."""
LOOKUP_WINDOW: Final = Window(95, 60.0)
"""`users.info`: Slack allows a hundred a minute in a workspace."""
RESPONSE_USES: Final = 5
"""How often the `response_url` of a command may be posted to."""
RESPONSE_SECONDS: Final = 29 * 60.0
"""A `response_url` works for 30 minutes. See: https://docs.slack.dev/interactivity/handling-user-interaction"""
