"""What never leaves (secrets), and what never comes in (orders in outside words, hostile links and characters)."""

from __future__ import annotations

from bot.safety import enclosures, redacted
from bot.safety.characters import AnswerFilter, clean_answer, clean_name, clean_untrusted
from bot.safety.enclosures import enclosed_in, left_aside, told_to_model
from bot.safety.linkpolicy import LinkPolicy, Unknown
from bot.safety.links import LinkFilter
from bot.safety.redacted import Redact, nothing, of_quoted
from bot.safety.redactor import REMOVED, Redactor
from bot.safety.untrusted import as_data, defused, new_marker, spoken, tool_entry, wrapper_length

__all__ = [
    "REMOVED",
    "AnswerFilter",
    "LinkFilter",
    "LinkPolicy",
    "Redact",
    "Redactor",
    "Unknown",
    "as_data",
    "clean_answer",
    "clean_name",
    "clean_untrusted",
    "defused",
    "enclosed_in",
    "enclosures",
    "left_aside",
    "new_marker",
    "nothing",
    "of_quoted",
    "redacted",
    "spoken",
    "told_to_model",
    "tool_entry",
    "wrapper_length",
]
