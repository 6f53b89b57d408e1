"""Envelopes on raw sockets: acknowledgement, retries, several connections, disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import Limits, SlackServer
from tests.conftest import RawObject
from tests.patience import PATIENCE
from tests.playground.slack.conftest import Clock

Socket = aiohttp.ClientWebSocketResponse
Connect = Callable[[], Awaitable[Socket]]


@pytest.fixture
async def connect(server: SlackServer, client: AsyncWebClient, http: aiohttp.ClientSession) -> AsyncIterator[Connect]:
    """Open one more socket, greeted."""
    async with AsyncExitStack() as stack:

        async def open_one() -> Socket:
            url = (await client.apps_connections_open(app_token=server.app_token))["url"]
            socket = await stack.enter_async_context(http.ws_connect(url, autoping=False))
            assert (await socket.receive_json(timeout=PATIENCE))["type"] == "hello"
            return socket

        yield open_one


async def ack(server: SlackServer, socket: Socket, envelope: RawObject) -> None:
    await socket.send_json({"envelope_id": envelope["envelope_id"]})
    await asyncio.wait_for(server.deliveries[-1].acked.wait(), PATIENCE)


async def test_an_acknowledged_envelope_does_not_come_again(
    server: SlackServer, connect: Connect, clock: Clock
) -> None:
    socket = await connect()
    server.say(server.direct(), "hi")
    envelope = await socket.receive_json(timeout=PATIENCE)
    await ack(server, socket, envelope)

    clock.pass_(1_000)
    server.tick()

    assert (envelope["type"], envelope["retry_attempt"]) == ("events_api", 0)
    assert len(server.deliveries[0].sent) == 1


async def test_an_unacknowledged_envelope_comes_again_at_once_after_a_minute_and_after_five(
    server: SlackServer, connect: Connect, clock: Clock
) -> None:
    socket = await connect()
    server.say(server.direct(), "hi")
    seen = [await socket.receive_json(timeout=PATIENCE)]
    for wait in (3, 3 + 60, 3 + 300):
        clock.pass_(2.9)
        server.tick()
        clock.pass_(0.1)
        server.tick()
        clock.pass_(wait - 3)
        server.tick()
        seen.append(await socket.receive_json(timeout=PATIENCE))
    clock.pass_(3)
    server.tick()

    assert [envelope["retry_attempt"] for envelope in seen] == [0, 1, 2, 3]
    assert {envelope["retry_reason"] for envelope in seen[1:]} == {"timeout"}
    assert len({envelope["envelope_id"] for envelope in seen}) == 4
    assert len({envelope["payload"]["event_id"] for envelope in seen}) == 1
    assert server.deliveries[0].given_up


async def test_an_event_can_be_sent_again_on_demand(server: SlackServer, connect: Connect) -> None:
    socket = await connect()
    server.say(server.direct(), "hi")
    first = await socket.receive_json(timeout=PATIENCE)
    await ack(server, socket, first)

    server.redeliver(first["payload"]["event_id"])

    again = await socket.receive_json(timeout=PATIENCE)
    assert again["payload"] == first["payload"]
    assert (again["retry_attempt"], again["retry_reason"]) == (1, "timeout")
    with pytest.raises(KeyError):
        server.redeliver("Ev404")


async def test_each_event_goes_to_one_of_several_connections(server: SlackServer, connect: Connect) -> None:
    one, two = await connect(), await connect()
    for index in range(4):
        server.say(server.direct(), f"{index}")

    first = [(await one.receive_json(timeout=PATIENCE))["payload"]["event"]["text"] for _ in range(2)]
    second = [(await two.receive_json(timeout=PATIENCE))["payload"]["event"]["text"] for _ in range(2)]

    assert sorted(first + second) == ["0", "1", "2", "3"]


async def test_an_event_nobody_is_connected_for_waits_for_its_retry(
    server: SlackServer, connect: Connect, clock: Clock
) -> None:
    server.say(server.direct(), "hi")
    await server.until_delivery(lambda deliveries: deliveries[0].retry == 1 and deliveries[0].next_at)
    socket = await connect()
    clock.pass_(60)
    server.tick()

    envelope = await socket.receive_json(timeout=PATIENCE)

    assert (envelope["retry_attempt"], envelope["retry_reason"]) == (2, "connection_failed")


async def test_a_command_is_not_retried_the_person_sees_it_fail(
    server: SlackServer, connect: Connect, clock: Clock
) -> None:
    server.command("/parley", "x", "C1")
    await server.until_delivery(lambda deliveries: deliveries[0].given_up)
    socket = await connect()
    server.command("/parley", "x", "C1")
    envelope = await socket.receive_json(timeout=PATIENCE)
    assert envelope["accepts_response_payload"]
    clock.pass_(3)
    server.tick()
    await socket.send_json({"envelope_id": envelope["envelope_id"], "payload": {"text": "too late"}})
    await asyncio.wait_for(server.deliveries[-1].acked.wait(), PATIENCE)

    assert [what for _, _, what in server.screen.notices] == [
        '/parley failed with the error "dispatch_failed"',
        '/parley failed with the error "operation_timeout"',
    ]
    assert server.screen.of("C1") == []


async def test_an_address_for_a_connection_works_once(
    server: SlackServer, client: AsyncWebClient, http: aiohttp.ClientSession
) -> None:
    url = (await client.apps_connections_open(app_token=server.app_token))["url"]
    async with http.ws_connect(url):
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await http.ws_connect(url)


async def test_more_connections_than_allowed_are_sent_away(clock: Clock, http: aiohttp.ClientSession) -> None:
    async with SlackServer(now=clock, limits=Limits(connections=1)) as server:
        client = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
        urls = [(await client.apps_connections_open(app_token=server.app_token))["url"] for _ in range(2)]
        async with http.ws_connect(urls[0]) as one:
            await one.receive_json(timeout=PATIENCE)
            async with http.ws_connect(urls[1]) as two:
                assert (await two.receive_json(timeout=PATIENCE))["reason"] == "too_many_websockets"


async def test_a_retiring_connection_gets_no_more_envelopes_but_may_acknowledge(
    server: SlackServer, connect: Connect
) -> None:
    old = await connect()
    server.say(server.direct(), "first")
    envelope = await old.receive_json(timeout=PATIENCE)
    new = await connect()

    await server.sockets.disconnect("refresh_requested", number=1)
    server.say(server.direct(), "second")

    assert (await old.receive_json(timeout=PATIENCE))["reason"] == "refresh_requested"
    assert (await new.receive_json(timeout=PATIENCE))["payload"]["event"]["text"] == "second"
    await old.send_json({"envelope_id": envelope["envelope_id"]})
    await asyncio.wait_for(server.deliveries[0].acked.wait(), PATIENCE)


async def test_pings_are_answered_and_sent(server: SlackServer, connect: Connect) -> None:
    socket = await connect()
    await socket.ping(b"sdk")
    answer = await socket.receive(timeout=PATIENCE)
    await server.sockets.ping()
    asked = await socket.receive(timeout=PATIENCE)

    assert (answer.type, bytes(answer.data)) == (aiohttp.WSMsgType.PONG, b"sdk")
    assert asked.type is aiohttp.WSMsgType.PING


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_bolt_replaces_its_connection_when_asked(server: SlackServer, bolt: AsyncApp, reason: str) -> None:
    heard = asyncio.Event()

    @bolt.event("message")
    async def on_message(event: RawObject) -> None:
        heard.set()

    await server.sockets.disconnect(reason)
    await server.sockets.until_connected(since=2)
    server.say(server.direct(), "still there?")

    await asyncio.wait_for(heard.wait(), PATIENCE)
    assert server.sockets.received[-1][0] == 2


async def test_bolt_sees_the_retry_headers_and_a_failed_middleware_brings_the_event_again(
    server: SlackServer, client: AsyncWebClient, clock: Clock
) -> None:
    app = AsyncApp(client=client, signing_secret=server.signing_secret, raise_error_for_unhandled_request=False)
    tries: list[Any] = []
    first, done = asyncio.Event(), asyncio.Event()

    @app.middleware
    async def store(req: Any, next: Any) -> None:
        tries.append((req.headers.get("x-slack-retry-num"), req.headers.get("x-slack-retry-reason")))
        if len(tries) == 1:
            first.set()
            raise RuntimeError("the disk is full")
        await next()

    @app.event("message")
    async def on_message(event: RawObject) -> None:
        done.set()

    handler = AsyncSocketModeHandler(app, server.app_token, ping_interval=30)
    await handler.connect_async()
    server.say(server.direct(), "hi")
    await asyncio.wait_for(first.wait(), PATIENCE)
    clock.pass_(3)
    server.tick()

    await asyncio.wait_for(done.wait(), PATIENCE)
    await handler.close_async()
    assert tries == [(["0"], [""]), (["1"], ["timeout"])]
