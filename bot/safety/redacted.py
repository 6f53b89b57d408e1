"""Secrets taken out of what is kept and told: messages that come in, what models write, what tools bring.

Done once, where each enters the core, so that no row, no model and no tool ever holds one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final, TypeAlias, cast

from bot.contract import AssistantEntry, Enclosure, Incoming, MessageEdited, MessageSent, Quoted
from bot.safety.characters import clean_name
from tools.base import Json, ToolCall, ToolResult

Redact: TypeAlias = Callable[[str], str]
"""Replaces the secrets in a text."""

MOST_ENCLOSED: Final = 50
"""Files and the like that are kept of one message; platforms let people send ten or twenty."""
LONGEST_NAME: Final = 255
"""Characters that are kept of a file's name: no file system has longer ones."""


def redact_nothing(text: str) -> str:
    """The `Redact` of a program without secrets."""
    return text


def redact_message(incoming: Incoming, redact: Redact) -> Incoming:
    """What a person wrote, quoted, and is called."""
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
            return dataclasses.replace(incoming, sender=sender, text=redact(incoming.text))
        case _:
            return dataclasses.replace(incoming, sender=sender)


def redact_quote(quoted: Quoted, redact: Redact) -> Quoted:
    """Other people's words that come with a message, and their files."""
    enclosed = _redact_enclosed(quoted.enclosed, redact)
    return dataclasses.replace(quoted, text=redact(quoted.text), author=redact(quoted.author), enclosed=enclosed)


def _redact_enclosed(enclosed: tuple[Enclosure, ...], redact: Redact) -> tuple[Enclosure, ...]:
    """What came with a message, its names in one line each and without what cannot be seen."""
    return tuple(
        dataclasses.replace(
            one,
            name=clean_name(redact(one.name[: 4 * LONGEST_NAME]))[:LONGEST_NAME],
            media_type=clean_name(redact(one.media_type[:LONGEST_NAME])),
        )
        for one in enclosed[:MOST_ENCLOSED]
    )


def redact_entry(entry: AssistantEntry, redact: Redact) -> AssistantEntry:
    """What a model wrote in one pass, the arguments of its calls and the provider's own message included."""
    return dataclasses.replace(
        entry,
        text=redact(entry.text),
        calls=tuple(redact_call(call, redact) for call in entry.calls),
        written=redact(entry.written),
        reasoning=redact(entry.reasoning),
        raw=cast("dict[str, Json]", _value(dict(entry.raw), redact)),
    )


def redact_call(call: ToolCall, redact: Redact) -> ToolCall:
    """A call as it is made: no tool is handed a secret that it did not get from the operator."""
    arguments = cast("dict[str, Json]", _value(dict(call.arguments), redact))
    return dataclasses.replace(call, arguments=arguments, problem=redact(call.problem))


def redact_result(result: ToolResult, redact: Redact) -> ToolResult:
    """What a tool brings: its text, the titles and addresses of its sources, the names of its files."""
    return dataclasses.replace(
        result,
        text=redact(result.text),
        sources=tuple(dataclasses.replace(one, title=redact(one.title), url=redact(one.url)) for one in result.sources),
        files=tuple(dataclasses.replace(one, name=redact(one.name)) for one in result.files),
    )


def _value(value: Json, redact: Redact) -> Json:
    match value:
        case str():
            return redact(value)
        case list():
            return [_value(one, redact) for one in value]
        case dict():
            return {redact(name): _value(one, redact) for name, one in value.items()}
        case _:
            return value
