"""The client for Slack's Web API that the adapter's parts share."""

from __future__ import annotations

import asyncio
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.errors import TOKEN, error_code


class Client(AsyncWebClient):
    """Notices when Slack refuses the token: nothing else does, since a Socket Mode connection belongs to the app."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.doubted = asyncio.Event()
        """Set when a call was refused for its token, which may be a single odd answer."""

    async def api_call(self, api_method: str, **options: Any) -> AsyncSlackResponse:
        try:
            return await super().api_call(api_method, **options)
        except Exception as error:
            if error_code(error) in TOKEN and not api_method.startswith("apps."):
                self.doubted.set()
            raise
