"""One model asked over HTTP: opened, read, timed, retried; every failure is one of `bot.contract.errors`."""

from __future__ import annotations

import json
import logging
import math
import random
import re
from collections.abc import AsyncGenerator, Container
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from bot.contract import (
    AssistantEntry,
    Backoff,
    Clock,
    ContextTooLong,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelSlow,
    SetupRefused,
    ToolsRefused,
    Usage,
    UserEntry,
)
from bot.model.assembly import StreamFault, credible
from bot.model.base import Answer, AskedAgain, CallPiece, Piece, Request
from bot.model.endings import CALLS, LENGTH, WHOLE, WITHHELD
from bot.model.failures import NETWORK_ERRORS, NotUnderstood, PicturesRefused, ToolUnfit, failure, stream_fault
from bot.model.lengths import AnswerTooLong, affords_another, name_in, without
from bot.model.patience import Patience
from bot.model.reading import CHARS_PER_ARGUMENT_TOKEN, StreamReading
from bot.model.rendering import Weighed
from bot.model.transport import ENDING
from bot.model.usage import PICTURE_TOKENS, Estimator
from bot.model.wire import Body, ChatWire, Endpoint, Wire
from bot.safety import shows_nothing
from tools.contract.plaintext import to_plain
from tools.programs.cancelling import Contained

if TYPE_CHECKING:
    from bot.model.ollama import OllamaWire

log = logging.getLogger(__name__)

_BUSY_PAUSES = (0.5, 1.0)
"""Seconds after which a busy server is asked again."""
_COUNTED_MARGIN = 1.25
"""How far our count of tokens may be from the server's."""
_MOST_LEFT_OUT = 8
"""Tools that are left out of one request because their schemas are refused."""
_LEAST_TOKENS = 16
"""An answer's limit is never less; the minimum of OpenAI's Responses."""


def _ollama_wire(at: Endpoint) -> OllamaWire:
    from bot.model.ollama import OllamaWire

    return OllamaWire(at)


