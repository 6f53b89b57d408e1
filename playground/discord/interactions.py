"""Interactions: a slash command or a button waits three seconds for its answer and fifteen minutes for its changes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from playground.discord import payloads
from playground.discord.bodies import Draft, read_draft
from playground.discord.commands import read_choices
from playground.discord.errors import (
    ALREADY_ACKNOWLEDGED,
    INVALID_WEBHOOK_TOKEN,
    TOO_MANY_FOLLOW_UPS,
    UNKNOWN_INTERACTION,
    UNKNOWN_MESSAGE,
    UNKNOWN_WEBHOOK,
    Refusal,
    form_error,
)
from playground.discord.forms import read_form
from playground.discord.posts import SignedPosts
from playground.discord.rest import Answer, Asked, Route
from playground.discord.state import State
from playground.discord.world import (
    COMMAND,
    COMPONENTS_V2,
    EPHEMERAL,
    LOADING,
    REPLY,
    SEVERAL,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    Channel,
    Json,
    Message,
    Person,
)

SLASH, COMPONENT, TYPED, FORM = 2, 3, 4, 5
MESSAGE, DEFERRED, DEFERRED_UPDATE, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9
"""Types of a first answer."""


@dataclass(slots=True)
class Interaction:
    """One thing a person did with the bot's command or button, and how far the answer is."""

    id: str
    token: str
    kind: int
    at: float
    channel: Channel
    person: Person
    data: Json
    source: Message | None = None
    """The message whose button was pressed."""
    answered: int = 0
    """The type of the first answer; 0 before it."""
    original: Message | None = None
    """What `@original` names."""
    form: Json | None = None
    """The modal that it was answered with."""
    choices: list[Json] | None = None
    """What it was answered with while somebody typed."""
    messages: list[Message] = field(default_factory=list)
    follow_ups: int = 0

    @property
    def in_guild(self) -> bool:
        """The bot itself is where the person is."""
        guild = self.channel.guild
        return self.channel.kind != SEVERAL if guild is None else guild.member


