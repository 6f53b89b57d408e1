"""The Responses wire, for OpenAI models that refuse tools beside reasoning effort on Chat Completions.

Nothing is stored at the provider: every request carries the whole conversation, reasoning items encrypted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.contract import AssistantEntry, SystemEntry, UserEntry
from bot.contract import Usage as Used
from bot.model.arguments import read_arguments
from bot.model.assembly import Assembly, Delta, StreamFault, count_of, table_in, tables_in
from bot.model.base import Request
from bot.model.endings import BROKEN, CUT_SHORT, WHOLE, meaning_of
from bot.model.protocol import results_texts
from bot.model.rendering import (
    ChatRendering,
    Declarations,
    Weighed,
    call_id,
    data_urls,
    posted,
    results_of,
    told,
    tool_name,
)
from bot.model.searched import annotated_in
from bot.model.sse import Decoder, EventDecoder
from bot.model.wire import Body, Endpoint, Opening
from tools.contract.base import Json, ToolCall
from tools.contract.json_values import read_json


class ResponsesAssembly(Assembly):
    """An answer of the Responses interface."""

    def __init__(self) -> None:
        super().__init__()
        self._said = False
        self._begun: set[int] = set()
        self._items: dict[int, dict[str, Json]] = {}

    def add(self, event: Mapping[str, Any], delta: Delta) -> None:
        kind = event.get("type")
        place = event.get("output_index")
        index = place if isinstance(place, int) else 0
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                delta.text += self._text.join(str(event.get("delta") or ""))
                self._said = True
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                delta.reasoning += self._reasoning.join(str(event.get("delta") or ""))
            case "response.output_text.annotation.added":
                self.annotated += annotated_in([event.get("annotation")])
            case "response.function_call_arguments.delta":
                self._slots.add({"index": index, "function": {"arguments": event.get("delta")}})
                self._begun.add(index)
            case "response.output_item.added" | "response.output_item.done":
                item = event.get("item")
                if isinstance(item, dict):
                    self._item(item, index, delta, done=kind.endswith("done"))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                self._ended(table_in(event.get("response")), str(kind))
            case "error":
                raise StreamFault(event)
            case None if event.get("error"):
                raise StreamFault(event["error"])
            case None:
                self._pass_over(event)
                return
            case _:
                return
        self.begun = delta.progress = True

    def _item(self, item: dict[str, Any], index: int, delta: Delta, *, done: bool) -> None:
        if item.get("type") == "function_call":
            arguments = item.get("arguments") if done and index not in self._begun else ""
            function = {"name": item.get("name"), "arguments": arguments}
            self._slots.add({"index": index, "id": item.get("call_id"), "function": function})
        if not done:
            return
        if item.get("type") == "message" and not self._said:
            for part in tables_in(item.get("content")):
                delta.text += self._text.join(str(part.get("text") or part.get("refusal") or ""))
        if item.get("type") == "image_generation_call":
            self.pictures.add(item.get("result"))
            return
        self._items[index] = item

    def _ended(self, response: Mapping[str, Any], kind: str) -> None:
        if kind in ("response.failed", "response.cancelled"):
            raise StreamFault(response.get("error") or kind)
        self.finish = WHOLE
        if kind == "response.incomplete":
            # Nothing that is incomplete is whole, whatever its reason means elsewhere.
            named = table_in(response.get("incomplete_details")).get("reason")
            self.reason, meaning = str(named or kind), meaning_of(named)
            self.finish = meaning if meaning in CUT_SHORT else BROKEN
        usage = response.get("usage")
        if isinstance(usage, Mapping):
            self.usage = Used(
                count_of(usage, "input_tokens"),
                count_of(usage, "output_tokens"),
                count_of(usage.get("input_tokens_details"), "cached_tokens"),
                count_of(usage.get("output_tokens_details"), "reasoning_tokens"),
            )

    def message(self) -> dict[str, Json]:
        output: list[Json] = []
        calls = {call.id: call for call in self.calls()}
        for _, item in sorted(self._items.items()):
            call = calls.get(str(item.get("call_id")))
            if item.get("type") == "function_call" and call is not None:
                mended = json.dumps(dict(call.arguments), ensure_ascii=False)
                text = item.get("arguments")
                valid = isinstance(text, str) and text != "" and read_arguments(text) == (dict(call.arguments), "")
                item = {**item, "arguments": text if valid and _is_json(text) else mended}
            output.append(item)
        return {"output": output} if output else {}


def _is_json(text: Json) -> bool:
    try:
        read_json(str(text))
    except ValueError:
        return False
    return True


class ResponsesWire:
    """Responses, stateless."""

    assembly: type[Assembly] = ResponsesAssembly
    decoder: type[Decoder] = EventDecoder

    def __init__(self, at: Endpoint) -> None:
        self._at = at
        self.identity = f"{at.place} responses"
        self._rendering = ChatRendering(at.name.provider, self.identity)
        self._declarations = Declarations(lambda schema: {"type": "function", **schema, "strict": False})

    def body(self, request: Request, *, native: bool) -> Body:
        declared = native and bool(request.tools)
        body: Body = {
            "model": self._at.name.model,
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if declared:
            instructions, body["input"] = self._items(request)
            body["tools"] = self._declarations.of(request.tools)
            if request.tool_choice in ("none", "required"):
                body["tool_choice"] = request.tool_choice
            elif request.tool_choice != "auto":
                body["tool_choice"] = {"type": "function", "name": request.tool_choice}
        else:
            messages = self._rendering.messages(request, native=False, protocol=not native)
            instructions = messages.pop(0)["content"] if messages and messages[0]["role"] == "system" else ""
            body["input"] = [_as_input(message) for message in messages]
        if instructions:
            body["instructions"] = instructions
        if self._at.options.reasoning_effort:
            body["reasoning"] = {"effort": self._at.options.reasoning_effort}
        if (most := self._at.most_tokens(request)) and "max_output_tokens" not in self._at.learned.refused:
            body["max_output_tokens"] = most
        return body

    def open(self, body: Body) -> Opening:
        return self._at.api.post("/responses", body)

    def _items(self, request: Request) -> tuple[str, list[Mapping[str, Any]]]:
        """The instructions and the conversation as input items."""
        system = [entry.text for entry in request.entries if isinstance(entry, SystemEntry) and entry.text]
        entries = [entry for entry in request.entries if not isinstance(entry, SystemEntry)]
        items: list[Mapping[str, Any]] = []
        place = 0
        while place < len(entries):
            entry = entries[place]
            place += 1
            match entry:
                case UserEntry():
                    items.extend(_asked(told(entry), data_urls(entry)))
                case AssistantEntry():
                    own = entry.provider == self.identity and bool(entry.raw)
                    items.extend(self._answer(entry, own=own))
                    if not entry.calls:
                        items.extend(_asked(posted(entry), data_urls(entry)))
                    results, taken = results_of(entry, entries[place:])
                    place += taken
                    for result, text in zip(results, results_texts(results), strict=True):
                        output = {"call_id": call_id(result.call_id, own=own), "output": text}
                        items.append({"type": "function_call_output", **output})
                case _:
                    pass
        if request.reminder:
            if items and items[-1].get("type") == "function_call_output":
                system.append(request.reminder)
            else:
                items.append({"role": "user", "content": request.reminder})
        return "\n\n".join(system), items

    @staticmethod
    def _answer(entry: AssistantEntry, *, own: bool) -> list[Mapping[str, Any]]:
        """One answer: the provider's own items where there are any, text and calls always as history has them."""
        items: list[Mapping[str, Any]] = []
        text = [{"role": "assistant", "content": entry.text}] if entry.text else []
        calls = {call.id: call for call in entry.calls}
        for item in tables_in(entry.raw.get("output") if own else None):
            match item.get("type"):
                case "message":
                    items.extend(text)
                    text = []
                case "function_call":
                    if calls.pop(str(item.get("call_id")), None) is not None:
                        items.append(item)
                case _:
                    items.append(item)
        items.extend(text)
        items.extend(_call_item(call, own=own) for call in calls.values())
        return items


def _asked(text: str, pictures: Sequence[str]) -> list[Mapping[str, Any]]:
    """A person's message as an item; none where it is empty."""
    if not pictures:
        return [{"role": "user", "content": text}] if text else []
    parts: list[dict[str, str]] = [{"type": "input_text", "text": text}] if text else []
    parts += [{"type": "input_image", "image_url": picture} for picture in pictures]
    return [Weighed({"role": "user", "content": parts}, text, len(pictures))]


def _as_input(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of Chat Completions as an item; only one with pictures differs."""
    if not isinstance(message, Weighed):
        return message
    [item] = _asked(message.text, [part["image_url"]["url"] for part in message["content"] if part["type"] != "text"])
    return item


def _call_item(call: ToolCall, *, own: bool) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call_id(call.id, own=own),
        "name": tool_name(call.name),
        "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
    }
