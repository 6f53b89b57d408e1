"""The only places where discord.py offers no public way: its class attributes and private names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

_VERSION: Final = 10
_MESSAGES: Final = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK")
_GATEWAY: Final = DiscordWebSocket.DEFAULT_GATEWAY


def use_api(base: str) -> None:
    """Send the requests of every client in this process to this address."""
    Route.BASE = base


def use_gateway(url: str | None) -> None:
    """Connect every client in this process to this gateway; None: to Discord's own."""
    DiscordWebSocket.DEFAULT_GATEWAY = _GATEWAY if url is None else yarl.URL(url)


def set_shard(client: discord.Client, number: int, count: int) -> None:
    """Set the shard number, and the number of shards, of a client's next session."""
    client.shard_id = number if count > 1 else None
    client.shard_count = client._connection.shard_count = count if count > 1 else None


def expect_no_voice() -> None:
    """Keep a client from warning at each start about missing voice support."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False


def wrap_parsers(client: discord.Client, wrap: Callable[[str, Callable[[Any], None]], Callable[[Any], None]]) -> None:
    """Replace the parser of every event but READY by the result of `wrap` for its name and itself."""
    parsers = client._connection.parsers
    parsers.update({event: wrap(event, parse) for event, parse in parsers.items() if event != "READY"})


def read_endless_polls() -> None:
    """Let every client in this process read polls without an end, which the library does not know."""
    read = getattr(discord.Poll._from_data, "__func__")  # noqa: B009 - mypy takes a class method for a function
    if getattr(read, "endless", False):
        return

    def from_data(kind: type[discord.Poll], *, data: Any, message: discord.Message, state: Any) -> discord.Poll:
        told = data if data.get("expiry") else {**data, "expiry": message.created_at.isoformat()}
        return cast(discord.Poll, read(kind, data=told, message=message, state=state))

    setattr(from_data, "endless", True)  # noqa: B010 - so that it is done once
    setattr(discord.Poll, "_from_data", classmethod(from_data))  # noqa: B010 - there is no public way to it


_NEEDED: Final = frozenset(
    {"id", "channel_id", "guild_id", "author", "member", "content", "type", "timestamp", "edited_timestamp"}
    | {"attachments", "mentions"}
)
"""Fields without which a message is not one, or another one."""


def parse_without(parse: Callable[[Any], None], data: Any) -> str:
    """Parse a message without the part that the library cannot read, and return that part's name; "" if no single part
    is to blame."""
    for name in [one for one in data if one not in _NEEDED] if isinstance(data, dict) else ():
        try:
            parse({key: value for key, value in data.items() if key != name})
        except Exception:  # noqa: BLE001 - then it is another part
            continue
        return str(name)
    return ""


def read_interaction(client: discord.Client, payload: Any) -> None:
    """Hand a posted interaction to the client like one from the gateway."""
    client._connection.parsers["INTERACTION_CREATE"](payload)


def message_in(interaction: discord.Interaction[Any], told: Any) -> discord.Message:
    """Return the message of an interaction, as the library would read it."""
    channel: Any = interaction.channel
    return discord.Message(state=interaction._state, channel=channel, data=told)


class Session(NamedTuple):
    """A session: Discord's record of what it has sent to a connection."""

    shard: int
    shards: int
    id: str
    sequence: int
    gateway: str


def read_sessions(text: str) -> list[Session]:
    """Return the sessions that a process left; none for a text that is not understood."""
    try:
        return [Session(*one) for one in json.loads(text)]
    except (TypeError, ValueError):
        return []


def session_of(client: discord.Client, number: int, count: int) -> Session | None:
    """Return the session of a client, if Discord has accepted it."""
    ws = client.ws
    if ws is None or not ws.session_id or ws.sequence is None:
        return None
    return Session(number, count, ws.session_id, ws.sequence, str(ws.gateway))


async def receive_rest(client: discord.Client, session: Session) -> bool:
    """Receive the messages of another process's session in a client, as if they were its own; then end that session.

    Presses and commands are dropped: nobody waits for them any more, and Discord has told their makers.

    Returns:
        False if Discord does not know the session any more.
    """
    url = yarl.URL(session.gateway).with_query(v=_VERSION, encoding="json")
    socket = await client.http.ws_connect(str(url))
    try:
        told = {"token": client.http.token, "session_id": session.id, "seq": session.sequence}
        await socket.send_json({"op": DiscordWebSocket.RESUME, "d": told})
        while True:
            frame = await socket.receive_json()
            event = frame.get("t")
            if frame["op"] == DiscordWebSocket.INVALIDATE_SESSION:
                return False
            if frame["op"] == DiscordWebSocket.HEARTBEAT:
                await socket.send_json({"op": DiscordWebSocket.HEARTBEAT, "d": frame.get("s")})
            elif event == "RESUMED":
                return True
            elif event in _MESSAGES:
                client._connection.parsers[event](frame["d"])
    finally:
        await socket.close(code=1000)


class Sockets:
    """The gateway connections of a client, which loses hold of one whose first message it cannot read."""

    def __init__(self, client: discord.Client) -> None:
        self._open: list[aiohttp.ClientWebSocketResponse] = []
        connect = client.http.ws_connect

        async def remembered(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
            socket = await connect(url, compress=compress)
            self._open = [one for one in self._open if not one.closed] + [socket]
            return socket

        client.http.ws_connect = remembered  # type: ignore[method-assign]  # there is no public way to it

    async def close(self) -> None:
        """Close those that are still open."""
        sockets, self._open = self._open, []
        await asyncio.gather(*(one.close(code=1000) for one in sockets if not one.closed), return_exceptions=True)
