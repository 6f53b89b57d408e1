from __future__ import annotations

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from tests.playground.slack.conftest import Refusal


async def test_the_library_uploads_a_file_into_a_thread(server: SlackServer, client: AsyncWebClient) -> None:
    root = server.say("C1", "draw", person="U1")

    done = await client.files_upload_v2(
        channel="C1", thread_ts=root, filename="plot.png", content=b"\x89PNG", initial_comment="*here*", title="Plot"
    )

    (shown,) = server.screen.of("C1", thread=root)
    assert shown.files == [("plot.png", "image/png", b"\x89PNG")]
    assert shown.text == "here"
    assert (done["file"]["title"], done["file"]["size"]) == ("Plot", 4)


async def test_an_upload_must_be_whole_and_known(
    server: SlackServer, client: AsyncWebClient, http: aiohttp.ClientSession, refusal: Refusal
) -> None:
    slot = await client.files_getUploadURLExternal(filename="a.txt", length=3)
    async with http.post(slot["upload_url"], data=b"too long") as response:
        assert response.status == 400

    unfinished = client.files_completeUploadExternal(files=[{"id": slot["file_id"]}], channel_id="C1")
    assert await refusal(unfinished) == "file_not_found"
    assert await refusal(client.files_getUploadURLExternal(filename="a.txt", length=0)) == "invalid_arguments"
    form = aiohttp.FormData()
    form.add_field("file", b"abc", filename="a.txt")
    async with http.post(slot["upload_url"], data=form) as response:
        assert (response.status, await response.text()) == (200, "OK - 3")
    elsewhere = client.files_completeUploadExternal(files=[{"id": slot["file_id"]}], channel_id="C2")
    assert await refusal(elsewhere) == "not_in_channel"


async def test_a_file_is_downloaded_with_the_token_and_without_it_comes_the_sign_in_page(
    server: SlackServer, http: aiohttp.ClientSession
) -> None:
    server.say(server.direct(), "look", files=[("a.txt", "text/plain", b"abc")])
    address = server.deliveries[0].payload["event"]["files"][0]["url_private"]

    async with http.get(address, headers={"Authorization": f"Bearer {server.bot_token}"}) as response:
        assert (await response.read(), response.content_type) == (b"abc", "text/plain")
    async with http.get(address) as response:
        assert (response.status, response.content_type) == (200, "text/html")


async def test_a_file_can_be_looked_up(server: SlackServer, client: AsyncWebClient, refusal: Refusal) -> None:
    server.say("C1", "look", files=[("a.txt", "text/plain", b"abc")])
    (id,) = server.workspace.files

    assert (await client.files_info(file=id))["file"]["name"] == "a.txt"
    assert await refusal(client.files_info(file="F404")) == "file_not_found"
