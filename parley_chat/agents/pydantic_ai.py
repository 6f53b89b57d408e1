"""An agent of pydantic-ai as Parley's; needs `pydantic-ai-slim`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from typing import Any

from pydantic_ai import Agent, AgentRunResultEvent, BinaryContent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai import messages as said

from parley_chat.agent import Ask, Call, Event, Question, Result, Text, Thought, Used

_LATER = "Not run: the person is asked about another call first. Call it again if it is still needed."


class PydanticAgent:
    """Answers with `agent`; its tools with `requires_approval` ask by a card in the chat."""

    def __init__(self, agent: Agent[Any, Any], *, deps: Any = None, reads: Collection[str] = ()) -> None:
        """`deps` is given to every run; `reads` are the tools that change nothing: a restart may call them again."""
        self._agent, self._deps, self._reads = agent, deps, reads

    async def __aenter__(self) -> PydanticAgent:
        await self._agent.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._agent.__aexit__(*exc)

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        history, decided, refused = _history(question), None, dict[str, ToolDenied]()
        if (decision := question.decision) is not None:
            history = said.ModelMessagesTypeAdapter.validate_json(decision.state)
            calls = [part.tool_call_id for part in history[-1].parts if isinstance(part, said.ToolCallPart)]
            refused = {id: ToolDenied(_LATER) for id in calls if id != decision.call.id}
            refused |= {} if decision.allowed else {decision.call.id: ToolDenied("The person refused it.")}
            decided = DeferredToolResults(approvals={id: refused.get(id, True) for id in calls})
        async with self._agent.run_stream_events(
            message_history=history,
            deferred_tool_results=decided,
            output_type=[self._agent.output_type, DeferredToolRequests],
            instructions=question.instructions or None,
            deps=self._deps,
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
                        yield self._call(call)
                    case said.FunctionToolResultEvent(part=part) if part.tool_call_id not in refused:
                        ok = isinstance(part, said.ToolReturnPart) and part.outcome == "success"
                        text = part.model_response_str() if isinstance(part, said.ToolReturnPart) else str(part.content)
                        yield Result(id=part.tool_call_id, text=text, ok=ok)
                    case AgentRunResultEvent(result=result):
                        used, last = result.usage, result.response
                        yield Used(
                            model=f"{last.provider_name}:{last.model_name}",
                            prompt=used.input_tokens,
                            completion=used.output_tokens,
                            cached=used.cache_read_tokens,
                        )
                        if isinstance(result.output, DeferredToolRequests):
                            state = result.all_messages_json().decode()
                            yield Ask(call=self._call(result.output.approvals[0]), state=state)
                        elif not isinstance(result.output, str):
                            yield Text(str(result.output))

    def _call(self, part: said.ToolCallPart) -> Call:
        effects = part.tool_name not in self._reads
        return Call(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_dict(), effects=effects)


def _history(question: Question) -> list[said.ModelMessage]:
    history: list[said.ModelMessage] = []
    names: dict[str, str] = {}
    files = [one for one in question.files if one.media_type.startswith("image/")]
    pictures = [BinaryContent(one.content, media_type=one.media_type) for one in files]
    for place, message in enumerate(question.messages, question.done - len(question.messages)):
        if message.role == "user":
            content = [message.text, *pictures] if pictures and place == -1 else message.text
            history.append(said.ModelRequest([said.UserPromptPart(content)]))
        elif message.role == "assistant":
            names |= {call.id: call.name for call in message.calls}
            calls = [said.ToolCallPart(call.name, dict(call.arguments), call.id) for call in message.calls]
            text = [said.TextPart(message.text)] if message.text else []
            history.append(said.ModelResponse([*text, *calls]))
        else:
            part = said.ToolReturnPart(names.get(message.call, ""), message.text, message.call)
            history.append(said.ModelRequest([part]))
    return history
