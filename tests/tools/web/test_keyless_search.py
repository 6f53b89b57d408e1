"""search_web's second source: the library ddgs as it is, its engines pointed at loopback."""

from __future__ import annotations

import datetime
import importlib.util
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from ddgs.engines.brave import Brave
from ddgs.engines.duckduckgo import Duckduckgo
from ddgs.engines.mojeek import Mojeek
from pydantic import SecretStr

from playground.faults import Fault
from playground.loopback import Loopback
from playground.tavily import TavilyServer
from tests.tools.web.conftest import Caller
from tools.contract.base import Source, Unavailable
from tools.fetch import keyless_search
from tools.search_web import open_tool
from tools.settings import SearchSettings


class Engines:
    """What DuckDuckGo's page looks like to the library; the other engines refuse."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.queries: list[dict[str, str]] = []
        self.found = [
            ("https://bridges.example/a", "Bridges & cables", "How bridges hang."),
            ("https://docs.bridges.example/b", "Bridge documents", "All of them."),
            ("https://spam.example/c", "Bridges, bridges!", "Buy bridges."),
        ]
        self.status = 200
        app = web.Application()
        app.router.add_post("/html/", self._duckduckgo)
        app.router.add_get("/other", self._other)
        self.http = Loopback(app)

    async def _duckduckgo(self, request: web.Request) -> web.Response:
        self.queries.append({name: str(value) for name, value in (await request.post()).items()})
        rows = "".join(
            f'<div class="result results_links_deep result__body"><h2>{title}</h2><a href="{url}">{text}</a></div>'
            for url, title, text in self.found
        )
        return web.Response(text=f"<html><body>{rows}</body></html>", content_type="text/html", status=self.status)

    async def _other(self, request: web.Request) -> web.Response:
        return web.Response(status=403)

    def point_at(self, address: str) -> None:
        """Have the library ask here."""
        self._monkeypatch.setattr(Duckduckgo, "search_url", f"{address}/html/")
        for other in (Brave, Mojeek):
            self._monkeypatch.setattr(other, "search_url", f"{address}/other")

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Nobody listens, and nobody else can take the port meanwhile."""
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            self.point_at(f"http://127.0.0.1:{held.getsockname()[1]}")
            yield


@pytest.fixture
async def engines(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engines]:
    made = Engines(monkeypatch)
    await made.http.open()
    monkeypatch.delenv("DDGS_PROXY", raising=False)
    made.point_at(made.http.url)
    yield made
    await made.http.close()


def keyless(**more: Any) -> SearchSettings:
    return SearchSettings.model_construct(search_fallback="ddgs", **more)


async def test_without_a_key_the_second_source_searches(engines: Engines, caller: Caller) -> None:
    result = await caller(open_tool(keyless()), language="de-AT")(query="bridges", time_range="week")

    assert result.ok
    assert result.untrusted
    assert "[1] Bridges & cables\nSource: https://bridges.example/a\nHow bridges hang." in result.text
    assert result.sources[0] == Source("Bridges & cables", "https://bridges.example/a")
    assert engines.queries[0]["q"] == "bridges"
    assert engines.queries[0]["l"] == "de-de"
    assert engines.queries[0]["df"] == "w"


async def test_when_the_first_source_fails_the_second_answers_and_says_so(engines: Engines, caller: Caller) -> None:
    async with TavilyServer(key="key") as tavily:
        tavily.faults.add("search", Fault(status=500))
        settings = keyless(tavily_api_key=SecretStr("key"), tavily_api_base_url=tavily.base_url)
        search = caller(open_tool(settings))

        first = await search(query="solar power")
        second = await search(query="solar power news")

    assert first.text.startswith("(From a second source, for the first one fails now.)\nSearch results for")
    assert "bridges.example" in first.text
    assert "second source" not in second.text
    assert len(engines.queries) == 1


@pytest.mark.parametrize("named", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_the_engines_are_known_by_the_certificates_that_the_operator_names(
    engines: Engines, caller: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str
) -> None:
    """As behind a company's proxy, which shows certificates of its own. What lies beside them does no harm."""
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    authority, serving = make_certificates(tmp_path)
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "0a1b2c3d.0").write_text(broken + authority)
    (tmp_path / "own" / "0a1b2c3d.1").symlink_to("gone.pem")
    folders = os.pathsep.join([str(tmp_path / "gone"), str(tmp_path / "own")])
    with serve_by_https(serving) as address:
        engines.point_at(address)

        strange = await caller(open_tool(keyless()))(query="bridges")
        monkeypatch.setenv(named, folders if named == "SSL_CERT_DIR" else str(tmp_path / "own" / "0a1b2c3d.0"))
        known = await caller(open_tool(keyless()))(query="bridges")
        monkeypatch.setenv(named, str(tmp_path / "gone"))
        unreadable = await caller(open_tool(keyless()))(query="bridges")

    assert not strange.ok and "do not answer" in strange.text
    assert known.ok, known.text
    assert not unreadable.ok and "SSL_CERT_DIR names cannot be read" in unreadable.text


