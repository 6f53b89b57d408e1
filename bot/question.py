"""A person's message as the model is told it, and as a reply quotes it."""

from __future__ import annotations

import re

from bot.markdown import escape, quote
from bot.messages import MessageSent, Quoted
from bot.origin import OUTSIDE, joined
from bot.safety import clean_name, clean_untrusted
from bot.transcript import UserEntry
from bot.untrusted import defused, spoken

_COLON = re.compile("[:：﹕︓︰˸∶ꓽ]")
MOST_QUOTED = 4_000
"""Characters of a quoted or forwarded message that the model is told."""


def written(question: MessageSent) -> str:
    """The message as the person wrote it, where a command is a question too."""
    return f"/{question.command} {question.text}".rstrip() if question.command else question.text


def subject(question: MessageSent) -> str:
    """What a message is about: the person's own words or, where there are none, those that came with it."""
    if question.text.strip() or question.quoted is None:
        return question.text
    return question.quoted.text[:MOST_QUOTED]


def question_text(question: MessageSent) -> str:
    """What the model is told a person wrote: with the quoted message, and in groups with the speaker."""
    text = _spoken(question)
    if question.quoted is not None and question.quoted.text.strip():
        text = f"{_quoted(question.quoted)}\n\n{text}".rstrip()
    return text


def user_entry(question: MessageSent, quoted_origin: str = OUTSIDE) -> UserEntry:
    """The message as the model is told it, with whose words it holds.

    Args:
        quoted_origin: whose words a quoted message of the bot's own holds, where that is known.
    """
    text, quoted = question_text(question), question.quoted
    if quoted is None or not quoted.text.strip():
        return UserEntry(text, question.sender.id)
    if not quoted.from_bot:
        return UserEntry(text, OUTSIDE)
    return UserEntry(text, joined((question.sender.id, quoted_origin)), begins=len(_quoted(quoted)))


def preamble(question: MessageSent) -> str:
    """The question at the head of a reply whose readers cannot see it, sign by sign as it was written."""
    if not question.quote_question:
        return ""
    text = clean_untrusted(" ".join(written(question).split()))
    return quote(escape(text if len(text) <= 300 else text[:299] + "…")) + "\n\n"


def _spoken(question: MessageSent) -> str:
    """The message without what it quotes; in groups under the name of who wrote it."""
    text = written(question)
    if not question.group:
        return text
    # A name that ends early would be somebody else's, with the rest of it as his words.
    name = _COLON.sub(" ", _name(question.sender.name)).strip()
    return spoken(name or _COLON.sub(" ", question.sender.id), defused(clean_untrusted(text)))


def _quoted(quoted: Quoted) -> str:
    who = "you" if quoted.from_bot else _name(quoted.author) or "somebody"
    cut = "…" if len(quoted.text) > MOST_QUOTED else ""
    lines = defused(clean_untrusted(quoted.text[:MOST_QUOTED]) + cut).splitlines()
    how = "Forwarded by the person, written" if quoted.forwarded else "In reply to a message"
    return f"({how} by {who}:)\n" + "\n".join(f"> {line}" for line in lines)


def _name(name: str) -> str:
    """What somebody is called, as part of a line that the model is told; the long names are jokes or worse."""
    return defused(clean_name(name)[:80])
