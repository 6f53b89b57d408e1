"""Read Telegram updates: pure functions, no network."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final, TypedDict

from telegram import (
    Bot,
    CallbackQuery,
    Chat,
    ExternalReplyInfo,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    TelegramObject,
    Update,
    User,
)
from telegram.constants import MessageLimit

from adapters.telegram.compat import STOPPED
from adapters.telegram.drafts import draft_stopped
from adapters.telegram.entities import written_in
from adapters.telegram.reading import said_to, things_in, words_of
from bot.contract import (
    AUDIBLE,
    LONGEST_TEXT,
    ChatId,
    ChatMoved,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    Incoming,
    MessageEdited,
    MessageSent,
    Quoted,
    ReplyTarget,
    Scalar,
    Sender,
    origin_of,
    parse_button,
    utf16_length,
    words,
)

log = logging.getLogger(__name__)

_LONG: Final = MessageLimit.MAX_TEXT_LENGTH // 2
"""UTF-16 units of the shortest part of a longer text: clients cut at the limit, or before it at the end of a paragraph,
a sentence or a word in the second half."""
_NEEDED: Final = frozenset({"message_id", "date", "chat", "from", "text", "caption"})
"""Fields without which a message is not one, or another one."""
_KINDS: Final = {
    # An animation is a document too, for programs that know only those.
    "animation": EnclosureKind.ANIMATION,
    "audio": EnclosureKind.AUDIO,
    "document": EnclosureKind.FILE,
    "live_photo": EnclosureKind.PICTURE,
    "photo": EnclosureKind.PICTURE,
    "sticker": EnclosureKind.STICKER,
    "video": EnclosureKind.VIDEO,
    "video_note": EnclosureKind.VIDEO_NOTE,
    "voice": EnclosureKind.VOICE,
    "game": EnclosureKind.OTHER,
    "giveaway": EnclosureKind.OTHER,
    "invoice": EnclosureKind.OTHER,
    "paid_media": EnclosureKind.OTHER,
    "story": EnclosureKind.OTHER,
}
"""Field of a message → its content. The first of several fields says what the message is."""


def meant_for(bot: Bot, updates: Iterable[dict[str, Any]]) -> list[Incoming]:
    """Return the messages for the bot in a batch of updates, in order.

    Each is read separately. One that cannot be read, by the library or here, is logged and left out: it would come
    again for ever, and hold up all others.

    Args:
        updates: raw JSON.
    """
    found: list[Incoming] = []
    for raw in updates:
        try:
            said = incoming(_parsed(raw, bot), bot)
        except Exception as error:  # noqa: BLE001 - whatever it is, only this update is lost
            log.error("telegram: update %s cannot be read and is left out: %s", raw.get("update_id"), origin_of(error))
            continue
        if said is not None:
            found.append(said)
    return found


def _parsed(raw: dict[str, Any], bot: Bot) -> Update:
    """Parse an update; a part that the library cannot read is cut out and named in the log."""
    try:
        return Update.de_json(raw, bot)
    except Exception as error:
        kind = next((one for one in ("message", "edited_message") if isinstance(raw.get(one), dict)), "")
        if kind and (found := _without_fault(raw[kind], lambda cut: Update.de_json({**raw, kind: cut}, bot))):
            cut, part = found
            log.error(
                "telegram: %r of update %s cannot be read and is left out: %s",
                part,
                raw.get("update_id"),
                origin_of(error),
            )
            return Update.de_json({**raw, kind: cut}, bot)
        raise


def _without_fault(
    value: dict[str, Any], parse: Callable[[dict[str, Any]], object], deepest: int = 3
) -> tuple[dict[str, Any], str] | None:
    """Return a message without the smallest part that prevents parsing, and the part's name; None if no part alone is
    to blame."""
    for name in [one for one in value if one not in _NEEDED]:
        rest = {key: one for key, one in value.items() if key != name}
        try:
            parse(rest)
        except Exception:  # noqa: BLE001 - then it is another part
            continue
        inner = value[name]
        if isinstance(inner, dict) and deepest > 1:
            within = _without_fault(inner, partial(_parse_with, parse, value, name), deepest - 1)
            if within is not None:
                return {**value, name: within[0]}, f"{name}.{within[1]}"
        return rest, name
    return None


def _parse_with(
    parse: Callable[[dict[str, Any]], object], value: dict[str, Any], name: str, part: dict[str, Any]
) -> object:
    return parse({**value, name: part})


def incoming(update: Update, bot: Bot) -> Incoming | None:
    """Read an update; None if it is not for the bot."""
    if update.callback_query is not None:
        return _pressed(update, update.callback_query, bot)
    if (stopped := update.api_kwargs.get(STOPPED)) is not None:
        return draft_stopped(update, stopped, bot)
    message = update.message or update.edited_message
    if message is not None and (message.migrate_to_chat_id or message.migrate_from_chat_id):
        return _moved(update, message, bot)
    if message is None or message.from_user is None:
        return None
    edited, direct = update.edited_message is not None, message.chat.type == "private"
    # For an anonymous admin, and for somebody who writes as a channel, `from_user` is a stand-in; for a linked
    # channel's post it is a user that is not a bot. https://core.telegram.org/bots/api#message
    faceless = message.sender_chat is not None
    if message.is_automatic_forward or (edited if faceless else message.from_user.is_bot):
        return None
    others = _of_another(message)
    # Other people's words call no bot into a group, and their changes (a reaction counts as one) are not the person's.
    beside = _is_forward(message) and not direct
    if (others and edited) or (beside and faceless):
        return None
    # Nothing in a forward is the person's own: a comment on it is a separate message. Lists and locations change
    # without a word of the person.
    text = "" if others else words_of(message) if edited else _shown(message)
    command, named = words.parse(text), words.named_in(text)
    if named and named.lower() != (bot.username or "").lower():
        return None
    stripped, mentioned = _without_mention(message, bot, _shown(message) if others else text)
    # In a group, a command that names no bot and is not ours is another bot's.
    ordered = bool(named) or (command is not None and command[0] in {"", *words.BY_WORD})
    if command is None and mentioned and not others:
        command = words.bare(stripped, certain=True)
    # A changed question need not address the bot again; the core knows which messages are questions.
    if not (direct or mentioned or ordered or edited or beside or _replies_to(bot, message)):
        return None
    if not (text or (others and _shown(message)) or _enclosed(message)):
        return None
    where = _Where(
        delivery=str(update.update_id),
        chat=ChatId("telegram", str(bot.id), str(message.chat.id), str(_topic(message) or "")),
        sender=Sender(id="") if faceless else _sender(message.from_user),
        target=_target(message),
        sent_at=message.date.timestamp(),
        message_id=str(message.message_id),
        group=message.chat.type != "private",
    )
    word, argument = command if command is not None else ("", "" if others else stripped)
    if edited:
        # For an album only the part with the caption is reported.
        enclosed = None if message.media_group_id else _enclosed(message, alone=not argument)
        question = None if direct or not mentioned else _sent(message, bot, where, word, argument)
        return MessageEdited(**where, text=argument, command=word, enclosed=enclosed, question=question)
    return _sent(message, bot, where, word, argument)


def _sent(message: Message, bot: Bot, where: _Where, word: str, argument: str) -> MessageSent:
    forwarded = _is_forward(message)
    units = utf16_length(message.text or "")
    return MessageSent(
        **where,
        text=argument,
        command=word,
        quoted=_quoted(message, bot),
        replies_to=_replied(message),
        enclosed=() if _of_another(message) else _enclosed(message, alone=not argument),
        faceless=message.sender_chat is not None,
        # A comment and its forward, the parts of an album and those of a long paste are separate messages.
        unfinished=forwarded or bool(message.media_group_id) or _LONG < units <= MessageLimit.MAX_TEXT_LENGTH,
        severed=units == MessageLimit.MAX_TEXT_LENGTH,
        album=message.media_group_id or "",
        beside=forwarded and message.chat.type != "private",
    )


def _pressed(update: Update, query: CallbackQuery, bot: Bot) -> ControlPressed | None:
    """Read the press of one of our buttons; return None for any other, or if Telegram does not name the chat."""
    message, read = query.message, parse_button(query.data or "")
    if message is None or read is None or query.from_user.is_bot:
        return None
    # For a message that bots can no longer see, Telegram gives only the chat.
    # https://core.telegram.org/bots/api#inaccessiblemessage
    topic = _topic(message) if isinstance(message, Message) else None
    group = message.chat.type != "private"
    place: dict[str, Scalar] = {"chat": message.chat.id, "thread": topic, "reply_to": None, "group": group}
    return ControlPressed(
        delivery=str(update.update_id),
        chat=ChatId("telegram", str(bot.id), str(message.chat.id), str(topic or "")),
        sender=_sender(query.from_user),
        target=ReplyTarget("telegram", {**place, "query": query.id}),
        control=read.control,
        turn=read.turn,
        mark=read.mark,
        message_id=str(message.message_id),
        group=group,
        awaited=True,
    )


def _moved(update: Update, message: Message, bot: Bot) -> ChatMoved:
    """Read that a group became a supergroup, which both chats report.

    https://core.telegram.org/bots/api#message
    """
    former = message.migrate_from_chat_id or message.chat.id
    now = message.migrate_to_chat_id or message.chat.id
    return ChatMoved(
        delivery=str(update.update_id),
        chat=ChatId("telegram", str(bot.id), str(now)),
        sender=Sender(id=""),
        target=ReplyTarget("telegram", {"chat": now}),
        former=ChatId("telegram", str(bot.id), str(former)),
    )


class _Where(TypedDict):
    """The common parts of a new message and an edited one."""

    delivery: str
    chat: ChatId
    sender: Sender
    target: ReplyTarget
    sent_at: float
    message_id: str
    group: bool


def _sender(user: User) -> Sender:
    return Sender(id=f"telegram:{user.id}", name=user.full_name, language=user.language_code or "")


def _topic(message: Message) -> int | None:
    """Return a message's forum topic."""
    return message.message_thread_id if message.is_topic_message else None


