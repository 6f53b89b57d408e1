"""What people wrote while the bot was away: Slack sends an event again after one and five minutes, then never.

It is looked up in the conversations that the bot is in, those where people asked lately first.
https://docs.slack.dev/apis/events-api#error-handling
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.counted import Counted
from adapters.slack.errors import NOT_INSIDE, error_code
from adapters.slack.events import seconds_of
from adapters.slack.limits import MISSED_HISTORY_WINDOW, MISSED_LISTS_WINDOW, MISSED_REPLIES_WINDOW
from adapters.slack.workspace import Workspace
from bot.contract import (
    Backoff,
    ChatId,
    Clock,
    DeliveryError,
    FindLeftOff,
    LeftOff,
    LogThrottle,
    RateLimited,
    StoreError,
    Unreachable,
    origin_of,
    time_limit,
)

log = logging.getLogger(__name__)

SECONDS: Final = 600.0
"""For all that was missed."""
_PAGE: Final = 200
_MOST_PAGES: Final = 3
_MOST_THREADS: Final = 40
_KINDS: Final = {
    "im": "im:read",
    "public_channel": "channels:read",
    "private_channel": "groups:read",
    "mpim": "mpim:read",
}
"""Kinds of conversations, and the scope that lists them."""
_SENT_AGAIN_SECONDS: Final = 420.0
_LOOK_SECONDS: Final = 0.5
_PAUSE: Final = 3.0
"""Between tries when this minute's calls are used up."""


@dataclass(eq=False, repr=False)
class Missed:
    """Looks up what was missed, once for each connection."""

    workspace_of: Callable[[object], Workspace]
    take_in: Callable[[dict[str, Any]], Awaitable[bool]]
    """Stores a payload as if it had come as an event; returns False if it must come again."""
    clock: Clock

    def __post_init__(self) -> None:
        self._calls: dict[tuple[str, bool], Counted] = {}
        self._troubles = LogThrottle(log, self.clock)

    async def catch_up(
        self,
        find: FindLeftOff | None,
        listening: Callable[[], bool],
        workspaces: Collection[Workspace],
        *,
        shared: bool,
    ) -> None:
        """Store what was written since the platform was heard last, as soon as new events come in.

        Args:
            shared: of several processes, each would look it up, so what Slack itself sends again is left to it.
        """
        left = await self._ask(find) if find is not None else None
        if left is None or (shared and self.clock.wall() - left.since < _SENT_AGAIN_SECONDS):
            return
        while not listening():
            await self.clock.sleep(_LOOK_SECONDS)
        chats = (*left.private, *left.groups)
        known = dict.fromkeys(chat.place for chat in chats)
        threads = dict.fromkeys(chat for chat in chats if chat.thread)
        try:
            async with time_limit(self.clock, SECONDS):
                for workspace in workspaces:
                    known |= dict.fromkeys(await self._places(workspace))
                for channel in known:
                    threads |= dict.fromkeys(await self._in_channel(channel, left.since))
                for thread in list(threads)[:_MOST_THREADS]:
                    await self._in_thread(thread, left.since)
        except TimeoutError:
            log.warning("slack: not everything that was written meanwhile could be looked up in time")

    async def _ask(self, find: FindLeftOff) -> LeftOff | None:
        """Ask the store until it answers."""
        backoff = Backoff(self.clock)
        while True:
            try:
                return await find()
            except StoreError:
                await backoff.wait()

    async def _places(self, workspace: Workspace) -> list[ChatId]:
        """Return the conversations that the bot is in, as far as the token may list them."""
        kinds = [kind for kind, scope in _KINDS.items() if workspace.scopes is None or scope in workspace.scopes]
        if not kinds:
            return []
        call = Counted(workspace.web.users_conversations, MISSED_LISTS_WINDOW, self.clock)
        wanted = {"types": ",".join(kinds), "exclude_archived": True, "limit": _PAGE}
        team = workspace.me.team
        found = await self._pages(call, wanted, "channels", f"workspace {team}")
        return [ChatId("slack", team, str(one["id"])) for one in found if one.get("id")]

    async def _in_channel(self, channel: ChatId, since: float) -> list[ChatId]:
        """Store what was written in a channel; return its threads with later replies."""
        found = await self._look(channel, since, "")
        await self._store(channel, found)
        replied = [one for one in found if seconds_of(one.get("latest_reply")) > since]
        return [ChatId(channel.platform, channel.account, channel.chat, str(one["ts"])) for one in replied]

    async def _in_thread(self, thread: ChatId, since: float) -> None:
        # Slack always includes the root.
        found = await self._look(thread, since, thread.thread)
        await self._store(thread, (one for one in found if seconds_of(one.get("ts")) > since))

    async def _store(self, chat: ChatId, messages: Iterable[Mapping[str, Any]]) -> None:
        """Store messages as if they had come as events."""
        kind = "im" if chat.chat.startswith("D") else "channel"
        for one in messages:
            event = {**one, "type": "message", "channel": chat.chat, "channel_type": kind}
            # Nothing says whether other organisations write there: who names none is then nobody of ours.
            body = {"type": "event_callback", "team_id": chat.account, "is_ext_shared_channel": True, "event": event}
            backoff = Backoff(self.clock, endless=False)
            while not await self.take_in(body) and await backoff.wait():
                pass

    async def _look(self, chat: ChatId, since: float, thread: str) -> list[Mapping[str, Any]]:
        """Return the messages since then, the oldest first; none if they cannot be read."""
        wanted: dict[str, Any] = {"channel": chat.chat, "oldest": f"{since:.6f}", "limit": _PAGE}
        if thread:
            wanted["ts"] = thread
        try:
            call = self._call(chat.account, threads=bool(thread))
        except Unreachable as error:
            self._troubles.warn(f"slack: what was written in {chat.chat} meanwhile is missing: {error}")
            return []
        found = await self._pages(call, wanted, "messages", chat.chat)
        return sorted(found, key=lambda one: seconds_of(one.get("ts")))

    async def _pages(self, call: Counted, wanted: dict[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
        """Return the entries of all pages, or of those before one that cannot be read."""
        found: list[Mapping[str, Any]] = []
        try:
            for _ in range(_MOST_PAGES):
                answer = await self._patiently(call, wanted)
                found += [one for one in answer.get(key) or () if isinstance(one, Mapping)]
                wanted["cursor"] = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
                if not wanted["cursor"]:
                    break
        except Exception as error:  # noqa: BLE001 - whatever it is, new messages come in
            code = error_code(error)
            if code not in NOT_INSIDE:
                why = code or origin_of(error)
                self._troubles.warn(f"slack: what was written in {where} meanwhile may be missing: {why}")
        return found

    def _call(self, team: str, *, threads: bool) -> Counted:
        """Return the method that reads channels or threads of a workspace; raises Unreachable if the app is gone."""
        if (known := self._calls.get((team, threads))) is None:
            web = self.workspace_of(team).web
            known = self._calls[team, threads] = (
                Counted(web.conversations_replies, MISSED_REPLIES_WINDOW, self.clock)
                if threads
                else Counted(web.conversations_history, MISSED_HISTORY_WINDOW, self.clock)
            )
        return known

    async def _patiently(self, call: Counted, wanted: Mapping[str, Any]) -> AsyncSlackResponse:
        while True:
            try:
                return await call(**wanted)
            except RateLimited as refused:
                await self.clock.sleep(refused.retry_after)
            except DeliveryError:
                await self.clock.sleep(_PAUSE)
