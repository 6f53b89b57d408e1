"""A Mattermost server on loopback, which refuses what the real one refuses. Imports nothing of the adapter or Parley.

The answers are those of https://developers.mattermost.com/api-documentation/ and of the server's source
(`server/channels/api4/post.go`, `app/ratelimit.go`, `app/post_metadata.go`): a deleted post cannot be edited (403) or
deleted (404), a post has at most 16,383 characters, and calls are limited as `RateLimitSettings` says by default.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 16_383
PER_SECOND, BURST = 10, 100
KEPT_EVENTS = 128
"""Events that a connection is sent again when it comes back."""
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_URL = re.compile(r"https?://[^\s<>()]+")


@dataclass(frozen=True)
class Version:
    """A post as it looked for a while."""

    text: str
    markup: str


@dataclass
class Shown:
    """A post as people see it."""

    id: str
    channel: str
    author: str
    root: str
    versions: list[Version] = field(default_factory=list)
    buttons: list[str] = field(default_factory=list)
    files: list[tuple[str, str, bytes]] = field(default_factory=list)
    deleted: bool = False
    ephemeral: bool = False
    live: bool = False

    @property
    def text(self) -> str:
        return self.versions[-1].text


@dataclass
class Fault:
    """What goes wrong with one call, once."""

    call: str
    """As `POST /posts`; `*` is any."""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    late: asyncio.Event | None = None
    """The connection closes at once, and the call is done when this is set."""
    done: asyncio.Event = field(default_factory=asyncio.Event)
    answer: str | None = None
    """The call is done, and this is its answer if that went well."""


class Refusal(Exception):
    """An error in the server's form."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code)
        self.response = web.json_response(
            {"id": code, "message": message, "detailed_error": "", "request_id": "", "status_code": status},
            status=status,
        )


_GONE = "app.post.get.app_error", "Unable to get the post."
_FORBIDDEN = "api.context.permissions.app_error", "You do not have the appropriate permissions."


def _plain(tokens: list[Token]) -> str:
    """What is read, with the markup taken away."""
    parts = []
    for token in tokens:
        if token.type == "inline":
            parts.append(_plain(token.children or []))
        elif token.type in ("text", "code_inline", "fence", "code_block"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_plain(token.children or []))
        elif token.nesting == -1 and token.block and token.type != "list_item_close":
            parts.append("\n")
    return "".join(parts)


def _text_nodes(tokens: list[Token]) -> list[str]:
    """The words in which mentions are looked for: not those in code."""
    found = []
    for token in tokens:
        found += _text_nodes(token.children or []) if token.children else []
        found += [token.content] if token.type == "text" else []
    return found