class ModelClient:
    """One model of one provider."""

    def __init__(self, at: Endpoint, clock: Clock, jitter: random.Random) -> None:
        self._at = at
        self._chat = ChatWire(at)
        self._own = _ollama_wire(at) if at.name.provider.name == "ollama" else None
        """Replaces the other two wires if the server turns out to be an Ollama."""
        self._clock = clock
        self.estimator = Estimator()
        """Estimates tokens for this model."""
        self._jitter = jitter
        self._first = at.options.limits.first_token_seconds * at.name.provider.patience
        self.name = str(at.name)
        """`provider:name`."""

    def load(self) -> None:
        """Load what the first request needs, which takes half a second."""
        self._at.api.load()

    @property
    def sees(self) -> bool:
        """No refusal has shown that the model takes no pictures."""
        return "pictures" not in self._at.learned.refused

    def window(self, most: int) -> int:
        """Return the limit of the model's input in tokens: its server's, and at most `most`.

        If the server has named no limit, `most` applies; if that is 0, the provider's row.
        """
        told = self._at.learned.window
        return min(told, most) if told and most else told or most or self._at.name.provider.context_tokens

    async def stream(  # noqa: C901  # each error of a server has its own way on
        self, request: Request, *, longest_wait: float = float("inf")
    ) -> AsyncGenerator[Piece, None]:
        """Ask, and yield pieces until one `Answer`; see `bot.model.base.Model`.

        A busy server is asked again up to twice before the first piece, unless it demands a wait beyond `longest_wait`
        or the turn's deadline. An empty answer is requested once more, silently, if the request's token limit is enough
        for both.
        """
        if "pictures" in self._at.learned.refused:
            request = without_pictures(request)
        deadline = min(request.deadline, self._clock.monotonic() + self._at.options.turn_seconds)
        backoff = Backoff(self._clock, _BUSY_PAUSES, endless=False)
        wasted: Usage | None = None
        while True:
            native, known = self._native, frozenset(self._at.learned.refused)
            started = False
            sent = without_tools(request, self._at.learned.unfit) if native else request
            try:
                with Contained(ModelDropped):
                    async with aclosing(self._exchange(sent, native, deadline)) as pieces:
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
                yield AskedAgain()
            except ToolsRefused:
                if self._at.options.tool_mode != "auto" or started or not self._at.learned.note("tools", known):
                    raise
            except ToolUnfit as error:
                # A server that refuses one after another gets them in words.
                if started or not self._leave_out(error.tool, request, sent, known):
                    raise
            except PicturesRefused as error:
                if started:
                    raise
                if error.lasting:
                    self._at.learned.note("pictures")
                request = without_pictures(request)
            except NotUnderstood as error:
                if started or not self._at.learned.note(error.part, known):
                    raise
            except AnswerTooLong as error:
                # The first time nothing else is known of this server; after that it is asked for its limits.
                if started or 0 < request.max_tokens <= error.most:
                    raise
                if error.window:
                    self._at.learned.window = error.window
                if error.lasting:
                    self._at.learned.longest = error.most
                request = replace(request, max_tokens=error.most)
            except ContextTooLong as error:
                if error.window:
                    self._at.learned.window = error.window
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

    def _leave_out(self, tool: str, request: Request, sent: Request, known: Container[str]) -> bool:
        """Stop declaring a tool, or after too many of them all; return False if asking again would not help."""
        learned = self._at.learned
        if all(one.name != tool for one in sent.tools):
            return False
        if len(request.tools) - len(sent.tools) >= _MOST_LEFT_OUT:
            return self._at.options.tool_mode == "auto" and learned.note("tools", known)
        if tool not in learned.unfit:
            learned.unfit.add(tool)
            log.warning("%s refuses the schema of the tool %s: it is not offered to this model", self.name, tool)
        return True

    @property
    def _native(self) -> bool:
        mode = self._at.options.tool_mode
        return mode == "native" or (mode == "auto" and "tools" not in self._at.learned.refused)

    @cached_property
    def _responses(self) -> Wire:
        from bot.model.responses import ResponsesWire

        return ResponsesWire(self._at)

    def _wire(self, request: Request) -> Wire:
        if self._own is not None and self._own.found:
            return self._own
        pattern = self._at.name.provider.responses
        effort = self._at.options.reasoning_effort
        refused = (
            bool(pattern and request.tools and effort not in ("", "none") and pattern.match(self._at.name.model))
            or "chat" in self._at.learned.refused
        )
        return self._responses if refused else self._chat

    async def _exchange(self, request: Request, native: bool, deadline: float) -> AsyncGenerator[Piece, None]:
        """One HTTP request and its stream."""
        if self._own is not None:
            await self._own.look()
        wire = self._wire(request)
        body = wire.body(plainly(request), native=native)
        self._make_room(body)
        ollama = self._own if wire is self._own else None
        if ollama is not None:
            ollama.fit(body, int(self._weight(body) * _COUNTED_MARGIN))
        most_tokens = self._at.most_tokens(request)
        patience = Patience(
            self._clock, name=self.name, first=self._first, idle=self._at.options.limits.idle_seconds, deadline=deadline
        )
        with patience:
            opening = wire.open(body)
            try:
                response = await patience.wait(opening.__aenter__)
            except NETWORK_ERRORS as error:
                raise failure(error, self._at.name, body, place=self._at.server, wall=self._clock.wall()) from None
            try:
                ending = response.extensions[ENDING]
                # A server without a limit is stopped at ours; one with a limit counts itself, and better.
                margin = _COUNTED_MARGIN if name_in(body) else 1.0
                most_chars, tokens = request.max_output_chars, self.estimator.tokens_once
                most = most_tokens * margin
                reading = StreamReading(wire.assembly(), wire.decoder(), ending, most_chars, most, tokens)
                read = reading.pieces(response.aiter_bytes(), patience, self.name, prompted=not native)
                async with aclosing(read) as pieces:
                    async for piece in pieces:
                        yield piece
                self._name_reason(reading.unknown_reason)
                if reading.fault is not None:
                    raise self._fault(reading.take_fault(), body, bool(reading.text))
                if ollama is not None and reading.finish == LENGTH:
                    ollama.grow()  # so that the answer finds room when it is requested again
                yield self._answer(reading, wire, body, native)
            finally:
                await opening.__aexit__(None, None, None)

    def _name_reason(self, reason: str) -> None:
        """Log once a finish reason that is in no table."""
        if reason and self._at.learned.is_new(reason):
            log.warning(
                "%s ended an answer with the unexpected finish reason %r; the answer counts as broken off",
                self.name,
                reason,
            )

    def _name_report(self, reported: Usage, usage: Usage) -> None:
        """Log once a count that was not believed."""
        if (reported.prompt, reported.completion) != (usage.prompt, usage.completion) and self._at.learned.is_new(
            "usage"
        ):
            log.warning(
                "%s reported an impossible count of tokens, %d read and %d written; our own count is used, %d and %d",
                self.name,
                reported.prompt,
                reported.completion,
                usage.prompt,
                usage.completion,
            )

    def _make_room(self, body: Body) -> None:
        """Limit the answer to the room in the window beside the prompt, if the server has named its window."""
        name, window = name_in(body), self._at.learned.window
        if name and window:
            body[name] = max(_LEAST_TOKENS, min(body[name], window - int(self._weight(body) * _COUNTED_MARGIN)))

    def _weight(self, body: Body) -> int:
        """Estimate the tokens of a prompt, part by part: the weights of the previous request's parts are remembered."""
        parts = [part for name in ("messages", "input", "tools") for part in body.get(name) or ()]
        texts = [part.text if isinstance(part, Weighed) else json.dumps(part, ensure_ascii=False) for part in parts]
        pictures = sum(part.pictures for part in parts if isinstance(part, Weighed))
        return self.estimator.count((body.get("instructions") or "", *texts)) + PICTURE_TOKENS * pictures

    def _fault(self, fault: StreamFault | ModelError, body: Body, shown: bool) -> ModelError:
        """Return the error that ended a stream early: a drop once words were shown, whatever the server calls it."""
        if isinstance(fault, StreamFault):
            told, foreign = fault.error, fault.foreign
            fault = stream_fault(told, self._at.name, body)
            if foreign and type(fault) is ModelDropped:
                fault = SetupRefused(
                    f"{self.name} at {self._at.server} answered with status 200 and {_described(told)}, which is no "
                    "answer of a model; check the base URL (most end in /v1), the key and the model's name"
                )
        if shown and not isinstance(fault, ModelDropped | ModelSlow):
            return ModelDropped(f"{self.name} broke off with an error after it had begun to answer")
        return fault

    def _answer(self, reading: StreamReading, wire: Wire, body: Body, native: bool) -> Answer:
        assembly, text, reasoning = reading.assembly, "".join(reading.text), "".join(reading.reasoning)
        finish = reading.finish
        calls = () if finish == "cut" else assembly.calls()
        if finish in (WHOLE, CALLS):
            finish = CALLS if calls else WHOLE
        prompt = self._weight(body)
        said = text + reasoning + "".join(json.dumps(dict(call.arguments), ensure_ascii=False) for call in calls)
        # Arguments that were cut off were written and paid, too.
        lost = 0 if calls else int(assembly.size / CHARS_PER_ARGUMENT_TOKEN)
        written = math.ceil(self.estimator.tokens_once(said)) + lost
        counted = Usage(prompt, written, 0, math.ceil(self.estimator.tokens_once(reasoning)))
        usage = credible(assembly.usage, counted, body.get(name_in(body), 0))
        if assembly.usage is not None:
            self._name_report(assembly.usage, usage)
            self.estimator.learn(prompt, usage.prompt)
        return Answer(
            text=text,
            reasoning=reasoning,
            calls=calls,
            pictures=tuple(assembly.pictures.files),
            finish=finish,
            usage=usage,
            model=self.name,
            native=native,
            provider=wire.identity,
            raw=assembly.message() if finish != "cut" else {},
        )


