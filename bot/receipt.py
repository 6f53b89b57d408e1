"""How the last answer of a chat came about, for the person who asks `/why`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bot.agent import BEFORE_FIRST_PASS
from bot.messages import ChatId
from bot.prices import Prices
from bot.safety import clean_untrusted
from bot.sentences import say
from bot.sources import source_line
from bot.store import CallRecord, Store, TurnRecord
from bot.transcript import AssistantEntry

MOST_CALLS = 20
MOST_SOURCES = 10
_ARGUMENT_CHARS = 160


async def receipt(store: Store, prices: Prices, chat: ChatId, language: str) -> str:
    """Model, passes, each tool with arguments, time and outcome, sources, tokens and cost, as short Markdown."""
    last = await store.turns.last(chat)
    if last is None:
        return say("why_nothing", language)
    if not last.model:
        return say("why_own", language)
    rows = [row.entry for row in await store.history.entries(chat) if row.turn == last.id]
    passes = sum(isinstance(entry, AssistantEntry) and entry.provider != BEFORE_FIRST_PASS for entry in rows)
    calls = await store.turns.calls(last.id)
    parts = [
        say("why_model", language, model=last.model, passes=passes, seconds=_seconds(last.ended_at - last.started_at)),
        _calls(calls, language),
        _sources(calls, language),
        _tokens(last, prices, language),
    ]
    return "\n\n".join(part for part in parts if part)


def _calls(calls: Sequence[CallRecord], language: str) -> str:
    if not calls:
        return say("why_no_tools", language)
    lines = [
        say(
            "why_call_paid" if call.result is not None and call.result.dollars else "why_call",
            language,
            cost=f"${call.result.dollars:.4f}" if call.result is not None else "",
            name=clean_untrusted(call.call.name)[:100].replace("`", "'"),
            arguments=_arguments(call),
            status=say(f"why_{call.status}", language),
            seconds=_seconds(call.seconds),
        )
        for call in calls[:MOST_CALLS]
    ]
    if len(calls) > MOST_CALLS:
        lines.append(say("why_more", language, count=len(calls) - MOST_CALLS))
    return "\n".join(lines)


def _arguments(call: CallRecord) -> str:
    """The arguments in one line of code; what a model wrote could hold anything."""
    written = " ".join(clean_untrusted(json.dumps(dict(call.call.arguments), ensure_ascii=False)).split())
    written = written.replace("`", "'")
    return written if len(written) <= _ARGUMENT_CHARS else written[: _ARGUMENT_CHARS - 1] + "…"


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
    if prices.of(last.model) is None:
        return f"{tokens}\n{say('why_cost_unknown', language)}"
    # Several models may have answered one turn; what was settled then counts.
    cost = last.cost or prices.cost_of(last.model, used) or 0.0
    return f"{tokens}\n{say('why_cost', language, cost=f'${cost:.4f}')}"


def _seconds(seconds: float) -> str:
    return f"{max(0.0, seconds):.1f}"
