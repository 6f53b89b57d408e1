"""Telegram: updates by long polling → `Incoming`, pages → messages that are edited in place.

Facts about the Bot API: https://core.telegram.org/bots/api, limits: https://core.telegram.org/bots/faq.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final

from telegram import Bot, LinkPreviewOptions, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from adapters import Finding
from adapters.settings import TelegramSettings
from adapters.telegram_pages import Drawn, drawn
from adapters.telegram_request import NOT_SENT, AiohttpRequest
from adapters.telegram_updates import meant_for
from bot import commands
from bot.clock import Clock, SystemClock
from bot.errors import (
    Contested,
    DeliveryError,
    MessageGone,
    RateLimited,
    SettingsError,
    StoreError,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
    origin_of,
    pause,
)
from bot.measures import utf16_length
from bot.messages import File, MessageRef, MessageSent, Page, ReplyTarget
from bot.sentences import say
from bot.surface import Budget, Cost, Deliver, Surface, SurfaceLimits, Window
from bot.throttle import LogThrottle

log = logging.getLogger(__name__)

LIMITS = SurfaceLimits(
    # 4096 UTF-16 units after the markup is taken away; the rest is room for what rendering adds.
    page_length=3600,
    hard_length=4096,
    measure=utf16_length,
    attachment_bytes=50 * 1024 * 1024,
    collapses=True,
    # A chat action lasts five seconds or until a message arrives.
    typing_seconds=4.5,
)
# One message a second in a chat, short bursts pass; 20 a minute in a group; about 30 a second over all. A call counts
# until a second after its answer, so that however calls bunch up on the way, thirty-one never meet. Edits share these
# with sends. https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
CHAT_RATE: Final = 1.0
CHAT_BURST: Final = 3
GROUP_WINDOW: Final = Window(20, 60.0)
BOT_WINDOW: Final = Window(30, 1.0)

_NOTHING: Final = Cost()
"""The message looks like the page already: no call is made."""

POLL_SECONDS: Final = 10
_UPDATES: Final = ["message", "edited_message"]
_PHOTOS: Final = ("image/png", "image/jpeg", "image/webp")
_PHOTO_BYTES: Final = 10 * 1024 * 1024
_STORE_PAUSE: Final = 1.0
"""Seconds before updates that could not be stored are fetched again."""


def open_adapter(settings: TelegramSettings) -> TelegramAdapter:
    """The adapter for one bot token."""
    return TelegramAdapter(settings)


class _Bot(Bot):
    """The library's bot, and updates as they came: which the library reads all or, for a bad one, none."""

    async def raw_updates(self, offset: int) -> list[dict[str, Any]]:
        """The updates from `offset` on, as JSON; waits for the first.

        Raises:
            TelegramError: as every call of the library; also when the answer is no list of updates.
        """
        asked = {"offset": offset, "timeout": POLL_SECONDS, "allowed_updates": _UPDATES, "limit": 100}
        updates = await self._post("getUpdates", asked)
        if not isinstance(updates, list) or not all(
            isinstance(one, dict) and isinstance(one.get("update_id"), int) for one in updates
        ):
            raise TelegramError("Telegram answered with something else than updates")
        return updates


