from __future__ import annotations

from collections.abc import Awaitable

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import Limits, SlackServer
from playground.slack.limits import Budgets
from tests.playground.slack.conftest import Clock, Refusal


async def refused(call: Awaitable[object]) -> int:
    """The seconds a 429 names."""
    with pytest.raises(SlackApiError) as caught:
        await call
    assert caught.value.response.status_code == 429
    assert caught.value.response["error"] == "ratelimited"
    return int(caught.value.response.headers["Retry-After"])


async def test_fifty_edits_a_minute_are_shared_by_all_channels(
    server: SlackServer, client: AsyncWebClient, clock: Clock
) -> None:
    server.channel("C3", "third")
    one = (await client.chat_postMessage(channel="C1", text="x"))["ts"]
    two = (await client.chat_postMessage(channel="C3", text="x"))["ts"]
    for index in range(25):
        await client.chat_update(channel="C1", ts=one, text=f"{index}")
        await client.chat_update(channel="C3", ts=two, text=f"{index}")
    clock.pass_(20.5)

    wait = await refused(client.chat_update(channel="C3", ts=two, text="late"))

    assert wait == 40
    assert server.refusals == 1
    assert (server.calls[-1].error, server.calls[-1].retry_after, server.calls[-1].status) == ("ratelimited", 40, 429)
    assert server.screen.of("C3")[0].text == "24"
    clock.pass_(wait)
    await client.chat_update(channel="C3", ts=two, text="in time")


@pytest.mark.parametrize(
    ("method", "allowed"),
    [
        ("chat.update", 50),
        ("chat.appendStream", 100),
        ("chat.startStream", 20),
        ("chat.stopStream", 20),
        ("reactions.remove", 20),
        ("users.info", 100),
        ("bots.unlisted", 50),
    ],
)
def test_each_method_has_its_own_budget(method: str, allowed: int) -> None:
    budgets = Budgets(Limits())

    waits = [budgets.admit(method, "C1", 0.0) for _ in range(allowed + 1)]

    assert waits == [0] * allowed + [60]
    assert budgets.admit("auth.test", "", 0.0) == 0


async def test_a_channel_takes_one_post_a_second_after_a_short_burst(
    server: SlackServer, client: AsyncWebClient, clock: Clock
) -> None:
    server.channel("C3", "third")
    for _ in range(3):
        await client.chat_postMessage(channel="C1", text="x")

    assert await refused(client.chat_postMessage(channel="C1", text="x")) == 1
    await client.chat_postMessage(channel="C3", text="another channel")
    clock.pass_(1)
    await client.chat_postMessage(channel="C1", text="x")
    assert await refused(client.chat_postMessage(channel="C1", text="x")) == 1


async def test_rate_limits_can_be_left_out_and_lengths_stay(clock: Clock, refusal: Refusal) -> None:
    async with SlackServer(now=clock, limits=False) as server:
        server.channel("C1")
        client = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
        for _ in range(60):
            sent = await client.chat_postMessage(channel="C1", text="x")

        assert await refusal(client.chat_update(channel="C1", ts=sent["ts"], text="x" * 4_001)) == "msg_too_long"


async def test_other_limits_can_be_set(clock: Clock) -> None:
    async with SlackServer(now=clock, limits=Limits(per_minute={"auth.test": 1})) as server:
        client = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
        await client.auth_test()

        assert await refused(client.auth_test()) == 60


async def test_tokens_are_checked(server: SlackServer, client: AsyncWebClient, refusal: Refusal) -> None:
    assert await refusal(client.chat_postMessage(channel="C1", text="x", token="xoxb-wrong")) == "invalid_auth"
    assert await refusal(AsyncWebClient(base_url=server.base_url).auth_test()) == "not_authed"
    wrong_kind = client.chat_postMessage(channel="C1", text="x", token=server.app_token)
    assert await refusal(wrong_kind) == "not_allowed_token_type"
    assert await refusal(client.apps_connections_open(app_token=server.bot_token)) == "not_allowed_token_type"
    assert (await client.apps_connections_open(app_token=server.app_token))["url"].startswith("ws://")


async def test_a_missing_scope_is_named(server: SlackServer, client: AsyncWebClient) -> None:
    server.scopes.discard("chat:write")

    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C1", text="x")

    assert caught.value.response["error"] == "missing_scope"
    assert caught.value.response["needed"] == "chat:write"
    assert "users:read" in caught.value.response["provided"]


async def test_each_kind_of_place_has_a_scope_of_its_own_to_read_and_hear_it(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    direct = server.direct("U1")
    server.scopes.difference_update({"im:history", "app_mentions:read"})

    server.say(direct, "hello?", person="U1")
    server.say("C1", f"<@{server.bot_user_id}> hello?", person="U1")

    assert server.deliveries == []
    assert await refusal(client.conversations_history(channel=direct)) == "missing_scope"
    assert (await client.conversations_history(channel="C1"))["messages"][0]["text"].endswith("hello?")


async def test_unknown_methods_are_refused(client: AsyncWebClient, refusal: Refusal) -> None:
    assert await refusal(client.views_push(trigger_id="1", view={"type": "modal"})) == "unknown_method"
    assert await refusal(client.bookmarks_list(channel_id="C1")) == "unknown_method"


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b"{", "application/json", "invalid_json"),
        (b"[]", "application/json", "json_not_object"),
        (b"x", "text/plain", "invalid_post_type"),
    ],
)
async def test_bodies_it_cannot_read_are_refused(
    server: SlackServer, http: aiohttp.ClientSession, body: bytes, kind: str, error: str
) -> None:
    headers = {"Authorization": f"Bearer {server.bot_token}", "Content-Type": kind}
    async with http.post(f"{server.base_url}chat.postMessage", data=body, headers=headers) as response:
        assert await response.json() == {"ok": False, "error": error}


async def test_a_form_does_as_well_as_json(server: SlackServer, http: aiohttp.ClientSession) -> None:
    form = {"token": server.bot_token, "channel": "C1", "text": "x", "blocks": '[{"type": "divider"}]'}
    async with http.post(f"{server.base_url}chat.postMessage", data=form) as response:
        assert (await response.json())["ok"]

    assert server.calls[-1].parameters == {k: v for k, v in form.items() if k != "token"}
    assert (server.calls[-1].channel, server.calls[-1].status) == ("C1", 200)
