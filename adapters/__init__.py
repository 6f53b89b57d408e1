"""One package for each platform: platform event → `Incoming`, `Page` → platform message.

The table below is the list of platforms, each a `Platform`: its module has

- `open_adapter(settings) -> Adapter`, with `settings` of the class named beside it in `adapters/settings.py`, and
- `async def check(settings) -> list[Finding]` for `parley doctor`.

The modules import their platform's library, so they are loaded by name and only when they are configured. How ids are
written (`ids.py` of each package) is known of every platform.
"""

from __future__ import annotations

from typing import NamedTuple

from adapters.console.ids import IDS as CONSOLE_IDS
from adapters.discord.ids import IDS as DISCORD_IDS
from adapters.settings import ConsoleSettings, DiscordSettings, PlatformSettings, SlackSettings, TelegramSettings
from adapters.slack.ids import IDS as SLACK_IDS
from adapters.telegram.ids import IDS as TELEGRAM_IDS
from bot.contract import identity
from tools.contract.findings import Finding


class Platform(NamedTuple):
    """A platform: where it is opened, what is set, and how its people and chats are named."""

    module: str
    settings: type[PlatformSettings]
    ids: identity.PlatformIds


PLATFORMS: dict[str, Platform] = {
    "telegram": Platform("adapters.telegram.adapter", TelegramSettings, TELEGRAM_IDS),
    "slack": Platform("adapters.slack.adapter", SlackSettings, SLACK_IDS),
    "discord": Platform("adapters.discord.adapter", DiscordSettings, DISCORD_IDS),
    "console": Platform("adapters.console.adapter", ConsoleSettings, CONSOLE_IDS),
}


__all__ = ["PLATFORMS", "Finding", "Platform", "PlatformSettings"]
