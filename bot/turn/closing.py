"""End an answer: write its footer, and store its turn."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Final

from bot.agent import Failed, Finished, Task
from bot.context import Briefing, Summaries
from bot.contract import JOB, Clock, MessageSent, Metrics, join_origins, reference_of
from bot.model import Models, token_count
from bot.policy import Once, once_per_window, payer_of
from bot.reply import Settling
from bot.safety import Redact, as_told, shows_nothing
from bot.sentences import how_long, say
from bot.settings import AnswerSettings
from bot.store import Approval, Delivered, PageState, Store, TurnState
from bot.turn import footer
from bot.turn.approvals import Approvals
from bot.turn.draft import Draft, write_unsent

log = logging.getLogger(__name__)


_NO_MORE: Final = frozenset({"content_refused", "too_long", "failed_for_good"})
"""Failures after which the same conversation would be refused again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The stored state, sentence and error of an ended turn."""

    state: TurnState
    note: str = ""
    """The sentence that the person reads about it."""
    error: str = ""
    goes_on: bool = False
    """It was cut off, and can be continued."""
    withheld: bool = False
    """The provider refuses its content: it is not sent again."""
    asked: Approval | None = None
    """The question to a person under it."""
    failed: Failed | None = None
    """Why there is no answer, or only an incomplete one."""


@dataclass(eq=False, repr=False, kw_only=True)
class Closing:
    """Ends answers; one object for the whole process."""

    store: Store
    models: Models
    once: Once
    settling: Settling
    summaries: Summaries
    approvals: Approvals
    metrics: Metrics
    clock: Clock
    answers: AnswerSettings
    redact: Redact

    async def write_under(self, draft: Draft, outcome: Finished | Failed | None) -> Outcome:
        """Write what belongs under an answer: sources, footer, files that could not be sent, the outcome."""
        made, language, turn = draft.made, draft.run.language, draft.run.turn
        told, begun = outcome, not shows_nothing(made.shown)
        asks = outcome.asks if isinstance(outcome, Finished) else None
        if isinstance(outcome, Finished) and asks is None and not begun:
            told = Failed("empty", "nothing of the answer can be seen")
        note = self.write_note(draft, told)
        if isinstance(told, Failed):
            await self.write_former(draft)
        if isinstance(outcome, Failed) and not await is_said(outcome, draft.known.question, self.once):
            note = note if made.visible or draft.run.job else ""
        under = await footer.write_footer(
            self.store, turn, made.reasoning, language, self.redact, self.answers, draft.limits
        )
        # A person who was refused before a model began was not answered by any model.
        answered = isinstance(told, Finished) and bool(made.model)
        pictured = answered and any(one.content for one in draft.known.asked.pictures)
        unseen = say("pictures_unseen", language) if pictured and not self.models.sees(made.model) else ""
        sources = made.citations.list_cited(made.shown, language)
        for words in (unseen, sources, *under, *write_unsent(made.unsent, language, f"t{turn}"), note):
            if words:
                draft.write(words)
        if asks is not None:
            return Outcome(TurnState.DONE, say("approval_note", language), asked=await self.approvals.ask(draft, asks))
        if isinstance(outcome, Failed):
            goes_on = (begun or (draft.run.job and bool(made.passes))) and outcome.sentence not in _NO_MORE
            withheld = outcome.sentence == "content_refused"
            return Outcome(TurnState.FAILED, note, outcome.detail, goes_on, withheld=withheld, failed=outcome)
        # Without an outcome nobody can read it any more.
        cut = isinstance(outcome, Finished) and bool(outcome.cut)
        return Outcome(TurnState.DONE if outcome is not None else TurnState.STOPPED, note, goes_on=cut)

    async def write_former(self, draft: Draft) -> None:
        """Write the former answer again if one in its messages has come to nothing.

        Raises:
            StoreError: it cannot be loaded now.
        """
        anew = draft.run.question.replaces and shows_nothing(draft.made.shown)
        if anew and (former := await self.store.turns.find_former_answer(draft.run.turn)):
            draft.write(former)

    def write_note(self, draft: Draft, outcome: Finished | Failed | None) -> str:
        """Return the sentence about how an answer ended; empty if none is needed."""
        language, form = draft.run.language, draft.limits.command_form
        words: dict[str, object] = {"retry": form.format(word="retry"), "new": form.format(word="new")}
        match outcome:
            case Finished(cut):
                return say(cut, language, **words) if cut else ""
            case Failed():
                reference = reference_of(draft.run.turn)
                log.warning("turn %s [%s]: %s", draft.run.turn, reference, outcome.detail)
                self.metrics.model_calls.add(outcome.asked or self.models.name, outcome.sentence)
                draft.made.story.failed(outcome.asked, outcome.sentence)
                words["wait"] = how_long(max(1.0, outcome.until - self.clock.wall()), language)
                sentence, tokens = outcome.sentence, self.models.tokens_of(self.models.name)([draft.known.asked.text])
                if sentence == "too_long" and outcome.window:
                    sentence = "too_long_for_window" if tokens * 2 > outcome.window else "window_too_small"
                words |= {"tokens": f"{tokens:,}", "window": f"{outcome.window:,}", "tools": ", ".join(outcome.tools)}
                note = say(sentence, language, id=reference, **words)
                if draft.run.job and draft.made.passes and outcome.until:
                    note += " " + say("job_goes_on", language, job=form.format(word=JOB))
                return note
            case _:
                return ""

    async def close(self, draft: Draft, end: Outcome, task: Task, briefing: Briefing, *, stays: bool) -> None:
        """Store the shown answer; start its follow-ups: showing it again, a summary of the chat.

        Args:
            stays: something of it is still to be done.

        Raises:
            StoreError: it was not stored.
        """
        known, made, reply, turn = draft.known, draft.made, draft.reply, draft.run.turn
        failed = None if end.failed is None else end.failed.to_json(self.clock.wall())
        course = reply.course.to_json(failed) if reply.course else ""
        delivered = Delivered(edits=reply.edits, refusals=reply.refusals, course=course)
        if end.state == TurnState.DONE and made.last_token and not reply.lost:
            self.metrics.lag.observe(self.clock.monotonic() - made.last_token)
            delivered = self._count_waits(draft, delivered)
        due = self.settling.due(reply, resumed=is_resumed(draft))
        told = join_origins(entry.origin for entry in briefing.entries)
        entries = made.to_entries(known.asked, self.redact(end.note), self.redact, told=told)
        former = await self.store.turns.close(
            turn,
            end.state,
            entries,
            visible=reply.text,
            reasoning=self.redact(made.reasoning),
            model=made.model or ("" if draft.unread else task.model.name),
            usage=made.usage,
            dollars=made.dollars,
            error=self.redact(end.error or reply.lost),
            again_at=due.at if due else None,
            cuts=reply.cuts,
            withheld=end.withheld,
            goes_on=end.goes_on,
            stays=stays,
            delivered=delivered,
        )
        chat = known.question.chat
        self.settling.begin(turn, chat, due)
        for one in former:
            await self.settling.refresh(one, chat)
        self.metrics.turns_ended.add(end.state)
        made.story.answered(end.state, delivered, pages=len(reply.refs), usage=made.usage, dollars=made.dollars)
        new = token_count(as_told(entries), self.models.tokens_of(task.model.name))
        self.summaries.summarise_after_turn(
            chat, task.model, briefing.past_tokens + new, room=briefing.room, left_out=briefing.left_out > 0
        )

    def _count_waits(self, draft: Draft, delivered: Delivered) -> Delivered:
        """Record how long the person waited for an answer that this process made alone."""
        reader, came_at = draft.reply.cadence.reader, draft.run.came_at
        if reader.words_at is None or draft.run.limits.attempts > 1:
            return delivered
        self.metrics.reader_waits.observe(reader.waited)
        first_words = reader.words_at - came_at if came_at else None
        if first_words is not None:
            self.metrics.first_words.observe(first_words)
        return replace(delivered, first_words=first_words, waited=reader.waited)


def is_resumed(draft: Draft) -> bool:
    """Return True if a former process showed some of the answer: its last edit may still be in flight.

    The messages of a replaced answer are final until this turn edits them.
    """
    pages = draft.known.before.pages
    return any(page.ref and (draft.run.limits.attempts > 1 or page.state != PageState.FINAL) for page in pages)


async def is_said(failed: Failed, question: MessageSent, once: Once) -> bool:
    """Return True if a turn without an answer says why it failed: a spent quota is reported once per window.

    If an answer is awaited, or begins with the question, it always says something.
    """
    if not failed.until or failed.sentence == "spent_nobody":
        return True
    whose = failed.sentence.removeprefix("spent_")
    first = await once.claim(once_per_window(whose, failed.until, payer_of(question)))
    return first or question.awaited or question.quote_question
