"""A cut never tears what a person sees as one character."""

from __future__ import annotations

import pytest

from bot.reply.graphemes import boundary_before, is_boundary

FAMILY = "👩\u200d👩\u200d👧"
FLAGS = "🇩🇪🇫🇷🇯🇵"


@pytest.mark.parametrize(
    ("text", "borders"),
    [
        ("tea", [0, 1, 2, 3]),
        ("a\r\nb", [0, 1, 3, 4]),
        ("e\u0301te\u0301", [0, 2, 3, 5]),
        (FAMILY, [0, 5]),
        (FLAGS, [0, 2, 4, 6]),
        (f"Tea {FLAGS}", [0, 1, 2, 3, 4, 6, 8, 10]),
        ("茶を飲む", [0, 1, 2, 3, 4]),
        ("", [0]),
    ],
)
def test_borders_lie_between_what_is_seen_as_one(text: str, borders: list[int]) -> None:
    assert [at for at in range(len(text) + 1) if is_boundary(text, at)] == borders
    assert [boundary_before(text, at) for at in range(len(text) + 1)] == [
        max(border for border in borders if border <= at) for at in range(len(text) + 1)
    ]


def test_marks_without_end_are_cut_somewhere() -> None:
    text = "e" + "\u0301" * 200

    assert 0 < boundary_before(text, 150) < 150
    assert boundary_before(text, 30) == 0


def test_flags_are_counted_from_the_floor() -> None:
    """What stands before it was added by paging, and is no half of a flag."""
    assert boundary_before("x" + FLAGS, 4, floor=1) == 3
    assert boundary_before(FLAGS * 20, 101) == 100
