"""Log the course of a turn: question, passes, tool calls, answer; at DEBUG also the arguments and results of tools.

A line names its chat, turn and reference by itself (`logs.about`). No line contains words of people or models.
"""

from __future__ import annotations

import json
import logging

from bot.contract import Clock, MessageSent, Usage
from bot.store import TurnState
from tools.contract.base import ToolCall, ToolResult

log = logging.getLogger(__name__)

RESULT_CHARS = 200
"""Characters of a result that DEBUG shows."""


class Story:
    """Writes the log lines of one turn, with the duration of each step."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = self._step = clock.monotonic()

    def asked(self, question: MessageSent, attempt: int) -> None:
        again = f", attempt {attempt}" if attempt > 1 else ""
        log.info("question of %s, %d characters%s", question.sender.id, len(question.text), again)

    def thought(self, number: int, model: str, usage: Usage, calls: tuple[ToolCall, ...]) -> None:
        """Log a finished pass."""
        asks = f"; asks for {', '.join(call.name for call in calls)}" if calls else ""
        log.info(
            "pass %d: %s, %d tokens in (%d cached), %d out, %.1f s%s",
            number,
            model or "before any model",
            usage.prompt,
            usage.cached,
            usage.completion,
            self._elapsed(),
            asks,
        )

    def called(self, call: ToolCall, result: ToolResult) -> None:
        """Log a finished tool call: a failed one as a warning."""
        level = logging.INFO if result.ok else logging.WARNING
        log.log(level, "tool %s: %s, %.1f s, %d characters", call.name, result.status, result.seconds, len(result.text))
        if log.isEnabledFor(logging.DEBUG):
            log.debug("tool %s got %s", call.name, json.dumps(dict(call.arguments), ensure_ascii=False))
            log.debug("tool %s gave %r", call.name, result.text[:RESULT_CHARS])
        self._step = self._clock.monotonic()

    def answered(self, state: TurnState, *, pages: int, edits: int, usage: Usage, dollars: float) -> None:
        log.info(
            "answer %s: %d pages, %d edits, %d tokens, $%.4f, %.1f s",
            state,
            pages,
            edits,
            usage.prompt + usage.completion,
            dollars,
            self._clock.monotonic() - self._began,
        )

    def _elapsed(self) -> float:
        before, self._step = self._step, self._clock.monotonic()
        return self._step - before
