"""The calls of one turn: which run, which are repeats, in what order, and what the model reads of each.

Within a turn a successful call is not repeated, a tool that failed too often is withdrawn, and a model that goes round
in circles is led to its answer. One `CallRunner` lives as long as its turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TypeAlias

from bot.agent.callpolicy import Ask, CallPolicy, Clearance, Refuse, Run, Verdict
from bot.agent.earlycalls import EarlyCalls
from bot.agent.events import Asked, EarlyCall, FileProduced, ToolFinished, ToolStarted
from bot.agent.nudges import describe_problem
from bot.agent.task import Decision
from bot.contract import LIMITS, Entry, File, Permits, ToolEntry, allow_everything
from bot.safety import clean_name, number_sources, redacted, tool_entry
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext, ToolResult, ToolSpec, ToolStatus
from tools.fetch.guard import wire_form
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

CallEvent: TypeAlias = ToolStarted | ToolFinished | FileProduced

AT_ONCE = 4
"""Calls of one pass that run in parallel."""
REPEATED = "(The same call was made before in this turn; this is its result again.)\n"
"""Stands before the result of a call that was made before in the turn."""
CORRECTIONS = 2
"""Passes in which one tool failed, after which the model may still try it again in this turn."""


_ONE_AT_A_TIME = (
    "{name} was not run: the person is asked about another call first. When that is decided, call it again if it is "
    "still needed."
)


def signature_of(call: ToolCall) -> str:
    """Return a key that is the same for equal calls: the name and the arguments, in whatever form they were written."""
    return call.name + json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def tool_digest(spec: ToolSpec) -> str:
    """Return the SHA-256 of a tool's declaration; it differs for a tool that accepts, does or reaches other things."""
    said = [spec.name, spec.purpose, spec.parameters, spec.address, spec.effects, spec.asks, spec.outside]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class _Plan:
    """The plan for running the calls of one pass."""

    finished: list[ToolFinished] = field(default_factory=list)
    """Calls that get their result without running."""
    groups: list[list[ToolCall]] = field(default_factory=list)
    """Calls to run: the groups in parallel, each one in its order."""
    twins: dict[str, list[ToolCall]] = field(default_factory=dict)
    """Signature of a call that runs → further calls of this pass with the same signature."""
    cleared: dict[str, Run] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)
    """Signatures of the allowed calls."""


