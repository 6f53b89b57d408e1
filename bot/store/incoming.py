"""Convert every kind of `Incoming` to JSON and back, so that a later process can read the inbox."""

from __future__ import annotations

import dataclasses
from typing import Any

from bot.contract import (
    ChatId,
    Control,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    Incoming,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    Quoted,
    ReplyTarget,
    Sender,
    TimerDue,
)
from bot.store.text import to_json
from tools.contract.plaintext import read_stored, to_plain

_KINDS: dict[str, type[Incoming]] = {
    "message": MessageSent,
    "edited": MessageEdited,
    "deleted": MessageDeleted,
    "control": ControlPressed,
    "timer": TimerDue,
}
_ANSWERING = frozenset({Control.REGENERATE, Control.CONTINUE, Control.SPEAK, Control.ALLOW, Control.DENY})
"""The buttons that bring another answer to the question."""
_NAMES = {kind: name for name, kind in _KINDS.items()}


def incoming_to_json(incoming: Incoming) -> str:
    """Convert to JSON; fields with their default value are left out."""
    value: dict[str, Any] = {"kind": _NAMES[type(incoming)]}
    for field in dataclasses.fields(incoming):
        held = getattr(incoming, field.name)
        if held == field.default:
            continue
        match held:
            case ChatId():
                value[field.name] = [held.platform, held.account, held.chat, held.thread]
            case Sender() | Quoted():
                value[field.name] = dataclasses.asdict(held)
            case ReplyTarget():
                value[field.name] = {"platform": held.platform, "data": dict(held.data)}
            case tuple():
                value[field.name] = [dataclasses.asdict(one) if isinstance(one, Enclosure) else one for one in held]
            case _:
                value[field.name] = held
    return to_json(value)


def columns_of(incoming: Incoming) -> tuple[str | int | None, ...]:
    """Return a delivery in the inbox's columns: `incoming`, and the columns for queries: `message`, `sender`, `name`,
    `command`, `grouped`, `replies_to`, `replaces`, `pressed`."""
    return (
        incoming_to_json(incoming),
        # It identifies the message in a later change.
        (to_plain(incoming.message_id) or None) if isinstance(incoming, MessageSent) else None,
        to_plain(incoming.sender.id),
        to_plain(incoming.sender.name),
        to_plain(getattr(incoming, "command", "")),
        int(incoming.group),
        to_plain(getattr(incoming, "replies_to", "")),
        getattr(incoming, "replaces", 0),
        incoming.turn if isinstance(incoming, ControlPressed) and incoming.control in _ANSWERING else 0,
    )


def sender_of(value: dict[str, Any]) -> Sender:
    """Read a `Sender` from JSON.

    Raises:
        TypeError: it was written by a later version of the program.
    """
    return Sender(**{**value, "groups": tuple(value.get("groups", ()))})


def _enclosed(value: dict[str, Any]) -> tuple[Enclosure, ...]:
    return tuple(Enclosure(**{**one, "kind": EnclosureKind(one["kind"])}) for one in value.get("enclosed", ()))


def _quoted(value: dict[str, Any]) -> Quoted:
    more = tuple(map(_quoted, value.get("more", ())))
    return Quoted(**{**value, "enclosed": _enclosed(value), "more": more})


def incoming_from_json(text: str) -> Incoming:
    """Read what `incoming_to_json` wrote.

    Raises:
        ValueError: it is not such a text, or was written by a later version of the program.
    """
    try:
        value: dict[str, Any] = read_stored(text)
        kind = _KINDS[value.pop("kind")]
        value["chat"] = ChatId(*value["chat"])
        value["sender"] = sender_of(value["sender"])
        value["target"] = ReplyTarget(value["target"]["platform"], value["target"]["data"])
        if value.get("quoted") is not None:
            value["quoted"] = _quoted(value["quoted"])
        if "enclosed" in value:
            value["enclosed"] = _enclosed(value)
        if "control" in value:
            value["control"] = Control(value["control"])
        if "also" in value:
            value["also"] = tuple(value["also"])
        return kind(**value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no stored message: {text[:40]!r}…") from error
