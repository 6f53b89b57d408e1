"""A reply as Chat Completions sends it: the frames of a stream, or one completion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from playground.model import textcalls
from playground.model.reply import Body, Reply

_WORD = re.compile(
    r"\s*(?:[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]{1,2}|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+)|\s+"
)
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_ARGUMENTS_PIECE = 12
_HALF = re.compile("[\ud800-\udfff]")


class Frame(NamedTuple):
    """One event of a stream. `weight` is the number of characters the model wrote in it."""

    data: bytes
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One step of writing: a bit of reasoning, of text, or of the arguments of call number `call`."""

    kind: str
    """`reasoning`, `text`, `call` or `delta`."""
    text: str = ""
    call: int = 0
    opens: bool = False
    delta: Mapping[str, Any] | None = None


def words(text: str) -> list[str]:
    """`text` in the pieces a model would stream: a word with the space before it, or two Chinese characters."""
    return _WORD.findall(text)


def tokens(text: str) -> int:
    """A fair guess at the tokens of `text`: four characters each, or one where the script is wide."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide + 3) // 4


_PICTURE = re.compile(r"data:image/\w+;base64,[A-Za-z0-9+/=]+")
PICTURE_TOKENS = 765
"""What one of a thousand points square costs: https://platform.openai.com/docs/guides/images-vision#calculating-costs"""


def prompt_tokens(body: Body) -> int:
    """What a request weighs: its messages and its tools."""
    shown = [body.get(key) for key in ("messages", "tools", "input", "instructions") if body.get(key)]
    text, pictures = _PICTURE.subn("", json.dumps(shown, ensure_ascii=False))
    return tokens(text) + pictures * PICTURE_TOKENS


def spoken(reply: Reply) -> Reply:
    """The same reply with its text calls written into the text."""
    if not reply.text_calls or not reply.calls:
        return reply
    calls = [(name, given if isinstance(given, Mapping) else json.loads(given)) for name, given in reply.calls]
    written = textcalls.write(reply.text_calls, calls)
    text = f"{reply.text}\n{written}" if reply.text else written
    return replace(reply, text=text, calls=(), text_calls="")


def arguments_of(given: Mapping[str, Any] | str) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def pieces(reply: Reply, cuts: Sequence[int]) -> list[Piece]:
    """The steps in which `reply` is written, with a border at each of the positions `cuts`."""
    if reply.chunks:
        return [Piece("delta", _delta_text(delta), delta=delta) for delta in reply.chunks]
    steps = [Piece("reasoning", word) for word in words(reply.reasoning)]
    steps += [Piece("text", word) for word in words(reply.text)]
    for number, (_, given) in enumerate(reply.calls):
        arguments = arguments_of(given)
        size = max(1, len(arguments)) if reply.whole_calls else _ARGUMENTS_PIECE
        parts = [arguments[start : start + size] for start in range(0, len(arguments), size)]
        if not reply.whole_calls:
            parts.insert(0, "")
        steps += [Piece("call", part, number, position == 0) for position, part in enumerate(parts or [""])]
    for position in sorted({cut for cut in cuts if cut > 0}):
        steps = list(_split(steps, position))
    return steps


def _split(steps: Sequence[Piece], position: int) -> Iterator[Piece]:
    seen = 0
    for step in steps:
        inside = position - seen
        seen += len(step.text)
        if 0 < inside < len(step.text):
            yield replace(step, text=step.text[:inside])
            yield replace(step, text=step.text[inside:], opens=False)
        else:
            yield step


def _delta_text(delta: Mapping[str, Any]) -> str:
    content = delta.get("content")
    return content if isinstance(content, str) else ""


def usage_of(body: Body, reply: Reply) -> Mapping[str, Any]:
    """The usage the server reports: the reply's own, or counted."""
    if reply.usage is not None:
        return reply.usage
    prompt = prompt_tokens(body)
    calls = "".join(name + arguments_of(given) for name, given in reply.calls)
    thought = tokens(reply.reasoning)
    completion = tokens(reply.text + calls + "".join(_delta_text(delta) for delta in reply.chunks)) + thought
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def finish_of(reply: Reply) -> str | None:
    if reply.finish_reason != "":
        return reply.finish_reason
    called = reply.calls or any(delta.get("tool_calls") for delta in reply.chunks)
    return "tool_calls" if called else "stop"


def call_object(reply: Reply, number: int, ids: Sequence[str], arguments: str) -> Body:
    """Call `number` of a reply, whole."""
    name = reply.calls[number][0]
    return {
        "id": ids[number],
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **reply.call_extras,
    }


def completion(body: Body, reply: Reply, head: Body, ids: Sequence[str]) -> Body:
    """The whole answer, for a request that does not stream."""
    message: Body = {"role": "assistant", "content": reply.text or None, **reply.message_extras}
    if reply.reasoning:
        message[reply.reasoning_field] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            call_object(reply, number, ids, arguments_of(given)) for number, (_, given) in enumerate(reply.calls)
        ]
    for delta in reply.chunks:
        message["content"] = (message["content"] or "") + _delta_text(delta) or None
    choice = {"index": 0, "message": message, "finish_reason": finish_of(reply), "logprobs": None}
    answer = {**head, "object": "chat.completion", "choices": [choice]}
    usage = usage_of(body, reply)
    return {**answer, "usage": usage} if usage else answer


def frames(body: Body, reply: Reply, head: Body, ids: Sequence[str], cuts: Sequence[int]) -> Iterator[Frame]:
    """The stream of a reply, `[DONE]` included."""
    # The head of every chunk is the same: encoded once, because a benchmark reads thousands of chunks a second.
    start = json.dumps({**head, "object": "chat.completion.chunk"}, ensure_ascii=False)[:-1]
    before, after = f'{start}, "choices": [{{"index": 0, "delta": ', ', "finish_reason": null}]}'

    def chunk(delta: Mapping[str, Any], weight: int = 0) -> Frame:
        return Frame(event(before + json.dumps(delta, ensure_ascii=False) + after), weight)

    if not reply.chunks:
        yield chunk({"role": "assistant", "content": "", **reply.message_extras})
    for step in pieces(reply, cuts):
        yield chunk(_delta(step, reply, ids), len(step.text))
    finish = finish_of(reply)
    if finish is not None:
        choice = {"index": 0, "delta": {}, "finish_reason": finish}
        yield Frame(event(f'{start}, "choices": {json.dumps([choice])}}}'))
    usage = usage_of(body, reply)
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        yield Frame(event(f'{start}, "choices": [], "usage": {json.dumps(usage)}}}'))
    yield Frame(event("[DONE]"))


def _delta(step: Piece, reply: Reply, ids: Sequence[str]) -> Mapping[str, Any]:
    if step.delta is not None:
        return step.delta
    if step.kind == "reasoning":
        return {reply.reasoning_field: step.text}
    if step.kind == "text":
        return {"content": step.text}
    call: Body = {"function": {"arguments": step.text}}
    if step.opens:
        call = call_object(reply, step.call, ids, step.text)
    elif reply.call_indexes == "same":
        call["id"] = ids[step.call]
    if reply.call_indexes != "missing":
        call = {"index": 0 if reply.call_indexes == "same" else step.call, **call}
    return {"tool_calls": [call]}


def event(data: str, name: str = "") -> bytes:
    """One server-sent event."""
    # Half of a surrogate pair has no UTF-8; servers write it as an escape.
    data = _HALF.sub(lambda half: f"\\u{ord(half.group()):04x}", data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()
