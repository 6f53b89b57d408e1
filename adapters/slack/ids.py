"""How Slack's ids are written."""

from __future__ import annotations

from typing import Final

from bot.contract import identity

_TEAM: Final = "[TE][A-Z0-9]+"
"""A workspace, or an organisation of several."""

IDS: Final = identity.PlatformIds(
    person=identity.Form(rf"{_TEAM}/[UW][A-Z0-9]+", "T1/U1"),
    chat=identity.Form(rf"{_TEAM}/[CDG][A-Z0-9]+(?:/[0-9]+\.[0-9]{{6}})?", "TEAM/CHANNEL"),
    account=identity.Form(rf"{_TEAM}/\*", "TEAM/*"),
    workspace=identity.Form(_TEAM, "T1"),
    canonical=str.upper,
)
