"""Threads that the bot opens: one for each question in a channel, when its answer begins, and archived ones.

https://docs.discord.com/developers/resources/channel#start-thread-from-message, …/topics/threads
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import discord
from discord.http import Route

from adapters.discord.errors import FORBIDDEN, GONE, translate
from bot.contract import Clock, Scalar, time_limit

log = logging.getLogger(__name__)

_ARCHIVED: Final = 50083
THREAD_EXISTS: Final = 160004
_REFUSED: Final = frozenset({*FORBIDDEN, GONE, 50024, 160005, 160006})
"""Also: not in this channel, a locked thread, the server's limit of threads, and a deleted question.
https://docs.discord.com/developers/topics/opcodes-and-status-codes#json"""
_SECONDS: Final = 10.0
"""For opening an archived thread."""
_MOST_NAME: Final = 80
"""Characters; Discord takes a hundred."""


def opens_thread(message: discord.Message) -> bool:
    """Return True if a thread can be opened under the message: it is in a channel of a server, and not in a thread."""
    return isinstance(message.channel, discord.TextChannel)


def target_in_thread(message: discord.Message, text: str) -> dict[str, Scalar]:
    """Return a reply target's data for the thread under a message, which has the message's id."""
    name = " ".join(text.split())[:_MOST_NAME].strip() or message.author.display_name[:_MOST_NAME]
    return {"channel": message.id, "group": True, "opens": message.channel.id, "name": name}


class OwnThread:
    """The thread under one question."""

    def __init__(self, client: discord.Client, channel: int, question: int, name: str) -> None:
        self._client = client
        self.parent = client.get_partial_messageable(channel)
        """The channel of the question."""
        self.question = question
        self._name = name
        self.settled = False
        """It is known whether the thread is open."""

    @classmethod
    def of(cls, client: discord.Client, data: Mapping[str, Scalar]) -> OwnThread | None:
        """Return the thread that a reply target names; None if it names an existing place."""
        if not data.get("opens"):
            return None
        return cls(client, int(str(data["opens"])), int(str(data["channel"])), str(data["name"]))

    async def open(self) -> bool:
        """Return True if the thread is open, now or already; False if it may not be opened.

        Raises:
            discord.HTTPException: Discord does not answer now.
        """
        route = Route(
            "POST",
            "/channels/{channel_id}/messages/{message_id}/threads",
            channel_id=self.parent.id,
            message_id=self.question,
        )
        try:
            await self._client.http.request(route, json={"name": self._name})
        except discord.HTTPException as error:
            if error.code != THREAD_EXISTS and error.code not in _REFUSED:
                raise
            self.settled = True
            if error.code != THREAD_EXISTS:
                log.info("discord: no thread may be opened in channel %d (%d)", self.parent.id, error.code)
            return error.code == THREAD_EXISTS
        self.settled = True
        return True


def is_archived(error: Exception) -> bool:
    """Return True if a call was refused because its thread is archived: only a new message opens one."""
    return isinstance(error, discord.HTTPException) and error.code == _ARCHIVED


async def open_again(client: discord.Client, thread: int, clock: Clock) -> bool:
    """Open an archived thread; return False if the bot may not, as where it is locked.

    Raises:
        DeliveryError: Discord does not answer now.
    """
    route = Route("PATCH", "/channels/{channel_id}", channel_id=thread)
    try:
        async with time_limit(clock, _SECONDS):
            await client.http.request(route, json={"archived": False})
    except Exception as error:
        if isinstance(error, discord.HTTPException) and error.status in (400, 403, 404):
            log.info("discord: the archived thread %d may not be opened (%d)", thread, error.code)
            return False
        raise translate(error) from error
    return True
