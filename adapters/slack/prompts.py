"""Suggest questions when somebody opens an agent, before the first question.

https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.counted import Counted
from adapters.slack.errors import error_code, translate
from adapters.slack.limits import PROMPTS_WINDOW
from adapters.slack.people import People
from adapters.slack.reading import Json
from bot.contract import Clock, RateLimited, Unclear, origin_of
from bot.sentences import say
from tools.contract.newest import Newest

log = logging.getLogger(__name__)

SENTENCES: Final = ("prompt_help", "prompt_news", "prompt_explain")
REMEMBERED_SECONDS: Final = 600.0
"""How long a refusal counts as lasting: a reinstalled app may keep its token."""
_MOST_KNOWN: Final = 1_000
_OF_THE_PLACE: Final = frozenset({"channel_not_found", "invalid_thread_ts", "message_not_found", "not_in_channel"})
"""Refusals that say nothing about other places."""


class Prompts:
    """The suggestions of a workspace: each opening of a conversation gets them once."""

    def __init__(self, web: AsyncWebClient, clock: Clock, people: People, *, possible: bool) -> None:
        """
        Args:
            possible: the app is declared an agent.
        """
        self._set = Counted(web.assistant_threads_setSuggestedPrompts, PROMPTS_WINDOW, clock)
        self._clock = clock
        self._people = people
        self._closed_until = float("-inf") if possible else float("inf")
        self._known: Newest[str, None] = Newest(_MOST_KNOWN)
        """The openings that have suggestions, by the ids of their events."""

    @staticmethod
    def is_opened(payload: Json) -> bool:
        """Return True if somebody opened a conversation with the agent."""
        event = payload.get("event")
        if payload.get("type") != "event_callback" or not isinstance(event, Mapping):
            return False
        # The second is the first of a newer kind of agent; it comes without a thread.
        home = event.get("type") == "app_home_opened" and event.get("tab") == "messages"
        return home or event.get("type") == "assistant_thread_started"

    async def suggest(self, payload: Json) -> None:
        """Set the suggestions of an opened conversation. If that fails, people can ask without them.

        A second call, after a former process was killed during the first, replaces the first suggestions.
        """
        opening = str(payload.get("event_id") or "")
        if self._clock.monotonic() < self._closed_until or opening in self._known:
            return
        try:
            channel, thread, person = _place(payload["event"])
            await self._people.settle({person}, 1)
            language = self._people.language(person)
            texts = [say(key, language) for key in SENTENCES]
            wanted: dict[str, Any] = {"prompts": [{"title": text, "message": text} for text in texts]}
            await self._set(channel_id=channel, **wanted | ({"thread_ts": thread} if thread else {}))
            self._known.put(opening, None)
        except Exception as error:  # noqa: BLE001 - they are only suggestions
            self._refused(error)

    def _refused(self, error: Exception) -> None:
        """Remember that the next call would be refused, too."""
        code = error_code(error)
        if code and code not in _OF_THE_PLACE and not isinstance(translate(error), RateLimited | Unclear):
            self._closed_until = self._clock.monotonic() + REMEMBERED_SECONDS
        log.info("slack: no questions are suggested (%s)", code or origin_of(error))


def _place(event: Json) -> tuple[str, str, str]:
    """Return the channel, the thread (empty: none yet) and the person of an opening.

    Raises:
        KeyError: it names no channel or no person.
    """
    place = event.get("assistant_thread") or event
    person = place["user_id"] if place is not event else place["user"]
    channel = place["channel_id"] if place is not event else place["channel"]
    return str(channel), str(place.get("thread_ts") or ""), str(person)
