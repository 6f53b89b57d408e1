"""Forwards in channels, which Discord's client sends right before the comment on them.

Discord withholds the text of a message that does not mention the bot, so a forward is requested when its comment
mentions the bot, and any other stays unread.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

import discord

from adapters.discord.events import is_withheld, message_sent
from bot.contract import TOGETHER_SECONDS, Clock, LogThrottle, MessageSent, Newest, time_limit

log = logging.getLogger(__name__)

FindForward: TypeAlias = Callable[[], Awaitable[MessageSent]]
"""Asks Discord for a forward."""
_MOST: Final = 1_000
_SECONDS: Final = 3.0
"""The longest that a comment waits for its forward."""


class Forwards:
    """Knows each person's newest withheld forward in a channel; one for the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._newest: Newest[tuple[int, int], tuple[discord.Message, MessageSent]] = Newest(_MOST)
        self._withheld = LogThrottle(log, clock)

    def keep(self, message: discord.Message, sent: MessageSent) -> bool:
        """Return True for a forward that has no readable text and addresses nobody; it waits for a comment directly
        after it."""
        if not sent.beside or not is_withheld(sent.quoted):
            return False
        self._newest.put((message.channel.id, message.author.id), (message, sent))
        return True

    def before(self, comment: discord.Message, application: int, bot: int) -> FindForward | None:
        """Return a function that requests the forward of a comment; None if there is none."""
        kept = self._newest.pop((comment.channel.id, comment.author.id), None)
        if kept is None or (comment.created_at - kept[0].created_at).total_seconds() > TOGETHER_SECONDS:
            return None
        message, sent = kept

        async def find() -> MessageSent:
            try:
                async with time_limit(self._clock, _SECONDS):
                    found = await comment.channel.fetch_message(message.id)
                read = message_sent(found, application, bot)
            except Exception as error:  # noqa: BLE001 - the comment is a question also without it
                log.warning("discord: a forward could not be looked up: %s", type(error).__name__)
                return sent
            if read is None or is_withheld(read.quoted):
                self._withheld.warn(
                    "discord: Discord withholds what people forward with a comment to the bot; switch on the "
                    "Message Content Intent on the page Bot of the developer portal"
                )
                return sent
            return replace(sent, quoted=read.quoted)

        return find
