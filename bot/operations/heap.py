"""Keep short-lived read buffers from fragmenting the heap, and garbage collection from blocking the event loop.

Large short-lived buffers: glibc maps a buffer of 128 KiB or more from the system and unmaps it again, until the first
one was freed; then it raises that threshold and takes them from the heap, where the few bytes kept of each block the
space for the next. Measured with fifty chats at 8 turns a second, when asyncio read into such buffers: unused gaps grew
by 1 KiB a turn throughout, 5.5 of 37 MiB after 1,850 turns; with the threshold fixed at its initial value they stayed
at 1.9 MiB. See `man mallopt`.

Socket reads: asyncio reads into a buffer of 256 KiB and shrinks it to the received size, a few hundred bytes of a
stream. Mapping and unmapping such a buffer takes 18 µs a read, a fifth of the processor time with 500 chats at once; a
smaller one comes from the heap in almost no time. It must be small, or it fragments the heap in the same way: in half
an hour of fifty chats the heap grew by 1.6 MiB in ten minutes with buffers of 64 KiB, by 1.0 with 16, by 0.5 with 4,
and by 0.4 with the system's.

We tried uvloop, which reads into one buffer of its own: with 20 chats on Telegram it took 0.050 instead of 0.054 s of
processor time a reply (0.063 with asyncio's own buffers), with 100 and 500 the same as here, 2 and 3 MB more memory at
20 and 100 chats and 5 less at 500, the same delays, and 14 MB of disk.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
from asyncio import selector_events, sslproto
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bot.contract import Clock

READ = 4 * 1024
"""Bytes read from a socket at once: more than a stream sends at a time, and small enough for any gap in the heap."""
LARGE = 128 * 1024
"""Bytes from which memory is mapped from the system: the initial value of glibc's threshold."""
_M_MMAP_THRESHOLD = -3


def keep_compact() -> bool:
    """Fix glibc's mmap threshold for this process; return True if that was done.

    Does nothing if the operator has set it (MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), or if the C library has no such
    threshold: musl and macOS always map large buffers.
    """
    if "MALLOC_MMAP_THRESHOLD_" in os.environ or "mmap_threshold" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # TypeError: Windows needs a library's name
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE))


def read_in_pieces() -> bool:
    """Limit asyncio's socket reads, with and without TLS, to `READ` bytes; return False if its reads have no limit."""
    readers: list[Any] = [getattr(selector_events, "_SelectorTransport", None), getattr(sslproto, "SSLProtocol", None)]
    if not all(isinstance(getattr(reader, "max_size", None), int) for reader in readers):
        return False
    for reader in readers:
        reader.max_size = READ
    return True


FULL_AFTER: Final = 100
"""Collections of the middle generation after which a full one comes by itself (Python: 10). A burst of 500 questions
makes about fifteen."""
REST_SECONDS: Final = 20.0
"""How often it is checked whether the program is at rest."""


def set_loaded_apart() -> None:
    """Exclude all objects that exist now from later garbage collections, and let full ones under load be rare: each
    visits every object of all answers under way. See `collect_at_rest`.

    A full collection visits every object and blocks the event loop meanwhile. Most objects belong to the libraries and
    live as long as the process: they took half of the 0.12 s of a collection with 500 chats at once.
    https://docs.python.org/3/library/gc.html#gc.freeze
    """
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], FULL_AFTER)


async def collect_at_rest(clock: Clock, busy: Callable[[], object]) -> None:
    """Make the full collections while no answer is under way, until cancelled: then they visit little, and nobody
    waits.
    """
    while True:
        await clock.sleep(REST_SECONDS)
        if gc.get_count()[2] and not busy():
            gc.collect()


def resident_bytes() -> float:
    """Return the resident memory of this process; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError, ValueError):
        return 0
