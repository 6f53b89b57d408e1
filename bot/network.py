"""Which proxy stands before an address, as the environment says (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""

from __future__ import annotations

import ipaddress
import os
import ssl
import urllib.request
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit

from bot.contract import SettingsError

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_direct(address: str) -> bool:
    """Whether no proxy stands before this address: it is this machine's, or one that `NO_PROXY` names.

    Names, names with a port, names of whole domains (`.corp`, `*.corp`), addresses and networks (`10.0.0.0/8`) are
    understood there: what any common client does, since people set it once for all programs.
    """
    parts = urlsplit(address)
    host = _plain(parts.hostname or "")
    if host in _THIS_MACHINE:
        return True
    exceptions = urllib.request.getproxies().get("no", "").split(",")
    return any(_names(entry.strip(), host, parts) for entry in exceptions) or bool(urllib.request.proxy_bypass(host))


def _names(entry: str, host: str, parts: SplitResult) -> bool:
    entry = entry.rpartition("://")[2].rstrip("/") if "://" in entry else entry
    if not entry or entry == "*":
        return bool(entry)
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        name, colon, port = entry.rpartition(":")
        if colon and port.isdecimal():
            return int(port) == _port(parts) and _names(name, host, parts)
        name = _plain(entry.lstrip("*").lstrip("."))
        return host == name or host.endswith(f".{name}")
    try:
        return ipaddress.ip_address(host) in network
    except ValueError:
        return False


def _plain(host: str) -> str:
    """A host's name as it goes over the wire."""
    try:
        return host.lower().encode("idna").decode()
    except UnicodeError:
        return host.lower()


def _port(parts: SplitResult) -> int:
    return parts.port or {"https": 443}.get(parts.scheme, 80)


def proxy_before(address: str, whose: str) -> str | None:
    """The address of the proxy through which `address` is reached; None where it is reached directly.

    Args:
        whose: who is reached there, for the error.

    Raises:
        SettingsError: the environment names a proxy of a kind that is not spoken here, or not by an address.
    """
    proxies = urllib.request.getproxies()
    proxy = proxies.get(urlsplit(address).scheme) or proxies.get("all")
    if not proxy or is_direct(address):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    kind = proxy.partition(":")[0]
    if kind.lower() not in ("http", "https"):
        raise SettingsError(f"a {kind} proxy in the environment cannot be used for {whose}: name an HTTP proxy")
    try:
        parts = urlsplit(proxy)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        # Not shown: it may hold a password.
        raise SettingsError(f"the proxy that the environment names for {whose} has no valid host and port")
    return proxy


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
