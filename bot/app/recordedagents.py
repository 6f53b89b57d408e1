"""What happens while a recorded turn is repeated: what its agent does, when its person adds words, and stops it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final

from bot.agent import (
    Agent,
    Event,
    Failed,
    FileProduced,
    ForeignAgent,
    PassEnded,
    Task,
    TextDelta,
    TextWithdrawn,
    ToolFinished,
    ToolStarted,
)
from bot.app.recorded import Said, as_returned, is_same
from bot.app.recordedquestion import draw, question_as_read
from bot.context import user_entry
from bot.contract import (
    FOREIGN,
    AssistantEntry,
    ChatId,
    ControlPressed,
    File,
    MessageSent,
    SystemClock,
    TimerDue,
    UserEntry,
    answers,
)
from bot.model import is_loop
from bot.policy import Once
from bot.safety import enclosures
from bot.store import Recording, TurnState
from bot.turn import EndReason, TurnQueue, finish_told, is_said, is_stop_note
from tools.contract.base import ToolCall

_MORE: Final = " and so on"


def is_foreign(recording: Recording) -> bool:
    """Return True if an agent of another author answered."""
    return any(one.provider == FOREIGN for one in recording.passes)


def cut_short(recording: Recording) -> AssistantEntry | None:
    """Return what the model had written of the pass in which the turn was stopped or failed, its text without our note;
    None if no pass was under way."""
    last = recording.entries[-1]
    if not recording.ends_early or not isinstance(last, AssistantEntry) or last.provider:
        return None
    noted = is_stop_note(last.text)
    if recording.state is TurnState.FAILED:
        # Where nothing is shown nothing was written.
        noted = not recording.visible or (last.text[:1] == "(" and recording.visible.endswith(last.text[1:-1]))
    return AssistantEntry("" if noted else last.text)


def _has_open_call(recording: Recording) -> bool:
    return recording.ends_early and any(one.result is None for one in recording.calls)


def _is_broken(recording: Recording) -> bool:
    """Return True if our program failed, not a model or another agent: while calls ran, or after the last pass."""
    told = recording.failed
    if recording.state is not TurnState.FAILED or told is None or told["sentence"] != "failed" or is_foreign(recording):
        return False
    return _has_open_call(recording) or cut_short(recording) is None


def _is_unread(recording: Recording) -> bool:
    """Return True if the question was nothing but attachments that cannot be read: no model is asked."""
    return isinstance(recording.question, MessageSent) and enclosures.is_alone(question_as_read(recording))


def passes_of(recording: Recording) -> list[Said]:
    """Return what our model says in a turn, request by request; nothing for an agent of another author."""
    rest = cut_short(recording)
    ours = recording.passes[-1:] if recording.asked else []  # that a person is asked, not a model's words
    passes = recording.passes[:-1] if rest is not None or (ours and not ours[0].provider) else recording.passes
    if is_foreign(recording) or _is_unread(recording) or isinstance(recording.question, TimerDue):
        return []
    said = [Said(one, pictures=tuple(draw(each, recording) for each in one.pictures)) for one in passes]
    if said and recording.state is not TurnState.STOPPED and rest is None:
        last, finish = passes[-1], finish_told(recording.visible)
        if finish == "cut" and is_loop(last.written or last.text):
            pass  # the same again ends it
        elif finish == "cut":  # it had more to say
            longer = replace(last, text=last.text + _MORE, written=last.written and last.written + _MORE)
            said[-1] = replace(said[-1], entry=longer)
        else:
            said[-1] = replace(said[-1], finish=finish)
    if rest is not None and recording.state is TurnState.FAILED and not _is_broken(recording):
        # A model that breaks off is asked to go on, and is then refused.
        said += [Said(rest, fails=True)] if rest.text else []
        said.append(Said(AssistantEntry(""), fails=True))
    elif rest is not None and (rest.text or not _has_open_call(recording)):
        said.append(Said(rest, hangs=True))
    return said


def heard_in(recording: Recording) -> tuple[str, list[tuple[int, str]]]:
    """Return the question as its person first wrote it, and what they added, each with the number of passes before."""
    question, number, told = recording.question, 0, list[tuple[int, str]]()
    for one in recording.entries[1:]:
        number += isinstance(one, AssistantEntry)
        if isinstance(one, UserEntry):
            told.append((number, one.text))
    if not isinstance(question, MessageSent):
        return "", []
    alone = replace(question, enclosed=(), quoted=None, waited=0.0)
    parts, added = question.text.split("\n\n"), list[tuple[int, str]]()
    for place, text in reversed(told):
        count = next((count for count in range(1, len(parts)) if _is_told(alone, parts[-count:], text)), 0)
        if count:
            added.insert(0, (place, "\n\n".join(parts[-count:])))
            del parts[-count:]
    return "\n\n".join(parts), added


def _is_told(question: MessageSent, parts: Sequence[str], text: str) -> bool:
    """Return True if the model reads these paragraphs of a person as `text`."""
    return len("".join(parts)) <= len(text) and user_entry(replace(question, text="\n\n".join(parts))).text == text


class Script:
    """What comes from outside while turns are repeated, at the stored places: further words, and the stop."""

    def __init__(self, recording: Recording, say: Callable[[str], Awaitable[None]], stop: Callable[[], None]) -> None:
        """
        Args:
            say: delivers further words of the person.
            stop: stops the running turn.
        """
        self._turns = list(recording.all)
        self._say = say
        self._stop = stop
        self.once: Once | None = None
        """What the program has said already; set when it is open."""
        self._number = -1
        self._moved = asyncio.Event()
        self.asked = False

    def begin(self) -> Recording:
        """The next turn begins; return its recording."""
        self._number = min(self._number + 1, len(self._turns) - 1)
        one = self._turns[self._number]
        self._added, self._passes, self._finished, self._files = heard_in(one)[1], int(bool(one.kept)), 0, 0
        self._text, self._begun = list[str](), list[ToolCall]()
        self._names = {draw(each, one): each.name for made in one.passes for each in made.pictures}
        self.asked = False
        rest, passes = cut_short(one), [each for each in one.entries if isinstance(each, AssistantEntry)]
        self._rest = rest.text if rest is not None else ""
        self._until = len(passes) - (rest is not None)
        last = [each for each in one.calls if each.passnumber == self._until]
        self._cut = {each.call.id for each in last if each.result is None}
        self._results, self._attached = len(last) - len(self._cut), len(one.files)
        self._breaks = _is_broken(one)
        self._stops = one.state is TurnState.STOPPED or self._breaks
        self._waits = rest is not None and not self._rest and not _has_open_call(one)
        return one

    async def follow(self, answer: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Yield the events of an answer, as far as the turn went."""
        async with aclosing(answer) as events:
            async for event in events:
                if not self.is_too_late(event):
                    yield await self.as_stored(event)
                    await self.after(event)

    def is_too_late(self, event: Event) -> bool:
        """Return True if an event did not happen any more: the turn was stopped, or failed, before."""
        if not self._turns[self._number].ends_early or self._passes < self._until:
            return False
        if isinstance(event, FileProduced):
            return self._files >= self._attached
        return isinstance(event, ToolFinished) and event.call.id in self._cut

    async def after(self, event: Event) -> None:
        """Do what comes after an event that is stored and shown. Never returns after the last one before a stop.

        Raises:
            RuntimeError: it is the last one before the program failed, while calls ran.
        """
        match event:
            case TextDelta(text):
                self._text.append(text)
            case TextWithdrawn(count):
                del self._text[-count:]
            case PassEnded():
                self._passes, self._finished = self._passes + 1, 0
                self._text.clear()
                self._begun.clear()
                while self._added and self._added[0][0] == self._passes:
                    await self._say(self._added.pop(0)[1])
            case ToolStarted(call):
                self._begun.append(call)
                self._moved.set()
            case ToolFinished():
                self._finished += 1
            case FileProduced():
                self._files += 1
        if self.check():
            if self._breaks:
                raise RuntimeError("the program failed here, as it is recorded")
            await asyncio.Event().wait()

    async def as_stored(self, event: Event) -> Event:
        """Return what is stored in the place of an event that only looks like it: the reason of a failure, the names of
        pictures."""
        one = self._turns[max(0, self._number)]
        match event:
            case Failed(detail=detail) if one.failed is not None:
                failed = replace(Failed.from_json(one.failed, SystemClock().wall()), detail=detail)
                if not one.visible and self.once is not None:  # the person was told of a spent quota before
                    asked = one.question.there if isinstance(one.question, ControlPressed) else one.question
                    assert isinstance(asked, MessageSent)
                    await is_said(failed, asked, self.once)
                return failed
            case FileProduced(file):
                return FileProduced(replace(file, name=self._names.get(file.content, file.name)))
            case PassEnded(entry) if entry.pictures:
                named = (replace(one, name=self._names.get(one.content, one.name)) for one in entry.pictures)
                return replace(event, entry=replace(entry, pictures=tuple(named)))
        return event

    async def call_begins(self, call: ToolCall) -> None:
        """Wait until it is stored that a call of the pass began."""
        while not any(is_same(one, call) for one in self._begun):
            self._moved.clear()
            await self._moved.wait()

    def model_hangs(self) -> None:
        """The model has said what was stored of the last pass."""
        self.asked = True
        asyncio.get_running_loop().call_soon(self.check)

    def check(self) -> bool:
        """Stop the turn if everything has happened that happened before it was stopped; return True if it is."""
        if not self._stops or self._passes < self._until or self._finished < self._results:
            return False
        if self._files < self._attached or (self._waits and not self.asked):
            return False
        if "".join(self._text).strip() != self._rest:
            return False
        self._stops = False
        if not self._breaks:
            asyncio.get_running_loop().call_soon(self._stop)
        return True


