"""The verdict on a message, from real rules, quotas and a real store: nothing is shown and nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Unpack

import pytest

from bot.contract import ChatId, MessageSent, ReplyTarget, Sender, Usage
from bot.contract.limits import LIMITS, Limits
from bot.intake import admission as module
from bot.intake.admission import Admission, Answer, Begin, Refuse
from bot.policy import (
    DAY,
    MINUTE,
    Access,
    Quotas,
    once_in_chat,
    once_per_person,
    once_per_window,
    payer_of,
)
from bot.sentences import say
from bot.store import Amount, InboxState, Limit, Reserved, Store, TurnState
from bot.turn import Running, TurnQueue
from tests.bot.conftest import MessageFields
from tests.conftest import FakeClock
from tests.quotas import quotas_of

ADA, BOB, EVE = "telegram:7", "telegram:8", "telegram:666"
HERE, ELSEWHERE = ChatId("telegram", "42", "7"), ChatId("telegram", "42", "9")


def message(
    text: str = "What is tea?", *, person: str = ADA, chat: ChatId = HERE, **more: Unpack[MessageFields]
) -> MessageSent:
    word, _, rest = text[1:].partition(" ") if text.startswith("/") else ("", "", text)
    sender, target = Sender(id=person, name="Ada"), ReplyTarget("telegram", {})
    message = MessageSent(delivery="d1", chat=chat, sender=sender, target=target, text=rest, command=word)
    return replace(message, **more)


@pytest.fixture
async def queue() -> AsyncIterator[TurnQueue]:
    queue = TurnQueue()
    yield queue
    await queue.close(0.0)


Make = Callable[..., Admission]


@pytest.fixture
def make(store: Store, queue: TurnQueue, clock: FakeClock) -> Make:
    def make(limits: Limits = LIMITS, *, shared: bool = False, **most: float) -> Admission:
        return Admission(
            store=store,
            access=Access(roles=store.access, clock=clock, allow_all=False, users=(ADA, BOB), chats=(), admins=()),
            quotas=Quotas(spending=store.spending, clock=clock, settings=quotas_of(**most), limits=limits),
            queue=queue,
            clock=clock,
            limits=limits,
            shared=shared,
        )

    return make


async def fill(queue: TurnQueue, chat: ChatId, *people: str) -> None:
    """Let the first person's turn run, and the others' wait."""
    begun = asyncio.Event()

    async def turn(running: Running) -> None:
        begun.set()
        await asyncio.Event().wait()

    for number, person in enumerate(people):
        queue.put(chat, number, person, turn)
    await begun.wait()


async def test_a_question_and_a_command_that_runs_a_model_begin_a_turn(make: Make) -> None:
    for text in ("What is tea?", "/retry", "/new", "/forget", "/tool calculator 1+1"):
        asked = message(text)
        assert await make().decide(1, asked) == Begin(asked, "en")


async def test_every_other_command_is_answered_at_once_whatever_the_chat_is_busy_with(
    make: Make, queue: TurnQueue
) -> None:
    await fill(queue, HERE, *[ADA] * 5)

    for text in ("/help", "/stop", "/whoami", "/nonsense"):
        asked = message(text)
        assert await make().decide(1, asked) == Answer(asked, "en")


async def test_a_stranger_is_told_once_a_day_in_private_and_in_a_group_only_when_an_answer_is_awaited(
    make: Make,
) -> None:
    sentence = say("stranger", "en", id=EVE)

    daily = once_per_person("stranger", EVE, DAY)

    assert await make().decide(1, message(person=EVE)) == Refuse(sentence, daily, stranger=True)
    assert await make().decide(1, message(person=EVE, group=True)) == Refuse("")
    assert await make().decide(1, message(person=EVE, group=True, awaited=True)) == Refuse(sentence, stranger=True)
    for command, waits in (("/whoami", True), ("/start", True), ("/pair 1", False)):
        answer = await make().decide(1, message(command, person=EVE))
        assert isinstance(answer, Answer) and answer.stranger is waits


async def test_too_many_messages_of_a_minute_are_refused_questions_and_commands_apart_and_stop_never(
    make: Make,
) -> None:
    admission = make(messages_per_minute=1)
    refused = Refuse(say("too_many", "en"), once_per_person("too many", ADA, MINUTE))

    assert isinstance(await admission.decide(1, message()), Begin)
    assert await admission.decide(2, message()) == refused
    assert isinstance(await admission.decide(3, message("/help")), Answer)
    assert await admission.decide(4, message("/help")) == refused
    assert isinstance(await admission.decide(5, message("/stop")), Answer)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [("x" * 101, "too_big", {"length": 101, "limit": 100}), (" \n", "empty_question", {})],
)
async def test_what_is_too_long_or_empty_is_refused_once_a_minute_in_a_chat(
    make: Make, text: str, key: str, words: dict[str, int]
) -> None:
    admission, sentence = make(Limits(question_chars=100)), say(key, "en", **words)

    assert await admission.decide(1, message(text)) == Refuse(sentence, once_in_chat(HERE, sentence))
    assert await admission.decide(1, message(text, awaited=True)) == Refuse(sentence)


async def test_a_person_has_so_many_messages_waiting_here_and_so_many_turns_elsewhere(
    make: Make, queue: TurnQueue
) -> None:
    full = say("queue_full_person", "en")
    await fill(queue, HERE, ADA, ADA, ADA)
    assert await make().decide(1, message()) == Refuse(full, once_in_chat(HERE, full))
    assert isinstance(await make().decide(1, message(person=BOB)), Begin)

    one = make(Limits(turns_per_person=1))
    assert await one.decide(1, message(chat=ELSEWHERE)) == Refuse(full, once_in_chat(ELSEWHERE, full))
    assert isinstance(await make(Limits(waiting_per_person=0, turns_per_person=1)).decide(1, message()), Begin)


async def test_a_persons_turns_in_other_processes_count_as_well(make: Make, store: Store) -> None:
    rows = [
        await store.intake.take_in(replace(message(person=person, chat=chat), delivery=f"{person} in {chat}"))
        for person, chat in ((ADA, HERE), (ADA, ELSEWHERE), (BOB, ELSEWHERE))
    ]
    alone, shared = make(Limits(turns_per_person=1)), make(Limits(turns_per_person=1), shared=True)
    assert isinstance(await shared.decide(9, message()), Begin)
    for row in rows:
        assert row is not None and await store.intake.begin(row)

    assert await shared.decide(9, message()) == Refuse(
        say("queue_full_person", "en"), once_in_chat(HERE, say("queue_full_person", "en"))
    )
    assert isinstance(await alone.decide(9, message()), Begin), "a process that is alone knows its turns"
    assert rows[1] is not None
    await store.intake.end(rows[1], InboxState.DONE)
    assert isinstance(await shared.decide(9, message()), Begin)


async def test_what_somebody_wrote_while_the_bot_was_away_waits_however_much_it_is(
    make: Make, queue: TurnQueue, clock: FakeClock
) -> None:
    await fill(queue, HERE, ADA, ADA, ADA)
    asked = replace(message(), sent_at=clock.wall() - 600.0)

    assert isinstance(await make(Limits(waiting_per_person=2)).decide(1, asked), Begin)
    assert isinstance(await make(Limits(waiting_per_person=2)).decide(1, replace(asked, sent_at=clock.wall())), Refuse)


async def test_a_chat_has_so_many_messages_waiting_of_everybody(
    make: Make, queue: TurnQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING_IN_CHAT", 2)
    await fill(queue, HERE, BOB, "telegram:1", "telegram:2")
    full = say("queue_full_chat", "en")

    assert await make().decide(1, message()) == Refuse(full, once_in_chat(HERE, full))


async def test_questions_of_reminders_wait_however_many_and_hold_no_message_up(
    make: Make, queue: TurnQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could write them again."""

    async def never_begun(running: Running) -> None:
        raise AssertionError("another turn runs")

    monkeypatch.setattr(module, "MOST_WAITING_IN_CHAT", 3)
    admission = make(Limits(turns_per_person=1))
    await fill(queue, HERE, ADA)
    await fill(queue, ELSEWHERE, ADA)
    for number in range(6):
        due = replace(message(f"What is {number}?"), scheduled=True)
        assert await admission.decide(number, due) == Begin(due, "en")
        queue.put(HERE, 10 + number, ADA, never_begun, scheduled=True)

    assert queue.count_waiting(HERE) == 0
    assert isinstance(await make().decide(9, message()), Begin)


