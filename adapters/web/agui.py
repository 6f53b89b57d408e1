"""A run as AG-UI events, version 1.0. https://docs.ag-ui.com/concepts/events"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from adapters.web.asking import Asked
from adapters.web.completions import BROKEN, COMMENT, event, language_for
from adapters.web.files import as_address
from adapters.web.runs import CallBegan, CallEnded, News, Quiet, Run, Said, Sent, StepBegan, StepEnded
from bot.contract import Clock, RecalledCall
from bot.sentences import say

VERSION: Final = "1.0"
FAILED: Final = "There is no whole answer to this; its text says why."
_SCHEMA: Final = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


NO_RESULT: Final = "Error: no result is known; the call may have been carried out."


@dataclass(frozen=True, slots=True)
class Interrupt:
    """What a person is asked about a call.

    It does not say when that expires: then clients begin no further run of the thread, not even one that gives it up.
    """

    id: str
    question: str
    call: str
    """Empty: unknown."""
    earlier: bool = False
    """An earlier run asked it, and it is still open."""

    def written(self) -> Mapping[str, Any]:
        """Return it in the form of the protocol."""
        told = {"id": self.id, "reason": "tool_call", "message": self.question, "responseSchema": _SCHEMA}
        about = {"toolCallId": self.call} if self.call else {}
        return told | about | ({"metadata": {"parley": {"earlier": True}}} if self.earlier else {})


class _Events:
    """Writes the events of one run: each message, step and call ends before the run does, and each message before a
    step or a call begins or ends. Some clients of earlier versions take no other order."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._message = ""
        self._count = 0
        self._steps: list[str] = []
        self._calls: list[str] = []

    def of(self, news: News) -> list[Mapping[str, Any]]:
        match news:
            case Said(message, text):
                return self._say(message, text)
            case StepBegan(line):
                self._steps.append(line)
                return [*self._end_message(), self._event("STEP_STARTED", stepName=line)]
            case StepEnded(line):
                self._steps.remove(line)
                return [*self._end_message(), self._event("STEP_FINISHED", stepName=line)]
            case CallBegan(call):
                self._calls.append(call.id)
                return [] if call.decided else [*self._end_message(), *self._begin_call(call)]
            case CallEnded(id, result):
                self._calls.remove(id)
                return [*self._end_message(), self._end_call(id, result)]
            case Sent(file):
                value = {"name": file.name, "mimeType": file.media_type, "url": as_address(file)}
                return [self._event("CUSTOM", name="file", value=value)]

    def end(self, waits: str) -> list[Mapping[str, Any]]:
        """End what is open, except the call that a person is asked about."""
        return [
            *self._end_message(),
            *(self._end_call(id, NO_RESULT) for id in self._calls if id != waits),
            *(self._event("STEP_FINISHED", stepName=line) for line in self._steps),
        ]

    def _say(self, message: str, text: str) -> list[Mapping[str, Any]]:
        if message == self._message:
            return [self._event("TEXT_MESSAGE_CONTENT", messageId=self._id, delta=text)]
        if not (text := text.lstrip("\n")):
            return []
        begins = [*self._end_message(), self._begin_message(message)]
        return [*begins, self._event("TEXT_MESSAGE_CONTENT", messageId=self._id, delta=text)]

    def _begin_call(self, call: RecalledCall) -> list[Mapping[str, Any]]:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        return [
            self._event("TOOL_CALL_START", toolCallId=call.id, toolCallName=call.name),
            self._event("TOOL_CALL_ARGS", toolCallId=call.id, delta=arguments),
            self._event("TOOL_CALL_END", toolCallId=call.id),
        ]

    def _end_call(self, id: str, result: str) -> Mapping[str, Any]:
        return self._event("TOOL_CALL_RESULT", messageId=f"{id}-result", toolCallId=id, content=result, role="tool")

    @property
    def _id(self) -> str:
        return f"{self._run}-{self._count}"

    def _begin_message(self, message: str) -> Mapping[str, Any]:
        self._message = message
        self._count += 1
        return self._event("TEXT_MESSAGE_START", messageId=self._id, role="assistant")

    def _end_message(self) -> list[Mapping[str, Any]]:
        open, self._message = self._message, ""
        return [self._event("TEXT_MESSAGE_END", messageId=self._id)] if open else []

    def _event(self, kind: str, **fields: Any) -> Mapping[str, Any]:
        return {"type": kind, **fields}


async def stream(
    run: Run, asked: Asked, clock: Clock, find_open: Callable[[Asked], Awaitable[Interrupt | None]]
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a run as it goes on, as server-sent events.

    Args:
        find_open: returns what an earlier run of the thread asked a person and nobody has answered; if there is
            something, a run does not end as a success.
    """
    names = {"threadId": asked.thread, "runId": asked.run}
    yield event({"type": "RUN_STARTED", **names, "protocolVersion": VERSION})
    events, silent = _Events(asked.run), True
    async with aclosing(run.read(clock)) as news:
        async for one in news:
            if isinstance(one, Quiet):
                yield COMMENT
                continue
            silent = silent and isinstance(one, CallBegan | CallEnded)
            for each in events.of(one):
                yield event(each)
    if silent and not run.broken:
        for each in events.of(Said("silent", say("answered_elsewhere", language_for(asked)))):
            yield event(each)
    own = Interrupt(run.end.asks, run.end.question or run.end.text, run.waits) if run.end and run.end.asks else None
    for each in events.end(own.call if own is not None else ""):
        yield event(each)
    yield event(_last(run, names, own or await find_open(asked)))


def _last(run: Run, names: Mapping[str, str], interrupt: Interrupt | None) -> Mapping[str, Any]:
    """Return the event that ends a run."""
    end = run.end
    if end is None:
        return {"type": "RUN_ERROR", "message": BROKEN, "code": "broken_off"}
    if end.failed:
        return {"type": "RUN_ERROR", "message": FAILED, "code": "failed"}
    outcome: dict[str, Any] = {"type": "cancelled" if end.stopped else "success"}
    if interrupt is not None and not end.stopped:
        outcome = {"type": "interrupt", "interrupts": [interrupt.written()]}
    return {"type": "RUN_FINISHED", **names, "outcome": outcome}
