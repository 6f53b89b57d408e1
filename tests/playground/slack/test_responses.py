from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.webhook.async_client import AsyncWebhookClient

from playground.slack import SlackServer
from tests.playground.slack.conftest import Clock


@pytest.fixture
def hook(server: SlackServer) -> AsyncWebhookClient:
    """The answer slot of a command typed where the bot is no member."""
    return AsyncWebhookClient(server.command("/parley", "hi", "C2", "U1").payload["response_url"])


async def test_one_post_and_one_replacement(server: SlackServer, hook: AsyncWebhookClient) -> None:
    await hook.send(text="working", response_type="in_channel")
    await hook.send(text="*done*", replace_original=True)

    (shown,) = server.screen.of("C2")
    assert [version.text for version in shown.versions] == ["working", "done"]
    assert not shown.ephemeral


async def test_an_answer_is_for_one_person_unless_it_says_otherwise(
    server: SlackServer, hook: AsyncWebhookClient
) -> None:
    await hook.send(text="psst")

    assert server.screen.of("C2")[0].ephemeral


async def test_the_sixth_use_is_refused_and_refused_uses_are_not_counted(hook: AsyncWebhookClient) -> None:
    assert (await hook.send(text="")).status_code == 400
    answers = [await hook.send(text="x") for _ in range(6)]

    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert "used_url" in answers[-1].body


async def test_after_half_an_hour_the_address_is_dead(
    server: SlackServer, hook: AsyncWebhookClient, clock: Clock
) -> None:
    clock.pass_(1_800)

    answer = await hook.send(text="late")

    assert (answer.status_code, server.screen.of("C2")) == (404, [])
    assert "expired_url" in answer.body


async def test_the_answer_can_be_taken_away(server: SlackServer, hook: AsyncWebhookClient) -> None:
    assert (await hook.send(delete_original=True)).status_code == 400
    await hook.send(text="x")
    await hook.send(delete_original=True)

    assert server.screen.of("C2") == []


async def test_a_replacement_is_as_short_as_an_edit(hook: AsyncWebhookClient) -> None:
    await hook.send(text="x")

    answer = await hook.send(text="x" * 4_001, replace_original=True)

    assert "msg_too_long" in answer.body


async def test_what_is_no_json_is_refused(server: SlackServer, http: aiohttp.ClientSession) -> None:
    url = server.command("/parley", "hi", "C2").payload["response_url"]
    async with http.post(url, data="payload=x") as response:
        assert (response.status, (await response.json())["error"]) == (400, "invalid_json")
    assert server.calls[-1].method == "response_url"
