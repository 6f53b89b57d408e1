"""Post the voice messages of one reply beside its text, each once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
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


@dataclass(eq=False, repr=False)
class VoicePosts:
    """Posts the voice messages of one reply."""

    attachments: Attachments
    before: tuple[AttachmentRecord, ...]
    """What earlier processes posted of the reply."""
    standing: Callable[[], Awaitable[MessageRef | None]]
    """Returns the last message of its text, once there is one."""

    def __post_init__(self) -> None:
        self._begun = {file.number - NUMBERS for file in self.before if file.state != PageState.GONE}

    def begun(self, number: int) -> bool:
        """Return True if an earlier process posted this one, or may have: it is not posted again."""
        return number in self._begun

    async def post(self, number: int, file: File) -> str:
        """Post one when the text is on screen; return why the platform refused it, a key of `bot.sentences`.

        Raises:
            Closed: the platform accepts nothing for a long time.
            StoreError: the store fails now.
        """
        after = await self.standing()
        undelivered = self.attachments.undelivered
        await self.attachments.post_one(number + NUMBERS, file, after)
        return undelivered[-1][1] if undelivered else ""
