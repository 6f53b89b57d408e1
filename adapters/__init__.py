"""One package for each platform: platform event → `Incoming`, `Page` → platform message.

The table below is the list of platforms. The door of each package has

- `open_adapter(settings) -> Adapter`, with `settings` of the class named beside it in `adapters/settings.py`, and
- `async def check(settings) -> list[Finding]` for `parley doctor`.

The packages import their platform's library, so they are loaded by name and only when they are configured.
"""

from __future__ import annotations

from adapters.settings import ConsoleSettings, DiscordSettings, PlatformSettings, SlackSettings, TelegramSettings
from tools.findings import Finding

PLATFORMS: dict[str, tuple[str, type[PlatformSettings]]] = {
    "telegram": ("adapters.telegram", TelegramSettings),
    "slack": ("adapters.slack", SlackSettings),
    "discord": ("adapters.discord", DiscordSettings),
    "console": ("adapters.console", ConsoleSettings),
}
"""Name → (package, settings class)."""


__all__ = ["PLATFORMS", "Finding", "PlatformSettings"]
