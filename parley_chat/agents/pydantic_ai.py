"""An agent of pydantic-ai as Parley's; needs `pydantic-ai-slim`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from typing import Any

import pydantic_ai as ai
from pydantic_ai import messages as said

from parley_chat.agent import Ask, Call, Event, Question, Result, Text, Thought, Used
from parley_chat.agents import read_messages

_LATER = "Not run: the person is asked about another call first. Call it again if it is still needed."


class PydanticAgent:
    """Answers with `agent`; its tools with `requires_approval` ask by a card in the chat."""

    def __init__(self, agent: ai.Agent[Any, Any], *, deps: Any = None, reads: Collection[str] = ()) -> None:
        """`deps` is given to every run; `reads` are the tools that change nothing: a restart may call them again."""
        self._agent, self._deps, self._reads = agent, deps, reads

    async def __aenter__(self) -> PydanticAgent:
        await self._agent.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._agent.__aexit__(*exc)

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        history, decided, refused = _history(question), None, dict[str, ai.ToolDenied]()
        if (decision := question.decision) is not None:
            history = said.ModelMessagesTypeAdapter.validate_json(decision.state)
            calls = [part.tool_call_id for part in history[-1].parts if isinstance(part, said.ToolCallPart)]
            refused = {id: ai.ToolDenied(_LATER) for id in calls if id != decision.call.id}
            refused |= {} if decision.allowed else {decision.call.id: ai.ToolDenied("The person refused it.")}
            decided = ai.DeferredToolResults(approvals={id: refused.get(id, True) for id in calls})
        usage, reported = ai.RunUsage(), ai.RunUsage()
        async with self._agent.run_stream_events(
            message_history=history,
            deferred_tool_results=decided,
            output_type=[self._agent.output_type, ai.DeferredToolRequests],
            instructions=question.instructions or None,
            deps=self._deps,
            usage=usage,
        ) as events:
            async for event in events:
                match event:
                    case said.PartStartEvent(part=said.TextPart(content=text)):
                        yield Text(text)
                    case said.PartDeltaEvent(delta=said.TextPartDelta(content_delta=text)):
                        yield Text(text)
                    case said.PartStartEvent(part=said.ThinkingPart(content=text)):
                        yield Thought(text)
                    case said.PartDeltaEvent(delta=said.ThinkingPartDelta(content_delta=text)):
                        yield Thought(text or "")
                    case said.FunctionToolCallEvent(part=call) if call.tool_call_id not in refused:
                        yield _report("", usage, reported)
                        yield self._call(call)
                    case said.FunctionToolResultEvent(part=part) if part.tool_call_id not in refused:
                        ok = isinstance(part, said.ToolReturnPart) and part.outcome == "success"
                        text = part.model_response_str() if isinstance(part, said.ToolReturnPart) else str(part.content)
                        yield Result(id=part.tool_call_id, text=text, ok=ok)
                    case ai.AgentRunResultEvent(result=result):
                        yield _report(f"{result.response.provider_name}:{result.response.model_name}", usage, reported)
                        if isinstance(result.output, ai.DeferredToolRequests):
                            state = result.all_messages_json().decode()
                            yield Ask(call=self._call(result.output.approvals[0]), state=state)
                        elif not isinstance(result.output, str):
                            yield Text(str(result.output))

    def _call(self, part: said.ToolCallPart) -> Call:
        effects = part.tool_name not in self._reads
        return Call(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_dict(), effects=effects)


def _report(model: str, usage: ai.RunUsage, reported: ai.RunUsage) -> Used:
    prompt, completion = usage.input_tokens - reported.input_tokens, usage.output_tokens - reported.output_tokens
    cached = usage.cache_read_tokens - reported.cache_read_tokens
    reported.incr(ai.RunUsage(input_tokens=prompt, output_tokens=completion, cache_read_tokens=cached))
    return Used(model=model, prompt=prompt, completion=completion, cached=cached)


def _history(question: Question) -> list[said.ModelMessage]:
    history: list[said.ModelMessage] = []
    names = dict.fromkeys((message.call for message in question.messages), "")
    for message, addresses in read_messages(question):
        if message.role == "user":
            pictures = [ai.BinaryContent.from_data_uri(address) for address in addresses]
            content = [message.text, *pictures] if pictures else message.text
            history.append(said.ModelRequest([said.UserPromptPart(content)]))
        elif message.role == "assistant":
            names |= {call.id: call.name for call in message.calls}
            calls = [said.ToolCallPart(call.name, dict(call.arguments), call.id) for call in message.calls]
            text = [said.TextPart(message.text)] if message.text else []
            history.append(said.ModelResponse([*text, *calls]))
        else:
            history.append(said.ModelRequest([said.ToolReturnPart(names[message.call], message.text, message.call)]))
    return history
