"""Describe for people, as Markdown, the tools and the reasoning behind an answer.

A model's or a tool's text can contain anything: it is masked before it is cut, and shown as one line of code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from bot.contract import SurfaceLimits
from bot.markdown import LineScanner, escape, quote
from bot.safety import Redact, clean_untrusted, without_boundaries
from bot.sentences import say
from bot.settings import AnswerSettings
from bot.store import CallRecord, Store

MOST_CALLS = 20
ARGUMENT_CHARS = 160
RESULT_CHARS = 200
REASONING_CHARS = 400
COLLAPSED_CHARS = 800
"""Measured as Markdown. Less than half a page on every platform, so it is never cut in two, which would leave the rest
uncollapsed."""
_BLANK = re.compile(r"\s+")


def as_paragraph(written: Iterable[str], note: str) -> str:
    """Return a sentence of our own to append to `written`: a paragraph of its own, after closing any open fence."""
    text = "".join(written)
    if not text:
        return note
    scanner = LineScanner()
    for line in text.splitlines(keepends=True):
        scanner.feed(line)
    return (f"\n{scanner.fence.closer}" if scanner.fence else "") + f"\n\n{note}"


def gap_after(written: Sequence[str], settings: AnswerSettings) -> str:
    """Return what separates the text so far from that of the next pass, after closing any open fence."""
    if not written:
        return ""
    return as_paragraph(written, "" if settings.show_tools == "off" else "---\n\n")


async def write_footer(
    store: Store,
    turn: int,
    thought: str,
    language: str,
    redact: Redact,
    settings: AnswerSettings,
    limits: SurfaceLimits,
) -> list[str]:
    """Return the footer that the operator wants: the tools used, and the model's reasoning."""
    shown = []
    if settings.show_tools != "off" and (calls := await store.turns.list_calls(turn)):
        lines = call_lines(calls, language, redact, results=settings.show_tools == "full")
        shown.append(f"**{say('tools_used', language)}**\n\n{lines}")
    if settings.show_reasoning == "quote" and limits.collapses:
        shown.append(collapsed_reasoning(thought, language, redact))
    return shown


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
                seconds=format_seconds(call.seconds),
            )
        )
        if results and result is not None and (head := code_line(result.text, redact, RESULT_CHARS)):
            lines.append(f"  → `{head}`")
    if len(calls) > MOST_CALLS:
        lines.append(say("why_more", language, count=len(calls) - MOST_CALLS))
    return "\n".join(lines)


def describe_reasoning(text: str, language: str, redact: Redact) -> str:
    """Return the length and the beginning of a model's reasoning for `/why`; empty without reasoning."""
    head = _words(text, redact, REASONING_CHARS)
    return say("why_thought", language, count=f"{len(text):,}") + f"\n{quote(head)}" if head else ""


def collapsed_reasoning(text: str, language: str, redact: Redact) -> str:
    """Return the beginning of a model's reasoning as a collapsed quote for its answer; empty without reasoning."""
    head = _words(text, redact, COLLAPSED_CHARS)
    title = say("thought", language, count=f"{len(text):,}")
    return quote(f"{title}\n{head}", collapsed=True) if head else ""


def _words(text: str, redact: Redact, most: int) -> str:
    """Return the head of a text without empty lines, with all markup and links inactive."""
    text = without_boundaries(clean_untrusted(redact(text)))
    lines = (_BLANK.sub(" ", line).strip() for line in text.splitlines())
    shown = escape("\n".join(line for line in lines if line))
    if len(shown) <= most:
        return shown
    head = shown[: most - 1]
    odd = (len(head) - len(head.rstrip("\\"))) % 2
    return head[: len(head) - odd] + "…"


def code_line(text: str, redact: Redact, most: int) -> str:
    """Return the head of a text as one line of code; secrets are masked before it is cut."""
    told = without_boundaries(clean_untrusted(redact(text)))
    line = _BLANK.sub(" ", told.replace("`", "'")).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def format_seconds(duration: float) -> str:
    return f"{max(0.0, duration):.1f}"
