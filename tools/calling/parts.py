"""Split a long text into parts."""

from __future__ import annotations

_ENDS = (". ", "! ", "? ", "。", "！", "？")


def in_parts(text: str, room: int) -> list[str]:
    """Return `text` in parts of at most `room` characters, cut between paragraphs, else lines, sentences or words."""
    parts: list[str] = []
    start = 0
    while len(text) - start > room:
        end = _cut(text, start, start + room)
        parts.append(text[start:end].strip())
        start = end
    parts.append(text[start:].strip())
    return [part for part in parts if part] or [""]


def _cut(text: str, start: int, end: int) -> int:
    """Return where to cut before `end`, so that each part is at least half full."""
    early = start + (end - start) // 2
    for mark in ("\n\n", "\n"):
        found = text.rfind(mark, early, end)
        if found > 0:
            return found + len(mark)
    sentences = [found + len(mark) for mark in _ENDS if (found := text.rfind(mark, early, end)) > 0]
    if sentences:
        return max(sentences)
    found = text.rfind(" ", early, end)
    return found + 1 if found > 0 else end
