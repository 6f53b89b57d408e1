"""What others wrote before a question is looked up once, as much as fits, and never holds a question up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from bot.contract.errors import DeliveryError, RateLimited
from bot.contract.messages import ChatId, MessageSent, Quoted, ReplyTarget, Sender
from bot.contract.surface import CallCost, RateBudget, Window
from bot.pacing.pacer import Pacer
from bot.store import Store
from bot.turn.thread_context import MOST_PAGES, PER_MESSAGE, ThreadContext
from tests.conftest import FakeClock
from tests.letters import count_letters

CHAT = ChatId("slack", "T1", "C1", "1.0")


@dataclass
class Thread:
    """What stands before a question, a page at a time."""

    pages: list[list[Quoted]]
    cost: CallCost = field(default_factory=CallCost)
    asked: list[tuple[float, str]] = field(default_factory=list)
    fault: DeliveryError | None = None

    async def page(self, since: float, cursor: str) -> tuple[Sequence[Quoted], str]:
        self.asked.append((since, cursor))
        if self.fault is not None:
            raise self.fault
        number = int(cursor or 0)
        more = str(number + 1) if number + 1 < len(self.pages) else ""
        return self.pages[number], more


@dataclass
class Reading:
    """Completes questions with the messages of their thread, for a model with so many tokens."""

    store: Store
    pacer: Pacer
    clock: FakeClock
    thread: Thread | None = None
    window: int = 100_000

    @property
    def words(self) -> ThreadContext:
        return ThreadContext(
            store=self.store,
            pacer=self.pacer,
            find=lambda question: self.thread,
            clock=self.clock,
            window=lambda model: self.window,
            tokens=lambda model: count_letters,
        )

    async def told(self, question: MessageSent) -> list[str]:
        return [one.text for one in (await self.words.complete(question, "m")).earlier]


@pytest.fixture
async def reading(store: Store, clock: FakeClock) -> AsyncIterator[Reading]:
    pacer = Pacer(clock)
    yield Reading(store, pacer, clock)
    await pacer.close()


def asked(text: str = "What do you think?", *, sent_at: float = 50.0, command: str = "") -> MessageSent:
    sender = Sender(id="slack:T1/U1", name="Ada")
    target = ReplyTarget("slack")
    return MessageSent(
        delivery="d1", chat=CHAT, sender=sender, target=target, text=text, sent_at=sent_at, command=command
    )


def wrote(at: float, text: str = "") -> Quoted:
    return Quoted(text=text or f"words at {at:.0f}", author="Bob", message_id=str(at), sent_at=at)


async def test_the_pages_of_a_thread_are_read_to_its_end_and_told_in_order(reading: Reading) -> None:
    reading.thread = Thread([[wrote(3.0), wrote(1.0)], [wrote(2.0)]])

    assert await reading.told(asked()) == ["words at 1", "words at 2", "words at 3"]
    assert reading.thread.asked == [(0.0, ""), (0.0, "1")]


async def test_a_thread_without_end_is_read_so_far_and_no_further(reading: Reading) -> None:
    reading.thread = Thread([[wrote(float(number))] for number in range(100)])

    assert len(await reading.told(asked())) == len(reading.thread.asked) == MOST_PAGES


async def test_what_does_not_fit_is_left_out_but_for_the_first_and_the_newest(reading: Reading) -> None:
    reading.thread = Thread([[wrote(float(number), f"{number}" * 8) for number in range(1, 10)]])
    reading.window = 4 * 3 * (8 + PER_MESSAGE)

    completed = await reading.words.complete(asked(), "m")

    assert [one.text[0] for one in completed.earlier] == ["1", "8", "9"]
    assert completed.left_out == 6


async def test_what_was_written_before_the_chat_was_begun_anew_is_not_asked_for(reading: Reading) -> None:
    reading.thread = Thread([[]])
    await reading.words.begin_anew(asked(sent_at=40.0))
    await reading.words.begin_anew(asked(sent_at=0.0))

    assert await reading.told(asked()) == []
    assert reading.thread.asked == [(40.0, "")], "a message without a time says nothing"


async def test_a_command_and_a_place_without_earlier_words_are_left_as_they_are(reading: Reading) -> None:
    question = asked()
    assert await reading.words.complete(question, "m") is question

    reading.thread = Thread([[wrote(1.0)]])
    command = asked(command="new")
    assert await reading.words.complete(command, "m") is command
    assert reading.thread.asked == []


async def test_a_question_is_answered_without_what_the_platform_does_not_say(
    reading: Reading, caplog: pytest.LogCaptureFixture
) -> None:
    reading.thread = Thread([[wrote(1.0)]], fault=DeliveryError("missing_scope"))
    question = asked()

    assert await reading.words.complete(question, "m") is question
    assert "answered without earlier messages: missing_scope" in caplog.text


async def test_a_look_that_the_platform_would_refuse_is_not_made(
    reading: Reading, caplog: pytest.LogCaptureFixture
) -> None:
    cost = CallCost((RateBudget("conversations.replies", rate=1 / 60, burst=1),))
    reading.thread = Thread([[wrote(1.0)], [wrote(2.0)]], cost)
    question = asked()

    assert await reading.words.complete(question, "m") is question
    assert len(reading.thread.asked) == 1
    assert "no more requests in this minute" in caplog.text


async def test_a_look_that_the_platform_refuses_is_not_repeated_before_its_pause_is_over(reading: Reading) -> None:
    cost = CallCost((RateBudget("conversations.replies", windows=(Window(30, 60.0),)),))
    refusal = RateLimited("slower", retry_after=20.0)
    looks = list[int]()
    for wait in (0.0, 10.0, 11.0):
        reading.clock.now += wait
        reading.thread = Thread([[wrote(1.0)]], cost, fault=refusal)
        await reading.words.complete(asked(), "m")
        looks.append(len(reading.thread.asked))

    assert looks == [1, 0, 1]
