"""The settings that all turns of a process share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bot.safety import Unknown
from bot.settings import CoreSettings
from bot.store import TimerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """The settings that all turns of a process share."""

    turn_seconds: float
    zone: str
    secrets: tuple[str, ...] = ()
    unknown_links: Unknown = "code"
    """How an address is shown that neither a person nor a tool brought."""
    show_tools: Literal["off", "line", "full"] = "off"
    """What stands under an answer of the tools it used: nothing, a line for each call, or its result's head too."""
    quote_reasoning: bool = False
    """Put what the model thought under the answer, where the platform can show it collapsed."""

    reminders: TimerLimits = field(default_factory=TimerLimits)

    @classmethod
    def from_settings(cls, core: CoreSettings, secrets: tuple[str, ...]) -> TurnOptions:
        """The options that `core` sets."""
        return cls(
            turn_seconds=core.turn_seconds,
            zone=core.time_zone,
            secrets=secrets,
            unknown_links=core.unknown_links,
            show_tools=core.show_tools,
            quote_reasoning=core.show_reasoning == "quote",
            reminders=TimerLimits(core.reminders_per_person, core.reminders_per_chat),
        )
