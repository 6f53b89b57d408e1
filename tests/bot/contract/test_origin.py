"""Whose words a text holds, after it was made from others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.contract.origin import OURS, OUTSIDE, from_outside, joined

ORIGINS = st.sampled_from([OURS, OUTSIDE, "telegram:7", "telegram:8", "slack:T1/U1"])


def test_words_of_two_people_answer_for_neither() -> None:
    both = joined(["telegram:7", "telegram:8"])

    assert from_outside(both, "telegram:7") and from_outside(both, "telegram:8")


def test_ones_own_words_and_ours_are_not_from_outside() -> None:
    assert not from_outside(joined([OURS, "telegram:7", "telegram:7"]), "telegram:7")
    assert from_outside(joined(["telegram:7"]), "telegram:8")
    assert joined([]) == OURS


@given(st.lists(ORIGINS, max_size=5), st.lists(ORIGINS, max_size=5), st.sampled_from(["telegram:7", "telegram:8"]))
def test_words_from_outside_stay_so_whatever_they_are_put_together_with(
    some: list[str], others: list[str], person: str
) -> None:
    whole = joined([joined(some), joined(others)])

    assert whole == joined([*others, *some])
    assert from_outside(whole, person) == any(from_outside(one, person) for one in [*some, *others])
