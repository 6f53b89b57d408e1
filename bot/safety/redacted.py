"""Redact secrets in incoming messages, model output and tool results, and make their texts plain.

Done once, where each enters the core, so that no row, no model and no tool ever holds a secret or half a character; see
`tools.contract.plaintext`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeAlias, cast

from bot.contract import AssistantEntry, Enclosure, EnclosureKind, Incoming, MessageEdited, MessageSent, Quoted
from bot.safety.characters import clean_name
from tools.contract.base import Json, ToolCall, ToolResult
from tools.contract.json_values import map_texts
from tools.contract.plaintext import to_plain

Redact: TypeAlias = Callable[[str], str]
"""Replaces the secrets in a text, and makes it plain."""

MOST_ENCLOSED: Final = 50
"""Attachments kept of one message; platforms let people send ten or twenty."""
LONGEST_NAME: Final = 255
"""Characters kept of a file name; no file system allows longer ones."""


def redact_nothing(text: str) -> str:
    """Make `text` plain and no more: the `Redact` of a program without secrets."""
    return to_plain(text)


def redact_message(incoming: Incoming, redact: Redact) -> Incoming:
    """Redact the text, the quote, the attachments and the sender's name of an incoming event."""
    sender = dataclasses.replace(incoming.sender, name=redact(incoming.sender.name))
    match incoming:
        case MessageSent():
            return dataclasses.replace(
                incoming,
                sender=sender,
                text=redact(incoming.text),
                quoted=incoming.quoted and redact_quote(incoming.quoted, redact),
                enclosed=_redact_enclosed(incoming.enclosed, redact),
            )
        case MessageEdited():
            enclosed = None if incoming.enclosed is None else _redact_enclosed(incoming.enclosed, redact)
            return dataclasses.replace(incoming, sender=sender, text=redact(incoming.text), enclosed=enclosed)
        case _:
            return dataclasses.replace(incoming, sender=sender)


def redact_quote(quoted: Quoted, redact: Redact) -> Quoted:
    """Redact a quoted message and its attachments."""
    return dataclasses.replace(
        quoted,
        text=redact(quoted.text),
        author=redact(quoted.author),
        enclosed=_redact_enclosed(quoted.enclosed, redact),
        more=tuple(redact_quote(one, redact) for one in quoted.more),
    )


def _redact_enclosed(enclosed: tuple[Enclosure, ...], redact: Redact) -> tuple[Enclosure, ...]:
    """Redact the names of attachments, each on one line and without invisible characters; of too many the rest is only
    counted."""
    rest = Counter[EnclosureKind]()
    for one in enclosed[MOST_ENCLOSED:]:
        rest[one.kind] += one.count
    named = tuple(
        dataclasses.replace(
            one,
            name=clean_name(redact(one.name[: 4 * LONGEST_NAME]))[:LONGEST_NAME],
            media_type=clean_name(redact(one.media_type[:LONGEST_NAME])),
        )
        for one in enclosed[:MOST_ENCLOSED]
    )
    return named + tuple(Enclosure(kind=kind, count=count) for kind, count in rest.items())


def redact_entry(entry: AssistantEntry, redact: Redact) -> AssistantEntry:
    """Redact what a model wrote in one pass, including call arguments and the provider's raw message."""
    return dataclasses.replace(
        entry,
        text=redact(entry.text),
        calls=tuple(redact_call(call, redact) for call in entry.calls),
        written=redact(entry.written),
        reasoning=redact(entry.reasoning),
        raw=cast("dict[str, Json]", _value(dict(entry.raw), redact)),
    )


def redact_call(call: ToolCall, redact: Redact) -> ToolCall:
    """Redact the arguments of a call: a tool gets no secret but those the operator configured for it."""
    arguments = cast("dict[str, Json]", _value(dict(call.arguments), redact))
    return dataclasses.replace(call, arguments=arguments, problem=redact(call.problem))


def redact_result(result: ToolResult, redact: Redact) -> ToolResult:
    """Redact a tool result: its text, the titles and URLs of its sources, the names of its files."""
    return dataclasses.replace(
        result,
        text=redact(result.text),
        sources=tuple(dataclasses.replace(one, title=redact(one.title), url=redact(one.url)) for one in result.sources),
        files=tuple(dataclasses.replace(one, name=redact(one.name)) for one in result.files),
    )


def _value(value: Json, redact: Redact) -> Json:
    # Nearly none holds a secret, and to ask that of all its texts at once is much cheaper.
    told = "\n".join(_texts_in(value))
    return value if redact(told) == told else map_texts(value, redact)


def _texts_in(value: Json) -> list[str]:
    """Return every text in a JSON value, names included."""
    texts, left = list[str](), [value]
    while left:
        match left.pop():
            case str() as text:
                texts.append(text)
            case list() as items:
                left += items
            case dict() as fields:
                texts += fields
                left += fields.values()
    return texts
