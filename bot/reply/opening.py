"""Opens every reply: everything shown passes through the filters and page records chosen here."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count, takewhile

from bot.contract import Button, ChatId, Clock, MessageRef, MessageSent, Pace, Surface
from bot.markdown import NestedFences
from bot.pacing import Pacer
from bot.reply.approvalcard import approval_buttons, text_with_outcome
from bot.reply.attachments import Attachments
from bot.reply.buttons import ReplyButtons, buttons_when_done
from bot.reply.closing import take_away
from bot.reply.course import Course, Noting
from bot.reply.editing import EditsOnly
from bot.reply.filtering import FilterChain
from bot.reply.fresh import Fresh
from bot.reply.pages import ShownBefore, TextFilter
from bot.reply.preamble import write_preamble
from bot.reply.record import Recorded, Reshown, Unrecorded, files_before
from bot.reply.stream import ReplyStream
from bot.reply.typingsign import TypingSign
from bot.reply.voiceposts import RecordedVoice, VoicePosts
from bot.safety import AnswerFilter, BoundaryFilter, CitationFilter, LinkFilter, LinkPolicy, Redactor
from bot.sentences import how_long, language_of, say
from bot.store import FILE_BYTES, PageState, ReplyRecord, Store, StoredTurn

_TOLD = MessageRef("")
"""In place of a file's message: the person was told that it may be missing, so it is not posted any more."""


