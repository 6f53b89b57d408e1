"""Show a reply in a Discord channel or thread, or as the answer to a slash command.

The answer to a slash command is written through its interaction's token, which lives for fifteen minutes; anything
later, or beyond its capacity, is an ordinary message.
https://discord.com/developers/docs/interactions/receiving-and-responding
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import io
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, cast

import discord

from adapters.discord.errors import FORBIDDEN, GONE, HARMFUL, HOOK_CLOSED, PauseAsked, file_refused, translate
from adapters.discord.limits import BOT_WINDOW, CHANNEL_WINDOW, HOOK_WINDOW, LIMITS, SIGN_WINDOW
from adapters.discord.ownthread import OwnThread, is_archived, open_again
from adapters.discord.pages import DrawnMarkdown, draw_page, view_of, without_links
from adapters.discord.slots import AnswerSlot
from bot.contract import (
    NEXT,
    PRESSED,
    CallCost,
    Clock,
    DeliveryError,
    Drawn,
    File,
    MessageGone,
    MessageRef,
    Page,
    RateBudget,
    RateLimited,
    ReplyTarget,
    TooLong,
    Unreachable,
    time_limit,
)

log = logging.getLogger(__name__)

RECEIPT: Final = "👀"
"""The reaction on a message that waits."""
CALL_SECONDS: Final = 60.0
"""Longer than the library waits inside a call: up to thirty seconds for a bucket that it knows to be empty."""
TOKEN_MARGIN: Final = 20.0
"""Seconds before its end at which an interaction's token is no longer used."""

_LOOKED_THROUGH: Final = 50
"""Messages after a slash command in which its answer is searched."""

_MESSAGE: Final = "message"
_ORIGINAL: Final = "original"
_FOLLOW_UP: Final = "follow-up"
_SILENT: Final = discord.AllowedMentions.none()


class _Way(enum.Enum):
    """The API call by which a page or file is sent."""

    ORIGINAL = enum.auto()
    """As the answer that the acknowledgement of a slash command began."""
    CHANNEL = enum.auto()
    """As a message of the bot."""
    FOLLOW_UP = enum.auto()
    """As a further answer to a slash command: at most five if the bot is not a member, and not deduplicated."""
    EDIT_HOOK = enum.auto()
    EDIT_CHANNEL = enum.auto()


