"""A graph of LangGraph as Parley's agent; needs `langgraph`, and the package of its model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any, cast

from langchain_core.messages import messages_from_dict as read
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from parley_chat.agent import Call, Checkpoint, Event, Question, Result
from parley_chat.agents.langgraph_events import Reader
from parley_chat.agents.langgraph_pauses import go_on, question_of
from parley_chat.agents.langgraph_reviews import is_of_node
from parley_chat.agents.langgraph_state import CONFIG, checkpoint_of, open_calls, read_history, unpack


class LangGraphAgent:
    """Answers with a compiled graph whose state has `messages`; `interrupt()` asks by a card in the chat.

    Parley hands it what was done before a restart: its own checkpoints are not used, they would run a tool again.
    """

    def __init__(
        self,
        graph: Any,
        *,
        reads: Collection[str] = (),
        resume: Callable[[bool], Any] = bool,
        provider: str = "openai",
    ) -> None:
        """`reads` are tools that may be called again after a restart; `resume` makes what `interrupt()` returns of
        whether a person allowed it."""
        self._graph, self._reads, self._resume, self._provider = graph, reads, resume, provider

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        told, decision, refused, paused = read_history(question), question.decision, "", False
        inner: list[Any] = []
        saver, given = InMemorySaver(), cast("Any", {"messages": told})
        graph = self._graph.copy({"checkpointer": saver})
        state = json.loads(decision.state) if decision is not None else {}
        if kept := question.checkpoint or state.get("graph", ""):
            (stands, *inner), given = await go_on(graph, saver, kept, question), None
            told = list(stands.values.get("messages", []))
            decided = decision.call.id if decision is not None else ""
            for call in [one for one in open_calls(told)[1] if one["id"] != decided and not question.done]:
                yield self._call(call)
        if decision is not None and kept == state.get("graph"):
            given = Command(resume={state["id"]: self._answer(state, decision.allowed)})
            refused = "" if decision.allowed else decision.call.id
            if decision.allowed:
                yield decision.call
        elif decision is not None and "rest" in state:
            told, given = read(state["messages"]), Command(resume=self._resume(decision.allowed))
            await graph.aupdate_state(CONFIG, {**unpack(state["rest"]), "messages": told}, as_node=state["node"])
            refused = "" if decision.allowed else decision.call.id
            if decision.allowed:
                yield self._call(told[-1].tool_calls[0])
        reader = Reader(told, inner, self._call, self._provider)
        reader.node = state.get("node", "")
        modes, config = ["messages", "updates", "checkpoints"][: 3 if kept else 2], {**CONFIG, "callbacks": [reader]}
        async for space, mode, event in graph.astream(
            given, config, stream_mode=modes, durability="sync", subgraphs=True
        ):
            paused |= mode == "updates" and "__interrupt__" in event
            for one in reader.read(space, mode, event):
                if not (isinstance(one, Result) and one.id == refused):
                    yield one
            if mode == "checkpoints" and not space and (decision is None or state["node"] not in event["next"]):
                if now := await checkpoint_of(saver):
                    yield Checkpoint(now)
                if decision is not None and decision.allowed and is_of_node(decision.call.id):
                    yield Result(id=decision.call.id, text="The person allowed it, and it is done.")
                decision = None
        if paused:
            for one in reader.read_ended():
                yield one
            yield await question_of(graph, saver, reader)

    def _answer(self, state: Any, allowed: bool) -> Any:
        answers = state.get("answers") if self._resume is bool else None
        return answers[allowed] if answers else self._resume(allowed)

    def _call(self, call: Any) -> Call:
        return Call(id=call["id"], name=call["name"], arguments=call["args"], effects=call["name"] not in self._reads)