def _target(message: Message) -> ReplyTarget:
    """Return where the reply goes; in a group it quotes the message."""
    group = message.chat.type != "private"
    return ReplyTarget(
        "telegram",
        {
            "chat": message.chat.id,
            "thread": _topic(message),
            "reply_to": message.message_id if group else None,
            "group": group,
        },
    )


def _replies_to(bot: Bot, message: Message) -> bool:
    """Return True for a reply to the bot; each message of a topic "replies" to the topic's creation, perhaps by it."""
    replied = message.reply_to_message
    if replied is None or replied.forum_topic_created is not None:
        return False
    return replied.from_user is not None and replied.from_user.id == bot.id


def _shown(message: Message) -> str:
    """Return everything that a person sees of a message except its attachments."""
    return words_of(message) or things_in(message)


def _is_forward(message: Message) -> bool:
    # Servers from before Bot API 7.0 give no origin, but the message's date.
    return message.forward_origin is not None or "forward_date" in message.api_kwargs


def _of_another(message: Message) -> bool:
    """Return True if nothing in a message is the sender's: a forward, or an inline bot's message."""
    return _is_forward(message) or message.via_bot is not None


def _without_mention(message: Message, bot: Bot, text: str) -> tuple[str, bool]:
    """Remove mentions of the bot, found by entity and not by substring, and return whether there were any.

    A mention from an East Asian keyboard, `＠our_bot`, has no entity, and can be nothing else.
    """
    rest, mentioned = said_to(message, bot)
    if not mentioned:
        rest = text
    rest, wide = _wide_name(bot.username or "").subn("", rest) if "＠" in rest and bot.username else (rest, 0)
    return rest.strip(), mentioned or wide > 0


