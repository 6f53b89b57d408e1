"""One model asked over HTTP: opened, read, timed, retried; every failure is one of `bot.contract.errors`."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bot.contract import (
    Backoff,
    Clock,
    ContextTooLong,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelSlow,
    ToolsRefused,
    Usage,
)
from bot.model.assembly import MOST_ARGUMENT_CHARS, Delta, StreamFault
from bot.model.base import Answer, CallPiece, Piece, ReasoningPiece, Request, TextPiece
from bot.model.failures import NETWORK_ERRORS, NotUnderstood, dropped, failure, stream_fault
from bot.model.learned import Learned
from bot.model.lengths import AnswerTooLong, affords_another, name_in, without
from bot.model.ollama import OllamaWire
from bot.model.options import FIRST_TOKEN_SECONDS, ModelOptions
from bot.model.patience import Patience
from bot.model.providers import ModelName
from bot.model.rendering import Declared
from bot.model.transport import ENDING
from bot.model.usage import Estimator
from bot.model.wire import Body, Wire

_BUSY_PAUSES = (0.5, 1.0)
"""Seconds after which a busy server is asked again."""
_GRACE_SECONDS = 5.0
"""How long, after the finish reason, usage and the end may still take."""
_DRAIN_SECONDS = 0.05
"""How long the end of the body may take after `[DONE]`; a body read to its end leaves the connection usable."""
_PIECE_CHARS = 8_000
"""Longer pieces are handed on in parts, with a pause between: whoever takes them must not hold up the event loop."""
_COUNTED_MARGIN = 1.25
"""How far our count of tokens may be from the server's."""
_LEAST_TOKENS = 16
"""An answer is never limited to less; the least that OpenAI's Responses take."""
_ARGUMENT_CHARS = 3.0
"""Characters of arguments, which are JSON, in a token."""
_REASONING_FACTOR = 5
"""Reasoning may be this many times as long as the answer."""


