"""What is kept, for how long, and what is left of it afterwards: nothing."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contract.messages import ChatId, Enclosure, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.transcript import AssistantEntry, ToolEntry, Usage, UserEntry
from bot.store import InboxState, Keep, PageState, Store, TurnState
from bot.store.retention import _ANSWERED, _ENDED, _STEP_BYTES, _STEP_ROWS, DAY, split_portions
from bot.store.sql import Session
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Held, Message, ask_again, taken_in
from tools.contract.base import ToolCall, ToolResult

OTHER = ChatId("telegram", "42", "8")
SECRET = "Rosebud was the sledge"
WEEK = Keep.from_days(chats=7, files=30)
KEPT = Keep.from_days(chats=0, files=30)

Say = Callable[..., Awaitable[int]]


@pytest.fixture
def say(store: Store, message: Message) -> Say:
    """One turn with everything that may hang on it, from message to end; its id."""
    number = 0

    async def say(
        text: str = SECRET,
        *,
        where: ChatId | None = None,
        again: bool = False,
        enclosed: tuple[Enclosure, ...] = (),
    ) -> int:
        nonlocal number
        number += 1
        incoming = replace(message(f"m{number}", text, **({"where": where} if where else {})), enclosed=enclosed)
        turn = await taken_in(store, incoming)
        await store.turns.begin(turn, incoming.chat, "telegram:1")
        if again:
            await ask_again(store, incoming.chat, turn)
        call = ToolCall("c", "search", {"query": text})
        await store.turns.save_pass(turn, 1, AssistantEntry("", (call,)), "m", Usage(1, 1))
        await store.turns.start_call(turn, call, passnumber=1, position=0, effects=False)
        await store.turns.end_call(turn, "c", ToolResult(text=text))
        ref = MessageRef(f"r{number}")
        await store.turns.save_page(turn, 0, body=text, ref=ref, state=PageState.FINAL, nonce="")
        file = await store.files.put(str(incoming.chat), f"{number}.txt", "text/plain", text.encode())
        await store.files.save_attachment(turn, 0, file, ref=ref, state=PageState.FINAL, nonce="")
        long = AssistantEntry(text * 300)
        entries = (UserEntry(text), AssistantEntry("", (call,)), ToolEntry("c", "search", text), long)
        await store.turns.close(
            turn, TurnState.DONE, entries, visible=text, reasoning=text, model="m", usage=Usage(1, 1)
        )
        return turn

    return say


async def count(store: Store) -> dict[str, int]:
    """Rows by table, of those that have any."""
    tables = (
        "inbox",
        "chats",
        "turns",
        "passes",
        "calls",
        "pages",
        "attachments",
        "history",
        "bodies",
        "files",
        "blobs",
    )

    def counted(db: Session) -> dict[str, int]:
        return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}

    found = await store.writer.run(counted)
    return {table: rows for table, rows in found.items() if rows}


async def test_what_was_said_is_kept_until_somebody_says_otherwise(store: Store, say: Say, clock: HandClock) -> None:
    await say()
    clock.day += 10_000 * DAY

    await store.prune()
    await store.prune(Keep.from_days(chats=0, files=0))

    assert (await count(store))["turns"] == 1


async def test_after_its_time_nothing_of_a_turn_is_left(store: Store, say: Say, clock: HandClock) -> None:
    await say()
    await say(where=OTHER)
    clock.day += 5 * DAY
    await say("And now?")
    clock.day += 3 * DAY

    await store.prune(WEEK)

    assert await count(store) == {
        **dict.fromkeys(("inbox", "chats", "turns", "calls", "pages", "attachments"), 1),
        "history": 4,
        "bodies": 1,
        **dict.fromkeys(("files", "blobs"), 1),
    }
    [listed] = await store.history.list_chats()
    entries = await store.history.list_entries(listed.chat)
    assert [row.sequence for row in entries] == [5, 6, 7, 8]
    assert listed.turns == 1 and 0 < listed.bytes < 10_000

    clock.day += 30 * DAY
    await store.prune(WEEK)
    assert await count(store) == {}


async def test_its_words_are_kept_nowhere_any_more(held: Held, clock: HandClock, url: str) -> None:
    async with Store.open(url, clock=clock) as store:
        sender, target = Sender(id="telegram:1", name=SECRET), ReplyTarget("telegram", {})
        sent = MessageSent(delivery="1", chat=OTHER, sender=sender, target=target, text=SECRET)
        turn = await taken_in(store, sent)
        await store.turns.open(turn, OTHER, "telegram:1")
        entries = (UserEntry(SECRET), AssistantEntry(SECRET * 300))
        await store.turns.close(
            turn, TurnState.DONE, entries, visible=SECRET, reasoning="", model="m", usage=Usage(1, 1)
        )
        clock.day += 8 * DAY
        await store.prune(WEEK)

    assert not any(SECRET.encode() in content for content in held().values())


async def test_a_file_within_a_question_goes_when_files_go_and_the_question_stays(
    store: Store, say: Say, clock: HandClock
) -> None:
    """Of a platform that keeps no files, the key of an attachment is the file."""
    within = Enclosure.file("notes.txt", "text/plain", 30_000, f"x:{SECRET * 1_000}")
    beside = Enclosure.file("cat.png", "image/png", 9, "T1-file-7")
    turn = await say("look at this", enclosed=(within, beside))
    later = await say("and this", enclosed=(within,))

    async def sources(id: int) -> list[str]:
        record = await store.turns.find_record(id)
        assert record is not None and isinstance(record.incoming, MessageSent)
        return [one.source for one in record.incoming.enclosed]

    clock.day += 29 * DAY
    await store.prune(KEPT)
    assert await sources(turn) == await sources(turn) == [within.source, "T1-file-7"]
    clock.day += 2 * DAY
    await store.prune(KEPT)

    assert (await sources(turn), await sources(later)) == (["", "T1-file-7"], [""])


async def test_days_are_whole_so_that_a_summary_is_made_anew_at_most_once_a_day(
    store: Store, say: Say, chat: ChatId, clock: HandClock
) -> None:
    clock.day = clock.day // DAY * DAY
    for hour in (1, 2, 25):
        clock.day = 1_800_000_000.0 // DAY * DAY + hour * 3600.0
        await say(f"at {hour}")

    clock.day = 1_800_000_000.0 // DAY * DAY + 7 * DAY + 23 * 3600.0
    await store.prune(WEEK)
    assert (await count(store))["turns"] == 3
    clock.day += 2 * 3600.0
    await store.prune(WEEK)
    assert (await count(store))["turns"] == 1


async def test_a_summary_goes_with_what_it_was_made_from(
    store: Store, say: Say, chat: ChatId, clock: HandClock
) -> None:
    await say()
    clock.day += 6 * DAY
    await say("And now?")
    await store.history.set_summary(chat, f"{SECRET}.", 4, first=1, after=0)
    clock.day += 2 * DAY

    await store.prune(WEEK)
    assert await store.history.get_summary(chat) is None
    # One that was being made from it comes too late.
    await store.history.set_summary(chat, f"{SECRET}.", 8, first=5, after=4)
    await store.history.set_summary(chat, f"{SECRET}.", 8, first=1, after=0)
    assert await store.history.get_summary(chat) is None
    await store.history.set_summary(chat, "They asked about now.", 8, first=5, after=0)
    assert await store.history.get_summary(chat) is not None


async def test_a_question_is_kept_as_long_as_its_newest_answer(
    store: Store, say: Say, chat: ChatId, clock: HandClock
) -> None:
    first = await say("What is tea?")
    clock.day += 3 * DAY
    await say("", again=True)
    clock.day += 3 * DAY
    last = await say("", again=True)

    clock.day += 6 * DAY
    await store.prune(WEEK)
    kept = await store.turns.find_last(chat)
    assert kept is not None and kept.id == last and kept.incoming.text == "What is tea?"  # type: ignore[union-attr]
    assert (await count(store))["turns"] == 3 and first == 1

    clock.day += 3 * DAY
    await store.prune(WEEK)
    assert await store.turns.find_last(chat) is None
    assert await count(store) == {}


async def test_what_became_no_turn_is_kept_for_a_day_and_known_for_a_week(
    store: Store, say: Say, clock: HandClock, message: Message
) -> None:
    """A stranger's message, say. What waits is kept, and what belongs to a turn."""
    refused = await taken_in(store, message("stranger", SECRET))
    await store.intake.end(refused, InboxState.REFUSED)
    await say("And now?")
    await store.intake.take_in(message("waits"))

    clock.day += 0.9 * DAY
    await store.prune()
    assert (await count(store))["inbox"] == 3
    clock.day += 0.2 * DAY
    await store.prune()
    assert (await count(store))["inbox"] == 2

    clock.day += 6 * DAY
    await store.prune()
    assert await store.intake.take_in(message("stranger")) is None
    late = await taken_in(store, message("another"))
    await store.intake.end(late, InboxState.DONE)
    clock.day += 2 * DAY
    await store.prune()
    assert (await count(store))["inbox"] == 2