async def test_a_reminder_that_is_refused_is_named_each_time(make: Make, store: Store) -> None:
    payer = payer_of(message())
    reserved = await store.spending.reserve([Limit(payer.keys[0], DAY, Amount())], Amount(tokens=11))
    assert isinstance(reserved, Reserved)
    await store.spending.settle((reserved, Amount(tokens=11)))

    for admission, why in (
        (make(tokens_per_day_person=10), "Your budget for today"),
        (make(Limits(scheduled_per_day=1)), "today's limit of 1"),
    ):
        for text in ("What is tea?", "What is milk?", "What is rum?"):
            refused = await admission.decide(1, replace(message(text), scheduled=True))
            if isinstance(refused, Begin):
                continue  # the one of this day
            assert isinstance(refused, Refuse) and refused.once_per is None
            assert text in refused.sentence and why in refused.sentence


async def test_a_spent_quota_refuses_questions_until_it_is_renewed_and_commands_never(
    make: Make, store: Store, clock: FakeClock
) -> None:
    admission = make(tokens_per_day_person=10)
    payer = payer_of(message())
    reserved = await store.spending.reserve([Limit(payer.keys[0], DAY, Amount())], Amount(tokens=11))
    assert isinstance(reserved, Reserved)
    await store.spending.settle((reserved, Amount(tokens=11)))
    spent = await Quotas(
        spending=store.spending, clock=clock, settings=quotas_of(tokens_per_day_person=10)
    ).find_exhausted(payer)
    assert spent is not None

    refused = await admission.decide(1, message())

    assert isinstance(refused, Refuse) and refused.sentence
    assert refused.once_per == once_per_window("person", spent.until, payer)
    assert isinstance(await admission.decide(2, message("/new")), Begin)
    assert isinstance(await admission.decide(3, message("/usage")), Answer)
    assert isinstance(await admission.decide(4, message(person=BOB)), Begin)


