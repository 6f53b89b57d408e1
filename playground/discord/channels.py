"""The routes a bot reaches with its own token: itself, channels, threads, messages and reactions."""

from __future__ import annotations

from urllib.parse import unquote

from playground.discord import payloads
from playground.discord.bodies import read_draft
from playground.discord.errors import (
    ARCHIVED,
    CANNOT_SEND_TO_USER,
    EDIT_OF_ANOTHER,
    MISSING_ACCESS,
    MISSING_PERMISSIONS,
    OLD_EDITS,
    THREAD_EXISTS,
    UNKNOWN_EMOJI,
    WRONG_CHANNEL_TYPE,
    Form,
    Refusal,
    form_error,
)
from playground.discord.limits import Buckets
from playground.discord.rest import Answer, Asked, Route
from playground.discord.state import DIRECT_REACTIONS, GUILDS, REACTIONS, State
from playground.discord.world import TEXT, THREAD, THREAD_STARTER, Channel, Json, Message, Person


class Channels:
    """What a bot does with its own token."""

    def __init__(self, state: State, public_key: str) -> None:
        self.state = state
        self.public_key = public_key
        self.endpoint: str | None = None
        """Its Interactions Endpoint URL."""
        self.flags = 0
        """The application's flags."""
        self._old_edits = Buckets(state.clock.now)

    def routes(self) -> list[Route]:
        messages = "/channels/{channel}/messages"
        message = messages + "/{message}"
        reaction = message + "/reactions/{emoji}"
        return [
            Route("GET", "/users/@me", self.me),
            Route("GET", "/oauth2/applications/@me", self.app),
            Route("GET", "/applications/@me", self.app),
            Route("GET", "/channels/{channel}", self.channel),
            Route("PATCH", "/channels/{channel}", self.open),
            Route("POST", "/channels/{channel}/typing", self.typing, bucket="typing"),
            Route("POST", "/channels/{channel}/threads", self.start_thread),
            Route("GET", messages, self.history),
            Route("POST", messages, self.send, bucket="sends"),
            Route("GET", message, self.fetch),
            Route("PATCH", message, self.edit, bucket="edits"),
            Route("DELETE", message, self.delete, bucket="deletes"),
            Route("POST", message + "/threads", self.start_thread),
            Route("PUT", reaction + "/@me", self.react, bucket="reactions"),
            Route("DELETE", reaction + "/@me", self.unreact, bucket="reactions"),
        ]

    def me(self, asked: Asked) -> Answer:
        return Answer(200, payloads.user(self.state.bot) | {"verified": True, "mfa_enabled": False, "email": None})

    def app(self, asked: Asked) -> Answer:
        state = self.state
        owner = Person("1", "owner")
        return Answer(
            200,
            {
                "id": state.application,
                "name": state.bot.name,
                "icon": None,
                "description": "",
                "bot_public": True,
                "bot_require_code_grant": False,
                "bot": payloads.user(state.bot),
                "owner": payloads.user(owner),
                "team": None,
                "verify_key": self.public_key,
                "flags": self.flags,
                "tags": [],
                "interactions_endpoint_url": self.endpoint,
                "approximate_guild_count": sum(guild.member for guild in state.guilds.values()),
                "integration_types_config": {"0": {}, "1": {}},
            },
        )

    def channel(self, asked: Asked) -> Answer:
        return Answer(200, payloads.channel(self._place(asked), self.state.clock))

    def open(self, asked: Asked) -> Answer:
        """Open an archived thread, as whoever may write there can, unless it is locked.

        https://docs.discord.com/developers/resources/channel#modify-channel
        """
        place = self._place(asked)
        if place.kind != THREAD or place.guild is None or asked.fields() != {"archived": False}:
            raise Refusal(MISSING_PERMISSIONS)
        self._need(place, _sending(place))
        if place.locked:
            raise Refusal(MISSING_PERMISSIONS)
        place.archived = False
        body = payloads.channel(place, self.state.clock)
        self.state.publish("THREAD_UPDATE", lambda _: dict(body), intent=GUILDS, guild=place.guild.id)
        return Answer(200, body)

    def typing(self, asked: Asked) -> Answer:
        place = self._place(asked)
        self._need(place, _sending(place))
        self.state.screen.notice(place.id, "typing")
        return Answer(204)

    def history(self, asked: Asked) -> Answer:
        place = self._place(asked)
        try:
            limit = int(asked.query.get("limit", "50"))
            before, after = int(asked.query.get("before", str(1 << 63))), int(asked.query.get("after", "0"))
        except ValueError:
            raise form_error("limit", "NUMBER_TYPE_COERCE", "Value is not int.") from None
        if not 1 <= limit <= 100:
            raise form_error("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
        if not place.may("READ_MESSAGE_HISTORY"):
            return Answer(200, [])
        said = [self.state.messages[id] for id in place.messages if after < int(id) < before]
        said = [one for one in said if not one.ephemeral]
        chosen = said[:limit] if "after" in asked.query else said[-limit:]
        return Answer(200, [self.state.told(one, self.state.reads_all) for one in reversed(chosen)])

    def send(self, asked: Asked) -> Answer:
        place = self._place(asked)
        if place.recipient is not None and place.recipient.blocked:
            raise Refusal(CANNOT_SEND_TO_USER)
        self._need(place, _sending(place))
        if place.archived and place.locked:
            raise Refusal(ARCHIVED)
        draft = read_draft(asked.fields(), asked.uploads, self.state.limits)
        if asked.uploads:
            self._need(place, "ATTACH_FILES")
        if draft.reference:
            self._need(place, "READ_MESSAGE_HISTORY")
        place.archived = False
        return self._answer(self.state.post(place, self.state.bot, draft))

    def fetch(self, asked: Asked) -> Answer:
        place = self._place(asked)
        self._need(place, "READ_MESSAGE_HISTORY")
        return self._answer(self._message(place, asked))

    def edit(self, asked: Asked) -> Answer:
        place = self._place(asked)
        said = self._message(place, asked)
        if said.author is not self.state.bot:
            raise Refusal(EDIT_OF_ANOTHER)
        self._need_open(place)
        limits = self.state.limits
        if limits.rated and self.state.clock.now() - said.created > limits.old_after:
            standing = self._old_edits.draw("old_edits", place.id, limits.old_edits)
            if not standing.allowed:
                body = Refusal(OLD_EDITS).body() | {"retry_after": standing.reset_after, "global": False}
                return Answer(429, body, {"Retry-After": str(int(standing.reset_after) + 1)})
        draft = read_draft(asked.fields(), asked.uploads, limits)
        return self._answer(self.state.revise(said, draft))

    def delete(self, asked: Asked) -> Answer:
        place = self._place(asked)
        said = self._message(place, asked)
        if said.author is not self.state.bot:
            self._need(place, "MANAGE_MESSAGES")
        self._need_open(place)
        self.state.erase(said)
        return Answer(204)

    def react(self, asked: Asked) -> Answer:
        place, said, emoji = self._reaction(asked)
        self._need_open(place)
        if not said.reactions.get(emoji):
            self._need(place, "ADD_REACTIONS")
        who = said.reactions.setdefault(emoji, [])
        if self.state.bot.id not in who:
            self.reacted(said, emoji, self.state.bot, "ADD")
        return Answer(204)

    def unreact(self, asked: Asked) -> Answer:
        place, said, emoji = self._reaction(asked)
        self._need_open(place)
        if self.state.bot.id in said.reactions.get(emoji, ()):
            self.reacted(said, emoji, self.state.bot, "REMOVE")
        return Answer(204)

    def reacted(self, said: Message, emoji: str, person: Person, what: str) -> None:
        """Somebody put a reaction on a message (`ADD`) or took it off (`REMOVE`)."""
        state, place = self.state, said.channel
        who = said.reactions.setdefault(emoji, [])
        if what == "ADD":
            who.append(person.id)
        else:
            who.remove(person.id)
        if not who:
            del said.reactions[emoji]
        state.screen.notice(place.id, f"{person.name} {'reacted' if what == 'ADD' else 'took back'} {emoji}")
        if shown := state.screen.get(place.id, said.id):
            state.screen.changed(shown)
        body: Json = {
            "user_id": person.id,
            "channel_id": place.id,
            "message_id": said.id,
            "message_author_id": said.author.id,
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
        }
        if place.guild is not None:
            body["guild_id"] = place.guild.id
            if what == "ADD":
                body["member"] = payloads.member(person, place.guild, state.clock) | {"user": payloads.user(person)}
        scope = state.scope(place, here=REACTIONS, direct=DIRECT_REACTIONS)
        state.publish(f"MESSAGE_REACTION_{what}", lambda _: dict(body), **scope)

    def start_thread(self, asked: Asked) -> Answer:
        place, fields, form = self._place(asked), asked.fields(), Form()
        if place.kind != TEXT or place.guild is None:
            raise Refusal(WRONG_CHANNEL_TYPE)
        said = self._message(place, asked) if "message" in asked.parameters else None
        self._need(place, "CREATE_PUBLIC_THREADS")
        name = str(fields.get("name") or "")
        if not 1 <= len(name) <= 100:
            form.add("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
        after = fields.get("auto_archive_duration") or 1440
        if after not in (60, 1440, 4320, 10080):
            form.add("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
        form.check()
        if said is not None and said.thread is not None:
            raise Refusal(THREAD_EXISTS)
        thread = self.thread(place, name, self.state.bot, said, archive_after=after)
        return Answer(201, payloads.channel(thread, self.state.clock))

    def thread(
        self, place: Channel, name: str, owner: Person, said: Message | None, *, id: str = "", archive_after: int = 1440
    ) -> Channel:
        """Open a thread in `place`, under the message `said` or on its own."""
        state = self.state
        made = Channel(
            said.id if said is not None else id or state.clock.snowflake(),
            name,
            THREAD,
            guild=place.guild,
            parent=place,
            owner=owner.id,
            created=state.clock.now(),
            archive_after=archive_after,
        )
        state.channels[made.id] = made
        if said is not None:
            said.thread = made
            # A notice without words, which points at the message, is the thread's first.
            first = Message(
                state.clock.snowflake(), made, owner, state.clock.now(), kind=THREAD_STARTER, reference=said.id
            )
            state.messages[first.id] = first
            made.messages.append(first.id)
        if made.visible and place.guild is not None:
            body = payloads.channel(made, state.clock) | {"newly_created": True}
            state.publish("THREAD_CREATE", lambda _: dict(body), intent=GUILDS, guild=place.guild.id)
        return made

    def _answer(self, said: Message) -> Answer:
        return Answer(200, self.state.told(said, self.state.reads_all))

    def _place(self, asked: Asked) -> Channel:
        place = self.state.channel(asked.parameters["channel"])
        if not place.visible:
            raise Refusal(MISSING_ACCESS)
        return place

    def _message(self, place: Channel, asked: Asked) -> Message:
        id = asked.parameters["message"]
        if not id.isdecimal():
            raise form_error("message_id", "NUMBER_TYPE_COERCE", f'Value "{id}" is not snowflake.')
        said = self.state.message(place, id)
        # Only its interaction token reaches a private answer.
        return said if not said.ephemeral else self.state.message(place, "0")

    def _reaction(self, asked: Asked) -> tuple[Channel, Message, str]:
        place = self._place(asked)
        said = self._message(place, asked)
        emoji = unquote(asked.parameters["emoji"])
        if not emoji or (emoji.isascii() and ":" not in emoji):
            raise Refusal(UNKNOWN_EMOJI)
        return place, said, emoji

    def _need_open(self, place: Channel) -> None:
        """Refuse a change in an archived thread; a new message opens it.

        https://docs.discord.com/developers/topics/threads#active-archived-threads
        """
        if place.archived:
            raise Refusal(ARCHIVED)

    def _need(self, place: Channel, permission: str) -> None:
        if not place.may(permission):
            raise Refusal(MISSING_PERMISSIONS)


def _sending(place: Channel) -> str:
    return "SEND_MESSAGES_IN_THREADS" if place.kind == THREAD else "SEND_MESSAGES"
