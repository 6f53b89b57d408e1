"""One reply in a room or in a thread of it."""

from __future__ import annotations

import contextlib
from typing import TypeAlias
from uuid import uuid4

import parley_chat.adapter as parley

from .api import Api, Json, at, text_of, within
from .drawing import LONGEST, PAGE, Drawing, draw, length

Ref: TypeAlias = parley.MessageRef | None
TYPING = parley.RateBudget("matrix:typing", rate=10, burst=100)


class MatrixSurface:
    """Posts, once for each nonce, and edits by `m.replace`."""

    def __init__(self, api: Api, target: parley.ReplyTarget, budget: parley.RateBudget) -> None:
        self._api, self._budget = api, budget
        self._room, self._thread, self._asked = (str(target.data.get(one) or "") for one in ("room", "thread", "asked"))
        how = {"attachment_bytes": api.most, "typing_seconds": 20, "typing_stays": True, "command_form": "!{word}"}
        self.limits = parley.SurfaceLimits(page_length=PAGE, hard_length=LONGEST, measure=length, **how)

    def draw(self, page: parley.Page) -> parley.Drawn:
        return draw(page)

    def cost(self, drawn: parley.Drawn | None, ref: Ref) -> parley.CallCost:
        return parley.CallCost((TYPING if drawn is None else self._budget,))

    async def show(self, drawn: parley.Drawn, ref: Ref, nonce: str = "") -> parley.MessageRef:
        assert isinstance(drawn, Drawing)
        content = drawn.content()
        if ref is None:
            return await self._post(content, nonce)
        if await self._is_gone(ref.id):  # Matrix takes an edit of it, too, and shows it to nobody
            raise parley.MessageGone("the message is deleted")
        relation = {"rel_type": "m.replace", "event_id": ref.id}
        await self._api.send(self._room, {**content, "m.new_content": content, "m.relates_to": relation}, uuid4().hex)
        return ref

    async def attach(self, file: parley.File, after: Ref, nonce: str = "") -> parley.MessageRef:
        if (over := len(file.content) - self._api.most) > 0:
            raise parley.TooLong("the homeserver takes no file of this size", by=over)
        how = {"data": file.content, "headers": {"Content-Type": file.media_type}, "params": {"filename": file.name}}
        url = text_of(await self._api.call("POST", "/media/v3/upload", **how), "content_uri")
        family = file.media_type.partition("/")[0]
        info: Json = {"mimetype": file.media_type, "size": len(file.content), "duration": round(file.spoken * 1000)}
        voice: Json = {"org.matrix.msc3245.voice": {}} if file.spoken else {}
        kind = f"m.{family}" if family in ("image", "audio", "video") else "m.file"
        named = {"msgtype": kind, "body": file.name, "filename": file.name, "m.mentions": {}}
        return await self._post({**named, "url": url, "info": info, **voice}, nonce)

    async def remove(self, ref: parley.MessageRef) -> None:
        with contextlib.suppress(parley.MessageGone):
            await self._api.call("PUT", at(self._room, "redact", ref.id, uuid4().hex), {})

    async def typing(self, words: str) -> None:
        body: Json = {"typing": bool(words), **({"timeout": 30_000} if words else {})}
        try:
            await self._api.call("PUT", at(self._room, "typing", self._api.user), body)
        except parley.RateLimited:
            raise
        except parley.DeliveryError:
            return

    def receipt_cost(self, waits: bool) -> parley.CallCost | None:
        return None

    async def receipt(self, message_id: str, waits: bool) -> None:
        return None

    async def find(self, nonce: str) -> Ref:
        return None

    async def _post(self, content: Json, nonce: str) -> parley.MessageRef:
        reply: Json = {"m.in_reply_to": {"event_id": self._asked or self._thread}}
        thread = {"rel_type": "m.thread", "event_id": self._thread, "is_falling_back": True} if self._thread else {}
        content = {**content, "m.relates_to": {**reply, **thread}} if self._asked or thread else content
        transaction = nonce or uuid4().hex
        while await self._is_gone(event := await self._api.send(self._room, content, transaction)):
            transaction += "~"  # what was posted under it is deleted
        return parley.MessageRef(event)

    async def _is_gone(self, event: str) -> bool:
        return "redacted_because" in within(await self._api.event(self._room, event), "unsigned")
