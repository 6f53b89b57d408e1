"""What people are shown of the tools behind an answer: on request, or under it where the operator wants that."""

from __future__ import annotations

from typing import Any

import pytest

from bot.contract.clock import SystemClock
from bot.contract.surface import SurfaceLimits
from bot.contract.transcript import AssistantEntry
from bot.markdown.tree import Paragraph, Quote, Text, parse
from bot.reply.paging import Paginator
from bot.safety.redactor import Redactor
from bot.safety.untrusted import wrap_as_data
from bot.settings import AnswerSettings
from bot.store import CallRecord, Store
from bot.turn.draft import Progress
from bot.turn.footer import (
    COLLAPSED_CHARS,
    MOST_CALLS,
    RESULT_CHARS,
    call_lines,
    code_line,
    collapsed_reasoning,
    describe_reasoning,
    write_footer,
)
from bot.turn.story import Story
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tools.contract.base import ToolCall, ToolResult, ToolStatus

KEY = "sk-loopback-key-1234"
CALL = (("calculator", {"expression": "17*3"}),)


def record(text: str = "51", **more: Any) -> CallRecord:
    call = ToolCall("c1", "calculator", {"expression": "17*3"} | more)
    return CallRecord(1, 0, call, False, ToolStatus.COMPLETED, 0.0, 1.25, ToolResult(text=text))


def test_a_call_is_one_line_and_its_result_another() -> None:
    calls = [record()]

    line = '- **calculator** `{"expression": "17*3"}`: completed, 1.2 s'
    assert call_lines(calls, "en", str, results=False) == line
    assert call_lines(calls, "en", str, results=True) == f"{line}\n  → `51`"


def test_what_others_wrote_stays_in_one_short_line_of_code() -> None:
    shown = call_lines([record("`x` ![i](http://e.vil)\n\n# @everyone " * 500)], "en", str, results=True)

    head = shown.splitlines()[-1]
    assert len(shown.splitlines()) == 2 and head.count("`") == 2
    assert len(head) <= RESULT_CHARS + 8


def test_a_secret_is_masked_before_a_text_is_cut() -> None:
    for at in range(RESULT_CHARS - 20, RESULT_CHARS + 2):
        line = code_line("x" * at + KEY, Redactor([KEY]).redact, RESULT_CHARS)

        assert "sk-loop" not in line and len(line) <= RESULT_CHARS


def test_our_own_boundary_marks_are_shown_nowhere() -> None:
    """A model repeats them in its thoughts, in arguments, and in what it condenses; the text between them stays."""
    told = wrap_as_data(wrap_as_data("Tea is a leaf.", "12345678", "read_page"), "12345678", "the tools' authors")
    written = f"It says:\n{told}\nSo I answer."

    thought = collapsed_reasoning(written, "en", str), describe_reasoning(written, "en", str)
    calls = call_lines([record(written, code=written)], "en", str, results=True)

    for shown in (*thought, calls):
        assert "data" not in shown and "12345678" not in shown and "····" not in shown
        assert all(words in shown for words in ("It says", "Tea is a leaf", "So I answer"))


@pytest.mark.parametrize(("collapses", "shown"), [(True, 1), (False, 0)])
async def test_reasoning_stands_under_an_answer_where_the_platform_can_fold_it(
    store: Store, collapses: bool, shown: int
) -> None:
    settings = AnswerSettings.model_construct(show_reasoning="quote")
    limits = SurfaceLimits(400, 800, len, collapses=collapses)

    under = await write_footer(store, 1, "First I think.", "en", str, settings, limits)

    assert len(under) == shown and all("First I think" in one for one in under)


def test_of_many_calls_some_are_shown_and_the_rest_counted() -> None:
    lines = call_lines([record()] * (MOST_CALLS + 3), "en", str, results=False).splitlines()

    assert len(lines) == MOST_CALLS + 1 and "3 more" in lines[-1]


def told(it: Rig) -> str:
    """Everything the model was told last."""
    return "\n".join(str(message.get("content")) for message in it.model.requests[-1].body["messages"])


@pytest.mark.parametrize("show", ["off", "line", "full"])
async def test_the_tools_stand_under_the_answer_as_the_operator_wants(rig: OpenRig, show: str) -> None:
    async with rig(SHOW_TOOLS=show, TOOL_MODE="native") as it:
        it.model.reply(Reply("I reckon.", calls=CALL), Reply("It is 51."), Reply("Yes."))
        [answer] = await it.say("What is 17*3?")
        await it.say("Really, is it so?")
        history = told(it)

    head, rule, rest = answer.partition("\n\n---\n\n") if show != "off" else answer.partition("\n\n")
    assert (head, rest.partition("\n")[0]) == ("I reckon.", "It is 51.")
    assert ("**Tools used**" in rest) == (show != "off")
    assert ('**calculator** `{"expression": "17*3"}`: completed' in rest) == (show != "off")
    assert ("→ `" in rest) == (show == "full")
    assert rule and "I reckon." in history and "It is 51." in history
    assert "---" not in history.partition("I reckon.")[2] and "Tools used" not in history


