"""One pass: the model is asked, and what it streams is sorted into text, reasoning and calls.

A model that fails before anybody saw a word of it is asked again; one that fails later is replaced by the next one, or
asked to go on where none stands behind it.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, aclosing, closing
from dataclasses import replace
from typing import Final, TypeAlias

from bot.agent.calls import CallRunner
from bot.agent.events import (
    EarlyCall,
    Failed,
    FileProduced,
    ModelReplaced,
    ReasoningDelta,
    TextDelta,
    TextWithdrawn,
)
from bot.agent.nudges import CALL_UNREADABLE, GO_ON
from bot.agent.task import Task
from bot.context import ends_with_results, shorten
from bot.contract import (
    AccountEmpty,
    AssistantEntry,
    CallRefused,
    ContentRefused,
    ContextTooLong,
    Entry,
    File,
    ModelAway,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelRefused,
    ModelSlow,
    Picture,
    ToolEntry,
    Unaffordable,
    UserEntry,
)
from bot.model import Answer, AskedAgain, CallPiece, ReasoningPiece, Request, TextPiece
from bot.safety import shows_nothing
from bot.toolsyntax import Call, Detector, Piece, Reasoning, Schema, Text, Withdrawn
from tools.contract.base import ToolCall

_MOST_DECLARED: Final = 3
"""Tools that are declared one after the other because the server refused calls of them."""
GAP = "\n\n"
"""Separates the texts of two passes."""

_SENTENCES: Final = (
    (ModelAway, "away"),
    (ModelBusy, "busy"),
    (ModelSlow, "slow"),
    (ContentRefused, "content_refused"),
    (AccountEmpty, "no_money"),
    (ModelRefused, "refused"),
)
"""Which sentence a person reads, by the first of these that an error is."""

PICTURE: Final = "🖼️"
"""Stands for the text of an answer that is only pictures."""
_MOST_UNSEEN: Final = 200
"""Characters that are held back because nothing can be seen in them."""
_UNDECIDED: Final = re.compile(r"(?:<!?-?|&#?\w{0,30})\Z")
"""What could still become an HTML comment or the name of a character."""

_ENDS_WORD: Final = re.compile(r"[\w,.;:!?)\]\"'](?<![\u2e80-\uffff])\Z")
_BEGINS_WORD: Final = re.compile(r"[^\W\d_](?<![\u2e80-\uffff])")

log = logging.getLogger(__name__)
_NAMED: set[tuple[str, str]] = set()
"""Models and unknown tokens that the log has named."""
_MOST_NAMED: Final = 100

Delta: TypeAlias = TextDelta | TextWithdrawn | ReasoningDelta | EarlyCall | FileProduced


class ModelPass:
    """One pass of a turn, and what it brought so far."""

    def __init__(self, task: Task, request: Request, runner: CallRunner, *, shown_before: bool) -> None:
        """
        Args:
            runner: begins early calls, and is told of what the model is told when that gets shorter.
            shown_before: earlier passes of this turn showed text.
        """
        self._task = task
        self._request = request
        self._runner = runner
        self._shown_before = shown_before
        self._shown: list[str] = []
        self._unseen = ""
        """The beginning of the text, as long as nothing can be seen in it."""
        self._begun = 0
        """How many of these were shown before the model that writes now."""
        self._spaces = ""
        """The whitespace at the end of what the model wrote."""
        self._wrote = True
        """The model that writes now wrote more than whitespace."""
        self._seam: str | None = None
        """The whitespace before what the model writes next, where it goes on with its text."""
        self._reasoning: list[str] = []
        self._text_calls: list[ToolCall] = []
        self._native_calls: list[ToolCall] = []
        """Those that were whole before the end."""
        self._pieced = False
        """More than one model wrote it."""
        self.answer: Answer | None = None
        self.failure: Failed | None = None
        """Why there is no answer; the last that `run` does is to set this or `answer`."""
        self.unread = False
        """True if the answer held a written call that was cut off or beyond repair, or only the marks around a call."""
        self.shorter: tuple[Entry, ...] | None = None
        """The shortened conversation, if the model refused the whole one as too long; the next pass begins with it."""

    @property
    def visible(self) -> str:
        """The text that a person saw of it."""
        return "".join(self._shown)

    @property
    def has_calls(self) -> bool:
        """Whether the model asked for calls, also for ones that will not run."""
        return bool(self._text_calls or (self.answer and self.answer.calls))

    @property
    def told_results(self) -> bool:
        """Whether the model was told results of tools, of this turn or of an earlier one."""
        return any(isinstance(entry, ToolEntry) for entry in self._request.entries)

    def to_entry(self, *, last: bool, origin: str) -> AssistantEntry:
        """Return the pass as a history entry. Native calls win over calls in text; the last pass calls nothing."""
        answer = self.answer
        assert answer is not None
        native = bool(answer.calls)
        calls: tuple[ToolCall, ...] = ()
        if not last:
            calls = answer.calls or tuple(self._text_calls)
        wrote = bool(calls) and not native
        whole = native == bool(calls) and not self._pieced
        return AssistantEntry(
            text=self.visible,
            calls=calls,
            native=native or not wrote,
            written=answer.text if wrote else "",
            reasoning="".join(self._reasoning),
            provider=answer.provider if whole else "",
            raw=answer.raw if whole and not self._text_calls else {},
            origin=origin,
            pictures=tuple(Picture(0, one.media_type, one.content, one.name) for one in answer.pictures),
        )

    async def run(self) -> AsyncGenerator[Delta | ModelReplaced, None]:
        """Ask the model, once more when it fails before anybody saw a word of it.

        When it fails later, a model that stands behind it goes on from what was seen, else the same one, once.
        """
        request, tries = self._request, 0
        # Not the error itself: it would hold this frame, which holds it.
        broke: Failed | None = None
        asked_again = False
        entries, begun = request.entries, len(self._task.entries)
        while True:
            tries += 1
            try:
                async with aclosing(self._stream(request)) as deltas:
                    async for delta in deltas:
                        yield delta
            except (ModelBusy, ModelDropped, ModelSlow, ContextTooLong) as error:
                if isinstance(error, ContextTooLong) and not self._shown:
                    shorter = shorten(request)
                    if shorter is not None:
                        request = shorter
                        entries = self.shorter = request.entries
                        self._runner.update_clearance(entries)
                        self._clear()
                        continue
                same = error.next == error.failed
                if self._shown and error.next and not (same and asked_again):
                    bad_call = isinstance(error, CallRefused)
                    written = (AssistantEntry(text=self.visible), UserEntry(CALL_UNREADABLE if bad_call else GO_ON))
                    request = replace(request, entries=(*entries, *written), first=error.next)
                    log.info("%s broke off and is followed by %s: %s", error.failed, error.next, error)
                    self._go_on()
                    broke, asked_again = _explain(error, begun=True), asked_again or same
                    if not same:
                        yield ModelReplaced()
                    continue
                # A slow model is waited for again only where there are results to lose.
                again = isinstance(error, ModelDropped) or (isinstance(error, ModelSlow) and len(entries) > begun)
                # A server that takes only calls of declared tools is told of the one that the model knew by name.
                called = error.tool if isinstance(error, CallRefused) else ""
                declared = tuple(spec for spec in self._task.others if spec.name == called)
                if tries <= (_MOST_DECLARED if declared else 1) and not self._shown and again:
                    request = replace(request, tools=(*request.tools, *declared))
                    self._clear()
                    if isinstance(error, CallRefused):
                        request = replace(request, reminder=request.reminder or CALL_UNREADABLE)
                    continue
                seen = bool(self._shown) or self._shown_before
                # That who was to go on did not begin is nothing that people need to read.
                unbegun = broke if not error.failed else None
                self.failure = unbegun or _explain(error, results=ends_with_results(request.entries), begun=seen)
            except ModelError as error:
                self.failure = _explain(error)
            return

    def _go_on(self) -> None:
        """Prepare for what goes on with the text, perhaps in the middle of a word."""
        self._clear()
        self._pieced = True
        self._seam = self._spaces
        self._wrote = False

    def _clear(self) -> None:
        """Forget a try that nobody saw anything of, or whose text the next model is given."""
        self._unseen = ""
        self._reasoning.clear()
        self._text_calls.clear()
        self._native_calls.clear()
        self.answer = None
        self.unread = False

    async def _stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Read one stream: visible text and reasoning come out, calls written as text are kept.

        A whole call that the end of the stream would run begins at once, if it may.
        """
        tools = {spec.name: spec.parameters for spec in (*self._task.others, *self._task.tools, *request.tools)}
        opened = ExitStack()
        detector = opened.enter_context(closing(Detector(tools)))
        thoughts = opened.enter_context(closing(_Thoughts(tools)))
        calling = request.tool_choice != "none" and bool(request.tools)
        self._begun = len(self._shown)
        with opened:
            async with aclosing(self._task.model.stream(request)) as pieces:
                async for piece in pieces:
                    match piece:
                        case TextPiece(text, prompted):
                            self._take_spaces(text)
                            # Else native calls may follow, and then these are not run.
                            for delta in self._sort(detector.feed(text), begin=calling and prompted):
                                yield delta
                        case ReasoningPiece(thought):
                            thoughts.feed(thought)
                            self._reasoning.append(thought)
                            yield ReasoningDelta(thought)
                        case CallPiece(call):
                            self._native_calls.append(_meant(detector, call))
                            if calling and (early := self._runner.begin(self._native_calls)) is not None:
                                yield early
                        case AskedAgain():
                            detector, self._unseen = opened.enter_context(closing(Detector(tools))), ""
                        case Answer(calls=calls):
                            self.answer = replace(piece, calls=tuple(_meant(detector, call) for call in calls))
            if self.answer is None:
                raise ModelDropped("the model's stream ended without an answer")
            cut = self.answer.finish in ("length", "cut", "content_filter")
            for delta in self._sort(detector.finish(cut)):
                yield delta
            thought_calls = thoughts.finish(cut)
        if not shows_nothing(self._unseen):
            yield self._show(self._unseen)
        if self._only_thought(self.answer):
            self._sort(thought_calls)
        _name_unknown(self.answer.model, detector.unknown_tokens)
        if self.answer.pictures and not self._shown:
            yield self._show(PICTURE)
        for picture in self.answer.pictures:
            yield FileProduced(File(picture.name, picture.media_type, picture.content))
        said = bool(self._shown or self._text_calls or self._reasoning)
        self.unread = bool(detector.dropped) or (not shows_nothing(self.answer.text) and not said)

    def _only_thought(self, answer: Answer) -> bool:
        """The model said and called nothing, and only thought."""
        said = self._shown or self._text_calls or answer.calls or answer.pictures or answer.text.strip()
        return bool(self._reasoning) and not said

    def _take_spaces(self, text: str) -> None:
        """Note the whitespace that the detector takes away from the beginning and the end of a text."""
        if self._seam == "" and not self._wrote:
            self._seam = text[: len(text) - len(text.lstrip())]
        words = text.rstrip()
        self._wrote = self._wrote or bool(words)
        self._spaces = text[len(words) :] if words else self._spaces + text

    def _show(self, text: str) -> TextDelta:
        if self._seam is not None:
            # Many models begin a message with the next word and no space, also where they go on with one.
            apart = _ENDS_WORD.search(self._shown[-1]) and _BEGINS_WORD.match(text)
            text, self._seam = (self._seam or (" " if apart else "")) + text, None
        # Two passes' texts are two paragraphs.
        gap = GAP if self._shown_before and not self._shown else ""
        self._shown.append(text)
        return TextDelta(gap + text)

    def _sort(self, items: Sequence[Text | Reasoning | Call | Withdrawn], *, begin: bool = False) -> list[Delta]:
        """Keep what the detector found, and return what is reported of it.

        Args:
            begin: its calls may begin at once.
        """
        deltas: list[Delta] = []
        for item in items:
            match item:
                case Text(text) if text:
                    text, self._unseen = self._unseen + text, ""
                    if not self._shown and len(text) < _MOST_UNSEEN and shows_nothing(_UNDECIDED.sub("", text)):
                        # Nobody would see anything of it, so far.
                        self._unseen = text
                        continue
                    deltas.append(self._show(text))
                case Reasoning(text):
                    self._reasoning.append(text)
                    deltas.append(ReasoningDelta(text))
                case Call(name, arguments, problem=problem):
                    identifier = f"call_{secrets.token_hex(6)}"
                    self._text_calls.append(ToolCall(identifier, name, arguments, problem))
                    if begin and (early := self._runner.begin(self._text_calls)) is not None:
                        deltas.append(early)
                case Withdrawn():
                    taken, self._shown = self._shown[self._begun :], self._shown[: self._begun]
                    self._reasoning += (*taken, self._unseen)
                    self._unseen = ""
                    self._text_calls.clear()
                    if taken:
                        deltas.append(TextWithdrawn(len(taken)))
                case _:
                    pass
        return deltas


