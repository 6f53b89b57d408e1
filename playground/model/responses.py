"""The Responses API in a plain form: its input read as chat messages, its answer as items and events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from playground.model.reply import Body, Reply
from playground.model.strictness import Refused
from playground.model.wire import Frame, arguments_of, event, pieces, usage_of

_TEXTS = ("input_text", "output_text", "text")
PARAMETERS = frozenset(
    (
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"),
        *("store", "include", "reasoning", "temperature", "top_p", "max_output_tokens", "metadata", "user"),
        *("truncation", "text", "previous_response_id", "service_tier", "prompt_cache_key", "safety_identifier"),
        *("max_tool_calls", "background"),
    )
)


def as_chat(body: Body) -> Body:
    """The same request as Chat Completions would carry it, so that one script and one set of rules serve both.

    Raises:
        Refused: an item or a tool is none of Responses.
    """
    for key in body:
        if key not in PARAMETERS:
            raise Refused(f"Unknown parameter: '{key}'.", key, code="unknown_parameter")
    messages: list[Body] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list):
        raise Refused("Invalid 'input': expected a string or an array of items.", "input")
    for index, item in enumerate(items):
        _add(messages, item, f"input[{index}]")
    chat: Body = {"model": body.get("model"), "messages": messages}
    if body.get("max_output_tokens") is not None:
        chat["max_completion_tokens"] = body["max_output_tokens"]
    if body.get("tools"):
        chat["tools"] = [_tool(tool, f"tools[{index}]") for index, tool in enumerate(body["tools"])]
    choice = body.get("tool_choice")
    if choice is not None:
        named = isinstance(choice, dict) and choice.get("type") == "function"
        chat["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}} if named else choice
    return chat


def _tool(tool: Any, where: str) -> Body:
    if not isinstance(tool, dict) or tool.get("type") != "function" or "function" in tool or not tool.get("name"):
        raise Refused(
            f"Invalid '{where}': a function tool is flat here, with 'name' and 'parameters'.", f"{where}.name"
        )
    return {
        "type": "function",
        "function": {key: value for key, value in tool.items() if key not in ("type", "strict")},
    }


def _add(messages: list[Body], item: Any, where: str) -> None:
    if not isinstance(item, dict):
        raise Refused(f"Invalid '{where}': expected an object.", where)
    match item.get("type", "message"):
        case "message":
            content = item.get("content")
            if isinstance(content, list):
                content = "".join(part.get("text", "") for part in content if part.get("type") in _TEXTS)
            messages.append({"role": item.get("role"), "content": content})
        case "function_call":
            call = {
                "id": item.get("call_id"),
                "type": "function",
                "function": {"name": item.get("name"), "arguments": item.get("arguments")},
            }
            if messages and messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        case "function_call_output":
            message = {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
            messages.append(message)
        case "reasoning":
            pass
        case kind:
            raise Refused(f"Invalid value: {kind!r} at '{where}.type'.", f"{where}.type")


def usage(body: Body, reply: Reply) -> Body | None:
    counted = usage_of(body, reply)
    if not counted:
        return None
    read, wrote = counted.get("prompt_tokens", 0), counted.get("completion_tokens", 0)
    thought = counted.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": counted.get("prompt_tokens_details", {}).get("cached_tokens", 0)},
        "output_tokens": wrote,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": read + wrote,
    }


def answer(body: Body, reply: Reply, head: Body, ids: Sequence[str]) -> Body:
    """The whole response, for a request that does not stream."""
    cut = reply.finish_reason in ("length", "content_filter")
    reason = "max_output_tokens" if reply.finish_reason == "length" else "content_filter"
    return {
        **head,
        "object": "response",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": reason} if cut else None,
        "error": None,
        "output": _items(reply, head["id"], ids),
        "parallel_tool_calls": True,
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "usage": usage(body, reply),
    }


def _items(reply: Reply, response: str, ids: Sequence[str]) -> list[Body]:
    items: list[Body] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{response}", "summary": summary, "encrypted_content": "c2VhbGVk"})
    if reply.text:
        items.append(_message(f"msg_{response}", reply.text, "completed"))
    for number, (name, given) in enumerate(reply.calls):
        items.append(_call(ids[number], name, arguments_of(given), "completed"))
    return items


def _message(identity: str, text: str, status: str) -> Body:
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"type": "message", "id": identity, "role": "assistant", "status": status, "content": content}


def _call(identity: str, name: str, arguments: str, status: str) -> Body:
    return {
        "type": "function_call",
        "id": f"fc_{identity}",
        "call_id": identity,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


def frames(body: Body, reply: Reply, head: Body, ids: Sequence[str], cuts: Sequence[int]) -> Iterator[Frame]:
    """The stream of a reply, in the order and with the numbering of the service."""
    number = -1

    def send(kind: str, weight: int = 0, **fields: Any) -> Frame:
        nonlocal number
        number += 1
        data = {"type": kind, "sequence_number": number, **fields}
        return Frame(event(json.dumps(data, ensure_ascii=False), kind), weight)

    whole = answer(body, reply, head, ids)
    opened = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield send("response.created", response=opened)
    yield send("response.in_progress", response=opened)
    steps = pieces(reply, cuts)
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        match item["type"]:
            case "reasoning":
                yield send("response.output_item.added", output_index=index, item={**item, "summary": []})
                for step in steps:
                    if step.kind == "reasoning":
                        fields = {**place, "summary_index": 0, "delta": step.text}
                        yield send("response.reasoning_summary_text.delta", len(step.text), **fields)
            case "message":
                empty = _message(item["id"], "", "in_progress")
                yield send("response.output_item.added", output_index=index, item=empty)
                part = {"type": "output_text", "text": "", "annotations": []}
                yield send("response.content_part.added", **place, content_index=0, part=part)
                for step in steps:
                    if step.kind == "text":
                        fields = {**place, "content_index": 0, "delta": step.text, "logprobs": []}
                        yield send("response.output_text.delta", len(step.text), **fields)
                fields = {**place, "content_index": 0}
                yield send("response.output_text.done", **fields, text=reply.text, logprobs=[])
                yield send("response.content_part.done", **fields, part=item["content"][0])
            case _:
                call = ids.index(item["call_id"])
                begun = _call(item["call_id"], item["name"], "", "in_progress")
                yield send("response.output_item.added", output_index=index, item=begun)
                for step in steps:
                    if step.kind == "call" and step.call == call and step.text:
                        yield send("response.function_call_arguments.delta", len(step.text), **place, delta=step.text)
                done = {**place, "name": item["name"], "arguments": item["arguments"]}
                yield send("response.function_call_arguments.done", **done)
        yield send("response.output_item.done", output_index=index, item=item)
    yield send(f"response.{whole['status']}", response=whole)
