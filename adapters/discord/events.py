"""Read Discord's messages, commands and presses: pure functions from the library's objects to an `Incoming`.

Facts about the API: https://docs.discord.com/developers/reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import discord
from discord.abc import Snowflake

from adapters.discord.commands import ASK, names_of
from adapters.discord.ownthread import opens_thread, target_in_thread
from adapters.discord.reading import forwarded_text, names_own_role, shown_text, titled, written_text
from bot.contract import (
    LONGEST_TEXT,
    ChatId,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    Quoted,
    ReplyTarget,
    Scalar,
    Sender,
    parse_button,
    words,
)

_UNREAD: Final = (Enclosure(kind=EnclosureKind.MESSAGE),)
_WITHHELD: Final = (Enclosure(kind=EnclosureKind.FORWARD),)
_WRITTEN: Final = (discord.MessageType.default, discord.MessageType.reply)


def message_sent(
    message: discord.Message, application: int, bot: int, *, addressed: bool = False, threads: bool = False
) -> MessageSent | None:
    """Read a message as a question; return None if it is not for the bot, or may not be read.

    Without the privileged intent Discord withholds the content of messages that do not mention the bot itself; see
    `is_unread`.

    Args:
        addressed: it is for the bot, even if it does not mention it.
        threads: each question in a channel is answered in its own thread.
    """
    direct = message.guild is None
    author = message.author
    if author.bot or message.webhook_id is not None or message.type not in _WRITTEN:
        return None
    quoted = _quoted(message, bot)
    mentioned = any(person.id == bot for person in message.mentions) or names_own_role(message, bot)
    forwarded = quoted is not None and quoted.forwarded
    called = addressed or direct or mentioned or (quoted is not None and quoted.from_bot)
    if not (called or forwarded):
        return None
    # A forward has no text of its own: a comment on it is a separate message.
    text = written_text(message, bot)
    enclosed = () if forwarded else _enclosed(message, alone=not text)
    if not message.content and not text and not enclosed and not forwarded:
        if addressed or direct:
            return None
        enclosed = _UNREAD
    command = words.parse(text)
    if command is None and mentioned and _mentions(message, bot):
        command = words.bare(text, certain=True)
    word, argument = command if command is not None else ("", titled(text, message, message.channel))
    apart = threads and not word and opens_thread(message)
    return MessageSent(
        delivery=str(message.id),
        chat=_thread_under(message, application) if apart else chat_in(message.channel, application),
        sender=_sender(author),
        target=ReplyTarget("discord", target_in_thread(message, text)) if apart else _target(message),
        sent_at=message.created_at.timestamp(),
        text=argument,
        command=word,
        message_id=str(message.id),
        group=not direct,
        # The channel's answers are in threads.
        whole_channel=threads and bool(word) and opens_thread(message),
        quoted=quoted,
        replies_to=_replied(message),
        enclosed=enclosed,
        unfinished=forwarded,
        beside=not called,
    )


def message_edited(
    message: discord.Message, application: int, bot: int, *, threads: bool = False
) -> MessageEdited | None:
    """Read an edit of a person's message; return None if it may not be read, or only a preview was added.

    A changed question need not address the bot again; the core knows which messages are questions.
    """
    sent = message_sent(message, application, bot, addressed=True, threads=threads)
    if sent is None or message.edited_at is None:
        return None
    asked = message_sent(message, application, bot, threads=threads)
    return MessageEdited(
        question=asked if asked is not None and asked.group and not asked.beside else None,
        delivery=f"{message.id}:{message.edited_at.isoformat()}",
        chat=sent.chat,
        sender=sent.sender,
        target=sent.target,
        sent_at=message.edited_at.timestamp(),
        group=sent.group,
        message_id=str(message.id),
        text=sent.text,
        command=sent.command,
        enclosed=sent.enclosed,
    )


def message_deleted(message: int, channel: Snowflake, application: int, *, apart: bool = False) -> MessageDeleted:
    """Read a deletion: Discord gives neither text nor author nor who deleted it.

    Args:
        apart: as a question it was answered in its own thread.
    """
    chat = chat_in(channel, application)
    return MessageDeleted(
        delivery=f"{message}:deleted",
        chat=replace(chat, thread=str(message)) if apart else chat,
        sender=Sender(id=""),
        target=ReplyTarget("discord", {"channel": channel.id}),
        message_id=str(message),
    )


def command_used(interaction: discord.Interaction[Any], *, threads: bool = False) -> MessageSent | None:
    """Read a slash command; return None for any other interaction.

    Args:
        threads: each question in a channel is answered in its own thread.
    """
    if interaction.type is not discord.InteractionType.application_command:
        return None
    data = cast(Mapping[str, Any], interaction.data or {})
    if data.get("type") != discord.AppCommandType.chat_input.value:
        return None
    said = " ".join(_written(data))[:LONGEST_TEXT]
    text = re.sub(rf"<@!?{interaction.application_id}>[ \t]*", "", said).strip()
    name = str(data.get("name"))
    sent = asked(interaction, text, command="" if name == ASK else name)
    whole = threads and isinstance(interaction.channel, discord.TextChannel)
    return replace(sent, whole_channel=whole) if sent is not None and sent.command else sent


def being_typed(interaction: discord.Interaction[Any]) -> MessageSent | None:
    """Read the slash command that somebody is typing, up to the present option; return None for any other
    interaction."""
    if interaction.type is not discord.InteractionType.autocomplete:
        return None
    data = cast(Mapping[str, Any], interaction.data or {})
    focused = [str(one.get("value") or "") for one in data.get("options") or () if one.get("focused")]
    return asked(interaction, "".join(focused)[:LONGEST_TEXT], command=str(data.get("name")))


def _written(data: Mapping[str, Any]) -> list[str]:
    """Return the values of a command's options, in their written order, whichever was filled in first."""
    options = [one for one in data.get("options") or () if "value" in one]
    names = names_of(str(data.get("name")))
    options.sort(key=lambda one: names.index(one["name"]) if one.get("name") in names else 0)
    return [str(one["value"]) for one in options]


