"""An adapter that listens, and what it told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.contract import Adapter, Incoming, MessageSent
from parley_chat.contract import waiting
from parley_chat.contract.scene import Scene, until


class Ear:
    """An adapter that listens, and what it heard."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.heard: asyncio.Queue[Incoming] = asyncio.Queue()
        self._known: set[str] = set()

    async def next(self) -> Incoming:
        """What is told next; what is told twice, as a mention in a channel of Slack, has a key in common."""
        async with asyncio.timeout(waiting.seconds):
            while (told := await self.heard.get()) and not self._known.isdisjoint({told.delivery, *told.also}):
                pass
        self._known |= {told.delivery, *told.also}
        return told

    async def asked(self, scene: Scene, text: str) -> MessageSent:
        """What is told of a question, as Ada writes it."""
        id = scene.say(text)
        sent = await self.next()
        assert isinstance(sent, MessageSent) and (sent.message_id, sent.text) == (id, text)
        return sent


@asynccontextmanager
async def listening(scene: Scene) -> AsyncIterator[Ear]:
    ear = Ear(await scene.enter())
    task = asyncio.create_task(ear.adapter.listen(ear.heard.put))
    try:
        await until(lambda: ear.adapter.listening)
        yield ear
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
