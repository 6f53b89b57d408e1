"""Post the voice messages of one reply beside its text, each once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from bot.contract import File, MessageRef
from bot.reply.attachments import Attachments
from bot.reply.record import Recorded
from bot.store import AttachmentRecord, PageState

NUMBERS: Final = 1_000
"""Voice messages are numbered from here on, after the files of their reply."""


class RecordedVoice(Recorded):
    """The record of voice messages: their messages are stored, their speech is not."""

    async def save_file(self, number: int, file: File, *, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        await super().save_file(number, replace(file, content=b""), ref=ref, state=state, nonce=nonce)


class VoicePosts:
    """Posts the voice messages of one reply."""

    def __init__(
        self,
        attachments: Attachments,
        before: tuple[AttachmentRecord, ...],
        standing: Callable[[], Awaitable[MessageRef | None]],
    ) -> None:
        """
        Args:
            before: what earlier processes posted of the reply.
            standing: returns the last message of its text, once there is one.
        """
        self._attachments = attachments
        self._begun = {file.number - NUMBERS for file in before if file.state != PageState.GONE}
        self._standing = standing

    def begun(self, number: int) -> bool:
        """Return True if an earlier process posted this one, or may have: it is not posted again."""
        return number in self._begun

    async def post(self, number: int, file: File) -> str:
        """Post one when the text is on screen; return why the platform refused it, a key of `bot.sentences`.

        Raises:
            Closed: the platform accepts nothing for a long time.
            StoreError: the store fails now.
        """
        after = await self._standing()
        undelivered = self._attachments.undelivered
        await self._attachments.post_one(number + NUMBERS, file, after)
        return undelivered[-1][1] if undelivered else ""
