"""Delivery by signed HTTP POST, as to an app with a Request URL."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import urllib.parse
from collections.abc import Callable

import aiohttp

from playground.slack.delivery import COMMANDS, EVENTS, Deliveries, Delivery


class SignedPosts:
    """Posts each attempt to one address; an answer other than 2xx is a failure."""

    def __init__(
        self, url: str, secret: str, deliveries: Deliveries, wall: Callable[[], float], *, age: float = 0.0
    ) -> None:
        """`age` makes every signature that many seconds old."""
        self._url, self._secret, self._deliveries = url, secret, deliveries
        self._wall, self._age = wall, age
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None

    async def transmit(self, delivery: Delivery, envelope_id: str) -> str:
        """Begin the post; its answer is awaited beside the next ones."""
        match delivery.kind:
            case "events_api":
                body, kind = json.dumps(delivery.payload), "application/json"
            case "slash_commands":
                body, kind = urllib.parse.urlencode(delivery.payload), "application/x-www-form-urlencoded"
            case _:
                body = urllib.parse.urlencode({"payload": json.dumps(delivery.payload)})
                kind = "application/x-www-form-urlencoded"
        headers = self.sign(body) | {"Content-Type": kind}
        if delivery.kind == EVENTS and delivery.retry:
            headers |= {"X-Slack-Retry-Num": str(delivery.retry), "X-Slack-Retry-Reason": delivery.reason}
        task = asyncio.create_task(self._post(delivery, envelope_id, body, headers))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        delivery.abandon = task.cancel
        return ""

    async def challenge(self, text: str = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P") -> bool:
        """`url_verification`: whether the address sends the challenge back."""
        body = json.dumps({"token": "legacy", "challenge": text, "type": "url_verification"})
        async with self._open().post(
            self._url, data=body, headers=self.sign(body) | {"Content-Type": "application/json"}
        ) as response:
            return response.status == 200 and text in await response.text()

    def sign(self, body: str) -> dict[str, str]:
        """The two headers that prove who sent `body`, and when."""
        stamp = str(int(self._wall() - self._age))
        digest = hmac.new(self._secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}

    async def close(self) -> None:
        """End what is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session:
            await self._session.close()

    async def _post(self, delivery: Delivery, envelope_id: str, body: str, headers: dict[str, str]) -> None:
        try:
            async with self._open().post(
                self._url, data=body.encode(), headers=headers, allow_redirects=False
            ) as response:
                text = await response.text()
                status, final = response.status, response.headers.get("X-Slack-No-Retry") == "1"
                plain = response.content_type != "application/json"
        except aiohttp.ClientError:
            self._deliveries.fail(delivery, "connection_failed")
            return
        if not 200 <= status < 300:
            self._deliveries.fail(delivery, "http_error", final=final)
            return
        answer = None
        if text and delivery.kind == COMMANDS and plain:
            answer = {"text": text}
        elif text and not plain:
            try:
                answer = json.loads(text)
            except ValueError:
                answer = None
        self._deliveries.acknowledge(envelope_id, answer if isinstance(answer, dict) else None)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # No time limit of its own: the delivery's deadline, on the emulator's clock, ends a post.
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        return self._session
