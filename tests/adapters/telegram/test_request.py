"""Requests to the Bot API over aiohttp: encodings, waits, proxies, and errors that say whether anything was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from telegram import Bot, LinkPreviewOptions
from telegram.error import NetworkError, RetryAfter, TimedOut

from adapters.telegram.request import NOT_SENT, AiohttpRequest
from bot.contract.clock import Clock, SystemClock
from bot.contract.errors import SettingsError, bound_pause
from playground.faults import Fault
from playground.telegram import TelegramServer
from tests.conftest import FakeClock

pytestmark = pytest.mark.usefixtures("no_proxy_of_this_machine")

NOBODY = "http://127.0.0.1:1"


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
        request=AiohttpRequest(server.base_url, SystemClock(), **values),
        get_updates_request=AiohttpRequest(server.base_url, SystemClock(), **values),
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
    requests = AiohttpRequest(NOBODY, SystemClock(), connections=1, read_timeout=5.0)
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


@asynccontextmanager
async def answering(answer: Callable[[web.Request], web.StreamResponse]) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that answers everything so; its port, and what it was asked."""
    asked: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append(f"{request.method} {request.raw_path}")
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1], asked
    finally:
        await runner.cleanup()


@asynccontextmanager
async def opened(root: str, clock: Clock | None = None, **settings: Any) -> AsyncIterator[AiohttpRequest]:
    requests = AiohttpRequest(root, clock or SystemClock(), **({"connections": 1, "read_timeout": 5.0} | settings))
    await requests.initialize()
    try:
        yield requests
    finally:
        await requests.shutdown()


def fine(_: web.Request) -> web.StreamResponse:
    return web.json_response({"ok": True, "result": True})


@pytest.mark.parametrize("written", ["http://127.0.0.1:{}", "127.0.0.1:{}"])
async def test_the_proxy_that_the_environment_names_is_used_but_for_its_exceptions(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(fine) as (port, asked):
        monkeypatch.setenv("http_proxy", written.format(port))
        monkeypatch.setenv("no_proxy", "telegram.test")
        async with opened("http://telegram.invalid") as requests:
            assert await requests.post("http://telegram.invalid/bot1:A/getMe") is True
        assert asked == ["POST http://telegram.invalid/bot1:A/getMe"]
        for root in (NOBODY, "http://telegram.test:1"):
            async with opened(root) as requests:
                with pytest.raises(NetworkError):
                    await requests.post(f"{root}/bot1:A/getMe")
        assert len(asked) == 1, "this machine and the exceptions are reached without it"


async def test_a_proxy_that_is_not_spoken_to_is_named_and_its_secret_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://me:secret@127.0.0.1:1080")

    with pytest.raises(SettingsError, match="socks5 proxy") as caught:
        async with opened("https://api.telegram.org"):
            pass

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nothing_is_sent_where_a_redirect_leads(status: int) -> None:
    """What redirects is not Telegram; after a 303 an empty request would follow, whose answer says that it was sent."""
    async with answering(fine) as (elsewhere, asked_there):
        to = f"http://127.0.0.1:{elsewhere}/bot1:A/getMe"
        away = web.Response(status=status, headers={"Location": to})
        async with answering(lambda _: away) as (port, asked), opened(f"http://127.0.0.1:{port}") as requests:
            with pytest.raises(NetworkError) as caught:
                await requests.post(f"http://127.0.0.1:{port}/bot1:A/sendMessage")

    assert len(asked) == 1 and not asked_there
    assert not isinstance(caught.value.__cause__, NOT_SENT)


async def test_a_name_that_nobody_resolves_in_time_was_not_sent(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def never(*_: object, **__: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with opened("http://telegram.invalid", clock) as requests:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
        sending = asyncio.create_task(requests.post("http://telegram.invalid/bot1:A/sendMessage"))
        await asked.wait()
        await clock.advance(5.0)
        with pytest.raises(NetworkError) as caught:
            await sending

    assert isinstance(caught.value.__cause__, NOT_SENT)


async def test_who_waits_for_a_connection_when_all_are_closed_is_told_and_not_cancelled(
    server: TelegramServer,
) -> None:
    gate = asyncio.Event()
    held = server.faults.add("sendMessage", Fault(hold=gate))
    bot = bot_of(server, connections=1)
    await bot.initialize()
    first = asyncio.create_task(bot.send_message(7, "first"))
    await held.reached.wait()
    second = asyncio.create_task(bot.send_message(7, "second"))
    assert isinstance(bot.request, AiohttpRequest) and bot.request._session is not None
    connector = bot.request._session.connector
    assert connector is not None
    while not connector._waiters:
        await asyncio.sleep(0)

    await bot.shutdown()
    gate.set()
    answers = await asyncio.gather(first, second, return_exceptions=True)

    assert [type(answer) for answer in answers] == [NetworkError, NetworkError]
    assert isinstance(answers[1].__cause__, NOT_SENT)  # type: ignore[union-attr]


async def test_a_call_that_is_cancelled_is_cancelled(server: TelegramServer) -> None:
    gate = asyncio.Event()
    async with bot_of(server) as bot:
        held = server.faults.add("sendMessage", Fault(hold=gate))
        sending = asyncio.create_task(bot.send_message(7, "hello"))
        await held.reached.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        gate.set()


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ('{"ok": false, "parameters": {"retry_after": 7}}', 7),
        ('{"ok": false, "parameters": {"retry_after": "soon"}}', 1),
        ('{"ok": false, "parameters": 3}', 1),
        ("[]", 1),
        ("<html>", 1),
    ],
)
async def test_a_refusal_names_a_pause_whatever_telegram_says_in_it(
    said: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")  # as the adapter sets it
    async with answering(lambda _: web.Response(status=429, text=said)) as (port, _), opened(NOBODY) as requests:
        with pytest.raises(RetryAfter) as caught:
            await requests.post(f"http://127.0.0.1:{port}/bot1:A/getMe")

    assert bound_pause(caught.value.retry_after) == seconds


async def test_after_the_end_nothing_is_sent() -> None:
    requests = AiohttpRequest(NOBODY, SystemClock(), connections=1, read_timeout=5.0)
    await requests.initialize()
    await requests.shutdown()
    await requests.shutdown()

    with pytest.raises(NetworkError, match="shut down"):
        await requests.post("http://127.0.0.1:1/bot1:A/getMe")
