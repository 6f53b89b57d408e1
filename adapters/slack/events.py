"""Read Slack's events and commands: pure functions from a payload to an `Incoming`.

See https://docs.slack.dev/reference/events/app_mention, …/message.im and /interactivity/implementing-slash-commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from adapters.slack.files import enclosed_in
from adapters.slack.limits import RESPONSE_SECONDS
from adapters.slack.reading import Json, Names, readable, shared_text, shown_text, written_text
from bot.contract import (
    ChatId,
    Control,
    ControlPressed,
    Enclosure,
    Incoming,
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

Senders: TypeAlias = Callable[[Json], Sender]
"""Returns the person who wrote a message."""

_PEOPLES: Final = frozenset({"", "file_share", "me_message", "thread_broadcast"})
"""Subtypes of people's messages; every other one is a notice of the service, a bot, or a change."""
_UNKNOWN_TEAM: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's identity, from `auth.test`."""

    team: str
    user: str
    bot: str = ""
    agent: bool = False  # as declared: Slack shows each of its direct messages as a thread


def incoming(
    payload: Json, me: Me, names: Names, inside: Collection[str] = (), *, now: float, follow: bool = False
) -> Incoming | None:
    """Read a payload; None if it is not for the bot.

    Args:
        now: in seconds since the epoch; a command has no timestamp.
        follow: a message in a thread can be for the bot without a mention.
        inside: channels the bot is known to be in; elsewhere a command's target may not last.
    """
    if "command" in payload:
        return _command(payload, me, names, inside, now)
    if payload.get("type") == "block_actions":
        return _pressed(payload, me, names, now)
    event = payload.get("event")
    if payload.get("type") != "event_callback" or not isinstance(event, Mapping):
        return None
    # A delivery without an id is identified by its place and time; with an empty id, all of them would be the same.
    delivery = str(payload.get("event_id") or f"{event.get('channel')}:{event.get('ts')}")
    sender = partial(_sender, me=me, names=names, shared=bool(payload.get("is_ext_shared_channel")))
    match event.get("type"), event.get("subtype"):
        case "message", "message_changed":
            return _changed(event, delivery, me, names, sender)
        case "message", "message_deleted":
            return _deleted(event, event.get("previous_message") or {}, delivery, me, sender)
        case "agent_session_stopped", _:
            return _stopped(event, delivery, me, sender)
        case "app_mention" | "message", _:
            return _sent(event, delivery, me, names, sender, follow)
    return None


def _sent(event: Json, delivery: str, me: Me, names: Names, sender: Senders, follow: bool) -> MessageSent | None:
    if not _of_a_person(event, me):
        return None
    addressed = _addressed(event, event, me)
    if not addressed and not (follow and _follows(event)):
        return None
    text = readable(written_text(event), me.user, names)
    quoted, enclosed = _quoted(event, me, names), enclosed_in(event, alone=not text)
    if not text and not enclosed and quoted is None and not _mentions(event, me):
        return None
    direct = _direct(event)
    word, argument = _command_in(text, event, me)
    # At the root of a channel every message begins a thread, which a command cannot be about, unless it is a question.
    whole = word not in ("", words.JOB) and not direct and not event.get("thread_ts")
    chat = _chat(event, event, me)
    return MessageSent(
        delivery=delivery,
        # With `message.channels` subscribed, a mention comes twice: two event ids, one channel and ts.
        also=(f"{event.get('channel')}:{event.get('ts')}",),
        chat=chat.place if whole else chat,
        sender=sender(event),
        target=_target(event, event, me),
        sent_at=seconds_of(event.get("ts")),
        text=argument,
        command=word,
        message_id=str(event.get("ts", "")),
        group=not direct,
        follow_up=not addressed,
        whole_channel=whole,
        quoted=quoted,
        enclosed=enclosed,
    )


def _command_in(text: str, message: Json, me: Me) -> tuple[str, str]:
    """Return a message's command and its argument; otherwise an empty word and the text."""
    # After a mention the words are for the bot, so a word that is also a question is a command.
    command = words.bare(text, certain=text.startswith("/") or _mentions(message, me))
    return command if command is not None else ("", text)


def _changed(
    event: Json, delivery: str, me: Me, names: Names, sender: Senders
) -> MessageEdited | MessageDeleted | None:
    """Read a person's edit; return None for previews, replies and the bot's own edits, which Slack reports as changes,
    too."""
    message, before = event.get("message") or {}, event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":
        # Slack keeps the deleted root of a thread as a tombstone and reports a change.
        return _deleted(event, before, delivery, me, sender)
    if not _of_a_person(message, me) or _as_read(message) == _as_read(before):
        return None
    # A changed question need not address the bot again; the core knows which messages are questions.
    text = readable(written_text(message), me.user, names)
    word, argument = _command_in(text, message, me)
    return MessageEdited(
        delivery=delivery,
        chat=_chat(event, message, me),
        sender=sender(message),
        target=_target(event, message, me),
        sent_at=seconds_of(event.get("ts")),
        group=not _direct(event),
        message_id=str(message.get("ts", "")),
        text=argument,
        command=word,
        enclosed=enclosed_in(message, alone=not text),
    )