@pytest.mark.parametrize("show", ["off", "line"])
async def test_code_that_one_pass_leaves_open_does_not_swallow_the_next(rig: OpenRig, show: str) -> None:
    async with rig(SHOW_TOOLS=show, TOOL_MODE="native") as it:
        it.model.reply(Reply("Look:\n```\n17*3", calls=CALL), Reply("It is 51."))
        [answer] = await it.say("What is 17*3?")

    rule = "" if show == "off" else "---\n\n"
    assert answer.startswith(f"Look:\n```\n17*3\n```\n\n{rule}It is 51.")


async def test_an_answer_without_tools_has_nothing_under_it(rig: OpenRig) -> None:
    async with rig(SHOW_TOOLS="full") as it:
        it.model.reply(Reply("Hello."))

        assert await it.say("Say hello to me") == ["Hello."]


async def test_a_stopped_answer_keeps_the_rule_between_passes_out_of_what_the_model_said(rig: OpenRig) -> None:
    async with rig(SHOW_TOOLS="line", TOOL_MODE="native") as it:
        it.model.reply(
            Reply("I reckon.", calls=CALL), Reply("It is 51 or so, let me see.", hang_after=14), Reply("Yes.")
        )
        await it.deliver(it.message("What is 17*3?"))
        await it.until(lambda: any("It is" in text for text in it.shown()))
        await it.say("/stop")
        await it.say("Really, is it so?")
        history = told(it)

    assert "It is 51" in history and "---" not in history.partition("I reckon.")[2]


async def test_why_masks_and_shows_what_a_result_began_with(rig: OpenRig) -> None:
    async with rig(TOOL_MODE="native") as it:
        it.model.reply(Reply("", calls=(("calculator", {"expression": f"17*3 {KEY}"}),)), Reply("No."))
        await it.say("Reckon something for me")
        [why] = await it.say("/why")

    assert KEY not in why and "→ `" in why


THOUGHT = "First I multiply.\n\n  @everyone *17* times https://evil.com/3 " + KEY


@pytest.mark.parametrize("show", ["off", "why", "quote"])
async def test_why_tells_how_long_the_reasoning_is_and_how_it_begins(rig: OpenRig, show: str) -> None:
    async with rig(SHOW_REASONING=show) as it:
        it.model.reply(Reply("It is 51.", reasoning=THOUGHT + " again" * 200))
        [answer] = await it.say("What is 17*3?")
        [why] = await it.say("/why")

    assert answer == "It is 51."  # this platform cannot collapse anything
    assert KEY not in why
    assert ("characters, begins with:\n> First I multiply\\.\n> \\@everyone \\*17\\* times" in why) == (show != "off")
    assert len(why) < 1200


def test_reasoning_under_an_answer_is_one_collapsed_quote_of_inert_words() -> None:
    [quoted] = parse(collapsed_reasoning(THOUGHT + " word" * 1000, "en", Redactor([KEY]).redact))

    assert isinstance(quoted, Quote) and quoted.collapsed
    [paragraph] = quoted.blocks
    assert isinstance(paragraph, Paragraph)
    [words] = paragraph.children
    assert isinstance(words, Text)
    assert words.text.startswith("Reasoning, ")
    assert "@everyone *17* times https://evil.com/3" in words.text and KEY not in words.text
    assert len(words.text) < COLLAPSED_CHARS + 40


@pytest.mark.parametrize("size", [1850, 3600])
def test_a_page_ends_before_the_reasoning_and_not_within_it(size: int) -> None:
    note = collapsed_reasoning("I *think* about it. " * 100, "en", str)
    for words in range(100, 700, 7):
        pages = Paginator(size)
        pages.extend("word " * words)
        pages.extend(f"\n\n{note}")
        pages.finish()
        bodies = [page.body for page in pages.pages]

        assert sum(note in body for body in bodies) == 1, words


def test_reasoning_of_passes_before_a_restart_is_kept() -> None:
    made = Progress(Story(SystemClock()), passes=[AssistantEntry(text="", reasoning="First."), AssistantEntry(text="")])
    made.thinking += ["Th", "en."]

    assert made.reasoning == "First.\n\nThen."


async def test_after_a_restart_the_rule_and_the_tools_are_there_once(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.operations.stopping.TURN_SECONDS", 0.1)
    async with rig(SHOW_TOOLS="full", TOOL_MODE="native") as it:
        it.model.reply(Reply("I reckon.", calls=CALL), Reply("It is 51 or so, let me see.", hang_after=14))
        await it.deliver(it.message("What is 17*3?"))
        await it.until(lambda: any("It is" in text for text in it.shown()))
    async with rig(SHOW_TOOLS="full", TOOL_MODE="native") as it:
        it.number = 20
        it.model.reply(Reply("It is 51."), Reply("Yes."))
        await it.until(lambda: any("Tools used" in text for text in it.shown()))
        await it.idle()
        [answer] = it.shown()
        await it.say("Really, is it so?")
        history = told(it)

    assert answer.startswith("I reckon.\n\n---\n\nIt is 51.\n\n**Tools used**\n\n- **calculator**")
    assert answer.count("---") == answer.count("Tools used") == answer.count("→ `") == 1
    assert "---" not in history.partition("I reckon.")[2] and "Tools used" not in history
