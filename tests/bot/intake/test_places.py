"""What one process does with the places that it is given; it runs here, so that its lines are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest

from bot.contract import OtherBot, SystemClock
from bot.intake import digest_of_bot, engine, fleet, membership
from bot.intake.fleet import Fleet
from bot.intake.ownership import Role
from tests.bot.intake.members import Looks, Marks, Member, is_idle, looks
from tests.patience import PATIENCE

pytestmark = pytest.mark.real


@pytest.fixture
def seen(postgres_url: str) -> Iterator[Looks]:
    with looks(postgres_url) as seen:
        yield seen


@pytest.fixture
async def here(seen: Looks, postgres_url: str) -> AsyncIterator[Member]:
    async with Member(postgres_url, "here", seconds=0.0, idle=0.3).open() as here:
        yield here


async def look_for(seen: Looks, query: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen.rows(query):
            await asyncio.sleep(0.01)


NOBODY = "SELECT WHERE NOT EXISTS (SELECT FROM places)"
ALL_ANSWERED = "SELECT WHERE NOT EXISTS (SELECT FROM inbox WHERE state = 'new')"


async def test_a_place_is_owned_while_it_is_busy_and_given_up_when_it_is_idle(here: Member, seen: Looks) -> None:
    here.idle = PATIENCE
    await here.take_in("slack:C1")
    assert seen.rows("SELECT place FROM places") == [("slack:C1",)]
    await look_for(seen, "SELECT FROM places WHERE owner IS NOT NULL")
    await look_for(seen, ALL_ANSWERED)
    assert here.fleet.owns("slack:C1")

    here.idle = 0.1
    await here.take_in("slack:C1")
    await look_for(seen, NOBODY)

    async with asyncio.timeout(PATIENCE):
        while here.fleet.owns("slack:C1"):
            await asyncio.sleep(0.01)
    seen.check_order()


async def test_a_place_is_not_given_up_while_something_is_stored_there(here: Member, seen: Looks) -> None:
    here.idle = 1.0
    await here.take_in("slack:C1")
    await look_for(seen, ALL_ANSWERED)
    async with asyncio.timeout(PATIENCE):
        while not here.fleet.owns("slack:C1"):
            await asyncio.sleep(0.01)
    with here.db.transaction():
        (row,) = here.db.execute("INSERT INTO inbox (place) VALUES ('slack:C1') RETURNING id").fetchone() or (0,)
        assert here.fleet.ensure(Marks(here.db), "slack:C1", row)
        await asyncio.sleep(1.5)  # longer than it is kept idle
        assert here.fleet.owns("slack:C1")

    await look_for(seen, NOBODY)
    seen.check_order()


async def test_a_process_takes_no_places_before_it_serves_them(seen: Looks, postgres_url: str) -> None:
    """It starts, for a second or more: another one could answer meanwhile."""
    enqueued = "SELECT FROM dbos.workflow_status WHERE status = 'ENQUEUED'"
    served = asyncio.Event()

    async def serve(place: str) -> None:
        seen.rows("UPDATE inbox SET state = 'done' RETURNING id")
        served.set()

    async with Fleet.open(membership.Membership(postgres_url, SystemClock(), name="starting"), is_idle) as starting:
        with closing(starting.connect()) as db, db.transaction():
            (row,) = db.execute("INSERT INTO inbox (place) VALUES ('slack:C1') RETURNING id").fetchone() or (0,)
            starting.ensure(Marks(db), "slack:C1", row)
        await asyncio.sleep(3 * engine.POLL_SECONDS)  # it would be told and ask
        assert seen.rows(enqueued)

        running = asyncio.create_task(starting.run(serve, lambda place: None))
        async with asyncio.timeout(PATIENCE):
            await served.wait()
        await starting.hand_over()
        await running


async def test_a_bot_that_is_known_after_its_login_is_compared_then(here: Member, seen: Looks) -> None:
    """At every login; the rows hold neither a token nor an id."""
    other = "INSERT INTO workers (id, name, version, configuration) VALUES (%s, %s, '', %s)"
    with closing(here.fleet.connect()) as others:
        others.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(2)")
        others.execute(other, [1, "same", digest_of_bot("slack", "T1/U1")])
        for _ in range(2):
            await here.fleet.claim("slack", "T1/U1")
        assert seen.rows("SELECT count(DISTINCT configuration) FROM workers") == [(1,)]

        others.execute(other, [2, "other", digest_of_bot("slack", "T1/U2")])
        with pytest.raises(OtherBot, match="process other answers from the same database as another bot on slack"):
            await here.fleet.claim("slack", "T1/U1")
        assert "T1" not in str(seen.rows("SELECT configuration FROM workers"))


async def test_a_place_is_served_anew_before_the_engine_has_written_that_it_was_given_up(
    seen: Looks, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, call = asyncio.Event(), engine.Engine._call

    async def late(self: engine.Engine, place: str, job: str) -> None:
        await call(self, place, job)
        await written.wait()

    monkeypatch.setattr(engine.Engine, "_call", late)
    async with Member(postgres_url, "here", seconds=0.0, idle=0.1, look=PATIENCE).open() as here:
        try:
            for _ in range(3):
                await here.take_in("slack:C1")
                await look_for(seen, NOBODY)
        finally:
            written.set()
    seen.check_order()


async def test_a_place_that_could_not_be_served_is_tried_again(seen: Looks, postgres_url: str) -> None:
    here = Member(postgres_url, "here", seconds=0.0, idle=0.3)
    serve, faults = here.serve, ["broken"]

    async def fail_once(place: str) -> None:
        if faults:
            raise ValueError(faults.pop())
        await serve(place)

    here.serve = fail_once  # type: ignore[method-assign]  # the fault
    async with here.open():
        await here.take_in("slack:C1")
        await look_for(seen, ALL_ANSWERED)
    seen.check_order()


async def test_a_busy_time_that_the_engine_lost_is_given_away_again(
    here: Member, seen: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LOST_SECONDS", -10.0)
    seen.run("INSERT INTO inbox (place) VALUES ('slack:C1'), ('slack:C2'), ('slack:C3')")
    seen.run("INSERT INTO places (place, job) VALUES ('slack:C1', 'lost'), ('slack:C2', 'begun'), ('slack:C3', 'dead')")
    # The first was never given to the engine; the second it gave to this process, and the third to one that has died.
    me = await here.fleet._member.do(lambda db: here.fleet._member.id)
    enqueue = engine.ENQUEUE.replace("?", "%s")
    for place, job, process in (("slack:C2", "begun", str(me)), ("slack:C3", "dead", "17")):
        with here.db.transaction():
            here.db.execute(enqueue.encode(), (place, job))
            pending = "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = %s, started_at_epoch_ms = 1 "
            here.db.execute(f"{pending} WHERE workflow_uuid = %s".encode(), (process, job))

    await look_for(seen, ALL_ANSWERED)

    seen.check_order()


async def test_a_process_with_more_places_than_the_others_passes_some_on(
    seen: Looks, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nobody here who would take them: each comes back, and is kept the third time."""
    monkeypatch.setattr(membership.Membership, "_judge", lambda *_: False)
    async with Member(postgres_url, "here", seconds=0.0, idle=PATIENCE).open() as here:
        seen.run(
            "INSERT INTO workers (id, name, version, configuration) SELECT n, n, '', '' FROM generate_series(1, 9) n"
        )
        for number in range(9):
            await here.take_in(f"slack:C{number}")
        await look_for(seen, ALL_ANSWERED)

        assert {passed for (passed,) in seen.rows("SELECT passed FROM places")} == {0, 2}


