"""Handle an agent's events: store each one that must survive a crash, then show it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.agent import (
    GAP,
    EarlyCall,
    Event,
    Failed,
    FileProduced,
    Finished,
    Heard,
    ModelReplaced,
    PassEnded,
    ReasoningDelta,
    StateKept,
    TextDelta,
    TextWithdrawn,
    ToolFinished,
    ToolStarted,
    learn_result,
    spec_of,
)
from bot.contract import Clock, Metrics
from bot.policy import Prices
from bot.safety import tool_entry
from bot.sentences import say
from bot.store import Store
from bot.turn.draft import Draft, Progress
from tools.calling.registry import ToolRegistry
from tools.programs.cancelling import complete


@dataclass(eq=False, repr=False, kw_only=True)
class EventTaker:
    """Shows answers in progress; one object for the whole process."""

    store: Store
    registry: ToolRegistry
    prices: Prices
    metrics: Metrics
    clock: Clock

    async def take(self, draft: Draft, event: Event) -> Finished | Failed | None:
        """Store and show one event; return the last one of an answer.

        A turn that is stopped meanwhile has it whole, in its history and among its calls.

        Raises:
            StoreError: it was neither stored nor shown.
        """
        made, reply = draft.made, draft.reply
        match event:
            case TextDelta(text):
                self._text(draft, text)
            case TextWithdrawn(count):
                made.thinking.append("".join(made.current[-count:]))
                draft.take_back(count)
            case ReasoningDelta(text):
                made.thinking.append(text)
            case ModelReplaced():
                draft.write(say("replaced", draft.run.language) + "\n\n")
            case PassEnded():
                await complete(self._pass_ended(draft, event))
            case EarlyCall(call, status, dollars):
                made.early = True
                made.dollars += dollars
                reply.status(call.id, status)
            case ToolStarted():
                await complete(self._tool_started(draft, event))
            case ToolFinished():
                await complete(self._tool_finished(draft, event))
            case FileProduced(file):
                draft.attach(file)
            case Heard(entries):
                made.heard.setdefault(len(made.passes), []).extend(entries)
            case StateKept(state):
                await self.store.turns.keep_checkpoint(draft.run.turn, state)
            case _:
                return event
        return None

    def _text(self, draft: Draft, text: str) -> None:
        made = draft.made
        made.last_token = self.clock.monotonic()
        # The text between two passes is ours, and no model gets it as its own words.
        said = text if made.current else text.removeprefix(GAP)
        draft.reply.clear_status()
        draft.say(said)
        made.current.append(said)

    async def _pass_ended(self, draft: Draft, event: PassEnded) -> None:
        made, usage = draft.made, event.usage
        made.model, made.usage = event.model or made.model, made.usage + usage
        made.dollars += (self.prices.dollars_of(event.model, usage) or 0.0) if event.dollars is None else event.dollars
        number = len(made.passes) + 1
        # A process that dies from here on did not die of making the answer, and has brought a job on: neither is given
        # up for it.
        brings_on = draft.run.job or not event.entry.calls
        entry = await self.store.turns.save_pass(
            draft.run.turn, number, event.entry, event.model, usage, brings_on=brings_on
        )
        made.passes.append(entry)
        made.current.clear()
        made.thinking.clear()
        if draft.run.job:
            draft.end_pass()
        made.story.thought(len(made.passes), event)
        if event.model:
            self.metrics.called(event.model, usage)

    async def _tool_started(self, draft: Draft, event: ToolStarted) -> None:
        call = event.call
        number = draft.made.pass_of(call.id)
        position = [one.id for one in draft.made.passes[number - 1].calls].index(call.id)
        # An allowed call is allowed once, whatever the tool declares.
        once = event.allowed or event.effects
        await self.store.turns.start_call(draft.run.turn, call, passnumber=number, position=position, effects=once)
        draft.reply.status(call.id, event.status)

    async def _tool_finished(self, draft: Draft, event: ToolFinished) -> None:
        made, call, result = draft.made, event.call, event.result
        number = made.pass_of(call.id)
        entry = made.passes[number - 1]
        made.results[number, call.id] = tool_entry(call, result, made.marker, entry.origin)
        made.dollars += result.dollars
        made.citations.add(result.sources)
        learn_result(draft.policy, spec_of(self.registry, entry, call), call, result)
        await self.store.turns.end_call(draft.run.turn, call.id, result)
        self.metrics.tool_calls.add(call.name, result.status)
        self.metrics.tool_seconds.add(call.name, amount=result.seconds)
        made.story.called(call, result, known=self.registry.spec(call.name) is not None)
        draft.reply.ended(call.id, result.status)


def ends_stage(made: Progress, event: Event) -> bool:
    """Return True if, after this event, everything done so far is stored, nothing runs, and more is to come."""
    if not isinstance(event, PassEnded | ToolFinished) or not made.passes:
        return False
    if isinstance(event, PassEnded):
        # A call that starts before the end of its pass would be paid for and thrown away.
        early, made.early = made.early, False
        return bool(made.passes[-1].calls) and not early and made.all_ended(but_last=True)
    return bool(made.passes[-1].calls) and made.all_ended()
