"""What exists, written as Discord writes it in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from playground.discord.clock import Clock
from playground.discord.world import (
    DIRECT,
    PERMISSIONS,
    SEVERAL,
    THREAD,
    THREAD_STARTER,
    Attachment,
    Channel,
    Guild,
    Json,
    Message,
    Person,
)

EVERYONE_MAY = str((1 << 6) | (1 << 10) | (1 << 11) | (1 << 14) | (1 << 15) | (1 << 16) | (1 << 31) | (1 << 38))


def user(person: Person) -> Json:
    return {
        "id": person.id,
        "username": person.name,
        "discriminator": "0",
        "global_name": None if person.bot else person.name,
        "avatar": None,
        "bot": person.bot,
        "system": False,
        "public_flags": 0,
    }


def member(person: Person, server: Guild, clock: Clock) -> Json:
    """A member of a server, without the user. The role that everybody has is not listed."""
    return {
        "roles": list(server.held.get(person.id, ())),
        "nick": None,
        "avatar": None,
        "joined_at": clock.date(0.0),
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "communication_disabled_until": None,
    }


def role(id: str, name: str, of: str = "") -> Json:
    """A role, or the one that belongs to the bot `of` alone."""
    tags = {"tags": {"bot_id": of}} if of else {}
    return tags | {
        "id": id,
        "name": name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 0,
        "permissions": EVERYONE_MAY,
        "managed": bool(of),
        "mentionable": False,
        "flags": 0,
    }


def channel(place: Channel, clock: Clock) -> Json:
    body: Json = {
        "id": place.id,
        "type": place.kind,
        "last_message_id": place.messages[-1] if place.messages else None,
        "flags": 0,
    }
    if place.kind == DIRECT and place.recipient is not None:
        return body | {"recipients": [user(place.recipient)]}
    if place.kind == SEVERAL:
        return body | {"recipients": [], "name": place.name, "icon": None, "owner_id": "1"}
    if place.guild is not None:
        body |= {"guild_id": place.guild.id, "name": place.name, "rate_limit_per_user": 0}
    if place.kind == THREAD and place.parent is not None:
        return body | {
            "parent_id": place.parent.id,
            "owner_id": place.owner,
            "message_count": len(place.messages),
            "total_message_sent": len(place.messages),
            "member_count": 2,
            "thread_metadata": {
                "archived": place.archived,
                "auto_archive_duration": place.archive_after,
                "archive_timestamp": clock.date(place.created),
                "create_timestamp": clock.date(place.created),
                "locked": place.locked,
            },
        }
    denied = sum(PERMISSIONS[name] for name in place.denied)
    overwrites = (
        [{"id": place.guild.id, "type": 0, "allow": "0", "deny": str(denied)}] if place.guild and denied else []
    )
    return body | {"position": 0, "permission_overwrites": overwrites, "parent_id": None, "topic": None, "nsfw": False}


def guild(server: Guild, channels: Iterable[Channel], people: Iterable[Person], bot: Person, clock: Clock) -> Json:
    """A whole server, as GUILD_CREATE brings it."""
    seen = [place for place in channels if place.guild is server and place.visible]
    return guild_head(server, bot) | {
        "joined_at": clock.date(0.0),
        "large": False,
        "unavailable": False,
        "member_count": 1 + sum(1 for _ in people),
        "members": [member(bot, server, clock) | {"user": user(bot)}],
        "channels": [channel(place, clock) for place in seen if place.kind != THREAD],
        "threads": [channel(place, clock) for place in seen if place.kind == THREAD and not place.archived],
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def guild_head(server: Guild, bot: Person) -> Json:
    """A server without its people and channels."""
    roles = [role(id, name, bot.id if id == server.own_role else "") for id, name in server.roles.items()]
    return {
        "id": server.id,
        "name": server.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "banner": None,
        "description": None,
        "owner_id": "1",
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "roles": [role(server.id, "@everyone"), *roles],
        "emojis": [],
        "stickers": [],
        "features": [],
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "safety_alerts_channel_id": None,
        "vanity_url_code": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "premium_progress_bar_enabled": False,
        "preferred_locale": "en-US",
        "nsfw_level": 0,
        "nsfw": False,
    }


def attachment(file: Attachment, place: Channel, root: str) -> Json:
    """Return a file as apps are told of it: its name is made one for addresses, and the name given is its title.

    discord/discord-api-docs#6945, discordjs/discord.js#11302; without what the name ends with, which both share.
    """
    given = PurePath(file.name)
    name = (re.sub(r"[^A-Za-z0-9._-]", "", given.stem.replace(" ", "_")).strip("._") or "unknown") + given.suffix
    titled: Json = {} if name == file.name else {"title": given.stem}
    address = f"{root}/attachments/{place.id}/{file.id}/{name}"
    recorded: Json = {"duration_secs": 3.2, "waveform": "AAECAw=="} if file.voice else {}
    return {
        "id": file.id,
        "filename": name,
        **titled,
        "size": len(file.content),
        "content_type": file.media_type,
        "url": address,
        "proxy_url": address,
        **recorded,
    }


def poll(question: str, expiry: str | None) -> Json:
    answers = [{"answer_id": n, "poll_media": {"text": text}} for n, text in enumerate(("yes", "no"), 1)]
    return {
        "question": {"text": question},
        "answers": answers,
        "expiry": expiry,
        "allow_multiselect": False,
        "layout_type": 1,
    }


def message(said: Message, people: Mapping[str, Person], bot: Person, clock: Clock, root: str) -> Json:
    """A message with everything in it; what the bot may not see is taken out by `without_content`."""
    body: Json = {
        "id": said.id,
        "channel_id": said.channel.id,
        "type": said.kind,
        "author": user(said.author),
        "content": said.content,
        "timestamp": clock.date(said.created),
        "edited_timestamp": None if said.edited is None else clock.date(said.edited),
        "tts": False,
        "pinned": False,
        "mention_everyone": said.mention_everyone,
        "mentions": [user(people[id]) for id in said.mentions if id in people],
        "mention_roles": said.mention_roles,
        "attachments": [attachment(file, said.channel, root) for file in said.attachments],
        "embeds": [{"type": "rich", **embed} for embed in said.embeds],
        "components": said.components,
        "flags": said.flags,
    }
    if said.stickers:
        body["sticker_items"] = [
            {"id": str(number), "name": name, "format_type": 1} for number, name in enumerate(said.stickers, 700)
        ]
    if said.poll:
        body["poll"] = poll(said.poll, clock.date(said.created + 86_400) if said.poll_ends else None)
    if said.nonce is not None:
        body["nonce"] = said.nonce
    if said.webhook:
        body["webhook_id"] = said.webhook
    if said.application:
        body["application_id"] = said.application
    if said.asked_by is not None:
        body["interaction_metadata"] = said.asked_by
    if said.reactions:
        body["reactions"] = [
            {
                "emoji": {"id": None, "name": emoji},
                "count": len(who),
                "count_details": {"burst": 0, "normal": len(who)},
                "me": bot.id in who,
                "me_burst": False,
                "burst_colors": [],
            }
            for emoji, who in said.reactions.items()
        ]
    if said.thread is not None:
        body["thread"] = channel(said.thread, clock)
    if said.reference:
        place = said.channel.parent if said.kind == THREAD_STARTER else None
        body["message_reference"] = {"type": 0, **reference(said.reference, place or said.channel)}
    if said.forwarded is not None:
        body["message_reference"] = {"type": 1, **said.forwarded.reference}
        body["message_snapshots"] = [{"message": said.forwarded.snapshot}]
    return body


def reference(message_id: str, place: Channel) -> Json:
    """Where a message stands."""
    found: Json = {"message_id": message_id, "channel_id": place.id}
    return found if place.guild is None else found | {"guild_id": place.guild.id}


_SNAPSHOT = ("type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags", "mentions")
"""The fields of a message that a forward copies; not the author."""


def snapshot(body: Json) -> Json:
    """A message as a forward carries it."""
    return {key: body[key] for key in (*_SNAPSHOT, "mention_roles", "components", "sticker_items") if key in body}


def without_content(body: Json) -> Json:
    """The same message for a bot that may not read it."""
    hidden: Json = {"content": "", "embeds": [], "attachments": [], "components": []}
    forwards = [{"message": one["message"] | hidden} for one in body.get("message_snapshots", ())]
    body = {key: value for key, value in body.items() if key != "poll"}
    return body | hidden | ({"message_snapshots": forwards} if forwards else {})