class DiscordSurface:
    """One channel, or one answer to a slash command."""

    def __init__(
        self, client: discord.Client, target: ReplyTarget, clock: Clock, slot: AnswerSlot | None = None
    ) -> None:
        """
        Args:
            slot: shared by all surfaces of one slash command in this process; None: a former process's.
        """
        data = target.data
        self._client = client
        self._clock = clock
        channel = int(str(data["channel"]))
        self._channel = client.get_partial_messageable(channel)
        self._own = OwnThread.of(client, data)
        """The answer's thread, if it is not known to be open."""
        self._member = bool(data.get("member", True))
        reply_to = data.get("reply_to")
        self._reply_to = int(str(reply_to)) if reply_to else None
        self._first: str | None = None
        """The nonce of the first message, which points at the question; a repost of the same page does, too."""
        # The token of a press is for replies that only the presser sees: its answer slot is the pressed message itself.
        self._token = str(data.get("token") or "") if target.private or not data.get("pressed") else ""
        self._press_token = str(data.get("token") or "") if data.get("pressed") else ""
        """Reaches the pressed message, even if only one person sees it."""
        self._until = float(data.get("until") or 0.0)
        self._interaction = int(str(data.get("interaction") or 0))
        self._private_slot = bool(data.get("private_answer"))
        """Only the user of the slash command sees its answer slot."""
        self._private = bool(self._token) and (target.private or self._private_slot)
        """Only that person may see anything; without a slash command Discord has no way for it."""
        self._application = int(str(data.get("application") or 0))
        if slot is None:
            slot = AnswerSlot(self._until)
            slot.begun.set()
        self._slot = slot
        self._linkless = False
        self._lost = 0
        """Messages that somebody deleted."""
        bot = self._bot_scope = f"discord:{client.application_id}"
        of_bot = RateBudget(bot, windows=(BOT_WINDOW,), shared=True)
        of_hook = RateBudget(f"{bot}/interaction/{self._interaction}", windows=(HOOK_WINDOW,))
        limits = replace(LIMITS, typing_seconds=0.0) if self._token else LIMITS
        self.limits = replace(limits, unread=self._member and not self._private)
        of_typing = RateBudget(f"{bot}/channel/{channel}/typing", windows=(CHANNEL_WINDOW,))
        self._typing_cost = CallCost((of_bot, of_typing))
        of_signs = RateBudget(f"{bot}/channel/{channel}/reactions", windows=(SIGN_WINDOW,))
        self._receipt_cost = CallCost((of_signs, of_bot))
        self._costs = {
            _Way.ORIGINAL: CallCost((of_hook,)),
            _Way.EDIT_HOOK: CallCost((of_hook,)),
            _Way.FOLLOW_UP: CallCost((of_hook,), repeats_safely=False),
            # A nonce makes a repeated message the same message.
            _Way.CHANNEL: CallCost((RateBudget(f"{bot}/channel/{channel}/send", windows=(CHANNEL_WINDOW,)), of_bot)),
            _Way.EDIT_CHANNEL: CallCost(
                (RateBudget(f"{bot}/channel/{channel}/edit", windows=(CHANNEL_WINDOW,)), of_bot)
            ),
        }

    def draw(self, page: Page) -> DrawnMarkdown:
        return draw_page(page)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        if drawn is None:
            return self._typing_cost
        return self._costs[self._way(at) or _Way.CHANNEL]

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, DrawnMarkdown)
        if at is not None and at.form == _ORIGINAL:
            self._slot.free = False
        return await self._by_some_way(at, lambda way: self._put(way, drawn, at, nonce))

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if len(file.content) > LIMITS.attachment_bytes:
            raise TooLong(f"{file.name!r} is too large", by=len(file.content) - LIMITS.attachment_bytes)
        if after is not None:
            self._slot.free = False
        try:
            return await self._by_some_way(None, lambda way: self._put_file(way, file, nonce))
        except DeliveryError as error:
            raise file_refused(error) from error.__cause__

    async def remove(self, at: MessageRef) -> None:
        if at.form == _ORIGINAL:
            self._slot.free = False
        try:
            await self._by_some_way(at, lambda way: self._delete(way, at))
        except MessageGone:
            return

    async def typing(self, words: str) -> None:
        if self._hooked:
            return
        try:
            async with time_limit(self._clock, CALL_SECONDS):
                await self._settle()
                await self._channel.typing()
        except Exception as error:  # noqa: BLE001 - it is only a sign
            log.debug("discord: typing was not shown (%s)", type(error).__name__)

    def receipt_cost(self, waits: bool) -> CallCost:
        return self._receipt_cost

    async def receipt(self, message_id: str, waits: bool) -> None:
        channel = self._channel if self._own is None else self._own.parent
        message = channel.get_partial_message(int(message_id))
        try:
            async with time_limit(self._clock, CALL_SECONDS):
                if waits:
                    await message.add_reaction(RECEIPT)
                else:
                    await message.remove_reaction(RECEIPT, cast(discord.ClientUser, self._client.user))
        except Exception as error:
            raise translate(error) from error

    async def find(self, nonce: str) -> MessageRef | None:
        """Find the slash command's answer that an earlier process wrote; Discord matches other messages by nonce."""
        await self._slot.begun.wait()
        if not self._token or self._slot.free is False:
            return None
        try:
            async with time_limit(self._clock, CALL_SECONDS):
                return await self._find_answer()
        except Exception as error:  # noqa: BLE001 - the answer is written again, which repeats safely
            log.info("discord: an answer could not be looked up (%s)", type(error).__name__)
            return None

    async def _find_answer(self) -> MessageRef | None:
        """Find the content of the answer slot: through its token, and in the channel once that has expired."""
        if self._hooked:
            try:
                said = await self._look()
                return None if said is None or self._slot.free else MessageRef(str(said.id), _ORIGINAL)
            except discord.HTTPException as error:
                if not self._closes(_Way.ORIGINAL, error):
                    raise
        if self._private or not self._member:
            return None
        async for said in self._channel.history(limit=_LOOKED_THROUGH, after=discord.Object(self._interaction)):
            asked_by = said.interaction_metadata
            if asked_by is not None and asked_by.id == self._interaction and not said.flags.loading:
                self._slot.free = False
                return MessageRef(str(said.id), _MESSAGE)
        return None

    @property
    def _hooked(self) -> bool:
        """True while the slash command's answer can be written through its token."""
        return bool(self._token) and self._open

    @property
    def _open(self) -> bool:
        return not self._slot.closed and self._clock.wall() < self._until - TOKEN_MARGIN

    def _way(self, at: MessageRef | None) -> _Way | None:
        """Return the API call to use next; None if none is left."""
        if at is not None and at.form == PRESSED and self._press_token and self._open:
            return _Way.EDIT_HOOK
        if self._private:
            if not self._hooked:
                return None
            if at is not None:
                return _Way.EDIT_HOOK
            fresh = self._private_slot and self._slot.free is not False
            return _Way.ORIGINAL if fresh else _Way.FOLLOW_UP
        if at is not None and at.form == NEXT:
            at = replace(at, form=_MESSAGE if self._way(None) is _Way.CHANNEL else _ORIGINAL)
        if at is not None:
            if at.form != _MESSAGE and self._hooked:
                return _Way.EDIT_HOOK
            return _Way.EDIT_CHANNEL if self._member else None
        if self._hooked and self._slot.free is not False:
            return _Way.ORIGINAL
        if self._member:
            return _Way.CHANNEL
        return _Way.FOLLOW_UP if self._hooked else None

    async def _by_some_way(self, at: MessageRef | None, call: Callable[[_Way], Awaitable[MessageRef]]) -> MessageRef:
        """Make a call in the first way that Discord allows; each refusal rules one out, so this ends.

        Raises:
            DeliveryError: the acknowledgement was in flight and failed: a message uses other budgets.
        """
        if not self._slot.begun.is_set():
            await self._slot.begun.wait()
            if self._slot.closed and self._way(at) is not None:
                raise DeliveryError("the command was acknowledged too late: its answer will be a message")
        archived = False
        while True:
            way = self._way(at)
            if way is None:
                raise Unreachable(
                    "the slash command can be answered no longer, and the bot cannot write in its channel"
                )
            try:
                async with time_limit(self._clock, CALL_SECONDS):
                    if way is _Way.ORIGINAL and self._slot.free is None:
                        await self._look()
                        continue
                    await self._settle()
                    return await call(way)
            except Exception as error:
                if is_archived(error) and not archived:
                    archived = True
                    if await open_again(self._client, self._channel.id, self._clock):
                        continue
                if not self._closes(way, error):
                    failure = translate(error)
                    if isinstance(failure, MessageGone):
                        self._lost += 1
                    if isinstance(failure, RateLimited) and isinstance(error, PauseAsked) and error.everywhere:
                        failure.scope = self._bot_scope
                    raise failure from error

    async def _settle(self) -> None:
        """Open the thread of the answer; if that is not possible, answer in the channel."""
        if self._own is not None and not self._own.settled and not await self._own.open():
            self._channel, self._reply_to = self._own.parent, self._own.question

    def _closes(self, way: _Way, error: Exception) -> bool:
        """Rule out a refused way; return True if another may be left.

        Raises:
            DeliveryError: Discord does not know yet what it acknowledged.
        """
        code = error.code if isinstance(error, discord.HTTPException) else 0
        if way in (_Way.ORIGINAL, _Way.FOLLOW_UP, _Way.EDIT_HOOK) and code in HOOK_CLOSED:
            if self._slot.settles(self._clock.monotonic()):
                raise DeliveryError(f"Discord does not know the command's answer yet ({code})") from error
            self._slot.closed = True
            return True
        if way is _Way.ORIGINAL and code == GONE:
            self._slot.free = False
            return True
        if code == HARMFUL and not self._linkless:
            self._linkless = True
            return True
        if way is _Way.CHANNEL and code in FORBIDDEN:
            if self._reply_to is not None and self._first is None:
                # Pointing at the question needs the right to read the history; writing does not.
                self._reply_to = None
                return True
            if self._hooked:
                self._member = False
                return True
        return False

    async def _look(self) -> discord.Message | None:
        """Fetch the message in the answer slot and note whether it was written; return None if it is gone."""
        try:
            said = await self._hook.fetch_message(_at_original)
        except discord.NotFound as error:
            if error.code != GONE:
                raise
            self._slot.free = False
            return None
        self._slot.free = said.flags.loading
        return said

    async def _put(self, way: _Way, drawn: DrawnMarkdown, at: MessageRef | None, nonce: str) -> MessageRef:
        text, view = without_links(drawn.text) if self._linkless else drawn.text, view_of(drawn.buttons)
        match way:
            case _Way.ORIGINAL:
                sent = await self._hook.edit_message(_at_original, content=text, view=view, allowed_mentions=_SILENT)
                self._slot.free = False
                return MessageRef(str(sent.id), _ORIGINAL)
            case _Way.FOLLOW_UP:
                await self._leave_slot()
                made = await self._hook.send(
                    text,
                    view=view or discord.utils.MISSING,
                    wait=True,
                    allowed_mentions=_SILENT,
                    suppress_embeds=True,
                    ephemeral=self._private,
                )
                return MessageRef(str(made.id), _FOLLOW_UP)
            case _Way.CHANNEL:
                return await self._send(text, view, nonce)
        assert at is not None
        if way is _Way.EDIT_HOOK:
            await self._hook.edit_message(_hook_id(at), content=text, view=view, allowed_mentions=_SILENT)
        else:
            await self._partial(at).edit(content=text, view=view, allowed_mentions=_SILENT)
        return at

    async def _leave_slot(self) -> None:
        """Remove a public "thinking…": a private text cannot replace it, and the next message would."""
        if not self._private or self._private_slot or self._slot.free is False:
            return
        if self._slot.free is None:
            await self._look()
        if self._slot.free:
            with contextlib.suppress(discord.NotFound):
                await self._hook.delete_message(_at_original)
            self._slot.free = False

    async def _send(self, text: str, view: discord.ui.View | None, nonce: str) -> MessageRef:
        reference = None
        later = self._first is not None and not (self._first and nonce.startswith(self._first))
        if self._reply_to is not None and not later:
            reference = discord.MessageReference(
                message_id=self._reply_to, channel_id=self._channel.id, fail_if_not_exists=False
            )
        said = await self._channel.send(
            text,
            nonce=self._nonce(nonce),
            # The library's types have no None where its code does.
            view=cast(discord.ui.View, view),
            reference=cast(discord.MessageReference, reference),
            mention_author=False,
            allowed_mentions=_SILENT,
            suppress_embeds=True,
        )
        self._first = nonce if self._first is None else self._first
        ref = MessageRef(str(said.id))
        if said.content != text:
            # A former process sent this page when it was shorter: Discord returned that message.
            await self._partial(ref).edit(content=text, view=view, allowed_mentions=_SILENT)
        return ref

    async def _put_file(self, way: _Way, file: File, nonce: str) -> MessageRef:
        sending = discord.File(io.BytesIO(file.content), file.name)
        if way is _Way.ORIGINAL:
            changed = await self._hook.edit_message(_at_original, attachments=[sending], allowed_mentions=_SILENT)
            self._slot.free = False
            return MessageRef(str(changed.id), _ORIGINAL)
        if way is _Way.FOLLOW_UP:
            await self._leave_slot()
            made = await self._hook.send(file=sending, wait=True, allowed_mentions=_SILENT, ephemeral=self._private)
            return MessageRef(str(made.id), _FOLLOW_UP)
        said = await self._channel.send(file=sending, nonce=self._nonce(nonce), allowed_mentions=_SILENT)
        return MessageRef(str(said.id))

    async def _delete(self, way: _Way, at: MessageRef) -> MessageRef:
        if way is _Way.EDIT_HOOK:
            await self._hook.delete_message(_hook_id(at))
        else:
            await self._partial(at).delete()
        return at

    @property
    def _hook(self) -> discord.Webhook:
        hook = discord.Webhook.partial(self._application, self._token or self._press_token, client=self._client)
        # Only a webhook of an application can send private messages.
        hook.type = discord.WebhookType.application
        return hook

    def _partial(self, at: MessageRef) -> discord.PartialMessage:
        return self._channel.get_partial_message(int(at.id))

    def _nonce(self, name: str) -> str:
        """Return a page's nonce of at most 25 characters; the replacement of a deleted message gets a new one."""
        if not name:
            return secrets.token_hex(12)
        return hashlib.blake2b(f"{name}/{self._lost}".encode(), digest_size=12).hexdigest()


_at_original: Final = cast(int, "@original")
"""Discord's name for the answer that the acknowledgement began: it works without the message's id."""


def _hook_id(at: MessageRef) -> int:
    return _at_original if at.form in (_ORIGINAL, PRESSED) else int(at.id)
