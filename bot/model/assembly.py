"""Assemble the deltas of Chat Completions: text, reasoning, and calls in their slots.

No statement of a server about itself is trusted: the index of a choice may count its chunks, a whole message may repeat
the deltas, and the finish reason may be `stop` although there are calls.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.contract import Usage
from bot.model.callslots import CallSlot, CallSlots
from bot.model.endings import meaning_of
from bot.model.pictures import Pictures
from bot.model.searched import Sources, annotated_in, sources_in
from tools.contract.base import Json, ToolCall
from tools.contract.plaintext import to_plain


class StreamFault(Exception):
    """The stream reported an error, `error`."""

    def __init__(self, error: object, *, foreign: bool = False) -> None:
        """
        Args:
            foreign: it is not an error of this interface; another program may have answered.
        """
        super().__init__("the stream holds an error")
        self.error = error
        self.foreign = foreign


_NO_ERROR: Final = (None, "", 0, "0", 200, "200")
"""Codes that servers send with every event, without an error."""
_HARMLESS: Final = frozenset(
    ("choices", "created", "id", "model", "object", "service_tier", "system_fingerprint", "type", "usage")
)
"""Fields of events without a choice in the streams of an answer."""


@dataclass(slots=True)
class Delta:
    """The addition of one event, or of several read at once."""

    text: str = ""
    reasoning: str = ""
    progress: bool = False
    """Something arrived, even if only a piece of an argument."""


class SplitCharacters:
    """Joins characters that a server split with JSON escapes (`\\ud83d` now, `\\ude00` later)."""

    def __init__(self) -> None:
        self._half = ""

    def join(self, text: str) -> str:
        if not self._half and text.isascii() and "\0" not in text:
            return text  # as most tokens are
        if self._half:
            text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return to_plain(text)


class Assembly(ABC):
    """One answer while it streams; the same for every wire."""

    def __init__(self) -> None:
        self.finish = ""
        """The meaning of the latest finish reason, see `bot.model.endings`; empty: none came."""
        self.reason = ""
        """That reason in the server's own word."""
        self.begun = False
        """The server has sent something that belongs to an answer."""
        self.odd: Mapping[str, Any] | None = None
        """The first event that belongs to none."""
        self.usage: Usage | None = None
        self.counted = False
        """The usage came as an event of its own behind the answer, so that this is complete."""
        self.pictures = Pictures()
        self.sources: Sources = ()
        """Those of the server's own web search."""
        self.annotated: list[tuple[str, str]] = []
        """Those that it names as annotations of the text."""
        self._slots = CallSlots()
        self._text = SplitCharacters()
        self._reasoning = SplitCharacters()

    @abstractmethod
    def add(self, event: Mapping[str, Any], delta: Delta) -> None:
        """Process one event, and append its content to `delta`.

        Raises:
            StreamFault: the event reports an error.
        """

    def close(self, delta: Delta) -> None:  # noqa: B027  # most wires keep nothing back
        """Append the text held back until the end of the stream."""

    @property
    def size(self) -> int:
        """Characters of arguments so far."""
        return self._slots.size

    def whole_calls(self) -> Iterator[ToolCall]:
        """Return the calls that became complete since the last time, in order, while the stream may continue."""
        return self._slots.whole(self.finish)

    def calls(self) -> tuple[ToolCall, ...]:
        """Return the calls, once the stream has ended; those that cannot run say why."""
        return tuple(call for call, _ in self._slots.read(self.finish))

    def _pass_over(self, event: Mapping[str, Any]) -> None:
        """Keep an event that is not part of an answer, in case that nothing else comes.

        Raises:
            StreamFault: it reports an error, in any form.
        """
        code, said = event.get("code"), event.get("message") or event.get("msg")
        if event.get("object") == "error":
            raise StreamFault(event)
        if "detail" in event or event.get("success") is False or (said and code not in _NO_ERROR):
            raise StreamFault(event, foreign=True)
        if self.odd is None and not isinstance(event.get("choices"), list) and not event.keys() <= _HARMLESS:
            self.odd = event

    @abstractmethod
    def message(self) -> dict[str, Json]:
        """Return the provider's own data of this answer, which it wants back beside text and calls."""


