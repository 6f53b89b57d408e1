"""Look up names and languages of the people in a workspace in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import Final

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.counted import Counted
from adapters.slack.errors import error_code
from adapters.slack.limits import LOOKUP_WINDOW
from bot.contract import Clock, done_within
from tools.contract.newest import Newest
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

MOST_KNOWN: Final = 2_000
MOST_AT_ONCE: Final = 4
_NO_USE: Final = ("missing_scope", "invalid_auth", "token_revoked", "account_inactive")
_NOBODY: Final = ("user_not_found", "user_not_visible")


class People:
    """A cache of names that answers at once, with the id for an unknown name, and asks Slack in the background.

    If more people write in a minute than Slack lets us look up, the others are looked up at a later message.
    """

    def __init__(self, web: AsyncWebClient, clock: Clock, most: int = MOST_KNOWN) -> None:
        self._clock = clock
        self._known: Newest[str, tuple[str, str]] = Newest(most)
        """Id → name, the id itself if Slack has no name, and language."""
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)
        self._info = Counted(web.users_info, LOOKUP_WINDOW, clock)
        self._useful = True

    def name(self, id: str) -> str:
        """Return the display name, or `id` while unknown."""
        if id in self._known:
            self._known.move_to_end(id)
        return self._known.get(id, (id, ""))[0]

    def language(self, id: str) -> str:
        """Return the IETF tag of a person's Slack language; empty while unknown."""
        return self._known.get(id, (id, ""))[1]

    def learn(self, ids: Iterable[str]) -> None:
        """Look up unknown names in the background, a few at a time."""
        for id in ids:
            if self._useful and id not in self._known and id not in self._asking and self._has_room:
                self._asking[id] = asyncio.create_task(self._ask(id), name=f"name of {id}")

    async def settle(self, ids: Collection[str], most: int, seconds: float = float("inf")) -> bool:
        """Look up to `most` unknown names and wait for them; return whether there were any."""
        unknown = [id for id in sorted(ids) if id not in self._known][:most]
        self.learn(unknown)
        asked = [self._asking[id] for id in unknown if id in self._asking]
        await done_within(self._clock, asked, seconds)
        return bool(asked)

    async def settled(self) -> None:
        """Wait until no lookup is running."""
        while self._asking:
            await asyncio.wait(self._asking.values())

    async def close(self) -> None:
        """Stop all lookups."""
        self._useful = False
        await end_tasks(*self._asking.values())

    @property
    def _has_room(self) -> bool:
        """More than a minute's lookups are never queued."""
        return len(self._asking) < LOOKUP_WINDOW.calls

    async def _ask(self, id: str) -> None:
        try:
            async with self._at_once:
                if self._useful:
                    await self._look_up(id)
        finally:
            self._asking.pop(id, None)

    async def _look_up(self, id: str) -> None:
        try:
            user = (await self._info(user=id, include_locale=True)).get("user") or {}
            profile = user.get("profile") or {}
            name = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
        except Exception as error:  # noqa: BLE001 - without its name a person is shown by id
            self._failed(id, error)
        else:
            self._known.put(id, (str(name or id), str(user.get("locale") or "")))

    def _failed(self, id: str, error: Exception) -> None:
        code = error_code(error)
        if code in _NOBODY:
            self._known.put(id, (id, ""))
        elif code in _NO_USE:
            log.info("slack: names are not looked up (%s)", code)
            self._useful = False
