"""How ids of the terminal are written. Nobody else than who runs it is there to be listed, so none is shown."""

from __future__ import annotations

from typing import Final

from bot.contract import identity

IDS: Final = identity.PlatformIds(person=identity.Form(r"\w+"), chat=identity.Form(r"[^/\s]+/[^/\s]+"))
