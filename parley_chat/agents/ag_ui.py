"""An agent behind HTTP that speaks AG-UI 1.0 (https://docs.ag-ui.com), as Parley's."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import aiohttp

from parley_chat.agent import Ask, Call, Event, Fault, Message, Question, Result, Text, Thought, Used

_LONGEST = 16 * 1024 * 1024
"""Bytes of one event."""


class AGUIAgent:
    """Answers with the agent at `url`; its interrupts about a tool call ask by a card in the chat."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, reads: Collection[str] = ()) -> None:
        """`headers` go with every request; `reads` are tools that change nothing: a restart may call them again."""
        self._url, self._headers, self._reads = url, {"Accept": "text/event-stream", **(headers or {})}, reads

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        begun, calls, arguments = set[str](), dict[str, Call](), dict[str, str]()
        if (decision := question.decision) is not None and decision.allowed:
            begun.add(decision.call.id)
            yield decision.call
        limits = aiohttp.ClientTimeout(total=None, sock_connect=30)
        async with (
            aiohttp.ClientSession(headers=self._headers, timeout=limits, read_bufsize=_LONGEST) as session,
            session.post(self._url, json=_input(question)) as response,
        ):
            if response.status != 200:
                yield Fault(detail=f"the agent's server answers {response.status}", retry=response.status >= 500)
                return
            async for line in response.content:
                event = json.loads(line[5:]) if line.startswith(b"data:") else {}
                id = event.get("toolCallId", "")
                match event.get("type"):
                    case "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK":
                        yield Text(event.get("delta") or "")
                    case "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK":
                        yield Thought(event.get("delta") or "")
                    case "TOOL_CALL_START":
                        effects = event["toolCallName"] not in self._reads
                        calls[id] = Call(id=id, name=event["toolCallName"], arguments={}, effects=effects)
                    case "TOOL_CALL_ARGS":
                        arguments[id] = arguments.get(id, "") + event["delta"]
                    case "TOOL_CALL_END" if id not in begun:
                        calls[id] = replace(calls[id], arguments=json.loads(arguments.get(id) or "{}"))
                        begun.add(id)
                        yield calls[id]
                    case "TOOL_CALL_RESULT" if id in begun:
                        yield Result(id=id, text=str(event["content"]))
                    case "RUN_ERROR":
                        yield Fault(detail=f"the agent's server: {event.get('code') or event.get('message')}")
                        return
                    case "RUN_FINISHED":
                        for one in _end(event, calls):
                            yield one
                        return
            yield Fault(detail="the agent's server broke off before the end of the run")


def _end(event: Mapping[str, Any], calls: Mapping[str, Call]) -> Iterator[Event]:
    for used in event.get("usage") or ():
        named = ":".join(filter(None, (used.get("provider"), used.get("model"))))
        prompt, completion = used.get("inputTokens") or 0, used.get("outputTokens") or 0
        yield Used(model=named, prompt=prompt, completion=completion, cached=used.get("cachedInputTokens") or 0)
    for asked in (event.get("outcome") or {}).get("interrupts", [])[:1]:
        call = calls.get(asked.get("toolCallId", ""))
        fault = Fault(detail="the agent's server asks about no call", retry=False)
        yield fault if call is None else Ask(call=call, state=asked["id"])


def _input(question: Question) -> dict[str, Any]:
    decided = [{"interruptId": one.state, "payload": {"approved": one.allowed}} for one in [question.decision] if one]
    return {
        "threadId": question.chat,
        "runId": f"{question.turn}-{question.attempt}",
        "messages": [_message(one, f"m{place}") for place, one in enumerate(question.messages)],
        "context": [{"description": "instructions", "value": question.instructions}],
        "tools": [],
        "state": {},
        "forwardedProps": {},
        **({"resume": [one | {"status": "resolved"} for one in decided]} if decided else {}),
    }


def _message(message: Message, id: str) -> dict[str, Any]:
    told = {"id": id, "role": message.role, "content": message.text}
    if message.role == "tool":
        return told | {"toolCallId": message.call}
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": json.dumps(dict(one.arguments))}}
        for one in message.calls
    ]
    return told | ({"toolCalls": calls} if calls else {})
