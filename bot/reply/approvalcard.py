"""The card about a call that waits for a decision: its content in words, in which nothing can deceive.

Each argument has a label in the person's language and its value as code, in the line or as a block below it. Invisible
characters, characters that change the order of others, and characters that would end the code are named between ⟪ and ⟫
(⟪U+202E⟫). These brackets are named themselves if they come from the arguments, so the value stays exact on every
platform and passes every filter unchanged. Repetitions of a character, and the length of omitted parts, are stated in
the same way. Everything outside code is our own words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from bot.contract import Button, Control
from bot.safety import clean_name
from bot.sentences import how_long, label_of, say
from bot.store import Approval, ApprovalState
from tools.contract.base import Json
from tools.contract.credentials import is_random

CARD_CHARS: Final = 1_100
"""Characters of all shown values; with the words around them less than a page on every platform."""
VALUE_CHARS: Final = 600
"""Characters of one value."""
_LEAST: Final = 100
"""Least characters of a value that are shown when the card is nearly full."""
_MOST_ROWS: Final = 30
_INLINE_CHARS: Final = 120
"""A longer value gets a block of its own."""
_NEEDS_BLOCK = re.compile(r"[`\n]")
_NO_NAME = re.compile(r"[`\n]|^ | $")
_DEEPEST: Final = 6
_MOST_LISTED: Final = 10
_LISTED_CHARS: Final = 40
"""In a list, values up to this length share a line."""
FILE: Final = "arguments.json"
_MOST_REPEATED: Final = 40
_RUN = re.compile(rf"(⟪U\+[0-9A-F]{{4,6}}⟫|[^⟪])(\1{{{_MOST_REPEATED},}})", re.DOTALL)
"""One shown character, with its repetitions if they are many."""
_MOST_MARKS: Final = 3
_HIDING: Final = frozenset("⟪⟫\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f")
"""Characters that are invisible, or imitate ours, though Unicode classes them as letters and symbols."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_FENCE = re.compile("`{3,}")
_NAME = re.compile(r"(?=.{1,40}\Z)[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+){0,4}")
"""A name that reads as words and carries no message of its own."""
_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s_-]+")
_PASSWORDS: Final = frozenset({"password", "passwd", "passphrase", "passcode", "pwd"})
_KEYS: Final = frozenset({"key", "token", "secret", "credential", "credentials", "authorization", "bearer", "cookie"})


_HEADS: Final = ("approval_head", "approval_head_outside", "approval_changed", "approval_not_up")
"""With which a card can begin."""


@dataclass(frozen=True, slots=True)
class Card:
    """The card of a call."""

    text: str
    """Markdown without the last line, which states the decision."""
    line: str
    """The last line while undecided."""
    file: str = ""
    """All arguments, if they are too long to show; else empty."""


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
    """Return the card about a call.

    Args:
        seconds: how long the question waits.
        admins: only admins decide.
        host: the host of the address that it would open, as it is looked up.
        outside: it asks because of words from outside.
        changed: it was allowed before the tool changed.
        not_up: it was allowed, and the tool's server is not running.
    """
    told = cast("dict[str, Json]", _masked(dict(arguments), language))
    shown, cut = _listed(told, language)
    parts = [say("approval_head_outside" if outside else "approval_head", language, name=_named(name)), shown]
    if host:  # other letters can look like a host that the person knows
        parts.append(f"🌐 `{host}`")
    if changed or not_up:
        parts.insert(0, say("approval_changed" if changed else "approval_not_up", language, name=_named(name)))
    if cut:
        parts.append(say("approval_cut", language, file=FILE))
    line = say(
        "approval_waits_admins" if admins else "approval_waits_asker", language, wait=how_long(seconds, language)
    )
    return Card("\n\n".join(parts), line, _whole(told) if cut else "")


def card_in(text: str, approval: Approval) -> str:
    """Return the card about a call from the text of the answer that ends with it; all of the text if it is not found.
    Words like those of a card may stand before it, and are then returned, too: nothing of the card is left out."""
    name = _named(approval.call.name)
    found = (text.find(say(head, approval.language, name=name)) for head in _HEADS)
    return text[min((at for at in found if at >= 0), default=0) :]


def text_with_outcome(text: str, approval: Approval) -> str:
    """Return the present text of a reply that asked."""
    if approval.state is ApprovalState.WAITING or not text.endswith(approval.line):
        return text
    return text.removesuffix(approval.line) + outcome_of(approval)


def outcome_of(approval: Approval) -> str:
    """Return the last line of the card."""
    if approval.state is ApprovalState.WAITING:
        return approval.line
    return say(f"approval_{approval.state}", approval.language)


def approval_buttons(approval: Approval) -> tuple[Button, ...]:
    """Return the buttons of a waiting question; none for a decided one."""
    if approval.state is not ApprovalState.WAITING:
        return ()
    return tuple(
        Button(control, approval.turn, say(f"button_{control}", approval.language), approval.mark)
        for control in (Control.ALLOW, Control.DENY)
    )


def exact(text: str) -> str:
    """Return a text with every character visible; lines and words stay as they are."""
    marks, made = 0, list[str]()
    for sign in text:
        marks = marks + 1 if unicodedata.category(sign)[0] == "M" else 0
        made.append(_name_sign(sign) if marks > _MOST_MARKS or _deceives(sign) else sign)
    return _RUN.sub(lambda run: f"{run[1]}⟪×{len(run[0]) // len(run[1]):,}⟫", "".join(made))


def _whole(arguments: dict[str, Json]) -> str:
    """Return all arguments as JSON with every character visible."""
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    return "".join(json.dumps(sign)[1:-1] if _deceives(sign) else sign for sign in text)


def _deceives(sign: str) -> bool:
    return sign in _HIDING or (sign not in " \n" and unicodedata.category(sign) in _UNSEEN)


def _name_sign(sign: str) -> str:
    return f"⟪U+{ord(sign):04X}⟫"


class _Masked(str):
    """Our own words in place of a secret."""


def _masked(value: Json, language: str, name: str = "") -> Json:
    """Return arguments with our words in place of secrets that the asker gave or a model made up: passwords, and the
    generated parts of keys and tokens."""
    match value:
        case dict():
            return {key: _masked(one, language, key) for key, one in value.items()}
        case list():
            return [_masked(one, language, name) for one in value]
        case str() if value:
            words = set(_PARTS.sub(" ", name).lower().split())
            if words & _PASSWORDS or (words & _KEYS and is_random(value)):
                return _Masked(say("approval_hidden", language, count=f"{len(value):,}"))
    return value


def _listed(arguments: dict[str, Json], language: str) -> tuple[str, bool]:
    """Return arguments as a list of labels and values, and whether anything is left out."""
    lines, room, cut = list[str](), CARD_CHARS, False
    if not arguments:
        return say("approval_nothing", language), False
    for number, (label, value) in enumerate(_rows(arguments, language)):
        if number == _MOST_ROWS:
            return "\n".join([*lines, say("approval_more", language)]), True
        if not isinstance(value, str) or not value or isinstance(value, _Masked):
            lines.append(f"- {label}: {_said(value, language)}")
            continue
        whole = exact(value)
        most = min(VALUE_CHARS, room) if room >= _LEAST else 0
        shown = whole if len(whole) <= most else _shortened(whole, most, language)
        cut, room = cut or shown is not whole, room - min(len(whole), most)
        lines.append(f"- {label}:{_as_code(shown)}")
    return "\n".join(lines), cut


def _rows(value: Json, language: str, label: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Yield each single value with a label for its position."""
    if isinstance(value, dict) and value and depth < _DEEPEST:
        names = {name: label_of(name, language) if _NAME.fullmatch(name) else "" for name in value}
        often = Counter(names.values())
        for name, one in value.items():
            plain = names[name] if often[names[name]] == 1 else ""
            named = _NO_NAME.sub(lambda sign: _name_sign(sign[0]), exact(name[:_LISTED_CHARS])) or "⟪⟫"
            own = f"**{plain}**" if plain else f"`{named}`"
            yield from _rows(one, language, f"{label} › {own}" if label else own, depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST and not _is_line(value):
        for number, one in enumerate(value, 1):
            yield from _rows(one, language, f"{label} {number}", depth + 1)
    elif isinstance(value, dict) or (isinstance(value, list) and not _is_line(value)):
        yield label, json.dumps(value, ensure_ascii=False) if value else value
    elif isinstance(value, int | float) and len(str(value)) > _LISTED_CHARS:
        yield label, str(value)
    else:
        yield label, value


def _is_line(values: list[Json]) -> bool:
    return len(values) <= _MOST_LISTED and all(map(_is_short, values))


def _is_short(value: Json) -> bool:
    """Return True if a value can share a line with others."""
    if isinstance(value, str):
        # Signs that are named take more room than they had.
        return 0 < len(value) <= _LISTED_CHARS and len(exact(value)) <= _INLINE_CHARS and not _NEEDS_BLOCK.search(value)
    return not isinstance(value, list | dict) and len(str(value)) <= _LISTED_CHARS


def _said(value: Json, language: str) -> str:
    """Return a value in our own words; short texts in a list as code."""
    match value:
        case _Masked():
            return str(value)
        case bool():
            return say("approval_true" if value else "approval_false", language)
        case None | "" | [] | {}:
            return say("approval_nothing", language)
        case list():
            return ", ".join(_said(one, language) for one in value)
        case str():
            return _as_code(exact(value)).strip()
        case _:
            return str(value)


def _as_code(shown: str) -> str:
    """Return an exact text as code, in the line or in a block below it, which nothing in it can end."""
    if len(shown) <= _INLINE_CHARS and not _NEEDS_BLOCK.search(shown):
        # Markdown drops spaces at the ends of code.
        inner = shown.strip(" ")
        before, after = len(shown) - len(shown.lstrip(" ")), len(shown) - len(shown.rstrip(" "))
        blank = _name_sign(" ")
        return f" `{blank * before}{inner}{blank * after}`" if inner else f" `{blank * len(shown)}`"
    return f"\n```\n{_FENCE.sub(lambda run: _name_sign('`') * len(run[0]), shown)}\n```"


def _shortened(text: str, most: int, language: str) -> str:
    """Return the beginning and the end of an exact text, never cut between our brackets."""
    head, tail = most * 3 // 4, len(text) - most // 4
    if text.rfind("⟪", 0, head) > text.rfind("⟫", 0, head):
        head = text.rfind("⟪", 0, head)
    if text.rfind("⟪", 0, tail) > text.rfind("⟫", 0, tail):
        tail = text.find("⟫", tail) + 1
    left = say("approval_left_out", language, count=f"{tail - head:,}")
    return "\n".join(part for part in (text[:head], left, text[tail:]) if part)


def _named(name: str) -> str:
    return clean_name(name).replace("`", "'")[:80]