def _as_read(message: Json) -> tuple[str, tuple[Enclosure, ...]]:
    return written_text(message), enclosed_in(message)


def _deleted(event: Json, before: Json, delivery: str, me: Me, sender: Senders) -> MessageDeleted | None:
    if not _of_a_person(before, me):
        return None
    return MessageDeleted(
        delivery=delivery,
        chat=_chat(event, before, me),
        sender=sender(before),
        target=_target(event, before, me),
        sent_at=seconds_of(event.get("ts")),
        message_id=str(before.get("ts", "")),
    )


def _command(payload: Json, me: Me, names: Names, inside: Collection[str], now: float) -> MessageSent:
    """Read `/parley …`: a command, or a question that nobody else sees."""
    channel, user = str(payload.get("channel_id", "")), str(payload.get("user_id", ""))
    text = readable(written_text(payload), me.user, names)
    command = words.bare(f"/{text.removeprefix('/')}", certain=True) if text else ("help", "")
    # `/parley ask Carol` does not ask to leave out the word.
    word, argument = command if command is not None and (command[0] or text.startswith("/")) else ("", text)
    url, asked = payload.get("response_url", ""), f"{now - 120:.6f}"
    data = response_data(me, channel, "", user, asked, url, now + RESPONSE_SECONDS)
    if channel not in inside:
        data["lasts"] = False
    who = {"id": user, "name": payload.get("user_name"), "team_id": payload.get("team_id")}
    return MessageSent(
        delivery=str(payload.get("trigger_id") or payload.get("response_url") or f"{channel}:{user}:{now}"),
        chat=ChatId("slack", me.team, channel),
        sender=actor(who, me, names),
        target=ReplyTarget("slack", data),
        sent_at=now,
        text=argument,
        command=word,
        group=not channel.startswith("D"),
        whole_channel=True,
        quote_question=not word,
    )


def response_data(
    me: Me, channel: str, thread: str, user: str, asked: str, url: object, until: float
) -> dict[str, Scalar]:
    """Describe the target of a reply that may use a `response_url`."""
    place: dict[str, Scalar] = {"team": me.team, "channel": channel, "thread": thread, "user": user, "asked": asked}
    return {**place, "response_url": str(url), "until": until}


def _pressed(payload: Json, me: Me, names: Names, now: float) -> ControlPressed | None:
    """Read a press of one of our buttons; return None for any other.

    https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
    """
    actions, place, user = payload.get("actions") or [{}], payload.get("container") or {}, payload.get("user") or {}
    read = parse_button(str(actions[0].get("action_id")))
    channel = str(place.get("channel_id") or "")
    if read is None or not channel or not user.get("id"):
        return None
    id, message = str(user["id"]), payload.get("message") or {}
    thread = str(place.get("thread_ts") or message.get("thread_ts") or "")
    url, asked = payload.get("response_url", ""), str(place.get("message_ts") or "")
    data = response_data(me, channel, thread, id, asked, url, now + RESPONSE_SECONDS)
    data |= {"pressed": True, "ephemeral": bool(place.get("is_ephemeral"))}
    return ControlPressed(
        delivery=str(payload.get("trigger_id") or payload.get("response_url")),
        chat=ChatId("slack", me.team, channel, thread),
        sender=actor(user, me, names),
        target=ReplyTarget("slack", data),
        sent_at=now,
        control=read.control,
        turn=read.turn,
        mark=read.mark,
        message_id=str(place.get("message_ts") or ""),
        group=not channel.startswith("D"),
    )


def _stopped(event: Json, delivery: str, me: Me, sender: Senders) -> ControlPressed | None:
    """Read a press of Slack's own Stop, which names a thread and no reply; return None if it names nobody.

    https://docs.slack.dev/reference/events/agent_session_stopped
    """
    if not event.get("user") or not event.get("channel"):
        return None
    place = {"ts": event.get("event_ts"), "thread_ts": event.get("thread_ts"), "user": event["user"]}
    target = _target(event, place, me)
    return ControlPressed(
        delivery=delivery,
        chat=_chat(event, place, me),
        sender=sender(place),
        # The thread may contain no answer yet, and then shows nothing privately.
        target=replace(target, data={**target.data, "asked": target.data["thread"]}),
        sent_at=seconds_of(event.get("event_ts")),
        control=Control.STOP,
        turn=0,
        group=not _direct(event),
    )


