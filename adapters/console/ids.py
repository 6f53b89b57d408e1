"""The form of ids of the terminal. It has a single user, so there are no ids of others to list."""

from __future__ import annotations

from typing import Final

from bot.contract import identity

IDS: Final = identity.PlatformIds(person=identity.Form(r"\w+"), chat=identity.Form(r"[^/\s]+/[^/\s]+"))
