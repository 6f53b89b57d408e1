"""An agent of another author in the place of ours: its events become the events of our own tool loop.

It runs its own tools. Each call is a pass of its own, stored before the agent goes on, so that after a restart it is
handed what it had said and what its calls had done; see `bot.contract.answers`.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from bot.agent.driving import AgentFailed, Driver
from bot.agent.events import (
    Asked,
    Event,
    Failed,
    FileProduced,
    Finished,
    PassEnded,
    ReasoningDelta,
    StateKept,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from bot.agent.nudges import NOT_ENDED, OUTCOME_UNKNOWN
from bot.agent.task import Decision, Meter, Task
from bot.contract import (
    FOREIGN,
    LIMITS,
    OUTSIDE,
    AssistantEntry,
    Clock,
    Entry,
    File,
    Limits,
    SystemEntry,
    ToolEntry,
    Unaffordable,
    Usage,
    answers,
    join_origins,
)
from bot.safety import clean_name, number_sources, redacted
from tools.contract.base import ProducedFile, ToolCall, ToolResult, ToolStatus

log = logging.getLogger(__name__)

MOST_REFUSED = 8
"""Questions to a person in one answer where nobody can be asked; each is answered with a refusal."""
MOST_CALLS = 500
"""Calls in one answer: each is kept with its result."""
_LONGEST_DETAIL = 300
_LONGEST_STATUS = 120
_LEFT_OPEN = "Error: the agent ended without a result of this call."
_REFUSED = "Not run: the person refused it."
_NOBODY = "Error: this needs a person's consent, and nobody can be asked here. It was not done."


def tool_digest(agent: str, name: str) -> str:
    """Return the digest of an agent's tool, which declares nothing: the same as long as both names are."""
    return hashlib.sha256(f"{agent}\n{name}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ForeignAgent:
    """Answers tasks like `Agent`, by an agent of another author; holds no state between tasks."""

    name: str
    """As the operator wrote it: `module:object`, or the name of an entry point."""
    agent: answers.Answers
    clock: Clock
    limits: Limits = LIMITS
    redact: redacted.Redact = redacted.redact_nothing

    @property
    def works_long(self) -> bool:
        """Return True if each of its answers is a job."""
        return bool(getattr(self.agent, "job", False))

    async def answer(self, task: Task) -> AsyncGenerator[Event, None]:
        """Work on `task` until `Finished` or `Failed`, always the last event.

        Closing the generator ends the agent, or leaves it behind if it does not end.
        """
        if task.passes and not task.passes[-1].calls:
            # The answer was complete when the process died; only its last edit may be missing.
            yield Finished()
            return
        translation = _Translation(self, task)
        for event in translation.resume():
            yield event
        failure: Failed | None = None
        try:
            async with aclosing(self._ask(task, translation)) as events:
                async for event in events:
                    yield event
        except Unaffordable as error:
            failure = Failed(f"spent_{error.whose}", str(error), retry=False, until=error.until)
        except TimeoutError:
            failure = Failed("slow", f"the agent {self.name} did not end in time")
        except AgentFailed as error:
            log.exception("turn %s: the agent %s failed", task.turn, self.name)
            failure = Failed("failed", f"the agent {self.name} failed: {error}")
        finally:
            if task.meter is not None:
                await task.meter.close()
        if failure is not None:
            yield failure

    async def _ask(self, task: Task, translation: _Translation) -> AsyncGenerator[Event, None]:
        """Ask the agent, again where it has a question that nobody can be asked; the last event ends the turn.

        Raises:
            Unaffordable: a quota is used up.
            TimeoutError: the turn's time is over.
            AgentFailed: the agent failed.
        """
        question = _to_question(task, self)
        for _ in range(MOST_REFUSED):
            if task.meter is not None:
                await task.meter.reserve()
            async with Driver(self.name, self.agent, question, self.clock) as driver:
                while (event := await driver.next(task.deadline - self.clock.monotonic())) is not None:
                    event = translation.shorten(event)
                    if task.meter is not None:
                        await _pay(task.meter, event)
                    for shown in translation.take(event):
                        yield shown
                        if isinstance(shown, Finished | Failed):
                            return
                    if task.meter is not None and isinstance(event, answers.Result):
                        await task.meter.read(event.text)  # what a call came to is kept, whoever may not go on
                    if translation.refused is not None:
                        break
                else:
                    for shown in translation.end():
                        yield shown
                    return
            question = replace(_to_question(translation.done, self), decision=translation.refused)
            translation.refused = None
        raise AgentFailed("it asks a person again and again, where nobody can be asked")


class _Translation:
    """Translates the events of one answer, and keeps what was done."""

    def __init__(self, agent: ForeignAgent, task: Task) -> None:
        self._agent = agent
        self._task = task
        self._decision = _live_decision(task, agent.name)
        self._ran = False
        """The allowed call has begun."""
        self._open: dict[str, tuple[ToolCall, float]] = {}
        """Calls without a result, with the time at which each began."""
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._room = agent.limits.answer_chars - sum(len(entry.text) for entry in task.passes)
        self._thinks = agent.limits.answer_chars
        self._used, self._model = Usage(), ""
        self._dollars: float | None = None
        self._origin = OUTSIDE if task.results else join_origins(entry.origin for entry in task.entries)
        self._numbers = max((one.number for result in task.results.values() for one in result.sources), default=0)
        self._passes = list(task.passes)
        self._results = dict(task.results)
        self.refused: answers.Decision | None = None
        """The agent has a question, and nobody can be asked."""

    @property
    def done(self) -> Task:
        """The task with what has been done by now, as after a restart."""
        return replace(self._task, passes=tuple(self._passes), results=self._results)

    def resume(self) -> Iterator[Event]:
        """End the calls that a restart left open: the agent is told what is known of each."""
        for number, entry in enumerate(self._task.passes, 1):
            for call in entry.calls:
                if (number, call.id) not in self._task.results:
                    text = OUTCOME_UNKNOWN if (number, call.id) in self._task.outcome_unknown else NOT_ENDED
                    yield ToolFinished(call, ToolResult.failed(text, retry=False))

    def shorten(self, event: answers.Event) -> answers.Event:
        """Return an event without what nobody can be shown: a text may be a hundred million characters long."""
        match event:
            case answers.Text(text) if len(text) > self._room:
                return answers.Text(text[: max(0, self._room) + 1])
            case answers.Thought(text) if len(text) > self._thinks:
                return answers.Thought(text[: self._thinks])
            case answers.Result(text=text, sources=sources):
                most = answers.LONGEST_SOURCE
                listed = [replace(one, title=one.title[:most], url=one.url[:most]) for one in sources]
                shown = tuple(listed[: answers.MOST_SOURCES])
                return replace(event, text=text[: answers.MOST_STATE], sources=shown)
            case answers.Fault(detail=detail):
                return replace(event, detail=detail[:_LONGEST_DETAIL])
        return event

    def take(self, event: answers.Event) -> Iterator[Event]:
        """Yield what one event of the agent means; `Finished` and `Failed` end the answer."""
        match event:
            case answers.Text(text):
                yield from self._say(self._agent.redact(text), more=len(text) > self._room)
            case answers.Thought(text) if text:
                thought = self._agent.redact(text)
                self._thinks -= len(text)
                self._thoughts.append(thought)
                yield ReasoningDelta(thought)
            case answers.Call():
                yield from self._begin(event)
            case answers.Result():
                yield from self._finish(event)
            case answers.Used():
                self._used += Usage(event.prompt, event.completion, event.cached)
                self._model = event.model or self._model
                self._dollars = self._dollars if event.dollars is None else (self._dollars or 0.0) + event.dollars
            case answers.Checkpoint(state):
                yield StateKept(state)
            case answers.Ask():
                yield from self._ask(event)
            case answers.Fault():
                detail = self._agent.redact(event.detail)
                sentence = "failed" if event.retry else "failed_for_good"
                yield Failed(sentence, f"the agent {self._agent.name}: {detail}", retry=event.retry)

    def end(self) -> Iterator[Event]:
        """Yield the end of an answer that is complete."""
        yield from self._end_open()
        yield self._end_pass()
        yield Finished()

    def _say(self, text: str, *, more: bool) -> Iterator[Event]:
        said = text[: max(0, self._room)]
        if said:
            self._room -= len(said)
            self._text.append(said)
            yield TextDelta(said)
        if more or len(said) < len(text):
            yield from self._end_open()
            yield self._end_pass()
            yield Finished("cut")

    def _begin(self, event: answers.Call) -> Iterator[Event]:
        call = self._to_call(event)
        if len(self._passes) >= MOST_CALLS:
            raise AgentFailed(f"it made more than {MOST_CALLS} calls")
        if (other := self._open.pop(call.id, None)) is not None:
            yield self._file(other[0], ToolResult.failed(_LEFT_OPEN, retry=False))
        decision = self._decision
        decided = decision is not None and call.id == decision.asked_as
        if decision is not None and decided:
            asked = (decision.call.name, decision.call.arguments)
            if not decision.allowed or asked != (call.name, call.arguments) or self._ran:
                detail = f"the agent {self._agent.name} calls {call.name} as nobody has allowed it"
                yield Failed("failed", detail, retry=False)
                return
            self._ran = True
        yield self._end_pass(call)
        self._open[call.id] = (call, self._agent.clock.monotonic())
        status = event.status[: answers.LONGEST_NAME] or f"🔧 {call.name}…"
        yield ToolStarted(
            call, clean_name(self._agent.redact(status))[:_LONGEST_STATUS], allowed=decided, effects=event.effects
        )

    def _finish(self, event: answers.Result) -> Iterator[Event]:
        call, since = self._open.pop(event.id, (None, 0.0))
        if call is None:
            log.warning("the agent %s ended a call that it had not begun", self._agent.name)
            return
        result = redacted.redact_result(
            ToolResult(
                text=event.text,
                ok=event.ok,
                status=ToolStatus.COMPLETED if event.ok else ToolStatus.FAILED,
                sources=tuple(event.sources),
                files=tuple(ProducedFile(file.name, file.media_type, file.content) for file in event.files),
                untrusted=True,
                seconds=self._agent.clock.monotonic() - since,
            ),
            self._agent.redact,
        )
        result, self._numbers = number_sources(result, self._numbers)
        self._origin = OUTSIDE
        yield self._file(call, result)
        for file in result.files:
            yield FileProduced(File(file.name, file.media_type, file.content))

    def _ask(self, event: answers.Ask) -> Iterator[Event]:
        call = self._to_call(event.call)
        named = self._open.pop(call.id, None)
        yield from self._end_open()
        if named is None or named[0] != call:  # else the agent has yielded the call itself, too
            yield self._end_pass(call)
        if not self._task.may_ask:
            self.refused = answers.Decision(call=event.call, allowed=False, state=event.state)
            yield self._file(call, ToolResult.failed(_NOBODY, retry=False))
            return
        yield Finished(asks=Asked(call, self._origin, tool_digest(self._agent.name, call.name), state=event.state))

    def _end_open(self) -> Iterator[Event]:
        """End the calls that the agent left open."""
        for call, _ in self._open.values():
            yield self._file(call, ToolResult.failed(_LEFT_OPEN, retry=False))
        self._open.clear()

    def _end_pass(self, *calls: ToolCall) -> PassEnded:
        """Return the end of a pass: the text since the last one, and at most one call."""
        entry = AssistantEntry(
            text="".join(self._text),
            calls=calls,
            reasoning="".join(self._thoughts),
            provider=FOREIGN,
            origin=self._origin,
        )
        entry = redacted.redact_entry(entry, self._agent.redact)
        ended = PassEnded(entry, self._model or self._agent.name, self._used, dollars=self._dollars)
        self._text.clear()
        self._thoughts.clear()
        self._used, self._dollars = Usage(), None
        self._passes.append(entry)
        return ended

    def _file(self, call: ToolCall, result: ToolResult) -> ToolFinished:
        """Return the end of a call: the newest pass with its id has the result."""
        number = max(place for place, entry in enumerate(self._passes, 1) if call in entry.calls)
        self._results[number, call.id] = result
        return ToolFinished(call, result, result.sources)

    def _to_call(self, event: answers.Call) -> ToolCall:
        return redacted.redact_call(ToolCall(event.id, event.name, dict(event.arguments)), self._agent.redact)


async def _pay(meter: Meter, event: answers.Event) -> None:
    match event:
        case answers.Used(model=model, prompt=prompt, completion=completion, cached=cached, dollars=dollars):
            await meter.settle(model, Usage(prompt, completion, cached), dollars)
        case answers.Text(text) | answers.Thought(text):
            await meter.reserve(text)


def _live_decision(task: Task, agent: str) -> Decision | None:
    """Return the decision that the agent acts on; None if its call began before a restart: it runs once."""
    decision = task.decision
    if decision is None or any(call.id == decision.asked_as for entry in task.passes for call in entry.calls):
        return None
    if decision.allowed and decision.tool != tool_digest(agent, decision.call.name):
        log.warning("%s is not run: another agent asked about it", decision.call.name)
        return replace(decision, allowed=False)
    return decision


def _to_question(task: Task, agent: ForeignAgent) -> answers.Question:
    system = [entry.text for entry in task.entries if isinstance(entry, SystemEntry)]
    told = [_to_message(entry) for entry in task.entries if not isinstance(entry, SystemEntry)]
    done, decision = _done_before(task), _live_decision(task, agent.name)
    if decision is not None and not decision.allowed and done:
        # The agent's state knows nothing of what was done since: it is told both.
        done, decision = [*_refusal(decision), *done], None
    return answers.Question(
        turn=f"t{task.turn}",
        attempt=task.attempt,
        chat=task.context.scope,
        person=task.context.person,
        name=task.name,
        language=task.context.language,
        zone=task.context.zone,
        instructions="\n\n".join(system),
        messages=tuple(_name_calls_apart([*told, *done])),
        done=len(done),
        files=task.files,
        decision=None
        if decision is None
        else answers.Decision(
            call=answers.Call(id=decision.asked_as, name=decision.call.name, arguments=decision.call.arguments),
            allowed=decision.allowed,
            state=decision.state,
        ),
        checkpoint=task.checkpoint,
        seconds=task.deadline - agent.clock.monotonic(),
    )


def _done_before(task: Task) -> list[answers.Message]:
    """Return what the turn did before a restart; a call without a known outcome has a message of its own as well."""
    done = []
    for number, entry in enumerate(task.passes, 1):
        done.append(_to_message(entry))
        for call in entry.calls:
            result = task.results.get((number, call.id))
            unknown = OUTCOME_UNKNOWN if (number, call.id) in task.outcome_unknown else NOT_ENDED
            text, ok = (result.text, result.ok) if result is not None else (unknown, None)
            done.append(answers.Message(role="tool", text=text, call=call.id, ok=ok))
    return done


def _refusal(decision: Decision) -> tuple[answers.Message, answers.Message]:
    call = answers.Call(id=decision.asked_as, name=decision.call.name, arguments=decision.call.arguments)
    refused = answers.Message(role="tool", text=_REFUSED, call=call.id, ok=False)
    return answers.Message(role="assistant", calls=(call,)), refused


def _name_calls_apart(messages: list[answers.Message]) -> Iterator[answers.Message]:
    """Yield messages in which every call has an id of its own: a decided call has that of the one that asked, and some
    servers number the calls of each answer from 0. Frameworks drop what seems to be there twice."""
    counts = Counter[str]()
    names: dict[str, str] = {}
    for message in messages:
        for call in message.calls:
            counts[call.id] += 1
            names[call.id] = call.id if counts[call.id] == 1 else f"{call.id}_{counts[call.id]}"
        calls = tuple(replace(call, id=names[call.id]) for call in message.calls)
        yield replace(message, calls=calls, call=names.get(message.call, message.call))


def _to_message(entry: Entry) -> answers.Message:
    match entry:
        case AssistantEntry(text, calls):
            told = tuple(answers.Call(id=call.id, name=call.name, arguments=call.arguments) for call in calls)
            return answers.Message(role="assistant", text=text, calls=told)
        case ToolEntry(call_id, text=text, ok=ok):
            return answers.Message(role="tool", text=text, call=call_id, ok=ok)
        case _:
            return answers.Message(role="user", text=entry.text)
