"""A person's side of the workspace: writing, editing, pressing; everything an emulated human can do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from playground.slack.agents import STOPPED, WORKING
from playground.slack.arguments import Arguments
from playground.slack.blocks import blocks_of, pressable
from playground.slack.delivery import COMMANDS, Deliveries, Delivery
from playground.slack.errors import Json, Refused
from playground.slack.events import Events
from playground.slack.responses import Responses
from playground.slack.streams import StreamMethods
from playground.slack.views import Views
from playground.slack.workspace import Channel, Message, Person, StoredFile, Workspace

SOMEBODY = "U0SOMEBODY"
_LINKED = re.compile(
    r"(?P<kept><[^<>\n]*>|```.*?```|`[^`\n]*`)|(?P<url>https?://[^\s<>|]*[^\s<>|.,;:!?)])"
    r"|(?P<mail>[\w.+-]+@(?:[\w-]+\.)+\w{2,})"
    r"|(?<![\w@./:-])(?P<host>(?:[\w-]+\.)+(?:ai|app|com|dev|example|io|md|net|org|pl|py|rs|sh)(?![\w-])(?:/[^\s<>|]*\w)?)",
    re.DOTALL,
)


def as_sent(text: str) -> str:
    """What a client makes of a text that is typed: addresses, hosts and what looks like one become links.

    https://docs.slack.dev/messaging/formatting-message-text, https://github.com/operable/cog/issues/121
    """

    def link(found: re.Match[str]) -> str:
        if found["kept"]:
            return found[0]
        if found["url"]:
            return f"<{found[0]}>"
        return f"<{'mailto:' if found['mail'] else 'http://'}{found[0]}|{found[0]}>"

    return _LINKED.sub(link, text)


class PeopleSide:
    """What people do. Names and channels that do not exist yet come into being."""

    def __init__(
        self,
        workspace: Workspace,
        events: Events,
        deliveries: Deliveries,
        responses: Responses,
        streams: StreamMethods,
    ) -> None:
        self.workspace, self.events, self._deliveries = workspace, events, deliveries
        self._responses, self._streams, self.views = responses, streams, Views(workspace)
        deliveries.on_answer, deliveries.on_failure = self._answered, self._failed

    def person(self, id: str, name: str = "", *, is_bot: bool = False, team: str = "") -> Person:
        """Somebody in the workspace, or in `team`, another organisation's; called again with a name, renamed."""
        person = self.workspace.people.setdefault(id, Person(id, name or id.lower(), is_bot, team))
        if name:
            person.name = name
        return person

    def channel(self, id: str, name: str = "", member: bool = True, *, shared: bool = False) -> Channel:
        """A public channel; `member` says whether the bot is in it, `shared` whether other organisations are too."""
        channel = self.workspace.channels.setdefault(id, Channel(id, name or id.lower(), member))
        channel.member, channel.name, channel.shared = member, name or channel.name, shared
        return channel

    def direct_of_several(self, id: str, *people: str) -> Channel:
        """The direct messages of several people and the bot."""
        name = "--".join(self.person(person).name for person in people)
        channel = Channel(id, f"mpdm-{name}-1", people=[*people, self.workspace.bot_user_id], several=True)
        self.workspace.channels[id] = channel
        return channel

    def direct(self, person: str = SOMEBODY) -> str:
        """The id of the direct message between a person and the bot."""
        return self.workspace.direct(self.person(person).id).id

    def say(
        self,
        channel: str,
        text: str,
        *,
        person: str = SOMEBODY,
        thread_ts: str = "",
        files: Sequence[tuple[str, str, bytes]] = (),
        subtype: str = "",
        broadcast: bool = False,
        bot_id: str = "",
        blocks: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        facts: Json | None = None,
        connected: bool = False,
    ) -> str:
        """Write a message; its `ts`. `files` are (name, media type, content); `bot_id` makes it another app's, which
        may post blocks and attachments with an empty text.

        Args:
            facts: what the service says of these files beside; `refused` is its error for who asks about one, and
                `attached` what an e-mail brings along, as (name, media type, content).
            connected: the files belong to another organisation, so that an event tells their ids alone.
        """
        place = self._enter(channel, person)
        stored = []
        for name, media, content in files:
            file = StoredFile(
                self.workspace.new_id("F"), name, media, content, person, facts=facts or {}, connected=connected
            )
            if "attached" in file.facts:
                file.facts = {**file.facts, "attachments": self._attached_to(file)}
            self.workspace.files[file.id] = file
            stored.append(file)
        kind = subtype or ("file_share" if files else "")
        message = Message(
            channel=place.id,
            ts=self.workspace.ts(),
            author=person,
            bot_id=bot_id,
            text=text if bot_id else as_sent(text),
            blocks=list(blocks),
            attachments=[{"id": number, **one} for number, one in enumerate(attachments, 1)],
            thread_ts=thread_ts,
            subtype=kind or ("thread_broadcast" if broadcast else ""),
            files=stored,
        )
        return self.workspace.post(message).ts

    def _attached_to(self, file: StoredFile) -> list[Json]:
        """The attachments of an e-mail: no files of the workspace, each with an address of its own."""
        address = f"{self.workspace.base}/files-email-priv/{self.workspace.team_id}-{file.id}"
        return [
            {"filename": name, "size": len(content), "mimetype": kind, "url": f"{address}/{number}/{name}"}
            for number, (name, kind, content) in enumerate(file.facts["attached"])
        ]

    def forward(
        self, channel: str, message: tuple[str, str], text: str = "", *, person: str = SOMEBODY, thread_ts: str = ""
    ) -> str:
        """Forward a message, given as (channel, ts), with words of one's own or without; the `ts` of the new one."""
        place = self._enter(channel, person)
        share = self.workspace.share(self.workspace.message(*message))
        ts, text = self.workspace.ts(), as_sent(text)
        forward = Message(channel=place.id, ts=ts, author=person, text=text, thread_ts=thread_ts, attachments=[share])
        return self.workspace.post(forward).ts

    def edit(self, channel: str, ts: str, text: str) -> None:
        """Replace the text of a person's own message."""
        message = self.workspace.message(channel, ts)
        before = self.workspace.travel(message)
        message.text = as_sent(text)
        message.edited = {"user": message.author, "ts": self.workspace.ts()}
        self.workspace.change(message, before)

    def delete(self, channel: str, ts: str) -> None:
        """Delete any message, the bot's included (as an admin may)."""
        self.workspace.delete(self.workspace.message(channel, ts))

    def command(self, name: str, text: str, channel: str, person: str = SOMEBODY) -> Delivery:
        """Type a slash command; it works where the bot is no member too."""
        place = self._place(channel, person)
        assert not self.workspace.people[person].team, "The app is not installed in a guest's workspace"
        url = self._responses.give(place.id, person)
        return self.events.command(name, text, place.id, person, url)

    def press(self, channel: str, ts: str, button: str, person: str = SOMEBODY) -> Delivery:
        """Press a button, found by its label, its `action_id`, or that and its value. Raises KeyError for none."""
        message = self.workspace.messages[channel, ts]
        self.person(person)
        for label, _, action in pressable(blocks_of(message.blocks, message.attachments)):
            if button in (label, action["action_id"], f"{action['action_id']} {action['value']}"):
                url = self._responses.give(channel, person, message)
                return self.events.press(message, action, person, url)
        raise KeyError(button)

    def choose(self, channel: str, ts: str, shortcut: str, person: str = SOMEBODY) -> Delivery:
        """Choose a shortcut in the menu of a message, also where the bot is no member; `shortcut` is a callback id."""
        message = self.workspace.message(channel, ts)
        self.person(person)
        url = self._responses.give(channel, person)
        return self.events.shortcut(shortcut, message, person, self.views.trigger(person), url)

    def fill_in(self, view: str, written: dict[str, str]) -> Delivery:
        """Send off a form that is open before a person. Raises as `Views.submitted`."""
        person, filled = self.views.submitted(view, written)
        return self.events.submit(filled, person, self.views.trigger(person))

    def stop_session(self, channel: str, thread_ts: str, person: str = SOMEBODY) -> None:
        """Press the Stop button of an agent session: its streams end and the app is told, which has to end the status.

        Raises KeyError where no Stop is shown: only `processing` shows one, and only to apps that hear of it.
        """
        if STOPPED not in self.events.subscriptions or self.workspace.sessions.get((channel, thread_ts)) != WORKING:
            raise KeyError("Stop")
        self._enter(channel, person)
        stopped = self._streams.stop_by_person(channel, thread_ts)
        event: Json = {"type": STOPPED, "channel": channel, "thread_ts": thread_ts, "user": person}
        self.events.send(event | {"streaming_message_ts": stopped, "event_ts": self.workspace.ts()})

    def open_messages_tab(self, person: str = SOMEBODY) -> None:
        """Open the app's Messages tab."""
        channel = self.direct(person)
        event: Json = {"type": "app_home_opened", "user": person, "channel": channel, "tab": "messages"}
        if "app_home_opened" in self.events.subscriptions:
            self.events.send(event | {"event_ts": self.workspace.ts()})

    def start_assistant_thread(self, person: str = SOMEBODY) -> str:
        """Begin a conversation with an agent of the older kind, in a thread of its own; the thread's `ts`."""
        workspace, channel = self.workspace, self.direct(person)
        author, subtype = workspace.bot_user_id, "assistant_app_thread"
        root = Message(channel=channel, ts=workspace.ts(), author=author, text="New chat", subtype=subtype)
        workspace.post(root)
        event: Json = {"type": "assistant_thread_started", "event_ts": workspace.ts()}
        if event["type"] in self.events.subscriptions:
            place = {"user_id": person, "channel_id": channel, "thread_ts": root.ts, "context": {}}
            self.events.send(event | {"assistant_thread": place})
        return root.ts

    def _enter(self, channel: str, person: str) -> Channel:
        """The channel, with the person in it."""
        place = self._place(channel, person)
        guest = self.workspace.people[person].team
        assert not guest or place.shared, "Guests of another organisation write only in channels shared with it"
        if person not in place.people:
            place.people.append(person)
        return place

    def _place(self, channel: str, person: str) -> Channel:
        self.person(person)
        if channel.startswith("D") and channel not in self.workspace.channels:
            members = [person, self.workspace.bot_user_id]
            self.workspace.channels[channel] = Channel(channel, "", people=members)
        return self.workspace.channels.get(channel) or self.channel(channel)

    def _answered(self, delivery: Delivery, answer: Json) -> None:
        """What came with the acknowledgement of a command or a press is shown like a use of its address."""
        if delivery.kind == COMMANDS and answer:
            try:
                self._responses.answer(self._responses.slot(delivery.payload["response_url"]), Arguments(answer))
            except Refused as refused:
                self._notice(delivery, refused.error)

    def _failed(self, delivery: Delivery) -> None:
        late = "timeout" in delivery.reason
        self._notice(delivery, "operation_timeout" if late else "dispatch_failed")

    def _notice(self, delivery: Delivery, error: str) -> None:
        if delivery.kind == COMMANDS:
            name, place = delivery.payload["command"], delivery.payload["channel_id"]
            self.workspace.screen.notice(place, f'{name} failed with the error "{error}"')
