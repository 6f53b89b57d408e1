"""The record of what a reply shows, from which the next process can continue."""

from __future__ import annotations

from bot.contract import File, MessageRef
from bot.reply.pages import ShownBefore
from bot.store import PageState, Store, StoredTurn


def files_before(stored: StoredTurn) -> list[File]:
    """The files that a turn made before a restart, numbered as the reply numbered them then."""
    pictures = [one for record in stored.passes for one in record.entry.pictures if one.content]
    made = [File(one.name, one.media_type, one.content) for one in pictures]
    made += [
        File(file.name, file.media_type, file.content)
        for record in stored.calls
        if record.result is not None
        for file in record.result.files
    ]
    numbers = {one.name: one.number for one in stored.attachments}
    return sorted(made, key=lambda file: numbers.get(file.name, len(numbers)))


class Recorded:
    """The page records of a reply, kept in the rows of its turn."""

    def __init__(self, store: Store, turn: int, scope: str, shown: dict[int, ShownBefore] | None = None) -> None:
        """
        Args:
            shown: learns what the reply shows before the store does, whose write may fail.
        """
        self._store = store
        self._turn = turn
        self._scope = scope
        self._shown = {} if shown is None else shown

    async def save_page(self, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        self._shown[number] = ShownBefore(ref, state, nonce)
        await self._store.turns.save_page(self._turn, number, body=body, ref=ref, state=state, nonce=nonce)

    async def save_file(self, number: int, file: File, *, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        kept = await self._store.files.put(self._scope, file.name, file.media_type, file.content)
        await self._store.files.save_attachment(self._turn, number, kept, ref=ref, state=state, nonce=nonce)


class Reshown(Recorded):
    """The record of an ended turn's reply that is shown again: its text is stored with the turn, not with its pages."""

    async def save_page(self, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        await super().save_page(number, body="", ref=ref, state=state, nonce=nonce)


class Unrecorded:
    """The record of a reply that nobody resumes."""

    async def save_page(self, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        return None

    async def save_file(self, number: int, file: File, *, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        return None
