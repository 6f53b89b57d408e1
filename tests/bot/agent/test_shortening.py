"""A conversation that its model refuses as too long gets shorter step by step, and never loses the question."""

from __future__ import annotations

from bot.agent.shortening import LEAST_RESULT_CHARS, drop_oldest, shorten
from bot.contract import AssistantEntry, Entry, SystemEntry, ToolEntry, UserEntry
from bot.model import Request
from bot.safety import wrap_as_data
from bot.safety.untrusted import MOST_TOLD, OLD_RESULT_CHARS
from tools.contract.base import ToolCall, ToolSpec

TOOL = ToolSpec(name="look", purpose="Look.", parameters={}, category="web")
PROMPT = SystemEntry("be kind")


def turn(number: int) -> list[Entry]:
    call = ToolCall(f"c{number}", "look", {})
    return [
        UserEntry(f"q{number}"),
        AssistantEntry("", (call,)),
        ToolEntry(call.id, "look", "seen"),
        AssistantEntry(f"a{number}"),
    ]


def test_the_older_half_of_the_turns_goes_whole_and_the_prompt_stays() -> None:
    conversation = [PROMPT, *turn(1), *turn(2), *turn(3), UserEntry("q4")]

    assert drop_oldest(conversation) == (PROMPT, *turn(3), UserEntry("q4"))
    assert drop_oldest([UserEntry("q1"), AssistantEntry("a1"), UserEntry("q2")]) == (UserEntry("q2"),)
    assert drop_oldest([PROMPT, UserEntry("q1")]) == (PROMPT, UserEntry("q1"))


def test_first_the_old_turns_go_then_long_results_then_the_tools() -> None:
    asked: list[Entry] = [UserEntry("q"), AssistantEntry("", (ToolCall("c", "look", {}),))]
    long = ToolEntry("c", "look", "r" * (OLD_RESULT_CHARS + 1_000))
    request = Request(entries=(PROMPT, *turn(1), *asked, long), tools=(TOOL,))

    without_turns = shorten(request)
    assert without_turns is not None and without_turns.entries == (PROMPT, *asked, long)

    with_less = shorten(without_turns)
    assert with_less is not None and with_less.tools == (TOOL,)
    assert _length(with_less) == [MOST_TOLD]

    steps = [with_less]
    while (shorter := shorten(steps[-1])) is not None:
        steps.append(shorter)
    assert [_length(one) for one in steps] == [
        [MOST_TOLD],
        [MOST_TOLD // 2],
        [MOST_TOLD // 4],
        [LEAST_RESULT_CHARS],
        [LEAST_RESULT_CHARS],
    ]
    assert [one.tools for one in steps] == [(TOOL,)] * 4 + [()], "results are told without tools, too"


def _length(request: Request) -> list[int]:
    return [len(entry.text) for entry in request.entries if isinstance(entry, ToolEntry)]


def test_of_many_results_the_older_ones_are_left_out_and_the_calls_stay() -> None:
    """What had effects would else be done again."""
    calls = tuple(ToolCall(f"c{number}", "look", {}) for number in range(4))
    results = [ToolEntry(call.id, "look", f"{call.id} " * 2_000, whole="") for call in calls]
    passes: list[Entry] = [AssistantEntry("", calls[:3]), *results[:3], AssistantEntry("", calls[3:]), results[3]]
    request: Request | None = Request(entries=(PROMPT, UserEntry("q"), *passes))

    while request is not None:
        last, request = request, shorten(request)

    told = [entry for entry in last.entries if isinstance(entry, ToolEntry)]
    assert [entry.text.startswith("[this result is left out") for entry in told] == [True, True, True, False]
    assert [entry.whole for entry in told] == [entry.text for entry in results]
    assert [type(entry) for entry in last.entries] == [SystemEntry, UserEntry, *(type(entry) for entry in passes)]


def test_a_result_that_is_cut_stays_between_its_boundary_lines() -> None:
    text = wrap_as_data("Tea! " * 1_000, "0123abcd", "look")
    request = Request(
        entries=(UserEntry("q"), AssistantEntry("", (ToolCall("c", "look", {}),)), ToolEntry("c", "look", text))
    )

    for _ in range(4):
        shorter = shorten(request)
        assert shorter is not None
        request = shorter
        told = request.entries[-1].text.splitlines()
        assert told[0] == text.splitlines()[0] and told[-1] == "[end of data 0123abcd]"
        assert "left out" in told[-2]


def test_a_question_alone_goes_without_tools_and_then_not_at_all() -> None:
    bare = shorten(Request(entries=(PROMPT, UserEntry("q")), tools=(TOOL,), tool_choice="required"))

    assert bare is not None and (bare.tools, bare.tool_choice) == ((), "auto")
    assert shorten(bare) is None
