"""How Discord's ids are written."""

from __future__ import annotations

import re
from typing import Final

from bot.contract import identity

_NUMBER: Final = identity.NUMBER

_LINK: Final = re.compile(
    r"(?:https?://)?(?:[a-z]+\.)?discord(?:app)?\.com/channels/(?:@me|[0-9]+)/([0-9]+)/([0-9]+)(?:\?\S*)?"
)


def _linked(address: str) -> tuple[str, str] | None:
    found = _LINK.fullmatch(address)
    return (found[1], found[2]) if found else None


IDS: Final = identity.PlatformIds(
    person=identity.Form(_NUMBER, "456"),
    chat=identity.Form(rf"{_NUMBER}/{_NUMBER}(?:/{_NUMBER})?", "APP/CHANNEL"),
    bare_chat=identity.Form(_NUMBER, "CHANNEL"),
    account=identity.Form(rf"{_NUMBER}/\*"),
    workspace=identity.Form(_NUMBER, "SERVER", kind="guild"),
    role=identity.Form(_NUMBER, "ROLE", kind="role"),
    canonical=identity.without_zeros,
    threads_are_chats=True,
    linked=_linked,
)
