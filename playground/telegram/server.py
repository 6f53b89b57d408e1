"""The HTTP side: a token, a method, an answer, and everything that can go wrong on the way."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import Self

from aiohttp import web

from playground.calls import Calls
from playground.faults import Fault, Faults
from playground.loopback import odd
from playground.telegram import media, messages, profile
from playground.telegram.call import ApiError, Arguments, Call, Json, too_many
from playground.telegram.entities import Entity
from playground.telegram.limits import Limits
from playground.telegram.people import People
from playground.telegram.profile import Handler
from playground.telegram.world import Chat, Message, Person, TelegramScreen, World

METHODS: dict[str, Handler] = {
    "getMe": profile.get_me,
    "getUpdates": lambda world, arguments: world.updates.get_updates(arguments),
    "setWebhook": lambda world, arguments: world.updates.set_webhook(arguments),
    "deleteWebhook": lambda world, arguments: world.updates.delete_webhook(arguments),
    "getWebhookInfo": lambda world, arguments: world.updates.webhook_info(arguments),
    "sendMessage": messages.send_message,
    "editMessageText": messages.edit_message_text,
    "deleteMessage": messages.delete_message,
    "sendChatAction": messages.send_chat_action,
    "sendMessageDraft": messages.send_message_draft,
    "sendPhoto": media.send_photo,
    "sendDocument": media.send_document,
    "sendVoice": media.send_voice,
    "getFile": media.get_file,
    "answerCallbackQuery": profile.answer_callback_query,
    "setMessageReaction": profile.set_message_reaction,
    "setMyCommands": profile.set_my_commands,
    "getMyCommands": profile.get_my_commands,
}
_NAMES = {name.lower(): name for name in METHODS}
_PHRASES = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict"} | {
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class TelegramServer:
    """The Bot API on loopback, for one bot, with the people who write to it.

    Refuses what the service refuses, in its words. An async context manager; `base_url` is known inside.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        now: Callable[[], float] = time.monotonic,
        limits: bool | Limits = True,
        *,
        webhook_retry_seconds: float = 1.0,
    ) -> None:
        self.token = "7000000001:AAF3playgroundPlaygroundPlayground0"
        self.base_url = ""
        self.calls: Calls[Call] = Calls()
        self.refusals = 0
        """How many calls flood control refused (429); a 429 that a fault asked for is not one of them."""
        budgets = limits if isinstance(limits, Limits) else Limits() if limits else None
        self.world = World(now, budgets, webhook_retry_seconds)
        self.people = People(self.world)
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def bot(self) -> Json:
        """The bot's own User object; change it before the bot asks for it."""
        return self.world.bot

    @property
    def menu(self) -> list[str]:
        """The commands that the bot has listed for everybody."""
        listed = self.world.profile.get("commands:default:::", [])
        return [str(one["command"]).removeprefix("/") for one in listed]

    @property
    def screen(self) -> TelegramScreen:
        return self.world.screen

    @property
    def faults(self) -> Faults:
        return self.world.faults

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/bot{token}/{method}", self._bot)
        app.router.add_get("/file/bot{token}/{path:.+}", self._file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://{self._host}:{port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.faults.close()
        await self.world.updates.close()
        if self._runner is not None:
            await self._runner.cleanup()

    # A person's side, at hand: `People` says what each does.

    def person(self, id: int, first_name: str = "", *, username: str = "", language_code: str = "") -> Person:
        return self.people.person(id, first_name, username=username, language_code=language_code)

    def group(self, chat_id: int, title: str = "", *, forum: bool = False) -> Chat:
        return self.people.group(chat_id, title, forum=forum)

    def say(
        self,
        chat: int,
        text: str,
        *,
        person: int | Person | None = None,
        thread: int = 0,
        reply_to: int = 0,
        quote: str = "",
        entities: Sequence[Entity] = (),
        files: Sequence[tuple[str, str, bytes]] = (),
    ) -> int:
        return self.people.say(
            chat, text, person=person, thread=thread, reply_to=reply_to, quote=quote, entities=entities, files=files
        )

    def edit(self, chat: int, message_id: int, text: str, *, entities: Sequence[Entity] = ()) -> int:
        return self.people.edit(chat, message_id, text, entities=entities)

    def delete(self, chat: int, message_id: int) -> None:
        self.people.delete(chat, message_id)

    def press(self, chat: int, message_id: int, button: str, *, person: int | Person | None = None) -> int:
        return self.people.press(chat, message_id, button, person=person)

    def react(self, chat: int, message_id: int, *emojis: str, person: int | Person | None = None) -> int:
        return self.people.react(chat, message_id, *emojis, person=person)

    def stop_draft(self, chat: int, thread: int = 0) -> int:
        return self.people.stop_draft(chat, thread)

    def block(self, chat: int) -> int:
        return self.people.block(chat)

    def unblock(self, chat: int) -> int:
        return self.people.unblock(chat)

    def upgrade(self, chat_id: int, to: int) -> Chat:
        return self.people.upgrade(chat_id, to)

    def redeliver(self, update_id: int) -> None:
        self.world.updates.redeliver(update_id)

    def message_id(self, update_id: int) -> int:
        return self.people.message_id(update_id)

    def message(self, chat: int, message_id: int) -> Message | None:
        """A message that still stands."""
        return self.world.messages.get((chat, message_id))

    def expire(self) -> None:
        """Take away drafts whose time is over; happens by itself at each call and, on the real clock, in time."""
        self.world.expire()

    def calls_of(self, *methods: str) -> list[Call]:
        """The calls of some methods, oldest first."""
        return [call for call in self.calls if call.method in methods]

    async def _bot(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _answer(ApiError(401, "Unauthorized").body(), 401)
        written = request.match_info["method"]
        method = _NAMES.get(written.lower(), written)
        self.world.expire()
        try:
            arguments = await Arguments.read(request)
        except ApiError as error:
            self.calls.append(Call(self.world.now(), method, "", {}, error.status, 0, error.description))
            return _answer(error.body(), error.status)
        except ConnectionResetError:
            # A client that was stopped in the middle of its request: there is nobody to answer.
            return web.Response()
        except web.HTTPRequestEntityTooLarge:
            return _answer(ApiError(413, "Request Entity Too Large").body(), 413)
        call = Call(self.world.now(), method, arguments.text("chat_id"), arguments.record())
        self.calls.append(call)
        try:
            return await self._meet(request, call, arguments)
        finally:
            left = self.world.flood.left(arguments.integer("chat_id")) if call.chat else None
            self.calls.answered(call, self.world.now(), left)

    async def _meet(self, request: web.Request, call: Call, arguments: Arguments) -> web.StreamResponse:
        """Apply the fault that waits for a call, if any, around its answer."""
        fault = self.faults.take(call.method) or Fault()
        if fault.drop == "late":
            self.faults.later(fault, lambda: self._admitted(call, arguments))
            return _drop(request)
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.hold is not None:
            await fault.hold.wait()
        if fault.drop == "before":
            return _drop(request)
        if fault.status:
            return self._faulty(call, arguments, fault)
        answer = await self._run(call, arguments)
        if fault.drop == "after":
            return _drop(request)
        if fault.hold_after is not None:
            await fault.hold_after.wait()
        return odd(fault) if fault.answer is not None and answer.status == 200 else answer

    async def _admitted(self, call: Call, arguments: Arguments) -> None:
        with self.world.flood.admitted():
            await self._run(call, arguments)

    async def _run(self, call: Call, arguments: Arguments) -> web.Response:
        handler = METHODS.get(call.method)
        try:
            if handler is None:
                raise ApiError(404, "Not Found")
            result = await handler(self.world, arguments)
        except ApiError as error:
            call.status, call.description = error.status, error.description
            if error.status == 429:
                call.retry_after = int(error.parameters["retry_after"])
                self.refusals += 1
            return _answer(error.body(), error.status)
        call.status = 200
        return _answer({"ok": True, "result": result}, 200)

    def _faulty(self, call: Call, arguments: Arguments, fault: Fault) -> web.Response:
        """Answer with the status a test asked for. A 429 closes the chat as one of our own would."""
        call.status = fault.status
        error = ApiError(fault.status, _PHRASES.get(fault.status, "Internal Server Error"))
        if fault.status == 429:
            chat = arguments.integer("chat_id")
            if self.world.flood.closed(chat):
                self.refusals += 1
            error = too_many(math.ceil(fault.retry_after) or 1)
            call.retry_after = int(error.parameters["retry_after"])
            if chat:
                self.world.flood.close(chat, call.retry_after)
        call.description = error.description
        if fault.body:
            return web.Response(body=fault.body.encode(), status=fault.status, headers=fault.headers)
        return _answer(error.body(), fault.status, fault)

    async def _file(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != self.token:
            return _answer(ApiError(401, "Unauthorized").body(), 401)
        for stored in self.world.files.values():
            if stored.path == request.match_info["path"]:
                return web.Response(body=stored.content, content_type="application/octet-stream")
        return _answer(ApiError(404, "Not Found").body(), 404)


def _answer(body: Json, status: int, fault: Fault | None = None) -> web.Response:
    return web.json_response(body, status=status, headers=fault.headers if fault else None)


def _drop(request: web.Request) -> web.Response:
    """Close the connection under the request."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
