"""Show a reply in a Telegram chat."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from telegram import Message
from telegram.constants import ChatAction
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from adapters.telegram.compat import RawBot
from adapters.telegram.drafts import DRAFT, Drafts
from adapters.telegram.limits import (
    BOT_WINDOW,
    CHAT_BURST,
    CHAT_RATE,
    DRAFT_LIMITS,
    GROUP_WINDOW,
    LIMITS,
    PHOTO_BYTES,
    PRESS_LIMITS,
)
from adapters.telegram.pages import DrawnHtml, draw
from adapters.telegram.request import NOT_SENT
from bot.contract import (
    Button,
    CallCost,
    DeliveryError,
    Drawn,
    File,
    MessageGone,
    MessageRef,
    Page,
    RateBudget,
    RateLimited,
    Refused,
    ReplyTarget,
    RightMissing,
    SurfaceLimits,
    TooLong,
    Unclear,
    Uneditable,
    Unreachable,
    Unrenderable,
    origin_of,
)

log = logging.getLogger(__name__)

_PHOTOS: Final = ("image/png", "image/jpeg", "image/webp")
RECEIPT: Final = "👀"
"""One of the reactions that Telegram allows bots: the message was seen."""


class TelegramSurface:
    """One chat or topic."""

    def __init__(self, bot: RawBot, target: ReplyTarget, drafts: Drafts | None = None) -> None:
        """
        Args:
            drafts: shows unfinished pages in a private chat.
        """
        self._bot = bot
        self._chat = int(str(target.data["chat"]))
        thread = target.data.get("thread")
        self._thread = int(str(thread)) if thread else None
        reply_to = target.data.get("reply_to")
        self._reply_to = int(str(reply_to)) if reply_to else None
        self._first: str | None = None
        """The nonce of the first message, which points at the question; a repost of the same page does, too."""
        self._group = bool(target.data.get("group"))
        of_bot = RateBudget(f"telegram:{bot.id}", windows=(BOT_WINDOW,), shared=True)
        scope = f"telegram:{bot.id}/chat/{self._chat}"
        if self._group:
            of_chat = RateBudget(scope, windows=(GROUP_WINDOW,), rate=CHAT_RATE, burst=CHAT_BURST)
        else:
            of_chat = RateBudget(scope, rate=CHAT_RATE, burst=CHAT_BURST)
        self._typing_cost = CallCost((of_bot,))
        self._post_cost = CallCost((of_chat, of_bot), repeats_safely=False)
        self._edit_cost = CallCost((of_chat, of_bot))
        # It is undocumented whether drafts use the budgets of messages: they are counted so.
        self._draft_cost = CallCost((of_chat, of_bot), passes=True)
        self._drafts = drafts if drafts is not None and not self._group and self._chat > 0 else None

    @property
    def limits(self) -> SurfaceLimits:
        return DRAFT_LIMITS if self._drafts is not None and self._drafts.possible else LIMITS

    def draw(self, page: Page) -> DrawnHtml:
        drawn = draw(page, LIMITS.hard_length)
        return drawn if page.final or not self.limits.passing_seconds else replace(drawn, live=True)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        if drawn is None:
            return self._typing_cost
        assert isinstance(drawn, DrawnHtml)
        if self._is_draft(drawn, at):
            return self._draft_cost
        return self._post_cost if at is None or at.form == DRAFT else self._edit_cost

    def _is_draft(self, drawn: DrawnHtml, at: MessageRef | None) -> bool:
        fresh = at is None or at.form == DRAFT
        return drawn.live and fresh and self._drafts is not None and self._drafts.possible

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, DrawnHtml)
        if self._drafts is not None and self._is_draft(drawn, at):
            draft = self._drafts.name(nonce, at)
            try:
                await self._drafts.show(self._chat, self._thread, draft, drawn)
            except Exception as error:
                raise self._drafts.failed(error, _translated(error)) from error
            return draft
        at = None if at is not None and at.form == DRAFT else at
        shown = {
            "chat_id": self._chat,
            "text": drawn.text,
            "parse_mode": drawn.mode,
            "entities": drawn.entities or None,
            "link_preview_options": {"is_disabled": True},
            # An edit without buttons removes the present ones.
            "reply_markup": _keyboard(drawn.buttons),
        }
        before = self._bot.numbers.newest(self._chat)
        try:
            if at is None:
                reply = self._first_reply(nonce)
                sent = await self._bot.call(
                    "sendMessage", **shown, message_thread_id=self._thread, reply_parameters=reply
                )
                self._first = nonce if self._first is None else self._first
                return MessageRef(str(sent["message_id"]))
            await self._bot.call("editMessageText", **shown, message_id=int(at.id))
            return at
        except Exception as error:
            if isinstance(error, BadRequest) and "not modified" in error.message.lower() and at is not None:
                return at
            if moved := self._elsewhere(error):
                raise moved from error
            problem = _translated(error) if at is None else _edit_failed(error)
            if at is None and isinstance(problem, Unclear):
                self._bot.numbers.lost.put((self._chat, nonce), (before, shown))
            raise problem from error

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if len(file.content) > LIMITS.attachment_bytes:
            raise TooLong(f"{file.name!r} is too large", by=len(file.content) - LIMITS.attachment_bytes)
        about: dict[str, Any] = {"filename": file.name, "message_thread_id": self._thread}
        if file.spoken:
            seconds = max(1, round(file.spoken))
            said = self._bot.send_voice(self._chat, file.content, duration=seconds, **about)
            # The person, or the group, accepts no voice messages: https://telegram.org/faq#privacy
            if ref := await self._posted(said, "a voice message is sent as a file"):
                return ref
        if file.media_type in _PHOTOS and len(file.content) <= PHOTO_BYTES:
            photo = self._bot.send_photo(self._chat, file.content, **about)
            # Too long and narrow, too many pixels, or damaged: as a document everything is accepted.
            if ref := await self._posted(photo, f"{file.name!r} is sent as a document"):
                return ref
        # Otherwise Opus may be taken for a voice message again.
        about["disable_content_type_detection"] = bool(file.spoken)
        ref = await self._posted(self._bot.send_document(self._chat, file.content, **about))
        assert ref is not None
        return ref

    async def _posted(self, sending: Awaitable[Message], instead: str = "") -> MessageRef | None:
        """Return the message of a file; None if Telegram refuses it in this form, and there is another one."""
        try:
            return MessageRef(str((await sending).message_id))
        except Exception as error:
            if moved := self._elsewhere(error):
                raise moved from error
            if not instead or not isinstance(error, BadRequest):
                raise _file_refused(error) from error
            log.info("telegram: %s: %s", instead, error.message[:200])
            return None

    async def remove(self, at: MessageRef) -> None:
        if at.form == DRAFT:
            return  # it disappears by itself
        try:
            await self._bot.delete_message(self._chat, int(at.id))
        except BadRequest:
            return
        except Exception as error:
            raise self._elsewhere(error) or _translated(error) from error

    async def typing(self, words: str) -> None:
        try:
            await self._bot.send_chat_action(self._chat, ChatAction.TYPING, message_thread_id=self._thread)
        except RetryAfter as error:
            # The chat is closed to everything, whatever was refused.
            raise _translated(error) from error
        except Exception as error:  # noqa: BLE001 - it is only a sign
            log.debug("telegram: typing was not shown (%s)", type(error).__name__)

    def receipt_cost(self, waits: bool) -> CallCost:
        # A reaction is not a message: it uses only the bot's calls.
        return self._typing_cost

    async def receipt(self, message_id: str, waits: bool) -> None:
        try:
            await self._bot.set_message_reaction(self._chat, int(message_id), RECEIPT if waits else None)
        except Exception as error:
            raise _translated(error) from error

    async def find(self, nonce: str) -> MessageRef | None:
        """Return the message of a post that this process made and whose answer was lost, by an edit that changes
        nothing; None if it is not there, or an earlier process made it."""
        above, shown = self._bot.numbers.lost.get((self._chat, nonce), (0, {}))
        for number in await self._bot.numbers.find_unknown(self._chat, above):
            if await self._is_ours(number, shown):
                self._bot.numbers.note({"message_id": number, "chat": {"id": self._chat}})
                return MessageRef(str(number))
        self._bot.numbers.lost.pop((self._chat, nonce), None)
        return None

    async def _is_ours(self, number: int, shown: Mapping[str, Any]) -> bool:
        """Return True if a message has this content, or takes it: then an earlier post of it was lost as well."""
        try:
            await self._bot.call("editMessageText", **shown, message_id=number)
        except BadRequest as error:
            return "not modified" in error.message.lower()
        except Exception as error:
            # Whatever passes is no answer to the question.
            problem = _translated(error)
            raise (Unclear(str(problem)) if type(problem) is DeliveryError else problem) from error
        return True

    def _elsewhere(self, error: Exception) -> DeliveryError | None:
        """Return the error of a call that may be repeated in another place: its group moved, or its topic was
        deleted."""
        if isinstance(error, ChatMigrated):
            self._chat = error.new_chat_id
            return DeliveryError(f"the group became a supergroup: {error.new_chat_id}")
        if isinstance(error, BadRequest) and self._thread and _NO_THREAD in error.message.lower():
            self._thread = None  # into the chat instead
            return DeliveryError("the topic of this chat does not exist any more")
        return None

    def _first_reply(self, nonce: str) -> dict[str, Any] | None:
        """Return the reply parameters that point a group reply's first message at the question."""
        later = self._first is not None and not (self._first and nonce.startswith(self._first))
        if self._reply_to is None or later:
            return None
        return {"message_id": self._reply_to, "allow_sending_without_reply": True}


