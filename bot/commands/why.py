"""How the last answer of a chat was made, for `/why`."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contract import BEFORE_FIRST_PASS, AssistantEntry
from bot.policy import Prices
from bot.safety import Redact, source_line
from bot.sentences import say
from bot.store import CallRecord, Store, TurnRecord
from bot.turn import call_lines, describe_reasoning, format_seconds

MOST_SOURCES = 10


async def write_receipt(
    store: Store, prices: Prices, last: TurnRecord, language: str, redact: Redact, *, thoughts: bool
) -> str:
    """Describe an answer as short Markdown: model, passes, calls, sources, tokens and dollars.

    With `thoughts` it includes the beginning of the reasoning.
    """
    if not last.model:
        return say("why_own", language)
    rows = [row.entry for row in await store.history.list_entries(last.chat) if row.turn == last.id]
    passes = sum(isinstance(entry, AssistantEntry) and entry.provider != BEFORE_FIRST_PASS for entry in rows)
    calls = await store.turns.list_calls(last.id)
    parts = [
        say(
            "why_model",
            language,
            model=last.model,
            passes=passes,
            seconds=format_seconds(last.ended_at - last.started_at),
        ),
        _calls(calls, language, redact),
        describe_reasoning(last.reasoning, language, redact) if thoughts else "",
        _sources(calls, language),
        _tokens(last, prices, language),
    ]
    return "\n\n".join(part for part in parts if part)


def _calls(calls: Sequence[CallRecord], language: str, redact: Redact) -> str:
    return call_lines(calls, language, redact, results=True) if calls else say("why_no_tools", language)


def _sources(calls: Sequence[CallRecord], language: str) -> str:
    found = {source.url: source for call in calls if call.result is not None for source in call.result.sources}
    listed = [f"- {source_line(source)}" for source in list(found.values())[:MOST_SOURCES]]
    return "\n".join([f"{say('sources', language)}:", *listed]) if listed else ""


def _tokens(last: TurnRecord, prices: Prices, language: str) -> str:
    used = last.usage
    tokens = say(
        "why_tokens",
        language,
        prompt=f"{used.prompt:,}",
        cached=f"{used.cached:,}",
        completion=f"{used.completion:,}",
        reasoning=f"{used.reasoning:,}",
    )
    if prices.price_of(last.model) is None:
        return f"{tokens}\n{say('why_cost_unknown', language)}"
    # Several models may have answered one turn; the settled amounts count.
    cost = last.dollars or prices.dollars_of(last.model, used) or 0.0
    return f"{tokens}\n{say('why_cost', language, cost=f'${cost:.4f}')}"
