"""How Discord's ids are written."""

from __future__ import annotations

from typing import Final

from bot.contract import identity

_NUMBER: Final = identity.NUMBER

IDS: Final = identity.PlatformIds(
    person=identity.Form(_NUMBER, "456"),
    chat=identity.Form(rf"{_NUMBER}/{_NUMBER}(?:/{_NUMBER})?", "APP/CHANNEL"),
    bare_chat=identity.Form(_NUMBER, "CHANNEL"),
    account=identity.Form(rf"{_NUMBER}/\*"),
    workspace=identity.Form(_NUMBER, "SERVER", kind="guild"),
    role=identity.Form(_NUMBER, "ROLE", kind="role"),
    canonical=identity.without_zeros,
    threads_are_chats=True,
)
