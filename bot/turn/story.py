"""Tell the course of a turn, to the log and to watchers: question, passes, tool calls, answer.

A line of the log names its chat, turn and reference by itself (`logs.about`), and contains no words of people or
models; at DEBUG the arguments and results of tools are logged, too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Self

from bot.agent import PassEnded
from bot.contract import (
    BeginStep,
    CallStep,
    Clock,
    EndStep,
    MessageSent,
    PassStep,
    Step,
    StoreError,
    Unreachable,
    Usage,
    Watcher,
)
from bot.store import Delivered, TurnState
from tools.contract.base import ToolCall, ToolResult

log = logging.getLogger(__name__)

RESULT_CHARS = 200
"""Characters of a result that DEBUG shows."""


class Story:
    """Tells of one try of a turn, with the duration of each step; leaving its block ends one without an answer."""

    def __init__(self, clock: Clock, turn: int = 0, watchers: Sequence[Watcher] = ()) -> None:
        self._clock = clock
        self._turn = turn
        self._watchers = watchers
        self._began = self._step = clock.monotonic()
        self._error = ""
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._ended:
            return
        match error:
            case StoreError():
                self._error = "store"
            case Unreachable():
                self._error = "unreachable"
            case Exception():
                self._error = "failed"
        self._tell(EndStep(turn=self._turn, state="", error=self._error, at=self._clock.monotonic()))

    def asked(self, question: MessageSent, attempt: int, came_at: float = 0.0) -> None:
        again = f", attempt {attempt}" if attempt > 1 else ""
        log.info("question of %s, %d characters%s", question.sender.id, len(question.text), again)
        came_at = came_at or self._began
        self._tell(BeginStep(turn=self._turn, chat=question.chat, attempt=attempt, came_at=came_at, at=self._began))

    def begin_pass(self) -> None:
        """Time the first pass from now; each later one begins when the step before it ends."""
        self._step = self._clock.monotonic()

    def thought(self, number: int, made: PassEnded) -> None:
        """Tell of a finished pass."""
        began, self._step = self._step, self._clock.monotonic()
        calls, usage = made.entry.calls, made.usage
        asks = f"; asks for {', '.join(call.name for call in calls)}" if calls else ""
        log.info(
            "pass %d: %s, %d tokens in (%d cached), %d out, %.1f s%s",
            number,
            made.model or "before any model",
            usage.prompt,
            usage.cached,
            usage.completion,
            self._step - began,
            asks,
        )
        if made.model:
            self._tell(
                PassStep(
                    turn=self._turn,
                    asked=made.asked or made.model,
                    model=made.model,
                    usage=usage,
                    finish=made.finish,
                    began=began,
                    at=self._step,
                )
            )

    def failed(self, asked: str, key: str) -> None:
        """Tell why there is no answer, or only a part of one.

        Args:
            asked: the model that failed, as `provider:name`; empty if none did.
            key: the key of the sentence about it.
        """
        self._error = key
        if asked:
            now = self._clock.monotonic()
            self._tell(PassStep(turn=self._turn, asked=asked, error=key, began=self._step, at=now))

    def called(self, call: ToolCall, result: ToolResult, *, known: bool) -> None:
        """Tell of a finished tool call: of a failed one as a warning; `known`: there is such a tool."""
        level = logging.INFO if result.ok else logging.WARNING
        log.log(level, "tool %s: %s, %.1f s, %d characters", call.name, result.status, result.seconds, len(result.text))
        if log.isEnabledFor(logging.DEBUG):
            log.debug("tool %s got %s", call.name, json.dumps(dict(call.arguments), ensure_ascii=False))
            log.debug("tool %s gave %r", call.name, result.text[:RESULT_CHARS])
        self._step = self._clock.monotonic()
        began = self._step - result.seconds
        tool = call.name if known else ""
        self._tell(CallStep(turn=self._turn, tool=tool, status=result.status, began=began, at=self._step))

    def answered(self, state: TurnState, delivered: Delivered, *, pages: int, usage: Usage, dollars: float) -> None:
        now, edits = self._clock.monotonic(), delivered.edits
        log.info(
            "answer %s: %d pages, %d edits, %d tokens, $%.4f, %.1f s",
            state,
            pages,
            edits,
            usage.prompt + usage.completion,
            dollars,
            now - self._began,
        )
        self._ended = True
        self._tell(
            EndStep(
                turn=self._turn,
                state=state,
                error=self._error,
                usage=usage,
                dollars=dollars,
                pages=pages,
                edits=edits,
                first_words=delivered.first_words,
                at=now,
            )
        )

    def _tell(self, step: Step) -> None:
        for watch in self._watchers:
            watch(step)
