"""How an answer ends: the sentence that the person reads, and when nothing is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.agent import Failed, Finished
from bot.contract import SystemClock
from bot.policy import Once
from bot.settings import ToolRuleSettings
from bot.store import TurnState
from bot.turn import Approvals
from bot.turn.closing import Closing, is_said
from bot.turn.draft import Draft
from tests.bot.conftest import OpenRig, Rig
from tests.bot.turn.conftest import MakeDraft


def once_of(it: Rig) -> Once:
    return Once(it.bot.store.access.claim, SystemClock())


def endings(it: Rig, draft: Draft) -> Closing:
    bot, clock = it.bot, SystemClock()
    approvals = Approvals(store=bot.store, settling=bot.settling, clock=clock, rules=ToolRuleSettings.model_construct())
    return Closing(
        store=bot.store,
        models=bot.models,
        once=once_of(it),
        settling=bot.settling,
        summaries=bot.summaries,
        approvals=approvals,
        metrics=bot.metrics,
        clock=clock,
        answers=draft.settings,
        redact=str,
    )


async def test_a_spent_quota_is_told_once_and_again_to_who_awaits_an_answer(rig: OpenRig) -> None:
    async with rig() as it:
        once, question, spent = once_of(it), it.message("What is tea?"), Failed("spent_person", "spent", until=4e9)

        assert [await is_said(spent, question, once) for _ in range(3)] == [True, False, False]
        assert await is_said(spent, replace(question, awaited=True), once)
        assert await is_said(replace(spent, sentence="spent_nobody"), question, once)
        assert await is_said(Failed("filtered", "refused by its filter"), question, once)


@pytest.mark.parametrize(
    ("words", "window", "told"),
    [
        ("tea " * 900, 1_000, "for the model: about "),
        ("tea", 1_000, "takes only 1,000 tokens"),
        ("tea", 0, "send it in parts"),
    ],
    ids=["message", "window", "unknown window"],
)
async def test_what_is_too_long_is_told_with_what_the_model_takes(
    rig: OpenRig, draft: MakeDraft, words: str, window: int, told: str
) -> None:
    async with rig() as it:
        one = await draft(it)
        one = replace(one, known=replace(one.known, asked=replace(one.known.asked, text=words)))

        assert told in endings(it, one).write_note(one, Failed("too_long", "context", window=window))


async def test_what_ends_an_answer_stands_under_it(rig: OpenRig, draft: MakeDraft) -> None:
    async with rig() as it:
        for outcome, visible, state, under in (
            (Finished(), "Tea is a leaf.", TurnState.DONE, ""),
            (Finished("cut"), "Tea is", TurnState.DONE, "Tea is\n\n"),
            (Failed("filtered", "refused by its filter"), "Tea is", TurnState.FAILED, "Tea is\n\n"),
            (None, "Tea is", TurnState.STOPPED, ""),
        ):
            one = await draft(it)
            ends = endings(it, one)
            async with one.reply:
                one.say(visible)
                end = await ends.write_under(one, outcome)
            assert end.state == state and bool(end.note) == bool(under)
            assert one.reply.text == (under + end.note if under else visible)
            assert (end.error != "") == (state == TurnState.FAILED)


async def test_nothing_is_written_where_a_quota_was_told_and_nothing_else_is_shown(
    rig: OpenRig, draft: MakeDraft
) -> None:
    async with rig() as it:
        spent, notes = Failed("spent_person", "spent", until=4e9), []
        for _ in range(2):
            one = await draft(it)
            async with one.reply:
                notes.append((await endings(it, one).write_under(one, spent)).note)

        assert notes[0] and not notes[1] and it.shown() == [notes[0]]