def _described(told: object) -> str:
    """Return a description of what came in place of an answer: its field names, as their values could be anything."""
    if isinstance(told, str):
        return told
    names = [name for name in (told if isinstance(told, dict) else {}) if re.fullmatch(r"\w{1,30}", str(name))]
    return f"a JSON object with {', '.join(names[:6])}" if names else "events without a choice"


def plainly(request: Request) -> Request:
    """Return the same request in valid UTF-8, whatever settings, people and earlier versions left in its texts."""
    told = "".join(entry.text for entry in request.entries)
    if to_plain(told) is told:
        return request
    return replace(request, entries=tuple(replace(entry, text=to_plain(entry.text)) for entry in request.entries))


def without_pictures(request: Request) -> Request:
    """Return the same request, with the pictures only named."""
    entries = (
        replace(entry, pictures=tuple(replace(one, content=b"") for one in entry.pictures))
        if isinstance(entry, UserEntry | AssistantEntry) and entry.pictures
        else entry
        for entry in request.entries
    )
    return replace(request, entries=tuple(entries))


def without_tools(request: Request, names: Container[str]) -> Request:
    """Return the same request without these tools."""
    tools = tuple(tool for tool in request.tools if tool.name not in names)
    if len(tools) == len(request.tools):
        return request
    choice = "auto" if request.tool_choice in names or not tools else request.tool_choice
    return replace(request, tools=tools, tool_choice=choice)


def _is_empty(answer: Answer) -> bool:
    said = answer.calls or answer.pictures or not shows_nothing(answer.text)
    return not said and answer.finish not in ("cut", WITHHELD)
