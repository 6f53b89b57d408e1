from __future__ import annotations

import asyncio

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from playground.faults import Fault
from playground.slack import SlackServer


@pytest.fixture
def once(server: SlackServer) -> AsyncWebClient:
    """A client that does not try again by itself."""
    return AsyncWebClient(token=server.bot_token, base_url=server.base_url, retry_handlers=[])


async def test_a_dropped_call_is_done_or_not_as_asked(server: SlackServer, once: AsyncWebClient) -> None:
    server.faults.add("chat.postMessage", Fault(drop="before"))
    with pytest.raises(aiohttp.ClientError):
        await once.chat_postMessage(channel="C1", text="lost")
    assert server.screen.of("C1") == []

    server.faults.add("chat.postMessage", Fault(drop="after"))
    with pytest.raises(aiohttp.ClientError):
        await once.chat_postMessage(channel="C1", text="kept")
    assert [shown.text for shown in server.screen.of("C1")] == ["kept"]
    assert [call.status for call in server.calls] == [0, 0]


async def test_a_named_429_is_answered_and_counted(server: SlackServer, once: AsyncWebClient) -> None:
    server.faults.add("chat.update", Fault(status=429, retry_after=7))

    with pytest.raises(SlackApiError) as caught:
        await once.chat_update(channel="C1", ts="1.000001", text="x")

    assert caught.value.response.headers["Retry-After"] == "7"
    assert server.refusals == 1


async def test_a_failing_server_answers_with_a_page(server: SlackServer, once: AsyncWebClient) -> None:
    server.faults.add("*", Fault(status=503))

    with pytest.raises(SlackApiError) as caught:
        await once.chat_postMessage(channel="C1", text="x")

    assert "503" in str(caught.value) or caught.value.response.status_code == 503
    assert server.screen.of("C1") == []


async def test_a_held_call_is_done_when_released_even_if_the_caller_has_gone(
    server: SlackServer, once: AsyncWebClient
) -> None:
    hold = asyncio.Event()
    fault = server.faults.add("chat.postMessage", Fault(hold=hold))
    call = asyncio.create_task(once.chat_postMessage(channel="C1", text="late"))
    await fault.reached.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert server.screen.of("C1") == []

    hold.set()

    await server.screen.until(lambda screen: [m.text for m in screen.of("C1")] == ["late"])


async def test_an_answer_can_be_held_after_the_deed(server: SlackServer, once: AsyncWebClient) -> None:
    hold = asyncio.Event()
    server.faults.add("chat.postMessage", Fault(hold_after=hold))
    call = asyncio.create_task(once.chat_postMessage(channel="C1", text="done"))
    await server.screen.until(lambda screen: screen.of("C1"))
    assert not call.done()

    hold.set()

    assert (await call)["ok"]
