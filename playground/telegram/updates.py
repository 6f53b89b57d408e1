"""How updates reach the bot: the queue that an offset confirms, long polling, and the webhook."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from typing import NoReturn
from urllib.parse import urlsplit

import aiohttp

from playground.telegram.call import ApiError, Arguments, Json, bad_request

NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
CONFLICT_SECONDS = 3.0
"""After one conflict was told, each that follows within this time is told so much later."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Updates:
    """All updates of one bot. An update stays until a later offset, or a 2xx of the webhook, confirms it."""

    def __init__(self, retry_seconds: float) -> None:
        self.all: dict[int, Json] = {}
        """Every update ever made, by id, for tests and for redelivery."""
        self.waiting: dict[int, Json] = {}
        self.allowed: list[str] | None = None
        """The list that was sent last; `None`: the default kinds."""
        self.webhook: Json = {}
        """`url`, `secret_token` and the rest, while one is set."""
        self._retry_seconds = retry_seconds
        self.taken: Callable[[Json], None] = lambda update: None
        """Hears of each update that was confirmed by an offset."""
        self._again: list[Json] = []
        self._next = 100_000_001
        self._poll: asyncio.Future[str] | None = None
        """The poll that waits; its result is why it is refused, empty when there is something for it."""
        self._next_conflict = float("-inf")
        self._arrived = asyncio.Event()
        self._closed = False
        self._delivery: asyncio.Task[None] | None = None

    def add(self, kind: str, content: Json) -> int:
        """Queue an update and return its id; 0 when the bot does not ask for this kind."""
        wanted = kind in self.allowed if self.allowed else kind not in NOT_BY_DEFAULT
        if not wanted:
            return 0
        update_id, self._next = self._next, self._next + 1
        update = {"update_id": update_id, kind: content}
        self.all[update_id] = update
        self.waiting[update_id] = update
        self._wake()
        return update_id

    def redeliver(self, update_id: int) -> None:
        """Deliver one update again under its old id, confirmed or not, as after a lost confirmation."""
        self._again.append(self.all[update_id])
        self._wake()

    def _wake(self) -> None:
        self._arrived.set()
        if self._poll is not None and not self._poll.done():
            self._poll.set_result("")

    async def get_updates(self, arguments: Arguments) -> list[Json]:
        """getUpdates: what is not confirmed yet, waiting up to `timeout` seconds for the first.

        Of two that wait the newer takes over. One that finds something, or does not wait, leaves the other alone.

        Raises:
            ApiError: 409, another poller took over or a webhook is set.
        """
        if self.webhook:
            await self._refuse(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            )
        self._take_allowed(arguments)
        self._confirm(arguments.integer("offset"))
        limit = min(max(arguments.integer("limit", 100), 1), 100)
        seconds = min(max(arguments.integer("timeout"), 0), 50)
        if not self.waiting and not self._again and seconds and not self._closed:
            self._interrupt("terminated by other getUpdates request; make sure that only one bot instance is running")
            poll: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._poll = poll
            try:
                reason = await asyncio.wait_for(poll, seconds)
            except TimeoutError:
                return []
            finally:
                if self._poll is poll:
                    self._poll = None
            if reason:
                await self._refuse(reason)
        again, self._again = self._again[:limit], self._again[limit:]
        return [*again, *self.waiting.values()][:limit]

    async def _refuse(self, text: str) -> NoReturn:
        now = asyncio.get_running_loop().time()
        if now < self._next_conflict:
            await asyncio.sleep(CONFLICT_SECONDS)
        else:
            self._next_conflict = now + CONFLICT_SECONDS
        raise ApiError(409, f"Conflict: {text}")

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            for update_id in list(self.waiting)[:offset]:
                del self.waiting[update_id]
        for update_id in [one for one in self.waiting if one < offset]:
            self.taken(self.waiting.pop(update_id))

    def _interrupt(self, text: str) -> None:
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(text)

    def _take_allowed(self, arguments: Arguments) -> None:
        """Remember `allowed_updates`; one that was not sent leaves the last list in place."""
        kinds = arguments.structure("allowed_updates")
        if isinstance(kinds, list):
            self.allowed = [str(kind) for kind in kinds] or None

    async def set_webhook(self, arguments: Arguments) -> bool:
        """setWebhook. HTTPS is asked for as the service does, except on loopback, where nobody has a certificate."""
        url = arguments.text("url")
        if not url:
            return await self.delete_webhook(arguments)
        parts = urlsplit(url)
        if not parts.hostname:
            raise bad_request("bad webhook: invalid webhook URL specified")
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
        secret = arguments.text("secret_token")
        if len(secret) > 256:
            raise bad_request("secret token is too long")
        if secret and not re.fullmatch(r"[A-Za-z0-9_-]+", secret):
            raise bad_request("secret token contains unallowed characters")
        self._take_allowed(arguments)
        await self._stop_delivery()
        self._interrupt("terminated by setWebhook request")
        if arguments.flag("drop_pending_updates"):
            self.waiting.clear()
        self.webhook = {
            "url": url,
            "secret_token": secret,
            "max_connections": min(max(arguments.integer("max_connections", 40), 1), 100),
        }
        self._arrived.set()
        self._delivery = asyncio.create_task(self._deliver(url, secret))
        return True

    async def delete_webhook(self, arguments: Arguments) -> bool:
        """deleteWebhook: what was not delivered waits for getUpdates."""
        await self._stop_delivery()
        self.webhook = {}
        if arguments.flag("drop_pending_updates"):
            self.waiting.clear()
        return True

    async def webhook_info(self, arguments: Arguments) -> Json:
        """getWebhookInfo; the secret token is not told."""
        info: Json = {key: value for key, value in self.webhook.items() if key != "secret_token"}
        info = {"url": "", "has_custom_certificate": False, "pending_update_count": len(self.waiting)} | info
        if self.allowed:
            info["allowed_updates"] = self.allowed
        return info

    async def _deliver(self, url: str, secret: str) -> None:
        """Post one update after the other, each again and again until the answer is 2xx."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            while True:
                self._arrived.clear()
                update = self._again[0] if self._again else next(iter(self.waiting.values()), None)
                if update is None:
                    await self._arrived.wait()
                    continue
                try:
                    body = json.dumps(update).encode()
                    sent = headers | {"Content-Type": "application/json"}
                    async with session.post(url, data=body, headers=sent) as answer:
                        problem = "" if 200 <= answer.status < 300 else f"{answer.status} {answer.reason}"
                except (aiohttp.ClientError, TimeoutError) as error:
                    problem = f"Connection failed: {type(error).__name__}"
                if not problem:
                    if self._again and self._again[0] is update:
                        del self._again[0]
                    else:
                        self.waiting.pop(update["update_id"], None)
                    continue
                self.webhook |= {
                    "last_error_date": int(time.time()),
                    "last_error_message": f"Wrong response from the webhook: {problem}",
                }
                await asyncio.sleep(self._retry_seconds)

    async def _stop_delivery(self) -> None:
        if self._delivery is not None:
            self._delivery.cancel()
            await asyncio.gather(self._delivery, return_exceptions=True)
            self._delivery = None

    async def close(self) -> None:
        """End the delivery and let a waiting poll go home with nothing."""
        self._closed = True
        self._wake()
        await self._stop_delivery()