class TelegramAdapter:
    """One bot account."""

    platform = "telegram"

    def __init__(self, settings: TelegramSettings, clock: Clock | None = None) -> None:
        # The library's waits as timedelta, as they will be in its next major version; else each one warns.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        root = settings.telegram_api_base_url.rstrip("/")
        # Long polls have a connection pool of their own, so that they never hold up a reply.
        self._bot = _Bot(
            settings.telegram_bot_token.get_secret_value(),
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=AiohttpRequest(root, connections=64, read_timeout=20.0),
            get_updates_request=AiohttpRequest(root, connections=1, read_timeout=POLL_SECONDS + 10.0),
        )
        self._root = root
        self._greeting: asyncio.Task[None] | None = None
        self.listening = False
        self._rivals = LogThrottle(log, clock or SystemClock())

    async def __aenter__(self) -> TelegramAdapter:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._bot.shutdown)
            try:
                await self._bot.initialize()
            except InvalidToken:
                raise SettingsError("TELEGRAM_BOT_TOKEN is refused by Telegram: copy it again from BotFather") from None
            except TelegramError as error:
                raise Unreachable(f"Telegram at {self._root} does not answer ({type(error).__name__})") from None
            stack.pop_all()
        self._greeting = asyncio.create_task(self._announce(), name="telegram commands")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._greeting is not None:
            self._greeting.cancel()
            await asyncio.gather(self._greeting, return_exceptions=True)
        await self._bot.shutdown()

    def surface(self, target: ReplyTarget) -> Surface:
        return TelegramSurface(self._bot, target)

    def earlier(self, message: MessageSent) -> None:
        """Telegram shows a bot no message but those that it is sent."""

    @property
    def conflicts(self) -> int:
        return self._rivals.recent

    async def listen(self, deliver: Deliver) -> None:
        """Poll for updates; one is confirmed only by the poll after it was stored."""
        await self._leave_webhook()
        try:
            await self._poll(deliver)
        finally:
            self.listening = False

    async def _poll(self, deliver: Deliver) -> None:
        offset = 0
        while True:
            self.listening = True
            try:
                updates = await self._bot.raw_updates(offset)
            except Conflict as error:
                # Telegram ends the older of two long polls, or a webhook was set: never our own former process.
                self._rivals.warn(
                    "telegram: another program receives with the same TELEGRAM_BOT_TOKEN, and answers part of what "
                    f"people write: end it, or make another bot for one of the two ({error.message[:200]})"
                )
                raise Contested("another program receives with the same TELEGRAM_BOT_TOKEN") from None
            except RetryAfter as error:
                seconds, self.listening = pause(error.retry_after), False
                log.warning("telegram: nothing is received for %.0f s, as Telegram asks for", seconds)
                await asyncio.sleep(seconds)
                continue
            except InvalidToken:
                raise SettingsError("TELEGRAM_BOT_TOKEN was revoked: copy the new one from BotFather") from None
            except TelegramError as error:
                raise Unreachable(f"Telegram at {self._root} does not answer ({type(error).__name__})") from None
            if await self._take_in(updates, deliver):
                offset = max((update["update_id"] + 1 for update in updates), default=offset)
            else:
                await asyncio.sleep(_STORE_PAUSE)

    async def _take_in(self, updates: list[dict[str, Any]], deliver: Deliver) -> bool:
        """Store a batch side by side, in order; False when something could not be stored: it comes again."""
        wanted = meant_for(self._bot, updates)
        outcomes = await asyncio.gather(*(deliver(one) for one in wanted), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, StoreError):
                log.error("telegram: updates could not be stored and will be fetched again: %s", outcome)
                return False
            if isinstance(outcome, BaseException):
                raise outcome
        return True

    async def _leave_webhook(self) -> None:
        """A webhook that was set once would refuse every poll."""
        try:
            await self._bot.delete_webhook()
        except TelegramError as error:
            log.warning("telegram: the webhook could not be removed: %s", type(error).__name__)

    async def _announce(self) -> None:
        """Let Telegram offer the commands while a person types; nothing depends on it."""
        try:
            for language in ("", "zh"):
                words = [
                    (one.word, say(f"command_{one.word}", language)) for one in commands.COMMANDS if one.word != "pair"
                ]
                await self._bot.set_my_commands(words, language_code=language or None)
        except TelegramError as error:
            log.info("telegram: the command list could not be set (%s)", type(error).__name__)


RECEIPT: Final = "👀"
"""One of the reactions that Telegram lets a bot use: the message was seen."""


