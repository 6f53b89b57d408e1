"""An agent of the OpenAI Agents SDK as Parley's; needs `openai-agents`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any

from agents import Agent, RunHooks, Runner, RunState, set_tracing_disabled

from parley_chat.agent import Ask, Call, Decision, Event, Question, Result, Text, Thought, Used
from parley_chat.agents.openai_agents_messages import read_history


class OpenAIAgent:
    """Answers with `agent`; its tools with `needs_approval` ask by a card in the chat."""

    def __init__(self, agent: Agent[Any], *, reads: Collection[str] = (), turns: int = 10, provider: str = "openai"):
        """`reads` are the tools that change nothing: a restart may call them again; `turns` the most model calls."""
        self._agent, self._reads, self._turns, self._provider = agent, reads, turns, provider
        set_tracing_disabled(True)  # the SDK sends every conversation to OpenAI otherwise

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        events: asyncio.Queue[tuple[Any, asyncio.Event]] = asyncio.Queue()
        working = asyncio.create_task(self._work(question, events.put_nowait))
        try:
            while (taken := await events.get())[0] is not None:
                if (event := self._translate(taken[0])) is not None:
                    yield event
                taken[1].set()
            await working
        finally:
            working.cancel()
            await asyncio.wait([working])

    async def _work(self, question: Question, put: Callable[[tuple[Any, asyncio.Event]], None]) -> None:
        """Run the agent, and put its events. Its tools wait until their calls are stored: the SDK runs ahead."""

        async def begin(context: Any, agent: Any, tool: Any) -> None:
            stored = asyncio.Event()
            put((self._call(context.tool_call_id, context.tool_name, context.tool_arguments), stored))
            await stored.wait()

        hooks: Any = RunHooks()
        hooks.on_tool_start = begin
        try:
            given = await self._resume(question.decision) if question.decision else read_history(question)
            run = Runner.run_streamed(self._agent, given, max_turns=self._turns, hooks=hooks)
            async for event in run.stream_events():
                put((event, asyncio.Event()))
            for one in run.interruptions[:1]:
                call = self._call(one.call_id, one.name, one.arguments)
                put((Ask(call=call, state=run.to_state().to_string()), asyncio.Event()))
            # A tool's result can be the answer.
            if not run.interruptions and [one.type for one in run.new_items[-1:]] == ["tool_call_output_item"]:
                put((Text(str(run.final_output)), asyncio.Event()))
        finally:
            put((None, asyncio.Event()))

    async def _resume(self, decision: Decision) -> Any:
        state = await RunState.from_string(self._agent, decision.state)
        for one in state.get_interruptions():
            own = one.call_id == decision.call.id
            if own and decision.allowed:
                state.approve(one)
            else:
                state.reject(one, rejection_message="The person refused it." if own else "Not run yet; call it again.")
        return state

    def _call(self, id: str, name: str, arguments: str) -> Call:
        return Call(id=id, name=name, arguments=json.loads(arguments or "{}"), effects=name not in self._reads)

    def _translate(self, event: Any) -> Event | None:
        data: Any = getattr(event, "data", None)
        match "" if isinstance(event, Call | Ask | Text) else getattr(data, "type", getattr(event, "name", "")):
            case "response.output_text.delta":
                return Text(data.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return Thought(data.delta)
            case "response.completed" if (used := data.response.usage) is not None:
                model, cached = f"{self._provider}:{data.response.model}", used.input_tokens_details.cached_tokens
                return Used(model=model, prompt=used.input_tokens, completion=used.output_tokens, cached=cached)
            case "tool_output":
                return Result(id=event.item.raw_item["call_id"], text=str(event.item.output))
        return event if isinstance(event, Call | Ask | Text) else None