async def test_what_a_former_process_took_in_is_not_counted_and_not_turned_away(make: Make, queue: TurnQueue) -> None:
    admission = make(Limits(question_chars=5), messages_per_minute=1)
    await fill(queue, HERE, *[ADA] * 5)

    for number in range(3):
        assert isinstance(await admission.decide(number, message(), again=True), Begin)
    assert isinstance(await admission.decide(9, message(person=EVE), again=True), Refuse)


async def test_a_command_for_the_whole_channel_means_the_answer_that_grows_there(make: Make, queue: TurnQueue) -> None:
    thread = replace(HERE, thread="1")
    await fill(queue, thread, ADA)

    for text, of in (("/stop", Answer), ("/retry", Begin)):
        asked = message(text, whole_channel=True)
        assert await make().decide(50, asked) == of(replace(asked, chat=thread), "en")


async def test_where_no_answer_grows_a_command_for_the_whole_channel_means_the_last_one(
    make: Make, store: Store
) -> None:
    thread = replace(HERE, thread="1")
    turn = await store.intake.take_in(message(chat=thread))
    assert turn is not None
    await store.turns.open(turn, thread, ADA)
    await store.turns.close(turn, TurnState.DONE, (), visible="", reasoning="", model="", usage=Usage())
    asked = message("/why", whole_channel=True)
    resumed = message("/retry", whole_channel=True)

    assert await make().decide(50, asked) == Answer(replace(asked, chat=thread), "en")
    assert await make().decide(turn, resumed) == Begin(replace(resumed, chat=thread), "en"), "where it began"
    assert await make().decide(51, message("/why", whole_channel=True, chat=ELSEWHERE)) == Answer(
        message("/why", whole_channel=True, chat=ELSEWHERE), "en"
    )