@cache
def _wide_name(name: str) -> re.Pattern[str]:
    """Return the pattern for a mention of a name of letters, digits and `_` with a wide `＠`, itself wide or not."""
    either = "".join(f"[{sign}{chr(ord(sign) + 0xFEE0)}]" for sign in name)
    return re.compile(rf"＠{either}(?!\w)", re.IGNORECASE)


def _enclosed(message: Message | ExternalReplyInfo, *, alone: bool = False) -> tuple[Enclosure, ...]:
    """Return the attachment of a message: Telegram allows one.

    Args:
        alone: the message has no text.
    """
    for field, kind in _KINDS.items():
        if (held := getattr(message, field, None)) and not (field == "sticker" and held.emoji):
            name, media_type = getattr(held, "file_name", None), getattr(held, "mime_type", None)
            # A photo comes in several sizes, the largest last.
            file = held[-1] if isinstance(held, tuple) and field == "photo" else held
            size, source = getattr(file, "file_size", None), getattr(file, "file_id", None)
            if field == "document" and (sent := _file(name, media_type, size, source, alone)).kind in AUDIBLE:
                return (sent,)
            # As Telegram gives it; the attribute warns that its type will change.
            told = file.to_dict().get("duration") if kind in AUDIBLE and isinstance(file, TelegramObject) else None
            return (
                Enclosure(
                    kind=kind,
                    name=name or "",
                    media_type=media_type or "",
                    size=size or 0,
                    source=source or "",
                    seconds=float(told) if isinstance(told, int | float) and told > 0 else 0.0,
                ),
            )
    return ()


