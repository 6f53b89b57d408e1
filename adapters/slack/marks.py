"""Show formatting characters as text in mrkdwn, which has no escape for them.

Slack formats any text between two marks at word borders. Only code and a space reliably prevent that
(https://github.com/slackhq/slack-api-docs/issues/34); a zero-width space does not, as Slack does not count it as a
space. So `*x*` is written as code if it is alone, and otherwise with characters that look the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_SIGNS: Mapping[str, str] = {"*": "\ue002", "_": "\ue003", "~": "\ue004", "`": "\ue005"}
"""The placeholder of each mark that is text, until its paragraph is complete."""
_ALIKE: Mapping[str, str] = {"*": "∗", "_": "＿", "~": "∼", "`": "‵"}
_TO_SIGNS = str.maketrans("".join(_SIGNS), "".join(_SIGNS.values()))
_TO_ALIKE = str.maketrans("".join(_ALIKE), "".join(_ALIKE.values()))
_HELD = re.compile("[" + "".join(_SIGNS.values()) + "]")
_RESERVED = re.compile("[\ue002-\ue007]")
_MARKS = {sign: mark for mark, sign in _SIGNS.items()}
_OPAQUE = re.compile(r"<[^<>\n]+>|`[^`\n]+`")
_FENCE = re.compile("\ue005{3,}")
_KEPT = re.compile("\ue006(\\d+)\ue007")


def held(text: str) -> str:
    """Replace the marks in plain text by placeholders, to tell them from real formatting."""
    return _RESERVED.sub("", text).translate(_TO_SIGNS)


def as_text(paragraph: str) -> str:
    """Replace the placeholders of `held` by marks that format nothing."""
    if not _HELD.search(paragraph):
        return paragraph
    return "\n".join(_line(line) for line in paragraph.split("\n"))


def look_alike(text: str) -> str:
    """Replace all marks in a text by look-alike characters."""
    return text.translate(_TO_ALIKE)


def _line(line: str) -> str:
    pieces: list[str] = []

    def keep(text: str) -> str:
        """Store finished text under a placeholder."""
        pieces.append(text)
        return f"\ue006{len(pieces) - 1}\ue007"

    line = _OPAQUE.sub(lambda found: keep(found.group()), line)
    ticks = line.count("\ue005") > 1 or any(piece[0] == "`" for piece in pieces) or _FENCE.search(line)
    if ticks:
        line = line.replace("\ue005", _ALIKE["`"])
    for mark in "*_~":
        if _SIGNS[mark] in line:
            line = _one_mark(line, mark, keep)
    line = _HELD.sub(lambda found: _MARKS[found.group()], line)
    return _KEPT.sub(lambda found: pieces[int(found[1])], line)


def _one_mark(line: str, mark: str, keep: Callable[[str], str]) -> str:
    """Neutralise one kind of mark in a line."""
    sign, alike = _SIGNS[mark], _ALIKE[mark]
    if mark in line:
        # Between two formatting marks, another would end them; beside them, one at a word's border could begin with
        # them.
        parts = line.split(mark)
        inside = [part.replace(sign, alike) if odd % 2 else part for odd, part in enumerate(parts)]
        return re.sub(rf"(?<!\w){sign}|{sign}(?!\w)", alike, mark.join(inside))

    def disarm(found: re.Match[str]) -> str:
        inner = found[1]
        if re.search("[*_~`\ue005-\ue007\u200b]", inner):
            return f"{alike}{inner}{alike}"
        words = _HELD.sub(lambda held: _MARKS[held.group()], inner)
        return keep(f"`{mark}{words}{mark}`")

    either = rf"(?<![\w{sign}]){sign}(?=[^\s{sign}])([^{sign}\n]*[^\s{sign}]){sign}(?![\w{sign}])"
    return re.sub(either, disarm, line)