class Connection:
    """A WebSocket of the bot, and what is kept for it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.socket: web.WebSocketResponse | None = None
        self.number = 0
        self.kept: deque[dict[str, Any]] = deque(maxlen=KEPT_EVENTS)

    async def send(self, event: str, data: dict[str, Any], channel: str = "") -> None:
        frame = {"event": event, "data": data, "broadcast": {"channel_id": channel}, "seq": self.number}
        self.number += 1
        self.kept.append(frame)
        if self.socket is not None and not self.socket.closed:
            await self.socket.send_json(frame)


class MattermostServer:
    """One server, one bot account, and the people at it; `async with` starts it."""

    def __init__(self, *, limits: bool = True, now: Callable[[], float] = time.monotonic) -> None:
        self.limits, self._now = limits, now
        self._ids = (f"{number:026d}" for number in itertools.count(1))
        self.token = "bot-token-of-mattermost"
        self.people: dict[str, dict[str, str]] = {}
        self.bot = self.person("parley")
        self.channels: dict[str, str] = {}
        self.posts: dict[str, dict[str, Any]] = {}
        self.screen: dict[str, Shown] = {}
        self.files: dict[str, tuple[str, str, bytes]] = {}
        self.calls: list[str] = []
        self.signs = 0
        self.previews: list[str] = []
        self.pings: list[str] = []
        self.faults: list[Fault] = []
        self.hosts: dict[str, str] = {}
        """Where an address outside leads on this machine."""
        self.most_bytes = 100 * 1024 * 1024
        self.greeted = 0
        """Connections that began afresh."""
        self.refusals = 0
        """Calls that came too often."""
        self.failed: list[str] = []
        """Presses that nobody accepted."""
        self._until_free = 0.0
        self._connections: dict[str, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> MattermostServer:
        app = web.Application(client_max_size=200 * 1024 * 1024)
        app.router.add_get("/api/v4/websocket", self._websocket)
        app.router.add_route("*", "/api/v4/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        self.base_url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[attr-defined]
        self._http = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for one in self._connections.values():
            if one.socket is not None:
                await one.socket.close()
        await self._http.close()
        await self._runner.cleanup()

    # People

    def person(self, name: str) -> str:
        """Add somebody; their id."""
        id = next(self._ids)
        self.people[id] = {"id": id, "username": name, "nickname": "", "locale": "en"}
        return id

    def channel(self, kind: str = "O") -> str:
        """Add a channel (`O`, `P`), a group (`G`) or a direct conversation (`D`) of which the bot is a member."""
        id = next(self._ids)
        self.channels[id] = kind
        return id

    def say(
        self, channel: str, text: str, person: str, *, root: str = "", files: tuple[tuple[str, str, bytes], ...] = ()
    ) -> str:
        """Somebody posts; the id of the post."""
        ids = []
        for file in files:
            ids.append(next(self._ids))
            self.files[ids[-1]] = file
        return str(
            self._create(person, {"channel_id": channel, "message": text, "root_id": root, "file_ids": ids})["id"]
        )

    def edit(self, id: str, text: str) -> None:
        """Somebody changes their post."""
        self._change(self.posts[id], {"message": text})

    def pin(self, id: str) -> None:
        """Somebody pins a post, which is told as an edit."""
        self.posts[id]["is_pinned"] = True
        self._tell("post_edited", self.posts[id])

    def delete(self, id: str) -> None:
        """Somebody deletes a post."""
        self.posts[id]["delete_at"] = self._millis()
        self.screen[id].deleted = True
        self._tell("post_deleted", self.posts[id])

    def press(self, id: str, label: str, person: str) -> None:
        """Somebody presses a button: the server posts to the address in it."""
        post = self.posts[id]
        [action] = [one for part in post["props"]["attachments"] for one in part["actions"] if one["name"] == label]
        told = {
            "user_id": person, "user_name": self.people[person]["username"], "channel_id": post["channel_id"],
            "team_id": "", "post_id": id, "trigger_id": next(self._ids), "type": "button", "data_source": "",
            "context": action["integration"]["context"],
        }  # fmt: skip
        self._soon(self._post_action(action["integration"]["url"], told))

    def shown(self, channel: str) -> list[Shown]:
        """The bot's posts that stand, oldest first."""
        posts = self.screen.values()
        return [one for one in posts if one.channel == channel and one.author == self.bot and not one.deleted]

    async def drop(self) -> None:
        """Every WebSocket breaks."""
        for one in self._connections.values():
            if one.socket is not None:
                await one.socket.close()

    # The API

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"]
        call = f"{request.method} /{path.split('/')[1]}"
        self.calls.append(call)
        body = await request.read() if "multipart" not in request.content_type else b""
        form = dict(await request.post()) if "multipart" in request.content_type else {}
        fault = next((one for one in self.faults if one.call in (call, "*")), None)
        if fault is not None:
            self.faults.remove(fault)
            if fault.late is not None:
                self._soon(self._later(fault, request, path, body, form))
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
            if fault.status:
                return web.Response(status=fault.status, headers=fault.headers, text=fault.body)
        response = self._limited() or self._answer(request, path, body, form)
        if fault is not None and fault.answer is not None and response.status < 300:
            return web.Response(text=fault.answer)
        return response

    async def _later(self, fault: Fault, request: web.Request, path: str, body: bytes, form: dict[str, Any]) -> None:
        assert fault.late is not None
        await fault.late.wait()
        self._answer(request, path, body, form)
        fault.done.set()

    def _limited(self) -> web.Response | None:
        """The generic cell rate algorithm that the server uses, and its headers."""
        if not self.limits:
            return None
        now, step = self._now(), 1 / PER_SECOND
        free = max(self._until_free, now)
        wait = free + step - now - BURST * step
        if wait <= 1e-9:
            self._until_free = free + step
            return None
        self.refusals += 1
        headers = {
            "X-RateLimit-Limit": str(BURST), "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": str(math.ceil(free - now)), "Retry-After": str(math.ceil(wait)),
        }  # fmt: skip
        return web.Response(status=429, text="limit exceeded\n", headers=headers)

    def _answer(self, request: web.Request, path: str, body: bytes, form: dict[str, Any]) -> web.Response:
        try:
            if request.headers.get("Authorization") != f"Bearer {self.token}":
                message = "Invalid or expired session, please login again."
                raise Refusal(401, "api.context.session_expired.app_error", message)
            try:
                told = json.loads(body) if body else {}
            except ValueError:
                raise Refusal(400, "api.context.invalid_body_param.app_error", "Invalid body.") from None
            return self._route(request.method, path, told, form)
        except Refusal as refusal:
            return refusal.response

    def _route(self, method: str, path: str, told: dict[str, Any], form: dict[str, Any]) -> web.Response:
        match method, *path.strip("/").split("/"):
            case "GET", "users", id:
                return web.json_response(self.people[self.bot if id == "me" else id])
            case "POST", "users", "me", "typing":
                self.signs += 1
                return web.json_response({"status": "OK"})
            case "GET", "channels", id:
                return web.json_response({"id": self._member(id), "type": self.channels[id]})
            case "GET", "channels", id, "posts":
                listed = [post for post in self.posts.values() if post["channel_id"] == id and not post["delete_at"]][
                    -100:
                ]
                posts = {post["id"]: self._sanitized(post) for post in listed}
                return web.json_response({"order": [*reversed(posts)], "posts": posts})
            case "POST", "posts":
                return web.json_response(self._sanitized(self._create(self.bot, told)), status=201)
            case "GET", "posts", id:
                return web.json_response(self._sanitized(self._post(id, 404, *_GONE)))
            case "PUT", "posts", id, "patch":
                post = self._post(id, 403, *_FORBIDDEN)
                return web.json_response(self._sanitized(self._change(post, told)))
            case "DELETE", "posts", id:
                self._post(id, 404, *_GONE)
                self.delete(id)
                return web.json_response({"status": "OK"})
            case "POST", "files":
                return self._upload(form)
            case "GET", "files", id:
                if id not in self.files:
                    raise Refusal(404, "app.file_info.get.app_error", "Unable to get the file info.")
                _, kind, content = self.files[id]
                return web.Response(body=content, content_type=kind)
        raise Refusal(404, "api.context.404.app_error", "Sorry, we could not find the page.")

    def _member(self, channel: object) -> str:
        if channel not in self.channels:
            raise Refusal(403, *_FORBIDDEN)
        return str(channel)

    def _post(self, id: str, status: int, code: str, message: str) -> dict[str, Any]:
        """A post of the bot that stands."""
        post = self.posts.get(id)
        if post is None or post["delete_at"]:
            raise Refusal(status, code, message)
        if post["user_id"] != self.bot:
            raise Refusal(403, *_FORBIDDEN)
        return post

    def _upload(self, form: dict[str, Any]) -> web.Response:
        self._member(form.get("channel_id"))
        file = form["files"]
        content = file.file.read()
        if len(content) > self.most_bytes:
            raise Refusal(413, "api.file.upload_file.too_large_detailed.app_error", "Unable to upload file.")
        id = next(self._ids)
        self.files[id] = (file.filename, file.content_type, content)
        return web.json_response({"file_infos": [self._info(id)], "client_ids": []}, status=201)

    def _info(self, id: str) -> dict[str, Any]:
        name, kind, content = self.files[id]
        return {"id": id, "name": name, "mime_type": kind, "size": len(content)}

    def _create(self, author: str, told: dict[str, Any]) -> dict[str, Any]:
        channel, root = self._member(told.get("channel_id")), told.get("root_id") or ""
        if root and (
            root not in self.posts or self.posts[root]["channel_id"] != channel or self.posts[root]["root_id"]
        ):
            raise Refusal(400, "api.post.create_post.root_id.app_error", "Invalid RootId parameter.")
        ids = told.get("file_ids") or []
        id = next(self._ids)
        post = {
            "id": id, "create_at": self._millis(), "update_at": 0, "edit_at": 0, "delete_at": 0, "user_id": author,
            "channel_id": channel, "root_id": root, "message": "", "type": "", "props": {}, "file_ids": ids,
            "metadata": {"files": [self._info(one) for one in ids]} if ids else {},
        }  # fmt: skip
        self._check(told)
        self.posts[id] = post
        self.screen[id] = Shown(id, channel, author, root, files=[self.files[one] for one in ids])
        self._apply(post, told)
        self._tell("posted", post)
        return post

    def _change(self, post: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
        self._check(told)
        post["edit_at"] = self._millis()
        self._apply(post, told)
        self._tell("post_edited", post)
        return post

    def _check(self, told: dict[str, Any]) -> None:
        message = told.get("message", "")
        if not isinstance(message, str) or not isinstance(told.get("props", {}), dict):
            raise Refusal(400, "api.context.invalid_body_param.app_error", "Invalid or missing post in request body.")
        if len(message) > LONGEST:
            code = "model.post.is_valid.message_length.app_error"
            raise Refusal(400, code, "Post Message property is longer than the maximum permitted length.")

    def _apply(self, post: dict[str, Any], told: dict[str, Any]) -> None:
        post |= {name: told[name] for name in ("message", "props") if name in told}
        post["update_at"] = max(self._millis(), post["update_at"] + 1)
        tokens = _MARKDOWN.parse(post["message"])
        shown = self.screen[post["id"]]
        shown.versions.append(Version(_plain(tokens).strip("\n"), post["message"]))
        parts = post["props"].get("attachments", [])
        shown.buttons = [action["name"] for part in parts for action in part.get("actions", [])]
        if post["user_id"] == self.bot:
            self._look(post, tokens)

    def _look(self, post: dict[str, Any], tokens: list[Token]) -> None:
        """What a post of the bot sets off: previews of the first link where nothing is attached, pictures, mentions."""
        inline = [child for token in tokens for child in token.children or []]
        self.previews += [str(one.attrs["src"]) for one in inline if one.type == "image"]
        if "attachments" not in post["props"]:
            links = [str(one.attrs["href"]) for one in inline if one.type == "link_open"]
            links += [found for text in _text_nodes(tokens) for found in _URL.findall(text)]
            self.previews += links[:1]
        names = {"all", "channel", "here", *(one["username"] for one in self.people.values())}
        for text in _text_nodes(tokens):
            self.pings += [name for name in re.findall(r"@([\w.-]+)", text) if name in names]

    def _sanitized(self, post: dict[str, Any]) -> dict[str, Any]:
        """A post as clients get it: without the addresses and contexts of its buttons."""
        copy: dict[str, Any] = json.loads(json.dumps(post))
        for part in copy["props"].get("attachments", []):
            for action in part.get("actions", []):
                action.pop("integration", None)
        return copy

    # Events

    def _tell(self, event: str, post: dict[str, Any]) -> None:
        data = {"post": json.dumps(self._sanitized(post))}
        if event == "posted":
            data |= {"channel_type": self.channels[post["channel_id"]], "channel_name": "", "mentions": "[]"}
            data["sender_name"] = f"@{self.people[post['user_id']]['username']}"
        for one in self._connections.values():
            self._soon(one.send(event, data, post["channel_id"]))

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if request.headers.get("Authorization") == f"Bearer {self.token}":
            # Without a session a connection is silent, until it is closed.
            await self._attach(socket, request.query.get("connection_id", ""), request.query.get("sequence_number", ""))
        async for _ in socket:
            pass
        return socket

    async def _attach(self, socket: web.WebSocketResponse, id: str, number: str) -> None:
        """Send what was missed, where that is still known; else greet. A connection that comes back is not greeted."""
        known = self._connections.get(id)
        if known is not None and any(frame["seq"] == int(number) - 1 for frame in known.kept):
            known.socket = socket
            for frame in [frame for frame in known.kept if frame["seq"] >= int(number)]:
                await socket.send_json(frame)
            return
        self.greeted += 1
        one = Connection(next(self._ids))
        one.socket, self._connections[one.id] = socket, one
        await one.send("hello", {"connection_id": one.id, "server_version": "10.5.0"})

    async def _post_action(self, url: str, told: dict[str, Any]) -> None:
        async with self._http.post(self.hosts.get(url, url), json=told) as response:
            if response.status != 200:
                self.failed.append(f"{response.status}")

    def _soon(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _millis(self) -> int:
        return int(time.time() * 1000)
