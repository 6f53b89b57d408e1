"""A conversation as the model gets it: neutral entries that a wire renders for its provider.

History stores these entries. `AssistantEntry.raw` contains the provider's own message (ids byte for byte, signatures,
reasoning that must be sent back); wires of other providers ignore it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from bot.contract.origin import OURS, OUTSIDE
from tools.contract.base import Json, ToolCall
from tools.contract.plaintext import read_stored


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call, as the server reports them; zeros if it does not."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class SystemEntry:
    """Our own words to the model."""

    text: str
    origin: str = OURS
    """The origin of its words, see `bot.contract.origin`; every kind of entry has one."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that came with a message, or that the model made in its answer.

    History stores a reference to it; its content is loaded while the model sees it.
    """

    stored: int
    """The id of the stored file; 0: not stored yet."""
    media_type: str
    content: bytes = field(default=b"", repr=False, compare=False)
    """Empty: the model does not see it any more."""
    name: str = field(default="", repr=False)
    """The file's name in the chat, if the model made the picture."""


@dataclass(frozen=True, slots=True)
class UserEntry:
    """What a person wrote, with the speaker's name in front in groups."""

    text: str
    origin: str = OURS
    begins: int = 0
    """Where the person's message begins in `text`, after a quote of the bot; 0 without one."""
    pictures: tuple[Picture, ...] = ()


_NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})
"""Shared by all answers without a `raw`: a chat in progress has hundreds of entries."""


@dataclass(frozen=True, slots=True)
class AssistantEntry:
    """The model's answer in one pass: the visible text and the requested calls."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    native: bool = True
    """The calls came natively; else the model wrote them as text."""
    written: str = ""
    """The text as the model wrote it, call syntax included, when the calls were text."""
    reasoning: str = ""
    provider: str = ""
    """Which provider's `raw` this is (the table's name and base URL)."""
    raw: Mapping[str, Json] = field(default_factory=lambda: _NOTHING)
    origin: str = OURS
    pictures: tuple[Picture, ...] = ()
    """The pictures that the model made."""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """The result of one call. Results follow their assistant entry, in the order of the calls."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    origin: str = OURS
    whole: str = ""
    """The text before it was shortened for the model; it counts in full for provenance. Not stored."""


Entry: TypeAlias = SystemEntry | UserEntry | AssistantEntry | ToolEntry

_KINDS: dict[str, type[SystemEntry] | type[UserEntry] | type[AssistantEntry] | type[ToolEntry]] = {
    "system": SystemEntry,
    "user": UserEntry,
    "assistant": AssistantEntry,
    "tool": ToolEntry,
}


def entry_to_json(entry: Entry) -> str:
    """Write an entry for storage; defaults are left out, except for the origin."""
    match entry:
        case SystemEntry(text):
            value: dict[str, Json] = {"kind": "system", "text": text}
        case UserEntry(text, begins=begins, pictures=pictures):
            value = {"kind": "user", "text": text}
            if begins:
                value["begins"] = begins
            if pictures:
                value["pictures"] = [[one.stored, one.media_type] for one in pictures]
        case ToolEntry(call_id, name, text, ok):
            value = {"kind": "tool", "call_id": call_id, "name": name, "text": text, "ok": ok}
        case _:
            value = {"kind": "assistant", "text": entry.text}
            if entry.calls:
                value["calls"] = [_call_to_json(call) for call in entry.calls]
                value["native"] = entry.native
            for name in ("written", "reasoning", "provider"):
                if getattr(entry, name):
                    value[name] = getattr(entry, name)
            if entry.raw:
                value["raw"] = dict(entry.raw)
            if entry.pictures:
                value["pictures"] = [[one.stored, one.media_type, one.name] for one in entry.pictures]
    value["origin"] = entry.origin
    return json.dumps(value, ensure_ascii=False)


def entry_from_json(text: str) -> Entry:
    """Read what `entry_to_json` wrote.

    Raises:
        ValueError: it is not such a text.
    """
    value = read_stored(text)
    kind = _KINDS.get(value.pop("kind", ""))
    if kind is None:
        raise ValueError(f"no entry: {text[:80]!r}")
    # Earlier versions stored no origin: those words may be anybody's.
    value["origin"] = sys.intern(value.get("origin", OUTSIDE))
    if "pictures" in value:
        value["pictures"] = tuple(Picture(id, kind, b"", *name) for id, kind, *name in value["pictures"])
    if kind is AssistantEntry and "calls" in value:
        value["calls"] = tuple(ToolCall(**call) for call in value["calls"])
    if "provider" in value:
        value["provider"] = sys.intern(value["provider"])  # the same words in nearly every answer of a chat
    return kind(**value)


def _call_to_json(call: ToolCall) -> Json:
    value: dict[str, Json] = {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
    # Otherwise a call that cannot run would run after a restart, with arguments that nobody requested.
    return value | {"problem": call.problem} if call.problem else value


BEFORE_FIRST_PASS = "before the first pass"
"""The provider of an entry whose call no model requested."""
FOREIGN = "another agent"
"""The provider of an entry that an agent of another author wrote (`bot.contract.answers`): its tools are not ours."""