async def test_a_turn_that_was_given_up_goes_too(
    store: Store, chat: ChatId, clock: HandClock, message: Message
) -> None:
    turn = await taken_in(store, message())
    await store.turns.begin(turn, chat, "telegram:1")
    await store.intake.end(turn, InboxState.FAILED)
    clock.day += 9 * DAY

    await store.prune(WEEK)

    assert await count(store) == {}


async def test_others_write_between_the_steps(store: Store, say: Say, clock: HandClock, message: Message) -> None:
    for number in range(130):
        await store.intake.end(await store.intake.take_in(message(f"r{number}")), "refused")  # type: ignore[arg-type]
    for _ in range(3):
        await say("x" * 2_000)
    clock.day += 9 * DAY
    pruning = asyncio.create_task(store.prune(WEEK))
    answered = await store.intake.take_in(message("new"))

    assert answered is not None and not pruning.done()
    await pruning
    assert await count(store) == {"inbox": 1}


@given(st.lists(st.integers(0, 3 << 20), max_size=300))
def test_a_step_is_small_unless_a_single_row_is_large(sizes: list[int]) -> None:
    steps = split_portions(list(enumerate(sizes)))

    assert [id for step in steps for id in step] == list(range(len(sizes)))
    assert all(len(step) <= _STEP_ROWS for step in steps)
    assert all(len(step) == 1 or sum(sizes[id] for id in step) <= _STEP_BYTES for step in steps)


@OF_THE_FILE
@pytest.mark.parametrize("query", [_ENDED, _ANSWERED])
async def test_what_is_old_is_found_without_looking_at_the_rest(store: Store, say: Say, query: str) -> None:
    await say()

    plan = await store.writer.run(lambda db: db.execute(f"EXPLAIN QUERY PLAN {query}", (1.0, 0.0, 0, 10)).fetchall())

    assert [step[3] for step in plan if "SCAN" in step[3] or "TEMP" in step[3]] == []
    assert any("inbox_by_end" in step[3] for step in plan)


def test_nothing_is_no_end_and_no_file_outlives_its_chat() -> None:
    assert Keep.from_days(0, 0) == Keep(math.inf, math.inf)
    assert Keep.from_days(0, 30) == Keep() == Keep(math.inf, 30 * DAY)
    assert Keep.from_days(7, 30) == Keep(7 * DAY, 7 * DAY)
    assert Keep.from_days(90, 30) == Keep(90 * DAY, 30 * DAY)
    assert Keep.from_days(90, 0) == Keep(90 * DAY, 90 * DAY)
