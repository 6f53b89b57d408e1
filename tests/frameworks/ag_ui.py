"""The agent of `tests/ownagents.py` behind HTTP: a server that speaks AG-UI, and the adapter that asks it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from aiohttp import web

from parley_chat.agent import Ask, Call, Decision, Event, Message, Question, Result, Text, Used
from parley_chat.agents.ag_ui import AGUIAgent
from tests import ownagents
from tests.ownagents import Body


class Searching(AGUIAgent):
    """It is served by the process that asks it: the kill of one is the kill of both, as with a library."""

    behind: type[ownagents.Searching] = ownagents.Searching

    def __init__(self) -> None:
        # A server runs ahead of what is stored here: a tool that may be called again would be, in that moment.
        super().__init__("")

    async def __aenter__(self) -> Searching:
        self._agent = await self.behind().__aenter__()
        application = web.Application()
        application.router.add_post("/", self._serve)
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0]
        self._url = f"http://{host}:{port}/"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()
        await self._agent.__aexit__(*exc)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        async for event in written(self._agent, await request.json()):
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        return response


class Asking(Searching):
    behind = ownagents.Asking


def read(message: Body) -> Message:
    calls = tuple(
        Call(id=one["id"], name=one["function"]["name"], arguments=json.loads(one["function"]["arguments"]))
        for one in message.get("toolCalls", ())
    )
    return Message(role=message["role"], text=message["content"], calls=calls, call=message.get("toolCallId", ""))


async def written(agent: ownagents.Searching, body: Body) -> AsyncIterator[Body]:
    """The events of a run, as a server writes them."""
    messages = tuple(map(read, body["messages"]))
    decision = None
    for one in body.get("resume", ()):
        call = Call(**json.loads(one["interruptId"]))
        decision = Decision(call=call, allowed=one["payload"]["approved"], state="")
    question = Question(
        turn=body["runId"], attempt=1, chat=body["threadId"], person="", name="", language="", zone="UTC",
        instructions=body["context"][0]["value"], messages=messages, decision=decision,
    )  # fmt: skip
    names = {"threadId": body["threadId"], "runId": body["runId"]}
    yield {"type": "RUN_STARTED", **names, "protocolVersion": "1.0"}
    end: Body = {"type": "RUN_FINISHED", **names, "outcome": {"type": "success"}, "usage": []}
    async for event in agent.answer(question):
        for one in of(event, end):
            yield one
    yield end


def of(event: Event, end: Body) -> list[Body]:
    match event:
        case Text(text):
            return [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": text}] if text else []
        case Call() | Ask(call=Call()):
            call = event.call if isinstance(event, Ask) else event
            if isinstance(event, Ask):
                id = json.dumps({"id": call.id, "name": call.name, "arguments": dict(call.arguments)})
                asks = {"id": id, "reason": "tool_call", "toolCallId": call.id}
                end["outcome"] = {"type": "interrupt", "interrupts": [asks]}
            return [
                {"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name},
                {"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": json.dumps(dict(call.arguments))},
                {"type": "TOOL_CALL_END", "toolCallId": call.id},
            ]
        case Result():
            return [{"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": event.id, "content": event.text}]
        case Used():
            end["usage"].append({"model": "scripted", "inputTokens": event.prompt, "outputTokens": event.completion})
    return []
