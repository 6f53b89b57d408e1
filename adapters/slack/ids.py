"""How Slack's ids are written."""

from __future__ import annotations

import re
from typing import Final

from bot.contract import identity

_TEAM: Final = "[TE][A-Z0-9]+"
"""A workspace, or an organisation of several."""

_LINK: Final = re.compile(
    r"(?:https?://)?[\w.-]+\.slack(?:-gov)?\.com/archives/([CDG][A-Z0-9]+)/p([0-9]+)([0-9]{6})(?:\?\S*)?"
)


def _linked(address: str) -> tuple[str, str] | None:
    found = _LINK.fullmatch(address)
    return (found[1], f"{found[2]}.{found[3]}") if found else None


IDS: Final = identity.PlatformIds(
    person=identity.Form(rf"{_TEAM}/[UW][A-Z0-9]+", "T1/U1"),
    chat=identity.Form(rf"{_TEAM}/[CDG][A-Z0-9]+(?:/[0-9]+\.[0-9]{{6}})?", "TEAM/CHANNEL"),
    account=identity.Form(rf"{_TEAM}/\*", "TEAM/*"),
    workspace=identity.Form(_TEAM, "T1"),
    canonical=str.upper,
    linked=_linked,
)
