"""Large buffers come from the system and go back to it, and the search for garbage leaves the libraries out."""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import subprocess
import sys
from asyncio import selector_events, sslproto
from pathlib import Path

import pytest

from bot.operations.heap import LARGE, READ, REST_SECONDS, collect_at_rest, read_in_pieces
from tests.conftest import FakeClock

ROOT = Path(__file__).parents[3]
PROGRAM = """
import ctypes, runpy, sys

class Counts(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Counts
if sys.argv[1] == "kept":
    # By its path: the room's door would load much that is of no use here.
    print(runpy.run_path("bot/operations/heap.py")["keep_compact"]())
# Larger than any gap that loading leaves in the heap.
first = bytes(8 * 1024 * 1024)
del first
apart = library.mallinfo2().hblks
second = bytes(8 * 1024 * 1024)
print(library.mallinfo2().hblks - apart)
"""

counts_blocks = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 33),
    reason="mallinfo2, which counts, is part of glibc 2.33",
)


def told(how: str, **environment: str) -> list[str]:
    """What the program says, in the plain environment and these variables."""
    plain = {name: value for name, value in os.environ.items() if name not in ("GLIBC_TUNABLES", "PYTHONMALLOC")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        cwd=ROOT,
        env={**plain, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@counts_blocks
def test_a_buffer_for_what_arrives_is_given_back_whole_also_after_the_first() -> None:
    assert told("kept") == ["True", "1"]


@counts_blocks
def test_without_that_the_second_buffer_is_cut_from_the_heap() -> None:
    """What is to be prevented still happens by itself; when it does not, `bot/operations/heap.py` can go."""
    assert told("left") == ["0"]


def test_what_the_operator_has_set_is_left_alone() -> None:
    assert told("kept", MALLOC_MMAP_THRESHOLD_="16777216") == ["False", "0"]


def test_what_is_loaded_at_the_start_is_not_searched_for_garbage_again() -> None:
    """Looked at after a start: a search goes through what came since, and nothing of the libraries."""
    program = """
import gc
from bot.operations.heap import set_loaded_apart
import adapters.telegram.adapter
loaded = len(gc.get_objects())
set_loaded_apart()
print(gc.get_freeze_count() > loaded * 0.99, len(gc.get_objects()) < loaded * 0.01)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_full_searches_for_garbage_are_rare_under_load() -> None:
    program = """
import gc
from bot.operations.heap import FULL_AFTER, set_loaded_apart
set_loaded_apart()
ran = []
gc.callbacks.append(lambda phase, info: ran.append(info["generation"]) if phase == "start" else None)
held = []
for number in range(20):
    held.append([[one] for one in range(10_000)])
print(ran.count(1) > 5, ran.count(2), gc.get_threshold()[2] == FULL_AFTER)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0", "True"]


async def test_all_garbage_is_collected_while_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, collected, busy, counts = FakeClock(), list[float](), [True], [(0, 0, 3)]
    monkeypatch.setattr(gc, "collect", lambda: collected.append(clock.monotonic()))
    monkeypatch.setattr(gc, "get_count", lambda: counts[-1])
    collecting = asyncio.create_task(collect_at_rest(clock, lambda: busy[-1]))
    await clock.advance(REST_SECONDS * 2 + 1)
    assert collected == [], "an answer is under way"
    busy.append(False)
    await clock.advance(REST_SECONDS)
    assert len(collected) == 1
    counts.append((0, 0, 0))
    await clock.advance(REST_SECONDS * 3)
    assert len(collected) == 1, "nothing has changed since"
    collecting.cancel()
    await asyncio.gather(collecting, return_exceptions=True)


async def test_what_arrives_is_read_in_pieces_that_come_from_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((selector_events, "_SelectorTransport"), (sslproto, "SSLProtocol")):
        reader = getattr(module, name)
        monkeypatch.setattr(reader, "max_size", reader.max_size)
    assert read_in_pieces()
    assert READ < LARGE
    assert sslproto.SSLProtocol.max_size == READ, "what is encrypted is read by another way"
    content = bytes(range(256)) * 8192
    pieces: list[bytes] = []
    loop = asyncio.get_running_loop()
    whole = loop.create_future()

    class Taking(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            pieces.append(data)

        def connection_lost(self, error: Exception | None) -> None:
            whole.set_result(error)

    async def send(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(send, "127.0.0.1", 0)
    async with server:
        await loop.create_connection(Taking, "127.0.0.1", server.sockets[0].getsockname()[1])
        assert await whole is None

    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= READ
