"""What one person or chat asks for is found without a look at what is kept of all the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract.messages import ChatId, ReplyTarget, Sender
from bot.store import Amount, InboxState, Limit, Reserved, Store
from bot.store.database import Database, open_database
from bot.store.opening import add_functions
from bot.store.schema import STEPS, upgrade
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, taken_in

pytestmark = OF_THE_FILE

ADA = Sender(id="telegram:1", name="Ada")
CHAT = ChatId("telegram", "42", "7")
DAY = 86_400

Asks = Callable[[Store], Awaitable[object]]
QUESTIONS: dict[str, Asks] = {
    "the list of chats": lambda store: store.history.list_chats(),
    "what is kept of a person": lambda store: store.people.count_held(ADA.id),
    "what a person asked last": lambda store: store.people.list_questions(ADA.id),
    "forgetting a person": lambda store: store.people.forget(ADA.id),
    "a fact of a person": lambda store: store.facts.recall((ADA.id, str(CHAT)), "green tea", 5),
    "the newest facts of a person": lambda store: store.facts.list_newest((ADA.id, str(CHAT)), 5),
    "the reminders of a person": lambda store: store.timers.bind(CHAT, ADA, ReplyTarget("telegram")).pending(
        str(CHAT), ADA.id
    ),
    "what a person has used": lambda store: store.spending.list_spent(["person telegram:1"], DAY),
    "a person's tools": lambda store: store.spending.list_top("tool telegram:1 ", DAY, 5),
    "who used most today": lambda store: store.spending.list_top("person ", DAY, 5),
}
_OF_ALL_CHATS = (
    "SCAN c ",
    "SCAN chats",
    "SCAN newest",
    "SCAN (subquery-",
    "SCAN his ",
    "SCAN CONSTANT ROW",
    "SCAN blobs USING COVERING INDEX",
)
"""What a list of the chats has to read; a subquery's own rows; and contents without a file, by their digests."""


@pytest.mark.parametrize("asked", QUESTIONS)
async def test_only_what_was_asked_for_is_read(
    asked: str, url: str, clock: HandClock, message: Message, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    async def open_traced(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
        opened = await open_database(place, uri=uri, timeout=timeout)
        await opened.run_together(lambda db: db.set_trace_callback(said.append))
        return opened

    monkeypatch.setattr("bot.store.opening.open_database", open_traced)
    async with Store.open(url, clock=clock) as store:
        turn = await taken_in(store, message("1"))
        await store.turns.open(turn, CHAT, ADA.id)
        await store.facts.remember(ADA.id, "likes green tea")
        await store.spending.reserve([Limit("person telegram:1", DAY, Amount())], Amount(tokens=5))
        said.clear()

        await QUESTIONS[asked](store)

        statements = [sql for sql in said if sql.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE"))]
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        add_functions(db)
        plans = {sql: [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")] for sql in statements}
    assert plans
    whole = {step: sql for sql, plan in plans.items() for step in plan if step.startswith("SCAN")}
    assert {step: sql for step, sql in whole.items() if not f"{step} ".startswith(_OF_ALL_CHATS)} == {}
    if asked == "the list of chats":  # nor is every turn of a chat, for those that were rated
        [plan] = plans.values()
        assert plan.count("SEARCH t USING COVERING INDEX turns_rated (chat=? AND rating=?)") == 2


@pytest.mark.parametrize("many", [1, 5])
async def test_however_many_quotas_apply_a_call_is_counted_in_as_many_statements(
    many: int, url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a server each would be a round trip, while other processes wait."""
    said: list[str] = []

    async def open_traced(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
        opened = await open_database(place, uri=uri, timeout=timeout)
        await opened.run_together(lambda db: db.set_trace_callback(said.append))
        return opened

    monkeypatch.setattr("bot.store.opening.open_database", open_traced)
    limits = [Limit(f"person {number}", DAY, Amount(tokens=1_000)) for number in range(many)]
    async with Store.open(url, clock=clock) as store:
        said.clear()
        reserved = await store.spending.reserve(limits, Amount(tokens=10), Amount(tokens=20))
        assert isinstance(reserved, Reserved)
        used = await store.spending.list_used([limit.key for limit in limits], DAY)
        await store.spending.settle((reserved, Amount(tokens=15)))
        spent = await store.spending.list_spent([limit.key for limit in limits], DAY)

    assert used == [Amount()] * many
    assert spent == [Amount(tokens=15)] * many
    assert sum(sql.startswith(("SELECT", "INSERT", "DELETE")) for sql in said) == 9


async def test_forgetting_a_person_gives_way_to_others_while_deliveries_go(store: Store, message: Message) -> None:
    for number in range(3):
        row = await taken_in(store, message(f"command {number}"))
        await store.intake.end(row, InboxState.DONE)
    await store.writer.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "
        "INSERT INTO inbox (chat, incoming, received_at, ended_at, state, sender) "
        "SELECT chat, incoming, received_at, ended_at, state, sender FROM inbox, n WHERE id = 1"
    )
    await taken_in(store, message("of somebody else", sender=Sender(id="telegram:2", name="Bob")))
    before = store.writer.commits

    await store.people.forget(ADA.id)

    [left] = await store.intake.list_waiting()
    assert left.incoming.delivery == "of somebody else"
    assert store.writer.commits - before > 1203 / 500, "in several transactions"


async def test_what_a_person_sent_before_an_upgrade_is_forgotten_too(
    url: str, tmp_path: Path, clock: HandClock, message: Message
) -> None:
    async with Store.open(url, clock=clock) as store:
        for incoming in (message("1", "Rosebud"), message("2", sender=Sender(id="telegram:2", name="Bob"))):
            await store.intake.end(await taken_in(store, incoming), InboxState.DONE)
    with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as new:
        rows = new.execute("SELECT chat, incoming, state, received_at, ended_at FROM inbox").fetchall()
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        upgrade(db, STEPS[:21])
        db.executemany(
            "INSERT INTO inbox (chat, incoming, state, received_at, ended_at) VALUES (?, ?, ?, ?, ?)",
            [*rows, ("telegram:42/7", "no JSON at all", "done", 0.0, 0.0)],
        )

    async with Store.open(f"sqlite:///{old}", clock=clock) as store:
        await store.people.forget(ADA.id)

    with closing(sqlite3.connect(old)) as db:
        assert [sender for (sender,) in db.execute("SELECT sender FROM inbox ORDER BY id")] == ["telegram:2", None]
