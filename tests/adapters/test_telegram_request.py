"""Requests to the Bot API over aiohttp: encodings, waits, proxies, and errors that say whether anything was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from telegram import Bot, LinkPreviewOptions
from telegram.error import NetworkError, TimedOut

from adapters.telegram_request import NOT_SENT, AiohttpRequest
from playground.faults import Fault
from playground.telegram import TelegramServer


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as one:
        one.person(7, "Ada")
        yield one


def bot_of(server: TelegramServer, **settings: Any) -> Bot:
    values: dict[str, Any] = {"connections": 2, "read_timeout": 30.0} | settings
    return Bot(
        server.token,
        base_url=f"{server.base_url}/bot",
        base_file_url=f"{server.base_url}/file/bot",
        request=AiohttpRequest(**values),
        get_updates_request=AiohttpRequest(**values),
    )


async def test_nested_values_and_any_text_arrive_as_they_are(server: TelegramServer) -> None:
    async with bot_of(server) as bot:
        text = "50% & 1+1=2; „中文“ 🎲\n\tend"
        await bot.send_message(7, text, link_preview_options=LinkPreviewOptions(is_disabled=True))

    call = next(call for call in server.calls if call.method == "sendMessage")
    assert call.parameters["text"] == text
    assert call.parameters["link_preview_options"] in ({"is_disabled": True}, '{"is_disabled": true}')


NAME = '图 "1" 50%.bin'


async def test_a_file_arrives_whole_beside_its_values(server: TelegramServer) -> None:
    content = bytes(range(256)) * 300

    async with bot_of(server) as bot:
        sent = await bot.send_document(7, content, filename=NAME, caption="50% & more")
        assert sent.document is not None and sent.document.file_name == NAME
        assert sent.caption == "50% & more"
        fetched = await (await bot.get_file(sent.document.file_id)).download_as_bytearray()

    assert bytes(fetched) == content


async def test_an_answer_that_does_not_come_is_a_timeout_after_sending(server: TelegramServer) -> None:
    gate = asyncio.Event()
    async with bot_of(server, read_timeout=0.2) as bot:
        held = server.faults.add("sendMessage", Fault(hold=gate))
        with pytest.raises(TimedOut) as caught:
            await bot.send_message(7, "hello")
        assert held.reached.is_set()
        gate.set()

    assert not isinstance(caught.value.__cause__, NOT_SENT)


async def test_a_call_that_gets_no_connection_was_not_sent(server: TelegramServer) -> None:
    gate = asyncio.Event()
    async with bot_of(server, connections=1) as bot:
        held = server.faults.add("sendMessage", Fault(hold=gate))
        first = asyncio.create_task(bot.send_message(7, "first"))
        await held.reached.wait()
        with pytest.raises(TimedOut) as caught:
            await bot.send_message(7, "second", pool_timeout=0.05, connect_timeout=0.05)
        gate.set()
        await first

    assert isinstance(caught.value.__cause__, NOT_SENT)
    assert [message.text for message in server.screen.of("7")] == ["first"]


async def test_nobody_there_is_a_failure_before_sending_and_names_no_token() -> None:
    token = "123456:ABC-not-to-be-seen"
    requests = AiohttpRequest(connections=1, read_timeout=5.0)
    await requests.initialize()
    try:
        for address in (f"http://127.0.0.1:1/bot{token}/getMe", f"http:///bot{token}/getMe"):
            with pytest.raises(NetworkError) as caught:
                await requests.post(address)
            assert isinstance(caught.value.__cause__, NOT_SENT)
            assert token not in str(caught.value)
    finally:
        await requests.shutdown()


async def test_a_connection_that_breaks_after_the_request_may_have_sent_it(server: TelegramServer) -> None:
    async with bot_of(server) as bot:
        server.faults.add("sendMessage", Fault(drop="after"))
        with pytest.raises(NetworkError) as caught:
            await bot.send_message(7, "hello")

    assert not isinstance(caught.value.__cause__, NOT_SENT)
    assert len(server.screen.of("7")) == 1


async def test_the_proxy_that_the_environment_names_is_used_but_for_its_exceptions(
    server: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.raw_path)
        return web.json_response({"ok": True, "result": True})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        requests = AiohttpRequest(connections=1, read_timeout=5.0)
        await requests.initialize()
        try:
            assert await requests.post("http://telegram.invalid/bot1:A/getMe") is True
            assert asked == ["http://telegram.invalid/bot1:A/getMe"]
            with pytest.raises(NetworkError):
                await requests.post("http://127.0.0.1:1/bot1:A/getMe")
            assert len(asked) == 1
        finally:
            await requests.shutdown()
    finally:
        await runner.cleanup()


async def test_after_the_end_nothing_is_sent() -> None:
    requests = AiohttpRequest(connections=1, read_timeout=5.0)
    await requests.initialize()
    await requests.shutdown()
    await requests.shutdown()

    with pytest.raises(NetworkError, match="shut down"):
        await requests.post("http://127.0.0.1:1/bot1:A/getMe")
