"""Receives what `/sync` returns; a surface of `surface.py` shows the replies."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, BinaryIO, Final, Self
from urllib.parse import quote

import parley_chat.adapter as parley

from . import MatrixSettings
from .api import Api, Json, at, text_of, within
from .surface import MatrixSurface

LOG: Final = logging.getLogger(__name__)
NONE: Final[Json] = {"types": []}
ROOM: Final[Json] = {"account_data": NONE, "ephemeral": NONE, "timeline": {"limit": 50}}
FILTER: Final = json.dumps({"presence": NONE, "account_data": NONE, "room": ROOM})
ODD: Final = (parley.Unreachable, parley.MessageGone, TypeError, ValueError, KeyError, AttributeError)
"""What comes of an event that somebody has made up, or that is gone, or of a room that we have left."""


class MatrixAdapter:
    """One account, in every room to which it is invited."""

    platform, conflicts, entrance = "matrix", 0, None

    def __init__(self, settings: MatrixSettings, clock: parley.Clock | None = None) -> None:
        self._settings, self._clock = settings, clock or parley.SystemClock()
        self._since, self._names, self.listening = "", dict[str, dict[str, str]](), False

    async def __aenter__(self) -> Self:
        self.api = Api(self._settings.matrix_url, self._settings.matrix_token.get_secret_value(), self._clock)
        try:
            await self.api.log_in()
        except parley.DeliveryError as error:
            await self.api.http.close()
            raise _given_up(error) from error
        rate, burst = self._settings.matrix_rate, self._settings.matrix_burst
        self._budget = parley.RateBudget(f"matrix:{self.api.user}", rate=rate, burst=burst, shared=True)
        # The homeserver itself keeps our place in its stream, in the account's data.
        self._place = f"/client/v3/user/{quote(self.api.user)}/account_data/chat.parley.position"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.api.http.close()

    async def listen(self, deliver: parley.Deliver) -> None:
        try:
            self._since = self._since or await self._begin()
            self.listening = True
            while True:
                answer = await self._sync(30)
                events = [event async for event in self._events(answer)]
                for event in events:
                    await deliver(event)
                self._since = text_of(answer, "next_batch")
                if events:
                    await self.api.call("PUT", self._place, {"since": self._since})
        except parley.DeliveryError as error:
            raise _given_up(error) from error
        finally:
            self.listening = False

    def surface(self, target: parley.ReplyTarget) -> MatrixSurface:
        return MatrixSurface(self.api, target, self._budget)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> parley.Enclosure | None:
        server, _, media = source.removeprefix("mxc://").partition("/")
        address = f"{self.api.base}/_matrix/client/v1/media/download/{quote(server)}/{quote(media)}"
        await parley.download(self.api.http, address, into, most, clock=self._clock, headers=self.api.headers)
        return None

    def earlier(self, message: parley.MessageSent) -> parley.Earlier | None:
        return None

    async def _sync(self, seconds: int) -> Json:
        params = {"filter": FILTER, "timeout": str(seconds * 1000)} | ({"since": self._since} if self._since else {})
        return await self.api.call("GET", "/client/v3/sync", seconds=seconds + 30.0, params=params)

    async def _begin(self) -> str:
        """Go on where the process before this one was; the first begins with what is written from now on."""
        try:
            return text_of(await self.api.call("GET", self._place), "since")
        except parley.MessageGone:
            answer = await self._sync(0)
            await self._join(answer)
            await self.api.call("PUT", self._place, {"since": text_of(answer, "next_batch")})
            return str(answer["next_batch"])

    async def _join(self, answer: Json) -> None:
        for room in within(answer, "rooms", "invite"):
            with contextlib.suppress(parley.Unreachable, parley.MessageGone):  # it may be taken back
                await self.api.call("POST", at(room, "join"), {})

    async def _events(self, answer: Json) -> AsyncIterator[parley.Incoming]:
        await self._join(answer)
        for room, news in within(answer, "rooms", "join").items():
            timeline = within(news, "timeline")
            events = timeline.get("events", [])
            members = [one for one in [*events, *within(news, "state").get("events", [])] if "membership" in str(one)]
            self._names.pop(room if members else "", None)
            if timeline.get("limited") and not any(one.get("state_key") == self.api.user for one in members):
                events = [*await self._left_out(room, str(timeline.get("prev_batch", ""))), *events]
            for event in events:
                try:
                    read = await self._read(room, event)
                except ODD as error:
                    LOG.warning("an event is left out: %s", parley.origin_of(error))
                    continue
                if read is not None:
                    yield read

    async def _left_out(self, room: str, end: str) -> list[Json]:
        """The events between our place and those that one answer has room for."""
        events: list[Json] = []
        while end:
            how = {"dir": "b", "limit": "100", "from": end, "to": self._since}
            page = await self.api.call("GET", at(room, "messages"), params=how)
            events = [*reversed(page.get("chunk", [])), *events]
            end = str(page.get("end") or "") if page.get("chunk") else ""
        return events

    async def _read(self, room: str, event: Json) -> parley.Incoming | None:
        if event.get("sender") == self.api.user:
            return None
        content, kind = within(event, "content"), event.get("type")
        relation = within(content, "m.relates_to")
        other = str(relation.get("event_id", ""))
        if kind == "m.room.redaction":
            gone = str(event.get("redacts") or content.get("redacts"))
            return parley.MessageDeleted(message_id=gone, **await self._about(room, event, ""))
        if kind == "m.reaction":
            return await self._pressed(room, event, other, str(relation.get("key", "")))
        if kind != "m.room.message" or content.get("msgtype") == "m.notice":
            return None
        if relation.get("rel_type") != "m.replace":
            return await self._sent(room, event, content, relation, str(event["event_id"]))
        relation = within(await self.api.event(room, other), "content", "m.relates_to")
        new = within(content, "m.new_content")
        question = await self._sent(room, event, new, relation, other)
        about = await self._about(room, event, _thread_of(relation), other)
        said = {"text": question.text, "command": question.command, "enclosed": question.enclosed} if question else {}
        said = said or {"text": str(new.get("body", ""))}
        return parley.MessageEdited(message_id=other, question=question, **said, **about)

    async def _sent(self, room: str, event: Json, content: Json, relation: Json, id: str) -> parley.MessageSent | None:
        about = await self._about(room, event, _thread_of(relation), id)
        if about["group"] and self.api.user not in within(content, "m.mentions").get("user_ids", []):
            return None
        replied = "" if relation.get("is_falling_back") else str(within(relation, "m.in_reply_to").get("event_id", ""))
        text, name = str(content.get("body", "")), str(content.get("filename") or content.get("body"))
        files = (_enclosure(content, name, text == name),) if "url" in content else ()
        text = "" if files and text == name else re.sub(r"\A(?:> .*\n)+\n", "", text) if replied else text
        me, names = self.api.user, self._names[room]
        forms = "|".join(re.escape(form) for form in (me, names.get(me, me), me[1:].partition(":")[0]))
        text = re.sub(rf"\A\s*@?(?:{forms})(?!\w)[:,]?\s*|\s*@(?:{forms})\s*\Z", "", text, flags=re.IGNORECASE).strip()
        command = parley.parse_command("/" + text[1:] if text.startswith("!") else text)
        command = command or (None if files else parley.parse_bare_command(text, certain=about["group"]))
        word, text = command or ("", text)
        return parley.MessageSent(text=text, command=word, message_id=id, replies_to=replied, enclosed=files, **about)

    async def _pressed(self, room: str, event: Json, id: str, key: str) -> parley.ControlPressed | None:
        shown = await self.api.event(room, id)
        first, newest = within(shown, "content"), within(shown, "unsigned", "m.relations", "m.replace", "content")
        buttons = (within(newest, "m.new_content") or first).get("chat.parley.buttons", [])
        data = {sign: data for sign, _, data in buttons} if shown.get("sender") == self.api.user else {}
        if (button := parley.parse_button(data.get(key.replace("\ufe0f", ""), ""))) is None:
            return None
        about = await self._about(room, event, _thread_of(within(first, "m.relates_to")))
        return parley.ControlPressed(control=button.control, turn=button.turn, mark=button.mark, message_id=id, **about)

    async def _about(self, room: str, event: Json, thread: str, asked: str = "") -> dict[str, Any]:
        if room not in self._names:
            joined = within(await self.api.call("GET", at(room, "joined_members")), "joined")
            self._names[room] = {who: str(within(of).get("display_name") or who) for who, of in joined.items()}
        names, sender = self._names[room], str(event.get("sender"))
        return {
            "delivery": str(event["event_id"]),
            "chat": parley.ChatId("matrix", self.api.user, room, thread),
            "sender": parley.Sender(id=f"matrix:{sender}", name=names.get(sender, sender)),
            "target": parley.ReplyTarget("matrix", {"room": room, "thread": thread, "asked": asked}),
            "sent_at": float(event.get("origin_server_ts") or 0) / 1000,
            "group": len(names) > 2,
        }


def _thread_of(relation: Json) -> str:
    return str(relation.get("event_id")) if relation.get("rel_type") == "m.thread" else ""


def _enclosure(content: Json, name: str, alone: bool) -> parley.Enclosure:
    info, url = within(content, "info"), str(content.get("url", ""))
    size, length = (one if isinstance(one := info.get(key), int) else 0 for key in ("size", "duration"))
    file = parley.Enclosure.file(name, str(info.get("mimetype", "")), size, url, length / 1000, alone=alone)
    return replace(file, kind=parley.EnclosureKind.VOICE) if "org.matrix.msc3245.voice" in content else file


def _given_up(error: parley.DeliveryError) -> Exception:
    lasts = isinstance(error, parley.Refused) and error.lasting
    return parley.SettingsError(str(error.lasting)) if lasts else parley.Unreachable(str(error))


def open_adapter(settings: MatrixSettings) -> MatrixAdapter:
    return MatrixAdapter(settings)


async def check(settings: MatrixSettings) -> list[parley.Finding]:
    """What `parley doctor` says after logging in."""
    async with MatrixAdapter(settings) as adapter:
        rooms = (await adapter.api.call("GET", "/client/v3/joined_rooms")).get("joined_rooms", [])
        return [parley.Finding.ok(f"the token works; the bot is {adapter.api.user}, in {len(rooms)} rooms")]