@dataclass(eq=False, repr=False)
class CallRunner:
    """Runs the calls of each pass of one turn."""

    registry: ToolRegistry
    context: ToolContext
    _: KW_ONLY
    marker: str
    offered: Sequence[str]
    policy: CallPolicy
    calls_per_pass: int = LIMITS.calls_per_pass
    redact: redacted.Redact = redacted.redact_nothing
    permits: Permits = allow_everything
    """The rights of the person who asked."""
    decision: Decision | None = None
    """A person's decision about one call that has not run yet."""
    may_ask: bool = True
    """A person can be asked about further calls."""

    def __post_init__(self) -> None:
        self._clearance = Clearance(
            self.policy, (), self.context.person, self.registry.spec, self.permits, self.may_ask
        )
        self.context = replace(self.context, together=object())
        self._offered = set(self.offered)
        self._withheld = self._find_withheld()
        self._decided = {signature_of(self.decision.call): self.decision} if self.decision is not None else {}
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._early = EarlyCalls()
        self._results: dict[str, ToolResult] = {}
        self._seen: Counter[str] = Counter()
        """In how many passes a call was made."""
        self._failures: Counter[str] = Counter()
        self._failed_now: set[str] = set()
        """Tools that failed in this pass: in parallel they fail for one reason, and are corrected together."""
        self._told_of_cut = False
        self._stale_rounds = 0
        self._numbers = 0
        """Sources numbered so far."""
        self.used: list[str] = []
        """Names of the tools that ran, in order."""
        self.produced = False
        """A call produced a file, which people see."""
        self.asked: Asked | None = None
        """The call that a person must allow: the turn ends with that question."""
        self.over = False
        """The model repeats itself: the next pass is the last."""
        self.added: list[ToolSpec] = []
        """Tools that were not offered and that the model called: they are offered from the next pass on."""

    @property
    def withdrawn(self) -> frozenset[str]:
        """Tools that failed too often, and those that the model's latest input forbids."""
        failed = {name for name, count in self._failures.items() if count > CORRECTIONS}
        return frozenset(failed | self._withheld)

    def update_clearance(self, entries: Sequence[Entry]) -> None:
        """Record the model's present input, which decides about its next calls."""
        outside = self._clearance.outside
        person, spec_of = self.context.person, self.registry.spec
        self._clearance = Clearance(self.policy, tuple(entries), person, spec_of, self.permits, self.may_ask)
        if self._clearance.outside == outside:
            return  # no other input changes which tools are withheld
        self._withheld = self._find_withheld()
        if self._clearance.outside and self._withheld:
            names = ", ".join(sorted(self._withheld))
            log.info("tools withheld, because the conversation contains words from outside: %s", names)

    @property
    def origin(self) -> str:
        """The origin of the words that the model has read."""
        return self._clearance.origin

    def remember(self, ran: Iterable[tuple[ToolCall, ToolResult]]) -> None:
        """Take over the outcome of one pass's calls from before a restart."""
        self._failed_now.clear()
        ran = tuple(ran)
        self._seen.update({signature_of(call) for call, _ in ran})
        for call, result in ran:
            self._numbers = max(self._numbers, *(source.number for source in result.sources), 0)
            self._record(call, result)

    def entry_of(self, call: ToolCall, result: ToolResult, origin: str) -> ToolEntry:
        """Return the history entry of a result; `origin` is the origin of the words that led to the call."""
        return tool_entry(call, result, self.marker, origin)

    def begin(self, calls: Sequence[ToolCall]) -> EarlyCall | None:
        """Begin the last of `calls` while their pass still streams; return None if it must wait for the pass's end.

        It must be certain that `run` would make it, and it must have no effects: the pass may break off, and its second
        try may request something else. Nor does it begin before an earlier call with effects. `run` takes it over;
        `keep` and `aclose` end those that are not requested.
        """
        call = redacted.redact_call(calls[-1], self.redact)
        if call.problem or len(calls) > self.calls_per_pass or len(self._early) >= AT_ONCE:
            return None
        specs = [self.registry.spec(one.name) for one in calls]
        if any(spec is None or spec.effects for spec in specs):
            return None
        spec, key = specs[-1], signature_of(call)
        if call.name not in self._offered or call.name in self.withdrawn or key in self._results or key in self._early:
            return None
        assert spec is not None
        verdict = self._clearance.judge(spec, call)
        if not isinstance(verdict, Run):
            return None
        return self._early.begin(key, call, self._status_of(call), self._run_early(call, verdict))

    async def keep(self, calls: Sequence[ToolCall]) -> list[EarlyCall]:
        """End the early calls that are not among `calls`, the ones that their pass requests."""
        return await self._early.keep(calls, signature_of)

    async def aclose(self) -> None:
        """End every early call."""
        await self._early.close()

    async def run(self, calls: Sequence[ToolCall], *, cut: bool = False) -> AsyncGenerator[CallEvent, None]:
        """Run one pass's calls: in parallel, but those with effects one after another in their order.

        Yields events as they happen; every call gets exactly one `ToolFinished`. When this is cancelled, the closer of
        the iterator completes the rest as cancelled.

        Args:
            cut: the pass ended in the middle of a call. The model learns of it once; then its next pass is the last.
        """
        if cut and any(call.problem for call in calls):
            self.over = self.over or self._told_of_cut
            self._told_of_cut = True
        plan = self._plan(calls)
        queue: asyncio.Queue[CallEvent | None] = asyncio.Queue()
        for finished in plan.finished:
            queue.put_nowait(finished)

        async def run_all() -> None:
            try:
                async with asyncio.TaskGroup() as tasks:
                    for group in plan.groups:
                        tasks.create_task(self._run_group(group, plan, queue.put_nowait))
            finally:
                queue.put_nowait(None)

        task = asyncio.create_task(run_all(), name="tool calls")
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task
        finally:
            await end_tasks(task)
            self.context = replace(self.context, together=object())

    def _plan(self, calls: Sequence[ToolCall]) -> _Plan:
        """Decide about each call of a pass, and whether the model goes round in circles."""
        self._failed_now.clear()
        keys = {signature_of(call) for call in calls}
        fresh = not keys or any(not self._seen[key] for key in keys)
        self._stale_rounds = 0 if fresh else self._stale_rounds + 1
        self._seen.update(keys)
        self.over = self.over or self._stale_rounds >= 2 or any(self._seen[key] >= 3 for key in keys)
        plan = _Plan()
        in_order: list[ToolCall] = []
        for number, call in enumerate(calls):
            key = signature_of(call)
            if self._waits_for_server(call):
                continue
            spec = self.registry.spec(call.name)
            judged = key in self._early
            verdict = Run() if spec is None or judged else self._judge(spec, call)
            if (problem := self._find_problem(call, number, verdict)) is not None:
                plan.finished.append(ToolFinished(call, problem))
            elif key in self._results:
                plan.finished.append(ToolFinished(call, self._repeat(key)))
            elif isinstance(verdict, Ask):
                plan.finished.extend(self._ask(call, verdict))
            elif key in plan.twins:
                plan.twins[key].append(call)
            else:
                plan.twins[key] = []
                if isinstance(verdict, Run):
                    plan.cleared[key] = verdict
                if self._decided.pop(key, None) is not None:  # allowed once
                    plan.allowed.add(key)
                if spec is not None and spec.effects:
                    in_order.append(call)
                else:
                    plan.groups.append([call])
        if in_order:
            plan.groups.append(in_order)
        return plan

    def _waits_for_server(self, call: ToolCall) -> bool:
        """Keep an allowed call to ask about it again if its tool's server is not running."""
        key = signature_of(call)
        decision = self._decided.get(key)
        can = decision is not None and decision.allowed and self.may_ask and call.name in self.permits({call.name})
        if decision is None or not can or not self.registry.could_bring(call.name):
            return False
        log.warning("%s was not run: its server is not running", call.name)
        del self._decided[key]
        # It is not known for which of two reasons it asked before: the graver one is stated.
        self.asked = Asked(call, self.origin, decision.tool, outside=self._clearance.outside, not_up=True)
        return True

    def _judge(self, spec: ToolSpec, call: ToolCall) -> Verdict:
        key = signature_of(call)
        decision = self._decided.get(key)
        if decision is None or not decision.allowed or decision.tool == tool_digest(spec):
            return self._clearance.judge(spec, call, allowed=decision.allowed if decision is not None else None)
        log.warning("%s was not run: it has changed since it was allowed", call.name)
        del self._decided[key]
        verdict = self._clearance.judge(spec, call)
        return replace(verdict, changed=True) if isinstance(verdict, Ask) else verdict

    def _ask(self, call: ToolCall, verdict: Ask) -> Sequence[ToolFinished]:
        """Keep a call to ask a person about: the first of several, and never one that would fail at once."""
        prepared = self.registry.prepare(call)
        if isinstance(prepared, ToolResult):
            self._count_failure(call.name)
            return [ToolFinished(call, prepared)]
        if self.asked is not None:
            return [ToolFinished(call, ToolResult.failed(_ONE_AT_A_TIME.format(name=call.name)))]
        spec = self.registry.spec(call.name)
        assert spec is not None
        address = prepared.arguments.get(spec.address) if spec.address else None
        self.asked = Asked(
            prepared,
            self.origin,
            tool_digest(spec),
            host=wire_form(str(address)).partition("/")[0] if address is not None else "",
            outside=verdict.outside,
            changed=verdict.changed,
        )
        return []

    async def _run_group(self, group: Iterable[ToolCall], plan: _Plan, report: Callable[[CallEvent], None]) -> None:
        """Run calls one after another, and yield the events of each."""
        for call in group:
            key = signature_of(call)
            begun = self._early.take(key)
            gate: AbstractAsyncContextManager[None] = self._gate if begun is None else nullcontext()
            async with gate:
                status = begun.status if begun else self._status_of(call)
                spec = self.registry.spec(call.name)
                report(ToolStarted(call, status, key in plan.allowed, effects=bool(spec and spec.effects)))
                result = await (begun.task if begun else self._run_call(call, plan.cleared[key]))
            result, self._numbers = number_sources(result, self._numbers)
            self._record(call, result)
            report(ToolFinished(call, result, result.sources))
            for file in result.files:
                report(FileProduced(File(file.name, file.media_type, file.content)))
            for twin in plan.twins[key]:
                report(ToolFinished(twin, self._repeat(key) if result.ok else replace(result, dollars=0.0)))

    async def _run_call(self, call: ToolCall, verdict: Run) -> ToolResult:
        context = replace(self.context, outside=self._clearance.outside, follow=verdict.follow)
        return redacted.redact_result(await self.registry.run(call, context), self.redact)

    async def _run_early(self, call: ToolCall, verdict: Run) -> ToolResult:
        async with self._gate:
            return await self._run_call(call, verdict)

    def _status_of(self, call: ToolCall) -> str:
        return self.registry.status(_clean(call), self._failures[call.name] + 1, self.context.language)

    def _find_withheld(self) -> set[str]:
        closed = self._offered - self.permits(self._offered)
        return closed | self._clearance.withheld(self.registry.specs_of(self._offered))

    def _find_problem(self, call: ToolCall, number: int, verdict: Verdict) -> ToolResult | None:
        """Return the result for a call that is not run at all; None if it may run."""
        if isinstance(verdict, Refuse):
            return ToolResult.failed(verdict.reason, retry=False)
        if call.name not in self._offered and (problem := self._offer_from_now(call)) is not None:
            return problem
        if call.name in self.withdrawn:
            return ToolResult.failed(
                f"{call.name} is not available any more in this turn. Answer without it.", retry=False
            )
        if call.problem:
            self._count_failure(call.name)
            spec = self.registry.spec(call.name)
            wrong = describe_problem(call.name, call.problem, spec.parameters if spec is not None else {})
            return ToolResult.failed(wrong)
        if number >= self.calls_per_pass:
            return ToolResult.failed(
                f"Not run: at most {self.calls_per_pass} calls are made at once. Ask again for this one."
            )
        return None

    def _offer_from_now(self, call: ToolCall) -> ToolResult | None:
        """Offer a tool that exists: a model that calls it knows better than our choice. Return the result for a call
        whose arguments do not fit, which does not count as a failure: the model has not seen the tool's parameters."""
        spec = next((one for one in self.registry.specs() if one.name == call.name), None)
        if spec is None:
            names = ", ".join(sorted(self._offered - self.withdrawn)) or "none"
            return ToolResult.failed(f"There is no tool {call.name[:100]!r}. Available tools: {names}.")
        self._offered.add(call.name)
        self.added.append(spec)
        self._withheld = self._find_withheld()
        if call.problem:
            wrong = describe_problem(call.name, call.problem, spec.parameters)
            return ToolResult.failed(wrong)
        prepared = self.registry.prepare(call)
        return prepared if isinstance(prepared, ToolResult) else None

    def _record(self, call: ToolCall, result: ToolResult) -> None:
        self.used.append(call.name)
        self.produced = self.produced or bool(result.files)
        if result.ok:
            self._results[signature_of(call)] = result
        else:
            self._count_failure(call.name)

    def _count_failure(self, name: str) -> None:
        if name not in self._failed_now:
            self._failed_now.add(name)
            self._failures[name] += 1

    def _repeat(self, key: str) -> ToolResult:
        before = self._results[key]
        return replace(before, text=REPEATED + before.text, status=ToolStatus.CACHED, files=(), seconds=0.0)


def _clean(call: ToolCall) -> ToolCall:
    """Return a call for people to read, without invisible and deceptive characters."""
    return replace(call, name=clean_name(call.name), arguments={
        name: clean_name(value) if isinstance(value, str) else value for name, value in call.arguments.items()
    })  # fmt: skip
