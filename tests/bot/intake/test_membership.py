"""A process among others: known to be alive, and replaced when it is not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import psycopg
import pytest

from bot.contract import OtherBot, SettingsError, StoreError, SystemClock
from bot.intake import membership
from bot.intake.membership import Membership
from bot.intake.ownership import Role
from tests.conftest import RawJson
from tests.patience import LATE, PATIENCE


def enter(url: str, name: str) -> RawJson:
    return Membership(url, SystemClock(), name=name).enter()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not found():
            await asyncio.sleep(0.01)


def run(url: str, sql: str, *values: RawJson) -> list[RawJson]:
    with psycopg.connect(url, autocommit=True) as db:
        found = db.execute(sql.encode(), values)
        return found.fetchall() if found.description else []


NAMES = "SELECT name FROM workers ORDER BY name"
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"


async def test_a_process_is_known_while_it_is_there(postgres_url: str) -> None:
    async with enter(postgres_url, "one") as one, enter(postgres_url, "two") as two:
        assert run(postgres_url, NAMES) == [("one",), ("two",)]
        assert one.is_heard() and two.is_heard() and one.id != two.id
    assert run(postgres_url, NAMES) == []


def among(url: str, name: str, configuration: str, *, may_differ: bool = False) -> RawJson:
    return Membership(url, SystemClock(), name=name, configuration=configuration, may_differ=may_differ).enter()


async def test_what_is_told_with_the_answer_to_a_statement_is_heard_at_once(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the next beat, as nothing more comes from the server until then."""
    monkeypatch.setattr(membership, "BEAT_SECONDS", PATIENCE)
    async with enter(postgres_url, "one") as one:
        await one.do(lambda db: None)  # it has begun
        heard = asyncio.Event()
        one.on_hint = lambda _: heard.set()
        await one.do(lambda db: db.execute(f"NOTIFY parley_{one.id}, 'x'"))
        async with asyncio.timeout(LATE):
            await heard.wait()


async def test_a_process_with_other_settings_is_no_member(postgres_url: str) -> None:
    """A setting that one of two versions does not know is no difference."""
    async with among(postgres_url, "one", "MODEL=a1 PRICES=b2 NEW=c3"):
        with pytest.raises(SettingsError, match=r"process one answers .* with other settings: MODEL, PRICES"):
            async with among(postgres_url, "two", "MODEL=a2 PRICES=b3 TOOLS_OFF=d4"):
                pass
        async with among(postgres_url, "three", "MODEL=a1 TOOLS_OFF=d4"):
            assert run(postgres_url, NAMES) == [("one",), ("three",)]


async def test_of_two_that_start_at_once_with_other_settings_one_is_refused(postgres_url: str) -> None:
    async def start(name: str, model: str, ended: asyncio.Event) -> None:
        async with among(postgres_url, name, f"MODEL={model}"):
            await ended.wait()

    ended = asyncio.Event()
    starts = [asyncio.create_task(start(str(number), str(number), ended)) for number in range(4)]
    await until(lambda: sum(start.done() for start in starts) == 3)
    ended.set()
    found = await asyncio.gather(*starts, return_exceptions=True)

    assert sum(isinstance(one, SettingsError) for one in found) == 3
    async with among(postgres_url, "next", "MODEL=next"):
        pass  # nobody is left


