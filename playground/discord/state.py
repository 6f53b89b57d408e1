"""Everything that stands on the emulated Discord now, and the few ways to change it: post, revise, erase.

Every change is shown on the screen and told to the gateway in the same step.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from typing import Protocol, TypedDict

from playground.discord import mentions, payloads
from playground.discord.bodies import Draft, Upload
from playground.discord.clock import Clock
from playground.discord.errors import (
    EMPTY_MESSAGE,
    HARMFUL_LINK,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    Refusal,
    form_error,
)
from playground.discord.limits import Limits
from playground.discord.markdown import render
from playground.discord.mentions import Ping, Preview
from playground.discord.world import (
    COMPONENTS_V2,
    DIRECT,
    EPHEMERAL,
    LOADING,
    REPLY,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    THREAD,
    Attachment,
    Channel,
    Forwarded,
    Guild,
    Json,
    Message,
    Person,
)
from playground.screen import Screen, Shown, Version

GUILDS, REACTIONS, TYPING, CONTENT = 1 << 0, 1 << 10, 1 << 11, 1 << 15
MESSAGES, DIRECT_MESSAGES, DIRECT_REACTIONS = 1 << 9, 1 << 12, 1 << 13
"""Gateway intents."""


class Scope(TypedDict, total=False):
    """Whom an event is for: the intent that asks for it, and the server it happens in."""

    intent: int
    guild: str


class Publish(Protocol):
    """Tells the connected bot about an event, when its intents ask for it."""

    def __call__(self, name: str, body: Callable[[bool], Json], *, intent: int = 0, guild: str = "") -> None: ...


class State:
    """People, servers, channels and messages, by id."""

    def __init__(self, clock: Clock, limits: Limits, screen: Screen, bot: Person, application: str) -> None:
        self.clock = clock
        self.limits = limits
        self.screen = screen
        self.bot = bot
        self.application = application
        self.root = ""
        """Where attachments are served: set when the server listens."""
        self.reads_all = False
        """The application was granted the privileged message content intent."""
        self.harmful: set[str] = set()
        """Hosts to which no message may contain an address."""
        self.people: dict[str, Person] = {bot.id: bot}
        self.guilds: dict[str, Guild] = {}
        self.channels: dict[str, Channel] = {}
        self.messages: dict[str, Message] = {}
        self.pings: list[Ping] = []
        self.previews: list[Preview] = []
        self.publish: Publish = lambda name, body, *, intent=0, guild="": None
        self._nonces: dict[tuple[str, str], tuple[float, Message]] = {}
        self._previewed: set[tuple[str, str]] = set()

    def channel(self, id: str) -> Channel:
        """
        Raises:
            Refusal: there is no such channel.
        """
        if id not in self.channels:
            raise Refusal(UNKNOWN_CHANNEL)
        return self.channels[id]

    def message(self, place: Channel, id: str) -> Message:
        """
        Raises:
            Refusal: no such message stands in `place`, for everyone to see.
        """
        found = self.messages.get(id)
        if found is None or found.deleted or found.channel is not place:
            raise Refusal(UNKNOWN_MESSAGE)
        return found

    def direct(self, person: Person) -> Channel:
        """The direct messages with `person`, opened when they are not yet."""
        for place in self.channels.values():
            if place.recipient is person:
                return place
        place = Channel(self.clock.snowflake(), "", DIRECT, recipient=person, created=self.clock.now())
        self.channels[place.id] = place
        return place

    def post(
        self,
        place: Channel,
        author: Person,
        draft: Draft,
        *,
        kind: int | None = None,
        flags: int = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2,
        extra_flags: int = 0,
        webhook: str = "",
        asked_by: Json | None = None,
        ping_author: bool | None = None,
        forwarded: Forwarded | None = None,
        id: str = "",
    ) -> Message:
        """Put a new message under the others; `flags` are the flags its sender may set.

        Raises:
            Refusal: it is empty, has a harmful link, or replies to a message that is gone.
        """
        reference = draft.reference
        if reference:
            target = self.messages.get(reference)
            if target is None or target.deleted or target.channel is not place or target.ephemeral:
                if draft.must_exist:
                    raise form_error("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
                reference = ""
        if repeated := self._repeated(author, place, draft):
            return repeated
        self._check_links(draft)
        said = Message(
            id or self.clock.snowflake(),
            place,
            author,
            self.clock.now(),
            kind=kind if kind is not None else (REPLY if reference else 0),
            flags=(draft.flags & flags) | extra_flags,
            reference=reference,
            nonce=draft.nonce,
            webhook=webhook,
            application=self.application if author is self.bot and webhook else "",
            asked_by=asked_by,
            forwarded=forwarded,
        )
        self._fill(said, draft)
        shows = said.visible_parts() or said.attachments or said.components or said.stickers or said.poll
        if not said.loading and not (shows or forwarded):
            raise Refusal(EMPTY_MESSAGE)
        self.messages[said.id] = said
        place.messages.append(said.id)
        if draft.nonce is not None and draft.enforce_nonce:
            self._nonces[author.id + place.id, str(draft.nonce)] = (self.clock.now(), said)
        rule = draft.allowed
        if ping_author is not None:
            rule = {"parse": ["users", "roles", "everyone"], "replied_user": ping_author}
        self._notify(said, rule, edit=False)
        self._show(said)
        self.tell("MESSAGE_CREATE", said)
        return said

    def revise(self, said: Message, draft: Draft, *, flags: int = SUPPRESS_EMBEDS | COMPONENTS_V2) -> Message:
        """Change what `draft` gives of a message; a placeholder becomes the message it stands for.

        Raises:
            Refusal: nothing would be left of it, or it has a harmful link.
        """
        self._check_links(draft)
        before = (said.content, said.embeds, said.components, said.attachments, said.flags)
        if "flags" in draft.given:
            said.flags = (said.flags & ~(flags & SUPPRESS_EMBEDS)) | (draft.flags & flags)
        self._fill(said, draft)
        if not (said.visible_parts() or said.attachments or said.components):
            said.content, said.embeds, said.components, said.attachments, said.flags = before
            raise Refusal(EMPTY_MESSAGE)
        if said.loading:
            said.flags &= ~LOADING
            self._notify(said, draft.allowed, edit=False)
        else:
            said.edited = self.clock.now()
            self._notify(said, draft.allowed, edit=True)
        self._show(said)
        self.tell("MESSAGE_UPDATE", said)
        return said

    def erase(self, *messages: Message) -> None:
        """Take messages of one channel away; several at once are told in one event."""
        place = messages[0].channel
        for said in messages:
            said.deleted = True
            if said.id in place.messages:
                place.messages.remove(said.id)
            shown = self.screen.get(place.id, said.id)
            if shown is not None:
                shown.deleted, shown.live = True, False
                self.screen.changed(shown)
        ids = [said.id for said in messages if not said.ephemeral]
        if ids and place.visible:
            body: Json = {"channel_id": place.id} | ({"guild_id": place.guild.id} if place.guild is not None else {})
            several = len(messages) > 1
            body |= {"ids": ids} if several else {"id": ids[0]}
            self.publish("MESSAGE_DELETE_BULK" if several else "MESSAGE_DELETE", lambda _: body, **self.scope(place))

    def told(self, said: Message, reads_all: bool) -> Json:
        """A message as the bot is told about it: without content it may not read, with what it replies to."""
        body = self._bare(said, reads_all)
        if said.reference:
            target = self.messages.get(said.reference)
            gone = target is None or target.deleted
            body["referenced_message"] = None if gone or target is None else self._bare(target, reads_all)
        return body

    def forward(self, said: Message) -> Forwarded:
        """A message as somebody takes it to another channel."""
        body = payloads.message(said, self.people, self.bot, self.clock, self.root)
        return Forwarded(payloads.reference(said.id, said.channel), payloads.snapshot(body))

    def tell(self, event: str, said: Message) -> None:
        """Tell the gateway about a message that everyone in the channel sees."""
        if said.ephemeral or not said.channel.visible:
            return
        place = said.channel

        def body(reads_all: bool) -> Json:
            told = self.told(said, reads_all) | {"channel_type": place.kind}
            if place.guild is not None:
                told["guild_id"] = place.guild.id
                if not said.webhook:
                    told["member"] = payloads.member(said.author, place.guild, self.clock)
            return told

        self.publish(event, body, **self.scope(place))

    def scope(self, place: Channel, *, here: int = MESSAGES, direct: int = DIRECT_MESSAGES) -> Scope:
        """Which intent and which server an event of `place` belongs to."""
        if place.guild is None:
            return {"intent": direct}
        return {"intent": here, "guild": place.guild.id}

    def name(self, kind: str, id: str) -> str:
        """What a mention shows."""
        if kind == "user":
            return f"@{self.people[id].name}" if id in self.people else "@unknown-user"
        if kind == "channel":
            return f"#{self.channels[id].name}" if id in self.channels else "#unknown"
        roles = {id: name for guild in self.guilds.values() for id, name in guild.roles.items()}
        return f"@{roles.get(id, 'unknown-role')}"

    def attach(self, upload: Upload) -> Attachment:
        """Keep an uploaded file; Discord goes by the name where the type says nothing."""
        media = upload.media_type
        if media in ("", "application/octet-stream"):
            media = mimetypes.guess_type(upload.name)[0] or "application/octet-stream"
        return Attachment(self.clock.snowflake(), upload.name, media, upload.content)

    def _bare(self, said: Message, reads_all: bool) -> Json:
        body = payloads.message(said, self.people, self.bot, self.clock, self.root)
        mine = said.author is self.bot or self.bot.id in said.mentions or said.channel.guild is None
        return body if reads_all or mine else payloads.without_content(body)

    def _repeated(self, author: Person, place: Channel, draft: Draft) -> Message | None:
        if draft.nonce is None or not draft.enforce_nonce:
            return None
        at, earlier = self._nonces.get((author.id + place.id, str(draft.nonce)), (0.0, None))
        if earlier is None or earlier.deleted or self.clock.now() - at > self.limits.nonce_lives:
            return None
        return earlier

    def _check_links(self, draft: Draft) -> None:
        """Refuse an address of a host that Discord takes for harmful, wherever it is in the text.

        https://docs.discord.com/developers/topics/opcodes-and-status-codes#json (240000)
        """
        if any(re.search(rf"https?://{re.escape(host)}", draft.content) for host in self.harmful):
            raise Refusal(HARMFUL_LINK)

    def _fill(self, said: Message, draft: Draft) -> None:
        for key in ("content", "embeds", "components"):
            if key in draft.given:
                setattr(said, key, getattr(draft, key))
        said.stickers, said.poll = draft.stickers or said.stickers, draft.poll or said.poll
        said.poll_ends = draft.poll_ends
        if draft.kept is not None:
            said.attachments = [file for file in said.attachments if file.id in draft.kept]
        if draft.uploads:
            said.attachments = said.attachments + [self.attach(upload) for upload in draft.uploads]

    def _notify(self, said: Message, rule: object, *, edit: bool) -> None:
        if said.loading:
            return
        text = "\n".join([said.content, *(part for part in said.visible_parts() if said.flags & COMPONENTS_V2)])
        replied_to = ""
        if said.kind == REPLY and said.reference in self.messages:
            replied_to = self.messages[said.reference].author.id
        woken = mentions.allowed(mentions.mentioned(text), rule if isinstance(rule, dict) else None, replied_to)
        said.mentions = list(woken.users)
        said.mention_roles = list(woken.roles)
        said.mention_everyone = bool(woken.everyone) and said.channel.guild is not None
        if said.author is not self.bot:
            return
        if not said.channel.may("MENTION_EVERYONE"):
            woken = mentions.Mentioned(woken.users, woken.roles, ())
        if whom := mentions.names(woken):
            self.pings.append(Ping(self.clock.now(), said.channel.id, said.id, whom, edit))
        if said.flags & (SUPPRESS_EMBEDS | COMPONENTS_V2) or not said.channel.may("EMBED_LINKS"):
            return
        for url in mentions.previewed(said.content):
            if (said.id, url) not in self._previewed:
                self._previewed.add((said.id, url))
                self.previews.append(Preview(self.clock.now(), said.channel.id, said.id, url))

    def _show(self, said: Message) -> None:
        place = said.channel
        shown = self.screen.get(place.id, said.id)
        new = shown is None
        if shown is None:
            author = "bot" if said.author is self.bot else said.author.id
            shown = Shown(said.id, place.id, author, thread=place.id if place.kind == THREAD else "")
            shown.ephemeral, shown.reply_to = bool(said.flags & EPHEMERAL), said.reference
        shown.live = said.loading
        shown.files = [(file.name, file.media_type, file.content) for file in said.attachments]
        shown.buttons = [str(part.get("label") or part["custom_id"]) for part in said.buttons()]
        markup = "\n".join(said.visible_parts())
        if not said.loading and (not shown.versions or shown.versions[-1].markup != markup):
            look = render(markup, self.name)
            if not new:
                self.screen.edit(shown, look.text, html=look.html, markup=markup)
                return
            shown.versions.append(Version(self.clock.now(), look.text, look.html, markup))
        if new:
            self.screen.add(shown)
        else:
            self.screen.changed(shown)
