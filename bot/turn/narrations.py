"""Which answers are spoken, how that ends, and what people are told of it; `/voice` speaks one that stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from bot.policy import Once, OncePer
from bot.reply import Notices, Replies, ReplyStream
from bot.safety import LinkPolicy
from bot.sentences import say
from bot.turn.draft import Draft
from bot.turn.lookup import Known
from bot.turn.narration import Narration, Narrator
from bot.turn.run import Ending, Run, uncancel

AGAIN_AFTER: Final = 3_600.0
"""Seconds in which a chat is told once that it hears nothing."""


class Narrations:
    """Speaks answers; one object for the process."""

    def __init__(self, narrator: Narrator, replies: Replies, notices: Notices, once: Once) -> None:
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

    async def complete(self, draft: Draft) -> None:
        """Wait until an answer that stands is spoken, unless somebody stops that, and say once where it is not.

        Raises:
            StoreError: the store does not work now.
        """
        voice, run = draft.voice, draft.run
        if voice is None or not draft.reply.visible:
            return
        try:
            problem = await voice.wait()
        except asyncio.CancelledError:
            if run.ending() is not Ending.STOPPED:
                raise
            uncancel()  # the answer itself is complete
            return
        if problem and await self._once.claim(OncePer(f"{problem} in {run.question.chat}", AGAIN_AFTER)):
            await self._notices.tell(run.question, say(problem, run.language), turn=f"t{run.turn}-voice")
