"""What encrypted connections trust: read from the disk once for all clients of a process."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from functools import lru_cache

Make = Callable[[], ssl.SSLContext]


def trusted(make: Make) -> ssl.SSLContext:
    """The context that a client library makes for itself, for all its clients: each reads the same certificates anew.

    `make` is the library's own function, because each has its own idea of whom to trust. Both of ours (`httpx`,
    `httpx2`) follow SSL_CERT_FILE and SSL_CERT_DIR, so a change of these makes another context.
    """
    return _made(make, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=8)
def _made(make: Make, file: str | None, directory: str | None) -> ssl.SSLContext:
    return make()