class ModelClient:
    """One model of one provider."""

    def __init__(
        self,
        name: ModelName,
        base_url: str,
        wires: tuple[Wire, Wire],
        options: ModelOptions,
        clock: Clock,
        *,
        learned: Learned,
        estimator: Estimator,
        jitter: random.Random,
        own: OllamaWire | None = None,
    ) -> None:
        """
        Args:
            wires: Chat Completions, and Responses.
            own: is used in their place where the server turns out to be an Ollama.
        """
        self._name = name
        self._base_url = base_url
        self._chat, self._responses = wires
        self._own = own
        self._options = options
        self._clock = clock
        self._learned = learned
        self.estimator = estimator
        """Estimates tokens for this model."""
        self._jitter = jitter
        parts = urlsplit(base_url)
        self._place = parts.hostname + (f":{parts.port}" if parts.port else "") if parts.hostname else base_url
        first = options.first_token_seconds
        if first == FIRST_TOKEN_SECONDS:
            # An operator's own figure counts as it stands; only the default yields to a silent thinker.
            first = max(first, name.provider.first_token_seconds)
        self._first = first

    @property
    def name(self) -> str:
        """`provider:name`."""
        return str(self._name)

    @property
    def context_tokens(self) -> int:
        """The window to count on: what the server said, else what the provider's row has."""
        return self.told_context_tokens or self._name.provider.context_tokens

    @property
    def told_context_tokens(self) -> int:
        """The window as the server itself named it; 0 while it has not."""
        return self._learned.window(*self._key)

    async def stream(self, request: Request, *, longest_wait: float = float("inf")) -> AsyncGenerator[Piece, None]:
        """Ask, and yield pieces until one `Answer`; see `bot.model.base.Model`.

        A busy server is asked again up to twice before the first piece, unless it names a wait beyond
        `longest_wait` or the turn's deadline. An empty answer is asked for once more, silently, where the tokens that
        the request allows are enough for both.
        """
        deadline = min(request.deadline, self._clock.monotonic() + self._options.turn_seconds)
        backoff = Backoff(self._clock, _BUSY_PAUSES, endless=False)
        wasted: Usage | None = None
        while True:
            native = self._native
            started = False
            try:
                async with aclosing(self._exchange(request, native, deadline)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Answer):
                            if wasted is None and _is_empty(piece) and affords_another(request, piece.usage):
                                wasted = piece.usage
                                request = without(request, wasted)
                                break
                            if wasted is not None:
                                piece = replace(piece, usage=piece.usage + wasted)
                        started = started or not isinstance(piece, CallPiece)
                        yield piece
                    else:
                        return
            except ToolsRefused:
                if self._options.tool_mode != "auto" or started or not self._note("tools"):
                    raise
            except NotUnderstood as error:
                if started or not self._note(error.part):
                    raise
            except AnswerTooLong as error:
                # The first time nothing else is known of this server; after that it is asked for what it takes.
                if started or 0 < request.max_tokens <= error.most:
                    raise
                if error.window:
                    self._learned.note_window(*self._key, error.window)
                if error.lasting:
                    self._learned.note_longest(*self._key, error.most)
                request = replace(request, max_tokens=error.most)
            except ContextTooLong as error:
                if error.window:
                    self._learned.note_window(*self._key, error.window)
                elif not started and self._own is not None and self._own.grow():
                    continue
                raise
            except ModelBusy as error:
                if started or (pause := next(backoff, None)) is None:
                    raise
                wait = error.retry_after or pause * self._jitter.uniform(0.75, 1.25)
                if wait > longest_wait or self._clock.monotonic() + wait >= deadline:
                    raise
                await self._clock.sleep(wait)

    @property
    def _native(self) -> bool:
        mode = self._options.tool_mode
        return mode == "native" or (mode == "auto" and not self._learned.refuses(*self._key, "tools"))

    @property
    def _key(self) -> tuple[str, str]:
        return self._base_url, self._name.model

    def _note(self, part: str) -> bool:
        return self._learned.note(*self._key, part)

    def _wire(self, request: Request) -> Wire:
        if self._own is not None and self._own.found:
            return self._own
        pattern = self._name.provider.responses
        effort = self._options.reasoning_effort
        refused = bool(
            pattern and request.tools and effort not in ("", "none") and pattern.match(self._name.model)
        ) or self._learned.refuses(*self._key, "chat")
        return self._responses if refused else self._chat

    async def _exchange(self, request: Request, native: bool, deadline: float) -> AsyncGenerator[Piece, None]:
        """One HTTP request and its stream."""
        if self._own is not None:
            await self._own.look()
        wire = self._wire(request)
        body = wire.body(request, native=native)
        self._make_room(body)
        if isinstance(wire, OllamaWire):
            wire.fit(body, int(self._weight(body) * _COUNTED_MARGIN))
        most_tokens = self._learned.limit(*self._key, self._options.max_tokens, request.max_tokens)
        patience = Patience(
            self._clock, name=self.name, first=self._first, idle=self._options.idle_seconds, deadline=deadline
        )
        async with patience:
            opening = wire.open(body)
            try:
                response = await patience.wait(opening.__aenter__)
            except NETWORK_ERRORS as error:
                raise self._failure(error, body) from None
            try:
                ending = response.http_response.extensions[ENDING]
                # A server that knows no limit is stopped at it; one that does counts itself, and better.
                margin = _COUNTED_MARGIN if name_in(body) else 1.0
                most_chars, tokens = request.max_output_chars, self.estimator.tokens_once
                reading = _Reading(wire, most_chars, ending, most_tokens * margin, tokens)
                read = reading.pieces(response.iter_bytes(), patience, self.name, prompted=not native)
                async with aclosing(read) as pieces:
                    async for piece in pieces:
                        yield piece
                if reading.fault is not None:
                    raise self._fault(reading.take_fault(), body, bool(reading.text))
                if isinstance(wire, OllamaWire) and reading.finish == "length":
                    wire.grow()  # so that the answer finds room when it is asked for again
                yield self._answer(reading, wire, body, native, response.headers.get("x-request-id", ""))
            finally:
                await opening.__aexit__(None, None, None)

    def _make_room(self, body: Body) -> None:
        """Limit the answer to what the window holds beside the prompt, where the server has named its window."""
        name, window = name_in(body), self.told_context_tokens
        if name and window:
            body[name] = max(_LEAST_TOKENS, min(body[name], window - int(self._weight(body) * _COUNTED_MARGIN)))

    def _weight(self, body: Body) -> int:
        """The tokens of a prompt. Part by part: most stood in the request before, and their weights are remembered."""
        parts = (part for name in ("messages", "input", "tools") for part in body.get(name) or ())
        prompt = self.estimator.tokens(body.get("instructions") or "")
        texts = (part.text if isinstance(part, Declared) else json.dumps(part, ensure_ascii=False) for part in parts)
        return prompt + sum(self.estimator.tokens(text) for text in texts)

    def _failure(self, error: BaseException, body: Body) -> ModelError:
        provider = self._name.provider
        return failure(
            error,
            model=self.name,
            key=provider.key,
            sent=body,
            place=self._place,
            wall=self._clock.wall(),
            hint=provider.hint,
        )

    def _fault(self, fault: StreamFault | ModelError, body: Body, shown: bool) -> ModelError:
        """What ended a stream early. Once words were shown it is a drop, whatever the server calls it."""
        if isinstance(fault, StreamFault):
            fault = stream_fault(fault.error, model=self.name, key=self._name.provider.key, sent=body)
        if shown and not isinstance(fault, ModelDropped | ModelSlow):
            return ModelDropped(f"{self.name} broke off with an error after it had begun to answer")
        return fault

    def _answer(self, reading: _Reading, wire: Wire, body: Body, native: bool, request_id: str) -> Answer:
        assembly, text, reasoning = reading.assembly, "".join(reading.text), "".join(reading.reasoning)
        finish = reading.finish
        calls = () if finish == "cut" else assembly.calls()
        if finish not in ("length", "content_filter", "cut"):
            finish = "tool_calls" if calls else "stop" if finish == "tool_calls" else finish
        usage = assembly.usage
        prompt = self._weight(body)
        if usage is not None:
            self.estimator.learn(prompt, usage.prompt)
        else:
            said = text + reasoning + "".join(json.dumps(dict(call.arguments), ensure_ascii=False) for call in calls)
            # Arguments that were cut off are written too, and charged for.
            lost = 0 if calls else int(assembly.size / _ARGUMENT_CHARS)
            usage = Usage(prompt, self.estimator.tokens(said) + lost, 0, self.estimator.tokens(reasoning))
        return Answer(
            text=text,
            reasoning=reasoning,
            calls=calls,
            finish=finish,
            usage=usage,
            model=self.name,
            native=native,
            provider=wire.identity,
            raw=assembly.message() if finish != "cut" else {},
            request_id=request_id,
        )


