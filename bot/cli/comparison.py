"""Compare a stored turn with its repetition: a sentence for each difference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from bot.app import RecordedModel, bare, passes_of
from bot.contract import BEFORE_FIRST_PASS, AssistantEntry, Entry, ReplyTarget, ToolEntry, UserEntry, reference_of
from bot.safety import without_boundaries
from bot.store import CallRecord, Recording

_SPACES: Final = re.compile(r"[ \t\n]+(?=\n\n)")
_SHOWN: Final = 120
"""Most characters of each side of a difference."""


def compare(stored: Recording, made: Recording) -> list[str]:
    """Return a sentence for each difference between a stored turn and its repetition."""
    return [
        f"{what}: stored {_shorten(before)}, now {_shorten(after)}"
        for what, before, after in _pairs(stored, made)
        if before != after
    ]


def _pairs(stored: Recording, made: Recording) -> Iterator[tuple[str, object, object]]:
    """Yield what is compared: its name, the stored side, and the repeated one."""
    yield "the question as the model reads it", bare(question_of(stored)), bare(question_of(made))
    yield "what joined it meanwhile", _list_heard(stored), _list_heard(made)
    yield "how it ended", str(stored.state), str(made.state)
    for number, (one, other) in enumerate(zip_longest(stored.passes, made.passes), 1):
        yield f"text of pass {number}", one and one.text, other and other.text
        calls = zip_longest(one.calls if one else (), other.calls if other else ())
        for place, (call, again) in enumerate(calls, 1):
            name = f"call {place} of pass {number}"
            yield f"tool of {name}", call and call.name, again and again.name
            yield f"arguments of {name}", call and dict(call.arguments), again and dict(again.arguments)
    for record, repeated in zip_longest(stored.calls, made.calls):
        known = record or repeated
        name = f"{known.call.name}, call {known.position + 1} of pass {known.passnumber}"
        yield f"whether it was made ({name})", bool(record), bool(repeated)
        if record and repeated:
            yield f"arguments given to {name}", dict(record.call.arguments), dict(repeated.call.arguments)
            yield f"problem of {name}", record.call.problem, repeated.call.problem
            yield f"status of {name}", str(record.status), str(repeated.status)
            yield f"result of {name}", _result(record), _result(repeated)
    yield "results in the history", _results(stored), _results(made)
    yield "the answer", _without_reference(stored), _without_reference(made)
    # Where nothing is said anew, the messages are those of the former answer.
    if stored.pages >= 0 and (stored.visible or not stored.again):
        yield "messages of the answer", stored.pages, made.pages
        yield "files under the answer", stored.files, made.files
    if stored.stands and stored.visible == made.visible:
        for number, (one, other) in enumerate(zip_longest(stored.stands, made.stands), 1):
            yield f"what message {number} shows at the end, with its buttons (as digests)", one, other
    yield "the call that a person is asked about", stored.asked, made.asked
    yield "whether a decision followed", stored.then is not None, made.then is not None


def compare_places(stored: Recording, targets: Sequence[ReplyTarget]) -> list[str]:
    """Return a sentence for each place of the repetition, a chat with its thread and the message that is replied to,
    where the stored turn wrote nothing."""
    known = [_place(one.question.target) for one in stored.all]
    return list(dict.fromkeys(f"it wrote to {_shorten(_place(one))}" for one in targets if _place(one) not in known))


def _place(target: ReplyTarget) -> dict[str, object]:
    """Return where a target leads, without the title of a conversation."""
    return {name: value for name, value in target.data.items() if name not in ("title", "private")}


def compare_requests(stored: Recording, model: RecordedModel) -> list[str]:
    """Return a sentence for each request to the model that does not contain what it must."""
    asked = [(one, number) for one in stored.all for number in range(len(passes_of(one)))]
    if len(model.requests) != len(asked):
        return [f"requests to the model: stored {len(asked)}, now {len(model.requests)}"]
    wrong = []
    for place, ((one, number), request) in enumerate(zip(asked, model.requests, strict=True), 1):
        told = without_boundaries(str(request.get("messages")))
        for text in (*_list_continued(one), *_list_read(one.entries, number)):
            if repr(text)[1:-1] not in told and text not in told:
                wrong.append(f"request {place} to the model has no {_shorten(text)}")
    return wrong


def _list_continued(recording: Recording) -> list[str]:
    """Return the end of the answer that the model must have read to continue it."""
    if recording.about is None:
        return []
    answers = [one.text.rstrip() for one in recording.before if isinstance(one, AssistantEntry)]
    return [one[-_SHOWN:] for one in answers[-1:]]


def _list_read(entries: Sequence[Entry], number: int) -> list[str]:
    """Return what the model must have read before it wrote pass `number` of a turn, counted from 0: the question, the
    results, and what was added."""
    read, passes = list[str](), 0
    for one in entries:
        if isinstance(one, AssistantEntry) and one.provider != BEFORE_FIRST_PASS:
            passes += 1
            if passes > number:
                break
        elif isinstance(one, ToolEntry):
            read.append(bare(one.text))
        elif isinstance(one, UserEntry):
            read.append(without_boundaries(one.text))
    return read


def question_of(recording: Recording) -> str:
    """Return the question as the model read it."""
    return next((one.text for one in recording.entries if isinstance(one, UserEntry)), "")


def _list_heard(recording: Recording) -> list[tuple[int, str]]:
    """Return what joined the question, with its place among the entries."""
    return [(place, one.text) for place, one in enumerate(recording.entries) if place and isinstance(one, UserEntry)]


def _results(recording: Recording) -> list[str]:
    return [bare(one.text) for one in recording.entries if isinstance(one, ToolEntry)]


def _result(record: CallRecord) -> str | None:
    return None if record.result is None else bare(record.result.text)


def _without_reference(recording: Recording) -> str:
    text = recording.visible.replace(reference_of(recording.turn), "REFERENCE")
    # The history has what a model had written when it was stopped, or failed, without the spaces at its end.
    return _SPACES.sub("", text) if recording.ends_early else text


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