def asked(
    interaction: discord.Interaction[Any], text: str, *, command: str = "", quoted: Quoted | None = None
) -> MessageSent | None:
    """Return the question or command of an interaction; None if Discord does not name the channel."""
    if interaction.channel_id is None:
        return None
    group = interaction.guild_id is not None or interaction.context.private_channel
    # Discord must be told at once who may see the answer, when only the command is known.
    private = group and words.is_private(command)
    return MessageSent(
        delivery=str(interaction.id),
        chat=_chat_of(interaction),
        sender=_sender(interaction.user, language=interaction.locale.value),
        target=_target_of(interaction, group, {"private_answer": private}),
        sent_at=interaction.created_at.timestamp(),
        text=text,
        command=command,
        group=group,
        quoted=quoted,
        quote_question=not command,
        awaited=True,
    )


def button_pressed(interaction: discord.Interaction[Any]) -> ControlPressed | None:
    """Read the press of one of our buttons; return None for any other interaction.

    https://docs.discord.com/developers/interactions/receiving-and-responding
    """
    if interaction.type is not discord.InteractionType.component or interaction.channel_id is None:
        return None
    read = parse_button(str(cast(Mapping[str, Any], interaction.data or {}).get("custom_id")))
    if read is None:
        return None
    group = interaction.guild_id is not None or interaction.context.private_channel
    return ControlPressed(
        delivery=str(interaction.id),
        chat=_chat_of(interaction),
        sender=_sender(interaction.user, language=interaction.locale.value),
        target=_target_of(interaction, group, {"pressed": True}),
        sent_at=interaction.created_at.timestamp(),
        control=read.control,
        turn=read.turn,
        mark=read.mark,
        message_id=str(interaction.message.id) if interaction.message is not None else "",
        group=group,
    )


def _target_of(interaction: discord.Interaction[Any], group: bool, more: Mapping[str, Scalar]) -> ReplyTarget:
    member = writes_here(interaction)
    data: dict[str, Scalar] = {
        "channel": interaction.channel_id,
        "member": member,
        "group": group,
        "application": interaction.application_id,
        "interaction": interaction.id,
        "token": interaction.token,
        "until": interaction.expires_at.timestamp(),
        # If the bot can write as itself, the channel remains when the token has expired.
        "lasts": member,
    }
    return ReplyTarget("discord", {**data, **more})


def writes_here(interaction: discord.Interaction[Any]) -> bool:
    """Return True if the bot is a member where its command was used and may write there."""
    if interaction.guild_id is None:
        return not interaction.context.private_channel
    may = interaction.app_permissions
    threaded = isinstance(interaction.channel, discord.Thread)
    sends = may.send_messages_in_threads if threaded else may.send_messages
    return interaction.is_guild_integration() and may.view_channel and sends


def chat_in(channel: Snowflake, application: int) -> ChatId:
    """Return the chat of a channel; a thread is one of its channel's."""
    if isinstance(channel, discord.Thread):
        return ChatId("discord", str(application), str(channel.parent_id), str(channel.id))
    return ChatId("discord", str(application), str(channel.id))


def is_unplaced(channel: Snowflake) -> bool:
    """Return True for a channel of a server that may be a thread, of which Discord has not said anything yet."""
    return isinstance(channel, discord.PartialMessageable) and channel.guild_id is not None


