"""A chat that has another id: what is kept of it goes along before anything that follows there is stored."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bot.contract import ChatMoved, MessageDeleted, MessageEdited, Sender
from playground.model import Reply
from tests.bot.conftest import OpenRig


async def test_what_is_kept_of_a_chat_goes_along_however_often_and_when_it_is_told(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply("Noted.")
        sent = it.message("my cat is Tom", message_id="5", group=True)
        await it.deliver(sent)
        await it.idle()
        new = replace(sent.chat, chat="-100777")
        moved = ChatMoved(delivery="m1", chat=new, sender=Sender(id=""), target=sent.target, former=sent.chat)
        after = replace(sent, chat=new, delivery="d9", message_id="9", text="who is Tom?")

        await asyncio.gather(*(it.deliver(one) for one in (moved, replace(moved, delivery="m2"), after)))
        await it.idle()

        assert "my cat is Tom" in str(it.model.requests[-1].body["messages"])
        assert await it.bot.store.turns.find_last(sent.chat) is None


async def test_a_change_of_what_nobody_asked_is_none(rig: OpenRig) -> None:
    async with rig() as it:
        sent = it.message("never taken in", message_id="77")
        here = {"chat": sent.chat, "target": sent.target, "message_id": "77"}

        await it.deliver(MessageEdited(delivery="e1", sender=sent.sender, text="anew", **here))  # type: ignore[arg-type]
        await it.deliver(MessageDeleted(delivery="x1", sender=Sender(id=""), **here))  # type: ignore[arg-type]
        await it.idle()

        assert it.model.requests == []