def _file(name: str | None, media_type: str | None, size: int | None, source: str | None, alone: bool) -> Enclosure:
    return Enclosure.file(name or "", media_type or "", size or 0, source or "", alone=alone)


def _quoted(message: Message, bot: Bot) -> Quoted | None:
    """Return what was forwarded or made by an inline bot, or the message replied to."""
    if _of_another(message):
        quoted = Quoted(text=_shown(message), forwarded=True, enclosed=_enclosed(message))
        return _by_author(message, bot, quoted)
    replied, quote = message.reply_to_message, message.quote
    part = written_in(quote.text, quote.entities or ())[0][:LONGEST_TEXT] if quote is not None else ""
    if replied is None and message.external_reply is not None:
        enclosed = _enclosed(message.external_reply)
        quoted = Quoted(text=part or things_in(message.external_reply), enclosed=enclosed)
        return _by_origin(message.external_reply.origin, bot, quoted) if quoted.text or enclosed else None
    if replied is None or replied.forum_topic_created is not None:
        return None
    return _by_author(
        replied,
        bot,
        Quoted(text=part or _shown(replied), message_id=str(replied.message_id), enclosed=_enclosed(replied)),
    )


def _replied(message: Message) -> str:
    """Return the id of the message that it replies to; empty for another person's words, and for a mere topic
    message."""
    replied = message.reply_to_message
    return "" if _of_another(message) or replied is None or replied.forum_topic_created else str(replied.message_id)


def _by_author(message: Message, bot: Bot, quoted: Quoted) -> Quoted:
    """Return `quoted` with the author of `message`, who may not be its sender."""
    if _is_forward(message):
        return _by_origin(message.forward_origin, bot, quoted)
    return _by(message.via_bot or message.sender_chat or message.from_user, bot, quoted)


def _by_origin(origin: MessageOrigin | None, bot: Bot, quoted: Quoted) -> Quoted:
    match origin:
        case MessageOriginUser(sender_user=user):
            return _by(user, bot, quoted)
        case MessageOriginHiddenUser(sender_user_name=name):
            return replace(quoted, author=name)
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return _by(chat, bot, quoted)
    return quoted


def _by(author: User | Chat | None, bot: Bot, quoted: Quoted) -> Quoted:
    if author is None:
        return quoted
    name = author.title if isinstance(author, Chat) else author.full_name
    return replace(quoted, author=name or "", from_bot=author.id == bot.id)
