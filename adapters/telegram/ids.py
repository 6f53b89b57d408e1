"""How Telegram's ids are written."""

from __future__ import annotations

from typing import Final

from bot.contract import identity

_NUMBER: Final = identity.NUMBER

IDS: Final = identity.PlatformIds(
    person=identity.Form(_NUMBER, "123"),
    chat=identity.Form(rf"{_NUMBER}/-?{_NUMBER}(?:/{_NUMBER})?", "BOT/CHAT"),
    bare_chat=identity.Form(f"-?{_NUMBER}", "CHAT"),
    account=identity.Form(rf"{_NUMBER}/\*"),
    canonical=identity.without_zeros,
)
