"""A conversation that its model refuses as too long gets shorter step by step, and never loses the question."""

from __future__ import annotations

from bot.context.shortening import drop_oldest, shorten
from bot.context.window import OLD_RESULT_CHARS
from bot.contract import AssistantEntry, Entry, SystemEntry, ToolEntry, UserEntry
from bot.model import Request
from tools.base import ToolCall, ToolSpec

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
    assert len(with_less.entries[-1].text) < len(long.text)

    assert shorten(with_less) is None, "without its tools a model could not read their results"


def test_a_question_alone_goes_without_tools_and_then_not_at_all() -> None:
    bare = shorten(Request(entries=(PROMPT, UserEntry("q")), tools=(TOOL,), tool_choice="required"))

    assert bare is not None and (bare.tools, bare.tool_choice) == ((), "auto")
    assert shorten(bare) is None