@dataclass(frozen=True, slots=True)
class WatchedAgent(Agent):
    """Our agent, in a repeated turn."""

    script: Script = field(kw_only=True)

    def answer(self, task: Task) -> AsyncGenerator[Event, None]:
        self.script.begin()
        return self.script.follow(Agent.answer(self, task))


@dataclass(frozen=True, slots=True)
class WatchedForeignAgent(ForeignAgent):
    """An agent of another author, in a repeated turn."""

    script: Script = field(kw_only=True)

    def answer(self, task: Task) -> AsyncGenerator[Event, None]:
        one = self.script.begin()
        agent = ForeignAgent(self.name, RecordedAgent(one, self.script), self.clock, self.limits, self.redact)
        return self.script.follow(agent.answer(task))


def stop_running(queue: TurnQueue, chat: ChatId) -> None:
    """Stop the running turn of a chat, as its button does."""
    running = queue.find_running(chat) or queue.find_beside(chat)
    if running is not None:
        running.end(EndReason.STOPPED)


def watched(ours: Agent, recording: Recording, script: Script) -> Agent | ForeignAgent:
    """Return the agent that repeats a turn."""
    if is_foreign(recording):
        nobody = RecordedAgent(recording, script)
        return WatchedForeignAgent("recorded", nobody, SystemClock(), ours.limits, ours.redact, script=script)
    return WatchedAgent(ours.registry, ours.turns, ours.policy, ours.limits, ours.redact, script=script)


