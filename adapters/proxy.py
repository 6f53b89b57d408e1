"""Which addresses are reached without the proxy that the environment names."""

from __future__ import annotations

import urllib.request
from typing import Final

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_direct(host: str) -> bool:
    """Whether no proxy stands before this host: it is this machine, or one that `NO_PROXY` names."""
    return host in _THIS_MACHINE or bool(urllib.request.proxy_bypass(host))
