"""Discord events, stored in order: one after another in a channel, channels in parallel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

import aiohttp
import discord

from adapters.discord.errors import HOOK_CLOSED
from adapters.discord.events import button_pressed, command_used
from adapters.discord.forwards import FindMessage
from adapters.discord.slots import AnswerSlot
from bot.contract import (
    Backoff,
    ChatId,
    Clock,
    ControlPressed,
    Deliver,
    Incoming,
    LogThrottle,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    StoreError,
    done_within,
    time_limit,
)
from tools.programs.cancelling import begin_in, end_tasks

log = logging.getLogger(__name__)

FindChat: TypeAlias = Callable[[], Awaitable[ChatId]]
"""Asks Discord for the chat of a message."""


class Found(NamedTuple):
    """Something for the bot, and what must be requested to complete it."""

    sent: Incoming
    find: FindChat | None = None
    """Returns its chat, if that must be requested."""
    forward: FindMessage | None = None
    """Returns the forward that it comments on."""
    whole: FindMessage | None = None
    """Returns it with its content, which Discord withholds."""


STORE_PATIENCE: Final = 1.0
"""Seconds a slash command waits for the database before it is acknowledged anyway: Discord allows three in all."""
ACKNOWLEDGE_SECONDS: Final = 10.0
_ALREADY_ACKNOWLEDGED: Final = 40060


@dataclass(eq=False, repr=False, kw_only=True)
class Intake:
    """Stores what arrives, in the order of arrival in each channel, and acknowledges slash commands in time."""

    deliver: Deliver
    clock: Clock
    slots: dict[int, AnswerSlot]
    """The answer slots of slash commands, for the surfaces that will write them."""
    rivals: LogThrottle
    """Called when another program answers something that came to this one."""
    _last: dict[str, asyncio.Task[bool]] = field(default_factory=dict, init=False)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set, init=False)
    _dropped: bool = field(default=False, init=False)

    def message(self, found: Found) -> None:
        """Store a new message for the bot."""
        self._take(found)

    def missed(self, channel: int, read: Callable[[], Awaitable[Sequence[Found]]]) -> None:
        """Store what was missed in a channel, before what arrives there from now on."""

        async def store(before: asyncio.Task[bool] | None) -> bool:
            if before is not None:
                await asyncio.wait({before})
            stored = [await self._store(found, None) for found in await read()]
            return all(stored)

        self._chain(str(channel), store, f"missed in {channel}")

    def edited(self, edited: MessageEdited, find: FindChat | None = None) -> None:
        """Store an edit of a message for the bot."""
        self._take(Found(edited, find))

    def deleted(self, deleted: MessageDeleted) -> None:
        """Store the deletion of a message, if it was for the bot."""
        self._take(Found(deleted))

    def command(
        self, interaction: discord.Interaction[Any], asked: MessageSent | None = None, *, threads: bool = False
    ) -> None:
        """Store a question of a form, a slash command or the press of a button, then acknowledge it."""
        sent = asked or command_used(interaction, threads=threads) or button_pressed(interaction)
        if sent is None:
            return
        pressed = isinstance(sent, ControlPressed)
        now = self.clock.wall()
        while self.slots and self.slots[oldest := next(iter(self.slots))].until < now:
            del self.slots[oldest]
        # A resumed connection may bring it again when its answer is already written.
        again = interaction.id in self.slots
        slot = self.slots.setdefault(interaction.id, AnswerSlot(interaction.expires_at.timestamp(), free=not pressed))
        storing = self._take(Found(sent), patient=False)
        # A press is acknowledged without a sign: its effect is visible in the message.
        thinking = None if pressed else bool(sent.target.data["private_answer"])
        acknowledging = self._acknowledge(interaction, storing, slot, again, thinking)
        begin_in(self._tasks, acknowledging, f"acknowledge {interaction.id}")

    @property
    def busy(self) -> bool:
        """An arrival is not stored yet."""
        return bool(self._tasks) or self._dropped

    async def close(self, seconds: float = 2.0) -> None:
        """Wait until every arrival is stored, and drop what is not stored in time."""
        await done_within(self.clock, self._tasks, seconds)
        self._dropped = self._dropped or bool(self._tasks)
        await end_tasks(*self._tasks)

    def _take(self, found: Found, *, patient: bool = True) -> asyncio.Task[bool]:
        chat = found.sent.chat
        return self._chain(
            chat.thread or chat.chat,
            lambda before: self._store(found, before, patient=patient),
            f"store {found.sent.delivery}",
        )

    def _chain(
        self, chat: str, work: Callable[[asyncio.Task[bool] | None], Coroutine[Any, Any, bool]], name: str
    ) -> asyncio.Task[bool]:
        """Begin work that is given the latest one of its channel, to wait for it."""
        task = begin_in(self._tasks, work(self._last.get(chat)), name)
        self._last[chat] = task

        def forget(done: asyncio.Task[bool]) -> None:
            if self._last.get(chat) is done:
                del self._last[chat]

        task.add_done_callback(forget)
        return task

    async def _store(self, found: Found, before: asyncio.Task[bool] | None, *, patient: bool = True) -> bool:
        """Store one delivery after the earlier ones of its channel.

        A message that cannot be stored is retried, since Discord does not deliver it a second time; a slash command is
        not (`patient=False`): Discord itself tells the person that it was not answered.
        """
        if before is not None:
            await asyncio.wait({before})
        backoff = Backoff(self.clock, endless=False)
        while True:
            try:
                if found.whole is not None:
                    found = found._replace(sent=await found.whole(), whole=None)
                if found.find is not None:
                    found = found._replace(sent=replace(found.sent, chat=await found.find()), find=None)
                if found.forward is not None:
                    await self.deliver(replace(await found.forward(), chat=found.sent.chat))
                    found = found._replace(forward=None)
                await self.deliver(found.sent)
            except (StoreError, discord.DiscordException, aiohttp.ClientError, OSError) as error:
                if not patient or (pause := next(backoff, None)) is None:
                    log.error("discord: %s could not be stored: %s", found.sent.delivery, error)
                    return False
                log.warning("discord: %s could not be stored yet: %s", found.sent.delivery, error)
                await self.clock.sleep(pause)
            else:
                return True

    async def _acknowledge(
        self,
        interaction: discord.Interaction[Any],
        storing: asyncio.Task[bool],
        slot: AnswerSlot,
        again: bool,
        thinking: bool | None,
    ) -> None:
        """
        Args:
            thinking: the user of a slash command sees that the bot thinks: alone, or like everybody; None: nobody sees
                it.
        """
        try:
            stored = await done_within(self.clock, {storing}, STORE_PATIENCE)
            if not stored or storing.result():
                async with time_limit(self.clock, ACKNOWLEDGE_SECONDS):
                    await interaction.response.defer(thinking=thinking is not None, ephemeral=bool(thinking))
                slot.acknowledged = self.clock.monotonic()
        except Exception as error:  # noqa: BLE001 - whatever the library made of the answer
            # The turn is still answered: the surface writes into the channel.
            code = error.code if isinstance(error, discord.HTTPException) else 0
            slot.closed = slot.closed or code in HOOK_CLOSED
            if code != _ALREADY_ACKNOWLEDGED:
                log.warning("discord: a slash command could not be acknowledged: %s", type(error).__name__)
            elif not again:
                # Every program with the token gets every command and message; the first one has the answer.
                self.rivals.warn(
                    "discord: another program receives with the same DISCORD_BOT_TOKEN, and both answer what people "
                    "write: end it, or make another application for one of the two"
                )
        finally:
            slot.begun.set()
        if interaction.response.is_done() and not await storing and thinking is not None:
            await _withdraw(interaction)


async def _withdraw(interaction: discord.Interaction[Any]) -> None:
    """Remove "thinking…" for a command that could not be stored and so is not answered."""
    try:
        await interaction.delete_original_response()
    except Exception as error:  # noqa: BLE001 - then it stands there, and Discord takes it away
        log.info("discord: an acknowledgement could not be taken back: %s", type(error).__name__)
