"""An hour's work in one message: what a job does otherwise than an answer.

A job is the question of `/job`. It works beside its chat's next turns, for up to an hour and as many passes as it
takes; its message shows the plan, and the answer comes as a new message at its end. Its passes and results are stored
as those of any turn, so it survives restarts, and a process that dies after a pass has cost no attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.contract import JOB, AssistantEntry, MessageSent, Pace
from bot.markdown import escape
from bot.sentences import say
from tools.plan import NAME as PLAN

JOB_SECONDS: Final = 3600.0
"""Seconds a job may take, from its first beginning on."""
JOB_PASSES: Final = 200
JOB_PACE: Final = Pace(apart=5.0, fresh=5.0, ahead=0.3)
"""Nobody reads along: an edit every five seconds shows where it is."""
JOB_FRESH_SECONDS: Final = 10.0
"""An answer that comes later than this after the plan is posted as a new message."""
_NOTE_CHARS: Final = 300
_STEP_CHARS: Final = 120

INSTRUCTIONS: Final = (
    f"This is a long job, of up to an hour, and nobody reads along. First call {PLAN} with the steps; call it again "
    "whenever a step is done or the plan changes. Work through all of the steps with your tools before you answer; "
    "then write the whole answer once. What the person adds meanwhile comes as a further message: follow it."
)


def is_job(question: MessageSent) -> bool:
    """Return True if a question is a job, or decides about a call of one."""
    return question.command == JOB


def describe_progress(passes: Sequence[AssistantEntry], language: str) -> str:
    """Return the newest plan as a list that is ticked off, as Markdown, and what the model said last beside its calls;
    a sentence as long as there is neither."""
    plans = [call.arguments for entry in passes for call in entry.calls if call.name == PLAN and not call.problem]
    notes = [entry.text.strip() for entry in passes if entry.calls and entry.text.strip()]
    parts = [_plan(plans[-1].get("steps"), plans[-1].get("done"))] if plans else []
    parts += [escape(_shorten(notes[-1], _NOTE_CHARS))] if notes else []
    return "\n\n".join(part for part in parts if part) or say("job_begun", language)


def _plan(steps: object, done: object) -> str:
    """Return a checklist; the model's arguments may be of any form."""
    listed = (
        [escape(_shorten(" ".join(str(step).split()), _STEP_CHARS)) for step in steps]
        if isinstance(steps, list)
        else []
    )
    ended = done if isinstance(done, int) else 0
    return "\n".join(f"- [{'x' if number < ended else ' '}] {step}" for number, step in enumerate(listed))


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
