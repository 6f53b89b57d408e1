"""What a person sees of a Discord message, in any position: text, embeds, components, a poll and stickers.

Alarms and other bots write in embeds and components, with an empty `content`. See
https://docs.discord.com/developers/resources/message#embed-object and …/components/reference.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import discord

from bot.contract import LONGEST_TEXT

_MENTION: Final = re.compile(
    r"<(?:@!?|@&|#)(?P<id>[0-9]{1,20})>|<a?:(?P<emoji>\w+):[0-9]{1,20}>|<t:(?P<time>-?[0-9]{1,10})(?::[tTdDfFsSR])?>"
    r"|<(?P<command>/[\w -]{1,100}):[0-9]{1,20}>"
)
"""What clients show by its name. https://docs.discord.com/developers/reference#message-formatting"""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DEEPEST: Final = 8
"""Nested components that are read; Discord allows three."""

Seen: TypeAlias = "discord.Message | discord.MessageSnapshot"


def names_own_role(message: discord.Message, bot: int) -> bool:
    """Return True if a message mentions the role that Discord made for the bot, which the list of mentions offers
    beside the bot, under the same name."""
    return any(role.tags is not None and role.tags.bot_id == bot for role in message.role_mentions)


def written_text(message: discord.Message, bot: int) -> str:
    """Return a person's own text, without mentions of the bot. Link previews are not theirs."""
    return _readable("\n\n".join(_lines(message, embeds=not message.content)), bot, _names(message), message.guild)


def shown_text(message: discord.Message, bot: int) -> str:
    """Return what a person sees of a message, without mentions of the bot; for a forward, the forwarded text."""
    said = _readable("\n\n".join(_lines(message)), bot, _names(message), message.guild)
    return said or forwarded_text(message, bot)


def titled(text: str, message: discord.Message, place: object) -> str:
    """Return the text of a message of `place`; for the first one of a forum's post, with the post's title above it."""
    if isinstance(place, discord.Thread) and place.id == message.id:
        return f"{place.name}\n\n{text}".strip()
    return text


def forwarded_text(message: discord.Message, bot: int) -> str:
    """Return what a person sees of a forwarded message: a copy without author and names."""
    shown = (_readable("\n\n".join(_lines(one)), bot, {}, message.guild) for one in message.message_snapshots)
    return "\n\n".join(one for one in shown if one)


def _names(message: discord.Message) -> dict[str, str]:
    names = {str(person.id): f"@{person.display_name}" for person in message.mentions}
    return names | {str(role.id): f"@{role.name}" for role in message.role_mentions}


def _readable(content: str, bot: int, names: Mapping[str, str], guild: discord.Guild | None) -> str:
    own = guild.self_role if guild is not None and "<@&" in content else None
    me = rf"<@!?{bot}>" if own is None else rf"<@(?:!?{bot}|&{own.id})>"
    content = re.sub(rf"(^|(?<=\s)){me}[ \t]*|{me}", "", content[:LONGEST_TEXT])

    def name(found: re.Match[str]) -> str:
        if found["emoji"]:
            return f":{found['emoji']}:"
        if found["command"]:
            return found["command"]
        if found["time"]:
            # Each reader sees it in their own zone.
            at = _EPOCH + datetime.timedelta(seconds=int(found["time"]))
            return f"{at:%Y-%m-%d %H:%M} UTC"
        place = guild.get_channel_or_thread(int(found["id"])) if guild is not None else None
        return f"#{place.name}" if place is not None else names.get(found["id"], found[0])

    return _MENTION.sub(name, content).strip()


def _lines(message: Seen, *, embeds: bool = True) -> Iterator[str]:
    """Yield the parts of a message with words, in the order in which they are shown."""
    if message.content:
        yield message.content
    if isinstance(message, discord.Message) and message.poll is not None:
        yield _poll(message.poll)
    # A reader of the picture knows its meaning; its name tells it.
    yield from (f"[sticker] {one.name}" for one in message.stickers)
    for embed in message.embeds if embeds else ():
        if text := "\n".join(part for part in _embed(embed) if part):
            yield text
    words = "\n".join(part for one in message.components for part in _component(one, 0) if part)
    if words or (message.components and message.flags.components_v2):
        # A withheld message has none.
        yield words or "[components]"


def _poll(poll: discord.Poll) -> str:
    answers = (f"• {f'{one.emoji} ' if one.emoji else ''}{one.text}" for one in poll.answers)
    return "\n".join((f"[poll] {poll.question}", *answers))


def _embed(embed: discord.Embed) -> Iterator[str]:
    yield embed.provider.name or ""
    yield embed.author.name or ""
    yield _link(embed.title or "", embed.url)
    yield embed.description or ""
    for field in embed.fields:
        yield f"{field.name}: {field.value}" if field.name and field.value else field.name or field.value or ""
    yield embed.footer.text or ""


def _component(one: Any, depth: int) -> Iterator[str]:
    """Yield the words of a component and its contents; of pressable parts, only links."""
    if depth > _DEEPEST:
        return
    if isinstance(one, discord.TextDisplay):
        yield one.content
    elif isinstance(one, discord.Button):
        yield _link(one.label or "", one.url) if one.url else ""
    else:
        yield getattr(one, "description", None) or ""
        yield getattr(one, "name", None) or ""
    for name in ("children", "items"):
        for inner in getattr(one, name, None) or ():
            yield from _component(inner, depth + 1)
    if (accessory := getattr(one, "accessory", None)) is not None:
        yield from _component(accessory, depth + 1)


def _link(words: str, url: str | None) -> str:
    return f"{words} ({url})" if words and url else words or url or ""
