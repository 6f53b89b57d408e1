"""What only Mattermost does: limits, tokens, connections that come back, buttons that others make up."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import aiohttp
import pytest
from emulator import BURST, LONGEST, MattermostServer
from parley_mattermost.adapter import MattermostAdapter, check
from scene import MattermostScene, open_scene, settings_for

from parley_chat.adapter import (
    Button,
    Control,
    DeliveryError,
    Incoming,
    MessageRef,
    MessageSent,
    Page,
    RateLimited,
    RightMissing,
    SettingsError,
    Unreachable,
)
from parley_chat.contract.suites import listening, until


async def post(
    server: MattermostServer, channel: str, message: str, token: str = ""
) -> tuple[int, str, dict[str, str]]:
    headers = {"Authorization": f"Bearer {token or server.token}"}
    body = {"channel_id": channel, "message": message}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{server.base_url}/api/v4/posts", json=body, headers=headers) as told,
    ):
        return told.status, await told.text(), dict(told.headers)


async def test_the_emulator_refuses_what_the_server_refuses() -> None:
    async with MattermostServer(now=lambda: 0.0) as server:
        place = server.channel()
        assert (await post(server, place, "x" * LONGEST))[0] == 201
        for told, status, code in (
            (await post(server, place, "x" * (LONGEST + 1)), 400, "model.post.is_valid.message_length.app_error"),
            (await post(server, place, "x", token="other"), 401, "api.context.session_expired.app_error"),
            (await post(server, "0" * 26, "x"), 403, "api.context.permissions.app_error"),
        ):
            assert (told[0], json.loads(told[1])["id"]) == (status, code)
        statuses = [(await post(server, place, "x"))[0] for _ in range(BURST - 4)]
        status, text, headers = await post(server, place, "x")

    assert set(statuses) == {201}
    assert (status, text, headers["Retry-After"], headers["X-RateLimit-Limit"]) == (429, "limit exceeded\n", "1", "100")


async def test_a_limit_of_the_server_is_a_pause_and_a_right_that_is_missing_is_named() -> None:
    async with MattermostServer(now=lambda: 0.0) as server, MattermostAdapter(settings_for(server)) as adapter:
        scene = MattermostScene(server, AsyncExitStack())
        surface = adapter.surface(scene.target)
        elsewhere = adapter.surface(type(scene.target)("mattermost", {"channel": "0" * 26}))
        page = surface.draw(Page("It rains"))
        with pytest.raises(RightMissing):
            await elsewhere.show(page, None)
        with pytest.raises(RateLimited) as limited:
            for _ in range(BURST):
                await surface.show(page, None)

    assert limited.value.retry_after == 1.0


async def test_many_newcomers_at_once_take_no_calls_from_answers() -> None:
    """Their names come with what they write."""
    async with open_scene() as scene:
        server, adapter, heard = scene.server, await scene.enter(), asyncio.Queue[Incoming]()
        listening = asyncio.create_task(adapter.listen(heard.put))
        await until(lambda: adapter.listening)
        before = len(server.calls)
        for number in range(BURST):
            server.say(scene.group, f"@parley hello {number}", server.person(f"newcomer{number}"))
        told = [await heard.get() for _ in range(BURST)]
        calls = server.calls[before:]
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)

    names = [one.sender.name for one in told if isinstance(one, MessageSent)]
    assert names == [f"newcomer{number}" for number in range(BURST)] and calls == []


async def test_a_token_that_is_refused_is_a_setting_and_a_server_that_is_away_is_not() -> None:
    async with MattermostServer() as server:
        settings = settings_for(server)
        assert [one.text for one in await check(settings)] == ["the token works; the bot is @parley"]
        async with MattermostAdapter(settings) as adapter:
            server.token = "another"
            with pytest.raises(SettingsError, match="MATTERMOST_TOKEN"):
                await adapter.listen(asyncio.Queue[Incoming]().put)
        with pytest.raises(SettingsError, match="MATTERMOST_TOKEN"):
            await check(settings)
    with pytest.raises(Unreachable):
        await check(settings)


async def test_what_is_written_while_the_connection_is_lost_comes_when_it_is_back() -> None:
    async with open_scene() as scene:
        adapter, heard = await scene.enter(), asyncio.Queue[Incoming]()
        listening = asyncio.create_task(adapter.listen(heard.put))
        await until(lambda: adapter.listening)
        scene.say("first")
        told = [await heard.get()]
        await scene.server.drop()
        with pytest.raises(Unreachable):
            await listening
        scene.say("meanwhile")
        listening = asyncio.create_task(adapter.listen(heard.put))
        told.append(await heard.get())
        scene.say("later")
        told.append(await heard.get())
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)

    assert [one.text for one in told if isinstance(one, MessageSent)] == ["first", "meanwhile", "later"]


async def test_a_button_that_somebody_else_made_presses_nothing() -> None:
    page = Page("x", buttons=(Button(Control.STOP, 1, "Stop"),))
    async with open_scene() as scene, listening(scene) as ear:
        ref = await scene.surface.show(scene.surface.draw(page), None)
        [part] = scene.server.posts[ref.id]["props"]["attachments"]
        [action] = part["actions"]
        action["integration"]["context"]["button"] = "stop:2"
        scene.press(ref.id, "Stop")
        await until(lambda: scene.server.failed)

    assert scene.server.failed == ["401"] and ear.heard.empty()


async def test_a_post_of_unknown_outcome_is_found_by_its_page() -> None:
    async with open_scene() as scene:
        ref = await scene.surface.show(scene.surface.draw(Page("It rains")), None, "t1-0")
        await scene.surface.show(scene.surface.draw(Page("It snows")), None, "t1-1")

        assert await scene.surface.find("t1-0") == ref
        scene.delete(MessageRef(ref.id))
        assert await scene.surface.find("t1-0") is None
        scene.garble("[]")
        with pytest.raises(DeliveryError):
            await scene.surface.find("t1-0")
