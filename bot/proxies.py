"""Which proxy stands before an address, as the environment says (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""

from __future__ import annotations

import urllib.request
from typing import Final
from urllib.parse import urlsplit

from bot.errors import SettingsError

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_direct(host: str) -> bool:
    """Whether no proxy stands before this host: it is this machine, or one that `NO_PROXY` names."""
    return host in _THIS_MACHINE or bool(urllib.request.proxy_bypass(host))


def proxy_before(address: str, whose: str) -> str | None:
    """The address of the proxy through which `address` is reached; None where it is reached directly.

    Args:
        whose: who is reached there, for the error.

    Raises:
        SettingsError: the environment names a proxy of a kind that is not spoken here.
    """
    parts = urlsplit(address)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or is_direct(parts.hostname or ""):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    kind = proxy.partition(":")[0]
    if kind.lower() not in ("http", "https"):
        raise SettingsError(f"a {kind} proxy in the environment cannot be used for {whose}: name an HTTP proxy")
    return proxy
