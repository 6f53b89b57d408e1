"""The gateway connections of a bot: one for each shard, as many as Discord recommends.

Each has its own client, so that one that breaks, or waits to reconnect, holds up no other. Calls are made through the
first, which also receives the direct messages. https://docs.discord.com/developers/events/gateway#sharding
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import discord

from adapters.discord import compat
from adapters.discord.client import Client
from adapters.discord.compat import Session
from adapters.discord.identifying import Identifying
from adapters.discord.intake import Intake
from bot.contract import Backoff, Clock, FindLeftOff, LogThrottle, Suggest, Unreachable, origin_of, time_limit

log = logging.getLogger(__name__)

TOO_FEW_SHARDS: Final = (4010, 4011)
"""Codes for a wrong number of shards, which has grown since it was requested."""

CATCH_UP_SECONDS: Final = 30.0


class Shards:
    """The connections of one bot while it listens."""

    def __init__(self, clock: Clock, identifying: Identifying, open: Callable[[], Awaitable[Client]]) -> None:
        """
        Args:
            open: returns a logged-in client.
        """
        self._clock = clock
        self._identifying = identifying
        self._open = open
        self._warnings = LogThrottle(log, clock)
        self._clients: list[Client] = []
        self.resumable = False
        """A session does not end with its connection: another process receives its further messages."""
        self._left: list[Session] = []
        self._troubles: dict[int, str] = {}

    @property
    def states(self) -> Mapping[str, str]:
        """Shard → `listening`, `connecting` or `unreachable: …`."""
        return {str(number): self._say(number, client) for number, client in enumerate(self._clients)}

    def _say(self, number: int, client: Client) -> str:
        if client.connected:
            return "listening"
        trouble = self._troubles.get(number)
        return f"unreachable: {trouble}" if trouble else "connecting"

    @property
    def connected(self) -> bool:
        """A shard receives: it was accepted, and its connection has not broken since."""
        return any(client.greeted and client.connected for client in self._clients)

    @property
    def heard(self) -> bool:
        """All shards receive, and each has looked up what it missed."""
        return bool(self._clients) and all(
            client.greeted and client.connected and not client.missed.unknown for client in self._clients
        )

    @property
    def sessions(self) -> list[Session]:
        """The sessions of all shards up to their latest events; the last known ones if none is connected."""
        found = [compat.session_of(client, number, len(self._clients)) for number, client in enumerate(self._clients)]
        return [one for one in found if one is not None] or self._left

    async def catch_up(self, former: Iterable[Session], client: Client) -> None:
        """Receive the undelivered messages of another process's sessions, and end them.

        Args:
            client: the first shard's.
        """
        for session in former:
            await client.wait_until_ready()
            if session.shards != len(self._clients):
                log.warning("discord: the number of shards has changed; what was written meanwhile may be missing")
                return
            to = self._clients[session.shard]
            await to.wait_until_ready()
            try:
                async with time_limit(self._clock, CATCH_UP_SECONDS):
                    if not await compat.receive_rest(to, session):
                        log.warning("discord: the session before is gone; what was written meanwhile may be missing")
            except Exception as error:  # noqa: BLE001 - whatever it is, new messages come in
                log.warning("discord: what was written meanwhile may be missing: %s", origin_of(error))

    def of(self, guild: Any) -> Client:
        """Return the connection with the events of a server; without one, of direct messages."""
        number = (int(guild) >> 22) % len(self._clients) if guild else 0
        return self._clients[number]

    async def run(
        self, first: Client, intake: Intake, suggest: Suggest | None, find_left_off: FindLeftOff | None
    ) -> None:
        """Keep all shards connected until cancelled. The first one reads posts before the others are known.

        Args:
            first: makes the bot's calls, and stays open.
            intake: receives the events.

        Raises:
            Exception: Discord ends the connection of a shard for good, or the only one cannot be kept.
        """

        def add(client: Client) -> None:
            client.greeted, client.intake, client.suggest = False, intake, suggest
            client.missed.find = find_left_off
            self._clients.append(client)

        self._troubles.clear()
        add(first)
        keeping: list[asyncio.Task[None]] = []
        try:
            count = await self._ask(first)
            for _ in range(1, count):
                add(await self._open())
            for number, client in enumerate(self._clients):
                compat.set_shard(client, number, count)
                keeping.append(asyncio.create_task(self._keep(client, number, count), name=f"discord shard {number}"))
            done, _ = await asyncio.wait(keeping, return_when=asyncio.FIRST_COMPLETED)
            await next(iter(done))
        finally:
            for client in self._clients:
                client.intake = None
            for task in keeping:
                await disconnect(task)
            self._left = self.sessions
            clients, self._clients = self._clients, []
            code = 4000 if self.resumable else 1000
            await asyncio.gather(*(_leave(client, code, client is not first) for client in clients))

    async def _ask(self, first: Client) -> int:
        """Ask Discord for the recommended number of shards; if it does not answer, try one.

        Raises:
            Unreachable: it allows no more sessions today.
        """
        try:
            count, _, starts = await first.http.get_bot_gateway()
        except discord.GatewayNotFound:
            return 1
        self._identifying.concurrency = max(1, starts["max_concurrency"])
        # A bot that begins more sessions than that loses its token.
        if starts["remaining"] < count:
            minutes = starts["reset_after"] / 60_000
            left = starts["remaining"]
            raise Unreachable(f"Discord allows {left} further sessions in the next {minutes:.0f} minutes")
        return max(1, count)

    async def _keep(self, client: Client, number: int, count: int) -> None:
        """Keep one shard connected. One of several is restarted after any error; the only one, by the caller."""
        backoff = Backoff(self._clock)
        while True:
            try:
                await self._identifying.wait(number)
                self._troubles.pop(number, None)
                await client.connect(reconnect=True)
                raise Unreachable("the connection to Discord's gateway ended")
            except (discord.ConnectionClosed, discord.PrivilegedIntentsRequired):
                # About the token, the intents or the number of shards: it concerns all of them.
                raise
            except Exception as error:
                if count == 1:
                    raise
                self._troubles[number] = origin_of(error)
                self._warnings.warn(f"discord: shard {number} of {count} is lost and begins afresh: {origin_of(error)}")
            if client.greeted:
                backoff.reset()
            client.greeted = False
            await client.sockets.close()
            await backoff.wait()


async def disconnect(task: asyncio.Task[None]) -> None:
    """End a connection, with as many tries as necessary.

    The library waits for its websocket with a timeout of asyncio's, which up to Python 3.11 loses a cancellation that
    comes as it opens or breaks: https://github.com/python/cpython/issues/86296. Nothing in it delays a cancellation, so
    it ends within a few turns of the loop.
    """
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)


async def _leave(client: Client, code: int, close: bool) -> None:
    """Close the connection of a client, and the client itself. Any code but 1000 and 1001 keeps the session."""
    if client.ws is not None and not client.is_closed():
        await client.ws.close(code=code)
    await client.sockets.close()
    if close:
        await client.close()