class TelegramPressSurface(TelegramSurface):
    """The notice that answers the press of a button, which only the presser sees.

    https://core.telegram.org/bots/api#answercallbackquery
    """

    def __init__(self, bot: RawBot, target: ReplyTarget) -> None:
        super().__init__(bot, target)
        self._query = str(target.data["query"])

    @property
    def limits(self) -> SurfaceLimits:
        return PRESS_LIMITS

    def draw(self, page: Page) -> DrawnHtml:
        if len(page.body) > PRESS_LIMITS.hard_length:
            raise TooLong("a notice is too long", by=len(page.body) - PRESS_LIMITS.hard_length)
        return DrawnHtml(page.body, None)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        # It is not a message; a press is answered once, and a second answer changes nothing.
        return self._typing_cost if at is None else CallCost()

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, DrawnHtml)
        if at is None:
            try:
                await self._bot.answer_callback_query(self._query, drawn.text)
            except BadRequest as error:
                # Telegram waits only a few seconds.
                raise Unreachable(f"Telegram: {error.message[:200]}") from error
            except Exception as error:
                raise _translated(error) from error
        return MessageRef(self._query, "notice")


def _keyboard(buttons: tuple[Button, ...]) -> dict[str, Any] | None:
    if not buttons:
        return None
    # The buttons for one object share a row.
    rows = [[*row] for _, row in groupby(buttons, key=attrgetter("turn"))]
    return {"inline_keyboard": [[{"text": one.label, "callback_data": one.data} for one in row] for row in rows]}


