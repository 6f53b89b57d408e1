"""Telegram: updates by long polling or webhook → `Incoming`, pages → messages edited in place.

Facts about the Bot API: https://core.telegram.org/bots/api, limits: https://core.telegram.org/bots/faq.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from typing import Any, BinaryIO, Final

from adapters.telegram import library  # noqa: F401  # isort: skip  # before anything else of it
from telegram import WebhookInfo
from telegram.error import BadRequest, Conflict, InvalidToken, RetryAfter, TelegramError

from adapters import Finding
from adapters.settings import TelegramSettings
from adapters.telegram.compat import POLL_SECONDS, STOPPED, UPDATES, RawBot
from adapters.telegram.drafts import Drafts
from adapters.telegram.request import AiohttpRequest
from adapters.telegram.surface import TelegramPressSurface, TelegramSurface
from adapters.telegram.updates import meant_for
from adapters.telegram.webhook import TelegramEntrance, secret_of
from bot.contract import (
    BotError,
    Clock,
    Contested,
    Deliver,
    DeliveryError,
    Entrance,
    LogThrottle,
    MessageSent,
    ReplyTarget,
    SettingsError,
    StoreError,
    Surface,
    SystemClock,
    TooLong,
    Unreachable,
    bound_pause,
    words,
)
from bot.sentences import say
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

_STORE_PAUSE: Final = 1.0
"""Seconds before updates that could not be stored are fetched again."""
_FORMER_SECONDS: Final = 60.0
"""How long Telegram may remember the long poll of a dead process of ours, and refuse ours meanwhile."""
_FORMER_PAUSE: Final = 1.0
_WATCH_SECONDS: Final = 10.0
"""How often the state of our webhook is checked."""
_WATCH_AGAIN: Final = 3.0
"""The same, while Telegram cannot post there."""


def open_adapter(settings: TelegramSettings) -> TelegramAdapter:
    """Return the adapter for one bot token."""
    return TelegramAdapter(settings)


class TelegramAdapter:
    """One bot account."""

    platform = "telegram"

    def __init__(self, settings: TelegramSettings, clock: Clock | None = None) -> None:
        # The library's waits as timedelta, as in its next major version; otherwise each one warns.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        root = settings.telegram_api_base_url.rstrip("/")
        self._clock = clock or SystemClock()
        self._requests = AiohttpRequest(root, self._clock, connections=64, read_timeout=20.0)
        # Long polls have a separate connection pool, so that they never hold up a reply.
        self._token = settings.telegram_bot_token.get_secret_value()
        self._bot = RawBot(
            self._token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._requests,
            get_updates_request=AiohttpRequest(root, self._clock, connections=1, read_timeout=POLL_SECONDS + 3.0),
        )
        self._drafts = Drafts(self._bot, wanted=settings.telegram_drafts)
        self._kinds = [*UPDATES, STOPPED] if settings.telegram_drafts else UPDATES
        self._root = root
        self._webhook = settings.telegram_webhook_url
        self._secret = secret_of(self._token)
        self.entrance: Entrance | None = None
        self.listening = self._silent = False
        """`_silent`: the last poll was not answered, so nothing is known until the next one is."""
        self._taken_over_at = float("-inf")
        self._rivals = LogThrottle(log, self._clock)
        self._troubles = LogThrottle(log, self._clock)

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

    async def __aexit__(self, *_: object) -> None:
        await end_tasks(self._greeting)
        await self._bot.shutdown()

    def surface(self, target: ReplyTarget) -> Surface:
        pressed = target.private and "query" in target.data
        return TelegramPressSurface(self._bot, target) if pressed else TelegramSurface(self._bot, target, self._drafts)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        """See `Adapter.fetch`; Telegram lets bots read files of 20 MB. https://core.telegram.org/bots/api#getfile"""
        try:
            file = await self._bot.get_file(source)
        except TelegramError as error:
            raise DeliveryError(f"Telegram gives no file ({type(error).__name__})") from None
        if (file.file_size or 0) > most:
            raise TooLong(f"a file has {file.file_size:,} bytes", by=(file.file_size or 0) - most)
        await self._requests.download(file.file_path or "", into, most)

    def earlier(self, message: MessageSent) -> None:
        """Return None: a bot cannot read earlier messages on Telegram."""

    @property
    def conflicts(self) -> int:
        return self._rivals.recent

    @property
    def account(self) -> str:
        """Empty with a webhook: any number of processes can receive posts; see `Sole`."""
        return "" if self._webhook else str(self._bot.id)

    def take_over(self) -> None:
        self._taken_over_at = self._clock.monotonic()

    async def listen(self, deliver: Deliver) -> None:
        """Receive updates by polling or webhook; one is confirmed only after it was stored."""
        try:
            if self._webhook:
                await self._await_posts(deliver)
            else:
                await self._leave_webhook()
                await self._poll(deliver)
        finally:
            self.listening, self.entrance = False, None

    async def _await_posts(self, deliver: Deliver) -> None:
        """Let Telegram post updates, and check now and then whether it can. If it cannot, nothing arrives until it has
        posted one.

        The webhook stays when listening ends: updates meanwhile are refused, and Telegram posts them again.
        """
        posted_at = self._clock.wall()

        async def take_post(updates: list[dict[str, Any]]) -> bool:
            nonlocal posted_at
            posted_at = self._clock.wall()
            self._silent, self.listening = False, True
            return await self._take_in(updates, deliver)

        self.entrance = TelegramEntrance(self._secret, take_post)
        await self._set_webhook()
        self.listening = not self._silent
        while True:
            await self._clock.sleep(_WATCH_AGAIN if self._silent else _WATCH_SECONDS)
            try:
                hook = await self._bot.get_webhook_info()
            except InvalidToken as error:
                raise self._trouble(error) from None
            except TelegramError as error:
                log.debug("telegram: the webhook could not be checked (%s)", type(error).__name__)
                continue
            if hook.url != self._webhook:
                self._rivals.warn(
                    "telegram: another program has taken the webhook away with the same TELEGRAM_BOT_TOKEN, and gets "
                    "what people write: end it, or make another bot for one of the two"
                )
                raise Contested("another program receives with the same TELEGRAM_BOT_TOKEN")
            failed = hook.last_error_date.timestamp() if hook.last_error_date else 0.0
            if self._silent and not hook.pending_update_count:
                self._silent, self.listening = False, True
            elif not self._silent and hook.pending_update_count and failed > posted_at:
                self._silent = True
                raise Unreachable(f"Telegram cannot post to {hook.url} ({hook.last_error_message})")

    async def _set_webhook(self) -> None:
        """Register our address with Telegram, as soon as its limits allow.

        Raises:
            SettingsError: the token was revoked.
            Unreachable: Telegram does not answer, or refuses the address.
        """
        while True:
            try:
                await self._bot.set_webhook(
                    self._webhook, secret_token=self._secret, allowed_updates=self._kinds, drop_pending_updates=False
                )
                return
            except RetryAfter as error:
                await self._rest(error)
            except BadRequest as error:
                raise Unreachable(f"Telegram refuses {self._webhook} ({error.message[:200]})") from None
            except TelegramError as error:
                raise self._trouble(error) from None

    async def _poll(self, deliver: Deliver) -> None:
        offset = 0
        while True:
            self.listening = not self._silent
            try:
                updates = await self._bot.raw_updates(offset, self._kinds, 0 if self._silent else POLL_SECONDS)
            except Conflict as error:
                if self._clock.monotonic() - self._taken_over_at < _FORMER_SECONDS:
                    self.listening = False
                    await self._clock.sleep(_FORMER_PAUSE)
                    continue
                # Telegram ends the older of two long polls, or a webhook was set: never our own former process.
                self._rivals.warn(
                    "telegram: another program receives with the same TELEGRAM_BOT_TOKEN, and answers part of what "
                    f"people write: end it, or make another bot for one of the two ({error.message[:200]})"
                )
                raise Contested("another program receives with the same TELEGRAM_BOT_TOKEN") from None
            except RetryAfter as error:
                await self._rest(error)
                continue
            except TelegramError as error:
                self._silent = True
                raise self._trouble(error) from None
            self._silent = False
            if await self._take_in(updates, deliver):
                offset = max((update["update_id"] + 1 for update in updates), default=offset)
            else:
                await self._clock.sleep(_STORE_PAUSE)

    async def _rest(self, error: RetryAfter) -> None:
        """Wait as long as Telegram demands."""
        seconds, self.listening = bound_pause(error.retry_after), False
        log.warning("telegram: nothing is received for %.0f s, as Telegram demands", seconds)
        await self._clock.sleep(seconds)

    def _trouble(self, error: TelegramError) -> BotError:
        """Return why nothing is received."""
        if isinstance(error, InvalidToken):
            return SettingsError("TELEGRAM_BOT_TOKEN was revoked: copy the new one from BotFather")
        return Unreachable(f"Telegram at {self._root} does not answer ({type(error).__name__})")

    async def _take_in(self, updates: list[dict[str, Any]], deliver: Deliver) -> bool:
        """Store a batch concurrently, in order; return False if something could not be stored, so that Telegram sends
        it again."""
        for update in updates:
            self._bot.numbers.note(update.get("message"))
        wanted = meant_for(self._bot, updates)
        outcomes = await asyncio.gather(*(deliver(one) for one in wanted), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, StoreError):
                self._troubles.warn(f"telegram: updates could not be stored and will come again: {outcome}")
                return False
            if isinstance(outcome, BaseException):
                raise outcome
        return True

    async def _leave_webhook(self) -> None:
        """Delete an earlier webhook, which would make Telegram refuse every poll."""
        try:
            await self._bot.delete_webhook()
        except TelegramError as error:
            log.warning("telegram: the webhook could not be removed: %s", type(error).__name__)

    async def _announce(self) -> None:
        """Register the commands, so that Telegram offers them while a person types; a failure is ignored."""
        try:
            for language in ("", "zh"):
                menu = [
                    (one.word, say(f"command_{one.word}", language)) for one in words.COMMANDS if one.word != "pair"
                ]
                await self._bot.set_my_commands(menu, language_code=language or None)
        except TelegramError as error:
            log.info("telegram: the command list could not be set (%s)", type(error).__name__)


