"""Which answers are spoken, how that ends, and what people are told of it; `/voice` speaks one that stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from bot.contract import AssistantEntry, Surface, Usage
from bot.policy import Once, OncePer
from bot.reply import Notices, Replies, ReplyStream
from bot.safety import LinkPolicy
from bot.sentences import say
from bot.store import Store, StoredTurn, TurnState
from bot.turn.draft import Draft
from bot.turn.lookup import Known
from bot.turn.narration import Narration, Narrator
from bot.turn.run import Ending, Run, uncancel

VOICE: Final = "voice"
"""The command that speaks an answer."""
_ENTRIES: Final = 60
"""Entries of the history among which the answer is looked for; a turn has few more."""
AGAIN_AFTER: Final = 3_600.0
"""Seconds in which a chat is told once that it hears nothing."""


class Narrations:
    """Speaks answers; one object for the process."""

    def __init__(self, store: Store, narrator: Narrator, replies: Replies, notices: Notices, once: Once) -> None:
        self._store = store
        self._narrator = narrator
        self._replies = replies
        self._notices = notices
        self._once = once

    def begin(self, run: Run, known: Known, reply: ReplyStream, policy: LinkPolicy) -> Narration | None:
        """Return what speaks an answer that is about to be made; None where its chat does not want that."""
        if not known.options.voice or not self._narrator.ready or run.question.target.private:
            return None
        surface = reply.surface
        posts = self._replies.voice(surface, run.question.chat, known.before, reply)
        filters = self._replies.filter_for(policy)
        return Narration(self._narrator, posts, filters, surface.limits.sound, run.language, f"turn t{run.turn}")

    @asynccontextmanager
    async def beside(self, draft: Draft) -> AsyncIterator[None]:
        """Speak an answer while it is made and shown inside the block, and no longer."""
        try:
            yield
        finally:
            if draft.voice is not None:
                await draft.voice.close()

    async def read_aloud(self, run: Run, surface: Surface) -> None:
        """Speak the answer that a command replies to, or the newest, and close its turn.

        Raises:
            StoreError: the store does not work now.
        """
        before = await self._store.turns.load(run.turn)
        if problem := await self._read_aloud(run, before, surface) if self._narrator.ready else "voice_unset":
            command = surface.limits.command_form.format(word=f"{VOICE} on")
            await self._notices.tell(
                run.question, say(problem, run.language, command=command), turn=f"t{run.turn}-said"
            )
        await self._store.turns.close(run.turn, TurnState.DONE, (), visible="", reasoning="", model="", usage=Usage())

    async def _read_aloud(self, run: Run, before: StoredTurn, surface: Surface) -> str:
        """Return why nothing is spoken, as a key of `bot.sentences`; empty where it is."""
        chat = run.question.chat
        _, rows = await self._store.history.load(chat, turn=run.turn, limit=_ENTRIES)
        words = [row.entry.text for row in rows if row.turn == rows[-1].turn and isinstance(row.entry, AssistantEntry)]
        posts, filters = self._replies.voice(surface, chat, before), self._replies.filter_for(LinkPolicy())
        where = f"turn t{run.turn}"
        voice = Narration(self._narrator, posts, filters, surface.limits.sound, run.language, where, whole=True)
        try:
            voice.say("\n\n".join(words))
            voice.end()
            return await _wait(voice, run) or ("" if voice.spoken else "voice_nothing")
        finally:
            await voice.close()

    async def complete(self, draft: Draft) -> None:
        """Wait until an answer that stands is spoken, unless somebody stops that, and say once where it is not.

        Raises:
            StoreError: the store does not work now.
        """
        voice, run = draft.voice, draft.run
        if voice is None or not draft.reply.visible:
            return
        problem = await _wait(voice, run)
        if problem and await self._once.claim(OncePer(f"{problem} in {run.question.chat}", AGAIN_AFTER)):
            await self._notices.tell(run.question, say(problem, run.language), turn=f"t{run.turn}-voice")


async def _wait(voice: Narration, run: Run) -> str:
    """Wait until all is posted, or somebody stops that; return why it is not posted, as a key of `bot.sentences`."""
    run.speaks()
    try:
        return await voice.wait()
    except asyncio.CancelledError:
        if run.ending() is not Ending.STOPPED:
            raise
        uncancel()  # the text is complete
        return ""
