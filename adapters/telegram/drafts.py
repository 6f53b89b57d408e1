"""Answers in progress as drafts, which are not messages: https://core.telegram.org/bots/api#sendmessagedraft"""

from __future__ import annotations

import hashlib
import logging
from typing import Any, Final

from telegram import Bot, Chat, Update
from telegram.error import BadRequest, InvalidToken

from adapters.telegram.pages import DrawnHtml
from bot.contract import (
    ChatId,
    Control,
    ControlPressed,
    DeliveryError,
    MessageRef,
    RateLimited,
    Refused,
    ReplyTarget,
    Scalar,
    Sender,
)

log = logging.getLogger(__name__)

DRAFT: Final = "draft"
"""The form of a page that is shown as a draft."""
_MOST_FAILURES: Final = 5
"""Consecutive failures after which drafts are given up: the answers are still shown."""


class Drafts:
    """Shows drafts, as long as the Bot API server accepts them; one for the adapter."""

    def __init__(self, bot: Bot, *, wanted: bool) -> None:
        self._bot = bot
        self.possible = wanted
        self._failures = 0

    def name(self, nonce: str, at: MessageRef | None) -> MessageRef:
        """Return the draft id of a page: the same in the next process, so that the draft changes there and does not
        blink."""
        if at is not None:
            return at
        number = int.from_bytes(hashlib.blake2b(nonce.encode(), digest_size=4).digest()) >> 1
        return MessageRef(str(number or 1), DRAFT)

    async def show(self, chat: int, thread: int | None, draft: MessageRef, drawn: DrawnHtml) -> None:
        """Show or change a draft; with a stop button, if the server knows that.

        Raises:
            Exception: it was not shown.
        """
        await self._bot.send_message_draft(
            chat,
            int(draft.id),
            drawn.text,
            message_thread_id=thread,
            parse_mode=drawn.mode,
            entities=drawn.entities or None,
            # The stopped draft stays until the message replaces it.
            api_kwargs={"can_stop": True, "keep_on_stop": True},
        )
        self._failures = 0

    def failed(self, error: Exception, problem: DeliveryError) -> DeliveryError:
        """Give drafts up if a failure says that the server accepts none, and return the error for the call.

        Args:
            problem: the error that it would be for a message.
        """
        said = getattr(error, "message", type(error).__name__)
        self._failures += not isinstance(problem, RateLimited)
        # A server that does not know the method answers like one that does not know the token.
        unknown = isinstance(error, InvalidToken) and "unauthorized" not in said.lower()
        refused = unknown or (isinstance(error, BadRequest) and isinstance(problem, Refused))
        if not refused and self._failures < _MOST_FAILURES:
            return problem
        if self.possible:
            self.possible = False
            log.warning(
                "telegram: from now on answers are edited messages, not drafts: the Bot API server accepts no drafts "
                "(TELEGRAM_DRAFTS): %s",
                said[:200],
            )
        return DeliveryError("no drafts are shown here")


def draft_stopped(update: Update, stopped: dict[str, Any], bot: Bot) -> ControlPressed:
    """Read that a draft was stopped, which names no person: a private chat has one, with the chat's id.

    https://core.telegram.org/bots/api#messagegenerationstopped
    """
    chat = Chat.de_json(stopped["chat"], bot)
    topic = int(stopped.get("message_thread_id") or 0) or None
    place: dict[str, Scalar] = {"chat": chat.id, "thread": topic, "reply_to": None, "group": False}
    return ControlPressed(
        delivery=str(update.update_id),
        chat=ChatId("telegram", str(bot.id), str(chat.id), str(topic or "")),
        sender=Sender(id=f"telegram:{chat.id}", name=chat.full_name or ""),
        target=ReplyTarget("telegram", place),
        control=Control.STOP,
        turn=0,
    )
