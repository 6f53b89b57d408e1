"""The place for the answer of a slash command, which its acknowledgement opens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

_SETTLES: Final = 15.0
"""Seconds for which Discord may not know an answer that it acknowledged itself.

https://github.com/discord/discord-api-docs/issues/7220, …/6851
"""


@dataclass(slots=True)
class AnswerSlot:
    """The state of one such place."""

    until: float = 0.0
    """When the interaction's token ends, in seconds since the epoch."""
    free: bool | None = None
    """Nothing was written into it yet; None if a former process may have written."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """The acknowledgement has been sent: nothing can be written before that."""
    closed: bool = False
    """Discord said that nothing more can be written: the rest is sent as messages, at a message's cost."""
    acknowledged: float = float("-inf")
    """When Discord confirmed the acknowledgement, in monotonic seconds."""

    def settles(self, now: float) -> bool:
        """Return True if Discord, which has taken nothing for the place, may still say that it does not know it."""
        return self.free is not False and now - self.acknowledged < _SETTLES
