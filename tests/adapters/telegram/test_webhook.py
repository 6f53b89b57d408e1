"""Updates that Telegram posts, through the real library, the real public address and the emulated service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from telegram import Bot
from telegram.error import Conflict

from adapters.settings import TelegramSettings
from adapters.telegram import webhook
from adapters.telegram.adapter import TelegramAdapter, check
from adapters.telegram.compat import UPDATES
from adapters.telegram.webhook import secret_of
from bot.contract import Contested, SettingsError, Unreachable
from playground.faults import Fault
from playground.telegram import TelegramServer
from tests.adapters.telegram.conftest import Inbox
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.web import HOSTILE, Web, serving

ADA = 7
HEADER = "X-Telegram-Bot-Api-Secret-Token"


async def until(seen: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.001)


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(limits=False, webhook_retry_seconds=0.001) as running:
        running.person(ADA, "Ada", username="ada", language_code="en")
        yield running


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as web:
        yield web


def settings_of(server: TelegramServer, address: str) -> TelegramSettings:
    return TelegramSettings.model_validate(
        {
            "telegram_bot_token": server.token,
            "telegram_api_base_url": server.base_url,
            "telegram_webhook_url": address and f"{address}/telegram",
        }
    )


@pytest.fixture
async def adapter(server: TelegramServer, web: Web, clock: FakeClock) -> AsyncIterator[TelegramAdapter]:
    async with TelegramAdapter(settings_of(server, web.address), clock) as entered:
        web.entrance = lambda platform: entered.entrance if platform == "telegram" else None
        yield entered


@asynccontextmanager
async def listening(adapter: TelegramAdapter, inbox: Inbox) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(adapter.listen(inbox))
    await until(lambda: adapter.listening or task.done())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _has_looked(server: TelegramServer, often: int) -> bool:
    return len(server.calls_of("getWebhookInfo")) >= often


def post(server: TelegramServer, update_id: int, secret: str | None = None) -> tuple[list[tuple[str, bytes]], bytes]:
    """An update as the service posts it."""
    body = json.dumps(server.world.updates.all[update_id]).encode()
    return [(HEADER, (secret or secret_of(server.token)).encode())], body


async def test_what_is_posted_is_stored_and_only_then_confirmed(
    server: TelegramServer, web: Web, adapter: TelegramAdapter
) -> None:
    inbox = Inbox(refusals=3)
    async with listening(adapter, inbox):
        id = server.say(ADA, "hello", person=ADA)
        await inbox.until(1)
        await until(lambda: id not in server.world.updates.waiting)

    assert (inbox.texts, inbox.tries, web.answered("telegram", 503)) == (["hello"], 4, 3)
    assert server.calls_of("getUpdates") == []


async def test_the_same_kinds_of_updates_are_asked_for_and_none_that_waits_is_dropped(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    server.say(ADA, "before", person=ADA)
    inbox = Inbox()
    async with listening(adapter, inbox):
        await inbox.until(1)

    [call] = server.calls_of("setWebhook")
    assert server.world.updates.allowed == UPDATES
    assert call.parameters["drop_pending_updates"] in (False, "false")
    assert inbox.texts == ["before"]


async def test_the_secret_is_the_same_after_each_start_and_tells_nothing_of_the_token(server: TelegramServer) -> None:
    secret = secret_of(server.token)

    assert secret == secret_of(server.token) != secret_of(server.token + "x")
    assert 32 <= len(secret) <= 256 and secret.isalnum() and secret.isascii()
    assert not any(part in secret for part in server.token.split(":"))


@pytest.mark.parametrize("value", [None, b"wrong", *HOSTILE], ids=lambda value: str(value)[:12])
async def test_without_the_secret_nothing_is_parsed(
    server: TelegramServer, web: Web, adapter: TelegramAdapter, value: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr(webhook, "read_json", parsed.append)
    inbox = Inbox()
    async with listening(adapter, inbox):
        statuses = [
            await web.post("telegram", [] if value is None else [(HEADER, value)], body)
            for body in (b"{}", b'{"update_id": 1}', b"[" * 100_000)
        ]

    assert set(statuses) <= {400, 401}
    assert (parsed, inbox.tries) == ([], 0)


async def test_a_secret_that_is_one_sign_longer_or_shorter_is_wrong(
    server: TelegramServer, web: Web, adapter: TelegramAdapter
) -> None:
    inbox, secret = Inbox(), secret_of(server.token)
    async with listening(adapter, inbox):
        id = server.say(ADA, "hello", person=ADA)
        await inbox.until(1)
        for wrong in (secret[:-1], secret + "0", secret.upper(), f"{secret[:-1]}é"):
            assert await web.post("telegram", *post(server, id, wrong)) == 401
        assert await web.post("telegram", *post(server, id)) == 200

    assert inbox.texts == ["hello", "hello"], "the core knows the second by its delivery"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"update_id": "7"}', b"\xff", b"[" * 100_000, b'{"update_id": 8, "message": 3}']
)
async def test_what_cannot_be_read_is_left_out_alone_and_does_not_come_again(
    server: TelegramServer, web: Web, adapter: TelegramAdapter, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    async with listening(adapter, inbox):
        assert await web.post("telegram", [(HEADER, secret_of(server.token).encode())], body) == 200
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)

    assert inbox.texts == ["hello"]
    assert "left out" in caplog.text


async def test_what_is_written_while_nobody_listens_is_posted_later(
    server: TelegramServer, web: Web, adapter: TelegramAdapter
) -> None:
    inbox = Inbox()
    async with listening(adapter, inbox):
        assert await adapter._bot.get_webhook_info()
    server.say(ADA, "meanwhile", person=ADA)
    await until(lambda: web.answered("telegram", 503) > 2)

    assert server.world.updates.webhook["url"] == f"{web.address}/telegram"
    async with listening(adapter, inbox):
        await inbox.until(1)
    assert set(inbox.texts) == {"meanwhile"}, "a post that was under way is made again; the core knows it"


async def test_polling_again_takes_the_webhook_away(
    server: TelegramServer, adapter: TelegramAdapter, clock: FakeClock
) -> None:
    inbox = Inbox()
    async with listening(adapter, inbox):
        with pytest.raises(Conflict):
            await adapter._bot.get_updates()

    async with TelegramAdapter(settings_of(server, ""), clock) as polling, listening(polling, inbox):
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)

    assert server.world.updates.webhook == {}


async def test_an_address_that_telegram_refuses_is_told_and_tried_again(
    server: TelegramServer, clock: FakeClock
) -> None:
    async with TelegramAdapter(settings_of(server, "http://bot.example"), clock) as adapter:
        with pytest.raises(Unreachable, match=r"Telegram refuses http://bot.example/telegram \(.*https url"):
            await adapter.listen(Inbox())

        assert (adapter.listening, adapter.entrance) == (False, None)


async def test_a_pause_before_the_webhook_is_set_is_kept(
    server: TelegramServer, adapter: TelegramAdapter, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults.add("setWebhook", Fault(status=429, retry_after=5))
    task = asyncio.create_task(adapter.listen(Inbox()))
    await until(lambda: "nothing is received for 5 s" in caplog.text)
    deaf = not adapter.listening
    await clock.sleeper()
    await clock.advance(5)
    await until(lambda: adapter.listening)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert deaf


@pytest.mark.parametrize(
    ("method", "fault", "error"),
    [
        ("setWebhook", Fault(status=401), SettingsError),
        ("setWebhook", Fault(status=502), Unreachable),
        ("getWebhookInfo", Fault(status=401), SettingsError),
    ],
)
async def test_a_server_in_trouble_and_a_revoked_token_are_told_apart(
    server: TelegramServer,
    adapter: TelegramAdapter,
    clock: FakeClock,
    method: str,
    fault: Fault,
    error: type[Exception],
) -> None:
    server.faults.add(method, fault)
    task = asyncio.create_task(adapter.listen(Inbox()))
    async with asyncio.timeout(PATIENCE):
        while not task.done():
            await clock.advance(61)
            await asyncio.sleep(0.001)

    with pytest.raises(error):
        await task


async def test_a_look_that_fails_ends_nothing(
    server: TelegramServer, adapter: TelegramAdapter, clock: FakeClock
) -> None:
    server.faults.add("getWebhookInfo", Fault(status=502))
    inbox = Inbox()
    async with listening(adapter, inbox):
        await clock.advance(61)
        await until(lambda: server.calls_of("getWebhookInfo"))
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)

        assert adapter.listening


async def test_a_webhook_that_another_program_takes_is_named_and_taken_back(
    server: TelegramServer, web: Web, adapter: TelegramAdapter, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    async with listening(adapter, inbox) as task:
        async with Bot(server.token, base_url=f"{server.base_url}/bot") as other:
            await other.set_webhook("https://thief.example/hook")
        async with asyncio.timeout(PATIENCE):
            while not task.done():
                await clock.advance(61)
                await asyncio.sleep(0.001)
        with pytest.raises(Contested):
            await task
    async with listening(adapter, inbox):
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)

    assert adapter.conflicts == 1
    assert "another program has taken the webhook away" in caplog.text
    assert server.token not in caplog.text and secret_of(server.token) not in caplog.text


async def test_it_hears_nothing_while_telegram_cannot_post_and_says_why(
    server: TelegramServer, web: Web, adapter: TelegramAdapter, clock: FakeClock
) -> None:
    inbox = Inbox()
    async with listening(adapter, inbox) as task:
        server.world.updates.webhook |= {
            "last_error_date": int(clock.wall()) + 30,
            "last_error_message": "SSL error {certificate verify failed}",
        }
        await clock.sleeper()
        await clock.advance(10)
        await until(partial(_has_looked, server, 1))
        assert not task.done() and adapter.listening  # nothing waits there: it has posted again since

        await server.world.updates._stop_delivery()
        server.say(ADA, "hello", person=ADA)
        await clock.sleeper()
        await clock.advance(10)
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Unreachable, match=r"cannot post to .*/telegram \(SSL error .certificate verify failed"):
                await task

    assert not adapter.listening
    async with listening(adapter, inbox):
        await inbox.until(1)


async def test_it_hears_again_once_nothing_waits_at_telegram(
    server: TelegramServer, web: Web, adapter: TelegramAdapter, clock: FakeClock
) -> None:
    adapter._silent = True
    task = asyncio.create_task(adapter.listen(Inbox()))
    await clock.sleeper()
    assert not adapter.listening

    await clock.advance(3)
    await until(lambda: adapter.listening)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_check_says_how_updates_come_in(server: TelegramServer, web: Web) -> None:
    async def receiving(address: str) -> tuple[bool, str]:
        found = (await check(settings_of(server, address)))[-1]
        return found.well, found.text

    first = await receiving(web.address)
    async with Bot(server.token, base_url=f"{server.base_url}/bot") as bot:
        await bot.set_webhook(f"{web.address}/telegram", secret_token=secret_of(server.token))
    well = await receiving(web.address)
    server.world.updates.webhook |= {"last_error_date": 1, "last_error_message": "Connection refused"}
    server.world.updates.waiting[1] = {"update_id": 1}
    failing, polling = await receiving(web.address), await receiving("")

    url = f"{web.address}/telegram"
    assert first == (True, f"receives by web, at {url}: its webhook is set when the bot starts")
    assert well == (True, f"receives by web, at {url}")
    assert failing == (
        False,
        f"receives by web, at {url}, but Telegram could not post there: Connection refused; 1 wait there",
    )
    assert polling == (
        True,
        "receives by polling: TELEGRAM_WEBHOOK_URL is not set; a webhook is set, and removed when the bot starts",
    )
