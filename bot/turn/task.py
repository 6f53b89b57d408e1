"""Build an agent's task: the model's input, the tools that it can call, and the first call."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from bot.agent import Agent, Task
from bot.context import Briefing, Briefings, ChatFacts, withhold
from bot.contract import ChatId, Clock, Limits, UserEntry
from bot.model import Models
from bot.policy import AgentMeter, DayPurse, Permit, Quotas, meter
from bot.safety import enclosed_in
from bot.store import Store
from bot.toolchoice import NamedCall
from bot.turn.approvals import Approvals
from bot.turn.attachments import READ_ON
from bot.turn.draft import Draft
from bot.turn.jobs import INSTRUCTIONS as JOB_INSTRUCTIONS
from bot.turn.jobs import JOB_PASSES
from bot.turn.loading import Known
from bot.turn.merging import Merging
from bot.turn.run import Run
from bot.turn.tool_offer import ToolOffer
from tools.contract.base import ToolContext

if TYPE_CHECKING:
    from bot.agent import ForeignAgent

AgentOf: TypeAlias = "Callable[[ChatId], Agent | ForeignAgent]"
"""Returns the agent that answers in a chat."""


@dataclass(eq=False, repr=False, kw_only=True)
class TaskMaker:
    """Makes the tasks of an agent; one object for the whole process."""

    store: Store
    models: Models
    briefings: Briefings
    tool_offer: ToolOffer
    quotas: Quotas
    clock: Clock
    zone: str
    merging: Merging
    approvals: Approvals
    limits: Limits
    agent_of: AgentOf

    def __post_init__(self) -> None:
        self._purse = DayPurse(self.quotas)
        self._agent_models: dict[str, str] = {}

    async def make_task(
        self, draft: Draft, permit: Permit, named: NamedCall | None, *, may_ask: bool
    ) -> tuple[Task, Briefing]:
        """Return the task of a draft, and the briefing that it was made from.

        Args:
            permit: what the asker may use.
            may_ask: the reply can ask a person to allow a call.
            named: the tool that the question calls by name.
        """
        known, passes = draft.known, draft.made.passes
        question = known.question
        agent = self.agent_of(question.chat)
        if not isinstance(agent, Agent):
            return await self._make_foreign_task(draft, permit, agent.name, may_ask=may_ask)
        past = replace(known.past, entries=tuple(withhold(known.past.entries, permit.may_read)))
        model = meter(self.models.choose(known.options.model), self.quotas, self.models.estimator)
        decision = await self.approvals.decision_of(draft.run.turn, question)
        decided = decision.call if decision is not None else None
        first = decided or await self.tool_offer.choose_first_call(question, permit, named)
        # Tools that were called before a restart, or are called first, must be in the offer.
        forced = named.tool if named is not None else ""
        certain = [call.name for entry in passes for call in entry.calls]
        certain += [name for name in (first.name if first else "", forced) if name]
        told = (known.asked, *past.entries)
        certain += ["read_file"] if any(READ_ON in one.text for one in told if isinstance(one, UserEntry)) else []
        choice = await self.tool_offer.choose_tools(question, permit, past.entries, certain, model.name)
        await asyncio.sleep(0)  # counting the tokens of a long question takes a moment, too
        briefing = self.briefings.assemble(
            question,
            known.asked,
            past,
            known.facts,
            model.name,
            choice.tools,
            "\n\n".join(filter(None, (known.options.told, JOB_INSTRUCTIONS if draft.run.job else ""))),
            choice.others,
            self.tool_offer.find_starting(permit),
        )
        task = Task(
            entries=briefing.entries,
            model=model,
            tools=choice.tools,
            others=choice.others,
            permits=permit.select,
            context=self._tool_context(known, draft.run),
            deadline=draft.run.limits.deadline,
            most_passes=JOB_PASSES if draft.run.job else 0,
            tool_choice=forced or "auto",
            begin_with=first,
            decision=decision,
            may_ask=may_ask,
            passes=tuple(passes),
            results=draft.results,
            listen=partial(self.merging.steer, draft.run),
            outcome_unknown=frozenset(draft.unknown),
        )
        return task, briefing

    async def _make_foreign_task(
        self, draft: Draft, permit: Permit, agent: str, *, may_ask: bool
    ) -> tuple[Task, Briefing]:
        """Return the task of another author's agent, called `agent`, which has tools and a model of its own."""
        known, run = draft.known, draft.run
        question = known.question
        past = replace(known.past, entries=tuple(withhold(known.past.entries, permit.may_read)))
        model = meter(self.models.choose(known.options.model), self.quotas, self.models.estimator)
        briefing = self.briefings.assemble(
            question, known.asked, past, known.facts, model.name, told=known.options.told, ours=False
        )
        stored = [one.stored for one in enclosed_in(question) if one.stored]
        files = await asyncio.gather(*map(self.store.files.get, stored))
        task = Task(
            entries=briefing.entries,
            model=model,
            tools=(),
            context=self._tool_context(known, run),
            deadline=run.limits.deadline,
            decision=await self.approvals.decision_of(run.turn, question),
            may_ask=may_ask,
            passes=tuple(draft.made.passes),
            results=draft.results,
            outcome_unknown=frozenset(draft.unknown),
            turn=run.turn,
            attempt=run.limits.attempts,
            name=question.sender.name,
            files=tuple(filter(None, files)),
            checkpoint=known.before.checkpoint,
            meter=AgentMeter(
                self.quotas, agent, self._agent_models, self.models.tokens_of(model.name), briefing.tokens
            ),
        )
        return task, briefing

    def _tool_context(self, known: Known, run: Run) -> ToolContext:
        question, store = known.question, self.store
        target = question.target if question.target.reaches else None
        return ToolContext(
            scope=str(question.chat),
            person=question.sender.id,
            language=run.language,
            zone=self.zone,
            facts=ChatFacts(store.facts, question),
            now=lambda: datetime.datetime.fromtimestamp(self.clock.wall(), datetime.UTC),
            timers=store.timers.bind(question.chat, question.sender, target, self.limits, grouped=question.group),
            files=store.files,
            purse=self._purse,
            time_left=lambda: run.limits.deadline - self.clock.monotonic(),
        )
