"""Calls that wait for a decision: taken once, in time, for the call that was shown."""

from __future__ import annotations

import dataclasses

from bot.contract import AssistantEntry, ChatId, MessageSent, ReplyTarget, Sender, Usage
from bot.store import DECIDED, Approval, ApprovalState, Connection, Store, TurnState, digest_of
from tests.bot.store.conftest import HandClock
from tools.contract.base import ProducedFile, ToolCall, ToolResult, ToolStatus

CHAT = ChatId("telegram", "42", "7")
CALL = ToolCall("c1", "send", {"to": "Bob", "text": "hi"})


def unserved(db: Connection, place: str, row: int) -> None:
    raise AssertionError("nothing is to be shown")


async def turn_of(store: Store, delivery: str, person: str = "telegram:7", chat: ChatId = CHAT) -> int:
    sender, target = Sender(id=person), ReplyTarget("telegram", {})
    id = await store.intake.take_in(MessageSent(delivery=delivery, chat=chat, sender=sender, target=target, text="x"))
    assert id is not None
    await store.turns.begin(id, chat, person)
    return id


def question(store: Store, turn: int, clock: HandClock, call: ToolCall = CALL) -> Approval:
    return Approval(
        turn=turn,
        chat=CHAT,
        person="telegram:7",
        call=call,
        digest=digest_of(call),
        tool="",
        origin="",
        language="en",
        line="Waits.",
        expires_at=clock.wall() + 60,
    )


async def close(store: Store, turn: int) -> None:
    await store.turns.close(turn, TurnState.DONE, [], visible="Waits.", reasoning="", model="", usage=Usage())


async def due_again(store: Store) -> list[int]:
    return [turn for turn, *_ in await store.turns.list_unsettled()]


def test_the_digest_is_that_of_the_call_however_it_was_written() -> None:
    assert digest_of(CALL) == digest_of(ToolCall("other", "send", {"text": "hi", "to": "Bob"}))
    assert digest_of(CALL) != digest_of(dataclasses.replace(CALL, arguments={"to": "Bob", "text": "hi "}))
    assert digest_of(CALL) != digest_of(dataclasses.replace(CALL, name="sent"))


async def test_the_first_decision_counts_and_is_kept(store: Store, clock: HandClock) -> None:
    turn = await turn_of(store, "d1")
    asked, others = await store.approvals.open(question(store, turn, clock))
    assert asked.state is ApprovalState.WAITING and asked.intact and others == []
    assert await store.approvals.load(turn) == asked

    assert await store.approvals.decide(turn, "0" * 16, 8, allowed=True) is None
    allowed = await store.approvals.decide(turn, asked.mark, 9, allowed=True)
    assert allowed is not None and (allowed.state, allowed.press) == (ApprovalState.ALLOWED, 9)
    for press, word in ((10, True), (11, False)):
        assert await store.approvals.decide(turn, asked.mark, press, allowed=word) == allowed
    assert not await store.approvals.expire(turn, unserved) and await store.approvals.withdraw(CHAT) == []
    # A turn that is resumed asks the same again, and finds the decision.
    assert await store.approvals.open(question(store, turn, clock)) == (allowed, [])


async def test_a_decision_after_its_time_is_none(store: Store, clock: HandClock) -> None:
    turn = await turn_of(store, "d1")
    asked, _ = await store.approvals.open(question(store, turn, clock))
    clock.passed += 61
    late = await store.approvals.decide(turn, asked.mark, 9, allowed=True)
    assert late is not None and (late.state, late.press) == (ApprovalState.EXPIRED, 0)


