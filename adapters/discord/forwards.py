"""Content that does not come with its message and is requested: withheld by Discord, or put into a file by its client.

A forward in a channel comes right before the comment on it, and is requested when the comment mentions the bot. A
message to the bot that names only its role, or replies to it without a mention, is requested at once. Of a message that
is too long, Discord's client makes the file `message.txt`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

import discord

from adapters.discord.events import is_withheld, message_sent
from bot.contract import TOGETHER_SECONDS, Clock, LogThrottle, MessageSent, time_limit
from tools.contract.newest import Newest

log = logging.getLogger(__name__)

FindMessage: TypeAlias = Callable[[], Awaitable[MessageSent]]
"""Asks Discord for a message."""
_MOST: Final = 1_000
_PASTE: Final = "message.txt"
_PASTE_BYTES: Final = 64_000
"""A longer paste stays a file, which the model reads in parts."""
_SECONDS: Final = 3.0
"""The longest that a question waits for its forward, or for its own content."""


class Forwards:
    """Knows each person's newest withheld forward in a channel, and requests what is withheld; one for the process."""

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

    def before(self, comment: discord.Message, application: int, bot: int) -> FindMessage | None:
        """Return a function that requests the forward of a comment; None if there is none."""
        kept = self._newest.pop((comment.channel.id, comment.author.id), None)
        if kept is None or (comment.created_at - kept[0].created_at).total_seconds() > TOGETHER_SECONDS:
            return None
        message, sent = kept

        async def find() -> MessageSent:
            found = await self._fetch(message, "a forward")
            if found is None:
                return sent
            read = message_sent(found, application, bot)
            if read is None or is_withheld(read.quoted):
                self._withheld.warn(
                    "discord: Discord withholds what people forward with a comment to the bot; switch on the "
                    "Message Content Intent on the page Bot of the developer portal"
                )
                return sent
            return replace(sent, quoted=read.quoted)

        return find

    def whole(
        self, message: discord.Message, sent: MessageSent, application: int, bot: int, *, threads: bool
    ) -> FindMessage:
        """Return a function that requests a message to the bot whose content is withheld.

        Args:
            threads: each question in a channel is answered in its own thread.
        """

        async def find() -> MessageSent:
            found = await self._fetch(message, "a message")
            return (message_sent(found, application, bot, threads=threads) if found is not None else None) or sent

        return find

    def paste(self, message: discord.Message, sent: MessageSent) -> FindMessage | None:
        """Return a function that requests the text of a message that a client put into a file; None for any other."""
        if sent.text or sent.command or len(message.attachments) != 1 or len(sent.enclosed) != 1:
            return None
        file = message.attachments[0]
        plain = (file.content_type or "").startswith("text/plain")
        if file.filename != _PASTE or not plain or file.size > _PASTE_BYTES:
            return None

        async def find() -> MessageSent:
            try:
                async with time_limit(self._clock, _SECONDS):
                    text = (await file.read()).decode().strip()
            except Exception as error:  # noqa: BLE001 - then it is a file like any other
                log.warning("discord: a pasted text could not be read: %s", type(error).__name__)
                return sent
            return replace(sent, text=text, enclosed=()) if text else sent

        return find

    async def _fetch(self, message: discord.Message, name: str) -> discord.Message | None:
        try:
            async with time_limit(self._clock, _SECONDS):
                return await message.channel.fetch_message(message.id)
        except Exception as error:  # noqa: BLE001 - the question is answered also without it
            log.warning("discord: %s could not be looked up: %s", name, type(error).__name__)
            return None
