"""One package for each platform: platform event → `Incoming`, `Page` → platform message.

The table below is the list of platforms. Each module has

- `open_adapter(settings) -> Adapter`, with `settings` of the class named beside it in `adapters/settings.py`, and
- `async def check(settings) -> list[Finding]` for `parley doctor`.

The modules import their platform's library, so they are loaded by name and only when they are configured.
"""

from __future__ import annotations

from dataclasses import dataclass

from adapters.settings import ConsoleSettings, DiscordSettings, PlatformSettings, SlackSettings, TelegramSettings

PLATFORMS: dict[str, tuple[str, type[PlatformSettings]]] = {
    "telegram": ("adapters.telegram.adapter", TelegramSettings),
    "slack": ("adapters.slack.adapter", SlackSettings),
    "discord": ("adapters.discord.adapter", DiscordSettings),
    "console": ("adapters.console.adapter", ConsoleSettings),
}
"""Name → (module, settings class)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of `parley doctor`."""

    ok: bool
    text: str
    """What was found, and when it is not well, what to do."""


__all__ = ["PLATFORMS", "Finding", "PlatformSettings"]
