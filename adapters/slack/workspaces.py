"""The workspaces of the app: the one of SLACK_BOT_TOKEN, and those that installed it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from adapters.slack.client import Client
from adapters.slack.events import Me
from adapters.slack.sealing import Granted, Seal
from adapters.slack.sessions import AGENT
from adapters.slack.workspace import Workspace, open_workspace
from bot.contract import Backoff, Clock, Grants, LogThrottle, SettingsError, StoreError, Unreachable, time_limit
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

_PLATFORM: Final = "slack"
REFRESH_SECONDS: Final = 5.0
"""Seconds between two checks for grants that other processes received."""
_TEAM: Final = re.compile(r"[TE][A-Z0-9]+")
_REMOVED: Final = frozenset({"app_uninstalled", "tokens_revoked"})


@dataclass(eq=False, repr=False)
class Workspaces:
    """All of them, from `open` to `close`."""

    client: Callable[[str], Client]
    """Token → the client for calls to Slack."""
    http: aiohttp.ClientSession
    clock: Clock
    grants: Grants | None = None
    """The store and the encryption of workspaces' grants; None: only the workspace of the settings."""
    seal: Seal | None = None

    def __post_init__(self) -> None:
        self._kept = (self.grants, self.seal) if self.grants is not None and self.seal is not None else None
        self.home: Workspace | None = None
        """The workspace of SLACK_BOT_TOKEN."""
        self._others: dict[str, tuple[Granted, Workspace]] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._tending: asyncio.Task[None] | None = None
        self._missed = asyncio.Event()
        """Something must be shown in an unknown workspace: another process may just have received its grant."""
        self._closed_seals: set[str] = set()
        self._troubles = LogThrottle(log, self.clock)

    async def open(self, token: str, *, shared: bool = False) -> None:
        """Log in with the token of the settings, if there is one, and read the stored grants.

        Args:
            shared: other processes receive grants, too.

        Raises:
            SettingsError: Slack refuses the token.
            Unreachable: Slack does not answer now.
            StoreError: the grants cannot be read now.
        """
        if token:
            self.home = await open_workspace(self.client(token), self.http, self.clock)
        if self._kept is None:
            return
        await self.refresh()
        if shared:
            self._tending = asyncio.create_task(self._tend(), name="slack workspaces")

    async def end_lookups(self) -> None:
        for workspace in self.all:
            await workspace.people.close()

    async def close(self) -> None:
        if self._tending is not None:
            await end_tasks(self._tending)
        await end_tasks(*self._watching.values())
        for workspace in self.all:
            await workspace.close()

    @property
    def all(self) -> list[Workspace]:
        home = [self.home] if self.home is not None else []
        return home + [workspace for _, workspace in self._others.values()]

    def of(self, team: object) -> Workspace:
        """Return the workspace in which something must be shown.

        Raises:
            Unreachable: the app is not installed there any more.
        """
        if (found := self._find(str(team or ""))) is None:
            self._missed.set()
            raise Unreachable(f"the app is not installed in the Slack workspace {team}")
        return found

    def of_file(self, source: str) -> tuple[Workspace, str]:
        """Return the workspace of a file, and the file's source there.

        Raises:
            Unreachable: the app is not installed there any more.
        """
        team, _, own = source.partition(" ")
        if _TEAM.fullmatch(team):
            return self.of(team), own
        if self.home is None:
            raise Unreachable("the workspace of a file is not known")
        return self.home, source

    async def hearing(self, body: Mapping[str, Any]) -> Workspace | None:
        """Return the workspace for which Slack sent a payload; None if the app is not installed there.

        Raises:
            StoreError: the grants cannot be read now.
        """
        if self._kept is None:
            return self.home
        teams = _teams_in(body)
        for look in (True, False):
            for team in teams:
                if (found := self._find(team)) is not None:
                    return found
            if look:
                await self.refresh()
        self._troubles.warn(f"slack: {', '.join(teams) or 'a workspace without a name'} did not install the app")
        return None

    async def take_out(self, body: Mapping[str, Any]) -> bool:
        """Forget a workspace that removed the app; return False for any other payload.

        Raises:
            StoreError: its grant is not deleted.
        """
        event = body.get("event")
        if self._kept is None or not isinstance(event, Mapping) or event.get("type") not in _REMOVED:
            return False
        tokens = event.get("tokens") or {}
        # Tokens of people do not matter: the bot has its own.
        if event.get("type") == "app_uninstalled" or tokens.get("bot"):
            team = str(body.get("team_id") or "")
            await self._kept[0].drop(_PLATFORM, team)
            await self._leave(team)
        return True

    async def add(self, granted: Granted) -> None:
        """Store a workspace's grant, and serve it from now on.

        Raises:
            StoreError: it is not stored.
        """
        assert self._kept is not None
        grants, seal = self._kept
        await grants.keep(_PLATFORM, granted.team, seal.close(granted))
        await self._join(granted)

    async def refresh(self) -> None:
        """Serve the workspaces with stored grants, and no others.

        Raises:
            StoreError: it cannot be read now.
        """
        assert self._kept is not None
        grants, seal = self._kept
        kept = await grants.list_kept(_PLATFORM)
        for team, sealed in kept.items():
            if (granted := seal.open(team, sealed)) is not None:
                await self._join(granted)
            elif team not in self._closed_seals:
                self._closed_seals.add(team)
                log.error(
                    "slack: the grant of %s was encrypted with another key: add that key after the new one in "
                    "SLACK_TOKEN_KEY, or install the app there again",
                    team,
                )
        for team in self._others.keys() - kept.keys():
            await self._leave(team)

    def _find(self, team: str) -> Workspace | None:
        if self.home is not None and (self.home.me.team == team or self._kept is None):
            return self.home
        return self._others[team][1] if team in self._others else None

    async def _join(self, granted: Granted) -> None:
        before = self._others.get(granted.team)
        if (before and before[0] == granted) or (self.home is not None and self.home.me.team == granted.team):
            return
        if before:
            await self._leave(granted.team)
            # Replies in progress continue with the new token.
            before[1].web.token = granted.token
        scopes = frozenset(filter(None, granted.scopes.split(",")))
        me = Me(granted.team, granted.user, granted.bot, agent=AGENT in scopes)
        workspace = Workspace(self.client(granted.token), self.http, self.clock, me, scopes or None, of_others=True)
        self._others[granted.team] = granted, workspace
        watching = asyncio.create_task(self._watch(granted, workspace), name=f"slack token of {granted.team}")
        self._watching[granted.team] = watching

    async def _leave(self, team: str) -> None:
        if (left := self._others.pop(team, None)) is None:
            return
        log.warning("slack: %s (%s) is not served any more", team, left[0].name)
        await left[1].close()
        watching = self._watching.pop(team)
        if watching is not asyncio.current_task():
            await end_tasks(watching)

    async def _watch(self, granted: Granted, workspace: Workspace) -> None:
        """Stop serving a workspace when Slack refuses its token; the stored grant is tried again at the next start."""
        backoff = Backoff(self.clock)
        while True:
            try:
                await workspace.watch()
            except SettingsError:
                log.error("slack: the token that %s (%s) granted is refused", granted.team, granted.name)
                await self._leave(granted.team)
                return
            except Unreachable:
                await backoff.wait()

    async def _tend(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with time_limit(self.clock, REFRESH_SECONDS):
                    await self._missed.wait()
            self._missed.clear()
            try:
                await self.refresh()
            except StoreError as error:
                self._troubles.warn(f"slack: what workspaces granted cannot be read now: {error}")


def _teams_in(body: Mapping[str, Any]) -> list[str]:
    """Return the workspaces that a payload may be for, the likeliest first.

    In a channel that organisations share, `team_id` may be the writer's; `authorizations` names where the app is
    installed. https://docs.slack.dev/apis/events-api#authorizations
    """
    found: list[object] = [one.get("team_id") for one in body.get("authorizations") or () if isinstance(one, Mapping)]
    view, team = body.get("view"), body.get("team")
    if isinstance(view, Mapping):
        found.append(view.get("app_installed_team_id"))
    found += [body.get("context_team_id"), body.get("team_id")]
    if isinstance(team, Mapping):
        found.append(team.get("id"))
    return list(dict.fromkeys(str(one) for one in found if one))
