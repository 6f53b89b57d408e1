"""What the emulators grant at first is what the documented set-up gives: no figure is another product's."""

from __future__ import annotations

import re
from pathlib import Path

from adapters.discord import adapter as discord_adapter
from adapters.slack import adapter as slack_adapter
from playground.discord import DiscordServer
from playground.slack import SlackServer
from playground.telegram import TelegramServer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def listed(manifest: str, key: str) -> set[str]:
    """The entries of one list of the manifest, by its key."""
    lines = iter(manifest.splitlines())
    indent = next(len(line) - len(line.lstrip()) for line in lines if line.strip() == f"{key}:")
    found = set()
    for line in lines:
        if len(line) - len(line.lstrip()) <= indent:
            break
        found.add(line.split("#")[0].strip(" -"))
    return found


def test_slack_grants_what_the_manifest_asks_for() -> None:
    manifest = (ROOT / "adapters" / "slack" / "manifest.yaml").read_text(encoding="utf-8")
    server = SlackServer()

    assert server.scopes == listed(manifest, "bot")
    assert server.subscriptions == listed(manifest, "bot_events")
    assert set(slack_adapter.NEEDED_SCOPES) | set(slack_adapter.WISHED_SCOPES) == server.scopes


def test_discord_grants_what_the_invitation_asks_for_and_no_privileged_intent() -> None:
    page = (DOCS / "discord.md").read_text(encoding="utf-8")
    [invited] = {int(number) for number in re.findall(r"permissions=(\d+)", page)}
    server = DiscordServer()
    server.guild(1)
    place = server.channel(2, 1)

    assert place.permissions() == invited == discord_adapter._PERMISSIONS.value
    assert server.privileged_intents == 0


def test_telegram_grants_what_botfather_does() -> None:
    """Groups, and in them only what is meant for the bot: privacy mode is on."""
    bot = TelegramServer().bot

    assert bot["can_join_groups"]
    assert not bot["can_read_all_group_messages"]
    assert "`/setprivacy` to BotFather and choose *Disable*" in (DOCS / "telegram.md").read_text(encoding="utf-8")
