"""Interactions by signed HTTP POST, as to an application with an Interactions Endpoint URL.

https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from playground.discord.world import Json

PING = 1


@dataclass(slots=True)
class Signer:
    """Signs as Discord does; this package brings no cryptography of its own."""

    public_key: str
    """64 hexadecimal digits."""
    sign: Callable[[bytes], bytes]
    """Bytes → their Ed25519 signature."""
    wall: Callable[[], float] = time.time
    """Seconds since the epoch."""


class SignedPosts:
    """Posts each interaction once; only 202 without a body is understood, upon which the answer comes as a call."""

    def __init__(self, url: str, signer: Signer, application: str) -> None:
        self.url = url
        self.signer = signer
        self.statuses: list[int] = []
        """What each interaction was answered with; 0 where nobody was reached, or what came with it was no 202's."""
        self._application = application
        self._tasks: set[asyncio.Task[None]] = set()
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))

    async def check(self) -> None:
        """What saving the address in the developer portal does: an address that does not check signatures is refused.

        Raises:
            ValueError: a signed PING is not answered with a PONG, or one that is wrongly signed not with 401.
        """
        status, body = await self._post({"type": PING, "application_id": self._application})
        if status != 200 or json.loads(body or b"{}").get("type") != PING:
            raise ValueError(f"the address did not answer a PING with a PONG ({status})")
        for forged in (secrets.token_hex(64), ""):
            status, _ = await self._post({"type": PING, "application_id": self._application}, forged)
            if status != 401:
                raise ValueError(f"the address did not refuse a wrong signature ({status})")

    def send(self, told: Json) -> None:
        """Post an interaction; what comes of it is seen in what the application calls."""
        task = asyncio.create_task(self._send(told))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def headers(self, body: bytes) -> dict[str, str]:
        """The two headers that prove who sent `body`, and when."""
        stamp = str(int(self.signer.wall()))
        return {
            "X-Signature-Ed25519": self.signer.sign(stamp.encode() + body).hex(),
            "X-Signature-Timestamp": stamp,
            "Content-Type": "application/json",
            "User-Agent": "Discord-Interactions/1.0 (+https://discord.com)",
        }

    async def close(self) -> None:
        """End what is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def _send(self, told: Json) -> None:
        try:
            status, body = await self._post(told)
        except aiohttp.ClientError:
            status, body = 0, b""
        self.statuses.append(status if not body else 0)

    async def _post(self, told: Json, signature: str | None = None) -> tuple[int, bytes]:
        body = json.dumps(told).encode()
        headers = self.headers(body)
        if signature is not None:
            headers["X-Signature-Ed25519"] = signature
        async with self._session.post(self.url, data=body, headers=headers, allow_redirects=False) as response:
            return response.status, await response.read()
