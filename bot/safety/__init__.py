"""Keep secrets from leaving, and hostile instructions, links and characters from coming in."""

from __future__ import annotations

from bot.safety import enclosures, redacted
from bot.safety.characters import AnswerFilter, clean_answer, clean_name, clean_untrusted
from bot.safety.enclosures import describe_enclosed, enclosed_in, left_aside
from bot.safety.linkpolicy import LinkPolicy, Unknown
from bot.safety.links import LinkFilter
from bot.safety.redacted import Redact, redact_nothing, redact_quote
from bot.safety.redactor import REMOVED, Redactor
from bot.safety.untrusted import defuse, new_marker, spoken, tool_entry, wrap_as_data, wrapper_length

__all__ = [
    "REMOVED",
    "AnswerFilter",
    "LinkFilter",
    "LinkPolicy",
    "Redact",
    "Redactor",
    "Unknown",
    "clean_answer",
    "clean_name",
    "clean_untrusted",
    "defuse",
    "describe_enclosed",
    "enclosed_in",
    "enclosures",
    "left_aside",
    "new_marker",
    "redact_nothing",
    "redact_quote",
    "redacted",
    "spoken",
    "tool_entry",
    "wrap_as_data",
    "wrapper_length",
]
