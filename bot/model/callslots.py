"""Assemble the calls of an answer from pieces that may lack index, id or name, or repeat everything.

Indexes may be missing, repeated or count the pieces; ids may be missing, names repeated, arguments empty, or sent once
more as a whole. A piece that names no other call never begins one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any
from uuid import uuid4

from bot.model.arguments import ObjectEnd, alone, is_object, read_arguments
from bot.model.endings import CUT_SHORT, UNPROVEN
from tools.contract.base import Json, ToolCall

MOST_ARGUMENT_CHARS = 400_000
"""For all calls of an answer together: the most that models write in one answer."""
_CALL_CHARS = 64
"""A call's count beside its arguments."""


class Stage(IntEnum):
    """What has come after a call."""

    OPEN = 1
    FOLLOWED = 2
    """Another call has begun."""
    FINISHED = 3
    """The server has said why it finished."""


@dataclass(slots=True)
class CallSlot:
    """One call while its pieces arrive."""

    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    given: dict[str, Json] | None = None
    """Arguments that came as an object, not as text."""
    extras: dict[str, Json] = field(default_factory=dict)
    function_extras: dict[str, Json] = field(default_factory=dict)
    own_id: str = ""
    """Our id, for a call without one."""
    stage: int = 0
    """The stage in which the arguments were last read before the end."""
    _end: ObjectEnd = field(default_factory=ObjectEnd)
    _seen: int = 0
    _since: int = 0
    """The parts from here on may be all that the server meant: they begin with what those before say."""
    _chars: int = 0
    """Characters of the parts from there on."""
    _longest: str = ""
    """The longest arguments that were whole before others came."""

    def complete(self) -> bool:
        """The arguments are a whole object already; every fragment is looked at once only."""
        for part in self.parts[self._seen :]:
            self._end.feed(part)
        self._seen = len(self.parts)
        return self._end.complete or self.given is not None

    def repeats(self, arguments: object) -> bool:
        """Return True if a piece of arguments is the beginning of the ones here, or begins with all of them, or is
        empty."""
        if not isinstance(arguments, str):
            return True
        said, length = [], 0
        for part in itertools.islice(self.parts, self._since, None):
            said.append(part)
            length += len(part)
            if length > len(arguments):
                break
        text = "".join(said)
        if _is_nothing(arguments) or _is_nothing(text):
            return True
        return text.startswith(arguments) or (length == self._chars and arguments.startswith(text))

    def write(self, part: str) -> int:
        """Append a piece of the arguments, or put it in the place of those that it repeats.

        Return by how many characters more is kept.
        """
        before = 0
        if self.parts and _begins_object(part):
            if self.complete() and self._end.complete:
                # Nothing can follow a whole object but another version of it.
                before = self._drop()
            elif self._chars <= len(part) and self.repeats(part):
                if self._since:
                    before = self._drop()
                else:
                    # Once this may be chance: an object whose first key holds an object with the same one.
                    self._since, self._chars = len(self.parts), 0
        self.parts.append(part)
        self._chars += len(part)
        return len(part) - before

    def _drop(self) -> int:
        """Forget the parts so far, but for whole arguments that are the longest; return how much is not kept."""
        length = sum(map(len, self.parts)) + len(self._longest)
        if self._end.complete and not _is_nothing(text := "".join(self.parts)):
            self._longest = max(text, self._longest, key=len)
        self.parts, self._since, self._chars, self._seen, self._end = [], 0, 0, 0, ObjectEnd()
        return length - len(self._longest)

    def read(self, *, cut: bool) -> tuple[dict[str, Json], str]:
        """Return the arguments, and why there are none; with `cut` the model may have been stopped within them."""
        text = "".join(self.parts)
        if self._since and not is_object(text):
            text = "".join(self.parts[self._since :])
        if not text and self.given is not None:
            return self.given, ""
        arguments, problem = read_arguments(text, cut=cut or bool(self._longest))
        if self._longest.startswith(text.strip()) if problem else len(text) < len(self._longest):
            arguments, problem = read_arguments(self._longest, cut=True)
        return arguments or self.given or {}, problem

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
        arguments, problem = self.read(cut=True) if written else ({}, "")
        # Empty arguments prove little: some servers begin each call with `{}`, and send the real ones afterwards.
        certain = bool(arguments) or stage is Stage.FINISHED or (written and stage is Stage.FOLLOWED)
        return ToolCall(self.id or self.made_id(), self.name, arguments) if certain and not problem else None


