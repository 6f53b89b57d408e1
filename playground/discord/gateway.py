"""The gateway: sessions over WebSocket, heartbeats, replay of what was missed, and the faults of a bad day."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Callable
from typing import Any

from aiohttp import WSMessage, WSMsgType, web

from playground.discord import payloads
from playground.discord.limits import Buckets
from playground.discord.state import CONTENT, GUILDS, State
from playground.discord.world import Json

MEMBERS, PRESENCES = 1 << 1, 1 << 8
PRIVILEGED = MEMBERS | PRESENCES | CONTENT
HEARTBEAT_MS = 41_250
IDENTIFY_SECONDS = 5.0
"""Within so many seconds one shard may identify of those whose numbers leave the same rest by `max_concurrency`."""
_KNOWN_INTENTS = (1 << 26) - 1
_CLOSE_TEXTS = {
    4001: "Unknown opcode.",
    4002: "Error while decoding payload.",
    4003: "Not authenticated.",
    4004: "Authentication failed.",
    4005: "Already authenticated.",
    4007: "Invalid seq.",
    4008: "You are being rate limited.",
    4010: "Invalid shard.",
    4011: "Sharding required.",
    4012: "Invalid API version.",
    4013: "Invalid intent(s).",
    4014: "Disallowed intent(s).",
}


class Session:
    """What one identified client has been told: it outlives the connection, so that it can be resumed."""

    def __init__(self, intents: int, shard: tuple[int, int]) -> None:
        self.id = secrets.token_hex(16)
        self.intents = intents
        self.shard = shard
        self.sequence = 0
        self.left_at: float | None = None
        """When its connection went away; None while it is connected."""
        self.connection: Connection | None = None
        self._log: deque[tuple[int, str]] = deque()

    def push(self, name: str, body: Json) -> None:
        """Send an event now, or keep it for the replay."""
        self.sequence += 1
        frame = json.dumps({"op": 0, "t": name, "s": self.sequence, "d": body})
        self._log.append((self.sequence, frame))
        if self.connection is not None:
            self.connection.send(frame)

    def seen(self, sequence: int) -> None:
        """Forget what the client says it has."""
        while self._log and self._log[0][0] <= sequence:
            self._log.popleft()

    def missed(self, sequence: int) -> list[str]:
        return [frame for number, frame in self._log if number > sequence]


class Connection:
    """One WebSocket: frames go out in the order they were given."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self.socket = socket
        self.transport = transport
        self.session: Session | None = None
        self._frames: asyncio.Queue[str] = asyncio.Queue()

    def send(self, frame: str) -> None:
        self._frames.put_nowait(frame)

    def op(self, op: int, body: object = None) -> None:
        self.send(json.dumps({"op": op, "d": body, "s": None, "t": None}))

    async def write(self) -> None:
        """Write frames until cancelled; what the socket no longer takes stays in the session's log."""
        while True:
            frame = await self._frames.get()
            try:
                await self.socket.send_str(frame)
            except ConnectionError:
                return

    async def close(self, code: int, text: str = "") -> None:
        await self.socket.close(code=code, message=(text or _CLOSE_TEXTS.get(code, "")).encode())


