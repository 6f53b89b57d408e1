"""Read what people wrote on Discord before a question: its thread, or the messages it replies to.

Discord withholds messages that do not mention the bot, unless the privileged message content intent is switched on in
the developer portal; that is enough for fetching messages.
https://discord.com/developers/docs/events/gateway#message-content-intent
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import discord
from discord.utils import time_snowflake

from adapters.discord.errors import translate
from adapters.discord.events import read_as_quoted
from adapters.discord.limits import BOT_WINDOW, CHANNEL_WINDOW
from adapters.discord.reading import titled
from bot.contract import CallCost, DeliveryError, MessageSent, Quoted, RateBudget, words

PAGE: Final = 100
"""As many messages as Discord returns at once."""
_NOTICES: Final = (discord.MessageType.default, discord.MessageType.reply, discord.MessageType.thread_starter_message)


class _Before:
    """Reads earlier messages of one channel."""

    def __init__(self, client: discord.Client, message: MessageSent, bot: int) -> None:
        self._message = message
        self._bot = bot
        channel = message.chat.thread or message.chat.chat
        self._channel = client.get_partial_messageable(int(channel))
        self._place = client.get_channel(int(channel))
        scope = f"discord:{client.application_id}"
        reads = RateBudget(f"{scope}/channel/{channel}/read", windows=(CHANNEL_WINDOW,))
        self.cost = CallCost((reads, RateBudget(scope, windows=(BOT_WINDOW,), shared=True)))

    def _read(self, messages: Sequence[discord.Message]) -> list[Quoted]:
        """Return the messages with text, except commands to the bot.

        Raises:
            DeliveryError: Discord withholds the text of all of them.
        """
        people = [one for one in messages if one.type in _NOTICES and not one.flags.ephemeral]
        found = [read_as_quoted(one, self._bot) for one in people]
        said = [
            replace(one, text=titled(one.text, message, self._place))
            for one, message in zip(found, people, strict=True)
            if one.text
        ]
        if found and not said and not any(one.attachments for one in people):
            raise DeliveryError(
                "Discord withholds the words of other people; switch on the Message Content Intent on the page Bot of "
                "the developer portal"
            )
        return [one for one in said if not (words.parse(one.text) or ("",))[0]]


class DiscordThread(_Before):
    """Reads the thread of a message, including the message that the thread was started from."""

    async def page(self, since: float, cursor: str) -> tuple[Sequence[Quoted], str]:
        after = (
            discord.Object(time_snowflake(datetime.datetime.fromtimestamp(since, datetime.UTC), high=True))
            if since
            else None
        )
        before = discord.Object(int(cursor or self._message.message_id))
        try:
            history = self._channel.history(limit=PAGE, before=before, after=after, oldest_first=False)
            messages = [one async for one in history]
        except Exception as error:
            raise translate(error) from error
        following = str(messages[-1].id) if len(messages) == PAGE else ""
        return self._read(messages), following


class DiscordReplies(_Before):
    """Reads the chain of replies that a question belongs to."""

    async def page(self, since: float, cursor: str) -> tuple[Sequence[Quoted], str]:
        quoted = self._message.quoted
        id = cursor or (quoted.message_id if quoted is not None else "")
        try:
            message = await self._channel.fetch_message(int(id))
        except Exception as error:
            raise translate(error) from error
        found = [] if cursor else [message]
        replied = message.reference.resolved if message.reference is not None else None
        following = ""
        # The bot's own words are in the history.
        if isinstance(replied, discord.Message) and replied.author.id != self._bot:
            found.append(replied)
            following = str(replied.id) if replied.type is discord.MessageType.reply else ""
        return self._read(found), following
