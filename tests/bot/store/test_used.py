"""What questions used is summed by whole days, whoever asked."""

from __future__ import annotations

from bot.contract.messages import ChatId, Sender
from bot.contract.transcript import Usage
from bot.store import Store, TurnState
from tests.bot.store.conftest import HandClock, Message, taken_in

MIDNIGHT = 1_800_057_600.0


async def ask(store: Store, clock: HandClock, incoming: Message, number: int, at: float) -> int:
    clock.day = at
    turn = await taken_in(store, incoming(str(number), sender=Sender(id="telegram:1", name=f"Ada {number}")))
    await store.turns.open(turn, ChatId("telegram", "42", "7"), "telegram:1")
    await store.turns.close(
        turn, TurnState.DONE, (), visible="", reasoning="", model="m", usage=Usage(1000, 200), dollars=0.5
    )
    return turn


async def test_a_turn_belongs_to_the_day_in_which_it_began(store: Store, clock: HandClock, message: Message) -> None:
    for number, at in enumerate((-0.6, -0.4, 0.0, 0.3, 86_399.9)):
        await ask(store, clock, message, number, MIDNIGHT + at)

    found = await store.used.list_since(MIDNIGHT - 86_400)

    assert [(one.day, one.questions, one.prompt, one.completion, one.dollars) for one in found] == [
        ("2027-01-15", 2, 2000, 400, 1.0),
        ("2027-01-16", 3, 3000, 600, 1.5),
    ]


async def test_names_of_more_turns_than_one_statement_holds_are_found(
    store: Store, clock: HandClock, message: Message
) -> None:
    first, second = [await ask(store, clock, message, number, MIDNIGHT) for number in range(2)]

    names = await store.used.names_at([first, *range(10, 40_000), second])

    assert names == {first: "Ada 0", second: "Ada 1"}