class ChatAssembly(Assembly):
    """An answer of Chat Completions."""

    def __init__(self) -> None:
        super().__init__()
        self._older = CallSlots()
        """Calls from `function_call`, the form before `tool_calls`. Some servers send every piece in both forms. A call
        in this form may also come in the other, so none of these is complete before the end."""
        self._fields: dict[str, list[str]] = {}
        self._details: list[tuple[dict[str, Json], dict[str, list[str]]]] = []
        """Each block as in its last piece, and its texts in pieces."""
        self._extras: dict[str, Json] = {}
        self._streamed = False
        """Some of the text came in deltas."""
        self._whole: Mapping[str, Any] = {}
        """The last whole message. Each one replaces the previous one."""

    @property
    def size(self) -> int:
        return max(self._slots.size, self._older.size)

    def add(self, event: Mapping[str, Any], delta: Delta) -> None:
        error = event.get("error")
        if error:
            raise StreamFault(error)
        usage = event.get("usage")
        if isinstance(usage, dict):
            self.usage = _usage(usage)
        self.sources = sources_in(event) or self.sources
        choices = event.get("choices")
        if not choices or not isinstance(choices, list):
            self.counted = self.begun and self.usage is not None and isinstance(usage, dict)
            self._pass_over(event)
            return
        for choice in choices:
            # A single choice is ours, whatever its index.
            if not isinstance(choice, dict) or (len(choices) > 1 and choice.get("index") not in (0, None)):
                continue
            if choice.get("error"):
                raise StreamFault(choice["error"])
            said, whole = choice.get("delta"), choice.get("message")
            if isinstance(said, dict):
                self.begun = True
                self.counted = False
                self._say(said, delta)
                self._streamed |= bool(said.get("content"))
            if isinstance(whole, dict):
                self.begun = delta.progress = True
                self._whole = whole
            if reason := choice.get("finish_reason"):
                if reason == "error":
                    raise StreamFault(error or "finish_reason is error")
                self._finish(reason, delta)

    def close(self, delta: Delta) -> None:
        whole, self._whole = self._whole, {}
        self._say(self._not_streamed(whole), delta)

    def _not_streamed(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a whole message, which some servers send at the end, that the deltas did not contain."""
        known = [
            *(("content", "refusal") if self._streamed else ()),
            *(("reasoning_content", "reasoning", "reasoning_details") if self._fields or self._details else ()),
            *(("images",) if self.pictures else ()),
            *(("tool_calls", "function_call") if self._slots or self._older else ()),
        ]
        return {name: value for name, value in message.items() if name not in known}

    def _finish(self, reason: object, delta: Delta) -> None:
        meaning = meaning_of(reason)
        if meaning:
            self.begun = delta.progress = True
            self.finish, self.reason = meaning, str(reason)

    def _say(self, said: Mapping[str, Any], delta: Delta) -> None:  # noqa: C901  # one field of servers after another
        content = said.get("content")
        if content:
            if isinstance(content, str):
                delta.text += self._text.join(content)
            elif isinstance(content, list):
                self._parts(content, delta)
            delta.progress = True
            if len(said) == 1:
                return
        refusal = said.get("refusal")
        if refusal and isinstance(refusal, str):
            delta.text += self._text.join(refusal)
            delta.progress = True
        thought = False
        for name in ("reasoning_content", "reasoning"):
            value = said.get(name)
            if value and isinstance(value, str):
                # Servers that renamed the field send both for a while, with the same text.
                if not thought:
                    delta.reasoning += self._reasoning.join(value)
                thought = True
                self._fields.setdefault(name, []).append(value)
        if details := said.get("reasoning_details"):
            for detail in tables_in(details):
                if not thought:
                    delta.reasoning += self._reasoning.join(str(detail.get("text") or detail.get("summary") or ""))
                self._detail(detail)
                delta.progress = True
        delta.progress = delta.progress or thought
        if annotations := said.get("annotations"):
            self.annotated += annotated_in(annotations)
        if said.get("extra_content"):
            self._extras["extra_content"] = said["extra_content"]
        if images := said.get("images"):
            delta.progress |= self.pictures.add(images)
        if calls := said.get("tool_calls"):
            one = isinstance(calls, dict) and ("function" in calls or "name" in calls)
            for piece in tables_in([calls] if one else calls):
                delta.progress |= self._slots.add(piece)
        old = said.get("function_call")
        if isinstance(old, dict) and self._older.add({"index": 0, "function": old}):
            delta.progress = True

    def _parts(self, content: list[Any], delta: Delta) -> None:
        """Return the content as a list of parts, thinking among them (Mistral)."""
        for part in tables_in(content):
            thinking = part.get("thinking")
            if isinstance(part.get("text"), str):
                delta.text += self._text.join(part["text"])
            elif "image_url" in part:
                self.pictures.add(part)
            elif isinstance(thinking, str):
                delta.reasoning += self._reasoning.join(thinking)
            else:
                for thought in tables_in(thinking):
                    if isinstance(thought.get("text"), str):
                        delta.reasoning += self._reasoning.join(thought["text"])

    def _detail(self, detail: Mapping[str, Json]) -> None:
        """Collect `reasoning_details`: pieces of one block are joined, blocks stay separate."""
        last = self._details[-1][0] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(({}, {}))
        block, texts = self._details[-1]
        for key, value in detail.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                texts.setdefault(key, []).append(value)
            if value is not None or last is not block:
                block[key] = value

    def _read(self) -> list[tuple[ToolCall, CallSlot]]:
        return (self._slots or self._older).read(self.finish)

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(call for call, _ in self._read())

    def message(self) -> dict[str, Json]:
        message: dict[str, Json] = {**_joined(self._fields), **self._extras}
        if self._details:
            message["reasoning_details"] = [block | _joined(texts) for block, texts in self._details]
        calls: list[Json] = []
        for call, slot in self._read():
            function: dict[str, Json] = {
                "name": call.name,
                "arguments": json.dumps(call.arguments, ensure_ascii=False),
                **slot.function_extras,
            }
            calls.append({"id": call.id, "type": "function", "function": function, **slot.extras})
        if calls:
            message["tool_calls"] = calls
        return message


def _joined(pieces: Mapping[str, Sequence[str]]) -> dict[str, Json]:
    return {key: "".join(parts) for key, parts in pieces.items()}


_MOST_COUNTED = 1e9
"""No model's window is nearly as large."""
_MISCOUNTED = 8
"""The factor by which a server's count may differ from ours, in either direction: tokenizers differ less."""
_UNSEEN_PROMPT = 100_000
"""Tokens that a server may add before the request: its own instructions and tools, and pictures."""


def table_in(value: object) -> Mapping[str, Any]:
    """Return an object from a server; empty if it is not one."""
    return value if isinstance(value, dict) else {}


def tables_in(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list from a server; none if it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def count_of(details: object, name: str) -> int:
    """Return a server's number of tokens; 0 if it is not one."""
    value = details.get(name) if isinstance(details, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < _MOST_COUNTED else 0


def credible(reported: Usage | None, counted: Usage, most: int) -> Usage:
    """Return a server's usage report, with our own count in place of each impossible number.

    Args:
        counted: the same by our count.
        most: the tokens that the answer was allowed; 0: as many as the server likes.
    """
    if reported is None:
        return counted
    prompt, completion = reported.prompt, reported.completion
    if not counted.prompt / _MISCOUNTED <= prompt <= counted.prompt * _MISCOUNTED + _UNSEEN_PROMPT:
        prompt = counted.prompt
    if completion < counted.completion / _MISCOUNTED or completion > most * _MISCOUNTED > 0:
        completion = counted.completion
    reasoning = min(reported.reasoning or counted.reasoning, completion)
    return Usage(prompt, completion, min(reported.cached, prompt), reasoning)


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    prompt, completion = count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens")
    if not prompt and not completion:
        return None
    cached = count_of(usage.get("prompt_tokens_details"), "cached_tokens") or count_of(usage, "prompt_cache_hit_tokens")
    return Usage(prompt, completion, cached, count_of(usage.get("completion_tokens_details"), "reasoning_tokens"))
