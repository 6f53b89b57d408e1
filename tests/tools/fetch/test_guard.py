"""Nothing but the public internet is opened: names, spellings, tunnels, redirects and changing name servers."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import aiohttp.web
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.fetch.conftest import Canary, Names, Site
from tools.contract.base import ToolError
from tools.fetch.client import Fetcher
from tools.fetch.guard import Refused, destination, inner, is_public, wire_form

_TABLE = """
127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 2130706433 0x7f000001 0x7F.0.0.1 0177.0.0.1 017700000001 0x7f.1
00127.0.0.1 127.0.0.1. 127.0.0.1.. ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127．0．0．1 127.0.0.%31 0 0.0.0.0 0.1.2.3 00
localhost LOCALHOST localhost. localhost.. ⓛocalhost ℓocalhost ｌｏｃａｌｈｏｓｔ lоcalhost localhost%00.example.org
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 169.254.0.1 100.64.0.1 100.100.100.200
100.127.255.254 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9
168.63.129.16 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 2852039166 0xa9fea9fe
[::1] [::] [0:0:0:0:0:0:0:1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:169.254.169.254]
[::ffff:0:127.0.0.1] [::10.0.0.1] [::8.8.8.8] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b::8.8.8.8]
[64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2002:808:808::1] [2001:0:4136:e378:8000:63bf:80ff:fffe]
[2001:0:7f00:1::1] [2001:db8::1] [2001:10::1] [2001:20::1] [3fff::1] [3ffe::1] [fe80::1] [fe80::1%25eth0] [fe80::1%eth0]
[::1%25lo] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] [ff0e::1] [100::1] [5f00::1] [4000::1]
[2a00:1450::5efe:7f00:1] [2a00:1450::200:5efe:10.0.0.1] [v1.a] a..b -a.example exa%20mple.com
"""
FORBIDDEN = _TABLE.split()


def within_this_machine(info: aiohttp.AddrInfoType) -> socket.socket:
    """Connects to loopback, so that a guard that fails is seen, and nowhere else, so that it does no harm."""
    address = ipaddress.ip_address(str(info[4][0]).partition("%")[0])
    if not (address.is_loopback or address.is_unspecified):
        raise OSError("no network in tests")
    made = socket.socket(info[0], info[1], info[2])
    made.setblocking(False)
    return made


async def test_a_forbidden_address_is_never_connected_to(canary: Canary) -> None:
    """Its port is let through and every name leads to it: nothing but the check stands before the canary."""

    async def lookup(name: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    fetcher = Fetcher(ports={canary.port}, lookup=lookup, dial=within_this_machine)

    for host in FORBIDDEN:
        with pytest.raises(Refused):
            await fetcher.get(f"http://{host}:{canary.port}/")
        assert canary.connections == 0, host

    await fetcher.close()


def test_the_table_is_long_enough() -> None:
    assert len(set(FORBIDDEN)) >= 60


async def test_the_canary_can_be_reached_when_the_operator_allows_it(canary: Canary) -> None:
    """Or the table above would prove nothing."""
    fetcher = Fetcher(allow=[f"127.0.0.1:{canary.port}"])

    page = await fetcher.get(f"http://127.0.0.1:{canary.port}/")

    assert page.body == b"secret"
    assert canary.connections == 1


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org/", "file:///etc/passwd", "gopher://127.0.0.1/", "data:text/html,x", "javascript:alert(1)"),
        *("//example.org/", "example.org", "", " ", "http://", "http:///x", "https:/example.org", "http://[::1/"),
        *("http://user@example.org/", "http://user:pass@example.org/", "http://:@example.org/", "http://@example.org/"),
        *("http://example.org:8080/", "http://example.org:22/", "http://example.org:0/", "http://example.org:99999/"),
        *("http://93.184.216.34\\@127.0.0.1/", "http://93.184.216.34 @127.0.0.1/", "http://exa\nmple.org/"),
        *("http://example.org" + "/x" * 3000, "http://" + "a" * 64 + ".exa" * 70 + ".org/"),
    ],
)
def test_only_plain_web_addresses_are_opened(url: str) -> None:
    with pytest.raises(Refused):
        destination(url)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://example.org/a?b=c#d", "example.org", 443),
        ("HTTP://EXAMPLE.org./", "example.org", 80),
        ("http://example.org:443/", "example.org", 443),
        ("https://中文.example/页", "xn--fiq228c.example", 443),
        ("http://8.8.8.8/", "8.8.8.8", 80),
        ("http://[2a00:1450:4001::68]/", "2a00:1450:4001::68", 80),
        ("https://under_score.example/", "under_score.example", 443),
    ],
)
def test_a_public_address_is_opened(url: str, host: str, port: int) -> None:
    where = destination(url)

    assert (where.host, where.port, where.trusted) == (host, port, False)
    assert where.url.raw_fragment == ""


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::68", "::ffff:8.8.8.8"])
def test_what_is_public_is_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(address: Any) -> None:
    if not address.is_global and not getattr(address, "ipv4_mapped", None):
        assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_a_tunnel_is_decoded_and_refused_whatever_is_inside(address: ipaddress.IPv4Address) -> None:
    low = int(address)
    tunnels = [
        ipaddress.IPv6Address((0x0064FF9B << 96) | low),
        ipaddress.IPv6Address((0x2002 << 112) | (low << 80)),
        ipaddress.IPv6Address((0x20010000 << 96) | (low << 64) | (low ^ 0xFFFFFFFF)),
        ipaddress.IPv6Address((0x20010470 << 96) | (0x5EFE << 32) | low),
    ]

    for tunnel in tunnels:
        assert address in inner(tunnel)
        assert not is_public(tunnel)


@given(st.text(max_size=200))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for candidate in (text, f"http://{text}/", f"https://{text}"):
        try:
            where = destination(candidate)
        except Refused:
            continue
        assert where.host.isascii()
        assert where.port in (80, 443)


class Dialled:
    """Notes which addresses are connected to, and connects to none."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    def __call__(self, info: aiohttp.AddrInfoType) -> socket.socket:
        self.addresses.append(str(info[4][0]))
        raise OSError("no network in tests")


