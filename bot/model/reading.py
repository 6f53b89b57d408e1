"""The stream of one answer: read to its end within its limits, whatever a server sends in its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bot.contract import CallRefused, ModelDropped, ModelError, ModelSlow
from bot.model.assembly import Assembly, Delta, StreamFault
from bot.model.base import CallPiece, ReasoningPiece, TextPiece
from bot.model.callslots import MOST_ARGUMENT_CHARS
from bot.model.endings import BAD_CALL, BROKEN, CALLS, UNPROVEN, WHOLE, name_of
from bot.model.failures import NETWORK_ERRORS, dropped
from bot.model.loops import LoopWatch
from bot.model.patience import Patience
from bot.model.searched import list_cited
from bot.model.sse import DONE, Decoder, read_event, read_together

_DRAIN_SECONDS = 0.05
"""How long the end of the body may take after `[DONE]`; a body read to its end leaves the connection usable."""
_GRACE_SECONDS = 5.0
"""How long, after the finish reason, usage and the end may still take."""
_PIECE_CHARS = 8_000
"""Longer pieces are handed on in parts, with a pause between, so that the consumer does not hold up the event loop."""
CHARS_PER_ARGUMENT_TOKEN = 3.0
"""Characters of arguments, which are JSON, in a token."""
_REASONING_FACTOR = 5
"""Reasoning may be this many times as long as the answer."""


@dataclass(slots=True, weakref_slot=True)
class StreamReading:
    """What one stream brought, and how it ended."""

    assembly: Assembly
    decoder: Decoder
    ending: Callable[[], None]
    """Is called when the end is near."""
    most_chars: int
    most_tokens: float
    """Of text, reasoning and arguments together; 0: no limit."""
    tokens: Callable[[str], float]
    """Estimates the tokens of a text."""
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish: str = ""
    fault: StreamFault | ModelError | None = None
    """Why it ended early; what came before has been yielded."""
    _text_chars: int = 0
    _reasoning_chars: int = 0
    _counted: float = 0.0
    """Tokens of what was written, counted from where they could become too many."""
    _done: bool = False
    _events: int = 0
    _said: LoopWatch = field(default_factory=LoopWatch)
    _thought: LoopWatch = field(default_factory=LoopWatch)

    async def pieces(
        self, chunks: Any, patience: Patience, name: str, *, prompted: bool
    ) -> AsyncGenerator[TextPiece | ReasoningPiece | CallPiece, None]:
        """Yield text and reasoning as they come, those of one read together, and calls as they become whole."""
        decoder = self.decoder
        async with aclosing(chunks):
            following = partial(anext, chunks, None)
            over = False
            while not over:
                chunk: bytes | None = None
                broken: ModelError | None = None
                try:
                    chunk = await patience.wait(following)
                except ModelSlow as error:
                    broken = error
                except NETWORK_ERRORS as error:
                    broken = dropped(error, model=name)
                delta = Delta()
                over = chunk is None
                if broken is None:
                    over = self._take(decoder.finish() if chunk is None else decoder.feed(chunk), delta, name) or over
                    over = self._look_at_rest(chunk is None, delta, name) or over
                reasoning, text = self._limit(delta, over=over)
                if reasoning:
                    yield ReasoningPiece(reasoning)
                for start in range(0, len(text), _PIECE_CHARS):
                    if start:
                        await asyncio.sleep(0)
                    yield TextPiece(text[start : start + _PIECE_CHARS], prompted)
                if delta.progress:
                    patience.progressed()
                if self.finish == "cut":
                    return
                over = over or self.fault is not None
                if broken is None and self.fault is None:
                    for call in self.assembly.whole_calls():
                        yield CallPiece(call)
                if self.assembly.finish not in UNPROVEN and not self._done:
                    self.ending()
                    patience.progressed(_GRACE_SECONDS)
            if self._done:
                await _drain(following)
            self._end(broken, name)

    @property
    def unknown_reason(self) -> str:
        """The finish reason of an answer that ended for an unknown one; empty where it did not."""
        return name_of(self.assembly.reason) if self.assembly.finish == BROKEN else ""

    def take_fault(self) -> StreamFault | ModelError:
        """Why it ended early, for who raises it: held here too, the error and this object would be a circle."""
        assert self.fault is not None
        fault, self.fault = self.fault, None
        return fault

    def _take(self, events: list[bytes], delta: Delta, name: str) -> bool:
        """Take events in; whether the stream is over."""
        try:
            if (together := read_together(events)) is not None:
                self._events += len(together)
                for event in together:
                    self.assembly.add(event, delta)
                return False
        except StreamFault as fault:
            self.fault = fault
            return True
        for data in events:
            if data == DONE or data.strip() == DONE:
                self._done = True
                return True
            self._events += 1
            try:
                events_in, self._done = read_event(data)
                for event in events_in:
                    self.assembly.add(event, delta)
            except StreamFault as fault:
                self.fault = fault
                return True
            except ValueError:
                self.fault = ModelDropped(f"the stream of {name} holds a line that is no JSON")
                return True
            if self._done:
                return True
        return False

    def _look_at_rest(self, ended: bool, delta: Delta, name: str) -> bool:
        """Take text that is no event, if there was no event to the end; return whether the stream is over."""
        if ended and not self._events:
            self._not_a_stream(self.decoder.stray, delta, name)
        elif self.decoder.too_long:
            self.fault = ModelDropped(f"the stream of {name} holds an endless line")
            return True
        return ended

    def _not_a_stream(self, stray: str, delta: Delta, name: str) -> None:
        """A body that holds no events: a web page, an error, or a whole answer in one piece."""
        text = stray.strip()
        if text.startswith(("{", "[")):
            self._take([text.encode()], delta, name)
        elif text:
            self.fault = StreamFault("a web page" if text.startswith("<") else "some text", foreign=True)

    def _limit(self, delta: Delta, *, over: bool) -> tuple[str, str]:
        """What of `delta`, at the end with all that was kept back, may still be yielded; too much ends the stream as
        `cut`."""
        if over:
            self.assembly.close(delta)
            if self.assembly.finish == WHOLE and self.fault is None:
                told = "".join((*self.text, delta.text))
                delta.text += list_cited(told, self.assembly.sources, self.assembly.annotated)
        text, reasoning = delta.text, delta.reasoning
        if reasoning:
            self._reasoning_chars += len(reasoning)
            if self._reasoning_chars > self.most_chars * _REASONING_FACTOR:
                self.finish = "cut"
            self.reasoning.append(reasoning)
        if text:
            room = self.most_chars - self._text_chars
            if len(text) > room:
                self.finish = "cut"
                text = text[:room]
            self._text_chars += len(text)
            if text:
                self.text.append(text)
        if self.fault is None and (self._said.feed(text) or self._thought.feed(reasoning)):
            if self.text:
                self.finish = "cut"
            else:
                self.fault = ModelDropped("the model repeated the same thought without end")
        if self.assembly.size > MOST_ARGUMENT_CHARS or self._too_many_tokens(reasoning + text):
            self.finish = "cut"
        return reasoning, text

    def _too_many_tokens(self, new: str) -> bool:
        chars = self._text_chars + self._reasoning_chars
        if not self.most_tokens or (chars + self.assembly.size) < self.most_tokens:
            # No script that people write has more tokens than characters.
            return False
        whole = "" if self._counted else "".join((*self.text, *self.reasoning))
        self._counted += self.tokens(whole or new)
        return self._counted + self.assembly.size / CHARS_PER_ARGUMENT_TOKEN > self.most_tokens

    def _end(self, broken: ModelError | None, name: str) -> None:
        """Decide whether the answer is whole: a known finish reason says so, `[DONE]` without any, or whole calls."""
        self.finish = self.assembly.finish
        if self.fault is not None or self.finish not in UNPROVEN:
            return
        if not self.finish:
            begun, odd = self.assembly.begun, self.assembly.odd
            counted = self.assembly.counted and broken is None
            if (self._done or counted) and begun and odd is None:
                self.finish = WHOLE
            elif broken is None and self._events and not begun:
                self.fault = StreamFault(odd or {}, foreign=True)
            else:
                self.fault = broken or ModelDropped(f"the stream of {name} ended without a finish reason")
            return
        calls = self.assembly.calls()
        if calls and not any(call.problem for call in calls):
            self.finish = CALLS
        elif self.finish == BAD_CALL:
            self.fault = CallRefused(f"{name} wrote a call that its own server cannot read")
        else:
            self.fault = ModelDropped(f"{name} ended its answer with the finish reason {self.unknown_reason!r}")


async def _drain(following: Any) -> None:
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await following() is not None:
                pass
    except (TimeoutError, *NETWORK_ERRORS):
        pass
