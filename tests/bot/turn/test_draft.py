"""A draft takes over what earlier tries brought, each piece where it belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.contract.messages import File
from bot.contract.transcript import AssistantEntry, Picture, Usage
from bot.policy import Prices, read_prices
from tests.bot.conftest import OpenRig, Rig
from tests.bot.turn.conftest import MakeDraft
from tools.contract.base import ProducedFile, Source, ToolCall, ToolResult

LOOKED = ToolCall("c1", "search_web", {"query": "tea"})
SENT = ToolCall("c2", "set_reminder", {"text": "Tea!"})
PLOTTED = ToolCall("c3", "run_python", {"code": "plot()"})
FOUND = ToolResult(
    text="[1] Tea\nhttps://tea.example/leaf\nA leaf.",
    sources=(Source("Tea", "https://tea.example/leaf", 1),),
    dollars=0.008,
    untrusted=True,
)
PICTURE = ProducedFile("plot.png", "image/png", b"png")


def stored(it: Rig, *calls: tuple[ToolCall, bool, ToolResult | None], text: str = "I look it up.") -> Any:
    """Keep one pass of an earlier try with its calls: whether they have effects, and what they came to."""

    async def before(turn: int) -> None:
        turns = it.bot.store.turns
        drawn = (Picture(0, "image/png", b"drawn", "drawn.png"),)
        entry = AssistantEntry(text, tuple(call for call, _, _ in calls), reasoning="First.", pictures=drawn)
        await turns.save_pass(turn, 1, entry, "openai:scripted", Usage(1_000, 500))
        for position, (call, effects, result) in enumerate(calls):
            await turns.start_call(turn, call, passnumber=1, position=position, effects=effects)
            if result is not None:
                await turns.end_call(turn, call.id, result)

    return before


async def test_passes_results_and_what_they_paid_are_taken_over(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        one = await draft(it, stored(it, (LOOKED, False, FOUND)))
        one.resume(it.bot.registry, Prices(read_prices(["openai:scripted=1/1/2"])))

        made = one.made
        assert [entry.text for entry in made.passes] == ["I look it up."] and made.reasoning == "First."
        assert (made.model, made.usage) == ("openai:scripted", Usage(1_000, 500))
        assert made.dollars == pytest.approx(0.008 + (1_000 * 1 + 500 * 2) / 1e6)
        assert one.results[1, "c1"].text == FOUND.text and "A leaf." in made.results[1, "c1"].text
        assert not one.unknown
        assert "tea.example" in made.citations.list_cited("As [1] says.", "en")


async def test_a_call_with_effects_and_without_a_result_is_of_unknown_outcome(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        one = await draft(it, stored(it, (SENT, True, None), (LOOKED, False, None)))
        one.resume(it.bot.registry, Prices())

        # The other may simply be made again.
        assert one.unknown == {(1, "c2")} and not one.results


async def test_what_former_attempts_said_and_made_is_shown_again(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        result = ToolResult(text="Plotted.", files=(PICTURE,), own_words=True)
        one = await draft(it, stored(it, (PLOTTED, False, result)), show_tools="line")
        one.resume(it.bot.registry, Prices())
        posted: list[str] = []
        async with one.reply as reply:
            one.show_again()
            one.say("Here it is.")
            one.made.current.append("Here it is.")
            one.say(" And more.")
            one.write("Stopped.")
            await reply.finish()
            posted += [file.name for file, _ in reply.undelivered]

        assert it.shown() == ["I look it up.\n\n---\n\nHere it is. And more.\n\nStopped."]
        assert one.made.shown == reply.text and not posted
        kept = (await it.bot.store.turns.load(one.run.turn)).attachments
        assert [file.name for file in kept] == ["drawn.png", "plot.png"]


async def test_a_file_larger_than_the_platform_takes_is_told_of(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        one = await draft(it)
        one = replace(one, limits=replace(one.limits, attachment_bytes=4))
        one.attach(File("large.png", "image/png", b"12345"))
        one.attach(File("small.png", "image/png", b"1234"))

        assert [(file.name, why) for file, why in one.made.unsent] == [("large.png", "file_too_large")]
