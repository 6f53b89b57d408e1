"""One pass: the model is asked, and its stream is sorted into text, reasoning and calls.

A model that fails before anybody saw a word of it is asked again; one that fails later is replaced by the next one, or,
without one, asked to continue.
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
from bot.agent.events import EarlyCall, Failed, FileProduced, ModelReplaced, ReasoningDelta, TextDelta, TextWithdrawn
from bot.agent.nudges import CALL_UNREADABLE, GO_ON
from bot.agent.shortening import ends_with_results, shorten
from bot.agent.task import Task
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
"""Tools that are declared one after the other because the server refused calls to them."""
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
"""The sentence for a person, by the first of these types that an error has."""

PICTURE: Final = "🖼️"
"""Replaces the text of an answer that has only pictures."""
_MOST_UNSEEN: Final = 200
"""Characters that are held back because nothing in them is visible."""
_UNDECIDED: Final = re.compile(r"(?:<!?-?|&#?\w{0,30})\Z")
"""A text that could still become an HTML comment or a character reference."""

_ENDS_WORD: Final = re.compile(r"[\w,.;:!?)\]\"'](?<![\u2e80-\uffff])\Z")
_BEGINS_WORD: Final = re.compile(r"[^\W\d_](?<![\u2e80-\uffff])")

log = logging.getLogger(__name__)
_NAMED: set[tuple[str, str]] = set()
"""Models and unknown tokens that the log has named."""
_MOST_NAMED: Final = 100

Delta: TypeAlias = TextDelta | TextWithdrawn | ReasoningDelta | EarlyCall | FileProduced


class ModelPass:
    """One pass of a turn, and its output so far."""

    def __init__(self, task: Task, request: Request, runner: CallRunner, *, shown_before: bool) -> None:
        """
        Args:
            runner: begins early calls, and learns of the model's input when that gets shorter.
            shown_before: earlier passes of this turn showed text.
        """
        self._task = task
        self._request = request
        self._runner = runner
        self._shown_before = shown_before
        self._shown: list[str] = []
        self._unseen = ""
        """The beginning of the text while none of it is visible."""
        self._begun = 0
        """How many of these were shown before the present model."""
        self._spaces = ""
        """The whitespace at the end of the model's text."""
        self._wrote = True
        """The present model wrote more than whitespace."""
        self._seam: str | None = None
        """The whitespace before the model's next text, if it continues its text."""
        self._reasoning: list[str] = []
        self._text_calls: list[ToolCall] = []
        self._native_calls: list[ToolCall] = []
        """Calls that were complete before the end."""
        self._pieced = False
        """More than one model wrote it."""
        self.answer: Answer | None = None
        self.failure: Failed | None = None
        """Why there is no answer; `run` sets this or `answer` as its last step."""
        self.unread = False
        """True if the answer contained a written call that was cut off or beyond repair, or only the marks around a
        call."""
        self.shorter: tuple[Entry, ...] | None = None
        """The shortened conversation, if the model refused the whole one as too long; the next pass begins with it."""

    @property
    def visible(self) -> str:
        """The text of it that a person saw."""
        return "".join(self._shown)

    @property
    def has_calls(self) -> bool:
        """The model requested calls, including ones that will not run."""
        return bool(self._text_calls or (self.answer and self.answer.calls))

    @property
    def told_results(self) -> bool:
        """The model has read results of tools, from this turn or an earlier one."""
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
        """Ask the model, once more if it fails before anybody saw a word of it.

        If it fails later, the next model continues the visible text, or else the same one, once.
        """
        request, model, tries = self._request, self._task.model.name, 0
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
                    log.info("%s broke off and is replaced by %s: %s", error.failed, error.next, error)
                    self._go_on()
                    broke, asked_again = _explain(error, model, begun=True), asked_again or same
                    if not same:
                        yield ModelReplaced()
                    continue
                # A slow model is waited for again only if there are results to lose.
                again = isinstance(error, ModelDropped) or (isinstance(error, ModelSlow) and len(entries) > begun)
                # A server that accepts only declared tools gets the declaration of the one that the model called by
                # name.
                called = error.tool if isinstance(error, CallRefused) else ""
                declared = tuple(spec for spec in self._task.others if spec.name == called)
                if tries <= (_MOST_DECLARED if declared else 1) and not self._shown and again:
                    request = replace(request, tools=(*request.tools, *declared))
                    self._clear()
                    if isinstance(error, CallRefused):
                        request = replace(request, reminder=request.reminder or CALL_UNREADABLE)
                    continue
                seen = bool(self._shown) or self._shown_before
                # People need not read that the replacement did not start.
                unbegun = broke if not error.failed else None
                results = ends_with_results(request.entries)
                self.failure = unbegun or _explain(error, model, results=results, begun=seen)
            except ModelError as error:
                self.failure = _explain(error, model)
            return

    def _go_on(self) -> None:
        """Prepare for a model that continues the text, perhaps in the middle of a word."""
        self._clear()
        self._pieced = True
        self._seam = self._spaces
        self._wrote = False

    def _clear(self) -> None:
        """Forget a try that nobody saw, or whose text the next model continues."""
        self._unseen = ""
        self._reasoning.clear()
        self._text_calls.clear()
        self._native_calls.clear()
        self.answer = None
        self.unread = False

    async def _stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Read one stream: yield visible text and reasoning, keep calls written as text.

        A complete call that the end of the stream would run begins at once, if it may.
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
                            # Otherwise native calls may follow, and then these are not run.
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
        """The model said and called nothing; it only thought."""
        said = self._shown or self._text_calls or answer.calls or answer.pictures or answer.text.strip()
        return bool(self._reasoning) and not said

    def _take_spaces(self, text: str) -> None:
        """Note the whitespace that the detector removes from the beginning and the end of a text."""
        if self._seam == "" and not self._wrote:
            self._seam = text[: len(text) - len(text.lstrip())]
        words = text.rstrip()
        self._wrote = self._wrote or bool(words)
        self._spaces = text[len(words) :] if words else self._spaces + text

    def _show(self, text: str) -> TextDelta:
        if self._seam is not None:
            # Many models begin a message with the next word and no space, even when they continue.
            apart = _ENDS_WORD.search(self._shown[-1]) and _BEGINS_WORD.match(text)
            text, self._seam = (self._seam or (" " if apart else "")) + text, None
        # The texts of two passes are two paragraphs.
        gap = GAP if self._shown_before and not self._shown else ""
        self._shown.append(text)
        return TextDelta(gap + text)

    def _sort(self, items: Sequence[Text | Reasoning | Call | Withdrawn], *, begin: bool = False) -> list[Delta]:
        """Keep what the detector found, and return its events.

        Args:
            begin: its calls may begin at once.
        """
        deltas: list[Delta] = []
        for item in items:
            match item:
                case Text(text) if text:
                    text, self._unseen = self._unseen + text, ""
                    if not self._shown and len(text) < _MOST_UNSEEN and shows_nothing(_UNDECIDED.sub("", text)):
                        # Nothing in it would be visible, so far.
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
    """Reads the thoughts of an answer without text, for the calls in them."""

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
    """Return the call under the tool's own name, if the model decorated it."""
    name = detector.tool_meant(call.name)
    return call if name == call.name else replace(call, name=name)


def _name_unknown(model: str, tokens: Sequence[str]) -> None:
    """Log a word in the shape of a special token that is in no table, once for a model."""
    for token in tokens:
        if (model, token) not in _NAMED and len(_NAMED) < _MOST_NAMED:
            _NAMED.add((model, token))
            log.warning("%s wrote %s, an unknown token; it was not shown", model, token)


def _explain(error: ModelError, model: str, *, results: bool = False, begun: bool = False) -> Failed:
    """Return the sentence for the person and the detail for the operator when a model does not answer.

    Args:
        model: was asked first.
        results: it last read results of tools.
        begun: a person saw some of the answer.
    """
    match error:
        case ContextTooLong(window=window):
            return Failed("too_much_found" if results else "too_long", str(error), window=window, asked=model)
        case Unaffordable(whose=whose, until=until):
            return Failed(f"spent_{whose}", str(error), retry=False, until=until)
    key = next((key for kind, key in _SENTENCES if isinstance(error, kind)), "dropped" if begun else "empty")
    return Failed(key, str(error), retry=not isinstance(error, ModelRefused), asked=error.failed or model)
