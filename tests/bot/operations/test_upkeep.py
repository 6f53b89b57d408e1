"""What is done beside the answers, and what a supervisor is told over HTTP."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.contract.errors import SettingsError, StoreError
from bot.contract.metrics import Metrics
from bot.operations.heap import resident_bytes
from bot.operations.http import HttpServer
from bot.operations.outlet import Outlet
from bot.store import Keep, Store
from bot.store.upkeep import EVERY, FIRST_AFTER, WIPE_EVERY, prune_hourly, wipe_deleted, writes
from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.conftest import FakeClock, RawObject
from tests.patience import PATIENCE


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock, busy_timeout=0.001) as store:
        yield store


async def get(server: HttpServer, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{server.port}{path}") as answer:
        return answer.status, await answer.text()


async def test_old_rows_are_removed_every_hour_also_after_a_failure(clock: FakeClock) -> None:
    pruned: list[float] = []

    class Failing:
        async def prune(self, keep: Keep) -> None:
            pruned.append(clock.monotonic())
            raise StoreError("the disk is full")

    task = asyncio.create_task(prune_hourly(Failing(), clock, Keep()))  # type: ignore[arg-type]  # only pruned
    await clock.advance(FIRST_AFTER + 2 * EVERY + 1)
    task.cancel()

    assert [round(at - 1000) for at in pruned] == [FIRST_AFTER, FIRST_AFTER + EVERY, FIRST_AFTER + 2 * EVERY]


async def test_what_could_not_be_wiped_is_wiped_soon_after_also_after_a_failure(clock: FakeClock) -> None:
    tried: list[float] = []

    class Failing:
        async def wipe_traces(self) -> bool:
            tried.append(clock.monotonic())
            raise StoreError("the disk is full")

    task = asyncio.create_task(wipe_deleted(Failing(), clock))  # type: ignore[arg-type]  # only wiped
    await clock.advance(2 * WIPE_EVERY + 1)
    task.cancel()

    assert [round(at - 1000) for at in tried] == [0, WIPE_EVERY, 2 * WIPE_EVERY]


async def test_a_running_bot_wipes_what_was_forgotten_while_another_program_read(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.upkeep.WIPE_EVERY", 0.01)
    async with rig() as it:
        it.bot.store.writer.traces = True

        async with asyncio.timeout(PATIENCE):
            while it.bot.store.writer.traces:
                await asyncio.sleep(0.001)


async def test_the_operator_says_how_long_a_chat_is_kept(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.upkeep.FIRST_AFTER", 0.0)
    monkeypatch.setattr("bot.store.upkeep.EVERY", 0.0)
    async with rig(KEEP_DAYS="3") as it:
        it.model.script = lambda body: Reply("A leaf.")
        for days, chat in ((5, "7"), (1, "8")):
            now = time.time() - days * 86_400
            with monkeypatch.context() as then:
                then.setattr("bot.contract.clock.SystemClock.wall", lambda _, now=now: now)
                await it.say("What is tea?", chat=chat)

        async with asyncio.timeout(PATIENCE):
            while len(chats := await it.bot.store.history.list_chats()) > 1:
                await asyncio.sleep(0.001)

    assert [row.chat.chat for row in chats] == ["8"]


async def test_a_store_that_another_program_holds_does_not_write_and_writes_again_later(
    store: Store, tmp_path: Path, clock: FakeClock
) -> None:
    assert await writes(store)
    other = sqlite3.connect(tmp_path / "parley.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(store.probe())
    while not store.writer.in_trouble:
        await asyncio.sleep(0.001)

    held = await writes(store)
    other.execute("ROLLBACK")
    other.close()
    while not waiting.done():
        await clock.advance(0.1)
        await asyncio.sleep(0.001)

    assert not held
    assert await writes(store)


async def test_who_cannot_take_messages_in_is_not_ready_but_alive() -> None:
    state: RawObject = {"ready": False, "store": "cannot be written to", "platforms": {"telegram": "listening"}}

    async def told() -> RawObject:
        return state

    async with HttpServer("127.0.0.1", 0, told, Metrics(), Outlet()) as server:
        alive, health = await get(server, "/health")
        ready, why = await get(server, "/ready")
        state["ready"] = True
        again, _ = await get(server, "/ready")

    assert (alive, ready, again) == (200, 503, 200)
    assert "cannot be written to" in health and "cannot be written to" in why


async def test_what_was_counted_is_served_as_text() -> None:
    metrics = Metrics()
    metrics.turns_begun.add()

    async def told() -> RawObject:
        return {}

    async with HttpServer("127.0.0.1", 0, told, metrics, Outlet()) as server:
        status, text = await get(server, "/metrics")

    assert status == 200
    assert "parley_turns_begun_total 1\n" in text


async def test_a_port_in_use_is_one_sentence_that_names_the_setting() -> None:
    async def told() -> RawObject:
        return {}

    async with HttpServer("127.0.0.1", 0, told, Metrics(), Outlet()) as server:
        with pytest.raises(SettingsError, match="HTTP_PORT"):
            async with HttpServer("127.0.0.1", server.port, told, Metrics(), Outlet()):
                pass


def test_the_memory_of_the_process_is_known_on_linux() -> None:
    assert resident_bytes() > 10_000_000 or resident_bytes() == 0


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1:8080", True),
        ("[::1]:8080", True),
        ("[fe80::1%25eth0]", True),
        ("10.0.0.7", True),
        ("localhost:8080", True),
        ("parley:8080", True),
        ("parley.default.svc.cluster.local.:8080", True),
        ("Bot.Example.org:8080", True),
        ("a.metrics.example", True),
        ("", True),
        ("evil.example:8080", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("bot.example.org.evil.example", False),
        ("local", True),
        ("a" * 5_000 + ".example", False),
    ],
)
async def test_state_and_metrics_are_told_only_to_who_asks_for_a_host_of_ours(host: str, own: bool) -> None:
    async def told() -> RawObject:
        return {"ready": True, "store": "writes"}

    names = ("bot.example.org", "*.metrics.example")
    async with HttpServer("127.0.0.1", 0, told, Metrics(), Outlet(), names) as server:
        found = []
        for path in ("/state", "/metrics", "/health"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            found.append(int((await reader.readline()).split()[1]))
            writer.close()

    assert found == ([200, 200, 200] if own else [421, 421, 200])
