"""A person's side: what people, other bots and webhooks do on the emulated Discord."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from playground.discord import payloads
from playground.discord.bodies import Draft, Upload
from playground.discord.channels import Channels
from playground.discord.commands import ON_MESSAGE, Commands, typed_options, value_options
from playground.discord.forms import filled
from playground.discord.gateway import MEMBERS, Gateway
from playground.discord.interactions import COMPONENT, FORM, SLASH, TYPED, Interaction, Interactions
from playground.discord.state import GUILDS, State
from playground.discord.world import (
    COMPONENTS_V2,
    FORUM,
    PERMISSIONS,
    SEVERAL,
    TEXT,
    Channel,
    Guild,
    Json,
    Message,
    Person,
)


class People:
    """Everything somebody other than the tested bot can do. Ids may be given as numbers."""

    def __init__(
        self, state: State, gateway: Gateway, interactions: Interactions, commands: Commands, channels: Channels
    ) -> None:
        self.state = state
        self.gateway = gateway
        self.interactions = interactions
        self.commands = commands
        self.channels = channels

    def person(self, id: str | int, name: str = "", *, bot: bool = False) -> Person:
        """Somebody with an account; the same id is the same person."""
        key = _id(id)
        if key not in self.state.people:
            self.state.people[key] = Person(key, name or f"person-{key}", bot)
        return self.state.people[key]

    def guild(self, id: str | int, name: str = "", *, member: bool = True) -> Guild:
        """A server; with `member=False` the bot is not in it, and only its commands can be used there."""
        made = Guild(_id(id), name or f"server-{id}", member)
        self.state.guilds[made.id] = made
        if member:
            self.state.publish("GUILD_CREATE", lambda _: self.gateway.guild(made.id), intent=GUILDS, guild=made.id)
        return made

    def role(self, id: str | int, guild: str | int, name: str, *, own: bool = False) -> str:
        """A role of a server; with `own` the bot's, which Discord makes with its invitation."""
        server, what = self.state.guilds[_id(guild)], "CREATE"
        if _id(id) in server.roles:
            what = "UPDATE"
        server.roles[_id(id)] = name
        if own:
            server.own_role = _id(id)
        body: Json = {"guild_id": server.id, "role": payloads.role(_id(id), name, self.state.bot.id if own else "")}
        if server.member:
            self.state.publish(f"GUILD_ROLE_{what}", lambda _: dict(body), intent=GUILDS, guild=server.id)
        return _id(id)

    def grant(self, role: str | int, guild: str | int, person: Person | str | int, *, take: bool = False) -> None:
        """Give somebody a role of a server, or take it away. Only who may know all members is told at once.

        Raises:
            LookupError: the server has no such role.
        """
        server, who = self.state.guilds[_id(guild)], self._person(person)
        if _id(role) not in server.roles:
            raise LookupError(f"server {server.id} has no role {role}")
        held = [one for one in server.held.get(who.id, ()) if one != _id(role)]
        server.held[who.id] = held if take else [*held, _id(role)]
        body = payloads.member(who, server, self.state.clock) | {"user": payloads.user(who), "guild_id": server.id}
        if server.member:
            self.state.publish("GUILD_MEMBER_UPDATE", lambda _: dict(body), intent=MEMBERS, guild=server.id)

    def channel(self, id: str | int, guild: str | int, name: str = "", *, member: bool = True) -> Channel:
        """A text channel; with `member=False` the bot cannot see it."""
        place = Channel(_id(id), name or f"channel-{id}", TEXT, self.state.guilds[_id(guild)], member)
        self.state.channels[place.id] = place
        self._tell_channel("CREATE", place)
        return place

    def forum(self, id: str | int, guild: str | int, name: str = "") -> Channel:
        """A channel in which every message is in a post, a thread with a title."""
        place = Channel(_id(id), name or f"forum-{id}", FORUM, self.state.guilds[_id(guild)])
        self.state.channels[place.id] = place
        self._tell_channel("CREATE", place)
        return place

    def open_post(self, forum: Channel, title: str, text: str, person: Person | str | int = "") -> str:
        """Open a post in a forum and return its id: its thread and the first message in it have the same.

        https://docs.discord.com/developers/resources/channel#start-thread-in-forum-or-media-channel
        """
        author = self._author(forum, person)
        thread = self.channels.thread(forum, title, author, None)
        return self.state.post(thread, author, Draft(frozenset({"content"}), text.strip()), id=thread.id).id

    def direct(self, person: Person | str | int) -> Channel:
        """The direct messages between a person and the bot."""
        return self.state.direct(self._person(person))

    def direct_of_several(self, id: str | int, name: str = "") -> Channel:
        """The direct messages of several people: no bot is in them, but its commands can be used there."""
        place = Channel(_id(id), name or f"group-{id}", SEVERAL)
        self.state.channels[place.id] = place
        return place

    def thread(self, channel: Channel | str | int, name: str, *, under: str = "", id: str | int = "") -> Channel:
        """A thread somebody opens in a channel, under the message `under` or on its own."""
        said = self.state.messages[under] if under else None
        return self.channels.thread(self._channel(channel), name, Person("1", "owner"), said, id=str(id))

    def archive(self, thread: Channel | str | int, *, locked: bool = False) -> None:
        """Archive a thread; a locked one cannot be opened by writing in it."""
        place = self._channel(thread)
        place.archived, place.locked = True, locked

    def permit(self, guild: str | int, *permissions: str) -> None:
        """Give the bot more than its invitation asked for, on a whole server, by name (`MENTION_EVERYONE`)."""
        place = self.state.guilds[_id(guild)]
        for permission in permissions:
            place.granted |= PERMISSIONS[permission]

    def deny(self, channel: Channel | str | int, *permissions: str) -> None:
        """Take permissions away from the bot in one channel, by name (`SEND_MESSAGES`)."""
        for permission in permissions:
            if permission not in PERMISSIONS:
                raise ValueError(f"{permission!r} is none of {', '.join(PERMISSIONS)}")
        self._channel(channel).denied.update(permissions)

    def hide(self, channel: Channel | str | int) -> None:
        """Take the bot's sight of a channel away."""
        place = self._channel(channel)
        self._tell_channel("DELETE", place)
        place.member = False

    def kick(self, guild: str | int) -> None:
        """Remove the bot from a server."""
        found = self.state.guilds[_id(guild)]
        found.member = False
        self.state.publish("GUILD_DELETE", lambda _: {"id": found.id}, intent=GUILDS, guild=found.id)

    def block(self, person: Person | str | int, blocked: bool = True) -> None:
        """Let a person take no more direct messages from the bot."""
        self._person(person).blocked = blocked

    def say(
        self,
        channel: Channel | str | int,
        text: str,
        *,
        person: Person | str | int = "",
        reply_to: str = "",
        ping: bool = True,
        files: Sequence[tuple[str, str, bytes]] = (),
        stickers: Sequence[str] = (),
        poll: str = "",
        poll_ends: bool = True,
        webhook: str = "",
        embeds: Sequence[Json] = (),
        components: Sequence[Json] = (),
    ) -> str:
        """Write a message and return its id. A reply mentions its target's author unless `ping` is off.

        `files` are (name, media type, content), `stickers` names, and `poll` is the question of one. `webhook` is the
        name of a webhook that writes instead of a person. Alarms and other bots write in `embeds`, or in `components`
        (of version 2) without a text.
        """
        place = self._channel(channel)
        uploads = [Upload(str(number), *file) for number, file in enumerate(files)]
        draft = Draft(
            frozenset({"content", "embeds", "components"}),
            text.strip(),
            uploads=uploads,
            stickers=list(stickers),
            poll=poll,
            poll_ends=poll_ends,
            embeds=list(embeds),
            components=list(components),
            reference=reply_to,
        )
        hook = self.state.clock.snowflake() if webhook else ""
        if webhook:
            author = Person(hook, webhook, bot=True)
        else:
            author = self._author(place, person)
        flags = COMPONENTS_V2 if components else 0
        said = self.state.post(place, author, draft, webhook=hook, ping_author=ping, extra_flags=flags)
        return said.id

    def forward(
        self, channel: Channel | str | int, message: str, *, person: Person | str | int = "", comment: str = ""
    ) -> str:
        """Forward a message, from any channel the person sees, and return the new one's id.

        Args:
            comment: words of one's own, which clients send after it as a message.
        """
        place = self._channel(channel)
        draft = Draft(frozenset())
        said = self.state.messages[message]
        id = self.state.post(place, self._author(place, person), draft, forwarded=self.state.forward(said)).id
        if comment:
            self.say(channel, comment, person=person)
        return id

    def mention(self) -> str:
        """How a person's message mentions the bot."""
        return f"<@{self.state.bot.id}>"

    def edit(self, message: str, text: str) -> None:
        """Let the author of a message change it."""
        self.state.revise(self.state.messages[message], Draft(frozenset({"content"}), text.strip()))

    def delete(self, *messages: str) -> None:
        """Delete one's own message, or, as somebody with the right to, the bot's, or several of a channel at once."""
        self.state.erase(*(self.state.messages[message] for message in messages))

    def react(self, message: str, emoji: str, person: Person | str | int) -> None:
        """Put a reaction on a message, or take it off when it is there."""
        said, who = self.state.messages[message], self._person(person)
        there = who.id in said.reactions.get(emoji, ())
        self.channels.reacted(said, emoji, who, "REMOVE" if there else "ADD")

    def slash(
        self,
        name: str,
        options: Mapping[str, object],
        channel: Channel | str | int,
        person: Person | str | int,
    ) -> Interaction:
        """Use a slash command.

        Raises:
            LookupError: no such command is registered here.
            ValueError: the options do not fit it.
        """
        place, who = self._channel(channel), self._person(person)
        guild = place.guild.id if place.guild else ""
        command = self.commands.find(name, guild)
        if command is None:
            raise LookupError(f"no command /{name} is registered here: the bot has to sync it first")
        data: Json = {"id": command["id"], "name": name, "type": 1}
        if "guild_id" in command:
            data["guild_id"] = command["guild_id"]
        data["options"] = value_options(command.get("options") or [], dict(options))
        self.state.screen.notice(place.id, f"{who.name} used /{name}")
        return self.interactions.begin(SLASH, place, who, data)

    def type_in(
        self,
        name: str,
        written: Mapping[str, str],
        focused: str,
        channel: Channel | str | int,
        person: Person | str | int,
    ) -> Interaction:
        """Write the options of a slash command, up to now these and at last `focused`; nothing is sent off yet.

        https://docs.discord.com/developers/interactions/application-commands#autocomplete

        Raises:
            LookupError: no such command is registered here.
            ValueError: the command has no such options, or nothing is offered for this one.
        """
        place = self._channel(channel)
        command = self.commands.find(name, place.guild.id if place.guild else "")
        if command is None:
            raise LookupError(f"no command /{name} is registered here: the bot has to sync it first")
        data: Json = {"id": command["id"], "name": name, "type": command["type"]}
        data["options"] = typed_options(command.get("options") or [], dict(written), focused)
        return self.interactions.begin(TYPED, place, self._person(person), data)

    def choose(self, message: str, entry: str, person: Person | str | int) -> Interaction:
        """Choose an entry of a message's menu.

        Raises:
            LookupError: no such entry is registered here.
        """
        said, who = self.state.messages[message], self._person(person)
        place = said.channel
        command = self.commands.find(entry, place.guild.id if place.guild else "", ON_MESSAGE)
        if command is None:
            raise LookupError(f"no entry {entry!r} is registered here: the bot has to sync it first")
        data: Json = {"id": command["id"], "name": entry, "type": command["type"], "target_id": said.id}
        data["resolved"] = {"messages": {said.id: self.state.told(said, True)}}
        return self.interactions.begin(SLASH, place, who, data)

    def fill_in(self, opened: Interaction, written: Mapping[str, str]) -> Interaction:
        """Send off the form that an interaction was answered with.

        Raises:
            LookupError: it was answered with none.
            ValueError: the fields do not take that.
        """
        if opened.form is None:
            raise LookupError("no form is open")
        return self.interactions.begin(FORM, opened.channel, opened.person, filled(opened.form, written), opened.source)

    def press(self, message: str, button: str, person: Person | str | int, values: Sequence[str] = ()) -> Interaction:
        """Press the button (or choose in the menu) with this label or custom id under a message.

        Raises:
            LookupError: nothing of that name can be pressed there.
        """
        said = self.state.messages[message]
        for part in said.buttons():
            if button in (part["custom_id"], part.get("label")) and not part.get("disabled"):
                data: Json = {"component_type": part["type"], "custom_id": part["custom_id"]}
                if part["type"] != 2:
                    data["values"] = list(values)
                return self.interactions.begin(COMPONENT, said.channel, self._person(person), data, said)
        raise LookupError(f"no {button!r} to press under message {message}")

    def redeliver(self, id: str) -> None:
        """Bring a message, or an interaction, to the bot once more, as a resumed connection may.

        Raises:
            LookupError: there is no such message or interaction.
        """
        if id in self.state.messages:
            self.state.tell("MESSAGE_CREATE", self.state.messages[id])
            return
        made = next((one for one in self.interactions.by_token.values() if one.id == id), None)
        if made is None:
            raise LookupError(f"{id} is neither a message nor an interaction")
        self.interactions.bring(made)

    def message(self, id: str) -> Message:
        """A message as it stands now."""
        return self.state.messages[id]

    def _tell_channel(self, what: str, place: Channel) -> None:
        if place.visible and place.guild is not None:
            body = payloads.channel(place, self.state.clock)
            self.state.publish(f"CHANNEL_{what}", lambda _: dict(body), intent=GUILDS, guild=place.guild.id)

    def _author(self, place: Channel, person: Person | str | int) -> Person:
        if person == "" and place.recipient is not None:
            return place.recipient
        return self._person(person)

    def _person(self, person: Person | str | int) -> Person:
        return person if isinstance(person, Person) else self.person(person)

    def _channel(self, channel: Channel | str | int) -> Channel:
        return channel if isinstance(channel, Channel) else self.state.channels[_id(channel)]


def _id(id: str | int) -> str:
    """
    Raises:
        ValueError: it is no snowflake.
    """
    if not str(id).isdecimal():
        raise ValueError(f"{id!r} is no Discord id: they are whole numbers")
    return str(id)