class Gateway:
    """All sessions, and what a test or the page may do to them."""

    def __init__(self, state: State, token: str) -> None:
        self.state = state
        self.token = token
        self.url = ""
        self.allowed_intents = 0
        """The privileged intents switched on in the developer portal."""
        self.acknowledges = True
        """False: heartbeats are heard and never answered."""
        self.shards = 1
        """How many shards `/gateway/bot` recommends."""
        self.max_concurrency = 1
        self.most_guilds = 2_500
        """Servers that one session may have; who would have more must be sharded, or in more shards."""
        self.identified: list[Json] = []
        """The body of every IDENTIFY that was accepted."""
        self.resumed = 0
        self._sessions: dict[str, Session] = {}
        self._last: dict[int, float] = {}
        """When a shard identified last, by the rest of its number."""
        self._connections: set[Connection] = set()
        self._changed = asyncio.Event()

    @property
    def sessions(self) -> list[Session]:
        """The sessions that are connected now."""
        return [session for session in self._sessions.values() if session.connection is not None]

    async def until_ready(self, sessions: int = 1, seconds: float = 120.0) -> None:
        """Wait until `sessions` clients have identified or resumed.

        Raises:
            TimeoutError: they did not in `seconds`.
        """
        async with asyncio.timeout(seconds):
            while len(self.sessions) < sessions:
                self._changed.clear()
                await self._changed.wait()

    async def until_left(self, seconds: float = 120.0) -> None:
        """Wait until no client is connected any more.

        Raises:
            TimeoutError: one still was after `seconds`.
        """
        async with asyncio.timeout(seconds):
            while self.sessions:
                self._changed.clear()
                await self._changed.wait()

    def publish(self, name: str, body: Callable[[bool], Json], *, intent: int = 0, guild: str = "") -> None:
        """Push an event to every session that asked for it; `body(reads_all)` writes it for one."""
        for session in list(self._sessions.values()):
            if self._stale(session):
                del self._sessions[session.id]
            elif (not intent or session.intents & intent) and self._on_shard(session, guild):
                session.push(name, body(bool(session.intents & CONTENT)))

    def reconnect(self) -> None:
        """Tell every client to reconnect and resume (op 7)."""
        for connection in self._connections:
            connection.op(7)

    def invalidate(self, *, resumable: bool = False) -> None:
        """Tell every client that its session is invalid (op 9)."""
        for connection in self._connections:
            connection.op(9, resumable)
            if not resumable and connection.session is not None:
                self._sessions.pop(connection.session.id, None)

    async def drop(self, code: int = 0, *, shard: int | None = None) -> None:
        """End every connection, or those of one shard: with a close code, or without a word."""
        for connection in list(self._connections):
            if shard is not None and (connection.session is None or connection.session.shard[0] != shard):
                continue
            if code:
                await connection.close(code)
            elif connection.transport is not None:
                connection.transport.abort()

    async def close(self) -> None:
        """End everything: no session survives."""
        self._sessions.clear()
        await self.drop(1001)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection, from its HELLO to its end."""
        socket = web.WebSocketResponse(max_msg_size=1 << 20, timeout=1.0)
        await socket.prepare(request)
        connection = Connection(socket, request.transport)
        if request.query.get("v", "10") not in ("9", "10"):
            await connection.close(4012)
            return socket
        self._connections.add(connection)
        connection.op(10, {"heartbeat_interval": HEARTBEAT_MS, "_trace": []})
        writer = asyncio.create_task(connection.write())
        buckets = Buckets(self.state.clock.now)
        try:
            async for message in socket:
                if not buckets.draw("gateway", "", self.state.limits.gateway).allowed and self.state.limits.rated:
                    await connection.close(4008)
                elif code := self._receive(connection, message):
                    await connection.close(code)
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self._connections.discard(connection)
            self._leave(connection, socket.close_code)
        return socket

    def _leave(self, connection: Connection, code: int | None) -> None:
        session, connection.session = connection.session, None
        if session is None or session.connection is not connection:
            return
        session.connection, session.left_at = None, self.state.clock.now()
        # A client that closes with 1000 or 1001 gives its session up; any other code keeps it.
        if code in (1000, 1001):
            self._sessions.pop(session.id, None)
        self._changed.set()

    def _receive(self, connection: Connection, message: WSMessage) -> int:
        """Do what the client says; the code to close with when it may not."""
        try:
            said: Any = json.loads(message.data) if message.type in (WSMsgType.TEXT, WSMsgType.BINARY) else None
            op, body = said["op"], said.get("d")
        except (ValueError, TypeError, KeyError, AttributeError):
            return 4002
        match op:
            case 1:
                if connection.session is not None and isinstance(body, int):
                    connection.session.seen(body)
                if self.acknowledges:
                    connection.op(11)
            case 2:
                return self._identify(connection, body)
            case 6:
                return self._resume(connection, body)
            case 3 | 4 | 8 if connection.session is None:
                return 4003
            case 8:
                self._members(connection.session, body)
            case 3 | 4:
                pass
            case _:
                return 4001
        return 0

    def _identify(self, connection: Connection, body: Any) -> int:
        if connection.session is not None:
            return 4005
        if not isinstance(body, dict) or not isinstance(body.get("intents"), int) or "properties" not in body:
            return 4002
        if body.get("token") != self.token:
            return 4004
        intents = body["intents"]
        if intents < 0 or intents & ~_KNOWN_INTENTS:
            return 4013
        if intents & PRIVILEGED & ~self.allowed_intents:
            return 4014
        number, count = body.get("shard") or (0, 1)
        if not 0 <= number < count:
            return 4010
        session = Session(intents, (number, count))
        state = self.state
        guilds = [guild for guild in state.guilds.values() if guild.member and self._on_shard(session, guild.id)]
        if len(guilds) > self.most_guilds:
            return 4011
        if count > 1 and not self._may_identify(number):
            connection.op(9, False)
            return 0
        self._sessions[session.id] = session
        self.identified.append({key: value for key, value in body.items() if key != "token"})
        self._join(connection, session)
        session.push(
            "READY",
            {
                "v": 10,
                "user": payloads.user(state.bot) | {"verified": True, "mfa_enabled": False, "email": None},
                "user_settings": {},
                "guilds": [{"id": guild.id, "unavailable": True} for guild in guilds],
                "private_channels": [],
                "relationships": [],
                "presences": [],
                "session_id": session.id,
                "session_type": "normal",
                "resume_gateway_url": self.url,
                "application": {"id": state.application, "flags": self.flags()},
                "shard": [number, count],
                "_trace": [],
            },
        )
        if intents & GUILDS:
            for guild in guilds:
                session.push("GUILD_CREATE", self.guild(guild.id))
        return 0

    def _resume(self, connection: Connection, body: Any) -> int:
        if connection.session is not None:
            return 4005
        if not isinstance(body, dict):
            return 4002
        if body.get("token") != self.token:
            return 4004
        session = self._sessions.get(str(body.get("session_id")))
        if session is None or self._stale(session):
            connection.op(9, False)
            return 0
        sequence = body.get("seq")
        if not isinstance(sequence, int) or sequence > session.sequence:
            return 4007
        for frame in session.missed(sequence):
            connection.send(frame)
        self.resumed += 1
        self._join(connection, session)
        session.push("RESUMED", {"_trace": []})
        return 0

    def _join(self, connection: Connection, session: Session) -> None:
        session.connection, session.left_at = connection, None
        connection.session = session
        self._changed.set()

    def _members(self, session: Session | None, body: Any) -> None:
        guild = self.state.guilds.get(str(body.get("guild_id"))) if isinstance(body, dict) else None
        if session is None or guild is None:
            return
        clock = self.state.clock
        wanted = [person for person in self.state.people.values() if person.id in map(str, body.get("user_ids") or ())]
        people = wanted or list(self.state.people.values())
        chunk: Json = {
            "guild_id": guild.id,
            "members": [payloads.member(person, guild, clock) | {"user": payloads.user(person)} for person in people],
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [],
        }
        if body.get("nonce"):
            chunk["nonce"] = body["nonce"]
        session.push("GUILD_MEMBERS_CHUNK", chunk)

    def guild(self, id: str) -> Json:
        """A server as GUILD_CREATE brings it."""
        state = self.state
        people = [person for person in state.people.values() if person is not state.bot]
        return payloads.guild(state.guilds[id], state.channels.values(), people, state.bot, state.clock)

    def flags(self) -> int:
        """The application's flags: which privileged intents it was granted."""
        granted = ((CONTENT, 1 << 19), (MEMBERS, 1 << 15), (PRESENCES, 1 << 13))
        return sum(flag for intent, flag in granted if self.allowed_intents & intent)

    def _may_identify(self, number: int) -> bool:
        """Count a shard that identifies; a bot of one connection is not counted, as tests start it over and over."""
        rest, now = number % self.max_concurrency, self.state.clock.now()
        if now - self._last.get(rest, float("-inf")) < IDENTIFY_SECONDS and self.state.limits.rated:
            return False
        self._last[rest] = now
        return True

    def _on_shard(self, session: Session, guild: str) -> bool:
        number, count = session.shard
        return (int(guild) >> 22) % count == number if guild else number == 0

    def _stale(self, session: Session) -> bool:
        left = session.left_at
        return left is not None and self.state.clock.now() - left > self.state.limits.session_lives
