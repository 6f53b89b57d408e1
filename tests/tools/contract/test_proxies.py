"""Every tool that asks a service goes through the proxy that the environment names, whatever else stands there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import certifi
import httpx2
import pytest
from aiohttp import web
from ddgs.engines.brave import Brave
from ddgs.engines.duckduckgo import Duckduckgo
from ddgs.engines.mojeek import Mojeek
from yarl import URL

from playground.model import ModelServer
from playground.tavily import TavilyServer
from playground.web import OpenAlexServer
from tools import generate_image, search_papers, search_web
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext, ToolError, ToolResult
from tools.contract.network import find_certificate_fault, find_proxy_faults
from tools.fetch import keyless_search
from tools.mcp import session
from tools.mcp.config import Endpoint
from tools.sandbox.cell import SandboxFailed
from tools.sandbox.e2b import E2B
from tools.settings import ImageSettings, SearchPapersSettings, SearchSettings

pytestmark = pytest.mark.usefixtures("no_proxy_of_this_machine")

KEY = "tvly-0123456789abcdef"


@dataclass
class Proxy:
    """A proxy for plain HTTP: sends what is asked of a name to a server on loopback, and notes the names."""

    hosts: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    address: str = ""

    async def forward(self, request: web.BaseRequest) -> web.StreamResponse:
        url = URL(request.raw_path)
        self.asked.append(str(url.host))
        target = self.hosts.get(str(url.host))
        if target is None:
            return web.json_response({"refused": url.host}, status=404)
        headers = {
            name: text for name, text in request.headers.items() if name.lower() not in ("host", "content-length")
        }
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(
                request.method, target + url.raw_path_qs, headers=headers, data=await request.read()
            ) as answer,
        ):
            kept = {"Content-Type": answer.headers.get("Content-Type", "")}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    made = Proxy()
    runner = web.ServerRunner(web.Server(made.forward), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "one proxy": {"http_proxy": "{proxy}"},
    "a proxy for all": {"ALL_PROXY": "{proxy}"},
    "Clash and GNOME": {"http_proxy": "{proxy}", "https_proxy": "{proxy}", "all_proxy": "socks://127.0.0.1:7891/"},
    "OrbStack": {"http_proxy": "{proxy}", "NO_PROXY": "localhost,127.0.0.1,[::1],fd07:b51a:cc66::/64,*.orb.local"},
}


@pytest.fixture(params=ENVIRONMENTS)
def environment(
    request: pytest.FixtureRequest, no_proxy_of_this_machine: None, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in ENVIRONMENTS[request.param].items():
        monkeypatch.setenv(name, text.format(proxy=proxy.address))


async def call(tool: object, name: str, **arguments: str) -> ToolResult:
    registry = ToolRegistry([tool])  # type: ignore[list-item]  # each is a tool
    try:
        return await registry.run(ToolCall("1", name, arguments), ToolContext())
    finally:
        await registry.close()


@pytest.mark.usefixtures("environment")
async def test_searches_images_and_papers_go_through_the_proxy(proxy: Proxy) -> None:
    async with TavilyServer(key=KEY) as tavily, ModelServer(key=KEY) as model, OpenAlexServer() as openalex:
        proxy.hosts = {
            "tavily.test": tavily.base_url,
            "images.test": model.base_url.removesuffix("/v1"),
            "papers.test": openalex.base_url,
        }
        searching = SearchSettings.model_validate({"tavily_api_key": KEY, "tavily_api_base_url": "http://tavily.test"})
        drawing = ImageSettings.model_validate(
            {"image_model": "openai:gpt-image-1", "image_api_key": KEY, "image_base_url": "http://images.test/v1"}
        )
        reading = SearchPapersSettings.model_validate({"openalex_base_url": "http://papers.test"})

        found = await call(search_web.open_tool(searching), "search_web", query="solar power")
        drawn = await call(generate_image.open_tool(drawing), "generate_image", prompt="a fox")
        read = await call(search_papers.open_tool(reading), "search_papers", query="solar power")

    assert found.ok and drawn.ok and read.ok, (found.text, drawn.text, read.text)
    assert set(proxy.asked) == {"tavily.test", "images.test", "papers.test"}


@pytest.mark.usefixtures("environment")
async def test_mcp_servers_and_remote_sandboxes_are_reached_through_the_proxy(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def ask(url: str, *, http_client: httpx2.AsyncClient, **_: object) -> AsyncIterator[httpx2.Response]:
        yield await http_client.get(url)

    monkeypatch.setattr(session, "streamable_http_client", ask)
    sandbox = E2B("e2b_0123456789abcdef", "http://e2b.test")

    async with session._http_transport(Endpoint("http://mcp.test/mcp")) as answer:
        assert answer.json() == {"refused": "mcp.test"}
    with pytest.raises(SandboxFailed, match="E2B answered with status 404"):
        await sandbox.check()
    await sandbox.close()

    assert proxy.asked == ["mcp.test", "e2b.test"]


@pytest.mark.usefixtures("environment")
async def test_search_engines_without_a_key_are_asked_through_the_proxy(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in (Brave, Duckduckgo, Mojeek):
        monkeypatch.setattr(engine, "search_url", f"http://{engine.__name__.lower()}.test/")
    monkeypatch.setenv("HTTPS_PROXY", proxy.address)  # they are all asked by HTTPS
    monkeypatch.delenv("DDGS_PROXY", raising=False)

    assert await keyless_search.search("bridges", most=5) == []
    assert {"brave.test", "duckduckgo.test", "mojeek.test"} >= set(proxy.asked) != set()


@pytest.mark.usefixtures("environment")
async def test_this_machine_is_reached_without_the_proxy(proxy: Proxy) -> None:
    async with TavilyServer(key=KEY) as tavily, ModelServer(key=KEY) as model:
        searching = SearchSettings.model_validate({"tavily_api_key": KEY, "tavily_api_base_url": tavily.base_url})
        drawing = ImageSettings.model_validate(
            {"image_model": "openai:gpt-image-1", "image_api_key": KEY, "image_base_url": model.base_url}
        )

        found = await call(search_web.open_tool(searching), "search_web", query="solar power")
        drawn = await call(generate_image.open_tool(drawing), "generate_image", prompt="a fox")

    assert found.ok and drawn.ok and not proxy.asked


async def test_a_socks_proxy_alone_is_named_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks://127.0.0.1:7891/")
    searching = SearchSettings.model_validate({"tavily_api_key": KEY, "tavily_api_base_url": "https://tavily.test"})
    drawing = ImageSettings.model_validate({"image_model": "openai:x", "image_api_key": KEY})
    said = "ALL_PROXY in the environment names a socks proxy, which cannot be used for {}: name an HTTP proxy in HTTPS_"

    for tool, name, arguments, whose in (
        (search_web.open_tool(searching), "search_web", {"query": "solar power"}, "Tavily"),
        (generate_image.open_tool(drawing), "generate_image", {"prompt": "a fox"}, "the image service"),
        (
            search_papers.open_tool(SearchPapersSettings.model_validate({})),
            "search_papers",
            {"query": "solar power"},
            "OpenAlex",
        ),
    ):
        result = await call(tool, name, **arguments)
        assert not result.ok and said.format(whose) in result.text
    papers = search_papers.open_tool(SearchPapersSettings.model_validate({}))
    finding = await papers.check()
    await papers.close()
    assert (
        finding.text
        == f"api.openalex.org cannot be reached: {said.format('OpenAlex')}PROXY, or api.openalex.org in NO_PROXY"
    )
    sandbox = E2B("e2b_0123456789abcdef", "https://e2b.test")
    with pytest.raises(SandboxFailed, match="socks proxy, which cannot be used for E2B"):
        await sandbox.check()
    await sandbox.close()
    with pytest.raises(ToolError, match="socks proxy, which cannot be used for the search engines"):
        await keyless_search.search("bridges", most=5)
    assert find_proxy_faults()[0].startswith(said.format("https addresses"))

    monkeypatch.setenv("https_proxy", "http://127.0.0.1:7890")
    assert [fault.rpartition(" in ")[0].split()[-1] for fault in find_proxy_faults()] == ["hosts"]


CERTIFICATES = {
    "a file that is gone": ({"SSL_CERT_FILE": "{folder}/corp.pme"}, "no such file; did you mean {folder}/corp.pem?"),
    "a file that holds none": ({"SSL_CERT_FILE": "{folder}/corp.pem"}, "which holds no certificate in PEM form"),
    "a folder for a file": ({"SSL_CERT_FILE": "{folder}"}, "SSL_CERT_FILE names '{folder}', which "),
    "a folder that is gone": ({"SSL_CERT_DIR": "{folder}/gone"}, "SSL_CERT_DIR names '{folder}/gone', and there is"),
    "a folder that holds none": ({"SSL_CERT_DIR": "{folder}"}, "no certificate under its hash: run openssl rehash"),
}  # fmt: skip


@pytest.mark.parametrize(("set_to", "said"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_certificates_that_cannot_be_used_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_to: Mapping[str, str], said: str
) -> None:
    (tmp_path / "corp.pem").write_text("no certificate")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert find_certificate_fault() == ""
    for name, text in set_to.items():
        monkeypatch.setenv(name, text.format(folder=tmp_path))

    assert said.format(folder=tmp_path) in find_certificate_fault()


def test_certificates_that_can_be_used_are_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "0a1b2c3d.0").write_bytes(Path(certifi.where()).read_bytes())
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", f"{tmp_path}")
    assert find_certificate_fault() == ""

    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert find_certificate_fault() == ""
