"""The workspace itself: people, channels, messages and files, and what of them stands on the screen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from playground.screen import Screen, Shown, Version
from playground.slack.blocks import DrawnBlocks, draw_blocks
from playground.slack.errors import Json, Refused
from playground.slack.limits import Limits
from playground.slack.markdown import draw_markdown
from playground.slack.mrkdwn import draw_mrkdwn

MEDIA = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".mp4", ".webm", ".mp3")

Change = Literal["posted", "changed", "deleted"]


@dataclass(slots=True)
class Person:
    """Somebody who reads and writes; another app's bot is one too."""

    id: str
    name: str
    is_bot: bool = False
    team: str = ""
    """The workspace of a guest from another organisation; empty for everybody of this one."""
    locale: str = "en-US"
    """The language in which they use Slack."""


@dataclass(slots=True)
class Channel:
    """A place for messages: a public channel, a direct message with one person (`D…`), or one with several."""

    id: str
    name: str
    member: bool = True
    """The bot is in it."""
    people: list[str] = field(default_factory=list)
    archived: bool = False
    shared: bool = False
    """Shared with another organisation (Slack Connect), so that its people write here too."""
    several: bool = False
    """A direct message of several people."""

    @property
    def direct(self) -> bool:
        return self.id.startswith("D")

    @property
    def type(self) -> str:
        """`channel_type` of its events."""
        return "im" if self.direct else "mpim" if self.several else "channel"


@dataclass(slots=True)
class StoredFile:
    """A file as the service keeps it."""

    id: str
    name: str
    media_type: str
    content: bytes
    owner: str
    title: str = ""
    uploaded: bool = True
    length: int = 0
    facts: Json = field(default_factory=dict)
    """What the service says of this one alone, as of a canvas, an e-mail or a deleted file."""
    connected: bool = False
    """It came by Slack Connect: events tell its id alone."""


@dataclass(slots=True)
class Stream:
    """The live part of a streamed message."""

    started: float
    touched: float
    over: str = ""
    """Why it takes no more; empty while it does."""
    tasks: dict[str, Json] = field(default_factory=dict)
    plan: str = ""
    bytes: int = 0
    mode: str = ""
    """What its text came in first, `markdown_text` or `chunks`: it takes no other."""


@dataclass(slots=True, kw_only=True)
class Message:
    """One message with everything the service remembers about it."""

    channel: str
    ts: str
    author: str
    """The id of a person or bot."""
    bot_id: str = ""
    text: str = ""
    markdown: bool = False
    """`text` is standard Markdown, not mrkdwn."""
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    thread_ts: str = ""
    subtype: str = ""
    edited: Json | None = None
    metadata: Json | None = None
    files: list[StoredFile] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    unfurl_links: bool = True
    unfurl_media: bool = True
    autolink: bool = True
    link_names: bool = False
    only_for: str = ""
    """An ephemeral message: the one person who sees it."""
    deleted: bool = False
    stream: Stream | None = None


@dataclass(frozen=True, slots=True)
class Ping:
    """Somebody was notified by a message of the bot's."""

    at: float
    channel: str
    ts: str
    target: str
    """`U…`, `!channel`, `!here`, `!everyone` or `!subteam^S…`."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The service fetched an address it found in a message of the bot's."""

    at: float
    channel: str
    ts: str
    url: str


