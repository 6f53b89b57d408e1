"""What came with a message beside its text, as the person and the model are told of it while nothing of it is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from bot.contract import Enclosure, MessageSent
from bot.safety.characters import clean_name
from bot.safety.untrusted import defuse
from bot.sentences import say

MOST_NAMED = 3
"""Names of one kind of file that the person reads."""
MOST_LISTED = 20
"""Files that the model is told of."""
_NAME_CHARS = 80


def enclosed_in(question: MessageSent) -> tuple[Enclosure, ...]:
    """Everything that came with a message, and with the message that it quotes."""
    return question.enclosed + (question.quoted.enclosed if question.quoted is not None else ())


def alone(question: MessageSent) -> bool:
    """Whether a message says nothing but what came with it, so that there is nothing to ask a model."""
    if question.command or question.text.strip():
        return False
    quoted = question.quoted
    return bool(question.enclosed) or (quoted is not None and bool(quoted.enclosed) and not quoted.text.strip())


def unread(question: MessageSent, language: str) -> str:
    """The sentence that is the whole answer where a message holds nothing that can be read; else empty."""
    return say("unread", language, what=_listed(enclosed_in(question), language)) if alone(question) else ""


def left_aside(question: MessageSent, language: str) -> str:
    """The sentence that stands before an answer which cannot go into what came with the question; else empty."""
    enclosed = enclosed_in(question)
    return say("unread_beside", language, what=_listed(enclosed, language)) if enclosed and not alone(question) else ""


def describe_enclosed(question: MessageSent) -> str:
    """What came with a message, as data for the model; empty where nothing did."""
    quoted = question.quoted.enclosed if question.quoted is not None else ()
    parts = [
        *_as_data("Sent with this message", question.enclosed),
        *_as_data("Sent with the message above that it quotes", quoted),
    ]
    return "\n".join(parts)


def _as_data(how: str, enclosed: Sequence[Enclosure]) -> list[str]:
    if not enclosed:
        return []
    lines = [f"> {_in_words(one)}" for one in enclosed[:MOST_LISTED]]
    if len(enclosed) > MOST_LISTED:
        lines.append(f"> and {len(enclosed) - MOST_LISTED} more")
    return [f"({how}; you cannot see what is in it, and the person has been told so:)", *lines]


def _in_words(one: Enclosure) -> str:
    facts = [
        f'"{_name(one)}"' if one.name else "",
        defuse(clean_name(one.media_type)[:_NAME_CHARS]),
        f"{one.size:,} bytes" if one.size else "",
    ]
    return ", ".join(fact for fact in (one.kind.replace("_", " "), *facts) if fact)


def _listed(enclosed: Iterable[Enclosure], language: str) -> str:
    """`2 files (`a.pdf`, `b.pdf`), a picture`, as Markdown."""
    order = {one.kind: None for one in enclosed}
    kinds = list(order)
    found = []
    for kind, group in groupby(sorted(enclosed, key=lambda one: kinds.index(one.kind)), key=lambda one: one.kind):
        of_kind = list(group)
        number = "one" if len(of_kind) == 1 else "more"
        words = say(f"{number}_{kind}", language, count=len(of_kind))
        # As code a name is no link, whatever it looks like.
        names = [f"`{_name(one).replace('`', chr(39))}`" for one in of_kind if one.name]
        if names:
            more = [] if len(names) <= MOST_NAMED else ["…"]
            words = say("kind_named", language, kind=words, names=", ".join(names[:MOST_NAMED] + more))
        found.append(words)
    return say("and", language).join(found)


def _name(one: Enclosure) -> str:
    name = clean_name(one.name)
    return defuse(name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…")
