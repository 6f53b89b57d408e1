"""What calls hold of quotas: it is added to while they go on, and settled by what is shown where their process died."""

from __future__ import annotations

from bot.contract.messages import ChatId, MessageRef
from bot.contract.transcript import AssistantEntry, Usage
from bot.store import Amount, Limit, PageState, Refused, Reserved, Store
from tests.bot.store.conftest import HandClock, Message, taken_in

DAY = Limit("*", 86_400, Amount(10_000, dollars=1.0))


async def reserved(store: Store, least: Amount, **more: object) -> Reserved:
    result = await store.spending.reserve([DAY], least, **more)  # type: ignore[arg-type]  # what a test hands on
    assert isinstance(result, Reserved)
    return result


async def held(store: Store) -> Amount:
    [amount] = await store.spending.list_spent(["*"], 86_400)
    return amount


async def test_what_a_call_holds_is_added_to_as_far_as_there_is(store: Store) -> None:
    call = await reserved(store, Amount(4_000))

    more = await store.spending.extend(call, [DAY], Amount(1_000), Amount(4_000))
    assert isinstance(more, Reserved) and more.amount == Amount(8_000)
    most = await store.spending.extend(more, [DAY], Amount(1_000), Amount(4_000))
    assert isinstance(most, Reserved) and most.amount == Amount(10_000)
    assert isinstance(await store.spending.extend(most, [DAY], Amount(1), Amount(1)), Refused)

    # What it holds is in the database: a call that was stopped while it was added to settles all of it.
    await store.spending.settle((call, Amount(10)))
    assert await held(store) == Amount(10)
    assert isinstance(await store.spending.extend(most, [DAY], Amount(100), Amount(100)), Reserved)
    assert await held(store) == Amount(10), "who is settled holds nothing more"
    await store.spending.settle((most, Amount(10)))
    assert await held(store) == Amount(10)


async def test_where_there_are_no_quotas_a_call_holds_what_it_wishes_and_nothing_is_counted(store: Store) -> None:
    call = await store.spending.reserve([], Amount(1_000), Amount(4_000))
    assert isinstance(call, Reserved) and call.amount == Amount(4_000) and not call.windows
    assert await store.spending.list_used([], 86_400) == await store.spending.list_spent([], 86_400) == []
    await store.spending.settle((call, Amount(10)))
    assert await held(store) == Amount()


async def test_what_is_added_after_midnight_counts_for_the_day_before(store: Store, clock: HandClock) -> None:
    call = await reserved(store, Amount(4_000))
    clock.passed += 86_400

    more = await store.spending.extend(call, [DAY], Amount(1_000), Amount(1_000))

    assert isinstance(more, Reserved) and await held(store) == Amount()
    await store.spending.settle((more, Amount(5_000)))
    clock.passed -= 86_400
    assert await held(store) == Amount(5_000)


async def test_a_killed_call_used_its_prompt_and_what_its_pages_show(
    store: Store, message: Message, chat: ChatId
) -> None:
    """Of earlier passes the text was settled; of several calls of one turn one wrote what is shown."""
    turns = []
    for number in range(3):
        where = ChatId("telegram", "42", str(number))
        turns.append(await taken_in(store, message(str(number), where=where)))
        await store.turns.begin(turns[-1], where, "telegram:1")
    ref, made = MessageRef("1"), AssistantEntry(text="e" * 30)
    await store.turns.save_pass(turns[0], 0, made, "openai:x", Usage(10, 10))
    for page, body in enumerate(("e" * 30 + "n" * 60, "n" * 240)):
        await store.turns.save_page(turns[0], page, body=body, ref=ref, state=PageState.SHOWN, nonce=f"n{page}")
    await store.turns.save_page(turns[1], 0, body="w" * 90_000, ref=ref, state=PageState.SHOWN, nonce="n")
    for turn in (turns[0], *turns, 0):
        await reserved(store, Amount(1_000, dollars=0.1), sure=Amount(500, dollars=0.02), turn=turn)
    assert await held(store) == Amount(5_000, dollars=0.5)

    assert await store.spending.settle_killed() == 5

    spent = await held(store)
    assert spent.tokens == 5 * 500 + 100 + 500, "300 letters are 100 tokens, and no call used more than it held"
    assert round(spent.dollars, 6) == round(5 * 0.02 + 100 / 500 * 0.08 + 0.08, 6)
    assert await store.spending.settle_killed() == 0
