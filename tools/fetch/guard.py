"""Allow only public addresses to be opened, whatever name, spelling or tunnel leads to them.

A check of the name alone is worthless: names resolve to anything, and to something else a moment later. So
`destination` reads the URL with the same parser as the connection, `approved` resolves the name once and checks all its
addresses, and the client connects only to those.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from yarl import URL

from tools.contract.base import ToolError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host and port; raises OSError if there are none."""

PORTS = frozenset({80, 443})
LONGEST_URL = 4096
MOST_ADDRESSES = 32

_V4 = tuple(
    ipaddress.IPv4Network(one)
    for one in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # Azure's address for its virtual machines, in the middle of a public range.
        "168.63.129.16/32",
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_V6 = tuple(
    ipaddress.IPv6Network(one)
    # Protocol assignments (Teredo, ORCHID, benchmarks), documentation, 6to4, the former 6bone.
    for one in ("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20")
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_ISATAP = re.compile(r"0[02]005efe$")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)$", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$")


class Refused(ToolError):
    """The address must not be opened."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of a URL, before its name is resolved."""

    url: URL
    host: str
    """In the form that is connected to: ASCII, lower case, no dot at the end; an IPv6 address without brackets."""
    port: int
    trusted: bool
    """The operator has named this host and port: neither port nor addresses are checked."""


def destination(address: str | URL, *, allow: Collection[str] = (), ports: Collection[int] = PORTS) -> Destination:
    """Return the destination of `address`, if its form allows opening it; `allow` contains `host:port`.

    Raises:
        Refused: for its scheme, port, credentials or the notation of its host.
    """
    url = _parsed(address)
    if url.scheme not in ("http", "https"):
        raise Refused("Only addresses that begin with http:// or https:// can be opened.")
    if "@" in url.raw_authority:
        raise Refused("An address with a user name or password in it is not opened; leave that part out.")
    host = (url.raw_host or "").lower()
    if host.endswith(".") and not host.endswith(".."):
        host = host[:-1]
    literal = _literal(host)
    if literal is None and (len(host) > 253 or not _HOST.match(host)):
        raise Refused("The address names no host that can be opened.")
    port = url.port
    if port is None or not 0 < port < 65536:
        raise Refused("The address has no usable port.")
    trusted = f"{f'[{host}]' if ':' in host else host}:{port}" in allow
    if port not in ports and not trusted:
        raise Refused(f"Only the ports 80 and 443 are opened, not {port}.")
    return Destination(url.with_host(host).with_fragment(None), host, port, trusted)


def wire_form(address: str) -> str:
    """Return what a request for `address` reveals to the network: host, path and query, as sent.

    Two addresses with the same wire form are the same request, however they are written; http and https count as one.
    Empty for an address that cannot be opened.
    """
    try:
        where = destination(address, ports=range(1, 65536))
    except Refused:
        return ""
    port = "" if where.port in PORTS else f":{where.port}"
    return f"{where.host}{port}{where.url.raw_path_qs}"


async def approved(where: Destination, lookup: Lookup) -> tuple[Address, ...]:
    """Resolve the name once and return the addresses that may be connected to.

    Raises:
        Refused: it has no address, or one of them is not public.
    """
    literal = _literal(where.host)
    if literal is not None:
        found = [literal]
    else:
        try:
            names = await lookup(where.host, where.port)
            found = [ipaddress.ip_address(name) for name in dict.fromkeys(names)]
        except (OSError, ValueError, UnicodeError) as error:
            raise Refused(f"There is no host {where.host!r}, or its name cannot be resolved now.") from error
    if not found or len(found) > MOST_ADDRESSES:
        raise Refused(f"The host {where.host!r} has no address that can be used.")
    if not where.trusted:
        for address in found:
            # One forbidden address among good ones is an attack, or a network that nobody outside should see.
            if not is_public(address):
                raise Refused(
                    f"{where.host!r} is not on the public internet, or not only. Only public pages can be opened; "
                    "use another source."
                )
    return tuple(dict.fromkeys(_plain(address) for address in found))


def is_public(address: Address) -> bool:
    """Return True if `address` is globally reachable.

    The standard library's `is_global` is not enough: in 3.11 it is true for tunnels into private networks, multicast
    and the metadata services of two clouds.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _V4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address.scope_id is not None:
        return False
    # A tunnel carries the packet to the IPv4 address inside. Refusing all tunnels leaves nothing to decode wrongly;
    # real hosts have their own addresses.
    return not inner(address) and address in _GLOBAL_V6 and not any(address in network for network in _V6)


def inner(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    """Return the IPv4 addresses embedded in `address`: mapped, compatible, NAT64, 6to4, Teredo, ISATAP."""
    found: list[ipaddress.IPv4Address] = []
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        found.append(address.ipv4_mapped)
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found += address.teredo
    compatible = address in _COMPATIBLE and int(address) > 1
    if compatible or address in _NAT64 or _ISATAP.match(f"{(int(address) >> 32) & 0xFFFFFFFF:08x}"):
        found.append(low)
    return tuple(found)


def _parsed(address: str | URL) -> URL:
    if isinstance(address, URL):
        return address
    text = address.strip()
    if len(text) > LONGEST_URL:
        raise Refused(f"The address has {len(text)} characters, at most {LONGEST_URL} are possible.")
    if not text or re.search(r"[\x00-\x20\x7f\\]", text.split("?")[0]):
        raise Refused("That is no address: write one such as https://example.org/page.")
    try:
        url = URL(text)
        authority, _ = url.raw_authority, url.port
    except (ValueError, UnicodeError) as error:
        raise Refused("That is no address that can be read: write one such as https://example.org/page.") from error
    if "@" in re.split(r"[/?#]", text.partition("//")[2])[0]:
        raise Refused("An address with a user name or password in it is not opened; leave that part out.")
    if "%" in authority:
        raise Refused("The host of the address must be written plainly, without percent signs.")
    return url


def _literal(host: str) -> Address | None:
    """Return `host` as an address; None if it is a name.

    Raises:
        Refused: a number in another notation (127.1, 0x7f000001, 0177.0.0.1), which libraries read differently.
    """
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host)
        except ValueError as error:
            raise Refused("The address names no host that can be opened.") from error
    if not _NUMERIC.match(host.rpartition(".")[2]):
        return None
    try:
        return ipaddress.IPv4Address(host)
    except ValueError as error:
        raise Refused("A numeric host must be written as four plain numbers, such as 192.0.2.1.") from error


def _plain(address: Address) -> Address:
    """Return the IPv4 address in a mapped one, which is connected to."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped if mapped is not None else address
