"""What went on behind an answer, written for people as Markdown: the tools it used and how it was thought out.

What a model or a tool wrote could hold anything: it is masked before it is cut, and stands in one line of code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from bot.redaction import Redact
from bot.safety import clean_untrusted
from bot.sentences import say
from bot.store import CallRecord, Store

ShowTools: TypeAlias = Literal["off", "line", "full"]
"""What stands under an answer of the tools it used: nothing, a line for each call, or its result's head too."""

MOST_CALLS = 20
ARGUMENT_CHARS = 160
RESULT_CHARS = 200
_BLANK = re.compile(r"\s+")


def gap(shown: ShowTools) -> str:
    """What stands between the texts of two passes of one answer, as Markdown."""
    return "\n\n" if shown == "off" else "\n\n---\n\n"


async def footer(store: Store, turn: int, language: str, redact: Redact, shown: ShowTools) -> str:
    """What stands under an answer of the tools it used; empty where there is nothing to show."""
    calls = [] if shown == "off" else await store.turns.calls(turn)
    if not calls:
        return ""
    return f"**{say('tools_used', language)}**\n\n" + call_lines(calls, language, redact, results=shown == "full")


def call_lines(calls: Sequence[CallRecord], language: str, redact: Redact, *, results: bool) -> str:
    """A line for each call: name, arguments, outcome, time and price; with `results` the head of its result below."""
    lines: list[str] = []
    for call in calls[:MOST_CALLS]:
        result = call.result
        lines.append(
            say(
                "why_call_paid" if result is not None and result.dollars else "why_call",
                language,
                cost=f"${result.dollars:.4f}" if result is not None else "",
                name=code_line(call.call.name, redact, 100),
                arguments=code_line(json.dumps(dict(call.call.arguments), ensure_ascii=False), redact, ARGUMENT_CHARS),
                status=say(f"why_{call.status}", language),
                seconds=seconds(call.seconds),
            )
        )
        if results and result is not None and (head := code_line(result.text, redact, RESULT_CHARS)):
            lines.append(f"  → `{head}`")
    if len(calls) > MOST_CALLS:
        lines.append(say("why_more", language, count=len(calls) - MOST_CALLS))
    return "\n".join(lines)


def code_line(text: str, redact: Redact, most: int) -> str:
    """The head of a text, fit to stand in one line of code; what is a secret is masked before anything is cut."""
    line = _BLANK.sub(" ", clean_untrusted(redact(text)).replace("`", "'")).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def seconds(duration: float) -> str:
    return f"{max(0.0, duration):.1f}"
