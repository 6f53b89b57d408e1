"""An agent of pydantic-ai as Parley's; needs `pydantic-ai-slim`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Collection
from typing import Any

import pydantic_ai as ai
from pydantic_ai import messages as said

from parley_chat.agent import Ask, Call, Event, Fault, Question, Result, Text, Thought, Used
from parley_chat.agents.pydantic_ai_messages import read_history, waiting_calls

os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # on a terminal it would stand in Parley's log

_DEFERRED = "it defers {} to another program, and none answers: let it run the tool, or ask with requires_approval"
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
        history, decided, refused = read_history(question), None, dict[str, ai.ToolDenied]()
        if (decision := question.decision) is not None:
            history = said.ModelMessagesTypeAdapter.validate_json(decision.state)
            calls = waiting_calls(history)
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
                        if isinstance(result.output, ai.DeferredToolRequests) and result.output.approvals:
                            state = result.all_messages_json().decode()
                            yield Ask(call=self._call(result.output.approvals[0]), state=state)
                        elif isinstance(result.output, ai.DeferredToolRequests):
                            yield Fault(detail=_DEFERRED.format(result.output.calls[0].tool_name), retry=False)
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
