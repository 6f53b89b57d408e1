"""What a person is shown of a call that waits for a decision: the exact arguments, in which nothing can deceive.

The arguments stand as JSON in a block of code. What cannot be seen, what changes the order of signs and what ends a
block of code is written as an escape of JSON, so that the text stays exact on every platform and passes every filter
as it is. Two things are told between ⟪ and ⟫, which are escaped wherever they come from the arguments: how often a
sign is repeated, and how much is left out.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.contract import Button, Control
from bot.safety import clean_name
from bot.sentences import how_long, say
from bot.store import Approval, ApprovalState
from tools.base import Json

HEAD_CHARS: Final = 800
TAIL_CHARS: Final = 300
"""Characters of long arguments that are shown; with the sentences around them less than a page on every platform."""
FILE: Final = "arguments.json"
_MOST_REPEATED: Final = 40
_SIGNS = re.compile(rf"(\\u[0-9a-f]{{4}}|\\.|[^\\])(\1{{{_MOST_REPEATED},}})?", re.DOTALL)
"""One sign as JSON writes it, with its repetitions where they are many."""
_MOST_MARKS: Final = 3
_HIDING: Final = frozenset("`⟪⟫\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f")
"""Signs that look like nothing, or end what they stand in, though Unicode counts them as letters and symbols."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


@dataclass(frozen=True, slots=True)
class Card:
    """What is shown of a call."""

    text: str
    """Markdown without the last line, which tells what was decided."""
    line: str
    """The last line as long as nothing is decided."""
    file: str = ""
    """All of the arguments, where they are too long to be shown; else empty."""


def write_card(
    name: str,
    arguments: Mapping[str, Json],
    language: str,
    *,
    seconds: float,
    admins: bool = False,
    host: str = "",
    outside: bool = False,
    changed: bool = False,
    not_up: bool = False,
) -> Card:
    """Return what a person is asked about a call.

    Args:
        seconds: how long the question waits.
        admins: only admins decide.
        host: what it would open, as it is looked up.
        outside: it is asked because of words from outside.
        changed: it was allowed before the tool changed.
        not_up: it was allowed, and the tool's server is not up.
    """
    whole = exact(arguments)
    shown = _shortened(whole, language)
    parts = [
        say("approval_head_outside" if outside else "approval_head", language, name=_name(name)),
        f"```json\n{shown}\n```",
    ]
    if host:  # other letters may look like those of a host that the person knows
        parts.append(f"🌐 `{host}`")
    if changed or not_up:
        parts.insert(0, say("approval_changed" if changed else "approval_not_up", language, name=_name(name)))
    cut = len(whole) > HEAD_CHARS + TAIL_CHARS
    if cut:
        count = f"{len(whole):,}"
        parts.append(say("approval_cut", language, shown=f"{HEAD_CHARS + TAIL_CHARS:,}", count=count, file=FILE))
    line = say(
        "approval_waits_admins" if admins else "approval_waits_asker", language, wait=how_long(seconds, language)
    )
    return Card("\n\n".join(parts), line, whole if cut else "")


def text_with_outcome(text: str, approval: Approval) -> str:
    """Return the text of a reply that asked, as it is to read now."""
    if approval.state is ApprovalState.WAITING or not text.endswith(approval.line):
        return text
    return text.removesuffix(approval.line) + outcome_of(approval)


def outcome_of(approval: Approval) -> str:
    """Return the last line of what was asked."""
    if approval.state is ApprovalState.WAITING:
        return approval.line
    return say(f"approval_{approval.state}", approval.language)


def approval_buttons(approval: Approval) -> tuple[Button, ...]:
    """Return what stands under a question that waits; nothing under one that is decided."""
    if approval.state is not ApprovalState.WAITING:
        return ()
    return tuple(
        Button(control, approval.turn, say(f"button_{control}", approval.language), approval.mark)
        for control in (Control.ALLOW, Control.DENY)
    )


def exact(arguments: Mapping[str, Json]) -> str:
    """Return arguments as JSON in which every sign can be seen."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    marks, made = 0, list[str]()
    for sign in text:
        marks = marks + 1 if unicodedata.category(sign)[0] == "M" else 0
        made.append(_escape(sign) if marks > _MOST_MARKS or _deceives(sign) else sign)
    return _SIGNS.sub(lambda run: f"{run[1]}⟪×{len(run[0]) // len(run[1]):,}⟫" if run[2] else run[0], "".join(made))


def _deceives(sign: str) -> bool:
    return sign in _HIDING or (sign not in " \n" and unicodedata.category(sign) in _UNSEEN)


def _escape(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _shortened(text: str, language: str) -> str:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    left = say("approval_left_out", language, count=f"{len(text) - HEAD_CHARS - TAIL_CHARS:,}")
    return f"{text[:HEAD_CHARS]}\n{left}\n{text[-TAIL_CHARS:]}"


def _name(name: str) -> str:
    return clean_name(name).replace("`", "'")[:80]
