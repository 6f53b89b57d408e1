"""The environment's proxies and certificates for reaching other machines.

The only place that reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`: libraries differ in what they
understand there, and some fail on values for other programs.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from tools.contract.base import ToolError
from tools.contract.folders import temporary_folder
from tools.contract.nearness import suggest

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class UnusableProxy(ToolError):
    """The environment names an unsupported kind of proxy, or not by an address."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retry=False)


def is_direct(address: str) -> bool:
    """Return True if no proxy is used for this address: it is on this machine, or in `NO_PROXY`.

    `NO_PROXY` can contain names, names with a port, whole domains (`.corp`, `*.corp`), addresses and networks
    (`10.0.0.0/8`): everything that common clients understand, since people set it once for all programs.
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
    """Return a host's name in its wire form."""
    try:
        return host.lower().encode("idna").decode()
    except UnicodeError:
        return host.lower()


def _port(parts: SplitResult) -> int:
    return parts.port or {"https": 443}.get(parts.scheme, 80)


def proxy_before(address: str, whose: str) -> str | None:
    """Return the address of the proxy for `address`; None if it is reached directly.

    Args:
        whose: the name of the service, for the error.

    Raises:
        UnusableProxy: the environment names one that cannot be used; the text says in which variable.
    """
    proxies = urllib.request.getproxies()
    scheme = urlsplit(address).scheme
    named = scheme if proxies.get(scheme) else "all"
    proxy = proxies.get(named)
    if not proxy or is_direct(address):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    kind, variable = proxy.partition(":")[0], f"{named.upper()}_PROXY"
    if kind.lower() not in ("http", "https"):
        own = f"{scheme.upper()}_PROXY"
        host = urlsplit(address).hostname
        raise UnusableProxy(
            f"{variable} in the environment names a {kind[:20]} proxy, which cannot be used for {whose}: name an HTTP "
            f"proxy in {own}, or {host} in NO_PROXY"
        )
    try:
        parts = urlsplit(proxy)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        # Not shown: it may contain a password.
        raise UnusableProxy(f"the proxy that {variable} names for {whose} has no valid host and port")
    return proxy


def find_proxy_faults() -> list[str]:
    """Return a sentence for each kind of address that the environment's proxies make unreachable."""
    found = []
    for scheme in ("https", "http"):
        try:
            proxy_before(f"{scheme}://example.org", f"{scheme} addresses")
        except UnusableProxy as error:
            found.append(str(error).replace("example.org", "their hosts"))
    return found


def find_certificate_fault() -> str:
    """Return the fault of the certificates in `SSL_CERT_FILE` and `SSL_CERT_DIR`; empty if none.

    With a wrong value every connection fails, and no library says why.
    """
    if named := os.environ.get("SSL_CERT_FILE"):
        return _find_file_fault(Path(named))
    for named in filter(None, os.environ.get("SSL_CERT_DIR", "").split(os.pathsep)):
        folder = Path(named)
        try:
            hashed = any(_HASHED.fullmatch(entry.name) for entry in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return f"SSL_CERT_DIR names {named!r}, and there is no such folder{suggest(folder)}"
        except OSError as error:
            return f"SSL_CERT_DIR names {named!r}, which cannot be read: {error.strerror or type(error).__name__}"
        if not hashed:
            return f"SSL_CERT_DIR names {named!r}, which holds no certificate under its hash: run openssl rehash on it"
    return ""


_HASHED: Final = re.compile(r"[0-9a-f]{8}\.\d+")
"""OpenSSL's names for certificates in a folder."""


_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


def _find_file_fault(file: Path) -> str:
    # The first certificate shows whether they are valid; loading all would take 50 ms of each start.
    try:
        first = _CERTIFICATE.search(file.read_text(encoding="latin-1"))
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=first[0] if first else "none")
    except (FileNotFoundError, NotADirectoryError):
        return f"SSL_CERT_FILE names {str(file)!r}, and there is no such file{suggest(file)}"
    except ssl.SSLError:
        return f"SSL_CERT_FILE names {str(file)!r}, which holds no certificate in PEM form"
    except OSError as error:
        return f"SSL_CERT_FILE names {str(file)!r}, which cannot be read: {error.strerror or type(error).__name__}"
    return ""


@contextmanager
def open_certificate_file() -> Iterator[str | None]:
    """Yield the path of one file with all certificates of the environment, for a library that reads no variables.

    None if the environment names none. The file exists as long as the block. Invalid certificates are left out, as
    OpenSSL ignores them: other libraries would refuse the whole file.

    Raises:
        ToolError: none of the named ones can be read.
    """
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folders:
        yield None
        return
    found = _read_certificates([Path(file)] if file else _list_hashed(folders or ""))
    if not found:
        raise ToolError("The certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read.", retry=False)
    with temporary_folder() as place:
        joined = Path(place, "certificates.pem")
        joined.write_text("\n".join(found), encoding="ascii")
        yield str(joined)


def _list_hashed(folders: str) -> Iterator[Path]:
    for named in filter(None, folders.split(os.pathsep)):
        try:
            yield from (entry for entry in Path(named).iterdir() if _HASHED.fullmatch(entry.name))
        except OSError:
            continue


def _read_certificates(files: Iterable[Path]) -> list[str]:
    found: dict[str, None] = {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for file in files:
        try:
            blocks = _CERTIFICATE.findall(file.read_text(encoding="latin-1"))
        except OSError:
            continue
        for block in blocks:
            try:
                context.load_verify_locations(cadata=block)
            except (ssl.SSLError, ValueError):
                continue
            found[block] = None
    return list(found)


Make = Callable[[], ssl.SSLContext]


def trusted(make: Make) -> ssl.SSLContext:
    """Return a client library's own TLS context, shared by all its clients: each would read the same certificates
    again.

    `make` is the library's own function, or does the same: each library trusts by its own rules. Both of ours (`httpx`,
    `httpx2`) follow SSL_CERT_FILE and SSL_CERT_DIR, so a change of these makes another context.
    """
    return _made(make, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


def httpx2_context() -> ssl.SSLContext:
    """Return a TLS context as `httpx2.create_ssl_context` makes it.

    Where that would be the system's file of certificates, the library's pool of connections is not loaded for it.
    """
    paths = ssl.get_default_verify_paths()
    named = any(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    if named or sys.platform != "linux" or not Path(paths.openssl_cafile).is_file():
        import httpx2

        return httpx2.create_ssl_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    folder = paths.openssl_capath if Path(paths.openssl_capath).is_dir() else None
    context.load_verify_locations(paths.openssl_cafile, folder)
    return context


@lru_cache(maxsize=8)
def _made(make: Make, file: str | None, directory: str | None) -> ssl.SSLContext:
    return make()
