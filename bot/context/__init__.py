"""What the model is told: the system prompt, the history that fits, facts, summaries."""

from __future__ import annotations

from bot.context.brief import Briefing, Briefings, Past
from bot.context.chatoptions import PERSONA_CHARS, ChatBook, ChatOptions
from bot.context.facts import ChatFacts, Pinned
from bot.context.question import preamble, subject, user_entry, written
from bot.context.shortening import ends_with_results, shortened
from bot.context.summary import Summaries
from bot.context.window import as_told

__all__ = [
    "PERSONA_CHARS",
    "Briefing",
    "Briefings",
    "ChatBook",
    "ChatFacts",
    "ChatOptions",
    "Past",
    "Pinned",
    "Summaries",
    "as_told",
    "ends_with_results",
    "preamble",
    "shortened",
    "subject",
    "user_entry",
    "written",
]
