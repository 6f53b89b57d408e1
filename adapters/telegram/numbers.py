"""The numbers of messages, by which a post is found whose answer was lost.

Telegram has no method that looks for a message of the bot's own. But it numbers messages one after another, and refuses
an edit that changes nothing, so that the same content put once more into a message tells whether it is that one. A
supergroup or channel has numbers of its own, all other chats of a bot have them together.
https://core.telegram.org/api/updates#message-related-event-sequences
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count, islice
from typing import Any, Final

from tools.contract.newest import Newest

_APART: Final = -1_000_000_000_000
"""Supergroups and channels have ids from here downwards."""
_KEPT: Final = 4_000
"""Messages that are remembered."""
_LOST: Final = 100
_TRIED: Final = 8
"""Unknown numbers that are tried: so many messages may have come to the bot's chats while the post was on its way."""


class Numbers:
    """The messages that one process has seen."""

    def __init__(self) -> None:
        self._known: Newest[tuple[int, int], None] = Newest(_KEPT)
        self._newest: dict[int, int] = {}
        self._under_way: dict[int, set[asyncio.Event]] = {}
        self.lost: Newest[tuple[int, str], tuple[int, Mapping[str, Any]]] = Newest(_LOST)
        """By chat and nonce: posts whose answer was lost, with the newest number before and the content. The next
        turn that continues in the message looks for it, too."""

    def note(self, message: object) -> None:
        """Remember a message of the Bot API, somebody's or the bot's own; anything else is ignored."""
        if not isinstance(message, dict) or not isinstance(number := message.get("message_id"), int):
            return
        chat = message.get("chat")
        if not isinstance(chat, dict) or not isinstance(chat.get("id"), int):
            return
        row = _row(chat["id"])
        self._newest[row] = max(number, self._newest.get(row, 0))
        self._known.put((row, number), None)

    def newest(self, chat: int) -> int:
        """Return the highest number known where `chat` is numbered; 0 if none is."""
        return self._newest.get(_row(chat), 0)

    @contextmanager
    def posting(self, chat: int) -> Iterator[None]:
        """While a message is posted to `chat`: nobody knows its number yet."""
        done = asyncio.Event()
        posts = self._under_way.setdefault(chat, set())
        posts.add(done)
        try:
            yield
        finally:
            done.set()
            posts.discard(done)
            if not posts:
                self._under_way.pop(chat, None)

    async def find_unknown(self, chat: int, above: int) -> list[int]:
        """Return the numbers above one that nobody was seen to have, once no other post to `chat` is under way."""
        while posts := self._under_way.get(chat):
            await next(iter(posts)).wait()
        row = _row(chat)
        return list(islice((one for one in count(above + 1) if (row, one) not in self._known), _TRIED)) if above else []


def _row(chat: int) -> int:
    return chat if chat < _APART else 0
