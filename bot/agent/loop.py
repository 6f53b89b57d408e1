"""The tool loop: the model can call tools in one pass, and reads their results in the next.

The loop knows neither chats nor pages. It yields events, and leaves no task and no connection behind when closed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import ClassVar

from bot.agent.callpolicy import CallPolicy
from bot.agent.calls import CallEvent, CallRunner
from bot.agent.events import Event, Failed, Finished, Heard, PassEnded, ToolFinished
from bot.agent.modelpass import ModelPass
from bot.agent.nudges import (
    CALL_CUT_OFF,
    CALL_UNREADABLE,
    LAST_PASS,
    OUTCOME_UNKNOWN,
    announces_search,
    claims_search,
    remind_to_search,
)
from bot.agent.task import Decision, Task
from bot.contract import BEFORE_FIRST_PASS, LIMITS, AssistantEntry, Entry, Limits, ToolEntry, Usage, UserEntry
from bot.model import Answer, Request
from bot.safety import new_marker, redacted
from bot.settings import TurnSettings
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolResult


@dataclass(frozen=True, slots=True)
class Agent:
    """Answers one task at a time, as often as asked; holds no state between tasks."""

    registry: ToolRegistry
    turns: TurnSettings
    policy: CallPolicy
    limits: Limits = LIMITS
    redact: redacted.Redact = redacted.redact_nothing
    """Masks secrets in a model's text before it is stored or reaches a tool."""
    works_long: ClassVar[bool] = False
    """Each of its answers is a job."""

    async def answer(self, task: Task) -> AsyncGenerator[Event, None]:
        """Work on `task` until `Finished` or `Failed`, always the last event.

        Closing the generator closes the model's stream and cancels running tools.
        """
        runner = CallRunner(
            self.registry,
            task.context,
            marker=new_marker(),
            offered=[spec.name for spec in task.tools],
            calls_per_pass=self.limits.calls_per_pass,
            redact=self.redact,
            policy=self.policy,
            permits=task.permits,
            decision=_live_decision(task),
            may_ask=task.may_ask,
        )
        async with aclosing(runner), aclosing(self._work(task, runner)) as events:
            async for event in events:
                yield event

    async def _work(self, task: Task, runner: CallRunner) -> AsyncGenerator[Event, None]:
        entries = _replay(task, runner)
        shown = any(entry.text for entry in task.passes)
        since = _since_results(task.passes)
        answered = any(entry.text for entry in since)
        called = len(since) < len(task.passes) or task.begin_with is not None
        if since and (answered or not called or len(since) > 1):
            # The answer was complete when the process died; only its last edit may be missing.
            yield Finished() if answered else _without_answer(runner, "the model gave no text before the restart")
            return
        async with aclosing(_begin(task, runner, entries)) as events:
            async for event in events:
                yield event
        number = sum(1 for entry in task.passes if entry.provider != BEFORE_FIRST_PASS)
        reminder, reminded, pressed = "", False, bool(since)
        most_passes = task.most_passes or self.turns.max_tool_rounds
        while runner.asked is None:
            number += 1
            last = pressed or number >= most_passes or runner.over or not task.tools
            is_first_pass = number == 1 and task.begin_with is None
            if not is_first_pass:
                if heard := tuple(await task.listen()):
                    entries.extend(heard)
                    yield Heard(heard)
                reminder = LAST_PASS if last else reminder
            request = self._make_request(task, entries, runner, last=last, first=is_first_pass, reminder=reminder)
            made = ModelPass(task, replace(request, tools=()) if pressed else request, runner, shown_before=shown)
            async with aclosing(made.run()) as deltas:
                async for delta in deltas:
                    yield delta
            if made.failure is not None:
                for ended in await runner.keep(()):
                    yield ended
                # It was asked once more for an answer to its results, and gave none.
                unanswered = pressed and not made.visible and made.failure.retry
                yield _without_answer(runner, made.failure.detail) if unanswered else made.failure
                return
            assert made.answer is not None
            shown = shown or bool(made.visible)
            entries = entries if made.shorter is None else list(made.shorter)
            entry = redacted.redact_entry(made.to_entry(last=last, origin=runner.origin), self.redact)
            entries.append(entry)
            yield PassEnded(entry, made.answer.model, made.answer.usage, task.model.name, made.answer.finish)
            for ended in await runner.keep(entry.calls):
                yield ended
            if entry.calls:
                reminder, called, answered = "", True, False
                async with aclosing(_call(runner, entry, entries, {}, cut=_is_cut(made.answer))) as happenings:
                    async for happening in happenings:
                        yield happening
                continue
            # Words of an earlier pass are an answer if the model could have added to them, not if it had to.
            answered = bool(made.visible) or (answered and not last)
            reminder = "" if reminded or last else _remind(made, made.answer, called=called)
            reminded = reminded or bool(reminder)
            if not reminder and (pressed or answered or not called or made.answer.finish == "content_filter"):
                yield _conclude(made, made.answer, answered, runner)
                return
            pressed = not reminder
        yield Finished(asks=runner.asked)

    def _make_request(
        self, task: Task, entries: Sequence[Entry], runner: CallRunner, *, last: bool, first: bool, reminder: str
    ) -> Request:
        runner.update_clearance(entries)
        withdrawn = runner.withdrawn
        tools = tuple(spec for spec in (*task.tools, *runner.added) if spec.name not in withdrawn)
        choice = "none" if last else task.tool_choice if first else "auto"
        if choice not in ("none", "auto", "required", *(spec.name for spec in tools)):
            choice = "auto"  # the tool that the person wants is withheld
        return Request(
            entries=tuple(entries),
            tools=tools,
            tool_choice=choice if tools else "auto",
            deadline=task.deadline,
            max_output_chars=self.limits.answer_chars,
            reminder=reminder,
        )