async def test_what_this_process_serves_is_passed_on_when_it_ends(seen: Looks, postgres_url: str) -> None:
    async with Member(postgres_url, "first", seconds=PATIENCE, idle=PATIENCE).open() as first:
        await first.take_in("slack:C1")
        await look_for(seen, "SELECT FROM places WHERE owner IS NOT NULL")
        await first.fleet.hand_over()
        assert not first.fleet.owns("slack:C1")
        # What the engine still gives to it comes back to the queue.
        await first.fleet._begin("slack:C1", seen.rows("SELECT job FROM places")[0][0])
    assert seen.rows("SELECT name FROM workers") == []
    assert seen.rows("SELECT owner FROM places") == [(None,)]

    async with Member(postgres_url, "second", seconds=0.0, idle=0.1).open():
        await look_for(seen, NOBODY)
    seen.check_order()


async def test_a_process_that_was_replaced_writes_nothing(here: Member, seen: Looks) -> None:
    told: list[str] = []
    here.fleet._member.end = told.append  # type: ignore[assignment]  # the process goes on
    here.fleet.fence(Marks(here.db))
    assert told == []

    seen.run("DELETE FROM workers")
    here.fleet.fence(Marks(here.db))

    assert any("writes nothing more" in one for one in told), "its heartbeat may have noticed it, too"


async def test_rows_of_ended_busy_times_are_removed(here: Member, seen: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.take_in("slack:C1")
    await look_for(seen, NOBODY)
    await look_for(seen, "SELECT FROM dbos.workflow_status WHERE status = 'SUCCESS'")
    monkeypatch.setattr(fleet, "PRUNE_SECONDS", 0.0)
    monkeypatch.setattr(engine, "_KEPT_SECONDS", -10.0)

    await look_for(seen, "SELECT WHERE NOT EXISTS (SELECT FROM dbos.workflow_status)")


async def test_what_cannot_be_asked_now_is_asked_again(here: Member, seen: Looks) -> None:
    """The server ends the direct connection in the midst of it."""
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND pid <> ALL(%s)"
    await here.take_in("slack:C1")
    seen.run(cut, here.fleet._member.application, [here.db.info.backend_pid])
    await here.fleet.tell("slack:C1", 1)

    await look_for(seen, NOBODY)
    assert len(seen.rows("SELECT FROM workers")) == 1
    seen.check_order()


async def test_a_process_that_only_receives_serves_nothing_and_counts_for_no_share(
    seen: Looks, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership.Membership, "_judge", lambda *_: False)
    async with Member(postgres_url, "gate", seconds=0.0, idle=PATIENCE, role=Role.INTAKE).open() as gate:
        for number in range(2 * fleet.MORE_PLACES + 2):
            await gate.take_in(f"slack:C{number}")
        assert await gate.fleet.roles() == {Role.INTAKE}
        await look_for(seen, "SELECT FROM workers WHERE seen_at > started_at + interval '0.5 s'")
        assert seen.rows("SELECT owner FROM places GROUP BY owner") == [(None,)]
        seen.run("INSERT INTO workers (id, name, version, configuration, role) VALUES (1, 'new', '', '', 'later')")
        assert await gate.fleet.roles() == {Role.INTAKE, Role.ALL}, "what only a later version knows"

    # Beside one more that answers, the last places would be passed on.
    seen.run("UPDATE workers SET role = 'intake'")
    async with Member(postgres_url, "turns", seconds=0.0, idle=PATIENCE, role=Role.TURNS).open():
        await look_for(seen, ALL_ANSWERED)
        assert seen.rows("SELECT DISTINCT name, passed FROM places JOIN workers ON owner = workers.id") == [
            ("turns", 0)
        ]
