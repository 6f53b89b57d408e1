"""A homeserver on loopback: the part of the client-server API v1.15 that a bot uses, by its specification."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from aiohttp import web

Json = dict[str, Any]
LARGEST_EVENT = 65_536
USER = web.RequestKey("user", str)


@dataclass
class Fault:
    """What happens to the next call of a kind instead of its work or its answer."""

    call: str
    status: int = 0
    body: str = ""
    named: str | None = None
    lose: asyncio.Event | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Room:
    """Events in their order, and who is there."""

    id: str
    members: dict[str, str]
    invited: dict[str, int] = field(default_factory=dict)
    """Who is invited, and where in the stream; a sync returns an invitation once."""


class _Text(HTMLParser):
    """What a person reads of a formatted body."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br" or (tag in ("pre", "blockquote") and self.text[-1:] not in ("", "\n")):
            self.text += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("pre", "blockquote") and not self.text.endswith("\n"):
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        self.text += data


def read(content: Json) -> str:
    """The words of a message as a client shows them."""
    if content.get("format") != "org.matrix.custom.html":
        return str(content.get("body", ""))
    parser = _Text()
    parser.feed(content["formatted_body"])
    parser.close()
    return parser.text.replace("\xa0", " ").strip("\n")


class Homeserver:
    """`async with Homeserver() as server: server.url`."""

    def __init__(self, *, rate: float = 1000.0, burst: int = 1000, upload_size: int = 5_000_000) -> None:
        self.rate, self.burst, self.upload_size = rate, burst, upload_size
        self.tokens: dict[str, str] = {}
        self.rooms: dict[str, Room] = {}
        self.stream: list[tuple[str, Json]] = []
        """Every event with its room, in the order of the stream."""
        self.transactions: dict[tuple[str, str], Json] = {}
        self.media: dict[str, tuple[str, str, bytes]] = {}
        self.account_data: dict[tuple[str, str], Json] = {}
        self.calls: list[tuple[float, str, str, int]] = []
        """(time, method, path, status) of each."""
        self.typing: list[tuple[str, bool]] = []
        self.faults: deque[Fault] = deque()
        self._tokens_left: dict[str, tuple[float, float]] = {}
        self._news = asyncio.Event()
        self._ids = 0

    async def __aenter__(self) -> Homeserver:
        app = web.Application(client_max_size=2**30, middlewares=[self._guard])
        c = "/_matrix/client/v3"
        app.add_routes(
            [
                web.get(c + "/account/whoami", self._whoami),
                web.get("/_matrix/client/v1/media/config", self._config),
                web.get(c + "/sync", self._sync),
                web.get(c + "/joined_rooms", self._joined_rooms),
                web.post(c + "/rooms/{room}/join", self._join),
                web.get(c + "/rooms/{room}/joined_members", self._members),
                web.get(c + "/rooms/{room}/messages", self._messages),
                web.get(c + "/rooms/{room}/event/{event}", self._event),
                web.put(c + "/rooms/{room}/send/{kind}/{txn}", self._send),
                web.put(c + "/rooms/{room}/redact/{event}/{txn}", self._redact),
                web.put(c + "/rooms/{room}/typing/{user}", self._typing),
                web.get(c + "/user/{user}/account_data/{kind}", self._read_data),
                web.put(c + "/user/{user}/account_data/{kind}", self._write_data),
                web.post("/_matrix/media/v3/upload", self._upload),
                web.get("/_matrix/client/v1/media/download/{server}/{media}", self._download),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    # What people do.

    def add_user(self, user: str, token: str = "") -> None:
        if token:
            self.tokens[token] = user

    def add_room(self, id: str, *members: str) -> None:
        self.rooms[id] = Room(id, {member: member[1:].partition(":")[0].title() for member in members})

    def write(self, room: str, sender: str, content: Json, kind: str = "m.room.message", **more: Any) -> str:
        self._ids += 1
        event = {
            "type": kind,
            "sender": sender,
            "content": content,
            "event_id": f"$event{self._ids}-{room[1:5]}",
            "origin_server_ts": int(time.time() * 1000),
            "unsigned": {},
            "room_id": room,
            **more,
        }
        self.stream.append((room, event))
        self._news.set()
        self._news = asyncio.Event()
        return str(event["event_id"])

    def invite(self, room: str, sender: str, user: str) -> None:
        self.rooms[room].invited[user] = len(self.stream)
        self.write(room, sender, {"membership": "invite"}, "m.room.member", state_key=user)

    def say(self, room: str, sender: str, text: str) -> str:
        return self.write(room, sender, {"msgtype": "m.text", "body": text})

    def react(self, room: str, sender: str, event: str, key: str) -> str:
        relation = {"rel_type": "m.annotation", "event_id": event, "key": key}
        return self.write(room, sender, {"m.relates_to": relation}, "m.reaction")

    def redact(self, room: str, sender: str, event: str) -> str:
        id = self.write(room, sender, {"redacts": event}, "m.room.redaction", redacts=event)
        for stands, of in self.stream:
            if stands == room and of["event_id"] == event:
                of["content"] = {}
                of["unsigned"]["redacted_because"] = {"event_id": id, "sender": sender}
        return id

    def find(self, room: str, event: str) -> Json | None:
        return next((of for stands, of in self.stream if stands == room and of["event_id"] == event), None)

    def newest(self, event: Json) -> Json | None:
        """The newest edit of an event by its own sender."""
        edits = [
            of
            for _, of in self.stream
            if of["sender"] == event["sender"]
            and of["content"].get("m.relates_to", {}).get("rel_type") == "m.replace"
            and of["content"]["m.relates_to"].get("event_id") == event["event_id"]
            and "m.new_content" in of["content"]
        ]
        return max(edits, key=lambda of: of["origin_server_ts"]) if edits and event["content"] else None

    def shown(self, room: str, sender: str) -> list[Json]:
        """The messages of somebody that stand in a room."""
        return [
            event
            for place, event in self.stream
            if (place, event["sender"], event["type"]) == (room, sender, "m.room.message")
            and event["content"]
            and event["content"].get("m.relates_to", {}).get("rel_type") != "m.replace"
        ]

    def read(self, event: Json) -> str:
        return read(self.versions(event)[-1])

    def pings(self, sender: str) -> list[str]:
        """Whom the messages of somebody have woken."""
        return [who for _, event in self.stream if event["sender"] == sender for who in self.pinged(event["content"])]

    def versions(self, event: Json) -> list[Json]:
        """The contents that an event has had for readers."""
        first = event.get("first", event["content"])
        return [
            first,
            *(
                of["content"]["m.new_content"]
                for _, of in self.stream
                if of["content"].get("m.relates_to", {}).get("rel_type") == "m.replace"
                and of["content"]["m.relates_to"].get("event_id") == event["event_id"]
            ),
        ]

    # What a program calls.

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        answer = await self._answer(request, handler)
        self.calls.append((time.monotonic(), request.method, request.path, answer.status))
        return answer

    async def _answer(self, request: web.Request, handler: Any) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            return _refuse(401, "M_UNKNOWN_TOKEN")
        request[USER] = self.tokens[token]
        room = request.match_info.get("room")
        members = self.rooms[room].members if room in self.rooms else {}
        if room is not None and not request.path.endswith("/join") and request[USER] not in members:
            return _refuse(403, "M_FORBIDDEN")
        fault = await self._fault(request)
        if fault is None:
            return await self._limited(request, handler)
        if fault.lose is not None:
            assert request.transport is not None
            await request.read()
            request.transport.close()
            asyncio.get_running_loop().create_task(self._later(request, handler, fault))
            return web.Response()
        if fault.named is not None or fault.status == 429:
            headers = {} if fault.named is None else {"Retry-After": fault.named}
            return _refuse(429, "M_LIMIT_EXCEEDED", headers)
        if fault.status:
            return web.Response(status=fault.status, text="<html>bad gateway</html>", content_type="text/html")
        answer = await self._limited(request, handler)
        return web.Response(text=fault.body, content_type="application/json") if answer.status == 200 else answer

    async def _later(self, request: web.Request, handler: Any, fault: Fault) -> None:
        assert fault.lose is not None
        await fault.lose.wait()
        await self._limited(request, handler)
        fault.done.set()

    async def _fault(self, request: web.Request) -> Fault | None:
        call = "any"
        if request.path.endswith("/sync"):
            return None
        if "/send/" in request.path:
            content = await request.json()
            edits = content.get("m.relates_to", {}).get("rel_type") == "m.replace"
            call = "edit" if edits else "file" if "url" in content else "post"
        elif request.path.endswith("/upload"):
            call = "upload"
        for fault in self.faults:
            if fault.call in (call, "any"):
                self.faults.remove(fault)
                return fault
        return None

    async def _limited(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """`rc_message`: a bucket for each account, drawn on by each event."""
        if "/send/" in request.path or "/redact/" in request.path:
            left, then = self._tokens_left.get(request[USER], (float(self.burst), time.monotonic()))
            now = time.monotonic()
            left = min(self.burst, left + (now - then) * self.rate)
            if left < 1:
                return _refuse(429, "M_LIMIT_EXCEEDED", {"Retry-After": str(int((1 - left) / self.rate) + 1)})
            self._tokens_left[request[USER]] = (left - 1, now)
        return await handler(request)

    async def _whoami(self, request: web.Request) -> web.Response:
        return web.json_response({"user_id": request[USER], "device_id": "BOT"})

    async def _config(self, _: web.Request) -> web.Response:
        return web.json_response({"m.upload.size": self.upload_size})

    async def _joined_rooms(self, request: web.Request) -> web.Response:
        return web.json_response({"joined_rooms": [r.id for r in self.rooms.values() if request[USER] in r.members]})

    async def _join(self, request: web.Request) -> web.Response:
        room, user = self.rooms[request.match_info["room"]], request[USER]
        if user not in room.invited and user not in room.members:
            return _refuse(403, "M_FORBIDDEN")
        room.invited.pop(user, None)
        room.members[user] = user[1:].partition(":")[0].title()
        self.write(room.id, user, {"membership": "join"}, "m.room.member", state_key=user)
        return web.json_response({"room_id": room.id})

    async def _members(self, request: web.Request) -> web.Response:
        members = self.rooms[request.match_info["room"]].members
        return web.json_response({"joined": {who: {"display_name": name} for who, name in members.items()}})

    async def _sync(self, request: web.Request) -> web.Response:
        since = int(request.query["since"][1:]) if "since" in request.query else 0
        limit = json.loads(request.query.get("filter", "{}")).get("room", {}).get("timeline", {}).get("limit", 10)
        until = time.monotonic() + int(request.query.get("timeout", "0")) / 1000
        while True:
            answer = self._since(request[USER], since, limit)
            left = until - time.monotonic()
            if answer["rooms"]["join"] or answer["rooms"]["invite"] or left <= 0:
                return web.json_response(answer)
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                continue

    def _since(self, user: str, since: int, limit: int) -> Json:
        joined: Json = {}
        for at, (room, event) in enumerate(self.stream[since:], since):
            if user in self.rooms[room].members:
                timeline = joined.setdefault(
                    room, {"timeline": {"events": [], "limited": False, "prev_batch": f"s{at}"}}
                )
                timeline["timeline"]["events"].append((at, event))
        for news in joined.values():
            timeline = news["timeline"]
            if len(timeline["events"]) > limit:
                timeline["events"] = timeline["events"][-limit:]
                timeline |= {"limited": True, "prev_batch": f"s{timeline['events'][0][0]}"}
            timeline["events"] = [event for _, event in timeline["events"]]
        invites = {
            r.id: {"invite_state": {"events": []}} for r in self.rooms.values() if r.invited.get(user, -1) >= since
        }
        return {"next_batch": f"s{len(self.stream)}", "rooms": {"join": joined, "invite": invites}}

    async def _messages(self, request: web.Request) -> web.Response:
        start, to = int(request.query["from"][1:]), int(request.query.get("to", "s0")[1:])
        here = [
            (at, event)
            for at, (room, event) in enumerate(self.stream)
            if room == request.match_info["room"] and to <= at < start
        ][::-1][: int(request.query.get("limit", "10"))]
        more = {"end": f"s{here[-1][0]}"} if here else {}
        return web.json_response({"start": f"s{start}", "chunk": [event for _, event in here], **more})

    async def _event(self, request: web.Request) -> web.Response:
        event = self.find(request.match_info["room"], request.match_info["event"])
        if event is None:
            return _refuse(404, "M_NOT_FOUND")
        newest = self.newest(event)
        related = {"m.relations": {"m.replace": newest}} if newest else {}
        shown = {name: value for name, value in event.items() if name != "first"}
        return web.json_response(shown | {"unsigned": event["unsigned"] | related})

    async def _send(self, request: web.Request) -> web.Response:
        content, kind = await request.json(), request.match_info["kind"]
        key = (request[USER], request.match_info["txn"])
        if key in self.transactions:
            return web.json_response(self.transactions[key])
        if len(json.dumps(content, ensure_ascii=False).encode()) > LARGEST_EVENT - 1000:
            return _refuse(413, "M_TOO_LARGE")
        if kind == "m.room.message" and not (isinstance(content.get("body"), str) and content.get("msgtype")):
            return _refuse(400, "M_BAD_JSON")
        if (relation := content.get("m.relates_to", {})).get("rel_type") == "m.replace":
            original = self.find(request.match_info["room"], relation.get("event_id", ""))
            if original is not None and original["sender"] != request[USER]:
                return _refuse(403, "M_FORBIDDEN")
        id = self.write(request.match_info["room"], request[USER], content, kind, first=content)
        self.transactions[key] = {"event_id": id}
        return web.json_response(self.transactions[key])

    async def _redact(self, request: web.Request) -> web.Response:
        room, event = request.match_info["room"], request.match_info["event"]
        if self.find(room, event) is None:
            return _refuse(404, "M_NOT_FOUND")
        return web.json_response({"event_id": self.redact(room, request[USER], event)})

    async def _typing(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.typing.append((request.match_info["room"], bool(body["typing"])))
        return web.json_response({})

    async def _read_data(self, request: web.Request) -> web.Response:
        data = self.account_data.get((request.match_info["user"], request.match_info["kind"]))
        return _refuse(404, "M_NOT_FOUND") if data is None else web.json_response(data)

    async def _write_data(self, request: web.Request) -> web.Response:
        self.account_data[request.match_info["user"], request.match_info["kind"]] = await request.json()
        return web.json_response({})

    async def _upload(self, request: web.Request) -> web.Response:
        content = await request.read()
        if len(content) > self.upload_size:
            return _refuse(413, "M_TOO_LARGE")
        return web.json_response({"content_uri": self.store(request.query["filename"], request.content_type, content)})

    def store(self, name: str, media_type: str, content: bytes) -> str:
        """Keep a file, and return its address."""
        id = f"media{len(self.media)}"
        self.media[id] = (name, media_type, content)
        return f"mxc://example.org/{id}"

    async def _download(self, request: web.Request) -> web.Response:
        if request.match_info["media"] not in self.media:
            return _refuse(404, "M_NOT_FOUND")
        _, media_type, content = self.media[request.match_info["media"]]
        return web.Response(body=content, content_type=media_type)

    def pinged(self, content: Json) -> list[str]:
        """Whom the default push rules wake."""
        mentions = content.get("m.mentions")
        if mentions is not None:
            return [*mentions.get("user_ids", []), *(["@room"] if mentions.get("room") else [])]
        body = str(content.get("body", ""))
        return re.findall(r"@room\b|@\w+:[\w.]+", body)


def _refuse(status: int, code: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"errcode": code, "error": code}, status=status, headers=headers)
