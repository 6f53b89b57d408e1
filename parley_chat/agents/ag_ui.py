"""An agent behind HTTP that speaks AG-UI 1.0 (https://docs.ag-ui.com), as Parley's."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import aiohttp

from parley_chat.agent import Ask, Call, Decision, Event, Fault, Question, Result, Text, Thought, Used
from parley_chat.agents.ag_ui_messages import is_earlier, text_of, write_input

_LONGEST = 16 * 1024 * 1024
"""Bytes of one event."""


class AGUIAgent:
    """Answers with the agent at `url`; its interrupts ask by a card in the chat, what they ask in words as a call."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, reads: Collection[str] = ()) -> None:
        """`headers` go with every request; `reads` are tools that change nothing: a restart may call them again."""
        self._url, self._headers, self._reads = url, {"Accept": "text/event-stream", **(headers or {})}, reads

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        begun, calls, arguments, gap, id = set[str](), dict[str, Call](), dict[str, list[str]](), "", ""
        for one in _allowed(question.decision, begun):
            yield one
        limits = aiohttp.ClientTimeout(total=None, sock_connect=30)
        async with (
            aiohttp.ClientSession(headers=self._headers, timeout=limits, read_bufsize=_LONGEST) as session,
            session.post(self._url, json=write_input(question)) as response,
        ):
            if response.status != 200:
                yield Fault(detail=f"the agent's server answers {response.status}", retry=response.status >= 500)
                return
            async for event in _read(response):
                match kind := event.get("type"):
                    case "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK":
                        yield Text(gap + (event.get("delta") or ""))
                        gap = ""
                    case "TEXT_MESSAGE_END":
                        gap = "\n\n"
                    case "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK":
                        yield Thought(event.get("delta") or "")
                    case "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK":
                        id = event.get("toolCallId") or id
                        if name := event.get("toolCallName"):
                            calls[id] = Call(id=id, name=name, arguments={}, effects=name not in self._reads)
                        arguments.setdefault(id, []).append(event.get("delta") or "")
                    case "TOOL_CALL_END" | "TOOL_CALL_RESULT" | "RUN_FINISHED":
                        gap = ""
                        for call in _complete(calls, arguments, begun):
                            yield call
                        if kind == "TOOL_CALL_RESULT" and event["toolCallId"] in begun:
                            yield Result(id=event["toolCallId"], text=text_of(event["content"]))
                        if kind == "RUN_FINISHED":
                            for one in _end(event, calls):
                                yield one
                            return
                    case "RUN_ERROR":
                        yield Fault(detail=f"the agent's server: {event.get('code') or event.get('message')}")
                        return
            yield Fault(detail="the agent's server broke off before the end of the run")


def _allowed(decision: Decision | None, begun: set[str]) -> Iterator[Event]:
    if decision is not None and decision.allowed:
        begun.add(decision.call.id)
        yield decision.call
        if decision.call.id == decision.state:  # it was asked in words: no tool runs
            yield Result(id=decision.state, text="The person allowed it.")


def _complete(calls: dict[str, Call], arguments: Mapping[str, list[str]], begun: set[str]) -> list[Call]:
    """Return the calls that have not begun, with their arguments, and count them as begun."""
    new = [id for id in calls if id not in begun]
    calls.update({id: replace(calls[id], arguments=json.loads("".join(arguments[id]) or "{}")) for id in new})
    begun.update(new)
    return [calls[id] for id in new]


async def _read(response: aiohttp.ClientResponse) -> AsyncGenerator[dict[str, Any], None]:
    async for line in response.content:
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


def _end(event: Mapping[str, Any], calls: Mapping[str, Call]) -> Iterator[Event]:
    for used in event.get("usage") or ():
        named = ":".join(filter(None, (used.get("provider"), used.get("model"))))
        prompt, completion = used.get("inputTokens") or 0, used.get("outputTokens") or 0
        yield Used(model=named, prompt=prompt, completion=completion, cached=used.get("cachedInputTokens") or 0)
    asks = (event.get("outcome") or {}).get("interrupts", ())
    for asked in [one for one in asks if not is_earlier(one)][:1]:
        words = Call(id=asked["id"], name=asked["reason"], arguments={"question": asked.get("message") or ""})
        yield Ask(call=calls.get(asked.get("toolCallId") or "", words), state=asked["id"])
