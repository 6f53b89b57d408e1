"""What an agent reports is stored where it must survive, and only then shown."""

from __future__ import annotations

import pytest

from bot.agent import (
    GAP,
    EarlyCall,
    Failed,
    FileProduced,
    Finished,
    ModelReplaced,
    PassEnded,
    ReasoningDelta,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from bot.agent.events import Event
from bot.contract import SystemClock
from bot.contract.errors import StoreError
from bot.contract.messages import File
from bot.contract.transcript import AssistantEntry, ToolEntry, Usage
from bot.policy import Prices
from bot.turn.events import EventTaker, ends_stage
from tests.bot.conftest import OpenRig, Rig
from tests.bot.turn.conftest import MakeDraft
from tools.contract.base import ToolCall, ToolResult

CALL = ToolCall("c1", "calculator", {"expression": "6*7"})
ASKS = PassEnded(AssistantEntry(text="I reckon.", calls=(CALL,), reasoning="Hm."), "openai:scripted", Usage(10, 5))


def showing(it: Rig) -> EventTaker:
    return EventTaker(
        store=it.bot.store, registry=it.bot.registry, prices=Prices(), metrics=it.bot.metrics, clock=SystemClock()
    )


async def test_a_turn_is_stored_step_by_step(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        one, shows, turns = await draft(it), showing(it), it.bot.store.turns
        async with one.reply:
            for event in (ReasoningDelta("Hm."), TextDelta("I reckon."), ASKS):
                assert await shows.take(one, event) is None
            (kept,) = (await turns.load(one.run.turn)).passes
            assert kept.entry.text == "I reckon." and not one.made.current and one.made.reasoning == "Hm."

            await shows.take(one, ToolStarted(CALL, "Reckoning…"))
            (call,) = (await turns.load(one.run.turn)).calls
            assert call.status == "running" and call.result is None
            await shows.take(one, ToolFinished(CALL, ToolResult(text="42", own_words=True, dollars=0.5)))
            (call,) = (await turns.load(one.run.turn)).calls
            assert call.result is not None and call.result.text == "42"

            # What the agent puts between two passes is ours, and no model's words.
            await shows.take(one, TextDelta(GAP + "It is "))
            await shows.take(one, TextDelta("42."))
            assert one.made.current == ["It is ", "42."]
            end = Finished()
            assert await shows.take(one, end) is end

        assert it.shown() == ["I reckon.\n\nIt is 42."]
        assert one.made.dollars == 0.5 and one.made.usage == Usage(10, 5)


@pytest.mark.parametrize("method", ["save_pass", "start_call", "end_call"])
async def test_what_cannot_be_stored_is_not_taken_for_done(
    rig: OpenRig, draft: MakeDraft, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def full(*args: object, **more: object) -> None:
        raise StoreError("disk full")

    async with rig() as it:
        one, shows = await draft(it), showing(it)
        statuses: list[str | None] = []
        monkeypatch.setattr(one.reply, "status", lambda key, line: statuses.append(line))
        events: dict[str, Event] = {
            "save_pass": ASKS,
            "start_call": ToolStarted(CALL, "Reckoning…"),
            "end_call": ToolFinished(CALL, ToolResult(text="42", own_words=True)),
        }
        for name, event in events.items():
            if name == method:
                monkeypatch.setattr(it.bot.store.turns, name, full)
                with pytest.raises(StoreError):
                    await shows.take(one, event)
                break
            await shows.take(one, event)

        assert (method == "save_pass") == (not one.made.passes)
        assert statuses == (["Reckoning…"] if method == "end_call" else [])


async def test_statuses_files_and_a_model_that_takes_over_are_shown(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        one, shows = await draft(it), showing(it)
        failed = Failed("filtered", "refused by its filter")
        async with one.reply:
            await shows.take(one, EarlyCall(CALL, "Reckoning…", dollars=0.25))
            await it.until(lambda: any(page.status for page in it.memory.pages.get("7", {}).values()))
            await shows.take(one, TextDelta("Tea is"))
            await shows.take(one, ModelReplaced())
            await shows.take(one, TextDelta("a leaf."))
            await shows.take(one, FileProduced(File("plot.png", "image/png", b"png")))
            assert await shows.take(one, failed) is failed

        (text,) = it.shown()
        assert text.startswith("Tea is\n\n") and text.endswith("\n\na leaf.") and len(text.split("\n\n")) == 3
        assert one.made.dollars == 0.25 and one.made.current == ["Tea is", "a leaf."]
        assert [file.state for file in (await it.bot.store.turns.load(one.run.turn)).attachments] == ["final"]


async def test_a_turn_is_handed_over_only_where_nothing_of_it_runs(rig: OpenRig, draft: MakeDraft) -> None:
    """A search that began while its pass streamed was thrown away, paid for, and made again by the next process."""
    async with rig() as it:
        one = await draft(it)
        made, calls = one.made, (ToolCall("1", "calculator", {}), ToolCall("2", "calculator", {}))
        asks, says = AssistantEntry(text="", calls=calls), AssistantEntry(text="Done.")
        result = ToolEntry("1", "calculator", "2", True)

        assert not ends_stage(made, PassEnded(says, "", Usage())), "nothing is stored yet"
        made.passes.append(asks)
        assert ends_stage(made, PassEnded(asks, "", Usage()))
        await showing(it).take(one, EarlyCall(calls[0], "Adding"))
        assert not ends_stage(made, PassEnded(asks, "", Usage()))
        made.results[1, "1"] = result
        assert not ends_stage(made, ToolFinished(calls[0], ToolResult(text="2")))
        made.results[1, "2"] = result
        assert ends_stage(made, ToolFinished(calls[1], ToolResult(text="2")))
        assert not ends_stage(made, TextDelta("Done."))
        made.passes.append(says)
        assert not ends_stage(made, PassEnded(says, "", Usage())), "it is complete, and only its end is missing"