def _thread_under(message: discord.Message, application: int) -> ChatId:
    return ChatId("discord", str(application), str(message.channel.id), str(message.id))


def _chat_of(interaction: discord.Interaction[Any]) -> ChatId:
    channel = interaction.channel or discord.Object(interaction.channel_id or 0)
    return chat_in(channel, interaction.application_id)


def _sender(person: discord.User | discord.Member, language: str = "") -> Sender:
    groups: tuple[str, ...] = ()
    if isinstance(person, discord.Member):
        roles = (role.id for role in person.roles if not role.is_default())
        groups = (f"discord:guild/{person.guild.id}", *(f"discord:role/{id}" for id in roles))
    return Sender(id=f"discord:{person.id}", name=person.display_name, language=language, groups=groups)


def _target(message: discord.Message) -> ReplyTarget:
    group = message.guild is not None
    data: dict[str, Scalar] = {"channel": message.channel.id, "group": group, "reply_to": message.id if group else None}
    if isinstance(message.channel, discord.Thread):
        data["thread"] = True
    return ReplyTarget("discord", data)


def _mentions(message: discord.Message, bot: int) -> bool:
    return re.search(rf"<@!?{bot}>", message.content) is not None or names_own_role(message, bot)


def _quoted(message: discord.Message, bot: int) -> Quoted | None:
    if message.message_snapshots:
        id = message.reference.message_id if message.reference is not None else None
        text, enclosed = forwarded_text(message, bot), _forwarded_files(message)
        # Discord withholds it, or it is of an unknown kind.
        enclosed = enclosed if text else enclosed or _WITHHELD
        return Quoted(text=text, message_id=str(id or ""), forwarded=True, enclosed=enclosed)
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    replied = message.reference.resolved
    return read_as_quoted(replied, bot) if isinstance(replied, discord.Message) else None


def is_unread(sent: MessageSent) -> bool:
    """Return True for a message to the bot whose content Discord withholds: it names only the bot's role, or replies to
    the bot without a mention."""
    return sent.enclosed == _UNREAD


def is_withheld(quoted: Quoted | None) -> bool:
    """Return True for a forward whose content Discord withholds."""
    return quoted is not None and not quoted.text and quoted.enclosed == _WITHHELD


def _replied(message: discord.Message) -> str:
    """Return the id of the message that it replies to, even if Discord withholds that message; else empty."""
    reference = message.reference
    if message.type is not discord.MessageType.reply or reference is None:
        return ""
    return str(reference.message_id or "")


def read_as_quoted(message: discord.Message, bot: int) -> Quoted:
    """Return a message as a reader of a quote sees it; for a thread's first message, the one under which the thread was
    opened."""
    opened = message.reference.resolved if message.reference is not None else None
    if message.type is discord.MessageType.thread_starter_message and isinstance(opened, discord.Message):
        message = opened
    text = shown_text(message, bot)
    return Quoted(
        text=titled(text, message, message.channel) if text else "",
        author=message.author.display_name,
        from_bot=message.author.id == bot,
        message_id=str(message.id),
        sent_at=message.created_at.timestamp(),
        replies=message.type is discord.MessageType.reply,
        enclosed=_enclosed(message) or _forwarded_files(message),
    )


def _enclosed(message: discord.Message | discord.MessageSnapshot, *, alone: bool = False) -> tuple[Enclosure, ...]:
    """Return the attachments of a message.

    Args:
        alone: the message has no text.
    """
    return tuple(_file(one, alone) for one in message.attachments)


def _file(attachment: discord.Attachment, alone: bool) -> Enclosure:
    media_type = attachment.content_type or ""
    seconds = attachment.duration or 0.0
    if attachment.is_voice_message():
        # Recorded in Discord, which names it itself.
        kind, size = EnclosureKind.VOICE, attachment.size
        return Enclosure(kind=kind, media_type=media_type, size=size, source=attachment.url, seconds=seconds)
    return Enclosure.file(_name(attachment), media_type, attachment.size, attachment.url, seconds, alone=alone)


def _name(attachment: discord.Attachment) -> str:
    """Return the name its owner gave a file: Discord keeps of `filename` what fits in an address, the rest in `title`.

    The title is told where the two differ, and without what the name ends with.
    """
    _, dot, ending = attachment.filename.rpartition(".")
    title = attachment.title or attachment.filename
    return title if title.lower().endswith((dot + ending).lower()) or not dot else title + dot + ending


def _forwarded_files(message: discord.Message) -> tuple[Enclosure, ...]:
    return tuple(one for snapshot in message.message_snapshots for one in _enclosed(snapshot))