class Empty(BaseHTTPRequestHandler):
    """An engine that finds nothing."""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "13")
        self.end_headers()
        self.wfile.write(b"<html></html>")

    do_GET = do_POST = answer

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def serve_by_https(serving: ssl.SSLContext) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Empty) as server:
        server.socket = serving.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def make_certificates(folder: Path) -> tuple[str, ssl.SSLContext]:
    """Return an authority's certificate, and the context of a server at 127.0.0.1 that it vouches for."""
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("authority", "engine")]
    now = datetime.datetime.now(datetime.UTC)
    made = []
    for key, name in zip(keys, names, strict=True):
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(names[0]).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=name == names[0], path_length=None), critical=True)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        made.append(builder.sign(keys[0], hashes.SHA256()).public_bytes(Encoding.PEM))
    chain = made[1] + keys[1].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "engine.pem").write_bytes(chain)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "engine.pem")
    return made[0].decode(), serving


@pytest.mark.parametrize(
    ("language", "region"), [("zh-Hans", "cn-zh"), ("zh-TW", "tw-tzh"), ("de-AT", "de-de"), ("", "us-en")]
)
async def test_pages_are_looked_for_where_the_person_s_language_is_read(
    engines: Engines, caller: Caller, language: str, region: str
) -> None:
    await caller(open_tool(keyless()), language=language)(query="bridges")

    assert [query["l"] for query in engines.queries] == [region]


async def test_a_wrong_request_is_not_asked_twice(engines: Engines, caller: Caller) -> None:
    async with TavilyServer(key="key") as tavily:
        settings = keyless(tavily_api_key=SecretStr("key"), tavily_api_base_url=tavily.base_url)
        tavily.faults.add("search", Fault(status=400, body='{"detail": {"error": "Query is bad."}}'))

        result = await caller(open_tool(settings))(query="bridges")

    assert not result.ok
    assert "Query is bad" in result.text
    assert not engines.queries


async def test_without_being_named_the_second_source_is_never_asked(engines: Engines, caller: Caller) -> None:
    async with TavilyServer(key="key") as tavily:
        settings = SearchSettings.model_construct(tavily_api_key=SecretStr("key"), tavily_api_base_url=tavily.base_url)
        tavily.faults.add("search", Fault(status=500))

        result = await caller(open_tool(settings))(query="bridges")

    assert not result.ok
    assert not engines.queries


async def test_domains_are_kept_though_engines_take_them_as_a_wish(engines: Engines, caller: Caller) -> None:
    search = caller(open_tool(keyless()))

    included = await search(query="bridges", include_domains=["bridges.example"])
    excluded = await search(query="bridges", exclude_domains=["spam.example", "docs.bridges.example"])

    assert {source.url for source in included.sources} == {
        "https://bridges.example/a",
        "https://docs.bridges.example/b",
    }
    assert [source.url for source in excluded.sources] == ["https://bridges.example/a"]
    assert "site:bridges.example" in engines.queries[0]["q"]
    assert "-site:spam.example" in engines.queries[1]["q"]


async def test_nothing_found_and_refused_are_said(engines: Engines, caller: Caller) -> None:
    search = caller(open_tool(keyless()))
    engines.found = []

    nothing = await search(query="zzzz")
    with engines.gone():
        refused = await search(query="bridges")

    assert nothing.ok
    assert "Nothing was found" in nothing.text
    assert not refused.ok
    assert "do not answer the bot now" in refused.text


async def test_when_both_fail_the_first_one_s_reason_is_told(engines: Engines, caller: Caller) -> None:
    async with TavilyServer(key="key") as tavily:
        tavily.faults.add("search", Fault(status=432))
        settings = keyless(tavily_api_key=SecretStr("key"), tavily_api_base_url=tavily.base_url)

        with engines.gone():
            result = await caller(open_tool(settings))(query="bridges")

    assert not result.ok
    assert "credits are used up" in result.text


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert not keyless_search.installed()
    for settings in (keyless(), keyless(tavily_api_key=SecretStr("key"))):
        with pytest.raises(Unavailable, match="pip install ddgs") as lack:
            open_tool(settings)
        assert lack.value.wanted


def test_without_key_and_second_source_it_is_not_offered() -> None:
    with pytest.raises(Unavailable, match=r"TAVILY_API_KEY.*SEARCH_FALLBACK"):
        open_tool(SearchSettings.model_construct())
