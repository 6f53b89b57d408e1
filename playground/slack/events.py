"""What the app is told: which events a change makes, and how they are wrapped."""

from __future__ import annotations

from playground.slack.blocks import blocks_of
from playground.slack.delivery import COMMANDS, EVENTS, PRESSES, Deliveries, Delivery
from playground.slack.errors import Json
from playground.slack.workspace import Change, Message, Workspace

QUIET_SUBTYPES = frozenset({"channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name"})
"""Notices of the service itself; a mention in one is no `app_mention`."""

EVENT_SCOPES = {
    "app_mention": "app_mentions:read",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "message.channels": "channels:history",
}


class Events:
    """Turns changes of the workspace into events for the bot's subscriptions."""

    def __init__(self, workspace: Workspace, deliveries: Deliveries) -> None:
        self._workspace, self._deliveries = workspace, deliveries
        self.subscriptions: set[str] = {
            "app_mention",
            "message.im",
            "message.channels",
            "message.groups",
            "message.mpim",
            "app_uninstalled",
            "tokens_revoked",
        }
        """Of the app: `app_mention`, `message.` with `im`, `mpim` or `channels`, and the names of other events."""
        self.verification_token = "legacy"

    def changed(self, change: Change, message: Message, before: Json | None) -> None:
        """A message was posted, edited or deleted by anybody, the bot itself included."""
        channel = self._workspace.channels[message.channel]
        if not channel.member:
            return
        # In blocks a mention is an element of its own.
        mentions = (f"<@{self._workspace.bot_user_id}", f"'user_id': '{self._workspace.bot_user_id}'")
        body = self._workspace.travel(message)
        place: Json = {"channel": message.channel}
        kind = {"im": "im", "mpim": "mpim", "channel": "channels"}[channel.type]
        subscribed = self._hears(f"message.{kind}")
        was = f"{before.get('text')} {before.get('blocks')}" if before is not None else ""
        now = f"{message.text} {message.blocks}"
        new_mention = any(one in now for one in mentions) and not any(one in was for one in mentions)
        foreign = message.author != self._workspace.bot_user_id and message.subtype not in QUIET_SUBTYPES
        if change != "deleted" and new_mention and foreign and not channel.direct and self._hears("app_mention"):
            self.send(body | place | {"type": "app_mention", "event_ts": message.ts})
        if not subscribed:
            return
        place["channel_type"] = channel.type
        if change == "posted":
            self.send(body | place | {"event_ts": message.ts})
            return
        stamp = self._workspace.ts()
        event: Json = {"type": "message", "subtype": f"message_{change}", "hidden": True, "ts": stamp}
        event |= place | {"event_ts": stamp, "previous_message": (before or {}) | place}
        if change == "changed":
            event["message"] = body | place
        elif any(m.thread_ts == message.ts for m in self._workspace.lasting(message.channel)):
            # A root with replies leaves a tombstone, and the app hears of an edit.
            tomb = {"type": "message", "subtype": "tombstone", "hidden": True, "ts": message.ts, "user": "USLACKBOT"}
            event |= {"subtype": "message_changed"}
            event["message"] = tomb | {"text": "This message was deleted.", "thread_ts": message.ts}
        else:
            event["deleted_ts"] = message.ts
        self.send(event)

    def _hears(self, event: str) -> bool:
        """The app asked for an event, and for the scope that goes with it."""
        return event in self.subscriptions and EVENT_SCOPES[event] in self._workspace.scopes

    def send(self, event: Json) -> Delivery:
        """Any event, wrapped and sent."""
        w = self._workspace
        id = w.new_id("Ev")
        who = {"enterprise_id": None, "team_id": w.team_id, "user_id": w.bot_user_id, "is_bot": True}
        payload: Json = {"token": self.verification_token, "team_id": w.team_id, "api_app_id": w.app_id, "event": event}
        payload |= {"type": "event_callback", "event_id": id, "event_time": w.seconds()}
        place = w.channels.get(str(event.get("channel", "")))
        shared = place is not None and place.shared
        payload |= {"authorizations": [who | {"is_enterprise_install": False}], "is_ext_shared_channel": shared}
        payload["event_context"] = f"4-{id}"
        return self._deliveries.send(EVENTS, payload, id)

    def command(self, name: str, text: str, channel: str, person: str, response_url: str) -> Delivery:
        """A slash command."""
        w = self._workspace
        place = w.channels[channel]
        payload: Json = {"token": self.verification_token, "team_id": w.team_id, "team_domain": w.team_name}
        payload |= {"channel_id": channel, "channel_name": "directmessage" if place.direct else place.name}
        payload |= {"user_id": person, "user_name": w.people[person].name, "command": name, "text": text}
        payload |= {"api_app_id": w.app_id, "is_enterprise_install": "false", "response_url": response_url}
        payload["trigger_id"] = w.new_id("Tr")
        return self._deliveries.send(COMMANDS, payload, payload["trigger_id"])

    def press(self, message: Message, action: Json, person: str, response_url: str) -> Delivery:
        """A press on a button of a message."""
        w = self._workspace
        attached = any(one.get("action_id") == action["action_id"] for one in _attached(message))
        container: Json = {
            "type": "message_attachment" if attached else "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
        }
        container["is_ephemeral"] = bool(message.only_for)
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        name = w.channels[message.channel].name or "directmessage"
        payload = self._act("block_actions", person, w.new_id("Tr"))
        payload |= {"container": container, "response_url": response_url}
        payload |= {"channel": {"id": message.channel, "name": name}, "state": {"values": {}}}
        if not message.only_for:
            payload["message"] = w.travel(message)
        payload["actions"] = [action | {"action_ts": w.ts()}]
        return self._deliveries.send(PRESSES, payload, payload["trigger_id"])

    def shortcut(self, callback: str, message: Message, person: str, trigger: str, response_url: str) -> Delivery:
        """A shortcut that was chosen in the menu of a message."""
        w = self._workspace
        name = w.channels[message.channel].name or "directmessage"
        payload = self._act("message_action", person, trigger) | {"callback_id": callback, "response_url": response_url}
        payload |= {"channel": {"id": message.channel, "name": name}, "message": w.travel(message)}
        payload |= {"message_ts": message.ts, "action_ts": w.ts()}
        return self._deliveries.send(PRESSES, payload, trigger)

    def submit(self, view: Json, person: str, trigger: str) -> Delivery:
        """A form that was sent off."""
        payload = self._act("view_submission", person, trigger) | {"view": view, "response_urls": []}
        return self._deliveries.send(PRESSES, payload, trigger)

    def _act(self, kind: str, person: str, trigger: str) -> Json:
        """What every payload of an interaction says."""
        w = self._workspace
        name = w.people[person].name
        return {
            "type": kind,
            "user": {"id": person, "username": name, "name": name, "team_id": w.team_id},
            "api_app_id": w.app_id,
            "token": self.verification_token,
            "trigger_id": trigger,
            "team": {"id": w.team_id, "domain": w.team_name},
            "enterprise": None,
            "is_enterprise_install": False,
        }


def _attached(message: Message) -> list[Json]:
    """The elements of blocks that stand in a message's attachments."""
    return [item for block in blocks_of([], message.attachments) for item in block.get("elements") or []]