class TelegramSurface:
    """One chat or topic."""

    def __init__(self, bot: Bot, target: ReplyTarget) -> None:
        self._bot = bot
        self._chat = int(str(target.data["chat"]))
        thread = target.data.get("thread")
        self._thread = int(str(thread)) if thread else None
        reply_to = target.data.get("reply_to")
        self._reply_to = int(str(reply_to)) if reply_to else None
        self._group = bool(target.data.get("group"))
        self._shown: dict[str, str] = {}
        """Message id → what it shows, so that the same text is never sent twice."""
        self._rendered: tuple[Page, Drawn] | None = None
        of_bot = Budget(f"telegram:{bot.id}", windows=(BOT_WINDOW,), shared=True)
        scope = f"telegram:{bot.id}/chat/{self._chat}"
        if self._group:
            of_chat = Budget(scope, windows=(GROUP_WINDOW,), rate=CHAT_RATE, burst=CHAT_BURST)
        else:
            of_chat = Budget(scope, rate=CHAT_RATE, burst=CHAT_BURST)
        self._typing_cost = Cost((of_bot,))
        self._post_cost = Cost((of_chat, of_bot), repeats_safely=False)
        self._edit_cost = Cost((of_chat, of_bot))

    @property
    def limits(self) -> SurfaceLimits:
        return LIMITS

    def cost(self, page: Page | None, at: MessageRef | None) -> Cost:
        if page is None:
            return self._typing_cost
        if at is None:
            return self._post_cost
        try:
            same = self._shown.get(at.id) == self._drawn(page).text
        except (TooLong, Unrenderable):
            same = False
        return _NOTHING if same else self._edit_cost

    async def show(self, page: Page, at: MessageRef | None, nonce: str = "") -> MessageRef:
        look = self._drawn(page)
        text = look.text
        if at is not None and self._shown.get(at.id) == text:
            return at
        preview = LinkPreviewOptions(is_disabled=True)
        try:
            if at is None:
                sent = await self._bot.send_message(
                    self._chat,
                    text,
                    parse_mode=look.mode,
                    entities=look.entities or None,
                    message_thread_id=self._thread,
                    link_preview_options=preview,
                    reply_parameters=self._first_reply(),
                )
                self._reply_to = None
                ref = MessageRef(str(sent.message_id))
            else:
                await self._bot.edit_message_text(
                    text,
                    self._chat,
                    int(at.id),
                    parse_mode=look.mode,
                    entities=look.entities or None,
                    link_preview_options=preview,
                )
                ref = at
        except Exception as error:
            if isinstance(error, BadRequest) and "not modified" in error.message.lower() and at is not None:
                ref = at
            elif isinstance(error, ChatMigrated):
                self._chat = error.new_chat_id
                raise DeliveryError(f"the group became a supergroup: {error.new_chat_id}") from error
            else:
                raise (_translated(error) if at is None else _edit_failed(error)) from error
        self._shown[ref.id] = text
        return ref

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if len(file.content) > LIMITS.attachment_bytes:
            raise TooLong(f"{file.name!r} is too large", by=len(file.content) - LIMITS.attachment_bytes)
        if file.media_type in _PHOTOS and len(file.content) <= _PHOTO_BYTES:
            try:
                sent = await self._bot.send_photo(
                    self._chat, file.content, filename=file.name, message_thread_id=self._thread
                )
                return MessageRef(str(sent.message_id))
            except BadRequest as error:
                # Too long and narrow, too many pixels, or not whole: as a document everything goes.
                log.info("telegram: %r goes as a document: %s", file.name, error.message[:200])
            except Exception as error:
                raise _file_refused(error) from error
        try:
            sent = await self._bot.send_document(
                self._chat, file.content, filename=file.name, message_thread_id=self._thread
            )
            return MessageRef(str(sent.message_id))
        except Exception as error:
            raise _file_refused(error) from error

    async def remove(self, at: MessageRef) -> None:
        try:
            await self._bot.delete_message(self._chat, int(at.id))
        except BadRequest:
            return
        except Exception as error:
            raise _translated(error) from error

    async def typing(self, words: str) -> None:
        try:
            await self._bot.send_chat_action(self._chat, ChatAction.TYPING, message_thread_id=self._thread)
        except RetryAfter as error:
            # The chat is closed to everything, whatever was refused.
            raise _translated(error) from error
        except Exception as error:  # noqa: BLE001 - it is only a sign
            log.debug("telegram: typing was not shown (%s)", type(error).__name__)

    def receipt_cost(self, waits: bool) -> Cost:
        # A reaction is no message: it draws on the bot's calls alone.
        return self._typing_cost

    async def receipt(self, message_id: str, waits: bool) -> None:
        try:
            await self._bot.set_message_reaction(self._chat, int(message_id), RECEIPT if waits else None)
        except Exception as error:
            raise _translated(error) from error

    async def find(self, nonce: str) -> MessageRef | None:
        """Telegram offers no way to look a message up."""
        return None

    def _drawn(self, page: Page) -> Drawn:
        """The page as it is sent; rendered once for `cost` and `show`."""
        if self._rendered is None or self._rendered[0] != page:
            self._rendered = (page, drawn(page, LIMITS.hard_length))
        return self._rendered[1]

    def _first_reply(self) -> ReplyParameters | None:
        """In a group the reply's first message points at the question."""
        if self._reply_to is None:
            return None
        return ReplyParameters(self._reply_to, allow_sending_without_reply=True)