class CallSlots:
    """The calls of one answer, from pieces that may lack index, id or name."""

    def __init__(self) -> None:
        self._slots: list[CallSlot] = []
        self._by_index: dict[int, CallSlot] = {}
        self._by_id: dict[str, CallSlot] = {}
        self.size = 0
        self._read: list[tuple[ToolCall, CallSlot]] | None = None
        self._whole = 0
        """How many of the slots were handed out as whole calls."""

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, piece: Mapping[str, Any]) -> bool:
        """Take in one element of `tool_calls`; return True if it brought anything."""
        given = piece.get("function")
        # Cloudflare's Workers AI leaves the inner object out.
        flat = {name: piece.get(name) for name in ("name", "arguments")} if "arguments" in piece else {}
        function = given if isinstance(given, dict) else flat
        identifier, name, arguments = piece.get("id"), function.get("name"), alone(function.get("arguments"))
        identifier = identifier if isinstance(identifier, str) else str(identifier) if identifier else ""
        name = name if isinstance(name, str) else ""
        slot = self._slot(piece.get("index"), identifier, name, arguments)
        if identifier and not slot.id:
            slot.id = identifier
            self._by_id[identifier] = slot
        slot.name = slot.name or name
        if isinstance(arguments, str):
            if arguments:
                self.size += slot.write(arguments)
        elif isinstance(arguments, dict):
            slot.given = {**(slot.given or {}), **arguments}
            self.size += _CALL_CHARS
        for source, known, kept in (
            (piece, ("index", "id", "type", "function", *flat), slot.extras),
            (function, ("name", "arguments"), slot.function_extras),
        ):
            if len(source) > (1 if source is function else 2):
                kept.update({key: value for key, value in source.items() if key not in known and value is not None})
        return bool(identifier or name or arguments)

    def _slot(self, index: object, identifier: str, name: str, arguments: object) -> CallSlot:
        """Where a piece belongs: by its index, else by its id, else to the last call, unless it begins another one.

        A piece with neither id nor name begins none while there is one that it can continue.
        """
        last = self._slots[-1] if self._slots else None
        named = bool(identifier or name)
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
        if slot is None and not named and last is not None and not last.complete():
            slot = last
        another = slot is not None and name and _begins_object(arguments) and slot.complete()
        if slot is None or (another and not slot.repeats(arguments)):
            slot = CallSlot()
            self._slots.append(slot)
            self.size += _CALL_CHARS
            if isinstance(index, int):
                self._by_index[index] = slot
        return slot

    def whole(self, finish: str) -> Iterator[ToolCall]:
        """The calls that became whole since the last time, in order: none before the one ahead of it."""
        while self._whole < len(self._slots):
            followed = self._whole < len(self._slots) - 1
            finished = finish not in UNPROVEN
            stage = Stage.FINISHED if finished else Stage.FOLLOWED if followed else Stage.OPEN
            call = self._slots[self._whole].whole(stage)
            if call is None:
                return
            self._whole += 1
            yield call

    def read(self, finish: str) -> list[tuple[ToolCall, CallSlot]]:
        """The calls in the order they were begun, each with the slot it came from."""
        if self._read is not None:
            return self._read
        read: list[tuple[ToolCall, CallSlot]] = []
        taken: dict[str, ToolCall] = {}
        for slot in self._slots:
            # Only the call that was being written when the model was stopped can be the unfinished one.
            cut = finish in CUT_SHORT and slot is self._slots[-1]
            arguments, problem = slot.read(cut=cut)
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


def _is_nothing(arguments: str) -> bool:
    """Return True for arguments that some servers begin each call with."""
    return arguments.strip() in ("", "{}")


def _begins_object(arguments: object) -> bool:
    if isinstance(arguments, str):
        return arguments.lstrip()[:1] == "{"
    return isinstance(arguments, dict)
