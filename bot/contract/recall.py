"""What became of deliveries, for adapters whose platform keeps none, or not for long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from bot.contract.messages import ChatId
from bot.contract.transcript import Usage
from tools.contract.base import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A delivery's state and answer, as stored."""

    ended: bool
    stopped: bool = False
    """A person stopped the answer."""
    failed: bool = False
    """There is no answer, or only a part of one."""
    text: str = ""
    """All text of the answer, or of what was said to a command; empty while it is written."""
    usage: Usage = field(default_factory=Usage)
    asks: str = ""
    """The answer asks whether a tool may make a call: names that question; empty: it asks nothing, or not any more."""
    question: str = ""
    """What it asks, in Markdown: the end of its text."""
    followed: bool = False
    """The chat has a later question or answer than the one that asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledCall:
    """A tool call of an answer, as its person may see it."""

    id: str
    """Unique among all calls. The answer to a decision has the call that was decided about, under the same id."""
    name: str
    arguments: Mapping[str, Json]
    result: str | None = None
    """None: it has not ended."""
    waits: bool = False
    """A person is asked about it."""
    decided: bool = False
    """An earlier answer asked about it."""


Recall: TypeAlias = Callable[[ChatId, str], Awaitable[Recalled | None]]
"""Returns what is stored of a chat's delivery, or, if it is empty, of the chat's newest answer that asks whether a tool
may make a call; None: nothing is.

Raises:
    StoreError: the database cannot be read now.
"""

RecallCalls: TypeAlias = Callable[[ChatId, str, Collection[str]], Awaitable[tuple[RecalledCall, ...]]]
"""Returns the tool calls of the answer to a chat's delivery that have begun by now, in their order; without those whose
ids are given. If the delivery is empty, of the chat's newest answer that asks whether a tool may make a call.

Raises:
    StoreError: the database cannot be read now.
"""


KeepSaid: TypeAlias = Callable[[ChatId, str, str], Awaitable[None]]
"""Stores what was said to a chat's delivery, for `Recall`; nothing if it is a question that is being answered.

Raises:
    StoreError: it cannot be stored now.
"""

FindRepeated: TypeAlias = Callable[[ChatId, str], Awaitable[str]]
"""Returns the newest delivery of the last minutes in a chat's account whose name begins so; empty: there is none.

Raises:
    StoreError: the database cannot be read now.
"""


@runtime_checkable
class Recalling(Protocol):
    """An adapter that asks the store what became of a delivery. All are set before the adapter listens."""

    recall: Recall | None
    recall_calls: RecallCalls | None
    keep_said: KeepSaid | None
    find_repeated: FindRepeated | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOff:
    """Where a platform was heard last, so that what was written since then can be looked up."""

    since: float
    """The wall-clock time after which messages may be missing. Some from later may be stored already."""
    private: Sequence[ChatId] = ()
    """The private chats with the newest questions, the newest first."""
    groups: Sequence[ChatId] = ()
    """The same of all other chats."""


FindLeftOff: TypeAlias = Callable[[], Awaitable[LeftOff | None]]
"""Returns where the platform was heard last; None if it never was, as before the first start.

Raises:
    StoreError: the database cannot be read now.
"""


@runtime_checkable
class CatchingUp(Protocol):
    """An adapter that looks up what its platform will not deliver any more. A message that is delivered twice is
    answered once."""

    find_left_off: FindLeftOff | None
    """Set before the adapter listens."""

    @property
    def heard(self) -> bool:
        """True while it is connected and everything that people wrote so far was delivered."""
        ...
