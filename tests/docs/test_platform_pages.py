"""A platform's page names exactly what the set-up grants, and its links are those that the program makes."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import discord
import yaml

from adapters.discord import adapter as discord_adapter
from adapters.slack.manifest import MANIFEST, new_app_link

DOCS = Path(__file__).parents[2] / "docs"
GRANTED = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))


def rows(page: str, heading: str) -> list[str]:
    """What stands as code or slanted in the first column of the table under a heading."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    firsts = re.findall(r"^\| ([`*][^|]+) \|", text, re.MULTILINE)
    return [name for first in firsts for name in re.findall("[`*](.+?)[`*]", first)]


def test_slacks_link_opens_a_form_that_holds_the_manifest() -> None:
    link = new_app_link()

    address = urlsplit(link)
    asked = parse_qs(address.query)
    assert (address.netloc, address.path, asked["new_app"]) == ("api.slack.com", "/apps", ["1"])
    assert yaml.safe_load(asked["manifest_yaml"][0]) == GRANTED
    assert len(link) < 4_000, "some programs cut longer addresses"


def test_slacks_page_has_that_link_and_names_each_scope_and_event() -> None:
    assert f"]: {new_app_link()}\n" in (DOCS / "slack.md").read_text(encoding="utf-8"), "run `parley init` for the link"
    assert rows("slack.md", "Scopes") == GRANTED["oauth_config"]["scopes"]["bot"]
    assert rows("slack.md", "Events") == GRANTED["settings"]["event_subscriptions"]["bot_events"]


def test_discords_page_names_each_permission_of_its_invitation() -> None:
    named = [name.lower().replace(" ", "_") for name in rows("discord.md", "Permissions")]

    assert discord.Permissions(**dict.fromkeys(named, True)) == discord_adapter._PERMISSIONS
