"""Which answers are spoken, the outcome, and the notices about it; `/voice` speaks an existing one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from bot.contract import AssistantEntry, ChatId, MessageSent, Surface, Usage
from bot.policy import Once, OncePer
from bot.reply import Notices, Replies, ReplyStream, VoicePosts
from bot.safety import LinkPolicy
from bot.sentences import say
from bot.store import HistoryRow, Store, StoredTurn, TurnState
from bot.turn.loading import Known
from bot.turn.narration import Narration, Narrator
from bot.turn.run import EndReason, Run, uncancel

_ENTRIES: Final = 60
"""Entries of the history in which the answer is searched; a turn has only a few more."""
AGAIN_AFTER: Final = 3_600.0
"""Seconds in which a chat is told once that its voice failed."""


@dataclass(eq=False, repr=False, kw_only=True)
class Narrations:
    """Speaks answers; one object for the process."""

    store: Store
    narrator: Narrator
    replies: Replies
    notices: Notices
    once: Once

    def __post_init__(self) -> None:
        self._newest: dict[ChatId, Narration] = {}
        """The running speech of each chat."""

    def begin(self, run: Run, known: Known, reply: ReplyStream, policy: LinkPolicy) -> Narration | None:
        """Return the narration of an answer about to be made; None if its chat does not want one."""
        if not known.options.voice or not self.narrator.ready or run.question.target.private:
            return None
        posts = self.replies.voice(reply.surface, run.question.chat, known.before, reply)
        return self._open(run, reply.surface, posts, policy)

    def _open(
        self, run: Run, surface: Surface, posts: VoicePosts, policy: LinkPolicy, *, whole: bool = False
    ) -> Narration:
        """Return a narration that speaks after the running speech of the chat."""
        chat, form, filters = run.question.chat, surface.limits.sound, self.replies.filter_for(policy)
        voice = Narration(
            self.narrator,
            posts,
            filters,
            form,
            run.language,
            f"turn t{run.turn}",
            whole=whole,
            after=self._newest.get(chat),
        )
        self._newest[chat] = voice
        return voice

    @asynccontextmanager
    async def beside(self, voice: Narration | None, chat: ChatId) -> AsyncIterator[None]:
        """Speak an answer inside the block, and no longer."""
        try:
            yield
        finally:
            if voice is not None:
                if self._newest.get(chat) is voice:
                    del self._newest[chat]
                await voice.close()

    async def speak_on(self, run: Run, known: Known, surface: Surface) -> None:
        """Speak what is missing of an answer that a former process completed.

        Raises:
            StoreError: the store fails now.
        """
        chat = run.question.chat
        words = _words_of(await self.store.history.list_entries(chat, limit=_ENTRIES), run.turn)
        if not self.narrator.ready or not words:
            return
        posts = self.replies.voice(surface, chat, known.before)
        voice = self._open(run, surface, posts, LinkPolicy())
        async with self.beside(voice, chat):
            voice.say(words)
            voice.end()
            await self.complete(voice, run)

    async def read_aloud(self, run: Run, surface: Surface) -> None:
        """Speak the answer that a command replies to, or the newest, and close its turn.

        Raises:
            StoreError: the store fails now.
        """
        before = await self.store.turns.load(run.turn)
        if problem := await self._read_aloud(run, before, surface) if self.narrator.ready else "voice_unset":
            command = surface.limits.command_form.format(word="voice on")
            await self.notices.tell(run.question, say(problem, run.language, command=command), turn=f"t{run.turn}-said")
        await self.store.turns.close(run.turn, TurnState.DONE, (), visible="", reasoning="", model="", usage=Usage())

    async def _read_aloud(self, run: Run, before: StoredTurn, surface: Surface) -> str:
        """Return why nothing is spoken, as a key of `bot.sentences`; empty if it is."""
        chat = run.question.chat
        rows = await self.store.history.list_entries(chat, turn=run.turn, limit=_ENTRIES)
        if rows and not await self._is_meant(run.question, rows[-1].turn):
            rows = []
        posts = self.replies.voice(surface, chat, before)
        voice = self._open(run, surface, posts, LinkPolicy(), whole=True)
        async with self.beside(voice, chat):
            voice.say(_words_of(rows, rows[-1].turn if rows else 0))
            voice.end()
            return await _wait(voice, run) or ("" if voice.spoken else "voice_nothing")

    async def _is_meant(self, question: MessageSent, turn: int) -> bool:
        """Return whether a command means this turn's answer, which is the newest if `/new` has cleared the one that it
        replies to."""
        turns = self.store.turns
        shown = await turns.find_shown_in(question.chat, question.replies_to) if question.replies_to else 0
        return not shown or await turns.find_newest_answer(shown) == turn

    async def complete(self, voice: Narration, run: Run) -> None:
        """Wait until a complete answer is spoken, unless somebody stops that, and report it once if it is not.

        Raises:
            StoreError: the store fails now.
        """
        problem = await _wait(voice, run)
        if problem and await self.once.claim(OncePer(f"{problem} in {run.question.chat}", AGAIN_AFTER)):
            await self.notices.tell(run.question, say(problem, run.language), turn=f"t{run.turn}-voice")


def _words_of(rows: Sequence[HistoryRow], turn: int) -> str:
    """Return the model's text in a turn."""
    return "\n\n".join(row.entry.text for row in rows if row.turn == turn and isinstance(row.entry, AssistantEntry))


async def _wait(voice: Narration, run: Run) -> str:
    """Wait until everything is posted, or somebody stops it; return why it is not posted, as a key of
    `bot.sentences`."""
    run.speaks()
    try:
        return await voice.wait()
    except asyncio.CancelledError:
        if run.ending() is not EndReason.STOPPED:
            raise
        uncancel()  # the text is complete
        return ""
