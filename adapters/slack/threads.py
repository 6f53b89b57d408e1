"""Read what people wrote in a Slack thread before a question."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import error_code, translate
from adapters.slack.events import Me, people_named, seconds_of
from adapters.slack.limits import REPLIES_WINDOW
from adapters.slack.people import People
from adapters.slack.reading import readable, shown_text
from bot.contract import MOST_QUOTED, CallCost, Clock, DeliveryError, MessageSent, Quoted, RateBudget, words

PAGE: Final = 200
REMEMBERED_SECONDS: Final = 600.0
"""How long a scope counts as missing: a reinstalled app may keep its token."""
MOST_NAMES: Final = 20
"""People of one page whose names are looked up; the others are shown by id."""
MOST_READ: Final = 2 * MOST_QUOTED
"""Characters of a message that are examined: Slack's notation is longer than the visible text."""
_WORDLESS: Final = frozenset({"channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name"})
"""Notices of the service itself."""


class MissingScopes:
    """The missing scopes that Slack has reported, so that it is not asked again at each question."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[str, float]] = {}

    def check(self, channel: str) -> None:
        """
        Raises:
            DeliveryError: conversations of this kind need a scope that was recently found missing.
        """
        scope, since = self._known.get(channel[:1], ("", 0.0))
        if scope and self._clock.monotonic() - since < REMEMBERED_SECONDS:
            raise _without(scope)

    def note(self, channel: str, scope: str) -> DeliveryError:
        """Remember that conversations of the channel's kind need this scope, and return the sentence about it."""
        self._known[channel[:1]] = scope, self._clock.monotonic()
        return _without(scope)


def _without(scope: str) -> DeliveryError:
    return DeliveryError(f"the scope {scope} is missing; add it under OAuth & Permissions and install the app again")


@dataclass(eq=False, repr=False, kw_only=True)
class SlackThread:
    """Reads the thread of one message, up to that message."""

    web: AsyncWebClient
    me: Me
    people: People
    missing: MissingScopes
    message: MessageSent

    def __post_init__(self) -> None:
        self._scope = f"slack:{self.me.team}/conversations.replies"
        self.cost = CallCost((RateBudget(self._scope, windows=(REPLIES_WINDOW,)),))

    async def page(self, since: float, cursor: str) -> tuple[Sequence[Quoted], str]:
        chat = self.message.chat
        self.missing.check(chat.chat)
        wanted: dict[str, Any] = {"channel": chat.chat, "ts": chat.thread, "limit": PAGE}
        wanted["latest"] = self.message.message_id
        if since:
            wanted["oldest"] = f"{since:.6f}"
        if cursor:
            wanted["cursor"] = cursor
        try:
            answer = await self.web.conversations_replies(**wanted)
        except Exception as error:
            if error_code(error) == "missing_scope":
                needed = getattr(getattr(error, "response", None), "data", {}).get("needed") or "channels:history"
                raise self.missing.note(chat.chat, needed) from error
            raise translate(error, self._scope) from error
        messages = [_beginning(one, self.me.user) for one in answer.get("messages") or () if isinstance(one, Mapping)]
        await self.people.settle(self._named(messages), MOST_NAMES)
        quoted: list[Quoted | None] = []
        for one in messages:
            if str(one.get("subtype") or "") not in _WORDLESS:
                quoted.append(self._quoted(one))
                await asyncio.sleep(0)  # full of Slack's notation, one message takes a few milliseconds
        following = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
        # Slack always includes the root.
        return [one for one in quoted if one is not None and one.sent_at > since], following

    def _named(self, messages: Sequence[Mapping[str, Any]]) -> set[str]:
        return {id for one in messages for id in people_named(one)} - {self.me.user}

    def _quoted(self, message: Mapping[str, Any]) -> Quoted | None:
        """Return one message as a quote; None for a command to the bot."""
        user = str(message.get("user") or "")
        written = str(message["text"])
        text = readable(written, self.me.user, self.people.name)[: MOST_QUOTED + 1]
        if f"<@{self.me.user}" in written and (words.bare(text, certain=True) or ("",))[0]:
            return None
        profile = message.get("user_profile") or message.get("bot_profile") or {}
        told = str(profile.get("display_name") or profile.get("real_name") or profile.get("name") or "")
        return Quoted(
            text=text,
            author=str(message.get("username") or "") or told or self.people.name(user),
            from_bot=user == self.me.user,
            message_id=str(message.get("ts") or ""),
            sent_at=seconds_of(message.get("ts")),
        )


def _beginning(message: Mapping[str, Any], own: str) -> dict[str, Any]:
    """Shorten a message to the text that can be quoted: two hundred arrive at once."""
    text = shown_text(message, MOST_READ + 1, own=own)
    shown = text if len(text) <= MOST_READ else f"{text[:MOST_READ]}…"
    return {**message, "text": shown, "attachments": (), "blocks": ()}
