"""What Ollama has beside Chat Completions: its own chat interface, its models' descriptions, and its window.

A model is loaded with a window. What does not fit into it is dropped without a word, the oldest messages first; the
system message and the last message stay. With `truncate` false it is refused. `options.num_ctx` asks for a window, and
only `/api/chat` reads it: by `/v1/chat/completions` the model always has the server's default. Another window than the
loaded one loads the model again.
See https://github.com/ollama/ollama/blob/main/docs/api.md and docs/faq.md there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from playground.model import wire
from playground.model.reply import Body, Reply
from playground.model.strictness import Refused

_MESSAGE = {"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}
_REQUEST = {"model", "messages", "tools", "format", "options", "stream", "keep_alive", "think", "truncate", "shift"}


@dataclass(slots=True)
class Ollama:
    """One Ollama, with one model in memory at a time."""

    default_window: int = 4096
    longest_window: int = 32_768
    """The model's own context length."""
    heaviness: float = 1.0
    """How many tokens this model makes of what others make one."""
    loads: list[int] = field(default_factory=list)
    """The window of every time the model was loaded."""
    dropped: list[int] = field(default_factory=list)
    """How many messages of each request the model did not see."""
    shows: int = 0
    """How often somebody asked what the model is."""

    def show(self) -> Body:
        self.shows += 1
        return {
            "details": {"family": "qwen3"},
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": self.longest_window},
            "capabilities": ["completion", "tools"],
        }

    def loaded(self, name: str) -> Body:
        return {"models": [{"name": name, "model": name, "context_length": self.loads[-1]}] if self.loads else []}

    def fitted(self, body: Body, chat: Body) -> Body:
        """The request as the model sees it: what does not fit its window is gone."""
        options = body.get("options") or {}
        window = min(int(options.get("num_ctx") or self.default_window), self.longest_window)
        if not self.loads or self.loads[-1] != window:
            self.loads.append(window)
        messages = list(chat["messages"])
        first = next((at for at, one in enumerate(messages) if one["role"] != "system"), 0)
        dropped = 0

        def fits() -> bool:
            return wire.prompt_tokens({**chat, "messages": messages}) * self.heaviness <= window

        if body.get("truncate") is False and not fits():
            raise Refused("the input length exceeds the context length")
        while len(messages) - first > 1 and not fits():
            del messages[first]
            dropped += 1
        if not fits():
            dropped += 1  # the last one is cut in its middle
        self.dropped.append(dropped)
        seen = {**chat, "messages": messages}
        # The end of the window is the end of the answer; before `shift` could be false, the beginning was lost instead.
        room = max(1, window - int(wire.prompt_tokens(seen) * self.heaviness))
        if body.get("shift") is False:
            seen["max_tokens"] = min(room, chat.get("max_tokens") or room)
        return seen


def as_chat(body: Body) -> Body:
    """The same request in its Chat Completions form."""
    unknown = set(body) - _REQUEST
    if unknown:
        raise Refused(f"unknown fields: {sorted(unknown)}")
    chat: Body = {name: body[name] for name in ("model", "tools", "stream") if name in body}
    chat["messages"] = []
    called: list[tuple[str, str]] = []
    for message in body.get("messages") or []:
        if set(message) - _MESSAGE or not isinstance(message.get("content", ""), str):
            raise Refused(f"a message is not as it must be: {sorted(message)}")
        made: Body = {"role": message["role"], "content": message.get("content", "")}
        if message.get("tool_calls"):
            made["tool_calls"] = [_call(call, len(called) + at) for at, call in enumerate(message["tool_calls"])]
            called += [(one["id"], one["function"]["name"]) for one in made["tool_calls"]]
        if message["role"] == "tool":
            if message.get("tool_name") not in [name for _, name in called]:
                raise Refused("a result names no tool that was called")
            at = next(at for at, (_, name) in enumerate(called) if name == message["tool_name"])
            made["tool_call_id"] = called.pop(at)[0]
        chat["messages"].append(made)
    options = body.get("options") or {}
    if "num_predict" in options:
        chat["max_tokens"] = options["num_predict"]
    if "stop" in options:
        chat["stop"] = options["stop"]
    return chat


def _call(call: Body, number: int) -> Body:
    function = call["function"]
    if not isinstance(function.get("arguments"), dict):
        raise Refused("json: cannot unmarshal string into Go struct field .arguments of type map[string]interface {}")
    arguments = json.dumps(function["arguments"], ensure_ascii=False)
    return {"id": f"call_{number}", "type": "function", "function": {"name": function["name"], "arguments": arguments}}


def frames(body: Body, reply: Reply, chat: Body, cuts: Sequence[int]) -> Iterator[wire.Frame]:
    """The stream of a reply: one object a line."""
    head = {"model": body["model"], "created_at": "2026-11-22T00:00:00Z"}

    def line(message: Body, weight: int = 0, **more: object) -> wire.Frame:
        whole = {**head, "message": {"role": "assistant", "content": "", **message}, "done": False, **more}
        return wire.Frame(json.dumps(whole, ensure_ascii=False).encode() + b"\n", weight)

    for step in wire.pieces(replace(reply, calls=()), cuts):
        name = "thinking" if step.kind == "reasoning" else "content"
        yield line({name: step.text}, len(step.text))
    for name, given in reply.calls:
        arguments = json.loads(given) if isinstance(given, str) else dict(given)
        yield line({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}, 1)
    usage = wire.usage_of(chat, reply)
    counts = {"prompt_eval_count": usage.get("prompt_tokens", 0), "eval_count": usage.get("completion_tokens", 0)}
    if reply.finish_reason is not None:
        yield line({}, done=True, done_reason="length" if reply.finish_reason == "length" else "stop", **counts)
