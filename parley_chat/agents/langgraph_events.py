"""What the stream of a graph of LangGraph says that is new, whatever its nodes are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from parley_chat.agent import Call, Event, Result, Text
from parley_chat.agents.langgraph_state import messages_in, open_calls, text_of, used_for


class Reader(AsyncCallbackHandler):
    """Reads events; a message counts once, by its id, in whichever node or subgraph it is seen first."""

    def __init__(self, told: list[Any], inner: list[Any], call_of: Callable[[Any], Call], provider: str) -> None:
        """`told` are the messages of the graph itself; they are kept up. `inner` is where its subgraphs stand."""
        self.told, self._call_of, self._provider = told, call_of, provider
        self.node = ""
        """The graph's node that made the last calls."""
        self._inner: list[Any] = []
        """The messages of its subgraphs."""
        self._texts: dict[str, str] = {}
        """What models wrote, by message, until the graph has it: a node may repeat it as a message of its own."""
        self._last = ""
        self._open: dict[str, tuple[str, ...]] = {call["id"]: () for call in open_calls(told)[1]}
        """The subgraph that made each call without a result; what models write in a tool is no answer."""
        for one in inner:
            self._inner += (messages := one.values.get("messages", []))
            space = tuple(one.config["configurable"]["checkpoint_ns"].split("|"))
            self._open |= {call["id"]: space for call in open_calls(messages)[1]}
        self._ended: list[ToolMessage] = []

    async def on_tool_end(self, output: Any, **_: Any) -> None:
        if isinstance(output, ToolMessage):
            self._ended.append(output)

    def read(self, space: tuple[str, ...], mode: str, event: Any) -> Iterator[Event]:
        in_tool = any(space[: len(at)] == at for at in self._open.values())
        if mode == "messages" and isinstance(event[0], AIMessageChunk) and not in_tool:
            yield self._text(event[0])
            self._texts[event[0].id] = self._texts.get(event[0].id, "") + text_of(event[0])
        for node, update in event.items() if mode == "updates" else ():
            for message in messages_in(update):
                if self._is_new(message, space):
                    yield from self._tell(message, node, space)

    def read_ended(self) -> Iterator[Event]:
        """Read the results of tools that have run in a node which another of its tools interrupted."""
        ended = [one for one in self._ended if self._open.get(one.tool_call_id) == ()]
        yield from self.read((), "updates", {"": {"messages": ended}})

    def _is_new(self, message: Any, space: tuple[str, ...]) -> bool:
        if space and (not message.id or any(space != at == space[: len(at)] for at in self._open.values())):
            return False
        known = _holds(self.told, message)
        if not known and not space:
            self.told.append(message)
        return not known and not _holds(self._inner, message)

    def _tell(self, message: Any, node: str, space: tuple[str, ...]) -> Iterator[Event]:
        if space:
            self._inner.append(message)
        if isinstance(message, ToolMessage):
            self._open.pop(message.tool_call_id, None)
            yield Result(id=message.tool_call_id, text=str(message.content), ok=message.status != "error")
        elif isinstance(message, AIMessage):
            said = [id for id, text in self._texts.items() if id == message.id or text == text_of(message)]
            if not said:
                yield self._text(message)
            if space:
                self._texts[message.id] = text_of(message)
            elif said:
                del self._texts[message.id if message.id in said else said[0]]
            yield used_for(message, self._provider)
            if message.tool_calls:
                self._last, self.node = "", self.node if space else node
                self._open |= {call["id"]: space for call in message.tool_calls}
            yield from map(self._call_of, message.tool_calls)

    def _text(self, message: Any) -> Text:
        text = text_of(message)
        gap = "\n\n" if text and self._last and self._last != message.id else ""
        self._last = (message.id or "?") if text else self._last
        return Text(gap + text)


def _holds(messages: list[Any], message: Any) -> bool:
    return bool(message.id) and any(
        one.id == message.id if one.id else (one.type, one.content) == (message.type, message.content)
        for one in messages
    )
