"""Roles, pairing, once in a while, settings of a chat, and quotas."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack

import pytest

from bot.contract.messages import ChatId
from bot.store import CONSOLE, Amount, Connection, Limit, Pairing, Refused, Reserved, Store
from bot.store.access import take_code
from bot.store.sql import Cursor, Values
from tests.bot.store.conftest import HandClock


async def test_a_role_is_given_changed_and_taken_away(store: Store) -> None:
    assert await store.access.role_of("telegram:1") is None
    await store.access.set_role("telegram:1", "allowed")
    await store.access.set_role("telegram:1", "owner")
    assert await store.access.role_of("telegram:1") == "owner"
    assert await store.access.list_roles() == {"telegram:1": "owner"}
    assert await store.access.has_owner()

    await store.access.set_role("telegram:1", None)

    assert await store.access.role_of("telegram:1") is None
    assert not await store.access.has_owner()
    with pytest.raises(ValueError, match="'king' is no role"):
        await store.access.set_role("telegram:1", "king")


async def test_a_pairing_code_makes_one_owner_however_many_try_at_once(store: Store, clock: HandClock) -> None:
    await store.access.set_pairing("hash", clock.wall() + 900)

    used = await asyncio.gather(*(store.access.use_pairing("hash", f"telegram:{number}") for number in range(5)))

    assert sum(one is not None for one in used) == 1
    assert list((await store.access.list_roles()).values()) == ["owner"]


async def test_a_pairing_code_is_worth_nothing_wrong_late_or_replaced(store: Store, clock: HandClock) -> None:
    await store.access.set_pairing("old", clock.wall() + 900)
    await store.access.set_pairing("hash", clock.wall() + 900)
    assert not await store.access.use_pairing("old", "telegram:1")

    clock.day += 900

    assert not await store.access.use_pairing("hash", "telegram:1")
    assert not await store.access.has_owner()


async def test_two_processes_that_start_at_once_show_one_code(store: Store, clock: HandClock) -> None:
    set_pairing = store.access.set_pairing

    shown = await asyncio.gather(*(set_pairing(code, clock.wall() + 900, keep=True) for code in ("first", "second")))
    assert shown == [True, False] and not await store.access.use_pairing("second", "telegram:1")
    clock.day += 901
    assert await set_pairing("third", clock.wall() + 900, keep=True)
    assert await store.access.use_pairing("third", "telegram:1")


async def test_a_code_that_two_processes_find_right_at_once_makes_one_owner(store: Store, clock: HandClock) -> None:
    await store.access.set_pairing("hash", clock.wall() + 900)
    taken: list[Pairing | None] = []

    class OvertakenConnection:
        """Another process takes the code between the look at it and its use."""

        def __init__(self, db: Connection) -> None:
            self._db = db

        def execute(self, sql: str, values: Values = ()) -> Cursor:
            if sql.startswith("DELETE") and not taken:
                taken.append(None)
                taken[0] = take_code(self._db, "hash")
            return self._db.execute(sql, values)

        def executemany(self, sql: str, values: Iterable[Sequence[object]]) -> Cursor:
            raise AssertionError

    assert await store.writer.run(lambda db: take_code(OvertakenConnection(db), "hash")) is None
    assert taken == [Pairing(CONSOLE)]


async def test_a_guesser_makes_a_pairing_code_void(store: Store, clock: HandClock) -> None:
    await store.access.set_pairing("hash", clock.wall() + 900)
    for guess in range(20):
        await store.access.use_pairing(f"guess {guess}", "telegram:666")

    assert not await store.access.use_pairing("hash", "telegram:1")


async def test_once_a_day_means_once_across_restarts_and_strange_clocks(url: str, clock: HandClock) -> None:
    async with Store.open(url, clock=clock) as store:
        assert [await store.access.claim("refusal", 86_400) for _ in range(3)] == [True, False, False]
        assert await store.access.claim("another", 86_400)

    async with Store.open(url, clock=clock) as store:
        assert not await store.access.claim("refusal", 86_400)
        clock.day += 86_400
        await store.prune()
        assert await store.access.claim("refusal", 86_400)
        clock.day -= 10 * 86_400
        assert await store.access.claim("refusal", 86_400), "the clock was put back: nobody stays silent for ten days"


async def test_a_setting_belongs_to_its_chat(store: Store, chat: ChatId) -> None:
    await store.settings.set(chat, "model", "openai:x")
    await store.settings.set(chat, "model", "ollama:y")

    assert await store.settings.get(chat, "model") == "ollama:y"
    assert await store.settings.get(ChatId("telegram", "42", "8"), "model") is None

    await store.settings.set(chat, "model", None)
    assert await store.settings.get(chat, "model") is None


MINUTE = Limit("telegram:1", 60, Amount(messages=2))
DAY = Limit("*", 86_400, Amount(tokens=1000, dollars=0.5))


async def test_a_quota_is_reserved_under_every_limit_or_under_none(store: Store) -> None:
    assert isinstance(await store.spending.reserve([MINUTE, DAY], Amount(600, 1)), Reserved)

    refused = await store.spending.reserve([MINUTE, DAY], Amount(600, 1))

    assert isinstance(refused, Refused)
    assert (refused.limit, refused.spent) == (DAY, Amount(600, 1))
    assert await store.spending.list_spent(["telegram:1"], 60) == [Amount(600, 1)], (
        "the minute was not charged for the refusal"
    )


async def test_many_at_once_cannot_overdraw_a_quota(store: Store) -> None:
    outcomes = await asyncio.gather(*(store.spending.reserve([MINUTE], Amount(messages=1)) for _ in range(10)))

    assert sum(isinstance(outcome, Reserved) for outcome in outcomes) == 2


async def test_several_processes_at_once_cannot_overdraw_a_quota_either(url: str, clock: HandClock) -> None:
    """Nor do their counts of messages: each operation reads what is spent, and writes by what it read."""
    async with AsyncExitStack() as stack:
        stores = [
            await stack.enter_async_context(Store.open(url, clock=clock, worker=name)) for name in ("a", "b", "c")
        ]
        day = [Limit("*", 86_400, Amount(3_000))]
        reserved = await asyncio.gather(*(one.spending.reserve(day, Amount(70)) for one in stores * 40))
        counted = await asyncio.gather(*(one.spending.count([MINUTE], Amount(messages=1)) for one in stores * 4))

        assert sum(isinstance(one, Reserved) for one in reserved) == 3_000 // 70
        assert sum(isinstance(one, Reserved) for one in counted) == 2
        held = [one for one in reserved if isinstance(one, Reserved)]
        await asyncio.gather(*(stores[0].spending.settle((one, Amount(1))) for one in held))
        assert await stores[1].spending.list_used(["*"], 86_400) == [Amount(len(held))]


async def test_settling_charges_what_was_really_spent(store: Store) -> None:
    reserved = await store.spending.reserve([DAY], Amount(900, 1, 0.4))
    assert isinstance(reserved, Reserved)

    await store.spending.settle((reserved, Amount(100, 1, 0.25)))

    assert await store.spending.list_spent(["*"], 86_400) == [Amount(100, 1, 0.25)]
    assert isinstance(await store.spending.reserve([DAY], Amount(900)), Reserved)


async def test_a_window_ends_and_says_when(store: Store, clock: HandClock) -> None:
    clock.day = 1_800_000_000.0 + 30
    await store.spending.reserve([MINUTE], Amount(messages=2))
    refused = await store.spending.reserve([MINUTE], Amount(messages=1))
    assert isinstance(refused, Refused)

    clock.day = refused.until

    assert isinstance(await store.spending.reserve([MINUTE], Amount(messages=1)), Reserved)
    clock.day += 4 * 86_400
    await store.prune()
    assert await store.spending.list_spent(["telegram:1"], 60) == [Amount()]


async def test_zero_means_no_limit_and_more_than_a_whole_limit_is_refused(store: Store) -> None:
    assert isinstance(await store.spending.reserve([MINUTE], Amount(tokens=10**9, messages=1)), Reserved)
    assert isinstance(await store.spending.reserve([Limit("x", 60, Amount(5))], Amount(6)), Refused)


async def test_as_much_is_reserved_as_every_limit_lets_and_others_leave(store: Store) -> None:
    limits = [Limit("a", 60, Amount(10_000)), Limit("b", 60, Amount(0, 0, 0.5))]
    least, most = Amount(1_000, 0, 0.1), Amount(5_000, 0, 0.9)

    whole = await store.spending.reserve([limits[0]], least, most)
    half = await store.spending.reserve(limits, least, most)
    shared = await store.spending.reserve([limits[0]], least, most, others=[1])
    rest = await store.spending.reserve([limits[0]], Amount(1), most)

    assert isinstance(whole, Reserved) and whole.amount == most
    # 0.4 dollars of the 0.8 that were wished for are left of b, so half of the tokens.
    assert isinstance(half, Reserved) and half.amount.tokens == 3_000
    assert half.amount.dollars == pytest.approx(0.5)
    assert isinstance(shared, Reserved) and shared.amount.tokens == 1_000 + 500
    assert isinstance(rest, Reserved) and rest.amount.tokens == 500
    assert isinstance(await store.spending.reserve([limits[0]], Amount(1), most), Refused)


async def test_of_nobody_nothing_is_found_and_nothing_deleted(store: Store) -> None:
    assert await store.access.roles_of([]) == {}
    assert await store.facts.list_newest((), 5) == []
    assert not await store.facts.forget((), 1)
