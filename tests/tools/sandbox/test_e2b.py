"""The remote backend, against a server that keeps E2B's rules on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.patience import LATE, slowed
from tools.sandbox.cell import SandboxFailed
from tools.sandbox.e2b import E2B, IDLE_SECONDS
from tools.sandbox.limits import KIB, Limits

KEY = "e2b_0123456789abcdef"
PNG = b"\x89PNG\r\n\x1a\n...."


class Service:
    """Creates, prolongs, ends sandboxes, and answers a cell with the lines that the code itself names."""

    def __init__(self) -> None:
        self.live: dict[str, int] = {}
        self.made: list[dict[str, object]] = []
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/sandboxes", self._create)
        app.router.add_post("/sandboxes/{id}/timeout", self._prolong)
        app.router.add_delete("/sandboxes/{id}", self._end)
        app.router.add_post("/execute", self._execute)
        return app

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-KEY") != KEY:
            return web.json_response({"code": 401, "message": "Invalid API key"}, status=401)
        body = await request.json()
        self.made.append(body)
        name = f"sandbox{len(self.made)}"
        self.live[name] = 0
        answer = {"sandboxID": name, "clientID": "c", "templateID": body["templateID"], "envdAccessToken": "door"}
        return web.json_response(answer, status=201)

    async def _prolong(self, request: web.Request) -> web.Response:
        return web.Response(status=204 if request.match_info["id"] in self.live else 404)

    async def _end(self, request: web.Request) -> web.Response:
        return web.Response(status=204 if self.live.pop(request.match_info["id"], None) is not None else 404)

    async def _execute(self, request: web.Request) -> web.StreamResponse:
        name = request.headers["E2b-Sandbox-Id"]
        assert request.headers["X-Access-Token"] == "door"
        assert request.headers["E2b-Sandbox-Port"] == "49999"
        if name not in self.live:
            return web.Response(status=502)
        self.live[name] += 1
        code = (await request.json())["code"]
        response = web.StreamResponse()
        await response.prepare(request)
        if code == "hang":
            await asyncio.sleep(30)
        if code == "broken":
            await response.write(b"<html>\n")
        if code == "flood":
            for _ in range(100):
                await response.write(json.dumps({"type": "stdout", "text": "x" * 1000}).encode() + b"\n")
        if code == "one endless line":
            for _ in range(500):
                await response.write(b"x" * 65536)
        if code.startswith("["):
            for line in json.loads(code):
                await response.write(json.dumps(line).encode() + b"\n")
        if code == "count":
            line = {"type": "result", "text": str(self.live[name]), "is_main_result": True}
            await response.write(json.dumps(line).encode())
        return response


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    service = Service()
    runner = web.AppRunner(service.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield service
    await runner.cleanup()


@pytest.fixture
async def e2b(service: Service) -> AsyncIterator[E2B]:
    backend = E2B(KEY, service.url, service.url, Limits(wall=slowed(0.3), grace=slowed(0.2), output=10 * KIB))
    yield backend
    await backend.close()


async def test_a_cell_brings_back_text_value_images_and_error(e2b: E2B) -> None:
    lines = [
        {"type": "stdout", "text": "printed\n", "timestamp": 1},
        {"type": "stderr", "text": "warned\n", "timestamp": 2},
        {"type": "result", "png": base64.b64encode(PNG).decode(), "text": "<Figure>"},
        {"type": "result", "text": "shown"},
        {"type": "result", "text": "42", "is_main_result": True},
        {"type": "error", "name": "ValueError", "value": "bad", "traceback": "Traceback\nValueError: bad"},
        {"type": "number_of_executions", "execution_count": 1},
        {"type": "something new"},
    ]

    cell = await e2b.run("chat", json.dumps(lines), LATE)

    assert (cell.output, cell.value) == ("printed\nwarned\nshown\n", "42")
    assert cell.error == "Traceback\nValueError: bad"
    assert [(file.name, file.media_type, file.content) for file in cell.files] == [("figure.png", "image/png", PNG)]


async def test_each_chat_has_its_own_sandbox_without_internet(e2b: E2B, service: Service) -> None:
    first = await e2b.run("one", "count", LATE)
    second = await e2b.run("one", "count", LATE)
    other = await e2b.run("two", "count", LATE)

    assert (first.value, second.value, other.value) == ("1", "2", "1")
    assert [made["allow_internet_access"] for made in service.made] == [False, False]


async def test_an_expired_sandbox_is_replaced_and_it_is_said(e2b: E2B, service: Service) -> None:
    await e2b.run("chat", "count", LATE)
    service.live.clear()

    cell = await e2b.run("chat", "count", LATE)

    assert cell.value == "1"
    assert "the sandbox had expired" in cell.notes[0]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("hang", "ran longer"),
        ("broken", "broke off"),
        ("flood", "printed more"),
        ("one endless line", "printed more"),
        ("[[1]]", "broke off"),
    ],
)
async def test_a_cell_that_goes_wrong_ends_its_sandbox(e2b: E2B, service: Service, code: str, said: str) -> None:
    cell = await e2b.run("chat", code, LATE)

    assert cell.lost
    assert said in cell.error
    assert service.live == {}
    assert (await e2b.run("chat", "count", LATE)).value == "1"


async def test_closing_ends_every_sandbox(e2b: E2B, service: Service) -> None:
    await e2b.run("one", "count", LATE)
    await e2b.run("two", "count", LATE)

    await e2b.close()

    assert service.live == {}


async def test_a_wrong_key_and_a_silent_service_are_named(service: Service) -> None:
    wrong = E2B("e2b_wrong", service.url, service.url)
    silent = E2B(KEY, "http://127.0.0.1:9", "")
    try:
        with pytest.raises(SandboxFailed, match="refused the key"):
            await wrong.check()
        with pytest.raises(SandboxFailed, match="could not be reached"):
            await silent.check()
    finally:
        await wrong.close()
        await silent.close()


async def test_a_sandbox_is_paid_for_until_it_has_been_idle_for_long(service: Service) -> None:
    now = 1_000.0
    backend = E2B(KEY, service.url, service.url, Limits(wall=slowed(0.3), grace=slowed(0.2)), now=lambda: now)
    spent = backend.limits.wall + backend.limits.grace
    before = backend.paid_seconds("chat", 10.0)
    first = await backend.run("chat", "count", LATE)
    now += 100.0
    again = backend.paid_seconds("chat", 10.0)
    second = await backend.run("chat", "count", LATE)
    now += 50.0
    broken = await backend.run("chat", "broken", LATE)
    now += 1_000.0
    late = await backend.run("chat", "count", LATE)
    await backend.close()

    assert [before, again] == [pytest.approx(IDLE_SECONDS + spent), pytest.approx(100.0 + spent)]
    assert (first.paid_seconds, second.paid_seconds) == (IDLE_SECONDS, 100.0)
    # It was paid for already, and a new one begins after the old one is over.
    assert (broken.paid_seconds, late.paid_seconds) == (0.0, IDLE_SECONDS)
