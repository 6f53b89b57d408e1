"""What a person is told at the end of an answer, beside the answer."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from bot.agent import Failed, Finished
from bot.contract import Clock, MessageSent, UserEntry, reference_of
from bot.markdown import LineScanner
from bot.model import Models
from bot.operations import Metrics
from bot.policy import Once, once_spent, payer_of
from bot.sentences import how_long, say
from bot.turn.attempts import Run

log = logging.getLogger(__name__)


def note_of(
    outcome: Finished | Failed | None,
    run: Run,
    form: str,
    asked: UserEntry,
    models: Models,
    metrics: Metrics,
    clock: Clock,
) -> str:
    """The sentence that goes with how an answer ended; empty where the answer says everything.

    Args:
        form: how a person writes a command there.
    """
    language = run.language
    words: dict[str, object] = {"retry": form.format(word="retry"), "new": form.format(word="new")}
    match outcome:
        case Finished(cut):
            return say(cut, language, **words) if cut else ""
        case Failed():
            reference = reference_of(run.turn)
            log.warning("turn %s [%s]: %s", run.turn, reference, outcome.detail)
            metrics.model_calls.add(models.name, outcome.sentence)
            words["wait"] = how_long(max(1.0, outcome.until - clock.wall()), language)
            sentence, tokens = outcome.sentence, models.estimator(models.name).tokens(asked.text)
            if sentence == "too_long" and outcome.window:
                sentence = "too_long_for_window" if tokens * 2 > outcome.window else "window_too_small"
            words |= {"tokens": f"{tokens:,}", "window": f"{outcome.window:,}", "tools": ", ".join(outcome.tools)}
            return say(sentence, language, id=reference, **words)
        case None:
            return ""


async def is_said(failed: Failed, question: MessageSent, once: Once) -> bool:
    """Whether a turn says how it failed where it shows nothing else: a spent quota is told once in its window.

    Where an answer is awaited, or begins with the question, something is said always.
    """
    if not failed.until or failed.sentence == "spent_nobody":
        return True
    whose = failed.sentence.removeprefix("spent_")
    first = await once.first(once_spent(whose, failed.until, payer_of(question)))
    return first or question.awaited or question.quote_question


def paragraph(written: Iterable[str], note: str) -> str:
    """A sentence of our own as it stands after `written`: a paragraph apart, behind any fence left open there."""
    text = "".join(written)
    if not text:
        return note
    scanner = LineScanner()
    for line in text.splitlines(keepends=True):
        scanner.feed(line)
    return (f"\n{scanner.fence.closer}" if scanner.fence else "") + f"\n\n{note}"
