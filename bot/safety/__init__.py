"""Keep secrets from leaving, and hostile instructions, links and characters from coming in."""

from __future__ import annotations

from bot.safety import enclosures, redacted
from bot.safety.characters import AnswerFilter, clean_answer, clean_name, clean_untrusted, shows_nothing
from bot.safety.citations import CitationFilter
from bot.safety.enclosures import announce_unread, describe_enclosed, enclosed_in, spoken_words, told_by_others
from bot.safety.linkpolicy import LinkPolicy, Unknown
from bot.safety.links import LinkFilter
from bot.safety.redacted import Redact, redact_nothing, redact_quote
from bot.safety.redactor import REMOVED, Redactor
from bot.safety.sources import Citations, number_sources, source_line
from bot.safety.untrusted import (
    MOST_TOLD,
    BoundaryFilter,
    as_told,
    attribute,
    defuse,
    new_marker,
    tool_entry,
    without_boundaries,
    wrap_as_data,
    wrapper_length,
)
