"""Asking about a message: the shortcut in its menu, and the form for the question.

https://docs.slack.dev/interactivity/implementing-shortcuts#messages
https://docs.slack.dev/reference/methods/views.open
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from typing import Any, Final

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import error_code
from adapters.slack.events import Me, actor, response_data, seconds_of
from adapters.slack.files import enclosed_in
from adapters.slack.limits import RESPONSE_SECONDS
from adapters.slack.people import People
from adapters.slack.reading import Json, readable, shown_text
from bot.contract import LONGEST_TEXT, MOST_QUOTED, ChatId, MessageSent, Quoted, ReplyTarget, origin_of
from bot.sentences import say
from tools.contract.newest import Newest

log = logging.getLogger(__name__)

SHORTCUT: Final = "ask_about"
"""The callback id of the shortcut in the manifest, and of our form."""
_FIELD: Final = "question"
_MOST_OPEN: Final = 500
"""Forms whose whole message is kept in memory; the form of an older one contains its beginning."""
_MOST_METADATA: Final = 3_000
"""Characters that a form can store for us. https://docs.slack.dev/reference/views/modal-views"""
_MOST_CHARS: Final = 3_000
"""Characters of the form's text field.
https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""


class About:
    """The open forms, and the messages that they ask about."""

    def __init__(self, web: AsyncWebClient, me: Me, people: People) -> None:
        self._web = web
        self._me = me
        self._people = people
        self._messages: Newest[tuple[str, str], Quoted] = Newest(_MOST_OPEN)

    @staticmethod
    def is_chosen(payload: Json) -> bool:
        """Return True if somebody chose our shortcut."""
        return payload.get("type") == "message_action" and payload.get("callback_id") == SHORTCUT

    async def open(self, payload: Json, now: float) -> None:
        """Show the form; Slack allows three seconds for it. If this fails, nothing was asked yet."""
        try:
            message, channel = payload["message"], str(payload["channel"]["id"])
            quoted = self._quoted(message)
            self._messages.put((channel, quoted.message_id), quoted)
            kept = {
                "channel": channel,
                "thread": str(message.get("thread_ts") or quoted.message_id),
                "url": str(payload.get("response_url") or ""),
                "until": now + RESPONSE_SECONDS,
                "ts": quoted.message_id,
                "author": quoted.author[:200],
                "bot": quoted.from_bot,
            }
            language = self._people.language(str(payload["user"]["id"]))
            view = _form(_fitting(kept, quoted.text), language)
            await self._web.views_open(trigger_id=str(payload["trigger_id"]), view=view)
        except Exception as error:  # noqa: BLE001 - whatever it is, the person chooses it again
            why = error_code(error) or origin_of(error)
            log.warning("slack: the form for a question could not be shown: %s", why)

    def question(self, payload: Json, inside: Collection[str], now: float) -> MessageSent | None:
        """Read a submitted form; return None for anything else."""
        view = payload.get("view")
        if payload.get("type") != "view_submission" or not isinstance(view, Mapping):
            return None
        if view.get("callback_id") != SHORTCUT:
            return None
        kept, user = json.loads(str(view["private_metadata"])), payload["user"]
        channel, id = str(kept["channel"]), str(user["id"])
        written = view["state"]["values"][_FIELD][_FIELD].get("value") or ""
        text = readable(str(written)[:LONGEST_TEXT], self._me.user, self._people.name)
        thread, asked = str(kept["thread"]), str(kept["ts"])
        data = response_data(self._me, channel, thread, id, asked, kept["url"], float(kept["until"]))
        if channel not in inside:
            data["lasts"] = False
        cut = Quoted(
            text=str(kept["text"]), author=str(kept["author"]), from_bot=bool(kept["bot"]), message_id=str(kept["ts"])
        )
        return MessageSent(
            delivery=f"view:{view['id']}",
            chat=ChatId("slack", self._me.team, channel, thread),
            sender=actor(user, self._me, self._people.name),
            target=ReplyTarget("slack", data),
            sent_at=now,
            text=text or say("about_default", self._people.language(id)),
            group=not channel.startswith("D"),
            quoted=self._messages.get((channel, cut.message_id), cut),
            quote_question=True,
        )

    def _quoted(self, message: Json) -> Quoted:
        """Return the message as a reader of a quote sees it."""
        user, ts = str(message.get("user") or ""), str(message.get("ts") or "")
        text = readable(shown_text(message, 2 * MOST_QUOTED, own=self._me.user), self._me.user, self._people.name)
        return Quoted(
            text=text[: MOST_QUOTED + 1],
            author=str(message.get("username") or "") or self._people.name(user),
            from_bot=user == self._me.user,
            message_id=ts,
            sent_at=seconds_of(ts),
            enclosed=enclosed_in(message),
        )


def _fitting(kept: Mapping[str, object], text: str) -> str:
    """Return the data that a form stores for us, with as much of the text as fits."""
    most = len(text)
    while len(written := json.dumps({**kept, "text": text[:most]}, ensure_ascii=False)) > _MOST_METADATA and most:
        most //= 2
    return written


def _form(metadata: str, language: str) -> dict[str, Any]:
    def plain(key: str) -> dict[str, Any]:
        return {"type": "plain_text", "text": say(key, language)}

    field = {"type": "plain_text_input", "action_id": _FIELD, "multiline": True, "max_length": _MOST_CHARS}
    label, hint = plain("about_question"), plain("about_default")
    block = {"type": "input", "block_id": _FIELD, "optional": True, "label": label}
    return {
        "type": "modal",
        "callback_id": SHORTCUT,
        "title": plain("about_menu"),
        "submit": plain("about_send"),
        "private_metadata": metadata,
        "blocks": [block | {"element": field | {"placeholder": hint}}],
    }