class Workspace:
    """Everything a workspace knows. `changed` hears about each lasting message that is posted, edited or deleted."""

    def __init__(self, screen: Screen, limits: Limits, epoch: float, scopes: Iterable[str], team: str) -> None:
        self.screen, self.limits = screen, limits
        self.now = screen.now
        self._epoch = epoch - self.now()
        self._last = 0
        self._ids = itertools.count(1)
        self.team_id, self.team_name, self.app_id = team, "playground", "A0PARLEY"
        self.bot_user_id, self.bot_id, self.bot_name = f"U{team[1:]}", f"B{team[1:]}", "parley"
        self.scopes = set(scopes)
        """What the bot was granted."""
        self.base = ""
        """`http://host:port`, once the server listens."""
        self.people: dict[str, Person] = {}
        self.channels: dict[str, Channel] = {}
        self.messages: dict[tuple[str, str], Message] = {}
        self._order: dict[str, list[Message]] = {}
        self.files: dict[str, StoredFile] = {}
        self.statuses: dict[tuple[str, str], tuple[str, float]] = {}
        self.titles: dict[tuple[str, str], str] = {}
        self.prompts: dict[tuple[str, str], list[Json]] = {}
        self.sessions: dict[tuple[str, str], str] = {}
        self.pings: list[Ping] = []
        self.previews: list[Preview] = []
        self.changed: Callable[[Change, Message, Json | None], None] = lambda change, message, before: None
        self.people[self.bot_user_id] = Person(self.bot_user_id, self.bot_name, is_bot=True)

    def ts(self) -> str:
        """A new timestamp; each is later than the one before."""
        self._last = max(self._last + 1, int((self._epoch + self.now()) * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def seconds(self) -> int:
        """The service's own wall clock."""
        return int(self._epoch + self.now())

    def new_id(self, letter: str) -> str:
        return f"{letter}0{next(self._ids):07d}"

    @property
    def names(self) -> Mapping[str, str]:
        """What people and channels are called, by id."""
        return {p.id: p.name for p in self.people.values()} | {c.id: c.name for c in self.channels.values()}

    def person(self, id: str) -> Person:
        """Raises `user_not_found`."""
        if id not in self.people:
            raise Refused("user_not_found")
        return self.people[id]

    def direct(self, person: str) -> Channel:
        """The direct message between the bot and `person`."""
        for channel in self.channels.values():
            if channel.direct and person in channel.people:
                return channel
        channel = Channel(f"D{person[1:]}", "", people=[person, self.bot_user_id])
        self.channels[channel.id] = channel
        return channel

    def channel(self, id: str, *, inside: bool = False) -> Channel:
        """The channel a call names by id, `#name`, or (for a direct message) by a person's id.

        Raises:
            Refused: channel_not_found; with `inside` also not_in_channel and is_archived.
        """
        channel = self.channels.get(id) or next(
            (c for c in self.channels.values() if not c.direct and id.startswith("#") and c.name == id[1:]), None
        )
        if channel is None and id in self.people and id != self.bot_user_id:
            channel = self.direct(id)
        if channel is None:
            raise Refused("channel_not_found")
        if inside and channel.archived:
            raise Refused("is_archived")
        if inside and not channel.member:
            raise Refused("not_in_channel")
        return channel

    def message(self, channel: str, ts: str) -> Message:
        """A lasting message. Raises `message_not_found`; an ephemeral one cannot be addressed."""
        message = self.messages.get((channel, ts))
        if message is None or message.deleted or message.only_for:
            raise Refused("message_not_found")
        return message

    def thread(self, channel: str, ts: str) -> list[Message]:
        """A root and its replies, oldest first."""
        return [m for m in self.lasting(channel) if ts in (m.ts, m.thread_ts)]

    def lasting(self, channel: str) -> list[Message]:
        """All messages of a channel that everybody sees, oldest first."""
        return [m for m in self._order.get(channel, ()) if not m.deleted and not m.only_for]

    def post(self, message: Message) -> Message:
        """Put a new message into the workspace and on the screen."""
        self.messages[message.channel, message.ts] = message
        self._order.setdefault(message.channel, []).append(message)
        number_blocks(message)
        drawn, cards = self._draw(message), _cards(message)
        self.screen.add(
            Shown(
                id=message.ts,
                chat=message.channel,
                author="bot" if message.author == self.bot_user_id else message.author,
                thread=message.thread_ts,
                versions=[Version(self.now(), drawn.text, drawn.html, message.text)],
                live=message.stream is not None,
                ephemeral=bool(message.only_for),
                files=[(file.name, file.media_type, file.content) for file in message.files],
                buttons=drawn.buttons,
                cards=cards,
            )
        )
        if message.author == self.bot_user_id and not message.only_for:
            self.clear_status(message.channel, message.thread_ts)
        self._tell("posted", message, None)
        return message

    def change(self, message: Message, before: Json, *, tell: bool = True, fetch: bool = True) -> None:
        """Show a message again after it was altered; `before` is how it travelled until now.

        Args:
            fetch: addresses in its text may be fetched for previews.
        """
        number_blocks(message)
        shown = self.screen.get(message.channel, message.ts)
        assert shown is not None
        drawn = self._draw(message, fetch=fetch)
        shown.buttons, shown.cards = drawn.buttons, _cards(message)
        shown.live = message.stream is not None and not message.stream.over
        self.screen.edit(shown, drawn.text, html=drawn.html, markup=message.text)
        if tell:
            self._tell("changed", message, before)

    def show_again(self, message: Message) -> None:
        """Tell who looks that something beside a message's text is different now."""
        if shown := self.screen.get(message.channel, message.ts):
            self.screen.changed(shown)

    def delete(self, message: Message) -> None:
        before = self.travel(message)
        message.deleted = True
        if shown := self.screen.get(message.channel, message.ts):
            shown.deleted, shown.live = True, False
            self.screen.changed(shown)
        self._tell("deleted", message, before)

    def clear_status(self, channel: str, thread: str) -> None:
        if self.statuses.pop((channel, thread), None):
            self.screen.notice(channel, "status:")

    def _tell(self, change: Change, message: Message, before: Json | None) -> None:
        if not message.only_for:
            self.changed(change, message, before)

    def _draw(self, message: Message, *, fetch: bool = True) -> DrawnBlocks:
        """Draw a message; note whom a message of the bot's notifies, and which addresses are fetched for it."""
        drawn = self.draw(message)
        if message.author != self.bot_user_id or message.only_for:
            return drawn
        if not (drawn.mentions or drawn.links or drawn.images):
            return drawn
        known = {p.target for p in self.pings if (p.channel, p.ts) == (message.channel, message.ts)}
        fetched = {p.url for p in self.previews if (p.channel, p.ts) == (message.channel, message.ts)}
        for target in dict.fromkeys(drawn.mentions):
            if target not in known and (target.startswith("!") or target in self.people):
                self.pings.append(Ping(self.now(), message.channel, message.ts, target))
        for url in dict.fromkeys((drawn.links if fetch else []) + drawn.images):
            media = url.lower().partition("?")[0].endswith(MEDIA)
            wanted = url in drawn.images or (message.unfurl_media if media else message.unfurl_links)
            if wanted and url not in fetched:
                self.previews.append(Preview(self.now(), message.channel, message.ts, url))
        return drawn

    def draw(self, message: Message) -> DrawnBlocks:
        """What a person sees of a message. Blocks hide the text, except in a stream, where they stand below it."""
        drawn = DrawnBlocks()
        if message.markdown:
            body = draw_markdown(message.text, self.names)
        else:
            body = draw_mrkdwn(message.text, self.names, autolink=message.autolink, link_names=message.link_names)
        if message.blocks and not message.stream:
            # The notification still carries the text, so its mentions count although nobody sees it.
            drawn.mentions += body.mentions
        else:
            drawn.add(body)
        blocks = draw_blocks(message.blocks, self.names)
        drawn.add(blocks)
        drawn.buttons, drawn.images = blocks.buttons, blocks.images
        for attachment in message.attachments:
            said = [str(attachment.get(name) or "") for name in ("pretext", "title", "text")]
            said += [f"{one.get('title', '')}: {one.get('value', '')}" for one in attachment.get("fields") or ()]
            said.append(str(attachment.get("footer") or ""))
            if text := "\n".join(filter(None, said)) or str(attachment.get("fallback") or ""):
                drawn.add(draw_mrkdwn(text, self.names))
            below = draw_blocks(attachment.get("blocks") or [], self.names)
            drawn.add(below)
            drawn.buttons += below.buttons
            drawn.images += below.images
        return drawn

    def travel(self, message: Message, *, metadata: bool = False) -> Json:
        """A message as methods return it and events carry it."""
        body: Json = {"type": "message", "user": message.author, "ts": message.ts, "text": message.text}
        if message.subtype:
            body["subtype"] = message.subtype
        if message.bot_id:
            body |= {
                "bot_id": message.bot_id,
                "app_id": self.app_id if message.author == self.bot_user_id else "A0OTHER",
            }
        author = self.people.get(message.author)
        body["team"] = self.team_id
        if author is not None and author.team:
            body |= {"team": author.team, "user_team": author.team, "source_team": author.team}
            body["user_profile"] = {"display_name": author.name, "real_name": author.name, "team": author.team}
        if message.blocks:
            body["blocks"] = message.blocks
        if message.attachments:
            body["attachments"] = message.attachments
        if message.files:
            body["files"] = [self.travel_file(file) for file in message.files]
        if message.edited:
            body["edited"] = message.edited
        if message.stream:
            body["streaming_state"] = "completed" if message.stream.over else "in_progress"
        replies = [m for m in self.thread(message.channel, message.ts) if m.thread_ts == message.ts]
        if message.thread_ts:
            root = self.messages.get((message.channel, message.thread_ts))
            body |= {"thread_ts": message.thread_ts, "parent_user_id": root.author if root else ""}
        elif replies:
            body |= {"thread_ts": message.ts, "reply_count": len(replies), "latest_reply": replies[-1].ts}
        if message.reactions:
            body["reactions"] = [
                {"name": name, "users": users, "count": len(users)} for name, users in message.reactions.items()
            ]
        if message.metadata and metadata:
            body["metadata"] = message.metadata
        return body

    def share(self, message: Message) -> Json:
        """A message as an attachment of the message that forwards it."""
        author, place = self.people[message.author], self.channels[message.channel]
        stamp = message.ts.replace(".", "")
        # What an app shows in blocks stands apart, and in place of a text that it has not, a notice.
        kept = {"team": self.team_id, "channel": message.channel, "ts": message.ts}
        blocks = {"message_blocks": [kept | {"message": {"blocks": message.blocks}}]} if message.blocks else {}
        said = f"[{message.ts}] {author.name}: {message.text}" if message.text else "[no preview available]"
        return {
            **blocks,
            **({"attachments": message.attachments} if message.attachments else {}),
            "id": 1,
            "ts": message.ts,
            "author_id": author.id,
            "author_name": author.name,
            "author_subname": author.name,
            "channel_id": place.id,
            "channel_team": self.team_id,
            "is_msg_unfurl": True,
            "is_share": True,
            "text": message.text,
            "fallback": said,
            "from_url": f"https://{self.team_name}.slack.com/archives/{place.id}/p{stamp}",
            "footer": "Direct message" if place.direct else f"Posted in #{place.name}",
            "mrkdwn_in": ["text"],
            **({"files": [self.travel_file(file) for file in message.files]} if message.files else {}),
        }

    def travel_file(self, file: StoredFile, *, asked: bool = False) -> Json:
        """A file as events carry it, and as methods return it that are `asked` for it."""
        if file.connected and not asked:
            stub = {"mode": "file_access", "file_access": "check_file_info", "created": 0, "timestamp": 0, "user": ""}
            return {"id": file.id} | stub
        address = f"{self.base}/files-pri/{self.team_id}-{file.id}"
        body: dict[str, Any] = {"id": file.id, "name": file.name, "title": file.title or file.name}
        body |= {"mimetype": file.media_type, "filetype": file.name.rpartition(".")[2], "size": len(file.content)}
        body |= {"user": file.owner, "mode": "hosted", "is_external": False, "created": self.seconds()}
        if file.name.startswith("audio_message."):
            # The name that the client gives to what is recorded in it.
            body |= {"subtype": "slack_audio", "media_display_type": "audio", "duration_ms": 3200}
        return body | {
            "url_private": f"{address}/{file.name}",
            "url_private_download": f"{address}/download/{file.name}",
            **{name: fact for name, fact in file.facts.items() if name != "attached"},
        }


def number_blocks(message: Message) -> None:
    """Give each block the id the service gives it when the sender did not."""
    message.blocks = [
        block if block.get("block_id") else block | {"block_id": f"b{index}"}
        for index, block in enumerate(message.blocks)
    ]


def _cards(message: Message) -> list[str]:
    """What stands above the text of a stream: its plan, and a card for each task."""
    stream = message.stream
    return [stream.plan] * bool(stream.plan) + [_task_line(t) for t in stream.tasks.values()] if stream else []


def _task_line(task: Json) -> str:
    mark = {"complete": "✓", "error": "✗"}.get(task.get("status", ""), "…")
    parts = [f"{mark} {task.get('title', '')}", str(task.get("details") or ""), str(task.get("output") or "")]
    return "\n".join(part for part in parts if part)
