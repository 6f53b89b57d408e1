"""Cut a list between its entries to a length, stating how many there are."""

from __future__ import annotations

from collections.abc import Sequence

_CUT = " […]"


def joined(head: str, entries: Sequence[str], chars: int, *, what: str = "results", tail: str = "") -> tuple[str, int]:
    """Join head, entries and tail in at most `chars` characters; return the text and the number of entries.

    If they do not all fit, the tail is shortened first, and a notice says how many are shown; if not even one fits, a
    part of the first one is shown.
    """
    whole = head + "".join(entries) + tail
    if len(whole) <= chars or not entries:
        return whole[:chars], len(entries)
    most = len(entries)
    room = chars - len(head) - len(_notice(most, most, what))
    shown = 0
    while shown < most and len(entries[shown]) <= room:
        room -= len(entries[shown])
        shown += 1
    if shown:
        return head + "".join(entries[:shown]) + (_notice(shown, most, what) if shown < most else ""), shown
    notice = _notice(1, most, what)
    return (head + entries[0])[: max(0, chars - len(notice) - len(_CUT))] + _CUT + notice, 1


def _notice(shown: int, found: int, what: str) -> str:
    return f"\n({shown} of {found} {what} are shown.)"
