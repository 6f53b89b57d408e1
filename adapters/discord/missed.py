"""What people wrote while no session of the bot listened: Discord keeps it in the channels and delivers it to nobody.

A new session learns each channel's newest message; where that is newer than the moment until which the bot heard
everything, the messages since then are requested. Direct messages are requested from the people who wrote lately:
Discord lists no bot's direct messages. A slash command is answered within three seconds or never, which its user reads.
https://docs.discord.com/developers/events/gateway-events#guild-create
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Sequence
from typing import Final

import discord
from discord.abc import Messageable
from discord.utils import time_snowflake

from adapters.discord.threads import PAGE
from bot.contract import Clock, FindLeftOff, LeftOff, StoreError, origin_of, time_limit

log = logging.getLogger(__name__)

SECONDS: Final = 60.0
"""For what was missed in one channel."""
_MOST_PAGES: Final = 5
"""Pages of one channel, the newest."""
_AT_ONCE: Final = 4
"""Requests at a time: Discord allows fifty a second, most of them for answers."""


class Missed:
    """What one connection missed. Ask `begin` before each new session."""

    def __init__(self, client: discord.Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._requests = asyncio.Semaphore(_AT_ONCE)
        self._left: LeftOff | None = None
        self.unknown = False
        """The store could not say until when everything was heard: a later start looks it up."""
        self.find: FindLeftOff | None = None
        """Set before the first session."""

    async def begin(self) -> None:
        """Note until when everything was heard, before anything new is."""
        try:
            self._left = await self.find() if self.find is not None else None
        except StoreError as error:
            log.warning("discord: what was written meanwhile is looked up later: %s", error)
            self.unknown, self._left = True, None

    def channels(self, guild: discord.Guild) -> list[int]:
        """Return the channels of a server where somebody wrote meanwhile, as far as the bot may read them."""
        if self._left is None:
            return []
        since = _snowflake(self._left.since)
        places: list[discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread]
        places = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads]
        return [one.id for one in places if (one.last_message_id or 0) > since and _may_read(one)]

    def direct_channels(self) -> list[int]:
        """Return the channels in which people wrote to the bot alone."""
        return [int(chat.chat) for chat in self._left.private] if self._left is not None else []

    async def read(self, channel: int) -> Sequence[discord.Message]:
        """Return the messages of a channel that came meanwhile, the oldest first; none if that fails."""
        left = self._left
        if left is None:
            return ()
        try:
            async with self._requests, time_limit(self._clock, SECONDS):
                place = self._client.get_channel(channel) or await self._client.fetch_channel(channel)
                if not isinstance(place, Messageable):
                    return ()
                return await _read(place, _snowflake(left.since))
        except Exception as error:  # noqa: BLE001 - whatever it is, new messages come in
            log.warning("discord: what was written in %s meanwhile may be missing: %s", channel, origin_of(error))
            return ()


async def _read(channel: Messageable, since: int) -> list[discord.Message]:
    found: list[discord.Message] = []
    before = None
    for _ in range(_MOST_PAGES):
        history = channel.history(limit=PAGE, before=before, after=discord.Object(since), oldest_first=False)
        page = [message async for message in history]
        found += page
        if len(page) < PAGE:
            break
        before = page[-1]
    return found[::-1]


def _snowflake(at: float) -> int:
    return time_snowflake(datetime.datetime.fromtimestamp(at, datetime.UTC))


def _may_read(channel: discord.abc.GuildChannel | discord.Thread) -> bool:
    """Return False if the bot is known not to be allowed to read a channel."""
    try:
        me = channel.guild.me
        mine = channel.permissions_for(me) if me is not None else None
    except discord.ClientException:
        return True  # the thread's channel is unknown
    return mine is None or (mine.view_channel and mine.read_message_history)