_GONE: Final = ("message to edit not found", "message_id_invalid", "message to delete")
_NO_THREAD: Final = "message thread not found"
_NO_RIGHT: Final = (
    "have no rights",
    "not enough rights",
    "need administrator rights",
    "chat_admin_required",
    "chat_write_forbidden",
    "chat_send_plain_forbidden",
)
_LEFT_OUT: Final = (
    "bot was blocked",
    "bot was kicked",
    "is not a member",
    "chat was deleted",
    "is deactivated",
    "can't initiate conversation",
    "can't send messages to",
)
"""How Telegram describes other people's decisions, which no right of the bot changes."""
_CLOSED: Final = (
    "chat not found",
    "peer_id_invalid",
    "topic_closed",
    "topic_deleted",
    "chat_restricted",
    "chat_guest_send_forbidden",
    "group chat was deactivated",
    "user_is_blocked",
    "user_deactivated",
)
"""Errors after which nothing can be written for now: https://core.telegram.org/method/messages.sendMessage"""


def _translated(error: Exception) -> DeliveryError:
    """Translate a library error. `BadRequest` is a `NetworkError`, so it is matched first."""
    match error:
        case RetryAfter():
            return RateLimited("Telegram asks for a pause", retry_after=error.retry_after)
        case BadRequest():
            return _refused(error.message)
        case InvalidToken():
            said = f"TELEGRAM_BOT_TOKEN is refused by Telegram ({error.message[:200]})"
            return Refused(said, lasting=RightMissing(said))
        case Forbidden():
            return _forbidden(error.message)
        case TimedOut() | NetworkError():
            if isinstance(error.__cause__, NOT_SENT):
                return DeliveryError(f"no connection to Telegram ({type(error.__cause__).__name__})")
            if isinstance(error, NetworkError) and not isinstance(error, TimedOut) and error.__cause__ is None:
                # An answer came, with a status of 500 or more: the service itself says that it did not do it.
                return DeliveryError(f"Telegram fails: {error.message[:200]}")
            return Unclear(f"Telegram did not answer ({type(error.__cause__ or error).__name__})")
        case TelegramError() if type(error) is not TelegramError:
            return DeliveryError(f"Telegram: {type(error).__name__}")
        case _:
            # The call succeeded by its status; the library cannot read the answer.
            return Unclear(f"Telegram's answer cannot be read ({origin_of(error)})")


