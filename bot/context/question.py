"""A person's message as the model is told it, and as a reply quotes it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.contract import MOST_QUOTED, OURS, OUTSIDE, MessageSent, Quoted, UserEntry, joined
from bot.markdown import escape, quote
from bot.safety import clean_name, clean_untrusted, defuse, describe_enclosed, enclosed_in, left_aside, spoken

_COLON = re.compile("[:：﹕︓︰˸∶ꓽ]")


def written(question: MessageSent) -> str:
    """The message as the person wrote it, where a command is a question too."""
    return f"/{question.command} {question.text}".rstrip() if question.command else question.text


def subject(question: MessageSent) -> str:
    """What a message is about: the person's own words or, where there are none, those that came with it."""
    if question.text.strip() or question.quoted is None:
        return question.text
    return question.quoted.text[:MOST_QUOTED]


def question_text(question: MessageSent) -> str:
    """What the model is told a person wrote: with what came before it, the quoted message and the files, and in groups
    with the speaker."""
    parts = [*_told_before(question), _spoken(question), describe_enclosed(question)]
    return "\n\n".join(part for part in parts if part).rstrip()


def user_entry(question: MessageSent, quoted_origin: str = OUTSIDE) -> UserEntry:
    """The message as the model is told it, with whose words it holds.

    Args:
        quoted_origin: whose words a quoted message of the bot's own holds, where that is known.
    """
    text, quoted = question_text(question), question.quoted
    others = [*question.earlier, *([quoted] if quoted is not None and quoted.text.strip() else ())]
    # An address in the bot's own words may be made up by a model, so what stands beside them brings none either.
    begins = len("\n\n".join(_told_before(question))) if any(one.from_bot for one in others) else 0
    # Who sends a file has seldom named it, and a name can be an order.
    named = any(one.name for one in enclosed_in(question))
    if question.earlier or named or any(not one.from_bot for one in others):
        return UserEntry(text, OUTSIDE, begins)
    return UserEntry(text, joined((question.sender.id, quoted_origin if others else OURS)), begins)


def preamble(question: MessageSent, language: str = "en") -> str:
    """What stands at the head of a reply: the question where its readers cannot see it, sign by sign as it was written,
    and what of it could not be read."""
    parts = []
    if question.quote_question:
        text = clean_untrusted(" ".join(written(question).split()))
        parts.append(quote(escape(text if len(text) <= 300 else text[:299] + "…")))
    parts.append(left_aside(question, language))
    return "".join(f"{part}\n\n" for part in parts if part)


def _spoken(question: MessageSent) -> str:
    """The message without what it quotes; in groups under the name of who wrote it."""
    text = written(question)
    if not question.group:
        return text
    return spoken(_speaker(question.sender.name, question.sender.id), defuse(clean_untrusted(text)))


def _told_before(question: MessageSent) -> list[str]:
    """What stands before the person's own words: what others wrote before, then what the message quotes."""
    parts = []
    if question.earlier:
        parts.append(earlier_text(question.earlier, question.left_out))
    if question.quoted is not None and question.quoted.text.strip():
        parts.append(_quoted(question.quoted))
    return parts


def earlier_text(earlier: Sequence[Quoted], left_out: int = 0) -> str:
    """Other people's messages from before a question, as the model is told them."""
    lines = ["(Written here before, and not to you; the words of others, for context:)"]
    if left_out:
        lines.append(f"> [… {left_out} more messages are left out]")
    for one in earlier:
        cut = "…" if len(one.text) > MOST_QUOTED else ""
        text = defuse(clean_untrusted(one.text[:MOST_QUOTED]) + cut)
        said = spoken("(you)" if one.from_bot else _speaker(one.author, "somebody"), text)
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
    """What somebody is called, as part of a line that the model is told; the long names are jokes or worse."""
    return defuse(clean_name(name)[:80])
