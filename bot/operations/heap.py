"""How memory is handed out and taken back: buffers that live for a moment tear no holes into the heap, and looking for
garbage holds up no chat.

Large buffers that live for a moment: glibc takes one of 128 KiB or more from the system and gives it back, until the
first one was freed; then it raises its own threshold and takes them from the heap, where the few bytes that are kept of
each stand in the way of the next. Measured with fifty chats at 8 turns a second, when asyncio read into such buffers:
holes grew by 1 KiB a turn for as long as anybody looked, 5.5 of 37 MiB after 1,850 turns; with the threshold held where
it begins, 1.9 MiB, and no growth. See `man mallopt`.

What arrives at a socket: asyncio reads it into a buffer of 256 KiB and cuts that down to what came, a few hundred bytes
of a stream. To take such a buffer from the system and give it back costs 18 µs for each read, a fifth of the
processor time with 500 chats at once; a smaller one comes from the heap for next to nothing. It has to be small, or it
tears the same holes: in half an hour of fifty chats the heap grew by 1.6 MiB in ten minutes with buffers of 64 KiB, by
1.0 with 16, by 0.5 with 4, and by 0.4 with the system's.
"""

from __future__ import annotations

import ctypes
import gc
import os
from asyncio import selector_events, sslproto

READ = 4 * 1024
"""Bytes that are read from a socket at once: more than a stream brings at a time, and few enough for any hole."""
LARGE = 128 * 1024
"""Bytes from which memory is taken from the system and given back to it: glibc's own figure at the start."""
_M_MMAP_THRESHOLD = -3


def keep_compact() -> bool:
    """Hold the threshold where it is, for this process; whether that was done.

    Does nothing where the operator has set it (MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), or where the C library has no
    such thing: musl and macOS keep large buffers apart by themselves.
    """
    if "MALLOC_MMAP_THRESHOLD_" in os.environ or "mmap_threshold" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # TypeError: Windows knows no library without a name
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE))


def read_in_pieces() -> bool:
    """Let asyncio's own loops read at most `READ` bytes at once, encrypted or not; whether they can be told so."""
    readers = [getattr(selector_events, "_SelectorTransport", None), getattr(sslproto, "SSLProtocol", None)]
    if not all(isinstance(getattr(reader, "max_size", None), int) for reader in readers):
        return False
    for reader in readers:
        reader.max_size = READ  # type: ignore[union-attr]
    return True


def set_loaded_apart() -> None:
    """Leave everything that is alive now out of every later search for garbage.

    A full search looks at each object there is, and holds up the event loop meanwhile. Most objects belong to the
    libraries and stay for as long as the process: half of the 0.12 s that it took with 500 chats at once.
    https://docs.python.org/3/library/gc.html#gc.freeze
    """
    gc.freeze()