def _conclude(made: ModelPass, answer: Answer, answered: bool, runner: CallRunner) -> Finished | Failed:
    """Return how the turn ended: with an answer, complete or cut off, or without one."""
    cut = {"length": "length", "cut": "cut", "content_filter": "filtered"}.get(answer.finish, "")
    if answered:
        return Finished(cut or ("rounds" if made.has_calls else ""))
    detail = f"the model gave no text (finish {answer.finish!r})"
    return Failed("filtered", detail) if cut == "filtered" and not runner.used else _without_answer(runner, detail)


def _without_answer(runner: CallRunner, detail: str) -> Finished | Failed:
    """Return how a turn ended without words after its results: a tool's file is an answer, too."""
    if runner.produced:
        return Finished()
    tools = tuple(dict.fromkeys(runner.used))
    return Failed("empty_after_tools" if tools else "empty", detail, tools=tools)


def _since_results(passes: Sequence[AssistantEntry]) -> Sequence[AssistantEntry]:
    """Return the passes after the last one that made calls."""
    calling = [number for number, entry in enumerate(passes, 1) if entry.calls]
    return passes[calling[-1] if calling else 0 :]


def _replay(task: Task, runner: CallRunner) -> list[Entry]:
    """Return the entries of the first request: the task, the stored passes, and their results except for the last
    pass."""
    entries = list(task.entries)
    for number, entry in enumerate(task.passes, 1):
        ran = [(call, task.results[number, call.id]) for call in entry.calls if (number, call.id) in task.results]
        runner.remember(ran)
        if number == len(task.passes):
            runner.update_clearance(_prompt_of(entry, entries))
        entries.append(entry)
        if number < len(task.passes):
            entries.extend(runner.entry_of(call, result, entry.origin) for call, result in ran)
    return entries


async def _begin(task: Task, runner: CallRunner, entries: list[Entry]) -> AsyncGenerator[Event, None]:
    """Run the calls before the first request: those left open by a restart, or the task's own first one.

    The model sees the task's own call as if it had made it. After a restart, stored results are kept and the other
    calls run.
    """
    known: dict[str, ToolEntry] = {}
    if task.passes and not task.passes[-1].calls:
        return
    if task.passes:
        number, entry = len(task.passes), task.passes[-1]
        for call in entry.calls:
            result = task.results.get((number, call.id))
            if result is None and (number, call.id) in task.outcome_unknown:
                result = ToolResult.failed(OUTCOME_UNKNOWN, retry=False)
                yield ToolFinished(call, result)
            if result is not None:
                known[call.id] = runner.entry_of(call, result, entry.origin)
    elif task.begin_with is not None:
        origin = task.decision.origin if task.decision is not None else task.context.person
        entry = AssistantEntry(text="", calls=(task.begin_with,), provider=BEFORE_FIRST_PASS, origin=origin)
        runner.update_clearance(_prompt_of(entry, entries))
        yield PassEnded(entry, "", Usage())
        entries.append(entry)
    else:
        return
    async with aclosing(_call(runner, entry, entries, known)) as happenings:
        async for happening in happenings:
            yield happening


async def _call(
    runner: CallRunner, entry: AssistantEntry, entries: list[Entry], known: dict[str, ToolEntry], *, cut: bool = False
) -> AsyncGenerator[CallEvent, None]:
    """Run the calls of a pass that have no result, and append all results to the model's input, in the calls' order."""
    async with aclosing(runner.run([call for call in entry.calls if call.id not in known], cut=cut)) as happenings:
        async for happening in happenings:
            if isinstance(happening, ToolFinished):
                known[happening.call.id] = runner.entry_of(happening.call, happening.result, entry.origin)
            yield happening
    entries.extend(known[call.id] for call in entry.calls if call.id in known)


def _live_decision(task: Task) -> Decision | None:
    """Return the decision about a call, unless it was already executed before a restart: an allowed call runs once."""
    if task.decision is None:
        return None
    key = (1, task.decision.call.id)
    done = bool(task.passes) and (key in task.results or key in task.outcome_unknown)
    return None if task.decision.allowed and done else task.decision


def _prompt_of(entry: AssistantEntry, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries that led to a pass's calls: the model's input, or the person's own request."""
    return (UserEntry("", origin=entry.origin),) if entry.provider == BEFORE_FIRST_PASS else entries


def _is_cut(answer: Answer) -> bool:
    """Return True if the model's server ended the answer early."""
    return answer.finish in ("length", "content_filter")


def _remind(made: ModelPass, answer: Answer, *, called: bool) -> str:
    """Return the reminder for a model whose reply, without a call, is not an answer yet; empty if it is one.

    Args:
        called: this turn has made calls.
    """
    if made.unread and answer.finish != "cut":
        return CALL_CUT_OFF if _is_cut(answer) else CALL_UNREADABLE
    if _is_cut(answer):
        return ""
    if announces_search(made.visible) or (not called and claims_search(made.visible, results=made.told_results)):
        return remind_to_search(native=answer.native)
    return ""