async def test_settings_that_may_differ_are_named(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    other = "MODEL=a1 PRICES=b3 TOOLS_OFF=d4 ADMINS=c3"
    own = "MODEL=a1 PRICES=b2 TOOLS_OFF=d5 ADMINS=c3"
    async with among(postgres_url, "one", own), among(postgres_url, "two", other, may_differ=True):
        pass

    [line] = [record.getMessage() for record in caplog.records]
    assert line == "process one has other settings than this one: PRICES, TOOLS_OFF"


async def test_another_bot_is_no_member_whatever_else_may_differ(postgres_url: str) -> None:
    async with among(postgres_url, "one", "bot:telegram=a1 MODEL=a1"):
        with pytest.raises(OtherBot, match=r"process one answers .* as another bot on telegram"):
            async with among(postgres_url, "two", "bot:telegram=a2 MODEL=a2", may_differ=True):
                pass
        async with among(postgres_url, "three", "bot:telegram=a1 bot:discord=b3 MODEL=a1"):
            assert run(postgres_url, NAMES) == [("one",), ("three",)]


async def test_it_is_known_since_when_somebody_has_always_answered(postgres_url: str) -> None:
    """A process that is replaced passes it on; one that only receives, or a dead one, does not."""
    async with Membership(postgres_url, SystemClock(), name="gate", role=Role.INTAKE).enter() as gate:
        async with enter(postgres_url, "one") as first:
            assert gate.answered_since < first.answered_since
            async with enter(postgres_url, "two") as two:
                assert two.answered_since == first.answered_since
        async with enter(postgres_url, "three") as three:
            assert three.answered_since > first.answered_since
    # It died, and its row stands.
    run(postgres_url, "INSERT INTO workers (id, name, version, configuration, since) VALUES (1, 'dead', '', '', 5)")
    async with enter(postgres_url, "four") as four:
        assert four.answered_since > three.answered_since


async def test_a_clock_that_differs_from_the_databases_is_told_once(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Ahead(SystemClock):
        by = 3_600.0

        def wall(self) -> float:
            return super().wall() + self.by

    clock = Ahead()
    ahead = "SELECT 1 FROM workers WHERE ahead BETWEEN 3590 AND 3610 AND seen_at > started_at + interval '0.7 s'"
    async with Membership(postgres_url, clock, name="one").enter():
        await until(lambda: bool(run(postgres_url, ahead)))
        assert caplog.text.count("this machine's clock is 3600.0 s ahead of the database's") == 1
        clock.by = -7.0
        await until(lambda: bool(run(postgres_url, "SELECT 1 FROM workers WHERE ahead < 0")))
        clock.by = 0.0
        await until(lambda: bool(run(postgres_url, "SELECT 1 FROM workers WHERE abs(ahead) < 1")))
        clock.by = -60.0
        await until(lambda: "s behind the database's" in caplog.text)


async def test_a_hint_reaches_the_process_it_is_meant_for(postgres_url: str) -> None:
    async with enter(postgres_url, "one") as one, enter(postgres_url, "two") as two:
        heard: asyncio.Queue[str] = asyncio.Queue()
        two.on_hint = heard.put_nowait
        one.on_hint = lambda hint: heard.put_nowait(f"to one: {hint}")

        await one.do(lambda db: db.execute(f"SELECT pg_notify('parley_{two.id}', '17')".encode()))

        async with asyncio.timeout(PATIENCE):
            assert await heard.get() == "17"


async def test_what_fails_on_the_direct_connection_is_told_to_who_asked(postgres_url: str) -> None:
    async with enter(postgres_url, "one") as one:
        with pytest.raises(psycopg.errors.UndefinedTable):
            await one.do(lambda db: db.execute("SELECT * FROM nowhere"))
        with pytest.raises(ZeroDivisionError):
            await one.do(lambda _: 1 // 0)
        with pytest.raises(StoreError, match="lock timeout"), psycopg.connect(postgres_url) as other:
            other.execute("LOCK TABLE workers")
            await one.do(lambda db: db.execute("LOCK TABLE workers"))
        assert await one.do(lambda db: db.execute("SELECT 1").fetchone()) == (1,)


async def test_work_that_was_not_begun_is_not_done_when_who_asked_is_gone(postgres_url: str) -> None:
    async with enter(postgres_url, "one") as one:
        run(postgres_url, "CREATE TABLE IF NOT EXISTS done (what TEXT)")
        slow = asyncio.create_task(one.do(lambda db: db.execute("SELECT pg_sleep(0.2)")))
        gone = asyncio.create_task(one.do(lambda db: db.execute("INSERT INTO done VALUES ('gone')")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(slow, gone, return_exceptions=True)
        await one.do(lambda _: None)
    assert run(postgres_url, "SELECT * FROM done") == []


async def test_a_lock_goes_to_the_next_process_when_its_holder_is_done(postgres_url: str) -> None:
    async with enter(postgres_url, "one") as one, enter(postgres_url, "two") as two:
        held: asyncio.Queue[str] = asyncio.Queue()

        async def hold(name: str) -> None:
            held.put_nowait(name)
            await asyncio.Future()

        first = asyncio.create_task(one.while_held("telegram 17", lambda: hold("one")))
        assert await held.get() == "one"
        second = asyncio.create_task(two.while_held("telegram 17", lambda: hold("two")))
        other = asyncio.create_task(two.while_held("slack", lambda: hold("slack")))
        assert await held.get() == "slack"

        first.cancel()

        async with asyncio.timeout(PATIENCE):
            assert await held.get() == "two"
        for task in (first, second, other):
            task.cancel()
        await asyncio.gather(first, second, other, return_exceptions=True)


async def test_what_is_done_under_a_lock_ends_or_fails_as_it_does_alone(postgres_url: str) -> None:
    async def return_at_once() -> None: ...

    async def fail() -> None:
        raise ZeroDivisionError

    async with enter(postgres_url, "one") as one:
        async with asyncio.timeout(PATIENCE):
            await one.while_held("x", return_at_once)
            with pytest.raises(ZeroDivisionError):
                await one.while_held("x", fail)


async def test_a_lost_connection_is_made_again_and_what_was_done_under_a_lock_begins_again(postgres_url: str) -> None:
    async with enter(postgres_url, "one") as one:
        events: asyncio.Queue[str] = asyncio.Queue()

        async def listen() -> None:
            events.put_nowait("begun")
            try:
                await asyncio.Future()
            finally:
                events.put_nowait("ended")

        listening = asyncio.create_task(one.while_held("telegram", listen))
        async with asyncio.timeout(PATIENCE):
            assert await events.get() == "begun"

            run(postgres_url, CUT, one.application)

            assert [await events.get(), await events.get()] == ["ended", "begun"]
        await until(one.is_heard)
        assert run(postgres_url, NAMES) == [("one",)]
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_process_that_writes_nothing_any_more_is_replaced_and_ends(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "UNHEARD_SECONDS", 0.5)
    async with enter(postgres_url, "frozen") as frozen, enter(postgres_url, "other") as other:
        told: list[str] = []

        def end(sentence: str) -> None:
            told.append(sentence)
            frozen._leaving = True

        frozen.end = end
        swept: list[object] = []
        other.on_sweep = lambda db: swept.append(db.execute(NAMES.encode()).fetchall())
        # What it writes arrives too late.
        late = "$$ BEGIN NEW.seen_at = OLD.seen_at - interval '10 s'; RETURN NEW; END $$"
        run(postgres_url, f"CREATE OR REPLACE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS {late}")
        when = "BEFORE UPDATE ON workers FOR EACH ROW WHEN (NEW.name = 'frozen')"
        run(postgres_url, f"CREATE TRIGGER late {when} EXECUTE FUNCTION late()")
        try:
            await until(lambda: bool(told))
        finally:
            run(postgres_url, "DROP TRIGGER late ON workers")

        assert "another process has taken over" in told[0]
        assert run(postgres_url, NAMES) == [("other",)]
        assert [("other",)] in swept
        assert other.is_heard()


async def test_an_answer_that_comes_late_says_nothing_of_now(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is frozen between its question and the answer finds the answer when it wakes."""
    monkeypatch.setattr(membership, "UNHEARD_SECONDS", 0.4)
    async with enter(postgres_url, "late") as late:
        slow = "$$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$"
        run(postgres_url, f"CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS {slow}")
        run(postgres_url, "CREATE TRIGGER slow BEFORE UPDATE ON workers FOR EACH ROW EXECUTE FUNCTION slow()")
        try:
            # As soon as a beat takes longer than the pause between two, what is asked for is done right after one.
            async with asyncio.timeout(LATE):
                while await late.do(lambda db: late.is_heard()):
                    await asyncio.sleep(0.01)
        finally:
            run(postgres_url, "DROP TRIGGER slow ON workers")
        await until(late.is_heard)


async def test_a_server_that_cannot_be_reached_or_used_is_named(postgres_url: str) -> None:
    with pytest.raises(StoreError, match="PostgreSQL cannot be reached"):
        async with enter("postgresql://nobody@127.0.0.1:1/none", "one"):
            pass
    make = "DO $$ BEGIN CREATE ROLE weak LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$"
    run(postgres_url, make)
    with pytest.raises(SettingsError, match="cannot write to its tables"):
        async with enter(postgres_url.replace("owner:", "weak:"), "one"):
            pass


async def test_a_pooler_is_refused(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a process of its own where it is asked for the server's."""
    monkeypatch.setattr("psycopg.ConnectionInfo.backend_pid", 1)

    with pytest.raises(SettingsError, match="not to a pooler"):
        async with enter(postgres_url, "one"):
            pass


def test_a_process_that_is_replaced_ends_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("os._exit", sys.exit)
    monkeypatch.setattr("logging.shutdown", lambda: None)
    with pytest.raises(SystemExit, match="70"):
        membership.end_at_once("another process has taken over")
    assert "another process has taken over" in caplog.text