async def test_a_decision_is_shown_again_whether_the_turn_had_ended_or_not(store: Store, clock: HandClock) -> None:
    for number, before in enumerate((True, False)):
        turn = await turn_of(store, f"d{number}", person=f"telegram:{number}")
        asked, _ = await store.approvals.open(question(store, turn, clock))
        if before:
            await close(store, turn)
            assert turn not in await due_again(store)
        await store.approvals.decide(turn, asked.mark, 9, allowed=False)
        if not before:
            await close(store, turn)
        assert turn in await due_again(store)
        shown = await store.turns.load_shown(turn)
        assert shown is not None and shown.approval is not None and shown.approval.state is ApprovalState.DENIED


async def test_a_newer_question_of_the_same_person_withdraws_the_older(store: Store, clock: HandClock) -> None:
    first, other, elsewhere = (
        await turn_of(store, "d1"),
        await turn_of(store, "d2", "telegram:8"),
        await turn_of(store, "d3", chat=ChatId("telegram", "42", "9")),
    )
    for turn in (first, other, elsewhere):
        await store.approvals.open(question(store, turn, clock))
    assert [turn for turn, *_ in await store.approvals.list_waiting()] == [first, other, elsewhere]

    newer = await turn_of(store, "d4")
    _, withdrawn = await store.approvals.open(question(store, newer, clock))
    assert withdrawn == [first]
    assert await store.approvals.withdraw(CHAT, "telegram:8") == [other]
    assert await store.approvals.withdraw(CHAT) == [newer]
    assert [turn for turn, *_ in await store.approvals.list_waiting()] == [elsewhere]
    served: list[tuple[str, int]] = []
    assert await store.approvals.expire(elsewhere, lambda _, place, row: served.append((place, row)))
    assert await store.approvals.list_waiting() == [] and served == [("telegram:42/9", elsewhere)]


async def test_a_question_whose_turn_is_replaced_is_withdrawn(store: Store, clock: HandClock) -> None:
    turn = await turn_of(store, "d1")
    await store.approvals.open(question(store, turn, clock))
    await close(store, turn)
    again = await turn_of(store, "d2")
    await store.turns.take_over(again, turn, CHAT, "telegram:7", asks_again=True, messages=False)
    approval = await store.approvals.load(turn)
    assert approval is not None and approval.state is ApprovalState.WITHDRAWN

    await store.approvals.open(question(store, again, clock))
    changed = await turn_of(store, "d3")
    await store.turns.take_over(changed, again, CHAT, "telegram:7")
    approval = await store.approvals.load(again)
    assert approval is not None and approval.state is ApprovalState.WITHDRAWN


async def test_another_answer_is_told_that_what_a_decided_call_made_is_taken_back(
    store: Store, clock: HandClock
) -> None:
    turn = await turn_of(store, "d1")
    call = dataclasses.replace(CALL, id=f"{DECIDED}{turn}")
    await store.turns.save_pass(turn, 1, AssistantEntry(text="", calls=(call,)), "", Usage())
    await store.turns.start_call(turn, call, passnumber=1, position=0, effects=True)
    plot = ProducedFile("plot.png", "image/png", b"png")
    await store.turns.end_call(turn, call.id, ToolResult(text="Plotted.", files=(plot,), own_words=True))
    await close(store, turn)

    for number in range(2):
        again = await turn_of(store, f"again{number}")
        await store.turns.take_over(again, turn, CHAT, "telegram:7", asks_again=True)
        [kept] = (await store.turns.load(again)).calls
        assert kept.result is not None and not kept.result.ok and "it ran once" in kept.result.text
        assert kept.call == dataclasses.replace(call, id=f"{DECIDED}000") and kept.status is ToolStatus.FAILED
        turn = again


async def test_what_was_asked_in_a_forgotten_chat_is_gone(store: Store, clock: HandClock) -> None:
    turn = await turn_of(store, "d1")
    asked, _ = await store.approvals.open(question(store, turn, clock))
    await store.history.forget(CHAT)
    assert await store.approvals.load(turn) is None
    assert await store.approvals.decide(turn, asked.mark, 9, allowed=True) is None
    assert await store.approvals.open(asked) == (asked, [])
