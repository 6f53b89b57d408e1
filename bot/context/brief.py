"""Assemble what the model reads: system prompt, remembered facts, summary, history, and the question.

The same is shown to a person who asks for it with `/context`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.context import window
from bot.context.chatoptions import ChatBook
from bot.context.facts import ChatFacts, Pinned
from bot.context.language import Admitted
from bot.context.system_prompt import system_prompt
from bot.contract import OURS, OUTSIDE, AssistantEntry, Clock, Entry, MessageSent, SystemEntry, UserEntry, join_origins
from bot.markdown import quote
from bot.model import Models, token_count, tool_token_count
from bot.safety import LinkFilter, LinkPolicy, clean_untrusted
from bot.store import Store, Summary
from tools.contract.base import ToolSpec

MOST_SHOWN_AGAIN: Final = 4
"""Pictures of earlier questions that are shown with a later one, as long as they are no more than `BYTES_AGAIN`."""
BYTES_AGAIN: Final = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Past:
    """The history of a chat, as much of it as a model may read; kept in memory for one turn."""

    summary: Summary | None
    """The summary of the turns before `entries`."""
    entries: tuple[Entry, ...]
    quoted_origin: str = OUTSIDE
    """The origin of the words in the bot's own message that the question quotes."""


@dataclass(frozen=True, slots=True)
class Briefing:
    """The entries that the model is sent, the question included, and their token counts."""

    entries: tuple[Entry, ...]
    turns: int
    """Earlier turns that the model reads word for word."""
    left_out: int
    """Turns that are in no summary and fit no more."""
    past_tokens: int
    """Tokens of the summary and the earlier turns."""
    room: int
    """Tokens they may take."""
    tokens: int
    """Tokens of everything that is sent, tools included."""


@dataclass(frozen=True, slots=True)
class Briefings:
    """Assembles briefings; one object for the process."""

    store: Store
    models: Models
    clock: Clock
    book: ChatBook
    name: str
    instructions: str
    zone: str
    context_tokens: int = 0
    """Tokens of conversation that are sent at most; 0: as the model allows."""

    def window_of(self, model: str) -> int:
        """Return how many tokens of conversation this model is sent at most."""
        return self.models.window(model, self.context_tokens)

    async def load_past(self, question: MessageSent, turn: int = 0) -> Past:
        """Load the history that a question continues, since the last `/new` of its chat.

        Args:
            turn: its turn; 0: a question that replies to nothing.
        """
        summary, rows = await self.store.history.load(question.chat, turn=turn)
        entries = await self._show_pictures([_without_reasoning(row.entry) for row in rows])
        quoted = question.quoted
        if quoted is None or not quoted.from_bot or not quoted.message_id or quoted.forwarded:
            return Past(summary, entries)
        return Past(summary, entries, await self.store.turns.origin_of(question.chat, quoted.message_id))

    async def _show_pictures(self, entries: list[Entry]) -> tuple[Entry, ...]:
        """Load the newest pictures of a history, as far as they are still stored; older ones are only named."""
        left, room = MOST_SHOWN_AGAIN, BYTES_AGAIN
        for place in range(len(entries) - 1, -1, -1):
            entry = entries[place]
            if not isinstance(entry, UserEntry | AssistantEntry) or not entry.pictures:
                continue
            if not left:
                break
            shown, left = entry.pictures[:left], max(0, left - len(entry.pictures))
            files = await asyncio.gather(*(self.store.files.get(one.stored) for one in shown))
            contents = [file.content if file is not None else b"" for file in files]
            room -= sum(map(len, contents))
            if room < 0:
                break
            again = [replace(one, content=content) for one, content in zip(shown, contents, strict=True)]
            entries[place] = replace(entry, pictures=(*again, *entry.pictures[len(again) :]))
        return tuple(entries)

    def assemble(
        self,
        question: MessageSent,
        asked: UserEntry,
        past: Past,
        facts: Pinned,
        model: str,
        tools: Sequence[ToolSpec] = (),
        told: str = "",
        others: Sequence[ToolSpec] = (),
        starting: Sequence[str] = (),
        *,
        ours: bool = True,
    ) -> Briefing:
        """Build the briefing for `asked`, with as much history as fits.

        Args:
            told: the instructions for this chat; see `ChatOptions.told`.
            others: tools that are listed by name alone.
            starting: servers whose tools will come.
            ours: False: without our own words about how to answer, for an agent that has its own.
        """
        summary = past.summary.text if past.summary else ""
        system = SystemEntry(
            system_prompt(
                name=self.name,
                today=self.clock.wall(),
                zone=self.zone,
                language=question.sender.language,
                group=question.group,
                extra="\n\n".join(part for part in (self.instructions.strip(), told) if part),
                facts=facts.lines,
                summary=summary,
                withholds=any(spec.outside for spec in (*tools, *others)),
                others=[spec.name for spec in others],
                starting=starting,
                ours=ours,
            ),
            origin=join_origins((facts.origin, past.summary.origin if past.summary else OURS)),
        )
        count = self.models.tokens_of(model)
        fixed = token_count([system, asked], count) + tool_token_count(tools, count)
        room = max(0, self.window_of(model) * 3 // 4 - fixed)
        kept, summarised = window.fit(past.entries, room, count), count([summary])
        return Briefing(
            entries=(system, *kept.entries, asked),
            turns=kept.turns,
            left_out=kept.left_out,
            past_tokens=kept.tokens + summarised,
            room=room + summarised,
            tokens=kept.tokens + fixed,
        )

    async def report(self, asked: Admitted) -> str:
        """Return what the model would read about this chat now, as text for the person."""
        question = asked.message
        options = await self.book.options_of(question.chat)
        model = options.model or self.models.name
        past = await self.load_past(question)
        facts = await ChatFacts(self.store.facts, question).load_pinned()
        briefing = self.assemble(question, UserEntry(""), past, facts, model, told=options.told)
        lines = [
            asked.say(
                "context",
                turns=briefing.turns,
                tokens=f"{briefing.tokens:,}",
                window=f"{self.window_of(model):,}",
                model=model,
            )
        ]
        if briefing.left_out:
            lines.append(asked.say("context_left_out", turns=briefing.left_out))
        if facts.lines:
            lines.append(asked.say("context_facts") + "\n\n" + "\n".join(f"- {fact}" for fact in facts.lines))
        if past.summary is not None:
            summarised = await self.store.history.count_summarised(question.chat)
            lines.append(asked.say("context_summary", turns=summarised))
            lines.append(quote(clean_untrusted(past.summary.text)))
        # A model wrote the summary, so no person vouches for a link in it.
        links = LinkFilter(LinkPolicy())
        return links.feed("\n\n".join(lines)) + links.finish()


def _without_reasoning(entry: Entry) -> Entry:
    """Remove an earlier turn's reasoning: it is kept for people; what the provider wants back is in `raw`."""
    return replace(entry, reasoning="") if isinstance(entry, AssistantEntry) and entry.reasoning else entry
