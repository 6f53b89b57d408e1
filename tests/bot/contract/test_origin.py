"""Whose words a text holds, after it was made from others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.contract.origin import OURS, OUTSIDE, is_from_outside, join_origins

ORIGINS = st.sampled_from([OURS, OUTSIDE, "telegram:7", "telegram:8", "slack:T1/U1"])


def test_words_of_two_people_answer_for_neither() -> None:
    both = join_origins(["telegram:7", "telegram:8"])

    assert is_from_outside(both, "telegram:7") and is_from_outside(both, "telegram:8")


def test_ones_own_words_and_ours_are_not_from_outside() -> None:
    assert not is_from_outside(join_origins([OURS, "telegram:7", "telegram:7"]), "telegram:7")
    assert is_from_outside(join_origins(["telegram:7"]), "telegram:8")
    assert join_origins([]) == OURS


@given(st.lists(ORIGINS, max_size=5), st.lists(ORIGINS, max_size=5), st.sampled_from(["telegram:7", "telegram:8"]))
def test_words_from_outside_stay_so_whatever_they_are_put_together_with(
    some: list[str], others: list[str], person: str
) -> None:
    whole = join_origins([join_origins(some), join_origins(others)])

    assert whole == join_origins([*others, *some])
    assert is_from_outside(whole, person) == any(is_from_outside(one, person) for one in [*some, *others])
