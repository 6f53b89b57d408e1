"""What went over the wire for one answer: the calls, and how far model, screen and reader were at each moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from playground.calls import Answered, Calls
from playground.model.server import ModelRequest
from playground.screen import Shown
from playground.turns import of_platform
from playground.windows import Window

Json: TypeAlias = dict[str, Any]
Points: TypeAlias = list[tuple[float, int]]
"""(seconds, characters), each from that moment on."""
_MOST_CALLS: Final = 60
_LETTERS_A_SECOND: Final = 24.0
"""240 words a minute."""
_CHINESE_A_SECOND: Final = 400 / 60
_STEP: Final = 0.05
_MENTION: Final = re.compile(r"^@\S+\s+")
_QUIET: Final = frozenset({"getUpdates"})
"""Calls that only wait for something to come."""


class Wire:
    """Reads the calls of the emulators and tells the page of each as it is answered."""

    def __init__(
        self,
        windows: Mapping[str, Window],
        calls: Mapping[str, Calls[Any]],
        requests: Sequence[ModelRequest],
        tell: Callable[[str, Json], None],
    ) -> None:
        self._windows, self._calls, self._requests = windows, calls, requests
        for platform, made in calls.items():
            made.heard = partial(_heard, platform, tell)

    def told(self, platform: str) -> Json:
        """The last question of a platform and all that came of it, times counted from that question."""
        window = self._windows[platform]
        messages = window.screen.messages
        asked = next((one for one in reversed(messages) if one.author != "bot" and one.versions), None)
        start = asked.versions[-1].at if asked else 0.0
        calls = [one for one in self._calls[platform] if one.at >= start and named(one) not in _QUIET]
        answers = [one for one in messages if one.author == "bot" and any(v.at >= start for v in one.versions)]
        screen = on_screen([one for one in answers if not one.ephemeral], start)
        written = self._written(window.title, asked, start)
        rate = reading_rate("".join(one.text for one in answers))
        read, waited = reader(screen, rate)
        return {
            "platform": platform,
            "question": asked.text[:120] if asked else "",
            "calls": [row(one, start) for one in calls[-_MOST_CALLS:]],
            "left": [list(left) for left in _lefts(self._calls[platform])],
            "written": written,
            "screen": screen,
            "read": read,
            "waited": round(waited, 2),
            "first": screen[0][0] if screen else None,
        }

    def _written(self, title: str, asked: Shown | None, start: float) -> Points:
        """What the model had written for a platform, over all passes."""
        points: Points = [(0.0, 0)]
        before, passes = 0, set()
        question = _MENTION.sub("", asked.text).strip() if asked else ""
        for request in self._requests:
            if request.at < start or not of_platform(request, title):
                continue
            if len(request.messages) in passes or not _asks(request, question):
                continue
            passes.add(len(request.messages))
            last = (request.last_at, request.sent)
            points += [(round(at - start, 3), before + sent) for at, sent in [*request.samples, last] if at]
            before += request.sent
        return points


def _heard(platform: str, tell: Callable[[str, Json], None], call: Answered) -> None:
    if named(call) not in _QUIET:
        tell("call", {"platform": platform, **row(call, 0.0)})


def _asks(request: ModelRequest, question: str) -> bool:
    """Whether the question is among the last things a request tells the model."""
    said = [str(one.get("content")) for one in request.messages if one.get("role") == "user"]
    return bool(question) and any(question in text for text in said[-2:])


def named(call: Any) -> str:
    """A call as its platform's documents name it."""
    return str(getattr(call, "name", "") or call.method)


def row(call: Any, start: float) -> Json:
    """A call as the page lists it."""
    return {
        "at": round(call.at - start, 3),
        "method": named(call),
        "about": about(call),
        "status": call.status,
        "refused": bool(call.status >= 400 or getattr(call, "error", "")),
        "retryAfter": call.retry_after,
        "took": round(call.took, 4),
        "left": list(call.left) if call.left else None,
    }


def about(call: Any) -> str:
    """What a call was about, in a few words."""
    if call.retry_after:
        return f"refused: again in {call.retry_after:g} s"
    error = getattr(call, "error", "") or getattr(call, "description", "")
    if error:
        return str(error)[:80]
    body = call.body if isinstance(getattr(call, "body", None), dict) else call.parameters
    for name in ("action", "status", "name", "emoji"):
        if isinstance(body.get(name), str):
            return str(body[name])[:60]
    length = _length(body)
    return f"{length:,} characters" if length else ""


def _length(body: Mapping[str, Any]) -> int:
    """The characters of text in a call, wherever its platform puts them."""
    texts = [body.get(name) for name in ("text", "content", "caption", "markdown_text")]
    texts += [one.get("text") for one in body.get("chunks") or () if isinstance(one, dict)]
    return sum(len(text) for text in texts if isinstance(text, str))


def _lefts(calls: Sequence[Any]) -> list[tuple[str, int, int]]:
    """What each rate had left when it was last drawn on, the newest first."""
    found: dict[str, tuple[str, int, int]] = {}
    for call in reversed(calls):
        if call.left and call.left[0] not in found:
            found[call.left[0]] = call.left
    return list(found.values())[:4]


def on_screen(answers: Sequence[Shown], start: float) -> Points:
    """How many characters of the answers stood on the screen, from each moment on at which that changed."""
    changes = sorted(
        (version.at, index, len(version.text))
        for index, one in enumerate(answers)
        for version in one.versions
        if version.at >= start
    )
    lengths = [0] * len(answers)
    points: Points = []
    for at, index, length in changes:
        lengths[index] = length
        points.append((round(at - start, 3), sum(lengths)))
    return points


def reading_rate(text: str) -> float:
    """Characters that somebody reads in a second, by the share of Chinese in the text."""
    letters = [letter for letter in text if not letter.isspace()]
    chinese = sum("\u4e00" <= letter <= "\u9fff" for letter in letters) / (len(letters) or 1)
    return chinese * _CHINESE_A_SECOND + (1 - chinese) * _LETTERS_A_SECOND


def reader(screen: Points, rate: float) -> tuple[Points, float]:
    """How far somebody had read who never outruns the screen, and how long they waited for words that were to come."""
    if not screen:
        return [], 0.0
    last = screen[-1][1]
    now, read, waited, index = screen[0][0], 0.0, 0.0, 0
    points: Points = [(now, 0)]
    while now < screen[-1][0]:
        now += _STEP
        while index + 1 < len(screen) and screen[index + 1][0] <= now:
            index += 1
        ahead = read + rate * _STEP
        if ahead > screen[index][1] and screen[index][1] < last:
            waited += (ahead - screen[index][1]) / rate
        read = min(ahead, float(screen[index][1]))
        points.append((round(now, 2), round(read)))
    return points[:: max(1, len(points) // 120)] + points[-1:], waited
