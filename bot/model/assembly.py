"""Assemble the deltas of Chat Completions: text, reasoning, and calls in their slots.

Nothing a server says about itself is trusted: indexes may be missing or repeated, ids absent, names
repeated, arguments empty, and the finish reason may say `stop` although there are calls.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any
from uuid import uuid4

from bot.contract import Usage
from bot.model.arguments import ObjectEnd, read_arguments, whole_text
from bot.model.endings import BROKEN, CUT_SHORT, meaning_of
from tools.base import Json, ToolCall

MOST_ARGUMENT_CHARS = 400_000
"""Of all calls of an answer together: as much as models write at all in one answer."""
_CALL_CHARS = 64
"""What a call counts beside its arguments."""


class StreamFault(Exception):
    """The stream reported an error; `error` is what it said."""

    def __init__(self, error: object) -> None:
        super().__init__("the stream holds an error")
        self.error = error


@dataclass(slots=True)
class Delta:
    """What one event, or several read at once, added."""

    text: str = ""
    reasoning: str = ""
    progress: bool = False
    """Something arrived, if only a piece of an argument."""


class SplitCharacters:
    """Joins characters that a server tore apart with JSON escapes (`\\ud83d` now, `\\ude00` later)."""

    def __init__(self) -> None:
        self._half = ""

    def join(self, text: str) -> str:
        if self._half:
            text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_text(text)


class Stage(IntEnum):
    """What has come after a call, of what may come."""

    OPEN = 1
    FOLLOWED = 2
    """Another call has begun."""
    FINISHED = 3
    """The server has said why it finished."""


@dataclass(slots=True)
class _Slot:
    """One call while its pieces arrive."""

    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    given: dict[str, Json] | None = None
    """Arguments that came as an object, not as text."""
    extras: dict[str, Json] = field(default_factory=dict)
    function_extras: dict[str, Json] = field(default_factory=dict)
    own_id: str = ""
    """Ours, for a call that its server gave none."""
    stage: int = 0
    """In which stage the arguments were last read before the end."""
    _end: ObjectEnd = field(default_factory=ObjectEnd)
    _seen: int = 0

    def complete(self) -> bool:
        """The arguments are a whole object already; every fragment is looked at once only."""
        if self.given is not None:
            return True
        for part in self.parts[self._seen :]:
            self._end.feed(part)
        self._seen = len(self.parts)
        return self._end.complete

    def made_id(self) -> str:
        """An id for a call that has none, the same each time."""
        self.own_id = self.own_id or f"call_{uuid4().hex[:16]}"
        return self.own_id

    def whole(self, stage: Stage) -> ToolCall | None:
        """Return the call if it is complete, as far as this stage can tell; arguments are read once a stage."""
        if not self.name or stage <= self.stage:
            return None
        # An object whose braces have closed can be followed by spaces or by another call, and by nothing else.
        if stage is Stage.OPEN and not (self.parts and self.complete()):
            return None
        self.stage = stage
        written = bool(self.parts) or self.given is not None
        if self.parts:
            arguments, problem = read_arguments("".join(self.parts), cut=True)
        else:
            arguments, problem = self.given or {}, ""
        # Empty arguments prove little: some servers begin each call with `{}`, and send the real ones afterwards.
        certain = bool(arguments) or stage is Stage.FINISHED or (written and stage is Stage.FOLLOWED)
        return ToolCall(self.id or self.made_id(), self.name, arguments) if certain and not problem else None


class CallSlots:
    """The calls of one answer, from pieces that may lack index, id or name."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self.size = 0
        self._read: list[tuple[ToolCall, _Slot]] | None = None
        self._whole = 0
        """How many of the slots were handed out as whole calls."""

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, piece: Mapping[str, Any]) -> bool:
        """Take in one element of `tool_calls`; return True if it brought anything."""
        function = table_in(piece.get("function"))
        identifier, name, arguments = piece.get("id"), function.get("name"), function.get("arguments")
        identifier = identifier if isinstance(identifier, str) else str(identifier) if identifier else ""
        name = name if isinstance(name, str) else ""
        slot = self._slot(piece.get("index"), identifier, name, arguments)
        if identifier and not slot.id:
            slot.id = identifier
            self._by_id[identifier] = slot
        slot.name = slot.name or name
        if isinstance(arguments, str):
            if arguments:
                slot.parts.append(arguments)
                self.size += len(arguments)
        elif isinstance(arguments, dict) and (arguments or slot.given is None):
            slot.given = dict(arguments)
        for source, known, kept in (
            (piece, ("index", "id", "type", "function"), slot.extras),
            (function, ("name", "arguments"), slot.function_extras),
        ):
            if len(source) > (1 if source is function else 2):
                kept.update({key: value for key, value in source.items() if key not in known and value is not None})
        return bool(identifier or name or arguments)

    def _slot(self, index: object, identifier: str, name: str, arguments: object) -> _Slot:
        """Where a piece belongs: by its index, else by its id, else to the last call, unless it begins another one."""
        last = self._slots[-1] if self._slots else None
        if isinstance(index, int):
            slot = self._by_index.get(index)
            if slot is not None and identifier and slot.id and identifier != slot.id:
                slot = None
        elif identifier:
            slot = self._by_id.get(identifier)
            if slot is None and not name and last is not None and not last.id:
                return last
        else:
            slot = None if name else last
        if slot is None or (_begins_object(arguments) and slot.complete()):
            slot = _Slot()
            self._slots.append(slot)
            self.size += _CALL_CHARS
            if isinstance(index, int):
                self._by_index[index] = slot
        return slot

    def whole(self, finish: str) -> Iterator[ToolCall]:
        """Calls that became whole since this was last asked, in order: none before the one that stands before it."""
        while self._whole < len(self._slots):
            followed = self._whole < len(self._slots) - 1
            finished = finish not in ("", BROKEN)
            stage = Stage.FINISHED if finished else Stage.FOLLOWED if followed else Stage.OPEN
            call = self._slots[self._whole].whole(stage)
            if call is None:
                return
            self._whole += 1
            yield call

    def read(self, finish: str) -> list[tuple[ToolCall, _Slot]]:
        """The calls in the order they were begun, each with the slot it came from."""
        if self._read is not None:
            return self._read
        read: list[tuple[ToolCall, _Slot]] = []
        taken: dict[str, ToolCall] = {}
        for slot in self._slots:
            # Only the call that was being written when the model was stopped can be the unfinished one.
            cut = finish in CUT_SHORT and slot is self._slots[-1]
            if slot.given is not None and not slot.parts:
                arguments, problem = slot.given, ""
            else:
                arguments, problem = read_arguments("".join(slot.parts), cut=cut)
            if not slot.name and not problem:
                problem = "The call names no tool."
            identifier = slot.id
            if identifier in taken:
                if taken[identifier].name == slot.name and taken[identifier].arguments == arguments:
                    continue  # the server sent the whole call twice
                identifier = ""
            call = ToolCall(identifier or slot.made_id(), slot.name, arguments, problem)
            taken[call.id] = call
            read.append((call, slot))
        self._read = read
        return read


