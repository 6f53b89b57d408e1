"""The form of ids of people who ask by web: the name that a program gives them, and their threads."""

from __future__ import annotations

from typing import Final

from bot.contract import identity

NAME: Final = r"[A-Za-z0-9_.@+-]{1,100}"
_PART: Final = r"[^/\s]+"
IDS: Final = identity.PlatformIds(
    person=identity.Form(NAME),
    chat=identity.Form(f"{_PART}/{_PART}(?:/{_PART})?"),
    account=identity.Form(rf"{_PART}/\*"),
)
