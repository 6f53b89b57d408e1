"""The head of a reply: the question, if its readers cannot see it, and what was heard of it."""

from __future__ import annotations

from bot.contract import MessageSent, as_written
from bot.markdown import escape, quote
from bot.safety import announce_unread, clean_untrusted, enclosed_in
from bot.sentences import how_long, say

QUOTED_CHARS = 300
"""Characters of a question, or of a transcript, at the head of a reply."""
MOST_HEARD = 3
"""Transcripts there."""


def write_preamble(question: MessageSent, language: str = "en") -> str:
    """Return the head of a reply: the question as it was written, if its readers cannot see it; the transcripts of its
    recordings; and what of it could not be read."""
    parts = []
    if question.quote_question:
        parts.append(_quote_shortened(as_written(question)))
    if question.waited:
        parts.append(say("late", language, wait=how_long(question.waited, language)))
    heard = [one.text for one in enclosed_in(question) if one.heard]
    parts += [_quote_shortened(f"🎤 {text}") for text in heard[:MOST_HEARD]]
    parts.append(announce_unread(question, language))
    return "".join(f"{part}\n\n" for part in parts if part)


def _quote_shortened(text: str) -> str:
    return quote(on_one_line(text, QUOTED_CHARS))


def on_one_line(text: str, most: int) -> str:
    """Return a person's words as they were written, without an effect as Markdown, in at most so many characters."""
    text = clean_untrusted(" ".join(text.split()))
    return escape(text if len(text) <= most else text[: most - 1] + "…")
