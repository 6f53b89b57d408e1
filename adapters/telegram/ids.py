"""How Telegram's ids are written."""

from __future__ import annotations

import re
from typing import Final

from bot.contract import identity

_NUMBER: Final = identity.NUMBER

_LINK: Final = re.compile(r"(?:https?://)?(?:t|telegram)\.me/c/([0-9]+)/(?:[0-9]+/)?([0-9]+)(?:\?\S*)?")
"""A link to a message of a group or channel without a public name; a topic may stand between the two."""


def _linked(address: str) -> tuple[str, str] | None:
    found = _LINK.fullmatch(address)
    return (f"-100{found[1]}", found[2]) if found else None


IDS: Final = identity.PlatformIds(
    person=identity.Form(_NUMBER, "123"),
    chat=identity.Form(rf"{_NUMBER}/-?{_NUMBER}(?:/{_NUMBER})?", "BOT/CHAT"),
    bare_chat=identity.Form(f"-?{_NUMBER}", "CHAT"),
    account=identity.Form(rf"{_NUMBER}/\*"),
    canonical=identity.without_zeros,
    linked=_linked,
)