class RecordedAgent:
    """An agent of another author that yields again what is stored of one turn."""

    def __init__(self, recording: Recording, script: Script) -> None:
        self._recording = recording
        self._script = script

    async def answer(self, question: answers.Question) -> AsyncGenerator[answers.Event, None]:
        for event in self._events(question):
            yield event
        if self._recording.failed is not None:
            yield answers.Fault(detail="recorded")
        elif cut_short(self._recording) is not None or _has_open_call(self._recording):
            self._script.model_hangs()
            await asyncio.Event().wait()

    def _events(self, question: answers.Question) -> Iterator[answers.Event]:
        one, number = self._recording, 0
        calls = list(one.calls)
        for entry in one.entries:
            if not isinstance(entry, AssistantEntry):
                continue
            number += 1
            if entry.reasoning:
                yield answers.Thought(entry.reasoning)
            rest = cut_short(one) if entry is one.entries[-1] else None
            if text := entry.text if rest is None else rest.text:
                yield answers.Text(text)
            for call in entry.calls:
                made = answers.Call(id=call.id, name=call.name, arguments=call.arguments)
                if call.id == one.asked:
                    yield answers.Ask(call=made)
                    return
                record = next(each for each in calls if each.passnumber == number and each.call.id == call.id)
                yield answers.Call(id=call.id, name=call.name, arguments=call.arguments, effects=record.effects)
                if record.result is None:
                    continue
                result = as_returned(record)
                files = tuple(File(each.name, each.media_type, each.content) for each in result.files)
                yield answers.Result(id=call.id, text=result.text, ok=result.ok, files=files, sources=result.sources)
