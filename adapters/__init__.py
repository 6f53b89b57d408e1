"""One package for each platform: platform event → `Incoming`, `Page` → platform message.

The table below is the list of platforms, each a `Platform`: its module has

- `open_adapter(settings) -> Adapter`, with `settings` of the class named beside it in `adapters/settings.py`, and
- `async def check(settings) -> list[Finding]` for `parley doctor`.

The modules import their platform's library, so they are loaded by name and only when they are configured. How ids are
written (`ids.py` of each package) is known of every platform.

An installed package adds a row by an entry point `parley.adapters`, whose name is the platform's and whose object is a
`Platform`.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from adapters.console.ids import IDS as CONSOLE_IDS
from adapters.discord.ids import IDS as DISCORD_IDS
from adapters.settings import (
    ConsoleSettings,
    DiscordSettings,
    PlatformSettings,
    SlackSettings,
    TelegramSettings,
    WebSettings,
)
from adapters.slack.ids import IDS as SLACK_IDS
from adapters.slack.manifest import new_app_link
from adapters.telegram.ids import IDS as TELEGRAM_IDS
from adapters.web.ids import IDS as WEB_IDS
from bot.contract import identity
from tools.calling.crashes import describe_crash
from tools.contract.findings import Finding
from tools.programs.cancelling import Contained


class Platform(NamedTuple):
    """A platform: where it is opened, what is set, and how its people and chats are named."""

    module: str
    settings: type[PlatformSettings]
    ids: identity.PlatformIds
    origin: Callable[[], str] = str
    """Where its tokens come from, as `parley init` says before it asks for them; empty: it says nothing."""
    sheet: str = ""
    """The module whose `LIMITS` say how long its pages are, without logging in; empty: none says so."""
    drawing: str = ""
    """The module whose `draw_page` draws a page as `Surface.draw` does, without logging in; empty: none does."""


def _origin_on_slack() -> str:
    return (
        f"create the app at {new_app_link()} (filled in already), install it and copy the Bot User OAuth Token; then "
        "generate an App-Level Token with connections:write under Basic Information."
    )


_BOTFATHER: Final = "write /newbot to https://t.me/BotFather, which shows the token."
_PORTAL: Final = "at https://discord.com/developers/applications choose New Application, Bot, Reset Token."

PLATFORMS: dict[str, Platform] = {
    "telegram": Platform(
        "adapters.telegram.adapter",
        TelegramSettings,
        TELEGRAM_IDS,
        lambda: _BOTFATHER,
        "adapters.telegram.limits",
        "adapters.telegram.pages",
    ),
    "slack": Platform(
        "adapters.slack.adapter",
        SlackSettings,
        SLACK_IDS,
        _origin_on_slack,
        "adapters.slack.limits",
        "adapters.slack.drawing",
    ),
    "discord": Platform(
        "adapters.discord.adapter",
        DiscordSettings,
        DISCORD_IDS,
        lambda: _PORTAL,
        "adapters.discord.limits",
        "adapters.discord.pages",
    ),
    "web": Platform("adapters.web.adapter", WebSettings, WEB_IDS, sheet="adapters.web.surface"),
    "console": Platform("adapters.console.adapter", ConsoleSettings, CONSOLE_IDS, sheet="adapters.console.adapter"),
}

BUILT_IN: Final = frozenset(PLATFORMS)
GROUP: Final = "parley.adapters"
_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,30}")


def add_installed() -> list[str]:
    """Add the platforms of installed packages to the table; return a sentence for each that is left out."""
    left_out = []
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda one: one.name):
        try:
            if entry.name in BUILT_IN or not _NAME.fullmatch(entry.name):
                raise ValueError("another platform has this name, or it is not written in small letters and digits")
            with Contained():
                platform = entry.load()
            if not isinstance(platform, Platform):
                raise TypeError(f"{entry.value} is a {type(platform).__name__}, and must be a Platform")
            PLATFORMS[entry.name] = platform
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever one package does, the others work
            package = f" of the package {entry.dist.name}" if entry.dist is not None else ""
            left_out.append(f"the platform {entry.name}{package} is left out: {describe_crash(error)}")
    return left_out


__all__ = ["PLATFORMS", "Finding", "Platform", "PlatformSettings", "add_installed"]