class Interactions:
    """All interactions, and the routes that answer them."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.by_token: dict[str, Interaction] = {}
        self.begun: Callable[[Interaction], None] = lambda made: None
        """Called with every new interaction."""
        self.posts: SignedPosts | None = None
        """Where they are posted instead of being told to the gateway."""
        self._by_id: dict[str, Interaction] = {}

    def routes(self) -> list[Route]:
        hook = "/webhooks/{application}/{token}"
        return [
            Route("POST", "/interactions/{id}/{token}/callback", self.callback, bucket="", open=True),
            Route("POST", hook, self.follow_up, bucket="webhook", open=True),
            Route("GET", f"{hook}/messages/{{message}}", self.fetch, bucket="webhook", open=True),
            Route("PATCH", f"{hook}/messages/{{message}}", self.edit, bucket="webhook", open=True),
            Route("DELETE", f"{hook}/messages/{{message}}", self.delete, bucket="webhook", open=True),
        ]

    def begin(
        self, kind: int, channel: Channel, person: Person, data: Json, source: Message | None = None
    ) -> Interaction:
        """A person acted: make the interaction, and tell the application."""
        state = self.state
        token = f"aW50ZXJhY3Rpb24{secrets.token_urlsafe(48)}"
        made = Interaction(state.clock.snowflake(), token, kind, state.clock.now(), channel, person, data, source)
        self.by_token[token] = self._by_id[made.id] = made
        if self.posts is not None:
            self.posts.send(self.told(made))
        else:
            self.bring(made)
        self.begun(made)
        return made

    def bring(self, made: Interaction) -> None:
        """Tell the gateway: the shard of its server, or the first."""
        guild = made.channel.guild
        self.state.publish("INTERACTION_CREATE", lambda _: self.told(made), guild=guild.id if guild else "")

    def told(self, made: Interaction) -> Json:
        """The interaction as the gateway brings it."""
        state, place = self.state, made.channel
        owners = {"0": place.guild.id if place.guild else "0"} if made.in_guild else {"1": made.person.id}
        body: Json = {
            "id": made.id,
            "application_id": state.application,
            "type": made.kind,
            "token": made.token,
            "version": 1,
            "data": made.data,
            "channel_id": place.id,
            "channel": payloads.channel(place, state.clock) | {"permissions": payloads.EVERYONE_MAY},
            "app_permissions": str(place.permissions()),
            "locale": made.person.locale,
            "entitlements": [],
            "authorizing_integration_owners": owners,
            "context": 0 if place.guild else 2 if place.kind == SEVERAL else 1,
            "attachment_size_limit": state.limits.file,
        }
        who = payloads.user(made.person)
        if place.guild is None:
            body["user"] = who
        else:
            body |= {
                "guild_id": place.guild.id,
                "guild": {"id": place.guild.id, "locale": "en-US", "features": []},
                "guild_locale": "en-US",
                "member": payloads.member(made.person, place.guild, state.clock)
                | {"user": who, "permissions": payloads.EVERYONE_MAY},
            }
        if made.source is not None:
            body["message"] = state.told(made.source, True)
        return body

    def overdue(self, made: Interaction) -> bool:
        """The first answer did not come in time: the person reads that the application did not respond."""
        return not made.answered and self.state.clock.now() - made.at > self.state.limits.answer_within

    def callback(self, asked: Asked) -> Answer:
        made = self._by_id.get(asked.parameters["id"])
        if made is None or made.token != asked.parameters["token"]:
            raise Refusal(UNKNOWN_INTERACTION)
        if made.answered:
            raise Refusal(ALREADY_ACKNOWLEDGED)
        if self.overdue(made):
            raise Refusal(UNKNOWN_INTERACTION)
        fields = asked.fields()
        kind = fields.get("type")
        choices = _first_answers(made)
        if not isinstance(kind, int) or kind not in choices:
            raise form_error("type", "BASE_TYPE_CHOICES", f"Value must be one of {tuple(choices)}.")
        data = fields.get("data") or {}
        if not isinstance(data, dict):
            raise form_error("data", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        if kind == MODAL:
            made.form = read_form(data)
            self.state.screen.notice(made.channel.id, f"a form opened before {made.person.name}")
        elif kind == CHOICES:
            made.choices = read_choices(data)
            self.state.screen.notice(made.channel.id, f"{made.person.name} is offered {len(made.choices)} choices")
        else:
            self._show(made, kind, _inside(lambda: read_draft(data, asked.uploads, self.state.limits), "data"))
        made.answered = kind
        if asked.query.get("with_response", "").lower() not in ("1", "true"):
            return Answer(204)
        return Answer(200, self._receipt(made))

    def _show(self, made: Interaction, kind: int, draft: Draft) -> None:
        """Make a first answer seen."""
        private = draft.flags & EPHEMERAL
        if kind == MESSAGE:
            flags = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2
            made.original = self._post(made, draft, flags, private, COMMAND if made.source is None else REPLY)
        elif kind == DEFERRED:
            # Only the privacy of a placeholder can be chosen; other flags are not taken over.
            made.original = self._post(made, draft, 0, private | LOADING, COMMAND if made.source is None else REPLY)
            self.state.screen.notice(made.channel.id, f"{self.state.bot.name} is thinking…")
        else:
            made.original = made.source
            if kind == UPDATE and made.source is not None:
                self.state.revise(made.source, draft)

    def follow_up(self, asked: Asked) -> Answer:
        made = self._usable(asked)
        draft = read_draft(asked.fields(), asked.uploads, self.state.limits)
        if not made.in_guild and made.follow_ups >= self.state.limits.follow_ups:
            raise Refusal(TOO_MANY_FOLLOW_UPS)
        if made.original is not None and made.original.loading and not made.original.deleted:
            # The first message after a deferral takes the place of "thinking…", and its privacy.
            said = self.state.revise(made.original, draft)
        else:
            flags = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2
            said = self._post(made, draft, flags, draft.flags & EPHEMERAL, REPLY)
        made.follow_ups += 1
        return Answer(200, self.state.told(said, True))

    def fetch(self, asked: Asked) -> Answer:
        return Answer(200, self.state.told(self._message(asked), True))

    def edit(self, asked: Asked) -> Answer:
        said = self._message(asked)
        draft = read_draft(asked.fields(), asked.uploads, self.state.limits)
        # An edit through the interaction cannot turn previews off.
        return Answer(200, self.state.told(self.state.revise(said, draft, flags=COMPONENTS_V2), True))

    def delete(self, asked: Asked) -> Answer:
        self.state.erase(self._message(asked))
        return Answer(204)

    def _usable(self, asked: Asked) -> Interaction:
        if asked.parameters["application"] != self.state.application:
            raise Refusal(UNKNOWN_WEBHOOK)
        made = self.by_token.get(asked.parameters["token"])
        if made is None or self.state.clock.now() - made.at > self.state.limits.token_lives:
            raise Refusal(INVALID_WEBHOOK_TOKEN)
        if not made.answered or made.kind == TYPED:
            raise Refusal(UNKNOWN_WEBHOOK)
        return made

    def _message(self, asked: Asked) -> Message:
        made = self._usable(asked)
        id = asked.parameters["message"]
        if id == "@original":
            found = made.original
        else:
            found = next((said for said in [*made.messages, made.original] if said and said.id == id), None)
        if found is None or found.deleted:
            raise Refusal(UNKNOWN_MESSAGE)
        return found

    def _post(self, made: Interaction, draft: Draft, flags: int, extra: int, kind: int) -> Message:
        told: Json = {
            "id": made.id,
            "type": made.kind,
            "user": payloads.user(made.person),
            "authorizing_integration_owners": self.told(made)["authorizing_integration_owners"],
        }
        if made.source is not None:
            told["interacted_message_id"] = made.source.id
        if made.original is not None:
            told["original_response_message_id"] = made.original.id
            if not made.original.deleted and not made.original.ephemeral:
                draft.reference = made.original.id
        said = self.state.post(
            made.channel,
            self.state.bot,
            draft,
            kind=kind,
            flags=flags,
            extra_flags=extra,
            webhook=self.state.application,
            asked_by=told,
        )
        made.messages.append(said)
        return said

    def _receipt(self, made: Interaction) -> Json:
        interaction: Json = {"id": made.id, "type": made.kind}
        body: Json = {"interaction": interaction}
        said = made.original
        if said is not None:
            interaction |= {
                "response_message_id": said.id,
                "response_message_loading": said.loading,
                "response_message_ephemeral": said.ephemeral,
            }
            if made.answered != DEFERRED_UPDATE:
                body["resource"] = {"type": made.answered, "message": self.state.told(said, True)}
        return body


def _first_answers(made: Interaction) -> list[int]:
    if made.kind == TYPED:
        return [CHOICES]
    pressed = [DEFERRED_UPDATE, UPDATE] if made.source is not None else []
    return [MESSAGE, DEFERRED, *pressed] + ([MODAL] if made.kind != FORM else [])


def _inside(read: Callable[[], Draft], key: str) -> Draft:
    """Read a nested body, naming its fields from the outer one."""
    try:
        return read()
    except Refusal as refusal:
        if refusal.errors:
            raise Refusal(refusal.problem, {key: refusal.errors}) from None
        raise
