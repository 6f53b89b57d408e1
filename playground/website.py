"""The page on loopback: its files, its events, and what a person does on it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from playground.facts import PEOPLE, SIGNS, YOU
from playground.feed import Feed, Json
from playground.screen import Shown
from playground.windows import DiscordWindow, Impossible, Sent, Window
from playground.wire import Wire

_FOLDER = Path(__file__).resolve().parent / "page"
_SHARED = {
    name: Path(__file__).resolve().parents[1] / "bot" / "operations" / "page" / name
    for name in ("tokens.css", "elements.js", "icons.js")
}
"""Files of the operator's page that this one is made of, too."""
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_SHOWN = frozenset(
    (
        *("image/png", "image/jpeg", "image/gif", "image/webp"),
        *("audio/ogg", "audio/webm", "audio/mpeg", "audio/mp4", "audio/wav", "audio/x-wav"),
    )
)
"""What the page shows of files, and a browser opens without obeying anything in it."""
MOST_FILES = 10
"""In one message, as Telegram and Discord have it."""
_UNSAFE = re.compile(r"[\x00-\x1f/\\]")
_KEEP_ALIVE_SECONDS = 15.0
_LONGEST_TYPED = 200
_LONGEST_TEXT = 200_000
_TYPED_MENTION = re.compile(r"(?<![\w@<.])@parley\b", re.IGNORECASE)
"""What a platform's own field turns into a mention while one types it."""
_HOSTS = ("127.0.0.1", "localhost", "[::1]")

Act = Callable[[Json], None]


