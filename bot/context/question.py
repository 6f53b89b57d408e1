"""Turn a person's message into the question for the model and into the quote in a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bot.contract import MOST_QUOTED, OURS, OUTSIDE, MessageSent, Picture, Quoted, UserEntry, as_written, join_origins
from bot.safety import attribute, clean_name, clean_untrusted, defuse, describe_enclosed, spoken_words, told_by_others
from bot.sentences import how_long

_LATE = "(Written {wait} before you could answer it. The answer says so already; `tomorrow` counts from then.)"
_COLON = re.compile("[:：﹕︓︰˸∶ꓽ]")


def subject_of(question: MessageSent) -> str:
    """Return the text a message is about: the person's words, or the quoted words if there are none."""
    if question.text.strip() or question.quoted is None:
        return question.text
    return question.quoted.text[:MOST_QUOTED]


def question_text(question: MessageSent) -> str:
    """Return a message as the model reads it: with earlier messages, the quote and the files; in groups with its
    sender."""
    parts = [*_write_before(question), _attribute(question), describe_enclosed(question)]
    return "\n\n".join(part for part in parts if part).rstrip()


def user_entry(question: MessageSent, quoted_origin: str = OUTSIDE, pictures: tuple[Picture, ...] = ()) -> UserEntry:
    """Build the history entry of a message, with the origin of its words.

    Args:
        quoted_origin: whose words a quoted message of the bot's own holds, where that is known.
        pictures: those of its pictures that the model sees: anybody may have written text into them.
    """
    text = question_text(question)
    others = [*question.earlier, *(one for one in question.quotes if one.text.strip())]
    # An address in the bot's own words may be made up by a model, so text beside them vouches for no address either.
    begins = len("\n\n".join(_write_before(question))) if any(one.from_bot for one in others) else 0
    # Who sends a file has seldom named it, and a name can be an order.
    if question.earlier or told_by_others(question) or pictures or any(not one.from_bot for one in others):
        return UserEntry(text, OUTSIDE, begins, pictures)
    return UserEntry(text, join_origins((question.sender.id, quoted_origin if others else OURS)), begins)


def with_spoken(question: MessageSent) -> MessageSent:
    """Return the message with what its person said in it behind what they wrote."""
    return replace(question, text="\n\n".join([question.text, *spoken_words(question)]).strip())


def _attribute(question: MessageSent) -> str:
    """Return the message without its quote; in groups with its writer's name before it."""
    text = as_written(question)
    if not question.group:
        return text
    return attribute(_speaker(question.sender.name, question.sender.id), defuse(clean_untrusted(text)))


def _write_before(question: MessageSent) -> list[str]:
    """Return what precedes the person's words: earlier messages of others, then the quoted message."""
    parts = []
    if question.waited:
        parts.append(_LATE.format(wait=how_long(question.waited, "en")))
    if question.before_change:
        parts.append(changed_text(question.before_change))
    if question.earlier:
        parts.append(earlier_text(question.earlier, question.left_out))
    return parts + [_quoted(one) for one in question.quotes if one.text.strip()]


def changed_text(before: str) -> str:
    """Return what tells the model that a question was changed after others had been answered, or calls been made."""
    cut = "…" if len(before) > MOST_QUOTED else ""
    lines = defuse(clean_untrusted(before[:MOST_QUOTED]) + cut).splitlines()
    said = "\n".join(f"> {line}" for line in lines)
    return f"(The person has changed an earlier message, and its answer is taken back. It read before:)\n{said}\n(Now:)"


def earlier_text(earlier: Sequence[Quoted], left_out: int = 0) -> str:
    """Return other people's messages from before a question, as text for the model."""
    lines = ["(Written here before, and not to you; the words of others, for context:)"]
    if left_out:
        lines.append(f"> [… {left_out} more messages are left out]")
    for one in earlier:
        cut = "…" if len(one.text) > MOST_QUOTED else ""
        text = defuse(clean_untrusted(one.text[:MOST_QUOTED]) + cut)
        said = attribute("(you)" if one.from_bot else _speaker(one.author, "somebody"), text)
        lines += [f"> {line}" for line in said.splitlines()]
    return "\n".join(lines)


def _speaker(name: str, id: str) -> str:
    """Who is said to speak: a name that ends early would be somebody else's, with the rest of it as his words, and a
    name in brackets ours."""
    return _COLON.sub(" ", _name(name)).strip(" \t").lstrip("(（ ") or _COLON.sub(" ", id)


def _quoted(quoted: Quoted) -> str:
    who = "you" if quoted.from_bot else _name(quoted.author) or "somebody"
    cut = "…" if len(quoted.text) > MOST_QUOTED else ""
    lines = defuse(clean_untrusted(quoted.text[:MOST_QUOTED]) + cut).splitlines()
    how = "Forwarded by the person, written" if quoted.forwarded else "In reply to a message"
    return f"({how} by {who}:)\n" + "\n".join(f"> {line}" for line in lines)


def _name(name: str) -> str:
    """Return a person's name, shortened, for a line that the model reads."""
    return defuse(clean_name(name)[:80])