async def check(settings: TelegramSettings) -> list[Finding]:
    """Check the token, and report what the bot can read."""
    adapter = TelegramAdapter(settings)
    async with adapter:
        bot = adapter._bot
        me = await bot.get_me()
        findings = [Finding.ok(f"the token works; the bot is @{me.username}")]
        if not me.can_read_all_group_messages:
            # BotFather says that mentions arrive; Telegram's own list has none, and many report that they do not.
            # https://core.telegram.org/bots/features#privacy-mode
            findings.append(
                Finding.note(
                    "in groups replies and commands reach it; mentions may not while privacy mode is on: choose "
                    "Disable at BotFather's /setprivacy, then remove the bot from the group and add it again"
                )
            )
        findings.append(_receiving(await bot.get_webhook_info(), settings))
    return findings


def _receiving(hook: WebhookInfo, settings: TelegramSettings) -> Finding:
    """Describe how updates arrive, and what prevents it."""
    told = f"receives {settings.receives}"
    if not settings.by_web:
        return (
            Finding.note(f"{told}; a webhook is set, and removed when the bot starts") if hook.url else Finding.ok(told)
        )
    if hook.url == settings.telegram_webhook_url and hook.last_error_message:
        waiting = f"; {hook.pending_update_count} wait there" if hook.pending_update_count else ""
        return Finding.bad(f"{told}, but Telegram could not post there: {hook.last_error_message}{waiting}")
    if hook.url == settings.telegram_webhook_url:
        return Finding.ok(told)
    return Finding.note(f"{told}: its webhook is set when the bot starts")
