"""What a person is told at the end of an answer, beside the answer."""

from __future__ import annotations

import logging

from bot.attempts import Run
from bot.clock import Clock
from bot.events import Failed, Finished
from bot.messages import MessageSent
from bot.metrics import Metrics
from bot.model import Models
from bot.reference import reference_of
from bot.sentences import how_long, say
from bot.spending import Budgets, payer_of
from bot.transcript import UserEntry

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


async def is_said(failed: Failed, question: MessageSent, budgets: Budgets) -> bool:
    """Whether a turn says how it failed where it shows nothing else: a spent quota is told once in its window.

    Where an answer is awaited, or begins with the question, something is said always.
    """
    if not failed.until or failed.sentence == "spent_nobody":
        return True
    first = await budgets.first_refusal(failed.sentence.removeprefix("spent_"), failed.until, payer_of(question))
    return first or question.awaited or question.quote_question
