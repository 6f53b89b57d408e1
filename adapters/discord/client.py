"""One gateway connection of a bot, and the handlers of its events."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import discord
from discord.abc import Snowflake
from discord.app_commands import Choice

from adapters.discord import compat
from adapters.discord.about import About, is_about
from adapters.discord.errors import refusals
from adapters.discord.events import (
    being_typed,
    chat_in,
    is_unplaced,
    is_unread,
    message_deleted,
    message_edited,
    message_sent,
)
from adapters.discord.forwards import Forwards
from adapters.discord.identifying import Identifying
from adapters.discord.intake import FindChat, Found, Intake
from adapters.discord.missed import Missed
from adapters.discord.reading import names_own_role
from bot.contract import ChatId, Clock, MessageSent, Suggest, origin_of

log = logging.getLogger(__name__)

INTENTS: Final = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
"""None of these is privileged: Discord shows messages to the bot, and withholds the text of others."""
_SUGGESTED: Final = 25
_SUGGESTION_CHARS: Final = 100
"""Characters of one suggestion. See the choices of
https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-autocomplete"""


class Client(discord.Client):
    """A discord.py client that caches no messages and passes on what arrives."""

    def __init__(
        self, threads: bool, identifying: Identifying, forwards: Forwards, clock: Clock, proxy: str | None = None
    ) -> None:
        """
        Args:
            forwards: knows the forwards in a channel, for a comment that may follow.
            proxy: the address of the proxy to Discord.
            threads: each question in a channel is answered in its own thread.
            identifying: called before a new session begins.
        """
        # Nobody speaks here: the operator need not read at each start what speaking would require.
        compat.expect_no_voice()
        super().__init__(
            intents=INTENTS,
            allowed_mentions=discord.AllowedMentions.none(),
            # Nothing is looked up in a cache, so nothing is cached.
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            # Longer waits come back as RateLimited, and other replies continue.
            max_ratelimit_timeout=30.0,
            guild_ready_timeout=0.1,
            http_trace=refusals(),
            proxy=proxy,
        )
        self.intake: Intake | None = None
        self.suggest: Suggest | None = None
        self._about = About()
        self._threads = threads
        self._identifying = identifying
        self._forwards = forwards
        self.missed = Missed(self, clock)
        self._connecting = False
        self.greeted = False
        """READY came since listening began."""
        self.connected = False
        """READY or RESUMED came, and the connection has not broken since."""
        self.sockets = compat.Sockets(self)
        compat.wrap_parsers(self, self._sparing)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait before a new session; the first one has waited when connecting."""
        await super().before_identify_hook(shard_id, initial=initial)
        if not initial:
            await self._identifying.wait(shard_id or 0)
        await self.missed.begin()

    async def connect(self, *, reconnect: bool = True) -> None:
        """Stay connected; however that ends, the client can reconnect, and make calls meanwhile."""
        self._connecting = True
        try:
            await super().connect(reconnect=reconnect)
        finally:
            self._connecting = self.connected = False

    async def close(self) -> None:
        """Close the client for good. The library also calls it when a connection ends, though replies in progress need
        the client."""
        if not self._connecting:
            await super().close()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Ignore events after closing: the library still dispatches some and has no loop for them."""
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """Log an error in a handler below without its data, which the library would print."""
        _leave_out(event_method, sys.exception())

    async def on_ready(self) -> None:
        self._catch_up(self.missed.direct_channels() if not self.shard_id else ())
        self.greeted = self.connected = True

    async def on_resumed(self) -> None:
        self.connected = True

    async def on_disconnect(self) -> None:
        self.connected = False

    # The library starts a task for each event, in the order of arrival; nothing may be awaited before it is queued.

    async def on_message(self, message: discord.Message) -> None:
        if self.intake is not None and (found := self._find(message)) is not None:
            self.intake.message(found)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        if self.intake is None:
            return
        if (edited := message_edited(payload.message, *self._ids, threads=self._threads)) is not None:
            self.intake.edited(edited, self._place_of(payload.message.channel))

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self._deleted(payload.channel_id, {payload.message_id})

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        self._deleted(payload.channel_id, payload.message_ids)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        if self.intake is None:
            return
        if is_about(interaction):
            await self._about.open(interaction, self._ids[1])
        elif (typed := being_typed(interaction)) is not None:
            await _offer(interaction, typed, self.suggest)
        else:
            self.intake.command(interaction, self._about.question(interaction), threads=self._threads)

    def _find(self, message: discord.Message) -> Found | None:
        """Return a message if it is for the bot; None for any other, and for a forward that waits for its comment."""
        sent = message_sent(message, *self._ids, threads=self._threads)
        if sent is None or self._forwards.keep(message, sent):
            return None
        whole = self._forwards.paste(message, sent)
        if is_unread(sent):
            if self._may_request():
                whole = self._forwards.whole(message, sent, *self._ids, threads=self._threads)
            elif not names_own_role(message, self._ids[1]):
                return None  # a reply without a mention may be a remark to others
        return Found(sent, self._place_of(message.channel), self._forwards.before(message, *self._ids), whole)

    def _may_request(self) -> bool:
        """Return True if Discord gives the content of messages that are requested: the intent is switched on."""
        granted = self.application_flags
        return granted.gateway_message_content or granted.gateway_message_content_limited

    def _catch_up(self, channels: Sequence[int]) -> None:
        async def read(channel: int) -> Sequence[Found]:
            missed = [self._find(message) for message in await self.missed.read(channel)]
            return [found for found in missed if found is not None]

        if self.intake is not None:
            for channel in channels:
                self.intake.missed(channel, partial(read, channel))

    def _deleted(self, channel: int, ids: set[int]) -> None:
        application, _ = self._ids
        place = self.get_channel(channel) or discord.Object(channel)
        apart = self._threads and isinstance(place, discord.TextChannel)
        if self.intake is not None:
            for id in sorted(ids):
                self.intake.deleted(message_deleted(id, place, application, apart=apart))

    def _place_of(self, channel: Snowflake) -> FindChat | None:
        """Return a function that asks Discord whether a channel is a thread, and of which channel; None if that is
        known."""
        if not is_unplaced(channel):
            return None

        async def find() -> ChatId:
            return chat_in(await self.fetch_channel(channel.id), self._ids[0])

        return find

    def _sparing(self, event: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap the library's parser of an event so that an exception does not close the gateway connection."""

        def read(data: Any) -> None:
            try:
                parse(data)
                # At once, so that what is written now in its channels waits for what was missed there.
                if event == "GUILD_CREATE" and (guild := self.get_guild(int(data["id"]))) is not None:
                    self._catch_up(self.missed.channels(guild))
            except Exception as error:  # noqa: BLE001 - whatever it is, only this part or event is lost
                if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and (part := compat.parse_without(parse, data)):
                    log.error("discord: %r of a message cannot be read and is left out: %s", part, origin_of(error))
                else:
                    _leave_out(event, error)

        return read

    @property
    def _ids(self) -> tuple[int, int]:
        """Return the ids of the application and of the bot: the same for all but the oldest bots."""
        bot = self.user.id if self.user is not None else 0
        return self.application_id or bot, bot


def _leave_out(event: str, error: BaseException | None) -> None:
    log.error("discord: an event %s cannot be read and is left out: %s", event, origin_of(error) if error else "")


async def _offer(interaction: discord.Interaction[Any], typed: MessageSent, suggest: Suggest | None) -> None:
    """Show suggestions of models and tools for the text typed so far.

    If that fails, the person reads that nothing could be loaded, and can continue: every text is accepted.
    """
    try:
        found = await suggest(typed) if suggest is not None else ()
        choices = [Choice(name=one, value=one) for one in found if len(one) <= _SUGGESTION_CHARS]
        await interaction.response.autocomplete(choices[:_SUGGESTED])
    except Exception as error:  # noqa: BLE001 - the next letter asks again
        log.info("discord: nothing could be suggested: %s", origin_of(error))
