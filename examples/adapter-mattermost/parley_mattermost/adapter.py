"""Mattermost: WebSocket events and presses → `Incoming`, pages → posts.

Events: https://developers.mattermost.com/api-documentation/ (WebSocket). A connection that comes back with its id and
number is sent what it missed. Commands are written to the bot by name, as the client keeps every `/word` for itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, BinaryIO, Final

import aiohttp

import parley_chat.adapter as parley
from parley_mattermost import MattermostSettings
from parley_mattermost.api import Api
from parley_mattermost.surface import LIMITS, MattermostSurface, proof

_ID: Final = re.compile("[a-z0-9]{26}")


class MattermostAdapter:
    platform = "mattermost"
    conflicts = 0

    def __init__(self, settings: MattermostSettings, clock: parley.Clock | None = None) -> None:
        self._settings, self._clock = settings, clock or parley.SystemClock()
        self._token = settings.mattermost_token.get_secret_value()
        self.entrance: parley.Entrance | None = None
        self._kinds: dict[str, str] = {}
        self._names: dict[str, str] = {}
        """Of people, as events bring them: looking up newcomers would take calls from answers."""
        self.listening, self._session = False, ("", 0)

    async def __aenter__(self) -> MattermostAdapter:
        self._api = Api(self._settings.mattermost_url, self._token, self._clock)
        try:
            await self._log_in()
        except BaseException:
            await self._api.http.close()
            raise
        return self

    async def _log_in(self) -> None:
        try:
            me = await self._api.call("GET", "/users/me")
            self.me, self.name = str(me["id"]), str(me["username"])
        except parley.Refused as error:
            raise parley.SettingsError(str(error.lasting)) from error
        except (parley.DeliveryError, KeyError) as error:
            raise parley.Unreachable(f"Mattermost at {self._api.base} cannot be used ({error})") from error
        self._mention = re.compile(rf"(?<![\w@.-])@{re.escape(self.name)}(?![\w-])[ \t]*", re.IGNORECASE)
        self._limits = replace(LIMITS, command_form=f"@{self.name} {{word}}")

    async def __aexit__(self, *error: object) -> None:
        await self._api.http.close()

    def surface(self, target: parley.ReplyTarget) -> MattermostSurface:
        actions = self._settings.mattermost_actions_url
        return MattermostSurface(self._api, self.me, target, self._limits, actions, self._token)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        if not _ID.fullmatch(source):
            raise parley.DeliveryError("no id of a file")
        await parley.download(self._api.http, self._api.address(f"/files/{source}"), into, most, clock=self._clock)

    def earlier(self, message: parley.MessageSent) -> None:
        """A thread's history is what the bot was told in it."""

    async def listen(self, deliver: parley.Deliver) -> None:
        await self._log_in()  # a WebSocket with a bad token is opened, and silent
        connection, number = self._session
        query = {"connection_id": connection, "sequence_number": str(number)} if connection else {}
        address = self._api.address("/websocket").replace("http", "ws", 1)
        if self._settings.by_web:
            self.entrance = MattermostEntrance(self, deliver, self._token)
        try:
            async with self._api.http.ws_connect(address, params=query, heartbeat=30.0) as socket:
                self.listening = True
                async for frame in socket:
                    if frame.type is aiohttp.WSMsgType.TEXT:
                        await self._hear(frame.data, deliver)
        except (aiohttp.ClientError, OSError) as error:
            raise parley.Unreachable(f"Mattermost does not answer ({type(error).__name__})") from error
        finally:
            self.listening, self.entrance = False, None
        raise parley.Unreachable("Mattermost closed the WebSocket")

    async def _hear(self, frame: str, deliver: parley.Deliver) -> None:
        """Deliver what a frame tells. Its number counts as received only when it is stored."""
        try:
            match event := parley.read_json(frame):
                case {"event": "hello", "data": {"connection_id": str(connection)}}:
                    self._session = (connection, 0)
                case {"event": "posted" | "post_edited" | "post_deleted" as what, "data": {"post": str(post)} as data}:
                    if told := await self._read(what, parley.read_json(post), data):
                        await deliver(told)
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # nothing that a person wrote
        if isinstance(event, dict) and isinstance(number := event.get("seq"), int):
            self._session = (self._session[0], number + 1)

    async def _read(self, what: str, post: Any, data: dict[str, Any]) -> parley.Incoming | None:
        """What an event says to the bot; None if nothing."""
        props = post.get("props") or {}
        if post["user_id"] == self.me or post.get("type") or props.get("from_bot") or props.get("from_webhook"):
            return None
        self._kinds |= {post["channel_id"]: kind} if (kind := data.get("channel_type")) else {}
        self._names |= {post["user_id"]: name.lstrip("@")} if (name := data.get("sender_name")) else {}
        asked = await self._question(post)
        same = {name: getattr(asked, name) for name in ("chat", "sender", "target", "group", "message_id")}
        if what == "post_deleted":
            return parley.MessageDeleted(delivery=f"{asked.message_id}/deleted", **same)
        if asked.group and not self._mention.search(post["message"]):
            return None
        if what == "posted":
            return asked
        asked = replace(asked, delivery=f"{asked.message_id}/{post['update_at']}", sent_at=post["update_at"] / 1000)
        same |= {name: getattr(asked, name) for name in ("delivery", "text", "command", "enclosed", "sent_at")}
        return parley.MessageEdited(question=asked, **same)

    async def _question(self, post: dict[str, Any]) -> parley.MessageSent:
        """A post as a question: in a channel the thread below it is its chat, as the answer stands there."""
        id, channel = post["id"], post["channel_id"]
        root = post.get("root_id") or (id if await self._is_group(channel) else "")
        text = self._mention.sub("", post["message"][: parley.LONGEST_TEXT]).strip()
        command, argument = parley.parse_command(text) or parley.parse_bare_command(text, certain=True) or ("", text)
        files = (post.get("metadata") or {}).get("files") or ()
        told = [(one["name"], one.get("mime_type", ""), one.get("size", 0), one["id"]) for one in files]
        return parley.MessageSent(
            **await self._where(channel, root, post["user_id"]),
            delivery=id,
            message_id=id,
            sent_at=post["create_at"] / 1000,
            text=argument,
            command=command,
            whole_channel=root == id,
            enclosed=tuple(parley.Enclosure.file(*one, alone=not text) for one in told),
        )

    async def _where(self, channel: str, root: str, person: str) -> dict[str, Any]:
        chat = parley.ChatId(self.platform, self.me, channel, root)
        target = parley.ReplyTarget(self.platform, {"channel": channel, "root": root})
        sender = parley.Sender(id=f"{self.platform}:{person}", name=self._names.get(person, ""))
        return {"chat": chat, "target": target, "sender": sender, "group": await self._is_group(channel)}

    async def _is_group(self, channel: str) -> bool:
        if channel not in self._kinds:
            self._kinds[channel] = (await self._api.call("GET", f"/channels/{channel}"))["type"]
        return self._kinds[channel] != "D"

    async def read_press(self, body: dict[str, Any]) -> parley.ControlPressed | None:
        """A press of a button whose context nobody else can have written."""
        context, channel = body["context"], body["channel_id"]
        button, root = parley.parse_button(context["button"]), context["root"]
        if button is None:
            return None
        return parley.ControlPressed(
            **await self._where(channel, root, body["user_id"]),
            delivery=body["trigger_id"],
            message_id=body["post_id"],
            sent_at=self._clock.wall(),
            control=button.control,
            turn=button.turn,
            mark=button.mark,
        )


