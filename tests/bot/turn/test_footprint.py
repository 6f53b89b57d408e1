"""What a turn holds while it is under way, counted in objects: many chats are answered at the same time."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from bot.contract.transcript import AssistantEntry, entry_from_json, entry_to_json
from bot.store import HistoryRow
from playground.faults import Fault
from playground.model import Reply
from tests.bot.conftest import OpenRig


def alive(kind: type[Any]) -> list[Any]:
    """All objects of this very type."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is kind]


async def test_a_turn_under_way_holds_of_its_chat_what_the_model_is_told_and_nothing_more(rig: OpenRig) -> None:
    """Neither the rows of the database nor what a model thought in earlier turns."""
    async with rig() as it:
        for number in range(3):
            it.model.reply(Reply(f"Answer {number}.", reasoning=f"I think of {number}."))
            await it.say(f"question {number}")
        rows, entries = len(alive(HistoryRow)), {id(entry) for entry in alive(AssistantEntry)}
        gate = asyncio.Event()
        held = it.model.faults.add("*", Fault(hold=gate))
        await it.deliver(it.message("question 3"))
        await held.reached.wait()

        told = [entry for entry in alive(AssistantEntry) if id(entry) not in entries]
        assert sorted(entry.text for entry in told) == ["Answer 0.", "Answer 1.", "Answer 2."]
        assert [entry.reasoning for entry in told] == ["", "", ""]
        assert len(alive(HistoryRow)) == rows
        stored = await it.bot.store.history.list_entries(it.message("").chat)
        assert [
            row.entry.reasoning
            for row in stored
            if isinstance(row.entry, AssistantEntry) and row.entry.text == "Answer 2."
        ] == ["I think of 2."]
        gate.set()
        await it.idle()


def test_the_answers_of_a_chat_share_what_they_have_in_common() -> None:
    written = [entry_to_json(AssistantEntry(f"answer {number}", provider="openai https://x/v1")) for number in range(9)]

    entries = [entry_from_json(text) for text in written]

    assert [entry.text for entry in entries if isinstance(entry, AssistantEntry)] == [f"answer {n}" for n in range(9)]
    assert len({id(entry.provider) for entry in entries if isinstance(entry, AssistantEntry)}) == 1
    assert len({id(entry.raw) for entry in entries if isinstance(entry, AssistantEntry)}) == 1