class _Reading:
    """What one stream brought, and how it ended."""

    def __init__(
        self,
        wire: Wire,
        most_chars: int,
        ending: Callable[[], None],
        most_tokens: float,
        tokens: Callable[[str], float],
    ) -> None:
        """
        Args:
            ending: is called when the end is near.
            most_tokens: of text, reasoning and arguments together; 0: no limit.
            tokens: estimates the tokens of a text.
        """
        self.assembly = wire.assembly()
        self._decoder = wire.decoder()
        self._ending = ending
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish = ""
        self.fault: StreamFault | ModelError | None = None
        """Why it ended early; what came before has been yielded."""
        self._most = most_chars
        self._text_chars = 0
        self._reasoning_chars = 0
        self._most_tokens = most_tokens
        self._tokens = tokens
        self._counted = 0.0
        """Tokens of what was written, counted from where they could become too many."""
        self._done = False
        self._events = 0

    async def pieces(
        self, chunks: Any, patience: Patience, name: str, *, prompted: bool
    ) -> AsyncGenerator[TextPiece | ReasoningPiece | CallPiece, None]:
        """Yield text and reasoning as they come, those of one read together, and calls as they become whole."""
        decoder = self._decoder
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
                    if chunk is None and not self._events:
                        self._not_a_stream(decoder.stray, delta, name)
                reasoning, text = self._limit(delta)
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
                if broken is None and self.fault is None:
                    for call in self.assembly.whole_calls():
                        yield CallPiece(call)
                if self.assembly.finish and not self._done:
                    self._ending()
                    patience.progressed(_GRACE_SECONDS)
            if self._done:
                await _drain(following)
            self._end(broken, name)

    def take_fault(self) -> StreamFault | ModelError:
        """Why it ended early, for who raises it: held here too, the error and this object would be a circle."""
        assert self.fault is not None
        fault, self.fault = self.fault, None
        return fault

    def _take(self, events: list[bytes], delta: Delta, name: str) -> bool:
        """Take events in; whether the stream is over."""
        for data in events:
            if data == b"[DONE]" or data.strip() == b"[DONE]":
                self._done = True
                return True
            self._events += 1
            try:
                for event in _parse(data):
                    self.assembly.add(event, delta)
            except StreamFault as fault:
                self.fault = fault
                return True
            except ValueError:
                self.fault = ModelDropped(f"the stream of {name} holds a line that is no JSON")
                return True
        return False

    def _not_a_stream(self, stray: str, delta: Delta, name: str) -> None:
        """A body that holds no events: a web page, an error, or a whole answer in one piece."""
        text = stray.strip()
        if text.startswith("{"):
            self._take([text.encode()], delta, name)
        elif text:
            kind = "a web page" if text.startswith("<") else "something else"
            self.fault = ModelDropped(f"{name} sent {kind} in place of a stream; check the base URL")

    def _limit(self, delta: Delta) -> tuple[str, str]:
        """What of `delta` may still be yielded; too much ends the stream as `cut`."""
        text, reasoning = delta.text, delta.reasoning
        if reasoning:
            self._reasoning_chars += len(reasoning)
            if self._reasoning_chars > self._most * _REASONING_FACTOR:
                self.finish = "cut"
            self.reasoning.append(reasoning)
        if text:
            room = self._most - self._text_chars
            if len(text) > room:
                self.finish = "cut"
                text = text[:room]
            self._text_chars += len(text)
            if text:
                self.text.append(text)
        if self.assembly.size > MOST_ARGUMENT_CHARS or self._too_many_tokens(reasoning + text):
            self.finish = "cut"
        return reasoning, text

    def _too_many_tokens(self, new: str) -> bool:
        chars = self._text_chars + self._reasoning_chars
        if not self._most_tokens or (chars + self.assembly.size) < self._most_tokens:
            # No script that people write has more tokens than characters.
            return False
        whole = "" if self._counted else "".join((*self.text, *self.reasoning))
        self._counted += self._tokens(whole or new)
        return self._counted + self.assembly.size / _ARGUMENT_CHARS > self._most_tokens

    def _end(self, broken: ModelError | None, name: str) -> None:
        """Decide whether the answer is whole: only a finish reason says so, or complete calls before `[DONE]`."""
        self.finish = self.assembly.finish
        if self.finish or self.fault is not None:
            return
        if self._done and broken is None:
            calls = self.assembly.calls()
            if calls and not any(call.problem for call in calls):
                self.finish = "tool_calls"
                return
        self.fault = broken or ModelDropped(f"the stream of {name} ended without a finish reason")


async def _drain(following: Any) -> None:
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await following() is not None:
                pass
    except (TimeoutError, *NETWORK_ERRORS):
        pass


def _parse(data: bytes) -> list[dict[str, Any]]:
    """The object of an event. Servers that forget the blank line between two events send both as one.

    Raises:
        ValueError: it is no JSON.
    """
    text = data.decode("utf-8", "replace")
    try:
        event = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested beyond measure") from error
    except ValueError:
        if "\n" not in text:
            raise
        lines = [line for line in text.split("\n") if line.strip() not in ("", "[DONE]")]
        return [event for event in map(json.loads, lines) if isinstance(event, dict)]
    return [event] if isinstance(event, dict) else []


def _is_empty(answer: Answer) -> bool:
    return not answer.text.strip() and not answer.calls and answer.finish not in ("cut", "content_filter")
