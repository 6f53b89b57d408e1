"""Which earlier turns a model is told: whole ones, the newest, as many as fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.context.window import fit, turns_of
from bot.contract.transcript import AssistantEntry, Entry, ToolEntry, UserEntry
from bot.model.usage import PER_ENTRY, text_of
from bot.safety.untrusted import OLD_RESULT_CHARS
from tests.letters import count_letters
from tools.contract.base import ToolCall


def turn(number: int, calls: int = 0, size: int = 5) -> list[Entry]:
    asked = tuple(ToolCall(f"{number}-{place}", "look", {"n": place}) for place in range(calls))
    passes: list[Entry] = []
    if asked:
        passes = [AssistantEntry("", asked), *(ToolEntry(call.id, "look", "r" * size) for call in asked)]
    return [UserEntry(f"q{number}"), *passes, AssistantEntry(f"a{number}")]


def cost(entries: list[Entry]) -> int:
    return sum(len(text_of(entry)) + PER_ENTRY for entry in entries)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=8), st.integers(0, 400))
def test_only_whole_turns_are_told_the_newest_and_never_more_than_fit(
    shapes: list[tuple[int, int]], budget: int
) -> None:
    history = [entry for number, (calls, size) in enumerate(shapes) for entry in turn(number, calls, size)]

    told, turns, left_out, tokens = fit(history, budget, count_letters)

    assert told == history[len(history) - len(told) :]
    assert cost(told) == tokens <= budget
    assert (turns, left_out) == (len(turns_of(told)), len(turns_of(history)) - turns)
    assert not told or isinstance(told[0], UserEntry)
    asked = [call.id for entry in told if isinstance(entry, AssistantEntry) for call in entry.calls]
    assert asked == [entry.call_id for entry in told if isinstance(entry, ToolEntry)]
    left = turns_of(history[: len(history) - len(told)])
    assert not left or cost(told) + cost(left[-1]) > budget


def test_a_turn_that_does_not_fit_ends_the_view_even_if_an_older_one_would() -> None:
    """A conversation with a hole in it is worse than a short one."""
    history = [*turn(1), *turn(2, calls=1, size=500), *turn(3)]

    assert fit(history, 200, count_letters).entries == turn(3)


def test_an_old_result_is_told_in_short_and_the_stored_one_stays() -> None:
    history = turn(1, calls=1, size=OLD_RESULT_CHARS + 100)

    [result] = [entry for entry in fit(history, 100_000, count_letters).entries if isinstance(entry, ToolEntry)]

    assert result.text.startswith("r" * OLD_RESULT_CHARS + "\n[")
    assert len(text_of(history[2])) == OLD_RESULT_CHARS + 100


def test_what_stands_before_the_first_question_is_kept_together() -> None:
    assert turns_of([AssistantEntry("a"), UserEntry("q"), AssistantEntry("b")]) == [
        [AssistantEntry("a")],
        [UserEntry("q"), AssistantEntry("b")],
    ]


def test_the_arguments_of_calls_count() -> None:
    call = ToolCall("1", "look", {"text": "x" * 100})

    assert len(text_of(AssistantEntry("", (call,)))) > 100
    assert text_of(AssistantEntry("shown", (), False, "shown <tool_call>")) == "shown <tool_call>"
