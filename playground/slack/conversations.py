"""auth, apps, conversations, users and reactions: what a bot asks about the workspace."""

from __future__ import annotations

from collections.abc import Mapping

from playground.slack.arguments import Arguments
from playground.slack.errors import Json, Refused, missing
from playground.slack.workspace import Channel, Message, Workspace

_KINDS: Mapping[str, str] = {
    "public_channel": "channels:read",
    "private_channel": "groups:read",
    "im": "im:read",
    "mpim": "mpim:read",
}
"""The scope without which places of a kind are not listed."""


class ConversationMethods:
    """Reading places, people and past messages; reacting to them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def auth_test(self, sent: Arguments) -> Json:
        w = self._workspace
        body = {"url": f"{w.base}/", "team": w.team_name, "user": w.bot_name, "team_id": w.team_id}
        return body | {"user_id": w.bot_user_id, "bot_id": w.bot_id, "is_enterprise_install": False}

    def user_info(self, sent: Arguments) -> Json:
        person = self._workspace.person(sent.required("user"))
        profile = {"real_name": person.name, "display_name": person.name}
        body: Json = {"id": person.id, "team_id": self._workspace.team_id, "name": person.name, "profile": profile}
        if sent.flag("include_locale", False):
            body["locale"] = person.locale
        return {"user": body | {"real_name": person.name, "is_bot": person.is_bot, "deleted": False, "tz": "Etc/UTC"}}

    def conversations(self, sent: Arguments) -> Json:
        """users.conversations: the places that the bot is in, of the kinds that are asked for."""
        kinds = {kind.strip() for kind in (sent.text("types") or "public_channel").split(",")}
        if needed := sorted(_KINDS[kind] for kind in kinds if _KINDS[kind] not in self._workspace.scopes):
            raise Refused("missing_scope", needed=needed[0], provided=",".join(sorted(self._workspace.scopes)))
        places = self._workspace.channels.values()
        found = [one for one in places if one.member and not one.archived and _kind_of(one) in kinds]
        start, limit = self._cursor(sent), sent.whole("limit", 100)
        page: list[Json] = [
            {"id": one.id, "name": one.name, "is_im": _kind_of(one) == "im"} for one in found[start : start + limit]
        ]
        return {"channels": page} | self._next(start + limit, len(found))

    def history(self, sent: Arguments) -> Json:
        """conversations.history: newest first, without replies."""
        channel = self._workspace.channel(sent.text("channel"), inside=True)
        found = [m for m in self._workspace.lasting(channel.id) if not m.thread_ts]
        return self._page(sent, found[::-1])

    def replies(self, sent: Arguments) -> Json:
        """conversations.replies: a root and its replies, oldest first; the root whatever `oldest` says."""
        channel = self._workspace.channel(sent.text("channel"), inside=True)
        ts = sent.text("ts")
        if not ts:
            raise missing("ts")
        found = self._workspace.thread(channel.id, ts)
        if not found:
            raise Refused("thread_not_found")
        return self._page(sent, found, root=found[0])

    def react(self, sent: Arguments) -> Json:
        message, name, users = self._reaction(sent)
        if self._workspace.bot_user_id in users:
            raise Refused("already_reacted")
        message.reactions[name] = [*users, self._workspace.bot_user_id]
        self._workspace.screen.notice(message.channel, f"reaction::{name}:")
        self._workspace.show_again(message)
        return {}

    def unreact(self, sent: Arguments) -> Json:
        message, name, users = self._reaction(sent)
        if self._workspace.bot_user_id not in users:
            raise Refused("no_reaction")
        users.remove(self._workspace.bot_user_id)
        if not users:
            del message.reactions[name]
        self._workspace.screen.notice(message.channel, f"reaction removed::{name}:")
        self._workspace.show_again(message)
        return {}

    def _reaction(self, sent: Arguments) -> tuple[Message, str, list[str]]:
        name = sent.text("name").strip(":")
        if not name or not name.replace("_", "").replace("-", "").replace("+", "").replace(":", "").isalnum():
            raise Refused("invalid_name")
        if not sent.text("channel") or not sent.text("timestamp"):
            raise Refused("no_item_specified")
        channel = self._workspace.channel(sent.text("channel"))
        message = self._workspace.message(channel.id, sent.text("timestamp"))
        return message, name, message.reactions.get(name, [])

    def _page(self, sent: Arguments, found: list[Message], root: Message | None = None) -> Json:
        oldest, latest, inclusive = sent.text("oldest"), sent.text("latest"), sent.flag("inclusive", False)
        for stamp in (oldest, latest):
            if stamp and not stamp.replace(".", "", 1).isdigit():
                raise Refused("invalid_ts_oldest" if stamp == oldest else "invalid_ts_latest")
        if oldest:
            found = [m for m in found if m is root or float(m.ts) > float(oldest) or (inclusive and m.ts == oldest)]
        if latest:
            found = [m for m in found if float(m.ts) < float(latest) or (inclusive and m.ts == latest)]
        start, limit = self._cursor(sent), sent.whole("limit", 100)
        if not 1 <= limit <= 1_000:
            raise Refused("invalid_limit")
        metadata = sent.flag("include_all_metadata", False)
        page = [self._workspace.travel(m, metadata=metadata) for m in found[start : start + limit]]
        more = len(found) > start + limit
        return {"messages": page, "has_more": more} | self._next(start + limit, len(found))

    def _cursor(self, sent: Arguments) -> int:
        cursor = sent.text("cursor")
        if cursor and not cursor.removeprefix("next:").isdigit():
            raise Refused("invalid_cursor")
        return int(cursor.removeprefix("next:")) if cursor else 0

    def _next(self, end: int, count: int) -> Json:
        return {"response_metadata": {"next_cursor": f"next:{end}" if end < count else ""}}


def _kind_of(place: Channel) -> str:
    if place.several:
        return "mpim"
    return {"D": "im", "G": "private_channel"}.get(place.id[:1], "public_channel")
