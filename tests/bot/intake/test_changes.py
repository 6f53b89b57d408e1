"""A question that its person changed or deleted: its reply is rewritten where it stands, or taken back."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.contract.messages import (
    ChatId,
    Control,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    MessageDeleted,
    MessageEdited,
    MessageRef,
    MessageSent,
    ReplyTarget,
    Sender,
)
from bot.intake.admission import Begin
from playground.faults import Fault
from playground.model import Reply
from tests.bot.conftest import OpenRig, Place, Rig
from tests.conftest import RawJson

LONG = "word " * 400


def question(it: Rig, text: str, number: str = "5", group: bool = False) -> MessageSent:
    return it.message(text, message_id=number, group=group)


def edit(sent: MessageSent, text: str, delivery: str = "e1") -> MessageEdited:
    place = {"chat": sent.chat, "sender": sent.sender, "target": sent.target}
    return MessageEdited(delivery=delivery, **place, message_id=sent.message_id, text=text)  # type: ignore[arg-type]


def deletion(sent: MessageSent) -> MessageDeleted:
    return MessageDeleted(
        delivery="x1", chat=sent.chat, sender=Sender(id=""), target=sent.target, message_id=sent.message_id
    )


def asked(body: RawJson) -> str:
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


def script(body: RawJson) -> Reply:
    said = asked(body).rsplit("\n", 1)[-1]
    return Reply(LONG, words_per_second=400) if said.startswith("long") else Reply(f"You said {said}.")


def told(it: Rig) -> str:
    return str(it.model.requests[-1].body["messages"])


async def test_an_answered_question_is_answered_again_in_the_same_message(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "one")
        await it.deliver(sent)
        await it.idle()
        [message] = it.memory.pages["7"]

        await it.deliver(edit(sent, "two"))
        await it.idle()
        await it.deliver(edit(sent, "three", "e2"))
        await it.idle()

        assert it.shown() == ["You said three."] and list(it.memory.pages["7"]) == [message]
        assert "one" not in told(it) and "two" not in told(it)


async def test_a_question_that_waits_is_asked_as_it_reads_now_in_its_place(rig: OpenRig) -> None:
    async with rig() as it:
        gate = asyncio.Event()
        held = it.model.faults.add("*", Fault(hold=gate))
        it.model.script = script
        sent = question(it, "two")
        await it.deliver(it.message("one"), sent)
        await held.reached.wait()
        await it.deliver(edit(sent, "zwei"), edit(sent, "deux", "e2"))
        while not await it.bot.store.intake.list_waiting() or it.bot.dispatcher._routes:
            await asyncio.sleep(0)
        gate.set()
        await it.idle()

        assert it.shown() == ["You said one.", "You said deux."]
        assert len(it.model.requests) == 2


async def test_an_answer_under_way_is_left_and_its_message_rewritten(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "long")
        await it.deliver(sent)
        await it.until(lambda: bool(it.shown()))
        await it.deliver(edit(sent, "short"))
        await it.idle()

        assert it.shown() == ["You said short."]


async def test_pages_that_the_new_answer_does_not_need_go(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply("word " * 3000) if asked(body) == "long" else Reply("Short.")
        sent = question(it, "long")
        await it.deliver(sent)
        await it.idle()
        assert len(it.shown()) > 2
        await it.deliver(edit(sent, "short"))
        await it.idle()

        assert it.shown() == ["Short."]


async def test_the_model_is_told_what_was_changed_where_others_were_answered_after_it(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "one")
        await it.deliver(sent, it.message("later"))
        await it.idle()
        await it.deliver(edit(sent, "two"))
        await it.idle()

        assert it.shown() == ["You said two.", "You said later."]
        assert "has changed an earlier message" in told(it) and "> one" in told(it)
        assert "You said later." in told(it) and "You said one." not in told(it)


async def test_a_change_that_a_killed_process_had_counted_is_not_counted_again(rig: OpenRig) -> None:
    async with rig(MESSAGES_PER_MINUTE="2") as it:
        it.model.script = script
        sent = question(it, "one")
        await it.deliver(sent)
        await it.idle()
        id = await it.bot.store.intake.take_in(told_of := edit(sent, "two"))
        changed = await it.bot.dispatcher._changes.find_change(told_of)
        assert id is not None and changed is not None
        assert isinstance(await it.bot.dispatcher.admission.decide(id, changed), Begin)

    async with rig(MESSAGES_PER_MINUTE="2") as it:
        it.model.script = script
        await it.idle()

        assert it.shown() == ["You said two."]


@pytest.mark.parametrize("text", ["one", "/new", "/forget yes"])
async def test_what_a_reader_does_not_see_and_what_is_a_command_now_changes_nothing(rig: OpenRig, text: str) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "one")
        await it.deliver(sent)
        await it.idle()
        command = text[1:].partition(" ")[0] if text.startswith("/") else ""
        await it.deliver(replace(edit(sent, text), command=command))
        await it.idle()

        assert it.shown() == ["You said one."] and len(it.model.requests) == 1


async def test_a_command_that_is_changed_runs_nothing(rig: OpenRig) -> None:
    async with rig() as it:
        sent = it.message("/help", message_id="5")
        await it.deliver(sent)
        await it.idle()
        before = it.shown()
        await it.deliver(edit(sent, "What is tea?"))
        await it.idle()

        assert it.shown() == before and it.model.requests == []


async def test_nobody_changes_the_question_of_somebody_else(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "one", group=True)
        await it.deliver(sent)
        await it.idle()
        await it.deliver(replace(edit(sent, "two"), sender=Sender(id="telegram:8", name="Bob")))
        await it.idle()

        assert len(it.model.requests) == 1


async def test_a_change_of_what_is_enclosed_counts(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "one")
        await it.deliver(sent)
        await it.idle()
        await it.deliver(replace(edit(sent, "one"), enclosed=(Enclosure(kind=EnclosureKind.FILE, name="a.txt"),)))
        await it.idle()

        assert len(it.model.requests) == 2 and len(it.shown()) == 1


async def test_a_changed_message_that_is_no_question_leaves_no_trace(rig: OpenRig) -> None:
    async with rig() as it:
        stranger = question(it, "among people")
        await it.deliver(edit(stranger, "still among people"), deletion(stranger))
        await it.idle()

        assert it.shown() == [] and await it.bot.store.intake.take_in(edit(stranger, "x")) == 1


@pytest.mark.parametrize("moment", ["waits", "runs", "ended"])
async def test_a_deleted_question_takes_reply_and_turn_back(rig: OpenRig, moment: str) -> None:
    async with rig() as it:
        it.model.script = script
        first, sent = it.message("long" if moment == "waits" else "first"), question(it, "long secret")
        await it.deliver(first, sent)
        if moment == "waits":
            await it.until(lambda: bool(it.shown()))
        elif moment == "runs":
            await it.until(lambda: len(it.shown()) == 2)
        else:
            await it.idle()
        await it.deliver(deletion(sent))
        await it.idle()
        await it.deliver(it.message("next"))
        await it.idle()

        assert len(it.shown()) == 2 and it.shown()[1] == "You said next."
        assert "secret" not in told(it)
        assert await it.bot.store.intake.find_question(sent.chat, "5") is None


async def test_nobody_stops_the_deletion_of_an_answer(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    taking, stopped = asyncio.Event(), asyncio.Event()
    remove = Place.remove

    async def slow(surface: Place, at: MessageRef) -> None:
        taking.set()
        await stopped.wait()
        await remove(surface, at)

    monkeypatch.setattr(Place, "remove", slow)
    async with rig() as it:
        it.model.script = script
        sent = question(it, "long secret")
        await it.deliver(sent)
        await it.idle()
        await it.deliver(deletion(sent))
        await taking.wait()
        await it.deliver(it.message("", command="stop"))
        stopped.set()
        await it.idle()
        await it.deliver(it.message("next"))
        await it.idle()

        assert it.shown() == ["Nothing is being answered right now.", "You said next."] and "secret" not in told(it)
        assert await it.bot.store.intake.find_question(sent.chat, "5") is None


@pytest.mark.parametrize("version", ["waits", "was changed and waits"])
async def test_the_deletion_of_a_question_that_waits_is_no_question_that_a_stop_drops(
    rig: OpenRig, version: str
) -> None:
    async with rig() as it:
        it.model.script = script
        sent = question(it, "one")
        if version == "was changed and waits":
            await it.deliver(sent)
            await it.idle()
        await it.deliver(it.message("long"))
        await it.until(lambda: len(it.shown()) == (2 if version == "was changed and waits" else 1))
        await it.deliver(edit(sent, "two") if version == "was changed and waits" else sent, deletion(sent))
        await it.deliver(it.message("", command="stop"))
        await it.idle()

        assert not any(said in text for text in it.shown() for said in ("said one", "said two"))
        assert await it.bot.store.intake.find_question(sent.chat, "5") is None


async def test_a_change_that_waits_is_asked_by_the_next_process(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.operations.stopping.TURN_SECONDS", 0.1)
    async with rig() as it:
        sent = question(it, "one")
        gate = it.model.faults.add("*", Fault(hold=asyncio.Event()))
        await it.deliver(sent)
        await gate.reached.wait()
        it.bot.dispatcher.queue._closed = True  # nothing begins any more
        await it.deliver(edit(sent, "two"))
    async with rig() as it:
        it.model.script = script
        await it.until(lambda: it.shown() == ["You said two."])
        await it.idle()

        assert len(it.model.requests) == 1


def press(it: Rig, control: Control, turn: int, mark: str = "") -> ControlPressed:
    it.number += 1
    return ControlPressed(
        delivery=f"p{it.number}",
        chat=ChatId("telegram", "42", "7"),
        sender=Sender(id="telegram:7", name="Ada"),
        target=ReplyTarget("telegram", {"chat": "7"}),
        control=control,
        turn=turn,
        mark=mark,
    )


async def last_turn(it: Rig) -> int:
    last = await it.bot.store.turns.find_last(ChatId("telegram", "42", "7"))
    assert last is not None
    return last.id


def continued(body: RawJson) -> Reply:
    """One answer that is cut off, its continuations, and any other."""
    said = asked(body).rsplit("\n", 1)[-1]
    if said.startswith("tell"):
        return Reply("The beginning of the secret", finish_reason="length")
    return Reply("and its secret end.") if said.startswith("Go on") else script(body)


@pytest.mark.parametrize("change", ["edited", "deleted"])
@pytest.mark.parametrize("moment", ["waits", "runs", "ended", "regenerated", "asked again"])
async def test_what_continued_an_answer_goes_with_it(rig: OpenRig, moment: str, change: str) -> None:
    async with rig() as it:
        it.model.script = continued
        sent = question(it, "tell all")
        await it.deliver(sent)
        await it.idle()
        go_on = press(it, Control.CONTINUE, await last_turn(it))
        if moment in ("waits", "runs"):
            held = it.model.faults.add("*", Fault(hold=asyncio.Event()))
            if moment == "waits":
                await it.deliver(it.message("between"))
            await it.deliver(go_on)
            await held.reached.wait()
            while it.bot.dispatcher._routes:
                await asyncio.sleep(0)
        else:
            await it.deliver(go_on)
            await it.idle()
            if moment == "regenerated":
                await it.deliver(press(it, Control.REGENERATE, await last_turn(it)))
            elif moment == "asked again":
                await it.deliver(it.message("/retry"))
            await it.idle()
            assert "and its secret end." in it.shown()

        await it.deliver(deletion(sent) if change == "deleted" else edit(sent, "new"))
        if moment in ("waits", "runs"):
            while it.bot.dispatcher._routes:
                await asyncio.sleep(0)
            it.model.faults.clear()
            assert held.hold is not None
            held.hold.set()
        await it.idle()
        await it.deliver(it.message("next"))
        await it.idle()

        between = ["You said between."] if moment == "waits" else []
        new = ["You said new."] if change == "edited" else []
        assert sorted(it.shown()) == sorted([*new, *between, "You said next."])
        assert "secret" not in told(it)
        rows = [row.state for row in await it.bot.store.intake.list_waiting()]
        assert rows == []


@pytest.mark.parametrize("change", ["edited", "deleted"])
async def test_what_a_decision_brought_goes_with_the_question(rig: OpenRig, change: str) -> None:
    async with rig(CONFIRM_TOOLS="calculator") as it:
        call = ("calculator", {"expression": "6*7"})
        it.model.reply(Reply(calls=(call,)), Reply("It is the secret 42."))
        sent = question(it, "what is 6*7?")
        await it.deliver(sent)
        await it.idle()
        [card] = it.memory.pages["7"].values()
        allow = next(one for one in card.buttons if one.control is Control.ALLOW)
        await it.deliver(press(it, Control.ALLOW, allow.turn, allow.mark))
        await it.idle()
        assert it.shown()[-1] == "It is the secret 42."
        it.model.script = script

        await it.deliver(deletion(sent) if change == "deleted" else edit(sent, "new"))
        await it.idle()

        assert it.shown() == (["You said new."] if change == "edited" else [])
        if change == "edited":
            assert "secret" not in told(it) and told(it).count("6*7") >= 1, "what was done is not done again"
