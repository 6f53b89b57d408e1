"""What becomes of a question that comes while its chat is busy: with a real store and queue, in time handed in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bot.context import Busy, ChatOptions
from bot.contract import ChatId, Enclosure, EnclosureKind, MessageSent, Quoted, ReplyTarget, Sender, StoreError
from bot.store import Store
from bot.turn.merging import COLLECT_SECONDS, PART_SECONDS, Merging
from bot.turn.queue import Running, TurnQueue
from bot.turn.run import Run, TurnLimits
from tests.bot.store.conftest import taken_in
from tests.conftest import FakeClock

CHAT = ChatId("telegram", "42", "7")


class Book:
    """What the chat has chosen."""

    def __init__(self, busy: Busy) -> None:
        self.busy = busy
        self.fails = False

    async def options_of(self, chat: ChatId) -> ChatOptions:
        if self.fails:
            raise StoreError("cannot be read now")
        return ChatOptions(busy=self.busy)


class Chat:
    """One chat whose questions are taken in, queued, and joined as its mode says."""

    def __init__(self, store: Store, clock: FakeClock, busy: Busy) -> None:
        self.store, self.clock, self.book = store, clock, Book(busy)
        self.queue = TurnQueue()
        self.merging = Merging(store, self.book, self.queue, clock)  # type: ignore[arg-type]  # what it asks a book for
        self.asked: list[str] = []
        self.steered: list[str] = []
        self.begun: list[int] = []
        self.gate = asyncio.Event()
        self.number = 0

    async def send(self, text: str, *, person: str = "telegram:7", **more: object) -> int:
        self.number += 1
        said = MessageSent(
            delivery=f"d{self.number}",
            chat=CHAT,
            sender=Sender(id=person),
            target=ReplyTarget("telegram", {"chat": "7"}),
            text=text,
        )
        question = replace(said, **more)  # type: ignore[arg-type]  # fields of a message
        id = await taken_in(self.store, question)

        async def work(running: Running) -> None:
            run = Run(id, question, "en", lambda: running.ending, TurnLimits(1e9))
            await self.merging.collect(run)
            if not self.asked and self.book.busy is not Busy.COLLECT:
                await self.gate.wait()
            self.steered += [entry.text for entry in await self.merging.steer(run)]
            self.asked.append(run.question.text)

        self.queue.put(
            CHAT,
            id,
            person,
            work,
            question=None if question.command else question,
            came_at=self.clock.monotonic(),
            begun=lambda: self.begun.append(id),
            replaces=question.replaces,
        )
        await self.clock.settle()
        return id

    async def unfinished(self) -> list[int]:
        return [row.id for row in await self.store.intake.list_waiting()]


MakeChat = Callable[[Busy], Chat]


@pytest.fixture
def chat(store: Store, clock: FakeClock) -> MakeChat:
    return lambda busy: Chat(store, clock, busy)


async def test_what_comes_within_two_seconds_of_each_other_is_one_question(chat: MakeChat, clock: FakeClock) -> None:
    it = chat(Busy.COLLECT)
    first = await it.send("My cat")
    for text in ("is called", "Tom."):
        await clock.advance(COLLECT_SECONDS - 0.1)
        await it.send(text, enclosed=(Enclosure(kind=EnclosureKind.PICTURE, name=text),))
    assert it.asked == []

    await clock.advance(COLLECT_SECONDS)
    assert it.asked == ["My cat\n\nis called\n\nTom."]
    await it.send("Thanks")
    await clock.advance(COLLECT_SECONDS)

    assert it.asked[1:] == ["Thanks"]
    assert it.begun == [first, 2, 3, 4]
    # The rows of what joined have ended; the first asks it all, also for a later process.
    rows = {row.id: row.incoming for row in await it.store.intake.list_waiting()}
    assert sorted(rows) == [first, 4]
    kept = rows[first]
    assert isinstance(kept, MessageSent) and kept.text == "My cat\n\nis called\n\nTom."
    assert [one.name for one in kept.enclosed] == ["is called", "Tom."]


async def test_what_waited_longer_apart_stays_apart(chat: MakeChat, clock: FakeClock) -> None:
    it = chat(Busy.COLLECT)
    gate = asyncio.Event()

    async def busy(running: Running) -> None:
        await gate.wait()

    it.queue.put(CHAT, 90, "telegram:9", busy)
    for text in ("one", "two", "three"):
        await it.send(text)
        await clock.advance({"one": 1.0, "two": 5.0, "three": 0.0}[text])
    gate.set()
    await clock.settle()

    assert it.asked == ["one\n\ntwo"]
    await clock.advance(COLLECT_SECONDS)
    assert it.asked == ["one\n\ntwo", "three"]


@pytest.mark.parametrize(
    "more",
    [
        {"person": "telegram:8"},
        {"command": "retry"},
        {"quoted": Quoted(text="Tea is a leaf.")},
        {"awaited": True},
        {"text": "x" * 200_000},
    ],
    ids=["somebody else's", "a command", "beside a quote", "with an answer awaited", "too long together"],
)
@pytest.mark.parametrize("mode", [Busy.COLLECT, Busy.STEER])
async def test_what_is_no_further_part_of_the_question_waits(
    chat: MakeChat, clock: FakeClock, mode: Busy, more: dict[str, object]
) -> None:
    it = chat(mode)
    await it.send("What is tea?")
    await it.send(**{"text": "And milk?", **more})  # type: ignore[arg-type]  # as above
    it.gate.set()
    await clock.advance(2 * COLLECT_SECONDS)

    assert it.asked[0] == "What is tea?" and len(it.asked) == 2 and it.steered == []


async def test_what_comes_meanwhile_is_told_at_the_next_pass(chat: MakeChat, clock: FakeClock) -> None:
    it = chat(Busy.STEER)
    first = await it.send("What is tea?")
    await it.send("In Japan, I mean.")
    await it.send("And in one sentence.")
    it.gate.set()
    await clock.settle()

    assert it.steered == ["In Japan, I mean.", "And in one sentence."]
    assert it.asked == ["What is tea?\n\nIn Japan, I mean.\n\nAnd in one sentence."]
    assert await it.unfinished() == [first]


async def test_what_has_something_enclosed_is_not_told_of_before_that_is_read(chat: MakeChat, clock: FakeClock) -> None:
    it = chat(Busy.STEER)
    await it.send("What is tea?")
    await it.send("", enclosed=(Enclosure(kind=EnclosureKind.VOICE),))
    it.gate.set()
    await clock.settle()

    assert it.steered == [] and it.asked == ["What is tea?", ""]


async def test_what_cannot_be_stored_or_read_waits_for_a_turn_of_its_own(
    chat: MakeChat, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = chat(Busy.STEER)

    async def refuse(*_: object) -> None:
        raise StoreError("the disk is full")

    await it.send("What is tea?")
    await it.send("And milk?")
    with monkeypatch.context() as patched:
        patched.setattr(it.store.intake, "join", refuse)
        it.gate.set()
        await clock.settle()
        assert it.asked == ["What is tea?", "And milk?"] and it.steered == []

    it.book.fails = True
    await it.send("And water?")
    await clock.settle()
    assert it.asked[2:] == ["And water?"]


@pytest.mark.parametrize("mode", list(Busy))
async def test_a_newer_question_ends_the_answer_to_ones_own_where_the_chat_wants_it(
    chat: MakeChat, clock: FakeClock, mode: Busy
) -> None:
    it = chat(mode)
    newer = MessageSent(
        delivery="n", chat=CHAT, sender=Sender(id="telegram:7"), target=ReplyTarget("telegram", {}), text="Milk?"
    )
    await it.merging.interrupt(newer)
    ended: list[bool] = []

    async def answer(running: Running) -> None:
        try:
            await it.gate.wait()
        except asyncio.CancelledError:
            ended.append(True)

    it.queue.put(CHAT, 90, "telegram:7", answer)
    await clock.settle()
    await it.merging.interrupt(replace(newer, sender=Sender(id="telegram:8")))
    await clock.settle()
    assert ended == []
    await it.merging.interrupt(newer)
    await clock.settle()

    assert ended == [True] * (mode is Busy.INTERRUPT)
    it.gate.set()
    await it.queue.wait_idle()


async def test_what_another_row_asks_is_joined_by_nothing(chat: MakeChat, clock: FakeClock) -> None:
    """`/retry` asks an earlier question again: what comes meanwhile is no part of that."""
    it = chat(Busy.COLLECT)
    results: list[Awaitable[object]] = []

    async def again(running: Running) -> None:
        run = Run(running.id, replace(asked, command=""), "en", lambda: None, TurnLimits(1e9))
        await it.merging.collect(run)
        results.extend(await it.merging.steer(run))  # type: ignore[arg-type]  # nothing is expected

    asked = MessageSent(
        delivery="r", chat=CHAT, sender=Sender(id="telegram:7"), target=ReplyTarget("telegram", {}), text="Tea?"
    )
    it.queue.put(CHAT, 90, "telegram:7", again)
    await it.send("And milk?")
    await clock.advance(COLLECT_SECONDS)

    assert it.asked == ["And milk?"] and results == []


async def test_only_a_question_that_came_in_part_waits_for_its_rest(chat: MakeChat, clock: FakeClock) -> None:
    it = chat(Busy.QUEUE)
    it.gate.set()
    await it.send("Is it true?")
    assert it.asked == ["Is it true?"]

    first = await it.send("", unfinished=True)
    assert it.asked == ["Is it true?"] and it.queue.gathers(CHAT, first)
    await clock.advance(PART_SECONDS - 0.01)
    second = await it.send("What of this?", unfinished=True, replaces=first)

    await clock.advance(PART_SECONDS - 0.01)
    assert it.asked == ["Is it true?"] and it.queue.gathers(CHAT, second)
    await clock.advance(0.02)
    assert it.asked == ["Is it true?", "What of this?"] and not it.queue.gathers(CHAT, second)
