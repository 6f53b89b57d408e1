"""What became of a delivery, for who has only the platform's name of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.contract import (
    AssistantEntry,
    ChatId,
    Control,
    ControlPressed,
    MessageSent,
    Recalled,
    ReplyTarget,
    Sender,
    Usage,
)
from bot.store import Approval, InboxState, Store, TurnState, digest_of
from tests.bot.store.conftest import HandClock, taken_in
from tools.contract.base import ToolCall

CHAT = ChatId("web", "ada", "tea")
ADA = Sender(id="web:ada")
CALL = ToolCall("c1", "send", {"to": "Bob"})


def asked(run: str, chat: ChatId = CHAT) -> MessageSent:
    return MessageSent(
        delivery=run, message_id=run, chat=chat, sender=ADA, target=ReplyTarget("web", {"run": run}), text="tea?"
    )


async def answer(store: Store, turn: int, state: TurnState = TurnState.DONE, chat: ChatId = CHAT) -> None:
    usage = Usage(prompt=7, completion=3)
    await store.turns.begin(turn, chat, ADA.id)
    await store.turns.close(turn, state, [], visible="A leaf.", reasoning="", model="m", usage=usage)


async def test_a_delivery_is_followed_from_its_intake_to_its_answer(store: Store) -> None:
    assert await store.deliveries.recall(CHAT, "r1") is None

    turn = await taken_in(store, asked("r1"))
    assert await store.deliveries.recall(CHAT, "r1") == Recalled(ended=False)
    await store.turns.begin(turn, CHAT, ADA.id)
    assert await store.deliveries.recall(CHAT, "r1") == Recalled(ended=False)
    await answer(store, turn)

    told = Recalled(ended=True, text="A leaf.", usage=Usage(prompt=7, completion=3))
    assert await store.deliveries.recall(CHAT, "r1") == told
    for other in (replace(CHAT, chat="milk"), replace(CHAT, account="bob"), replace(CHAT, thread="r1")):
        assert await store.deliveries.recall(other, "r1") is None
    await store.history.forget(CHAT)
    assert await store.deliveries.recall(CHAT, "r1") is None


@pytest.mark.parametrize("state", [InboxState.DONE, InboxState.REFUSED, InboxState.STOPPED, InboxState.FAILED])
async def test_what_became_no_turn_has_ended_without_an_answer(store: Store, state: InboxState) -> None:
    await store.intake.end(await taken_in(store, asked("r1")), state)

    recalled = await store.deliveries.recall(CHAT, "r1")
    assert recalled == Recalled(ended=True, stopped=state == "stopped", failed=state == "failed")


async def test_what_was_said_to_a_command_is_found_like_an_answer_and_an_answer_is_not_stored_twice(
    store: Store,
) -> None:
    await store.deliveries.keep_said(CHAT, "r0", "Nobody asked.")
    command = await taken_in(store, asked("r1"))
    await store.deliveries.keep_said(CHAT, "r1", "This is \x00 help.")
    await store.intake.end(command, InboxState.DONE)
    assert await store.deliveries.recall(CHAT, "r1") == Recalled(ended=True, text="This is  help.")

    question = await taken_in(store, asked("r2"))
    await store.turns.begin(question, CHAT, ADA.id)
    await store.deliveries.keep_said(CHAT, "r2", "A")
    assert await store.deliveries.recall(CHAT, "r2") == Recalled(ended=False)
    await answer(store, question)
    await store.deliveries.keep_said(CHAT, "r2", "It is late.")
    told = await store.deliveries.recall(CHAT, "r2")
    assert told is not None and told.text == "A leaf."


async def test_a_request_that_is_sent_again_is_found_by_the_beginning_of_its_name_for_some_minutes(
    store: Store, clock: HandClock
) -> None:
    for run in ("abc-1", "abc-2", "abcd-3", "abb-4"):
        clock.passed += 1
        await taken_in(store, asked(run))
    await taken_in(store, asked("abc-5", replace(CHAT, account="bob")))

    assert await store.deliveries.find_repeated(CHAT, "abc-") == "abc-2"
    assert await store.deliveries.find_repeated(replace(CHAT, chat="other"), "abc-") == "abc-2"
    assert await store.deliveries.find_repeated(CHAT, "abd-") == ""
    clock.passed += 3_600
    assert await store.deliveries.find_repeated(CHAT, "abc-") == ""


@pytest.mark.parametrize("state", [TurnState.STOPPED, TurnState.FAILED])
async def test_a_part_of_an_answer_says_so(store: Store, state: TurnState) -> None:
    await answer(store, await taken_in(store, asked("r1")), state)

    recalled = await store.deliveries.recall(CHAT, "r1")
    assert recalled is not None and recalled.ended and recalled.text == "A leaf."
    assert (recalled.stopped, recalled.failed) == (state == "stopped", state == "failed")


async def test_a_call_that_waits_is_named_until_it_is_decided_and_the_press_is_followed(
    store: Store, clock: HandClock
) -> None:
    turn = await taken_in(store, asked("r1"))
    await answer(store, turn)
    wanted = Approval(
        turn=turn, chat=CHAT, person=ADA.id, call=CALL, digest=digest_of(CALL), tool="", origin="", language="en",
        line="Waits.", expires_at=clock.wall() + 60,
    )  # fmt: skip
    await store.approvals.open(wanted)
    asks = f"{turn}:{wanted.mark}"

    for delivery in ("r1", ""):
        recalled = await store.deliveries.recall(CHAT, delivery)
        assert recalled is not None and (recalled.asks, recalled.followed) == (asks, False)
    assert await store.deliveries.recall(replace(CHAT, chat="milk"), "") is None

    press = ControlPressed(
        delivery="r2", chat=CHAT, sender=ADA, target=ReplyTarget("web"), control=Control.ALLOW, turn=turn
    )
    pressed = await taken_in(store, press)
    assert await store.deliveries.recall(CHAT, "r2") == Recalled(ended=False)
    await answer(store, await taken_in(store, asked("r3")))
    recalled = await store.deliveries.recall(CHAT, "")
    assert recalled is not None and (recalled.asks, recalled.followed) == (asks, True)
    await store.approvals.decide(turn, wanted.mark, pressed, allowed=True)
    assert await store.deliveries.recall(CHAT, "") is None
    await answer(store, pressed)

    decided = await store.deliveries.recall(CHAT, "r2")
    assert decided is not None and decided.ended and decided.text == "A leaf." and not decided.asks


async def test_it_is_known_where_a_platform_was_heard_last_and_where_people_wrote(
    store: Store, clock: HandClock
) -> None:
    async def write(chat: str, *, group: bool) -> None:
        clock.passed += 1
        sent = replace(asked(chat, ChatId.parse(chat)), group=group)
        await answer(store, await taken_in(store, sent), chat=sent.chat)

    places = [("discord:1/5", False), ("discord:1/6/7", True), ("discordant:1/9", False), ("discord:1/8", False)]
    for chat, group in places:
        await write(chat, group=group)
    assert await store.deliveries.find_left_off("discord") is None
    for _ in range(2):
        clock.passed += 600
        await store.deliveries.note_heard("discord")
    heard = clock.wall()
    clock.passed += 3600

    left = await store.deliveries.find_left_off("discord")
    assert left is not None and heard - 300 < left.since < heard - 60
    assert [str(chat) for chat in left.private] == ["discord:1/8", "discord:1/5"]
    assert [str(chat) for chat in left.groups] == ["discord:1/6/7"]
    assert await store.deliveries.find_left_off("discordant") is None


async def test_what_is_more_than_a_day_old_is_not_looked_up(store: Store, clock: HandClock) -> None:
    await store.deliveries.note_heard("discord")
    clock.passed += 5 * 86_400

    left = await store.deliveries.find_left_off("discord")
    assert left is not None and left.since == clock.wall() - 86_400


async def test_the_calls_of_a_delivery_are_listed_with_what_a_person_is_asked_and_has_decided(
    store: Store, clock: HandClock
) -> None:
    assert await store.deliveries.list_calls(CHAT, "r1") is None and await store.deliveries.list_calls(CHAT, "") is None
    turn = await taken_in(store, asked("r1"))
    waits = await store.deliveries.list_calls(CHAT, "r1")
    assert waits is not None and (waits.turn, waits.records, waits.asked) == (turn, (), None)
    await store.turns.begin(turn, CHAT, ADA.id)
    await store.turns.save_pass(turn, 1, AssistantEntry("", (CALL,)), "m", Usage())
    wanted = Approval(
        turn=turn, chat=CHAT, person=ADA.id, call=CALL, digest=digest_of(CALL), tool="", origin="", language="en",
        line="Waits.", expires_at=clock.wall() + 60,
    )  # fmt: skip
    await store.approvals.open(wanted)
    await store.turns.close(turn, TurnState.DONE, [], visible="", reasoning="", model="m", usage=Usage())
    press = ControlPressed(
        delivery="r2", chat=CHAT, sender=ADA, target=ReplyTarget("web"), control=Control.ALLOW, turn=turn
    )
    pressed = await taken_in(store, press)
    early = await store.deliveries.list_calls(CHAT, "r2")
    await store.approvals.decide(turn, wanted.mark, pressed, allowed=True)

    asks, decides = await store.deliveries.list_calls(CHAT, "r1"), await store.deliveries.list_calls(CHAT, "r2")
    assert asks is not None and asks.asked is not None and [one.call for one in asks.records] == [CALL]
    assert early is not None and early.decided is None
    assert decides is not None and decides.decided == asks.asked
    assert (decides.decided_as, decides.incoming) == ((1, 0), press)
