"""Delivery by signed HTTP POST, to Bolt behind aiohttp and to answers no library would give."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import parse_qs

import pytest
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.say.async_say import AsyncSay
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from tests.conftest import RawObject
from tests.patience import PATIENCE
from tests.playground.slack.conftest import Clock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Listen with a handler; its address."""
    runners: list[web.AppRunner] = []

    async def start(handler: Handler) -> str:
        app = web.Application()
        app.router.add_post("/slack", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/slack"

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def bolt_url(server: SlackServer, client: AsyncWebClient, serve: Serve) -> tuple[AsyncApp, str]:
    app = AsyncApp(client=client, signing_secret=server.signing_secret)

    async def handle(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    return app, await serve(handle)


async def test_bolt_accepts_the_signature_of_events_commands_and_presses(
    server: SlackServer, client: AsyncWebClient, bolt_url: tuple[AsyncApp, str]
) -> None:
    app, url = bolt_url
    pressed = asyncio.Event()

    @app.event("app_mention")
    async def on_mention(say: AsyncSay) -> None:
        await say("heard")

    @app.command("/parley")
    async def on_command(ack: AsyncAck) -> None:
        await ack("acked")

    @app.action("go")
    async def on_press(ack: AsyncAck) -> None:
        await ack()
        pressed.set()

    posts = server.deliver_to(url)
    assert posts is not None
    assert await posts.challenge()
    server.say("C1", f"<@{server.bot_user_id}> hi")
    server.command("/parley", "x", "C2")
    button = {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "action_id": "go"}
    sent = await client.chat_postMessage(channel="C1", text="x", blocks=[{"type": "actions", "elements": [button]}])
    server.press("C1", sent["ts"], "go")

    await server.screen.until(lambda s: "heard" in [m.text for m in s.of("C1")] and s.of("C2"))
    assert server.screen.of("C2")[0].text == "acked"
    await asyncio.wait_for(pressed.wait(), PATIENCE)


@pytest.mark.parametrize("forgery", [{"secret": "guessed"}, {"age": 301.0}])
async def test_bolt_refuses_a_forged_or_stale_signature(
    server: SlackServer, bolt_url: tuple[AsyncApp, str], forgery: RawObject
) -> None:
    _, url = bolt_url
    server.deliver_to(url, **forgery)

    delivery = server.command("/parley", "x", "C1")

    await server.screen.until(lambda screen: screen.notices)
    assert delivery.reason == "http_error"


async def test_a_failed_post_is_repeated_with_its_number_and_reason(
    server: SlackServer, serve: Serve, clock: Clock
) -> None:
    seen: list[tuple[str | None, str | None]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append((request.headers.get("X-Slack-Retry-Num"), request.headers.get("X-Slack-Retry-Reason")))
        return web.Response(status=500 if len(seen) < 3 else 200)

    server.deliver_to(await serve(handle))
    server.say(server.direct(), "hi")
    delivery = server.deliveries[0]
    await server.until_delivery(lambda _: delivery.retry == 1 and delivery.next_at)
    clock.pass_(60)
    server.tick()

    await asyncio.wait_for(delivery.acked.wait(), PATIENCE)
    assert seen == [(None, None), ("1", "http_error"), ("2", "http_error")]


async def test_a_slow_answer_is_a_timeout(server: SlackServer, serve: Serve, clock: Clock) -> None:
    seen: list[str | None] = []
    arrived, never = asyncio.Event(), asyncio.Event()

    async def handle(request: web.Request) -> web.Response:
        seen.append(request.headers.get("X-Slack-Retry-Reason"))
        arrived.set()
        if len(seen) == 1:
            await never.wait()
        return web.Response()

    server.deliver_to(await serve(handle))
    server.say(server.direct(), "hi")
    await asyncio.wait_for(arrived.wait(), PATIENCE)
    clock.pass_(3)
    server.tick()

    await asyncio.wait_for(server.deliveries[0].acked.wait(), PATIENCE)
    assert seen == [None, "http_timeout"]


async def test_an_app_can_ask_for_no_retries_and_an_absent_one_fails_at_once(server: SlackServer, serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=500, headers={"X-Slack-No-Retry": "1"})

    server.deliver_to(await serve(handle))
    server.say(server.direct(), "hi")
    await server.until_delivery(lambda deliveries: deliveries[0].given_up)
    server.deliver_to("http://127.0.0.1:9/slack")
    server.command("/parley", "x", "C1")
    await server.screen.until(lambda screen: screen.notices)

    assert len(server.deliveries[0].sent) == 1
    assert server.deliveries[1].reason == "connection_failed"


async def test_commands_and_presses_travel_as_forms(server: SlackServer, client: AsyncWebClient, serve: Serve) -> None:
    bodies: list[dict[str, list[str]]] = []

    async def handle(request: web.Request) -> web.Response:
        bodies.append(parse_qs(await request.text()))
        return web.Response()

    button = {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "action_id": "go"}
    sent = await client.chat_postMessage(channel="C1", text="x", blocks=[{"type": "actions", "elements": [button]}])
    server.deliver_to(await serve(handle))
    command, press = server.command("/parley", "a & b", "C1"), server.press("C1", sent["ts"], "go")
    await asyncio.wait_for(asyncio.gather(command.acked.wait(), press.acked.wait()), PATIENCE)

    forms = {("payload" in body): body for body in bodies}
    assert forms[False]["text"] == ["a & b"]
    assert json.loads(forms[True]["payload"][0])["type"] == "block_actions"