def _forbidden(said: str) -> DeliveryError:
    """Translate a Telegram prohibition by its words."""
    words, closed = said.lower(), Unreachable(f"Telegram: {said[:200]}")
    if any(other in words for other in (*_LEFT_OUT, *_CLOSED)):
        return closed
    missing = RightMissing(f"the bot lacks a right in this chat (Telegram: {said[:200]})")
    return missing if any(right in words for right in _NO_RIGHT) else Refused(str(closed), lasting=missing)


def _refused(said: str) -> DeliveryError:
    """Translate a Telegram refusal by its words."""
    words = said.lower()
    if "can't parse entities" in words or "unsupported start tag" in words:
        return Unrenderable(f"Telegram cannot read our markup: {said[:200]}")
    if any(gone in words for gone in _GONE):
        return MessageGone("the message does not exist any more")
    if "too long" in words or "too_long" in words:
        return TooLong("Telegram finds the page too long", by=LIMITS.hard_length // 8)
    if "message can't be edited" in words:
        return Uneditable("Telegram does not let the message be changed any more")
    if any(right in words for right in _NO_RIGHT):
        return RightMissing(f"the bot lacks the right to write in this chat (Telegram: {said[:200]})")
    if any(closed in words for closed in _CLOSED):
        return Unreachable(f"Telegram: {said[:200]}")
    if "empty" in words:
        return Unrenderable("Telegram finds the page empty")
    return Refused(f"Telegram refuses the page: {said[:200]}")


def _edit_failed(error: Exception) -> DeliveryError:
    """Translate a failed edit: after a gateway timeout Telegram may still make it."""
    problem = _translated(error)
    answered = type(error) is NetworkError and not isinstance(error.__cause__, NOT_SENT)
    return Unclear(str(problem)) if answered and type(problem) is DeliveryError else problem


def _file_refused(error: Exception) -> DeliveryError:
    """Translate a failed upload: a refusal of a file, however worded, is final."""
    words = error.message.lower() if isinstance(error, TelegramError) else ""
    if "too large" in words or "too big" in words:
        return TooLong("Telegram finds the file too large", by=1)
    problem = _translated(error)
    if isinstance(error, BadRequest) and isinstance(problem, Refused):
        return Unrenderable(f"Telegram does not take the file: {error.message[:200]}")
    return problem
