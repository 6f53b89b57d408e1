"""How turns are made, as the settings say."""

from __future__ import annotations

from dataclasses import dataclass

from bot.linkpolicy import Unknown
from bot.settings import CoreSettings
from bot.workings import ShowTools


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """What every turn of a process has in common."""

    turn_seconds: float
    zone: str
    secrets: tuple[str, ...] = ()
    unknown_links: Unknown = "code"
    """How an address is shown that neither a person nor a tool brought."""
    show_tools: ShowTools = "off"

    @classmethod
    def of(cls, core: CoreSettings, secrets: tuple[str, ...]) -> TurnOptions:
        """The options that `core` sets."""
        return cls(
            turn_seconds=core.turn_seconds,
            zone=core.time_zone,
            secrets=secrets,
            unknown_links=core.unknown_links,
            show_tools=core.show_tools,
        )