_GONE: Final = ("message to edit not found", "message can't be edited", "message_id_invalid", "message to delete")


def _translated(error: Exception) -> DeliveryError:
    """A library's error as the core knows it. `BadRequest` is a `NetworkError`, so it is asked first."""
    match error:
        case RetryAfter():
            return RateLimited("Telegram asks for a pause", retry_after=error.retry_after)
        case BadRequest():
            words = error.message.lower()
            if "can't parse entities" in words or "unsupported start tag" in words:
                return Unrenderable(f"Telegram cannot read our markup: {error.message[:200]}")
            if any(gone in words for gone in _GONE):
                return MessageGone("the message does not exist any more")
            if "too long" in words or "too_long" in words:
                return TooLong("Telegram finds the page too long", by=LIMITS.hard_length // 8)
            if "chat not found" in words or "peer_id_invalid" in words or "have no rights" in words:
                return Unreachable(f"Telegram: {error.message[:200]}")
            if "empty" in words:
                return Unrenderable("Telegram finds the page empty")
            return DeliveryError(f"Telegram refuses the page: {error.message[:200]}")
        case Forbidden():
            return Unreachable(f"Telegram: {error.message[:200]}")
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
            # The call succeeded as far as its status says; the library cannot read the answer.
            return Unclear(f"Telegram's answer cannot be read ({origin_of(error)})")


def _edit_failed(error: Exception) -> DeliveryError:
    """The same for an edit, which may be repeated: one that a gateway gave up may still be made behind it."""
    problem = _translated(error)
    answered = type(error) is NetworkError and not isinstance(error.__cause__, NOT_SENT)
    return Unclear(str(problem)) if answered and type(problem) is DeliveryError else problem


def _file_refused(error: Exception) -> DeliveryError:
    """The same for a file, which Telegram refuses for good in many words: none of them changes by asking again."""
    words = error.message.lower() if isinstance(error, TelegramError) else ""
    if "too large" in words or "too big" in words:
        return TooLong("Telegram finds the file too large", by=1)
    problem = _translated(error)
    if isinstance(error, BadRequest) and type(problem) is DeliveryError:
        return Unrenderable(f"Telegram does not take the file: {error.message[:200]}")
    return problem


async def check(settings: TelegramSettings) -> list[Finding]:
    """Whether the token works, and what the bot is allowed to read."""
    adapter = TelegramAdapter(settings)
    async with adapter:
        bot = adapter._bot
        me = await bot.get_me()
        findings = [Finding(True, f"the token works; the bot is @{me.username}")]
        if not me.can_read_all_group_messages:
            findings.append(
                Finding(True, "in groups it sees mentions, replies and commands (privacy mode is on, as it should be)")
            )
        hook = await bot.get_webhook_info()
        if hook.url:
            findings.append(Finding(True, "a webhook is set; it is removed when the bot starts, because it polls"))
    return findings