@dataclass(eq=False, repr=False, kw_only=True)
class Replies:
    """Opens the replies of a process."""

    store: Store
    pacer: Pacer
    clock: Clock
    secrets: tuple[str, ...] = ()
    buttons: bool = False
    """Put buttons under answers."""
    speaks: bool = False
    """One of them speaks an answer."""
    fresh_after: float = 0.0
    """Seconds since its newest message after which an answer ends in a fresh one; 0: never."""

    def notice(
        self, surface: Surface, turn: str, buttons: tuple[Button, ...] = (), at: MessageRef | None = None
    ) -> ReplyStream:
        """Open a reply for a sentence of our own, which no other process continues.

        Args:
            at: one of our messages whose text it replaces; if that is gone, nothing is shown.
        """
        return ReplyStream(
            surface,
            self.pacer,
            Unrecorded(),
            self.clock,
            turn=turn,
            filters=lambda: self._filters(LinkPolicy()),
            careful=False,
            shown=None if at is None else {0: ShownBefore(at, PageState.SHOWN)},
            calm=at is not None,
            buttons=ReplyButtons(buttons, buttons) if self.buttons else None,
        )

    @asynccontextmanager
    async def sign(self, surface: Surface, turn: str, words: str) -> AsyncIterator[None]:
        """Show the typing sign within the block, before a reply is opened; with `words` if it has any."""
        sign = TypingSign(surface=surface, pacer=self.pacer, clock=self.clock, words=words)
        sign.begin(lambda: True, f"typing {turn}")
        try:
            yield
        finally:
            await asyncio.gather(sign.close(), return_exceptions=True)

    def answer(
        self,
        surface: Surface,
        chat: ChatId,
        before: StoredTurn,
        policy: LinkPolicy,
        language: str,
        *,
        question: MessageSent | None = None,
        in_place: bool = False,
        shown: dict[int, ShownBefore] | None = None,
        pace: Pace | None = None,
        fresh_after: float | None = None,
    ) -> ReplyStream:
        """Open the reply of a turn; it continues in the messages that earlier attempts posted.

        Args:
            question: the question, quoted before the text if the readers cannot see it.
            in_place: it ends in its present message, however long it took: newer messages are below.
            shown: the pages that earlier attempts in this process showed; every page shown now is added.
            pace: how often more of it is shown, as nobody reads along; None: as the platform does.
            fresh_after: as the attribute, for this answer; None: the same.
        """
        shown = {} if shown is None else shown
        course = Course(self.clock)
        buttons = self._buttons_of(before.turn, question, language)
        if buttons is not None and pace is not None:
            buttons = ReplyButtons(buttons.growing, buttons.growing)  # what looks complete is not the end of it
        reply = ReplyStream(
            Noting(surface, course),
            self.pacer,
            Recorded(self.store, before.turn, str(chat), shown),
            self.clock,
            turn=f"t{before.turn}",
            filters=lambda: self._filters(policy),
            preamble=self._head(question, language),
            shown={page.number: ShownBefore(page.ref, page.state, page.nonce) for page in before.pages} | shown,
            attached={file.number: ShownBefore(file.ref, file.state) for file in before.attachments},
            delayed=lambda seconds: say("delayed", language, wait=how_long(seconds, language)),
            thinking=say("thinking", language),
            buttons=buttons,
            fresh=None if question is None or in_place else self._fresh(before, language, fresh_after),
        )
        # A reply that the course held would be freed late.
        known, reply.course = weakref.ref(reply), course
        course.written = lambda: len(one.text) if (one := known()) is not None else 0
        if pace is not None:
            reply.cadence.slow_down(pace)
        return reply

    def _fresh(self, before: StoredTurn, language: str, after: float | None) -> Fresh:
        """Return when an answer ends in a fresh message."""
        after = self.fresh_after if after is None else after
        age = max(0.0, self.clock.wall() - before.began) if before.began else 0.0
        return Fresh(after, self.clock.monotonic() - age, say("below", language))

    def voice(self, surface: Surface, chat: ChatId, before: StoredTurn, reply: ReplyStream | None = None) -> VoicePosts:
        """Return the poster of a turn's voice messages: beside the text of `reply`, or alone."""

        async def standing() -> MessageRef | None:
            if reply is None:
                return next((page.ref for page in reversed(before.pages) if page.ref is not None), None)
            await reply.cadence.visible.wait()
            return max(reply.refs.items(), default=(0, None))[1]

        record = RecordedVoice(self.store, before.turn, str(chat))
        posts = Attachments(surface, self.pacer, record, self.clock, turn=f"t{before.turn}")
        return VoicePosts(posts, before.attachments, standing)

    def filter_for(self, policy: LinkPolicy) -> FilterChain:
        """Return the filters for text that is heard, not read."""
        return FilterChain(lambda: self._filters(policy))

    def offer(self, reply: ReplyStream, turn: int, question: MessageSent, language: str, *, goes_on: bool) -> None:
        """Set the buttons of an answer that is about to end.

        Args:
            goes_on: it was cut off, and can be continued.
        """
        if self._has_buttons(question):
            reply.offer(buttons_when_done(turn, language, goes_on=goes_on, speaks=self.speaks))

    def again(self, surface: Surface, record: ReplyRecord, *, calm: bool) -> ReplyStream:
        """Open the reply of an ended turn with its text and files; `finish` shows it.

        The text passed the filters when it was written.

        Args:
            calm: nobody waits for it, see `ReplyStream`.
        """
        stored, question = record.stored, record.question
        head, language = "", ""
        buttons: ReplyButtons | None = None
        if isinstance(question, MessageSent):
            language = language_of(question.text, question.sender.language)
            head = self._head(question, language)
            if record.newest and self._has_buttons(question):
                goes_on = record.goes_on
                done = buttons_when_done(stored.turn, language, goes_on=goes_on, speaks=self.speaks)
                buttons = ReplyButtons(done)
        text = record.visible
        if (approval := record.approval) is not None:
            buttons, text = ReplyButtons(approval_buttons(approval)), text_with_outcome(text, approval)
        elif record.is_former:
            text = "\n\n".join(filter(None, (text, say("answered_again", language))))
            surface = EditsOnly(surface)
        ends = {page.number: page.end for page in stored.pages if page.end}
        reply = ReplyStream(
            surface,
            self.pacer,
            Reshown(self.store, stored.turn, str(record.chat)),
            self.clock,
            turn=f"t{stored.turn}",
            preamble=head + text,
            cuts=[ends[number] for number in takewhile(ends.__contains__, count())],
            shown={page.number: ShownBefore(page.ref, page.state, page.nonce) for page in stored.pages},
            attached={
                file.number: ShownBefore(file.ref or _TOLD, file.state)
                for file in stored.attachments
                if file.state != PageState.GONE
            },
            calm=calm,
            buttons=buttons,
            fresh=Fresh(below=say("below", language)),
        )
        for file in files_before(stored):
            if len(file.content) <= min(surface.limits.attachment_bytes, FILE_BYTES):
                reply.attach(file)
        return reply

    def _buttons_of(self, turn: int, question: MessageSent | None, language: str) -> ReplyButtons | None:
        """Return the buttons of an answer that is being written, if it has any."""
        return ReplyButtons.of_answer(turn, language, speaks=self.speaks) if self._has_buttons(question) else None

    def _has_buttons(self, question: MessageSent | None) -> bool:
        # If the target expires, a press could not be answered. An export is not an answer that could be regenerated
        # or rated.
        return self.buttons and question is not None and question.command != "export" and self.can_ask(question)

    def can_ask(self, question: MessageSent) -> bool:
        """Return True if a reply to `question` can carry buttons that work as long as they exist."""
        return question.target.lasts and not question.target.private

    async def take_back(self, surface: Surface, stored: StoredTurn) -> None:
        """Delete the messages of a reply whose question was deleted; one that cannot be deleted stays.

        Raises:
            Closed: the platform accepts nothing for a long time.
            Unreachable: nothing can be done there any more.
        """
        refs = [page.ref for page in stored.pages] + [file.ref for file in stored.attachments]
        for ref in filter(None, refs):
            await take_away(surface, self.pacer, self.clock, ref, f"turn t{stored.turn}: a message")

    def _head(self, question: MessageSent | None, language: str) -> str:
        """The text before a reply."""
        return Redactor(self.secrets).redact(write_preamble(question, language)) if question is not None else ""

    def _filters(self, policy: LinkPolicy) -> tuple[TextFilter, ...]:
        """First deceptive characters, then the models' marks and our own, secrets, links: a secret in an address is
        masked before the address is judged."""
        own = CitationFilter(), BoundaryFilter(), Redactor(self.secrets), LinkFilter(policy)
        return AnswerFilter(), NestedFences(), *own