class MattermostEntrance:
    """Accepts presses: the server posts each to the address in the button."""

    def __init__(self, adapter: MattermostAdapter, deliver: parley.Deliver, key: str) -> None:
        self._adapter, self._deliver, self._key = adapter, deliver, key

    def expect(self, headers: parley.Headers) -> parley.Proof | None:
        return self._is_ours

    def _is_ours(self, body: bytes) -> bool:
        try:
            told: Any = parley.read_json(body)
            pressed = (told["channel_id"], told["context"]["root"], told["context"]["button"])
            return parley.is_same(told["context"]["proof"], proof(self._key, *pressed))
        except (ValueError, KeyError, TypeError, AttributeError):
            return False

    async def take_in(self, headers: parley.Headers, body: bytes) -> parley.WebAnswer:
        told: Any = parley.read_json(body)
        if press := await self._adapter.read_press(told):
            await self._deliver(press)
        return parley.WebAnswer(body=b"{}")


open_adapter = MattermostAdapter


async def check(settings: MattermostSettings) -> list[parley.Finding]:
    """Log in for `parley doctor`."""
    async with MattermostAdapter(settings) as adapter:
        found = [parley.Finding.ok(f"the token works; the bot is @{adapter.name}")]
    return found if settings.by_web else [*found, parley.Finding.note("without MATTERMOST_ACTIONS_URL no buttons")]