async def test_a_name_that_changes_its_address_is_connected_to_where_it_was_checked(
    canary: Canary, names: type[Names]
) -> None:
    """The name server says something public first and loopback at any further look-up."""
    lookup = names(rebind_example=[["93.184.216.34"], ["127.0.0.1"]])
    dialled = Dialled()
    fetcher = Fetcher(ports={canary.port}, lookup=lookup, dial=dialled)

    with pytest.raises(ToolError, match="cannot be reached"):
        await fetcher.get(f"http://rebind.example:{canary.port}/")

    assert lookup.asked == ["rebind.example"]
    assert set(dialled.addresses) == {"93.184.216.34"}
    assert canary.connections == 0


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["10.0.0.1", "93.184.216.34"],
        ["93.184.216.34", "::1"],
        ["2606:2800:220:1::1", "::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fe80::1%lo"],
        ["not an address"],
        [],
        [f"93.184.216.{number}" for number in range(100)],
    ],
)
async def test_one_forbidden_address_of_a_name_is_enough_to_refuse_it(
    answer: list[str], canary: Canary, names: type[Names]
) -> None:
    dialled = Dialled()
    fetcher = Fetcher(ports={canary.port}, lookup=names(mixed_example=[answer]), dial=dialled)

    with pytest.raises(Refused):
        await fetcher.get(f"http://mixed.example:{canary.port}/")

    assert not dialled.addresses
    assert canary.connections == 0


async def test_a_refusal_does_not_tell_which_inner_address_a_name_has(names: type[Names]) -> None:
    with pytest.raises(Refused) as refused:
        await Fetcher(lookup=names(wiki_corp_example=[["10.20.30.40"]])).get("http://wiki.corp.example/")

    assert "10.20.30.40" not in str(refused.value)


INWARD = (
    "http://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://127.1:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://user@127.0.0.1:{port}/",
    "http://inside.example:{port}/",
    "file:///etc/passwd",
    "http://[broken",
)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_checked_like_an_address(
    status: int, site: Site, canary: Canary, names: type[Names]
) -> None:
    lookup = names(inside_example=[["127.0.0.1"]], localhost=[["127.0.0.1"]])
    fetcher = Fetcher(allow=[site.allowed], ports={80, 443, canary.port}, lookup=lookup)
    for number, target in enumerate(INWARD, 1):
        url = site.redirect("/away", target.format(port=canary.port), status)

        with pytest.raises(Refused):
            await fetcher.get(url)

        assert canary.connections == 0, target
        assert len(site.requests) == number


