"""`parley run` on a platform of the bench: without limits, network or screen, so that nothing but the bot is measured.

A question is a line of standard input (`[chat, text]` as JSON), an answer a line of standard output (`[chat, text]`, as
soon as it is whole; both are empty once questions are taken in).
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import uuid

import adapters
from adapters.console.adapter import ConsoleAdapter, ConsoleSurface
from adapters.console.ids import IDS
from adapters.console.terminal import DrawnText, lines_of
from adapters.settings import ConsoleSettings
from bot.contract import ChatId, Deliver, Drawn, MessageRef, MessageSent, ReplyTarget, Sender, Surface
from bot.settings.configuration import configure

PLATFORM = "bench"


class _Surface(ConsoleSurface):
    """A chat of the bench."""

    def __init__(self, chat: str) -> None:
        self._chat = chat

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, DrawnText)
        if drawn.final:
            print(json.dumps([self._chat, drawn.body]), flush=True)
        return at or MessageRef(uuid.uuid4().hex)


class _Adapter(ConsoleAdapter):
    """Receives what the bench asks this process."""

    platform = PLATFORM

    def surface(self, target: ReplyTarget) -> Surface:
        return _Surface(str(target.data["chat"]))

    async def listen(self, deliver: Deliver) -> None:
        lines = lines_of(sys.stdin.fileno())
        print(json.dumps(["", ""]), flush=True)
        delivered = set[asyncio.Task[None]]()
        while (line := await lines.get()) is not None:
            chat, text = json.loads(line)
            delivering = asyncio.ensure_future(deliver(_message(chat, text)))
            delivered.add(delivering)
            delivering.add_done_callback(delivered.discard)
        await asyncio.Event().wait()


def _message(chat: str, text: str) -> MessageSent:
    id = uuid.uuid4().hex
    return MessageSent(
        delivery=id,
        chat=ChatId(PLATFORM, "", chat),
        sender=Sender(id=f"{PLATFORM}:{chat}", name=f"Person {chat}"),
        target=ReplyTarget(PLATFORM, {"chat": chat}),
        text=text,
        message_id=id,
    )


def open_adapter(settings: ConsoleSettings) -> _Adapter:
    """Return the adapter of this process."""
    return _Adapter()


def main() -> None:
    """Run until asked to end."""
    from bot.cli.run import run
    from bot.operations import Outlet

    logging.basicConfig(level=logging.WARNING)
    adapters.PLATFORMS[PLATFORM] = adapters.Platform("bench.member", ConsoleSettings, IDS)
    asyncio.run(run(configure(), [PLATFORM], Outlet()))


if __name__ == "__main__":
    main()
