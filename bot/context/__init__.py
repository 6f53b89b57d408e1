"""What the model reads: the system prompt, the history that fits, facts, summaries."""

from __future__ import annotations

from bot.context.brief import Briefing, Briefings, Past
from bot.context.chatoptions import PERSONA_CHARS, Busy, ChatBook, ChatOptions
from bot.context.facts import ChatFacts, Pinned
from bot.context.language import Admitted, language_for
from bot.context.question import subject_of, user_entry, with_spoken
from bot.context.summary import Summaries
from bot.context.system_prompt import system_prompt as write_system_prompt
from bot.context.window import withhold
