"""Web pages and programs of your own: requests with a token → `MessageSent`, pages → a stream that only grows.

A request is a message like any other, so that order, quotas, history and tools are the same. Its connection is not the
answer: a lost one stops nothing, and a request under the same run id gets the same turn, whatever process answers it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import BinaryIO, Final

from adapters import Finding
from adapters.settings import WebSettings
from adapters.web import agui, completions
from adapters.web.asking import Asked, MisaskedError, decision_about, read_completion, read_run
from adapters.web.files import content_of
from adapters.web.runs import Run, Runs
from adapters.web.surface import WebSurface
from bot.contract import (
    ChatId,
    Clock,
    ControlPressed,
    Deliver,
    FindRepeated,
    Headers,
    Incoming,
    KeepSaid,
    MessageSent,
    Proof,
    Recall,
    RecallCalls,
    Recalled,
    RecalledCall,
    ReplyTarget,
    Sender,
    StoreError,
    SystemClock,
    TooLong,
    WebAnswer,
    WebStream,
    is_same,
    proven,
    words,
)
from tools.programs.cancelling import Contained, begin_in, end_tasks

log = logging.getLogger(__name__)

MOST_RUNS: Final = 100
"""Runs at the same time. A stream holds one of the connections to the port, which platforms use, too."""
MOST_READERS: Final = 150
"""Responses at the same time: several programs can read one run."""
LOOK_SECONDS: Final = 1.0
"""How often the store is asked whether a run has ended; at once, and then less and less often, when it seems so."""
FIRST_LOOK: Final = 0.02
_MOST_LOOKS: Final = 6
PATIENCE: Final = 10.0
"""Seconds after the end of a delivery in which its sentence may still come."""
_REFUSALS: Final = {
    401: "The token is missing or wrong: send the one in WEB_TOKEN as a bearer token.",
    404: "There is nothing at this address; there are /v1/chat/completions, /v1/models and /agui.",
    405: "This address accepts another method: GET for models, POST for the rest.",
}
_FULL: Final = "Too many answers are under way; send the request again later."
ALONE: Final = "alone"
"""The place of requests that belong to no conversation."""


class WebAdapter:
    """Takes requests at addresses of its own."""

    platform = "web"
    conflicts = 0

    def __init__(self, settings: WebSettings, clock: Clock | None = None) -> None:
        self._token = settings.web_token.get_secret_value()
        self._clock = clock or SystemClock()
        self._began = self._clock.wall()
        self._runs = Runs()
        self._readers = 0
        self._following: set[asyncio.Task[None]] = set()
        self._deliver: Deliver | None = None
        self.recall: Recall | None = None
        self.recall_calls: RecallCalls | None = None
        self.keep_said: KeepSaid | None = None
        self.find_repeated: FindRepeated | None = None
        self.entrance = self

    @property
    def listening(self) -> bool:
        return self._deliver is not None

    async def __aenter__(self) -> WebAdapter:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._runs.give_up()
        await end_tasks(*self._following)

    def surface(self, target: ReplyTarget) -> WebSurface:
        return WebSurface(self._runs, target, self._look_at_calls, self._keep)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        content = await asyncio.to_thread(content_of, source)
        if len(content) > most:
            raise TooLong("a file is too large", by=len(content) - most)
        into.write(content)

    def earlier(self, message: MessageSent) -> None:
        """A thread's history is what the bot was told in it."""

    async def listen(self, deliver: Deliver) -> None:
        self._deliver = deliver
        try:
            await asyncio.Future()
        finally:
            self._deliver = None

    # The entrance

    def expect(self, headers: Headers) -> Proof | None:
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        return proven if is_same(token.strip(), self._token) and scheme.lower() == "bearer" else None

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        return self.refuse(404, "no such address")

    def refuse(self, status: int, why: str) -> WebAnswer:
        return completions.problem(status, _REFUSALS.get(status, f"The request was refused: {why}."))

    async def answer(self, address: str, headers: Headers, body: bytes) -> WebAnswer | WebStream:
        if self._deliver is None:
            return completions.problem(503, "The program starts or ends; send the request again in a moment.")
        if address == "v1/models":
            return completions.list_models(self._began)
        if address == f"v1/models/{completions.MODEL}":
            return completions.show_model(self._began)
        if self._readers >= MOST_READERS:
            return completions.problem(503, _FULL)
        by_events = address == "agui"
        try:
            asked = await asyncio.to_thread(read_run if by_events else read_completion, headers, body)
            asked = await (self._with_answer if by_events else self._with_decision)(await self._with_run(asked))
            run = await self._open(asked)
        except MisaskedError as error:
            return completions.problem(400, str(error))
        except StoreError:
            log.exception("web: a request could not be stored")
            return completions.problem(503, "The request could not be stored; send it again in a moment.")
        if run is None:
            return completions.problem(503, _FULL)
        if by_events:
            return WebStream(self._counted(agui.stream(run, asked, self._clock, self._find_open)))
        if asked.stream:
            return WebStream(self._counted(completions.stream(run, asked, self._clock)))
        self._readers += 1
        try:
            return await completions.complete(run, asked, self._clock)
        finally:
            self._readers -= 1

    async def _counted(self, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        self._readers += 1
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        finally:
            self._readers -= 1

    # Runs

    async def _with_run(self, asked: Asked) -> Asked:
        """Return a request that its client sends again by itself as the run that it began."""
        if not asked.repeats or self.find_repeated is None:
            return asked
        known = await self.find_repeated(self._chat_of(asked), asked.repeats)
        return replace(asked, run=known or asked.run)

    async def _with_decision(self, asked: Asked) -> Asked:
        """Return a request whose `yes` or `no` decides about the call that its thread asks about, if it does."""
        word = asked.text.lower().rstrip(" .!。！")
        if not asked.thread or asked.files or word not in completions.YES | completions.NO or self.recall is None:
            return asked
        waits = await self.recall(self._chat_of(asked), "")
        if waits is None or not waits.asks or waits.followed:
            return asked
        return replace(asked, decision=decision_about(waits.asks, allowed=word in completions.YES))

    async def _with_answer(self, asked: Asked) -> Asked:
        """Return a run with what it decides about the call that its thread asks about: it goes on without answers to
        what nobody asks, and a question instead of an answer gives that up."""
        if not asked.answers or self.recall is None:
            return asked
        waits = await self.recall(self._chat_of(asked), "")
        open = waits.asks if waits is not None else ""
        answer = next((one for one in asked.answers if open and one.interrupt == open), None)
        if (asked.text or asked.files) and (answer is None or answer.allowed is None):
            return replace(asked, abandons=answer is not None)
        answer = answer or asked.answers[0]
        return replace(asked, decision=decision_about(answer.interrupt, allowed=answer.allowed is True))

    async def _find_open(self, asked: Asked) -> agui.Interrupt | None:
        """Return what the thread of a run asks a person, if an earlier run asked it; None also if that cannot be read
        now."""
        chat = self._chat_of(asked)
        try:
            waits = await self.recall(chat, "") if self.recall is not None else None
            if waits is None or not waits.asks or self.recall_calls is None:
                return None
            calls = await self.recall_calls(chat, "", ())
        except StoreError:
            return None
        call = next((one.id for one in calls if one.waits), "")
        return agui.Interrupt(waits.asks, waits.question or waits.text, call, earlier=True)

    async def _open(self, asked: Asked) -> Run | None:
        """Return the run of a request: the one that is under way, or a new one; None if there is no room.

        Raises:
            StoreError: it could not be stored.
        """
        incoming = self._read(asked)
        chat = str(incoming.chat)
        if (run := self._runs.find(chat, asked.run)) is not None:
            return run
        if self._deliver is None or len(self._runs) >= MOST_RUNS:
            return None
        run = self._runs.open(chat, asked.run)
        try:
            await self._deliver(incoming)
        except BaseException:
            self._runs.forget(chat, asked.run)
            run.give_up()
            raise
        begin_in(self._following, self._follow(incoming, run), "web run")
        return run

    def _read(self, asked: Asked) -> Incoming:
        """Build what the core takes in."""
        chat = self._chat_of(asked)
        sender = Sender(id=f"{self.platform}:{asked.person}", name=asked.person, language=asked.language)
        target = ReplyTarget(self.platform, {"chat": str(chat), "run": asked.run, "reaches": False})
        if asked.decision is not None:
            control, turn, mark = asked.decision
            return ControlPressed(
                delivery=asked.run,
                chat=chat,
                sender=sender,
                target=target,
                sent_at=self._clock.wall(),
                control=control,
                turn=turn,
                mark=mark,
            )
        word, argument = words.parse(asked.text) or ("", asked.text)
        return MessageSent(
            delivery=asked.run,
            chat=chat,
            sender=sender,
            target=target,
            sent_at=self._clock.wall(),
            text=argument,
            command=word,
            message_id=asked.run,
            enclosed=asked.files,
            awaited=True,
            alone=not asked.thread,
            abandons=asked.abandons,
        )

    def _chat_of(self, asked: Asked) -> ChatId:
        thread = (asked.thread, "") if asked.thread else (ALONE, asked.run)
        return ChatId(self.platform, asked.person, *thread)

    async def _follow(self, incoming: Incoming, run: Run) -> None:
        """End a run when its delivery has ended in the store, whatever process answered it."""
        with Contained():
            try:
                end = await self._until_ended(incoming, run)
                run.finish(end, await self._look_at_calls(str(incoming.chat), incoming.delivery, run))
            finally:
                self._runs.forget(str(incoming.chat), incoming.delivery)
                if not run.over:
                    run.give_up()

    async def _until_ended(self, incoming: Incoming, run: Run) -> Recalled:
        looks, ended_at = 0, None
        while True:
            recalled, now = await self._look(incoming), self._clock.monotonic()
            if recalled.ended:
                ended_at = now if ended_at is None else ended_at
                # A sentence that is no answer may be shown after its delivery has ended.
                if recalled.text or run.stands or now - ended_at >= PATIENCE:
                    return recalled
            if run.stands:
                # The end is stored within milliseconds, unless more comes.
                await self._clock.sleep(min(LOOK_SECONDS, FIRST_LOOK * 2**looks))
                looks += looks < _MOST_LOOKS
            else:
                looks = 0
                await run.wait_until_it_stands(self._clock, LOOK_SECONDS)

    async def _look(self, incoming: Incoming) -> Recalled:
        if self.recall is None:
            return Recalled(ended=False)
        try:
            # Of a deleted chat nothing is stored.
            return await self.recall(incoming.chat, incoming.delivery) or Recalled(ended=True)
        except StoreError:
            return Recalled(ended=False)

    async def _keep(self, chat: str, delivery: str, text: str) -> None:
        if self.keep_said is not None:
            with contextlib.suppress(StoreError):
                await self.keep_said(ChatId.parse(chat), delivery, text)

    async def _look_at_calls(self, chat: str, delivery: str, run: Run) -> tuple[RecalledCall, ...]:
        """Return the calls of which a run has not told all; none if they cannot be read now."""
        if self.recall_calls is None:
            return ()
        try:
            return await self.recall_calls(ChatId.parse(chat), delivery, run.ended_calls)
        except StoreError:
            return ()


def open_adapter(settings: WebSettings) -> WebAdapter:
    """Return the adapter for requests with the token."""
    return WebAdapter(settings)


async def check(settings: WebSettings) -> list[Finding]:
    """Say who may ask: there is no service to log in to."""
    return [
        Finding.ok("whoever has WEB_TOKEN can ask"),
        Finding.note("their ids are web:client, or web:NAME if a request names its user: list them in ALLOWED_USERS"),
    ]
