"""What turns used is added up by day as each ends; what is about a person leaves with the person's turns."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bot.contract.messages import ChatId, Sender
from bot.contract.transcript import Usage
from bot.store import Delivered, Keep, Store, TurnState
from bot.store.latersteps import TOLD
from bot.store.schema import STEPS, upgrade
from bot.store.sql import Connection, Row
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, ask_again, taken_in
from tools.contract.base import ToolCall, ToolResult, ToolStatus

MIDNIGHT = 1_800_057_600.0
DAY = int(MIDNIGHT // 86_400)
UNKNOWN = Delivered()
ADA, BOB = "telegram:1", "telegram:2"
HOME, GROUP = ChatId("telegram", "42", "7"), ChatId("telegram", "42", "-8")
DAYS = "SELECT day, platform, model, turns, failed, prompt, completion, dollars FROM days ORDER BY day, model"
WAITS = "SELECT timed, first_words, waited, late, edits, refusals FROM days ORDER BY day, model"
PEOPLE = "SELECT day, person, turns, prompt, completion, dollars FROM person_days ORDER BY day, person"
TOOLS = "SELECT day, name, calls, failed, seconds, longest FROM tool_days ORDER BY day, name"


async def rows(store: Store, query: str) -> list[Row]:
    def read(db: Connection) -> list[Row]:
        return [tuple(row) for row in db.execute(query).fetchall()]

    return await store.writer.run(read)


async def asked(store: Store, message: Message, number: int, *, person: str = ADA, where: ChatId = HOME) -> int:
    incoming = message(f"q{number}", where=where, sender=Sender(id=person, name="A"), message_id=f"m{number}")
    turn = await taken_in(store, incoming)
    await store.turns.begin(turn, where, person)
    return turn


async def ended(
    store: Store, turn: int, *, state: TurnState = TurnState.DONE, delivered: Delivered = UNKNOWN, model: str = "m"
) -> None:
    used = Usage(1000, 200)
    await store.turns.close(
        turn,
        state,
        (),
        visible="",
        reasoning="",
        model=model,
        usage=used,
        dollars=0.5,
        delivered=delivered,
    )


async def called(store: Store, turn: int, at: int, result: ToolResult, name: str = "search_web") -> None:
    call = ToolCall(f"call_{at}", name, {})
    await store.turns.start_call(turn, call, passnumber=1, position=at, effects=False)
    await store.turns.end_call(turn, call.id, result)


async def test_turns_are_added_to_the_day_in_which_they_end(store: Store, clock: HandClock, message: Message) -> None:
    clock.day = MIDNIGHT - 1
    await ended(store, await asked(store, message, 1), delivered=Delivered(0.5, 2.5, 7, 1))
    second = await asked(store, message, 2)
    clock.day = MIDNIGHT
    await ended(store, second, state=TurnState.FAILED, delivered=Delivered(1.5, 0.25, 3))
    await ended(store, await asked(store, message, 3, person=BOB), delivered=Delivered(edits=1))
    await ended(store, await asked(store, message, 4), model="n")
    await ended(store, second)

    assert await rows(store, DAYS) == [
        (DAY - 1, "telegram", "m", 1, 0, 1000, 200, 0.5),
        (DAY, "telegram", "m", 2, 1, 2000, 400, 1.0),
        (DAY, "telegram", "n", 1, 0, 1000, 200, 0.5),
    ]
    assert await rows(store, WAITS) == [(1, 0.5, 2.5, 1, 7, 1), (1, 1.5, 0.25, 0, 4, 0), (0, 0.0, 0.0, 0, 0, 0)]
    assert await rows(store, PEOPLE) == [
        (DAY - 1, ADA, 1, 1000, 200, 0.5),
        (DAY, ADA, 2, 2000, 400, 1.0),
        (DAY, BOB, 1, 1000, 200, 0.5),
    ]
    measured = "SELECT first_words, waited, edits, refusals FROM turns WHERE waited > 2"
    assert await rows(store, measured) == [(0.5, 2.5, 7, 1)]


async def test_calls_are_added_by_tool_with_the_longest(store: Store, clock: HandClock, message: Message) -> None:
    clock.day = MIDNIGHT
    for number, seconds in enumerate((1.0, 3.0, 0.5)):
        turn = await asked(store, message, number)
        await called(store, turn, 0, ToolResult(text="It rains.", seconds=seconds))
        late = ToolResult(text="", ok=False, status=ToolStatus.TIMEOUT, seconds=0.25)
        await called(store, turn, 1, late)
        await called(store, turn, 2, ToolResult(text="4", seconds=0.0), "calculator")
        await ended(store, turn)

    assert await rows(store, TOOLS) == [(DAY, "calculator", 3, 0, 0.0, 0.0), (DAY, "search_web", 6, 3, 5.25, 3.0)]


async def test_an_answer_whose_question_is_changed_while_it_is_written_is_counted_too(
    store: Store, clock: HandClock, message: Message
) -> None:
    clock.day = MIDNIGHT
    first, second = [await asked(store, message, number) for number in (1, 2)]
    await store.turns.take_over(second, first, HOME, ADA)
    await ended(store, first)
    await ended(store, second)

    assert [row[:4] for row in await rows(store, DAYS)] == [(DAY, "telegram", "", 1), (DAY, "telegram", "m", 1)]
    assert [row[:3] for row in await rows(store, PEOPLE)] == [(DAY, ADA, 2)]


async def test_a_call_that_a_later_answer_to_the_question_takes_over_is_counted_once(
    store: Store, clock: HandClock, message: Message
) -> None:
    clock.day = MIDNIGHT
    first = await asked(store, message, 1)
    call = ToolCall("call_0", "remember", {})
    await store.turns.start_call(first, call, passnumber=1, position=0, effects=True)
    await store.turns.end_call(first, call.id, ToolResult(text="kept", seconds=1.0))
    await ended(store, first)
    clock.day += 1
    again = await asked(store, message, 2)
    await ask_again(store, HOME, again)
    assert [one.call.name for one in await store.turns.list_calls(again)] == ["remember"]
    await called(store, again, 1, ToolResult(text="It rains.", seconds=2.0))
    await ended(store, again)

    assert await rows(store, TOOLS) == [(DAY, "remember", 1, 0, 1.0, 1.0), (DAY, "search_web", 1, 0, 2.0, 2.0)]


async def test_nobody_is_counted_whose_turns_are_deleted(store: Store, clock: HandClock, message: Message) -> None:
    clock.day = MIDNIGHT
    for number, where in enumerate((HOME, HOME, GROUP, GROUP)):
        await ended(store, await asked(store, message, number, where=where))
    await ended(store, await asked(store, message, 5, person=BOB, where=GROUP))
    everything = await rows(store, DAYS)

    await store.history.forget(HOME)
    assert [row[:3] for row in await rows(store, PEOPLE)] == [(DAY, ADA, 2), (DAY, BOB, 1)]
    await store.turns.forget(GROUP, "m2")
    assert [row[1:] for row in await rows(store, PEOPLE)] == [(ADA, 1, 1000, 200, 0.5), (BOB, 1, 1000, 200, 0.5)]
    await store.people.forget(ADA)
    assert [row[1] for row in await rows(store, PEOPLE)] == [BOB]
    clock.day += 3 * 86_400
    await store.prune(Keep(chats=86_400.0))

    assert await rows(store, PEOPLE) == []
    assert await rows(store, DAYS) == everything, "what names nobody is kept"


async def test_a_question_that_is_asked_again_leaves_once(store: Store, clock: HandClock, message: Message) -> None:
    clock.day = MIDNIGHT
    await ended(store, await asked(store, message, 1))
    again = await asked(store, message, 2)
    await ask_again(store, HOME, again)
    await ended(store, again)
    await store.turns.forget(HOME, "m1")

    assert await rows(store, PEOPLE) == []


@OF_THE_FILE
async def test_turns_from_before_the_sums_are_in_them(
    store: Store, clock: HandClock, message: Message, tmp_path: Path
) -> None:
    """A copy of the older schema is filled with what the store wrote, and upgraded."""
    clock.day = MIDNIGHT - 0.25
    for number in range(4):
        turn = await asked(store, message, number, person=BOB if number == 3 else ADA)
        await called(store, turn, 0, ToolResult(text="", ok=number > 0, status=ToolStatus.FAILED, seconds=number))
        await ended(store, turn, state=TurnState.FAILED if number == 2 else TurnState.DONE)
        clock.day += 0.25
    await asked(store, message, 9)
    expected = [await rows(store, query) for query in (DAYS, PEOPLE, TOOLS)]
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as old:
        upgrade(old, STEPS[: STEPS.index(TOLD)])
        old.execute("ATTACH ? AS new", (str(tmp_path / "parley.db"),))
        for table in ("inbox", "chats", "turns", "calls"):
            names = ", ".join(row[1] for row in old.execute(f"PRAGMA main.table_info({table})"))
            old.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
        old.execute("DETACH new")

        upgrade(old)

        assert [old.execute(query).fetchall() for query in (DAYS, PEOPLE, TOOLS)] == expected