def _begins_object(arguments: object) -> bool:
    if isinstance(arguments, str):
        return arguments.lstrip()[:1] == "{"
    return isinstance(arguments, dict)


class Assembly(ABC):
    """One answer while it streams; the same for every wire."""

    def __init__(self) -> None:
        self.finish = ""
        """What the finish reason means that came last, see `bot.model.endings`; empty: none came."""
        self.reason = ""
        """That reason in the server's own word."""
        self.begun = False
        """The server has said something that belongs to an answer."""
        self.usage: Usage | None = None
        self._slots = CallSlots()
        self._text = SplitCharacters()
        self._reasoning = SplitCharacters()

    @abstractmethod
    def add(self, event: Mapping[str, Any], delta: Delta) -> None:
        """Take in one event, and append to `delta` what it brought.

        Raises:
            StreamFault: the event reports an error.
        """

    @property
    def size(self) -> int:
        """Characters of arguments so far."""
        return self._slots.size

    def whole_calls(self) -> Iterator[ToolCall]:
        """Calls that became whole since this was last asked, in their order, while the stream may go on."""
        return self._slots.whole(self.finish)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, once the stream has ended; those that cannot run say why."""
        return tuple(call for call, _ in self._slots.read(self.finish))

    @abstractmethod
    def message(self) -> dict[str, Json]:
        """What the provider wants back of this answer, beside text and calls."""


class ChatAssembly(Assembly):
    """An answer of Chat Completions."""

    def __init__(self) -> None:
        super().__init__()
        self._older = CallSlots()
        """What came as `function_call`, the form before `tool_calls`. Some servers send every piece in both forms.
        What comes in this one may come in the other one too, so none of these is whole before the end."""
        self._fields: dict[str, list[str]] = {}
        self._details: list[tuple[dict[str, Json], dict[str, list[str]]]] = []
        """Each block as its last piece has it, and the texts of it in pieces."""
        self._extras: dict[str, Json] = {}

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
        choices = event.get("choices")
        if not isinstance(choices, list):
            if event.get("object") == "error" or "detail" in event:
                raise StreamFault(event)
            return
        for choice in choices:
            if not isinstance(choice, dict) or choice.get("index") not in (0, None):
                continue
            if choice.get("error"):
                raise StreamFault(choice["error"])
            said = choice.get("delta") or choice.get("message")
            if isinstance(said, dict):
                self.begun = True
                self._say(said, delta)
            if choice.get("finish_reason") == "error":
                raise StreamFault(error or "finish_reason is error")
            self._finish(choice.get("finish_reason"), delta)

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
                # Servers that changed the field's name send both for a while, with the same text.
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
        if said.get("extra_content"):
            self._extras["extra_content"] = said["extra_content"]
        if calls := said.get("tool_calls"):
            for piece in tables_in(calls):
                delta.progress |= self._slots.add(piece)
        old = said.get("function_call")
        if isinstance(old, dict) and self._older.add({"index": 0, "function": old}):
            delta.progress = True

    def _parts(self, content: list[Any], delta: Delta) -> None:
        """Content as a list of parts, thinking among them (Mistral)."""
        for part in tables_in(content):
            thinking = part.get("thinking")
            if isinstance(part.get("text"), str):
                delta.text += self._text.join(part["text"])
            elif isinstance(thinking, str):
                delta.reasoning += self._reasoning.join(thinking)
            else:
                for thought in tables_in(thinking):
                    if isinstance(thought.get("text"), str):
                        delta.reasoning += self._reasoning.join(thought["text"])

    def _detail(self, detail: Mapping[str, Json]) -> None:
        """Collect `reasoning_details`: pieces of one block are joined, blocks stay apart."""
        last = self._details[-1][0] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(({}, {}))
        block, texts = self._details[-1]
        for key, value in detail.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                texts.setdefault(key, []).append(value)
            if value is not None or last is not block:
                block[key] = value

    def _read(self) -> list[tuple[ToolCall, _Slot]]:
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


def table_in(value: object) -> Mapping[str, Any]:
    """The object that a server sent; empty for whatever is none."""
    return value if isinstance(value, dict) else {}


def tables_in(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list that a server sent; none for whatever is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def count_of(details: object, name: str) -> int:
    """A number of tokens that a server reports; 0 for whatever is none."""
    value = details.get(name) if isinstance(details, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < 1e12 else 0


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    prompt, completion = count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens")
    if not prompt and not completion:
        return None
    cached = count_of(usage.get("prompt_tokens_details"), "cached_tokens") or count_of(usage, "prompt_cache_hit_tokens")
    return Usage(prompt, completion, cached, count_of(usage.get("completion_tokens_details"), "reasoning_tokens"))
