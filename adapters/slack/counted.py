"""Make the calls to Slack that no pacer controls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.errors import translate
from adapters.slack.limits import LOOK_HISTORY_WINDOW, LOOK_REPLIES_WINDOW
from bot.contract import Allowance, Clock, DeliveryError, RateLimited, Window


class Counted:
    """Calls one method, no more often than Slack allows in a workspace."""

    def __init__(self, method: Callable[..., Awaitable[AsyncSlackResponse]], window: Window, clock: Clock) -> None:
        self._method = method
        self._allowance = Allowance(window, clock)

    async def __call__(self, **wanted: Any) -> AsyncSlackResponse:
        """Make the call. Raises as the library, and on excess calls:

        Raises:
            DeliveryError: no call is left in this minute, or Slack refused it for now.
        """
        if not self._allowance.take():
            raise DeliveryError("Slack lets nothing more be looked up in this minute")
        try:
            return await self._method(**wanted)
        except Exception as error:
            if isinstance(refusal := translate(error), RateLimited):
                self._allowance.refused(refusal.retry_after)
                raise refusal from error
            raise
        finally:
            self._allowance.answered()


class Looks:
    """Looks for our messages whose posting had an unclear outcome, for all surfaces of a workspace."""

    def __init__(self, web: AsyncWebClient, clock: Clock) -> None:
        self.replies = Counted(web.conversations_replies, LOOK_REPLIES_WINDOW, clock)
        """In a thread."""
        self.history = Counted(web.conversations_history, LOOK_HISTORY_WINDOW, clock)
        """Beside threads."""
