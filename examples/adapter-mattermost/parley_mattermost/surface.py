"""Show a reply as posts of a channel or thread, which are edited in place.

Lengths, limits and buttons: https://docs.mattermost.com/administration-guide/configure/ (`RateLimitSettings`), and
https://developers.mattermost.com/integrate/plugins/interactive-messages. A post with attachments, even none, has no
preview of its links: `getEmbedForPost` in the server's `post_metadata.go`.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

import parley_chat.adapter as parley
from parley_mattermost.api import Api
from parley_mattermost.markup import Mattermost

LIMITS: Final = parley.SurfaceLimits(
    page_length=15_000, hard_length=16_383, measure=len, attachment_bytes=50 * 1024 * 1024, typing_seconds=4.0
)
"""`attachment_bytes`: servers accept 100 MB; this is what arrives within the time of a call."""
_PER_SECOND, _BURST = 9.0, 60
"""Servers that limit allow 10 calls a second of an account, and 100 at once, unless they are told otherwise. The rest
is for files that people send, and for the kinds of channels."""


@dataclass(frozen=True, slots=True)
class DrawnMarkdown(parley.Drawn):
    text: str
    buttons: tuple[parley.Button, ...] = ()


def proof(key: str, *parts: str) -> str:
    """What only we can have written into a button: Mattermost does not sign what it posts."""
    return hmac.new(key.encode(), "/".join(parts).encode(), hashlib.sha256).hexdigest()


class MattermostSurface:
    def __init__(
        self, api: Api, me: str, target: parley.ReplyTarget, limits: parley.SurfaceLimits, actions: str, key: str
    ) -> None:
        self._api, self._me, self.limits, self._actions, self._key = api, me, limits, actions, key
        self._channel, self._root = str(target.data["channel"]), str(target.data.get("root") or "")
        budget = parley.RateBudget(f"mattermost:{me}", rate=_PER_SECOND, burst=_BURST, shared=True)
        self._edit_cost = parley.CallCost((budget,))
        self._post_cost = parley.CallCost((budget,), repeats_safely=False, found_again=True)

    def draw(self, page: parley.Page) -> DrawnMarkdown:
        write = Mattermost()
        parsed = parley.parse_markdown(page.body, final=page.final)
        body = write.text(page.body) if page.plain else write.document(parsed)
        status = [f"_{write.text(' '.join(one.text.split()))}_" for one in page.status]
        text = "\n\n".join(part for part in (body.strip() or write.text(page.body).strip(), *status) if part)
        if not text:
            raise parley.Unrenderable("the page is empty")
        if len(text) > LIMITS.hard_length:
            raise parley.TooLong(f"a page has {len(text)} characters", by=len(text) - LIMITS.hard_length)
        return DrawnMarkdown(text, page.buttons)

    def cost(self, drawn: parley.Drawn | None, at: parley.MessageRef | None) -> parley.CallCost:
        return self._post_cost if drawn is not None and at is None else self._edit_cost

    async def show(self, drawn: parley.Drawn, at: parley.MessageRef | None, nonce: str = "") -> parley.MessageRef:
        assert isinstance(drawn, DrawnMarkdown)
        attachments = [{"actions": [*map(self._action, drawn.buttons)]}] if drawn.buttons and self._actions else []
        content = {"message": drawn.text, "props": {"attachments": attachments, "parley": _hidden(nonce)}}
        if at is None:
            return await self._post(content)
        await self._api.patch(at.id, content)
        return parley.MessageRef(at.id)

    async def attach(self, file: parley.File, after: parley.MessageRef | None, nonce: str = "") -> parley.MessageRef:
        if (over := len(file.content) - self.limits.attachment_bytes) > 0:
            raise parley.TooLong(f"{file.name!r} is too large", by=over)
        form = aiohttp.FormData({"channel_id": self._channel})
        form.add_field("files", file.content, filename=file.name, content_type=file.media_type)
        match await self._api.call("POST", "/files", data=form):
            case {"file_infos": [{"id": str(id)}, *_]}:
                return await self._post({"message": "", "file_ids": [id], "props": {"parley": _hidden(nonce)}})
        raise parley.Unclear("Mattermost's answer has no file")

    async def remove(self, at: parley.MessageRef) -> None:
        with contextlib.suppress(parley.MessageGone):
            await self._api.call("DELETE", f"/posts/{at.id}")

    async def typing(self, words: str) -> None:
        try:
            await self._api.call("POST", "/users/me/typing", {"channel_id": self._channel, "parent_id": self._root})
        except parley.DeliveryError as error:
            if isinstance(error, parley.RateLimited):
                raise  # all else is ignored: it is only a sign

    def receipt_cost(self, waits: bool) -> None:
        """Mattermost has no sign for this but reactions, which others take for an answer."""

    async def receipt(self, message_id: str, waits: bool) -> None:
        return None

    async def find(self, nonce: str) -> parley.MessageRef | None:
        listed = (await self._api.call("GET", f"/channels/{self._channel}/posts", params={"per_page": "100"})).get(
            "posts"
        )
        for post in listed.values() if isinstance(listed, dict) else ():
            if post.get("user_id") == self._me and post.get("props", {}).get("parley") == _hidden(nonce):
                return parley.MessageRef(str(post["id"]))
        return None

    async def _post(self, content: dict[str, Any]) -> parley.MessageRef:
        post = {"channel_id": self._channel, "root_id": self._root, **content}
        return parley.MessageRef(await self._api.call_for_id("POST", "/posts", post))

    def _action(self, button: parley.Button) -> dict[str, Any]:
        context = {"button": button.data, "root": self._root}
        context["proof"] = proof(self._key, self._channel, self._root, button.data)
        integration = {"url": self._actions, "context": context}
        return {"id": button.control.value, "type": "button", "name": button.label, "integration": integration}


def _hidden(nonce: str) -> str:
    return hashlib.blake2b(nonce.encode(), digest_size=12).hexdigest() if nonce else ""
