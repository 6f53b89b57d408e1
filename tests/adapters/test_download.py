"""A file is fetched piece by piece, and from nobody who is not asked."""

from __future__ import annotations

import io

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.download import DOWNLOAD_SECONDS, download, is_of
from adapters.telegram.request import AiohttpRequest
from bot.contract.errors import DeliveryError
from tests.conftest import FakeClock


@pytest.mark.parametrize(
    ("address", "ours"),
    [
        ("https://files.slack.com/x", True),
        ("https://slack.com/x", True),
        ("http://127.0.0.1:80/x", True),
        ("http://127.0.0.1:81/x", False),
        ("http://files.slack.com/x", False),
        ("https://slack.com.evil.example/x", False),
        ("https://evilslack.com/x", False),
        ("https://user@evil.example/slack.com", False),
        ("https://slack.com@evil.example/", False),
        ("https://files.slack.com\\@evil.example/", False),
        ("https://[", False),
        ("https://slack.com:x/", False),
        ("", False),
    ],
)
def test_an_address_is_of_a_domain_and_of_no_other(address: str, ours: bool) -> None:
    assert is_of(address, "http://127.0.0.1:80/api/", "slack.com") == ours


async def test_a_redirection_is_not_followed_and_a_server_that_says_nothing_is_left(clock: FakeClock) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == "/slow":
            await clock.advance(DOWNLOAD_SECONDS + 1)
        raise web.HTTPFound("/elsewhere")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as http:
        for path, said in (("/there", "status 302"), ("/slow", "TimeoutError")):
            with pytest.raises(DeliveryError, match=said):
                await download(http, str(server.make_url(path)), io.BytesIO(), 100, clock=clock)

    assert asked == ["/there", "/slow"]


async def test_where_the_pool_is_closed_nothing_is_fetched(clock: FakeClock) -> None:
    pool = AiohttpRequest("https://api.telegram.org", clock, connections=1, read_timeout=1.0)

    with pytest.raises(DeliveryError, match="shut down"):
        await pool.download("https://api.telegram.org/file", io.BytesIO(), 100)
