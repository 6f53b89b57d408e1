"""Short ids of turns."""

from __future__ import annotations

import re

import pytest

from bot.contract.reference import reference_of, turns_of


def test_a_reference_leads_back_to_its_turn() -> None:
    made = [reference_of(turn) for turn in range(1, 50_000)]

    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[0-9a-f]{6}", one) for one in made)
    for turn in (1, 2, 49_999, 2**24 - 1):
        assert turns_of(reference_of(turn), 2**24) == [turn]


def test_after_sixteen_million_turns_the_latest_comes_first() -> None:
    assert turns_of(reference_of(5), 2**25) == [2**24 + 5, 5]


def test_neighbours_do_not_look_alike() -> None:
    assert sum(one == two for one, two in zip(reference_of(7), reference_of(8), strict=True)) < 4


@pytest.mark.parametrize("text", ["", "12345", "1234567", "xyzxyz"])
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        turns_of(text, 100)
