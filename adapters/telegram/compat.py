"""The only place where python-telegram-bot offers no public way: raw updates, and calls without its objects."""

from __future__ import annotations

from typing import Any, Final

from telegram import Bot
from telegram.error import TelegramError

from adapters.telegram.numbers import Numbers

POLL_SECONDS: Final = 10
UPDATES: Final = ["message", "edited_message", "callback_query"]
"""The requested kinds of updates."""
STOPPED: Final = "stopped_message_generation"
"""Somebody stopped a draft; requested if there are drafts."""


class RawBot(Bot):
    """The library's `Bot` with raw updates and raw calls.

    It would reject a whole batch for one malformed update, and building its objects costs more than the call itself.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The library lets nobody set an attribute of its own.
        object.__setattr__(self, "numbers", Numbers())

    numbers: Numbers
    """The messages that this process has seen."""

    async def call(self, method: str, **fields: Any) -> Any:
        """Call a method of the Bot API and return its result as JSON; a field that is None is not sent.

        Raises:
            TelegramError: as every call of the library.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        if method != "sendMessage":
            return await self._post(method, given)
        with self.numbers.posting(given["chat_id"]):
            posted = await self._post(method, given)
            self.numbers.note(posted)
        return posted

    async def raw_updates(self, offset: int, kinds: list[str], seconds: int = POLL_SECONDS) -> list[dict[str, Any]]:
        """Return the updates from `offset` on as JSON, waiting so long for the first.

        Raises:
            TelegramError: as every call of the library; also if the answer is not a list of updates.
        """
        asked = {"offset": offset, "timeout": seconds, "allowed_updates": kinds, "limit": 100}
        # Its public `do_api_request` warns at each poll that `get_updates` exists.
        updates = await self._post("getUpdates", asked)
        if not isinstance(updates, list) or not all(
            isinstance(one, dict) and isinstance(one.get("update_id"), int) for one in updates
        ):
            raise TelegramError("Telegram answered with something else than updates")
        return updates