async def test_three_redirects_are_followed_and_not_four(site: Site, fetcher: Fetcher) -> None:
    site.page("/0", "<html>there</html>")
    for number in range(1, 5):
        site.redirect(f"/{number}", f"/{number - 1}")

    page = await fetcher.get(site.url("/3"))
    with pytest.raises(ToolError, match="more than 3 times"):
        await fetcher.get(site.url("/4"))

    assert page.url == site.url("/0")


async def test_a_redirect_is_followed_only_where_the_caller_allows_it(site: Site, fetcher: Fetcher) -> None:
    site.page("/there", "<html>there</html>")
    url = site.redirect("/away", "/there?q=1")
    asked: list[str] = []

    def refuse(address: str) -> bool:
        asked.append(address)
        return False

    with pytest.raises(Refused, match="may not be opened"):
        await fetcher.get(url, follow=refuse)
    page = await fetcher.get(url, follow=lambda address: address.endswith("/there?q=1"))

    assert asked == [site.url("/there?q=1")]
    assert [request.path for request in site.requests] == ["/away", "/away", "/there"]
    assert page.url == site.url("/there?q=1")


async def test_addresses_of_one_wire_form_are_one_request(site: Site, fetcher: Fetcher) -> None:
    """What a server is told is all in the form: nothing can be hidden in how an address is spelled."""
    alike = ("/a%62c?q=%41#x", "/abc?q=A", "/x/../abc?q=A#y", "/./abc?%71=A")
    other = ("/abc", "/abc?q=a", "/ABC?q=A", "/abc/?q=A", "/abc?q=A&", "/ab%63%2F?q=A", "/abc?q=A+", "/abc?q=A%20")
    sent = {}
    for path in (*alike, *other):
        form = wire_form(site.url(path))
        with contextlib.suppress(ToolError):
            await fetcher.get(site.url(path))
        sent[path] = site.requests[-1].raw_path
        assert form == f"{site.allowed}{sent[path]}"

    assert {sent[path] for path in alike} == {"/abc?q=A"}
    assert len({sent[path] for path in (*alike[:1], *other)}) == len(other) + 1


async def test_a_circle_of_redirects_ends(site: Site, fetcher: Fetcher) -> None:
    url = site.redirect("/round", "/round")

    with pytest.raises(ToolError, match="more than 3 times"):
        await fetcher.get(url)

    assert len(site.requests) == 4


async def test_no_proxy_cookie_or_password_of_the_environment_is_used(
    site: Site, fetcher: Fetcher, canary: Canary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password hidden\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    url = site.page("/", "<html>x</html>", Set_Cookie="a=b")

    await fetcher.get(url)
    await fetcher.get(url)

    assert canary.connections == 0
    for request in site.requests:
        assert not {"Authorization", "Cookie", "Referer"} & set(request.headers)


async def test_a_certificate_is_checked_for_the_name_and_not_the_address(tmp_path: Path, names: type[Names]) -> None:
    """The connection goes to a checked address, but the server is asked for, and must prove, the name."""
    certificate, key = _certificate(tmp_path)
    asked: list[str | None] = []
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    serving.sni_callback = lambda _, name, __: asked.append(name)
    runner = aiohttp.web.AppRunner(_one_page(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await aiohttp.web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving).start()
    port = runner.addresses[0][1]
    trusting = ssl.create_default_context(cafile=str(certificate))
    allow = [f"page.example:{port}", f"other.example:{port}"]
    lookup = names(page_example=[["127.0.0.1"]], other_example=[["127.0.0.1"]])

    page = await Fetcher(allow=allow, lookup=lookup, tls=trusting).get(f"https://page.example:{port}/")
    with pytest.raises(ToolError, match="certificate"):
        await Fetcher(allow=allow, lookup=lookup, tls=trusting).get(f"https://other.example:{port}/")
    with pytest.raises(ToolError, match="certificate"):
        await Fetcher(allow=allow, lookup=lookup).get(f"https://page.example:{port}/")

    await runner.cleanup()
    assert b"proved" in page.body
    assert asked == ["page.example", "other.example", "page.example"]


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for page.example alone, and its key."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=page.example"]
    command += ["-addext", "subjectAltName=DNS:page.example", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine has no openssl to make a certificate with")
    return certificate, key


def _one_page() -> aiohttp.web.Application:
    async def answer(request: aiohttp.web.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(text="proved")

    app = aiohttp.web.Application()
    app.router.add_get("/", answer)
    return app