class Website:
    """Serves the page, tells it what happens, and passes on what is typed and pressed.

    Other web sites may not act here: a request needs a loopback host, and an action the page's own origin, because
    some actions cost the operator money.
    """

    def __init__(
        self,
        windows: Mapping[str, Window],
        feed: Feed,
        start: Callable[[], Json],
        acts: Mapping[str, Act],
        connected: Callable[[str], Awaitable[None]],
        wire: Wire,
    ) -> None:
        self._windows = windows
        self._feed = feed
        self._start = start
        self._connected = connected
        self._wire = wire
        self.turn: Callable[[str], Json] = lambda platform: {}
        """What the bot's store knows of the last turn of a platform."""
        own: dict[str, Act] = {
            "say": self._say,
            "press": self._press,
            "edit": self._edit,
            "delete": self._delete,
            "react": self._react,
        }
        self._acts = {**own, **acts}
        self.app = web.Application(middlewares=[_guard], client_max_size=4 * _LONGEST_TEXT)
        for path in ("/", *(f"/{name}" for name in (*_files_of(_FOLDER), *_SHARED))):
            self.app.router.add_get(path, self._file)
        self.app.router.add_get("/events", self._events)
        self.app.router.add_get("/wire/{platform}", self._calls)
        self.app.router.add_get("/turn/{platform}", self._turn)
        self.app.router.add_get("/complete/{platform}/{place}", self._complete)
        self.app.router.add_get("/files/{platform}/{chat}/{id}/{number}", self._attachment)
        self.app.router.add_post("/do/{act}", self._do)
        self.app.router.add_post("/send", self._send)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.path.removeprefix("/") or "index.html"
        file = _SHARED.get(name, _FOLDER / name)
        return web.Response(text=file.read_text(encoding="utf-8"), content_type=_KINDS[file.suffix], headers=_HEADERS)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Everything that stands, then everything that changes, as server-sent events."""
        answer = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream; charset=utf-8"})
        viewer = self._feed.open()
        try:
            await answer.prepare(request)
            await answer.write(
                _event("start", {**self._start(), "messages": self._feed.so_far(), "notes": self._feed.notes})
            )
            while True:
                try:
                    await asyncio.wait_for(viewer.wake.wait(), _KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    await answer.write(b": still here\n\n")
                    continue
                for kind, data in viewer.take():
                    await answer.write(_event(kind, data))
        finally:
            self._feed.close(viewer)

    async def _calls(self, request: web.Request) -> web.StreamResponse:
        """The wire of a platform's last answer."""
        if request.match_info["platform"] not in self._windows:
            return _problem(404, "there is no such platform")
        return web.json_response(self._wire.told(request.match_info["platform"]), headers=_HEADERS)

    async def _turn(self, request: web.Request) -> web.StreamResponse:
        """The last turn of a platform."""
        if request.match_info["platform"] not in self._windows:
            return _problem(404, "there is no such platform")
        return web.json_response(self.turn(request.match_info["platform"]), headers=_HEADERS)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        """What is offered to somebody who types a command."""
        window = self._windows.get(request.match_info["platform"])
        place = request.match_info["place"]
        if window is None or place not in {one.id for one in window.places}:
            return _problem(404, "there is no such chat")
        typed = request.query.get("typed", "")[:_LONGEST_TYPED]
        offers = await window.complete(place, typed) if isinstance(window, DiscordWindow) else []
        return web.json_response({"offers": offers}, headers=_HEADERS)

    async def _do(self, request: web.Request) -> web.StreamResponse:
        act = self._acts.get(request.match_info["act"])
        if act is None:
            return _problem(404, "there is no such button")
        if request.content_type != "application/json":
            return _problem(415, "send JSON")
        return await _done(self._act(request, act))

    async def _act(self, request: web.Request, act: Act) -> None:
        body = json.loads(await request.read())
        if request.match_info["act"] in ("say", "edit"):
            await self._connected(str(body["platform"]))
        act(body)

    async def _send(self, request: web.Request) -> web.StreamResponse:
        # A header of one's own cannot be sent from another web site, as a form could.
        if request.content_type != "multipart/form-data" or "X-Playground" not in request.headers:
            return _problem(415, "send a form of this page")
        return await _done(self._say_with_files(request))

    async def _say_with_files(self, request: web.Request) -> None:
        """Write with files: a form whose first field is what `say` takes, as JSON, and whose others are files."""
        parts = await request.multipart()
        first = await parts.next()
        if not isinstance(first, BodyPartReader) or first.name != "body":
            raise ValueError("a form without what is said")
        body = json.loads(await _read(first, 4 * _LONGEST_TEXT))
        files = await _files(parts, self._window(body))
        await self._connected(str(body["platform"]))
        self._say(body, files)

    def _say(self, body: Mapping[str, Any], files: Sequence[Sent] = ()) -> None:
        window = self._window(body)
        place = next((one for one in window.places if one.id == body["place"]), None)
        if place is None:
            raise Impossible("there is no such chat")
        text, typed = _typed(window, body, silent=bool(files))
        if body.get("mention") and place.mention and not typed and (files or not text.startswith("/")):
            text = f"{place.mention} {text}".rstrip()
        thread, reply_to = str(body.get("thread") or ""), ""
        if body.get("id") and "reply" in window.offers:
            reply_to = _standing(window, body).id
        author = str(body.get("author") or YOU)
        if author not in PEOPLE:
            raise Impossible("there is nobody of that name")
        window.say(place.id, text, thread, reply_to, files, author)

    def _edit(self, body: Mapping[str, Any]) -> None:
        window = self._window(body)
        message, (text, _) = _own(window, body), _typed(window, body)
        if str(body["text"]).strip() != window.written(message):
            window.edit(message, text)

    def _delete(self, body: Mapping[str, Any]) -> None:
        window = self._window(body)
        window.delete(_own(window, body))

    def _react(self, body: Mapping[str, Any]) -> None:
        window, sign = self._window(body), str(body["sign"])
        if sign not in SIGNS:
            raise Impossible("that sign is not offered here")
        window.react(_standing(window, body), sign)

    def _press(self, body: Mapping[str, Any]) -> None:
        self._window(body).press(str(body["chat"]), str(body["id"]), str(body["button"]))

    def _window(self, body: Mapping[str, Any]) -> Window:
        window = self._windows.get(str(body["platform"]))
        if window is None:
            raise Impossible("there is no such platform")
        return window

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        """A file of a message. Only pictures and sounds are shown; else it is a download, never a page of ours."""
        asked = request.match_info
        window = self._windows.get(asked["platform"])
        message = window.screen.get(asked["chat"], asked["id"]) if window else None
        number = int(asked["number"]) if asked["number"].isdecimal() else -1
        if message is None or not 0 <= number < len(message.files):
            return _problem(404, "there is no such file")
        name, media, content = message.files[number]
        shown = media.partition(";")[0] in _SHOWN
        headers = dict(_HEADERS)
        if not shown:
            plain = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "_" for one in name)
            headers["Content-Disposition"] = f'attachment; filename="{plain or "file"}"'
        return web.Response(
            body=content,
            content_type=media.partition(";")[0] if shown else "application/octet-stream",
            headers=headers,
        )


