"""A question that is asked again: the former answer is marked once there is a new one, and stays if there is none."""

from __future__ import annotations

import pytest

from bot.contract import ChatId, Control
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tests.bot.intake.test_changes import deletion, last_turn, press, question, told
from tests.bot.turn.test_approvals import settled
from tests.bot.turn.test_decided import delete_newest

MARK = "\n\n*↻ Asked again: the new answer is below.*"
BUSY = Reply(status=401)


async def again(it: Rig, how: str, *replies: Reply) -> list[str]:
    """Ask for another answer; what is shown then."""
    it.model.reply(*replies)
    if how == "/retry":
        await it.deliver(it.message("/retry"))
    else:
        await it.deliver(press(it, Control.REGENERATE, await last_turn(it)))
    await it.idle()
    await settled(it)
    return it.shown()


async def test_a_former_answer_is_marked_when_the_new_one_is_complete(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("A stone."))
        await it.say("What is tea?")
        assert await again(it, "/retry", Reply("A leaf.")) == ["A stone." + MARK, "A leaf."]
        assert await again(it, "/retry", Reply("A plant.")) == ["A stone." + MARK, "A leaf." + MARK, "A plant."]

        assert [bool(page.buttons) for page in it.memory.pages["7"].values()] == [False, False, True]


async def test_a_long_former_answer_stays_in_its_messages(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply(" ".join(f"word{number}" for number in range(1500))))
        await it.say("What is tea?")
        before = it.shown()
        assert len(before) > 2

        shown = await again(it, "/retry", Reply("A leaf."))

        assert shown == [*before[:-1], before[-1] + MARK, "A leaf."]


@pytest.mark.parametrize("how", ["/retry", "button"])
async def test_an_answer_that_could_not_be_made_anew_stays_for_people_and_the_model(rig: OpenRig, how: str) -> None:
    async with rig() as it:
        it.model.reply(Reply("A stone."))
        await it.say("What is tea?")

        shown = await again(it, how, BUSY)

        assert len(shown) == (2 if how == "/retry" else 1) and shown[0].startswith("A stone.") and MARK not in shown[0]
        it.model.reply(Reply("Hard."))
        await it.say("And how is it?")
        assert told(it).count("A stone.") == 1 and told(it).count("What is tea?") == 1

        await it.say("/new")
        it.model.reply(Reply("A cup."))
        await it.say("What is a cup?")
        shown = await again(it, how, BUSY)
        await again(it, how, Reply("A vessel."))
        it.model.reply(Reply("Of clay."))
        await it.say("Of what?")
        assert told(it).count("A cup.") == 0 and told(it).count("A vessel.") == 1, "only the newest counts"
        assert ("A cup." + MARK in it.shown()) == (how == "/retry")


async def test_an_answer_made_anew_that_is_stopped_before_its_first_word_leaves_the_former(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("A stone."))
        await it.say("What is tea?")
        before = len(it.model.requests)
        it.model.reply(Reply("word " * 400, hang_after=0))
        await it.deliver(press(it, Control.REGENERATE, await last_turn(it)))
        await it.model.asked(before + 1)
        await it.deliver(it.message("/stop"))
        await it.idle()

        assert it.shown()[0] == "A stone.\n\nStopped."
        it.model.reply(Reply("Hard."))
        await it.say("And how is it?")
        assert "A stone." in told(it)


async def test_a_former_answer_that_somebody_deleted_is_not_posted_anew(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("A stone."))
        await it.say("What is tea?")
        delete_newest(it)

        assert await again(it, "/retry", Reply("A leaf.")) == ["A leaf."]


async def test_a_former_answer_is_marked_by_the_next_process_if_this_one_ends_before(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(turn: int, chat: ChatId) -> None:
        return None

    async with rig() as it:
        it.model.reply(Reply("A stone."))
        await it.say("What is tea?")
        first = await last_turn(it)
        with monkeypatch.context() as patch:
            patch.setattr(it.bot.conversation.settling, "refresh", dies)
            assert (await again(it, "/retry", Reply("A leaf.")))[0] == "A stone."
        assert [turn for turn, *_ in await it.bot.store.turns.list_unsettled()] == [first]

        await it.bot.conversation.settling.refresh(first, ChatId("telegram", "42", "7"))
        await settled(it)

        assert it.shown()[0] == "A stone." + MARK and await it.bot.store.turns.list_unsettled() == []


async def test_a_deleted_question_takes_former_answers_with_it(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("A stone."))
        sent = question(it, "What is tea?")
        await it.deliver(sent)
        await it.idle()
        await again(it, "/retry", BUSY)
        await again(it, "/retry", Reply("A leaf."))
        assert len(it.shown()) == 3
        await it.deliver(deletion(sent))
        await it.idle()

        assert it.shown() == []
        assert await it.bot.store.turns.find_last(ChatId("telegram", "42", "7")) is None
