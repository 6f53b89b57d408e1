"""A run as AG-UI events, version 1.0. https://docs.ag-ui.com/concepts/events"""

from __future__ import annotations

import datetime
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from adapters.web.asking import Asked
from adapters.web.completions import BROKEN, COMMENT, event, language_for
from adapters.web.files import as_address
from adapters.web.runs import Quiet, Run, Said, Sent, StepBegan, StepEnded
from bot.contract import Clock
from bot.sentences import say

VERSION: Final = "1.0"
FAILED: Final = "There is no whole answer to this; its text says why."
_SCHEMA: Final = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


class _Events:
    """Writes the events of one run: each message and each step ends before the run does."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._message = ""
        self._count = 0
        self._steps: list[str] = []

    def of(self, news: Said | StepBegan | StepEnded | Sent) -> list[Mapping[str, Any]]:
        match news:
            case Said(message, text):
                begins = [] if message == self._message else [*self._end_message(), self._begin_message(message)]
                return [*begins, self._event("TEXT_MESSAGE_CONTENT", messageId=self._id, delta=text)]
            case StepBegan(line):
                self._steps.append(line)
                return [self._event("STEP_STARTED", stepName=line)]
            case StepEnded(line):
                self._steps.remove(line)
                return [self._event("STEP_FINISHED", stepName=line)]
            case Sent(file):
                value = {"name": file.name, "mimeType": file.media_type, "url": as_address(file)}
                return [self._event("CUSTOM", name="file", value=value)]

    def end(self) -> list[Mapping[str, Any]]:
        """End what is open."""
        return [*self._end_message(), *(self._event("STEP_FINISHED", stepName=line) for line in self._steps)]

    @property
    def _id(self) -> str:
        return f"{self._run}-{self._count}"

    def _begin_message(self, message: str) -> Mapping[str, Any]:
        self._message = message
        self._count += 1
        return self._event("TEXT_MESSAGE_START", messageId=self._id, role="assistant")

    def _end_message(self) -> list[Mapping[str, Any]]:
        return [self._event("TEXT_MESSAGE_END", messageId=self._id)] if self._message else []

    def _event(self, kind: str, **fields: Any) -> Mapping[str, Any]:
        return {"type": kind, **fields}


async def stream(run: Run, asked: Asked, clock: Clock) -> AsyncGenerator[bytes, None]:
    """Yield the events of a run as it goes on, as server-sent events."""
    names = {"threadId": asked.thread, "runId": asked.run}
    yield event({"type": "RUN_STARTED", **names, "protocolVersion": VERSION})
    events, silent = _Events(asked.run), True
    async with aclosing(run.read(clock)) as news:
        async for one in news:
            if isinstance(one, Quiet):
                yield COMMENT
                continue
            silent = False
            for each in events.of(one):
                yield event(each)
    if silent and not run.broken:
        for each in events.of(Said("silent", say("answered_elsewhere", language_for(asked)))):
            yield event(each)
    for each in events.end():
        yield event(each)
    yield event(_last(run, names))


def _last(run: Run, names: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the event that ends a run."""
    end = run.end
    if end is None:
        return {"type": "RUN_ERROR", "message": BROKEN, "code": "broken_off"}
    if end.failed:
        return {"type": "RUN_ERROR", "message": FAILED, "code": "failed"}
    outcome: dict[str, Any] = {"type": "cancelled" if end.stopped else "success"}
    if end.asks:
        expires = datetime.datetime.fromtimestamp(end.asks_until, datetime.UTC).isoformat()
        interrupt = {"id": end.asks, "reason": "tool_call", "message": end.text, "responseSchema": _SCHEMA}
        outcome = {"type": "interrupt", "interrupts": [interrupt | {"expiresAt": expires}]}
    return {"type": "RUN_FINISHED", **names, "outcome": outcome}