def people_in(payload: Json) -> set[str]:
    """Return the ids of all people in a payload, so that their names can be looked up."""
    event = payload.get("event")
    place = event if isinstance(event, Mapping) else payload
    return people_named(place) | ({str(place["user_id"])} if place.get("user_id") else set())


def people_named(message: Json) -> set[str]:
    """Return the ids of a message's writer and of everybody it mentions."""
    user = message.get("user") or ""
    # A person's action on a message or a form names them as an object.
    ids = {str(user.get("id") if isinstance(user, Mapping) else user)}
    ids.update(re.findall(r"<@([UW]\w+)", shown_text(message)))
    return ids - {""}


def _of_a_person(message: Json, me: Me) -> bool:
    return (
        bool(message.get("user"))
        and message.get("user") not in (me.user, "USLACKBOT")
        and not message.get("bot_id")
        and str(message.get("subtype") or "") in _PEOPLES
    )


def _addressed(event: Json, message: Json, me: Me) -> bool:
    return _direct(event) or event.get("type") == "app_mention" or _mentions(message, me)


def _follows(event: Json) -> bool:
    """Return True for a thread message that addresses nobody by name."""
    in_thread = str(event.get("thread_ts") or "") not in ("", str(event.get("ts") or ""))
    return in_thread and re.search(r"<@[UW]", written_text(event)) is None


def _mentions(message: Json, me: Me) -> bool:
    return re.search(rf"<@{re.escape(me.user)}(?:\||>)", written_text(message)) is not None


def _direct(event: Json) -> bool:
    return event.get("channel_type") == "im" or str(event.get("channel", "")).startswith("D")


def _thread(event: Json, message: Json, me: Me) -> str:
    """Return the thread whose history the message belongs to, and which gets the reply.

    In a channel every mention has one, begun by the reply if necessary. Direct messages share one history, except with
    an agent; only messages inside a thread there are separate. Slack gives the root of a thread its own ts as
    `thread_ts`.
    """
    ts, thread = str(message.get("ts") or ""), str(message.get("thread_ts") or "")
    if _direct(event) and not me.agent:
        return thread if thread != ts else ""
    return thread or ts


def _chat(event: Json, message: Json, me: Me) -> ChatId:
    return ChatId("slack", me.team, str(event.get("channel", "")), _thread(event, message, me))


def _target(event: Json, message: Json, me: Me) -> ReplyTarget:
    return ReplyTarget(
        "slack",
        {
            "team": me.team,
            "channel": str(event.get("channel", "")),
            "thread": _thread(event, message, me),
            "user": str(message.get("user", "")),
            "asked": str(message.get("ts", "")),
        },
    )


def _sender(message: Json, me: Me, names: Names, shared: bool) -> Sender:
    """Return the sender of a message.

    Args:
        shared: other organisations write in this channel, too, so nobody counts as ours unless Slack says so.
    """
    user, profile = str(message.get("user", "")), message.get("user_profile") or {}
    # `team` alone is the sender's if the app is installed on the sender's side of a shared channel.
    team = message.get("user_team") or profile.get("team") or message.get("team") or ("" if shared else me.team)
    told = str(profile.get("display_name") or profile.get("real_name") or "")
    return _of_team(str(team), user, told or names(user), me)


def actor(user: Json, me: Me, names: Names) -> Sender:
    """Return who used a command, a button or a form, by the id, name and workspace that its payload has."""
    id = str(user.get("id") or "")
    known = names(id)
    return _of_team(str(user.get("team_id") or ""), id, known if known != id else str(user.get("name") or id), me)


def _of_team(team: str, user: str, name: str, me: Me) -> Sender:
    """Return a person of a workspace; in an unknown workspace ("") with an id that is on no list."""
    groups = (f"slack:{team}",) if team else ()
    return Sender(id=f"slack:{team or _UNKNOWN_TEAM}/{user}", name=name, groups=groups, guest=team != me.team)


def _quoted(event: Json, me: Me, names: Names) -> Quoted | None:
    """Return a message that was forwarded to the bot or linked in the question."""
    for shared in event.get("attachments") or ():
        if shared.get("is_share") or shared.get("is_msg_unfurl"):
            author, enclosed = str(shared.get("author_id") or ""), enclosed_in(shared)
            return Quoted(
                text=readable(shared_text(shared), me.user, names),
                author=str(shared.get("author_name") or author),
                from_bot=author == me.user,
                message_id=str(shared.get("ts") or ""),
                forwarded=bool(shared.get("is_share")),
                enclosed=enclosed,
            )
    return None


def seconds_of(ts: object) -> float:
    """Return when a message was sent, by its `ts`; 0 if malformed."""
    try:
        return float(str(ts))
    except ValueError:
        return 0.0