class _Thoughts:
    """Reads what is only thought, for the calls in it."""

    def __init__(self, tools: Mapping[str, Schema]) -> None:
        self._tools = tools
        self._detector: Detector | None = None
        self._found: list[Piece] = []

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if self._detector is None:
            self._detector = Detector(self._tools)
            self._found += self._detector.feed("<think>")
        self._found += self._detector.feed(text)

    def finish(self, cut: bool) -> list[Call]:
        """Return the calls, once the answer has ended; `cut`: for its length."""
        last = self._detector.finish(cut) if self._detector is not None else []
        return [piece for piece in (*self._found, *last) if isinstance(piece, Call)]

    def close(self) -> None:
        """See `Detector.close`."""
        if self._detector is not None:
            self._detector.close()


def _meant(detector: Detector, call: ToolCall) -> ToolCall:
    """The call under the name of the tool that is meant, where a model decorated it."""
    name = detector.tool_meant(call.name)
    return call if name == call.name else replace(call, name=name)


def _name_unknown(model: str, tokens: Sequence[str]) -> None:
    """Log what has the shape of a special token and is in no table, once for a model."""
    for token in tokens:
        if (model, token) not in _NAMED and len(_NAMED) < _MOST_NAMED:
            _NAMED.add((model, token))
            log.warning("%s wrote %s, a token that is not known; it was not shown", model, token)


def _explain(error: ModelError, *, results: bool = False, begun: bool = False) -> Failed:
    """Return the sentence for the person and the detail for the operator when a model does not answer.

    Args:
        results: it was told results of tools last.
        begun: a person saw some of the answer.
    """
    match error:
        case ContextTooLong(window=window):
            return Failed("too_much_found" if results else "too_long", str(error), window=window)
        case Unaffordable(whose=whose, until=until):
            return Failed(f"spent_{whose}", str(error), retry=False, until=until)
    key = next((key for kind, key in _SENTENCES if isinstance(error, kind)), "dropped" if begun else "empty")
    return Failed(key, str(error), retry=not isinstance(error, ModelRefused))
