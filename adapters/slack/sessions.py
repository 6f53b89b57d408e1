"""The sessions of an agent: during one, Slack shows its own Stop button in the thread.

Only an app that is declared an agent has them (its token has `assistant:write`), and only the app ends the status, even
after a press of Stop: a status that is not ended stays for an hour. https://docs.slack.dev/ai/agent-sessions
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import error_code, translate
from bot.contract import QUICK, Backoff, Clock, RateLimited, done_within
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

AGENT: Final = "assistant:write"
"""The scope of an app that is declared an agent."""
STOPPED: Final = "agent_session_stopped"
_WORKS, _RESTS = "processing", "active"
_CLOSE_SECONDS: Final = 2.0


class Sessions:
    """The sessions of a workspace, shared by all its surfaces. Statuses are set in the background; the last one wins.

    The first refusal as `not_authorized` closes them all: then `possible` is False.
    """

    def __init__(self, web: AsyncWebClient, clock: Clock, scopes: Collection[str] | None) -> None:
        self._web = web
        self._clock = clock
        self.possible = scopes is not None and AGENT in scopes
        """Slack shows sessions."""
        self._wanted: dict[tuple[str, str], tuple[str, str]] = {}
        """By channel and thread: the status that is still to be set, and the title."""
        self._at_work: set[tuple[str, str]] = set()
        self._setting: dict[tuple[str, str], asyncio.Task[None]] = {}

    def work(self, channel: str, thread: str, title: str = "") -> None:
        """Show that an answer is being made, with the Stop button. Slack accepts a title only for a new session."""
        self._at_work.add((channel, thread))
        self._want((channel, thread), _WORKS, title)

    def rest(self, channel: str, thread: str) -> None:
        """Remove both."""
        self._at_work.discard((channel, thread))
        self._want((channel, thread), _RESTS)

    def stopped(self, channel: str, thread: str) -> None:
        """Somebody pressed Stop. A session with work here rests when the work has ended; one without rests now."""
        if (channel, thread) not in self._at_work:
            self.rest(channel, thread)

    async def close(self) -> None:
        """Set the remaining statuses, as far as Slack answers in time."""
        await done_within(self._clock, set(self._setting.values()), _CLOSE_SECONDS)
        await end_tasks(*self._setting.values())

    def _want(self, place: tuple[str, str], status: str, title: str = "") -> None:
        if not self.possible:
            return
        self._wanted[place] = status, title
        if place not in self._setting:
            self._setting[place] = asyncio.create_task(self._set(place), name=f"session {place}")

    async def _set(self, place: tuple[str, str]) -> None:
        """Set the newest wanted status until there is none."""
        backoff = Backoff(self._clock, QUICK, endless=False)
        try:
            while (wanted := self._wanted.pop(place, None)) is not None:
                try:
                    await self._ask(place, *wanted)
                except Exception as error:  # noqa: BLE001 - it is only a sign
                    if not await self._goes_on(error, backoff):
                        return
                    self._wanted.setdefault(place, wanted)
        finally:
            del self._setting[place]

    async def _ask(self, place: tuple[str, str], status: str, title: str) -> None:
        channel, thread = place
        answer = await self._web.agents_sessions_setStatus(
            channel_id=channel, thread_ts=thread, status=status, title=title or None
        )
        if STOPPED in str(answer.get("warning") or ""):
            self.possible = False
            log.warning(
                "slack: no sessions and no Stop button of Slack's own: subscribe to the bot event %s "
                "(Event Subscriptions), as adapters/slack/manifest.yaml says",
                STOPPED,
            )
            if status == _WORKS:
                self._wanted.setdefault(place, (_RESTS, ""))

    async def _goes_on(self, error: Exception, backoff: Backoff) -> bool:
        """Wait until the next try is allowed; return False if it is given up."""
        problem, code = translate(error), error_code(error)
        if isinstance(problem, RateLimited):
            await self._clock.sleep(problem.retry_after)
            return True
        if code in ("not_authorized", "missing_scope", "unknown_method"):
            self.possible = False
            log.info("slack: the app is not an agent (%s), so Slack shows no Stop button of its own", code)
            return False
        return not code and await backoff.wait()