def _files_of(folder: Path) -> list[str]:
    """The files of the page, as the paths a browser asks for."""
    found = [path for path in folder.rglob("*") if path.suffix in _KINDS and path.is_file()]
    return sorted(path.relative_to(folder).as_posix() for path in found)


async def _done(work: Awaitable[None]) -> web.StreamResponse:
    """Do what a request asks, and answer it."""
    try:
        await work
    except Impossible as error:
        return _problem(409, str(error))
    except (KeyError, TypeError, ValueError, HttpProcessingError):
        return _problem(400, "the request was incomplete")
    return web.json_response({"ok": True}, headers=_HEADERS)


async def _files(parts: MultipartReader, window: Window) -> list[Sent]:
    """The files of a form.

    Raises:
        Impossible: there is none, one is empty or too large, or there are too many.
    """
    files: list[Sent] = []
    while (part := await parts.next()) is not None:
        if not isinstance(part, BodyPartReader):
            raise ValueError("a form within a form")
        if len(files) == MOST_FILES:
            raise Impossible(f"at most {MOST_FILES} files at once")
        name = _UNSAFE.sub("_", part.filename or "file")[-200:]
        content = await _read(part, window.most_bytes)
        if not content:
            raise Impossible(f"{name} is empty")
        files.append((name, part.headers.get("Content-Type", "application/octet-stream")[:200], content))
    if not files:
        raise Impossible("there is no file")
    return files


async def _read(part: BodyPartReader, most: int) -> bytes:
    """The content of a part.

    Raises:
        Impossible: it is longer.
    """
    content = bytearray()
    while piece := await part.read_chunk(65_536):
        content += piece
        if len(content) > most:
            raise Impossible(f"at most {most // 1024**2} MB can be sent here")
    return bytes(content)


def _typed(window: Window, body: Mapping[str, Any], *, silent: bool = False) -> tuple[str, int]:
    """What was typed, with mentions as the platform writes them, and how many of those there are.

    Args:
        silent: it may be nothing.
    """
    text = str(body["text"]).strip()
    if not text and not silent:
        raise Impossible("an empty message cannot be sent")
    if len(text) > _LONGEST_TEXT:
        raise Impossible(f"at most {_LONGEST_TEXT:,} characters at once")
    mention = next((place.mention for place in window.places if place.mention), "")
    return _TYPED_MENTION.subn(lambda _: mention, text)


def _standing(window: Window, body: Mapping[str, Any]) -> Shown:
    """The message that is meant."""
    message = window.screen.get(str(body["chat"]), str(body["id"]))
    if message is None or message.deleted:
        raise Impossible("that message is gone")
    return message


def _own(window: Window, body: Mapping[str, Any]) -> Shown:
    """The same, of the person's own."""
    message = _standing(window, body)
    if message.author == "bot":
        raise Impossible("only its author can do that")
    return message


@web.middleware
async def _guard(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """Refuse what another web site, or a name that only pretends to be this machine, asks a browser to send."""
    host, _, _ = request.host.rpartition(":") if not request.host.endswith("]") else (request.host, "", "")
    if (host or request.host) not in _HOSTS:
        return _problem(403, "this page is for this machine only")
    origin = request.headers.get("Origin")
    if request.method != "GET" and origin is not None and origin != f"http://{request.host}":
        return _problem(403, "only the page itself may do this")
    answer: web.StreamResponse = await handler(request)
    return answer


def _problem(status: int, text: str) -> web.Response:
    return web.json_response({"problem": text}, status=status, headers=_HEADERS)


def _event(kind: str, data: Json) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
