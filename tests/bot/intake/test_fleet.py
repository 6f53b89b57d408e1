"""Several processes on one PostgreSQL: each place is served by one of them, whatever becomes of the others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from multiprocessing.context import ForkServerProcess

import pytest

from bot.intake.membership import ENDED
from tests.bot.intake.members import Looks, Processes, looks
from tests.conftest import RawJson
from tests.patience import PATIENCE, slowed
from tests.postgres import own_server

pytestmark = [pytest.mark.first, pytest.mark.real]
PLACES = [f"telegram:{number}" for number in range(12)]
DELIVERIES = [(place, f"{place} {number}") for number in range(6) for place in PLACES]
"""The same that come to several processes are one."""


@pytest.fixture
def seen(postgres_url: str) -> Iterator[Looks]:
    with looks(postgres_url) as seen:
        yield seen


@pytest.fixture
def processes(seen: Looks, postgres_url: str) -> Iterator[Processes]:
    with closing(Processes(postgres_url)) as processes:
        yield processes


def start_three(processes: Processes, seen: Looks) -> tuple[list[ForkServerProcess], ForkServerProcess, list[str]]:
    """Three processes in the midst of their work: all, that which serves most places, and those."""
    running = processes.start("one", "two", "three", deliveries=DELIVERIES, seconds=0.3)
    seen.wait_until(f"SELECT FROM inbox HAVING count(*) = {len(DELIVERIES)}")
    seen.wait_until(f"SELECT FROM answers HAVING count(*) >= {len(PLACES)}")
    name, places = next(iter(seen.owners().items()))
    (busiest,) = (process for process in running if process.name == name)
    return running, busiest, places


def seconds_until_served_elsewhere(seen: Looks, places: Sequence[str], name: str, since: RawJson) -> float:
    """How long the last of these places waited for another process."""
    first = "SELECT min(began_at) AS at FROM answers WHERE process <> %s AND began_at > %s AND place = ANY(%s)"
    query = f"SELECT extract(epoch FROM max(at) - %s) FROM ({first} GROUP BY place) AS first"
    return float(seen.rows(query, since, name, since, places)[0][0])


def test_what_comes_to_three_processes_at_once_is_answered_once_in_order(processes: Processes, seen: Looks) -> None:
    # Nobody looks for anything: a place is found as it is told of, and a delivery then, or by a hint.
    processes.start("one", "two", "three", deliveries=DELIVERIES, look=PATIENCE, idle=PATIENCE)
    seen.wait_until(f"SELECT FROM answers HAVING count(*) = {len(DELIVERIES)}")

    seen.check_order()
    assert seen.rows("SELECT count(*) FROM inbox") == [(len(DELIVERIES),)]


def test_the_places_of_a_killed_process_are_served_within_a_second(processes: Processes, seen: Looks) -> None:
    _, busiest, places = start_three(processes, seen)

    busiest.kill()
    killed_at = seen.rows("SELECT clock_timestamp()")[0][0]
    seen.wait_for_answers()

    seen.check_order()
    assert seconds_until_served_elsewhere(seen, places, busiest.name, killed_at) < slowed(1.0)


def test_a_frozen_process_is_replaced_and_writes_nothing_when_it_wakes(processes: Processes, seen: Looks) -> None:
    _, busiest, _ = start_three(processes, seen)

    os.kill(busiest.pid or 0, signal.SIGSTOP)
    time.sleep(0.1)  # what it was just writing is stored
    before = seen.rows("SELECT * FROM answers WHERE process = %s", busiest.name)
    waited = seen.wait_for_answers()
    os.kill(busiest.pid or 0, signal.SIGCONT)
    busiest.join(PATIENCE)

    assert waited < 5.0 * processes.slow
    assert busiest.exitcode == ENDED
    seen.check_order()
    assert seen.rows("SELECT * FROM answers WHERE process = %s", busiest.name) == before
    assert busiest.name not in seen.owners()


def test_a_process_that_ends_in_order_hands_over_within_a_second(processes: Processes, seen: Looks) -> None:
    _, busiest, places = start_three(processes, seen)

    busiest.terminate()
    asked_at = seen.rows("SELECT clock_timestamp()")[0][0]
    seen.wait_for_answers()
    busiest.join(PATIENCE)

    assert busiest.exitcode == 0
    seen.check_order()
    assert seconds_until_served_elsewhere(seen, places, busiest.name, asked_at) < slowed(1.0)


def test_what_was_stored_when_all_were_killed_is_answered_once(processes: Processes, seen: Looks) -> None:
    places = [f"slack:{number}" for number in range(100)]
    killed = processes.start("one", "two", deliveries=[(place, None) for place in places] * 5, seconds=0.3)
    seen.wait_until("SELECT FROM inbox HAVING count(*) = 1000")
    for process in killed:
        process.kill()
    assert seen.rows("SELECT count(*) < 1000 FROM answers") == [(True,)]

    processes.start("three", "four", seconds=0.0)
    seen.wait_for_answers()

    seen.check_order()
    assert seen.rows("SELECT count(*) FROM answers") == [(1000,)]


def test_nobody_waits_for_a_place_with_two_hundred_deliveries(processes: Processes, seen: Looks) -> None:
    deliveries = [("discord:busy", None)] * 100 + [(f"discord:{number}", None) for number in range(50)]
    deliveries = [*deliveries, *((f"slack:{number}", None) for number in range(50))]

    processes.start("one", "two", deliveries=deliveries, seconds=0.02)
    seen.wait_until("SELECT FROM answers HAVING count(*) = 400")

    seen.check_order()
    took = "SELECT max(ended_at - stored_at) FROM answers JOIN inbox ON inbox.id = delivery WHERE inbox.place"
    busy, others = (seen.rows(f"{took} {sign} 'discord:busy'")[0][0] for sign in ("=", "<>"))
    assert others < busy / 2


def test_a_restart_of_the_server_while_a_process_is_replaced_loses_nothing() -> None:
    with own_server() as server:
        url = server.make_database("parley")
        with closing(Processes(url)) as processes:
            with looks(url) as seen:
                running, busiest, _ = start_three(processes, seen)
            busiest.kill()
            time.sleep(0.2)  # the others are finding it out
            server.control("restart", "-m", "immediate")
            with looks(url) as seen:
                seen.wait_for_answers()

                seen.check_order()
            assert [process.exitcode for process in running if process is not busiest] == [None, None]


@pytest.mark.soak
def test_after_twenty_kills_nothing_is_lost_and_nobody_waited_for_a_second(processes: Processes, seen: Looks) -> None:
    running = {process.name: process for process in processes.start("0", "1", "2", seconds=0.05, idle=PATIENCE)}
    waited = []
    for number in range(20):
        deliveries = [(place, None) for place in PLACES] * 10
        (new,) = processes.start(f"new {number}", deliveries=deliveries, seconds=0.05, idle=PATIENCE)
        running[new.name] = new
        seen.wait_until("SELECT FROM places JOIN inbox USING (place) WHERE state = 'new' AND owner IS NOT NULL")
        name, places = next((name, places) for name, places in seen.owners().items())
        running.pop(name).kill()
        killed_at = seen.rows("SELECT clock_timestamp()")[0][0]
        seen.wait_for_answers()
        waited.append(seconds_until_served_elsewhere(seen, places, name, killed_at))

    seen.check_order()
    waited.sort()
    print(f"served again after {waited[9]:.2f} s (median), {waited[18]:.2f} s (p95), {waited[-1]:.2f} s at most")
    assert waited[18] < slowed(1.0)
