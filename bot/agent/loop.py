"""The tool loop: a pass may ask for tools, the next pass answers from their results.

Knows neither chats nor pages. It reports what happens as events, and leaves nothing behind when it is closed.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from bot.agent.callpolicy import CallPolicy
from bot.agent.calls import CallRunner
from bot.agent.events import (
    EarlyCall,
    Event,
    Failed,
    Finished,
    ModelReplaced,
    PassEnded,
    ReasoningDelta,
    TextDelta,
    ToolFinished,
)
from bot.agent.nudges import CALL_CUT_OFF, CALL_UNREADABLE, GO_ON, LAST_PASS, announced_search, announces_search
from bot.context import ends_with_results, shortened
from bot.contract import (
    BEFORE_FIRST_PASS,
    AssistantEntry,
    ContextTooLong,
    Entry,
    ModelAway,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelRefused,
    ModelSlow,
    ToolEntry,
    Unaffordable,
    Usage,
    UserEntry,
)
from bot.model import Answer, CallPiece, Model, ReasoningPiece, Request, TextPiece, stream_of
from bot.policy import Permits, everything
from bot.safety import new_marker, redacted
from bot.toolsyntax import Call, Detector, Reasoning, Text
from tools.base import ToolCall, ToolContext, ToolResult, ToolSpec, ToolStatus
from tools.registry import ToolRegistry

CLASSICAL_ROUNDS = 2
"""One pass that calls and one that answers: with so few nobody expects more, and nothing is said at their end."""
GAP = "\n\n"
"""What stands between the texts of two passes."""


CallKey: TypeAlias = tuple[int, str]
"""The number of a pass, from 1, and a call's id: some servers call the first call of every pass `call_0`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question, ready to be asked."""

    entries: tuple[Entry, ...]
    """Everything the model is told before this turn's own passes: our words, the history, the question."""
    model: Model
    tools: tuple[ToolSpec, ...]
    """The tools offered; empty for a question that needs none."""
    permits: Permits = everything
    """What the person who asks may use: nothing else runs, whoever names it."""
    context: ToolContext
    deadline: float
    """Monotonic time at which the turn ends."""
    tool_choice: str = "auto"
    begin_with: ToolCall | None = None
    """A call that is made before the first pass: the person named it, or the question plainly needs it."""
    passes: tuple[AssistantEntry, ...] = ()
    """Passes already made before a restart, in order."""
    results: Mapping[CallKey, ToolResult] = field(default_factory=dict)
    """What their calls came to, where they have come to something."""
    outcome_unknown: frozenset[CallKey] = frozenset()
    """Calls with effects that had begun when the process died: not made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """How far one turn may go."""

    rounds: int = 5
    """Model calls a turn; the last one may call nothing."""
    calls_per_pass: int = 16
    output_chars: int = 40_000


@dataclass(slots=True)
class _Pass:
    """What one pass brought so far."""

    shown: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    text_calls: list[ToolCall] = field(default_factory=list)
    native_calls: list[ToolCall] = field(default_factory=list)
    """Those that were whole before the end."""
    answer: Answer | None = None
    pieced: bool = False
    """More than one model wrote it."""
    unread: bool = False
    """It held a written call that was cut off or beyond repair, or nothing but the marks around one."""
    shorter: tuple[Entry, ...] | None = None
    """What was left of the conversation for it to fit; the next pass begins from there."""

    @property
    def visible(self) -> str:
        return "".join(self.shown)

    def clear(self) -> None:
        """Forget a try that nobody saw anything of."""
        self.reasoning.clear()
        self.text_calls.clear()
        self.native_calls.clear()
        self.answer = None
        self.unread = False


class Agent:
    """Answers one task at a time, as often as asked; holds no state between tasks."""

    def __init__(
        self,
        registry: ToolRegistry,
        limits: AgentLimits | None = None,
        redact: redacted.Redact = redacted.redact_nothing,
        policy: CallPolicy | None = None,
    ) -> None:
        """
        Args:
            redact: takes secrets out of what a model wrote before it is kept or handed to a tool.
        """
        self._registry = registry
        self._limits = limits or AgentLimits()
        self._redact = redact
        self._policy = policy or CallPolicy()

    async def answer(self, task: Task) -> AsyncGenerator[Event, None]:
        """Work on `task` until `Finished` or `Failed`, always the last event.

        Closing the generator closes the model's stream and cancels running tools.
        """
        runner = CallRunner(
            self._registry,
            task.context,
            marker=new_marker(),
            offered=[spec.name for spec in task.tools],
            calls_per_pass=self._limits.calls_per_pass,
            redact=self._redact,
            policy=self._policy,
            permits=task.permits,
        )
        async with aclosing(runner), aclosing(self._work(task, runner)) as events:
            async for event in events:
                yield event

    async def _work(self, task: Task, runner: CallRunner) -> AsyncGenerator[Event, None]:
        entries = list(task.entries)
        shown_before = False
        for number, entry in enumerate(task.passes, 1):
            shown_before = shown_before or bool(entry.text)
            ran = [(call, task.results[number, call.id]) for call in entry.calls if (number, call.id) in task.results]
            runner.remember(ran)
            if number == len(task.passes):
                runner.told(_asked_with(entry, entries, task))
            entries.append(entry)
            if number < len(task.passes):
                entries.extend(runner.entry(call, result, entry.origin) for call, result in ran)
        if task.passes and task.passes[-1].calls:
            async with aclosing(self._resume(task, runner, entries)) as events:
                async for event in events:
                    yield event

        elif task.passes:
            # The answer was complete when the process died; only its last edit may be missing.
            if shown_before:
                yield Finished()
            else:
                yield Failed("empty", "the model gave no text before the restart")
            return

        if task.begin_with is not None and not task.passes:
            async with aclosing(self._begin(task, task.begin_with, runner, entries)) as events:
                async for event in events:
                    yield event
        number = sum(1 for entry in task.passes if entry.provider != BEFORE_FIRST_PASS)
        reminder, reminded = "", False
        while True:
            number += 1
            last = number >= self._limits.rounds or runner.over or not task.tools
            asked_for = number == 1 and task.begin_with is None
            if last and not asked_for:
                reminder = LAST_PASS
            runner.told(entries)
            request = self._request(task, entries, runner, last=last, first=asked_for, reminder=reminder)
            reminder = ""
            made = _Pass()
            failure: Failed | None = None
            async with aclosing(self._pass(task, request, made, runner, shown_before)) as events:
                async for event in events:
                    if isinstance(event, Failed):
                        failure = event
                    else:
                        yield event
            if failure is not None:
                for ended in await runner.keep(()):
                    yield ended
                yield failure
                return
            assert made.answer is not None
            shown_before = shown_before or bool(made.visible)
            if made.shorter is not None:
                entries = list(made.shorter)
            entry = redacted.redact_entry(self._entry(made, last=last, origin=runner.origin), self._redact)
            entries.append(entry)
            yield PassEnded(entry, made.answer.model, made.answer.usage)
            for ended in await runner.keep(entry.calls):
                yield ended
            if not entry.calls:
                reminder = "" if reminded or last else _reminder(made, made.answer)
                if reminder:
                    reminded = True
                    continue
                # Words of an earlier pass are an answer where the model was free to add to them, not where it had to.
                spent = self._limits.rounds > CLASSICAL_ROUNDS and number >= self._limits.rounds
                unfinished = spent or bool(made.answer.calls or made.text_calls)
                yield _end(made.answer, bool(made.visible) if last else shown_before, runner.used, unfinished)
                return
            results: dict[str, ToolEntry] = {}
            async with aclosing(runner.run(entry.calls, cut=_is_cut(made.answer))) as calls:
                async for happening in calls:
                    if isinstance(happening, ToolFinished):
                        results[happening.call.id] = runner.entry(happening.call, happening.result, entry.origin)
                    yield happening
            entries.extend(results[call.id] for call in entry.calls)

    async def _begin(
        self, task: Task, call: ToolCall, runner: CallRunner, entries: list[Entry]
    ) -> AsyncGenerator[Event, None]:
        """Make a call that no model asked for, and put it before the model as if it had."""
        entry = AssistantEntry(text="", calls=(call,), provider=BEFORE_FIRST_PASS, origin=task.context.person)
        runner.told(_asked_with(entry, entries, task))
        yield PassEnded(entry, "", Usage())
        entries.append(entry)
        async with aclosing(runner.run(entry.calls)) as calls:
            async for happening in calls:
                if isinstance(happening, ToolFinished):
                    entries.append(runner.entry(happening.call, happening.result, entry.origin))
                yield happening

    async def _resume(self, task: Task, runner: CallRunner, entries: list[Entry]) -> AsyncGenerator[Event, None]:
        """Complete the calls of the last pass before a restart: stored results stay, the rest run."""
        number, calls, origin = len(task.passes), task.passes[-1].calls, task.passes[-1].origin
        results: dict[str, ToolEntry] = {}
        again: list[ToolCall] = []
        for call in calls:
            result = task.results.get((number, call.id))
            if result is None and (number, call.id) in task.outcome_unknown:
                result = ToolResult(
                    text="Error: the program was restarted during this call; its outcome is unknown. "
                    "Do not repeat it; tell the person.",
                    ok=False,
                    status=ToolStatus.FAILED,
                    retry=False,
                    own_words=True,
                )
                yield ToolFinished(call, result)
            if result is None:
                again.append(call)
            else:
                results[call.id] = runner.entry(call, result, origin)
        async with aclosing(runner.run(again)) as happenings:
            async for happening in happenings:
                if isinstance(happening, ToolFinished):
                    results[happening.call.id] = runner.entry(happening.call, happening.result, origin)
                yield happening
        entries.extend(results[call.id] for call in calls)

    def _request(
        self, task: Task, entries: list[Entry], runner: CallRunner, *, last: bool, first: bool, reminder: str
    ) -> Request:
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
            max_output_chars=self._limits.output_chars,
            reminder=reminder,
        )

    async def _pass(
        self, task: Task, request: Request, made: _Pass, runner: CallRunner, shown_before: bool
    ) -> AsyncGenerator[TextDelta | ReasoningDelta | EarlyCall | ModelReplaced | Failed, None]:
        """One model call, made again once when it fails before anybody saw a word of it.

        When it fails later, a model that stands behind it goes on from what was seen.
        """
        entries, attempt, begun = request.entries, 0, len(task.entries)
        while True:
            attempt += 1
            try:
                async with aclosing(self._stream(task, request, made, runner, shown_before)) as deltas:
                    async for delta in deltas:
                        yield delta
            except (ModelBusy, ModelDropped, ModelSlow, ContextTooLong) as error:
                if isinstance(error, ContextTooLong) and not made.shown:
                    shorter = shortened(request)
                    if shorter is not None:
                        request = shorter
                        entries = made.shorter = request.entries
                        runner.told(entries)
                        made.clear()
                        continue
                if made.shown and error.failed:
                    written = (AssistantEntry(text=made.visible), UserEntry(GO_ON))
                    request = replace(request, entries=(*entries, *written), after=error.failed)
                    made.clear()
                    made.pieced = True
                    yield ModelReplaced()
                    continue
                # A slow model is waited for again only where there are results to lose.
                again = isinstance(error, ModelDropped) or (isinstance(error, ModelSlow) and len(entries) > begun)
                if attempt == 1 and not made.shown and again:
                    made.clear()
                    continue
                yield _failure(error, results=ends_with_results(request.entries))
                return
            except ModelError as error:
                yield _failure(error)
                return
            return

    async def _stream(
        self, task: Task, request: Request, made: _Pass, runner: CallRunner, shown_before: bool
    ) -> AsyncGenerator[TextDelta | ReasoningDelta | EarlyCall, None]:
        """Read one stream: visible text and reasoning come out, calls written as text stay in `made`.

        A whole call that the end of the stream would run begins at once, if it may.
        """
        detector = Detector({spec.name: spec.parameters for spec in (*task.tools, *request.tools)})

        def begun(calls: Sequence[ToolCall]) -> list[TextDelta | ReasoningDelta | EarlyCall]:
            early = None if request.tool_choice == "none" or not request.tools else runner.begin(calls)
            return [early] if early is not None else []

        def sort(
            items: Sequence[Text | Reasoning | Call], prompted: bool = False
        ) -> list[TextDelta | ReasoningDelta | EarlyCall]:
            deltas: list[TextDelta | ReasoningDelta | EarlyCall] = []
            for item in items:
                match item:
                    case Text(text) if text:
                        # Two passes' texts are two paragraphs.
                        gap = GAP if shown_before and not made.shown else ""
                        made.shown.append(text)
                        deltas.append(TextDelta(gap + text))
                    case Reasoning(text):
                        made.reasoning.append(text)
                        deltas.append(ReasoningDelta(text))
                    case Call(name, arguments, problem=problem):
                        identifier = f"call_{secrets.token_hex(6)}"
                        made.text_calls.append(ToolCall(identifier, name, arguments, problem))
                        if prompted:  # else native calls may follow, and then these are not run
                            deltas += begun(made.text_calls)
                    case _:
                        pass
            return deltas

        with closing(detector):
            async with aclosing(stream_of(task.model, request)) as pieces:
                async for piece in pieces:
                    match piece:
                        case TextPiece(text, prompted):
                            for delta in sort(detector.feed(text), prompted):
                                yield delta
                        case ReasoningPiece(text):
                            made.reasoning.append(text)
                            yield ReasoningDelta(text)
                        case CallPiece(call):
                            made.native_calls.append(call)
                            for delta in begun(made.native_calls):
                                yield delta
                        case Answer():
                            made.answer = piece
            if made.answer is None:
                raise ModelDropped("the model's stream ended without an answer")
            for delta in sort(detector.finish(cut=made.answer.finish in ("length", "cut", "content_filter"))):
                yield delta
        said = bool(made.shown or made.text_calls or made.reasoning)
        made.unread = bool(detector.dropped) or (bool(made.answer.text.strip()) and not said)

    @staticmethod
    def _entry(made: _Pass, *, last: bool, origin: str) -> AssistantEntry:
        """What history keeps of a pass. Native calls win over calls written as text; the last pass calls nothing."""
        answer = made.answer
        assert answer is not None
        native = bool(answer.calls)
        calls: tuple[ToolCall, ...] = ()
        if not last:
            calls = answer.calls or tuple(made.text_calls)
        wrote = bool(calls) and not native
        return AssistantEntry(
            text=made.visible,
            calls=calls,
            native=native or not wrote,
            written=answer.text if wrote else "",
            reasoning="".join(made.reasoning),
            provider=answer.provider if native == bool(calls) and not made.pieced else "",
            raw=answer.raw if native == bool(calls) and not made.text_calls and not made.pieced else {},
            origin=origin,
        )


def _asked_with(entry: AssistantEntry, entries: Sequence[Entry], task: Task) -> Sequence[Entry]:
    """What led to the calls of a pass: what its model was told, or the word of the person who named them."""
    return (UserEntry("", origin=entry.origin),) if entry.provider == BEFORE_FIRST_PASS else entries


def _failure(error: ModelError, *, results: bool = False) -> Failed:
    """What the person and the operator are told of a model that does not answer."""
    match error:
        case ModelAway():
            key = "away"
        case ModelBusy():
            key = "busy"
        case ModelSlow():
            key = "slow"
        case ModelRefused():
            key = "refused"
        case ContextTooLong(window=window):
            key = "too_much_found" if results else "too_long"
            return Failed(key, str(error), window=window)
        case Unaffordable(whose=whose, until=until):
            return Failed(f"spent_{whose}", str(error), retry=False, until=until)
        case _:
            key = "dropped"
    return Failed(key, str(error), retry=not isinstance(error, ModelRefused))


def _is_cut(answer: Answer) -> bool:
    """Its server ended it in the middle."""
    return answer.finish in ("length", "content_filter")


def _reminder(made: _Pass, answer: Answer) -> str:
    """What a model is told whose reply, without a call, is no answer yet; empty where it is one."""
    if made.unread and answer.finish != "cut":
        return CALL_CUT_OFF if _is_cut(answer) else CALL_UNREADABLE
    if not _is_cut(answer) and announces_search(made.visible):
        return announced_search(native=answer.native)
    return ""


def _end(answer: Answer, shown: bool, used: Sequence[str], unfinished: bool) -> Finished | Failed:
    """How the last pass ended, as the person must know it.

    Args:
        unfinished: the model might have gone on, but it may call nothing any more.
    """
    cut = {"length": "length", "cut": "cut", "content_filter": "filtered"}.get(answer.finish, "")
    cut = cut or ("rounds" if unfinished else "")
    if shown:
        return Finished(cut)
    if used:
        return Failed("empty_after_tools", "the model gave no text after its tools", tools=tuple(dict.fromkeys(used)))
    return Failed("filtered" if cut == "filtered" else "empty", f"the model gave no text (finish {answer.finish!r})")
