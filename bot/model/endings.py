"""The meaning of a server's finish reason. A reason that is not in this table means that the answer broke off."""

from __future__ import annotations

import re
from typing import Final

WHOLE: Final = "stop"
CALLS: Final = "tool_calls"
LENGTH: Final = "length"
WITHHELD: Final = "content_filter"
BROKEN: Final = "broken"
"""The server ended the answer for an unknown reason."""
BAD_CALL: Final = "bad_call"
"""The server cannot read its own model's call."""
UNPROVEN: Final = frozenset(("", BROKEN, BAD_CALL))
"""After these nothing proves that the answer is complete."""
CUT_SHORT: Final = frozenset((LENGTH, WITHHELD, BROKEN, BAD_CALL))
"""After these the last call may be unfinished."""

_REASONS: Final = {
    WHOLE: "stop end_turn stop_sequence eos eos_token complete completed",
    CALLS: "tool_calls tool_call tool_use function_call",
    # Where a server stops a model that repeats itself, it has written enough.
    LENGTH: "length max_tokens max_output_tokens max_length model_length model_context_window_exceeded incomplete "
    "repetition repetition_truncation repeat",
    WITHHELD: "content_filter content_filtered sensitive refusal safety image_safety recitation blocklist "
    "prohibited_content spii guardrail_intervened error_toxic",
    # Gemini's: https://ai.google.dev/api/generate-content#FinishReason
    BAD_CALL: "function_call_filter malformed_function_call unexpected_tool_call tool_use_failed",
}
_MEANINGS: Final = {reason: meaning for meaning, reasons in _REASONS.items() for reason in reasons.split()}
_NOT_YET: Final = frozenset(("", "null", "none"))
_REASON: Final = re.compile(r"[\w.-]{1,60}")


def meaning_of(reason: object) -> str:
    """Return one of the six meanings of a finish reason; empty if it says nothing.

    Servers write reasons in upper case, with a prefix (`FinishReason.STOP`) or with details (`content_filter: SAFETY`).
    """
    if not isinstance(reason, str):
        return ""
    word = reason[:200].partition(":")[0].strip().lower().replace("-", "_").rpartition(".")[2]
    return "" if word in _NOT_YET else _MEANINGS.get(word, BROKEN)


def name_of(reason: str) -> str:
    """Return a reason in a form for the log: more than a single word could repeat the conversation."""
    word = _REASON.match(reason.strip())
    return word[0] if word else "(no word)"
