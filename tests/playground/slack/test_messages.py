from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from tests.conftest import RawJson, RawObject
from tests.playground.slack.conftest import Refusal


def section(text: str) -> RawObject:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


async def test_a_posted_message_stands_on_the_screen_as_a_person_sees_it(
    server: SlackServer, client: AsyncWebClient
) -> None:
    sent = await client.chat_postMessage(channel="C1", text="*Hello* &lt;you&gt;")

    (shown,) = server.screen.of("C1")
    assert shown.text == "Hello <you>"
    assert shown.id == sent["ts"]
    assert shown.versions[-1].html == "<b>Hello</b> &lt;you&gt;"
    assert shown.versions[-1].markup == "*Hello* &lt;you&gt;"
    assert sent["message"]["bot_id"] == server.bot_id


async def test_a_reply_lands_in_its_thread_and_a_reply_to_a_reply_too(
    server: SlackServer, client: AsyncWebClient
) -> None:
    root = server.say("C1", "question", person="U1")
    first = await client.chat_postMessage(channel="C1", text="answer", thread_ts=root)

    second = await client.chat_postMessage(channel="C1", text="more", thread_ts=first["ts"])

    assert second["message"]["thread_ts"] == root
    assert [shown.text for shown in server.screen.of("C1", thread=root)] == ["answer", "more"]


async def test_posting_needs_content_a_known_channel_and_membership(client: AsyncWebClient, refusal: Refusal) -> None:
    with pytest.warns(UserWarning, match="text"):
        assert await refusal(client.chat_postMessage(channel="C1")) == "no_text"
    assert await refusal(client.chat_postMessage(channel="C404", text="x")) == "channel_not_found"
    assert await refusal(client.chat_postMessage(channel="C2", text="x")) == "not_in_channel"
    assert await refusal(client.chat_postMessage(channel="C1", text="x", thread_ts="1.000001")) == "thread_not_found"


async def test_a_message_can_go_to_a_person_or_to_a_channel_by_name(
    server: SlackServer, client: AsyncWebClient
) -> None:
    direct = await client.chat_postMessage(channel="U1", text="psst")
    named = await client.chat_postMessage(channel="#general", text="hi")

    assert direct["channel"] == server.direct("U1")
    assert named["channel"] == "C1"


async def test_nothing_is_posted_to_an_archived_channel(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    server.channel("C1").archived = True

    assert await refusal(client.chat_postMessage(channel="C1", text="x")) == "is_archived"


async def test_a_long_post_is_cut_and_a_long_edit_is_refused(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    sent = await client.chat_postMessage(channel="C1", text="x" * 40_001)

    assert len(server.screen.of("C1")[0].text) == 40_000
    assert await refusal(client.chat_update(channel="C1", ts=sent["ts"], text="x" * 4_001)) == "msg_too_long"
    await client.chat_update(channel="C1", ts=sent["ts"], text="x" * 4_000)


async def test_an_edit_replaces_the_text_takes_blocks_away_and_marks_the_message(
    server: SlackServer, client: AsyncWebClient
) -> None:
    sent = await client.chat_postMessage(channel="C1", text="fallback", blocks=[section("*seen*")])
    before = server.screen.of("C1")[0].text

    edited = await client.chat_update(channel="C1", ts=sent["ts"], text="new")

    (shown,) = server.screen.of("C1")
    assert [before, shown.text] == ["seen", "new"]
    assert [version.text for version in shown.versions] == ["seen", "new"]
    assert "blocks" not in edited["message"]
    assert edited["message"]["edited"]["user"] == server.bot_user_id


async def test_an_edit_by_blocks_leaves_no_edited_mark(client: AsyncWebClient) -> None:
    sent = await client.chat_postMessage(channel="C1", text="a")

    edited = await client.chat_update(channel="C1", ts=sent["ts"], text="b", blocks=[section("b")])

    assert "edited" not in edited["message"]


async def test_only_own_standing_messages_can_be_edited_or_deleted(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    theirs = server.say("C1", "mine", person="U1")
    own = (await client.chat_postMessage(channel="C1", text="x"))["ts"]

    assert await refusal(client.chat_update(channel="C1", ts=theirs, text="y")) == "cant_update_message"
    assert await refusal(client.chat_delete(channel="C1", ts=theirs)) == "cant_delete_message"
    await client.chat_delete(channel="C1", ts=own)
    assert await refusal(client.chat_update(channel="C1", ts=own, text="y")) == "message_not_found"
    assert await refusal(client.chat_delete(channel="C1", ts="1.000001")) == "message_not_found"
    assert server.screen.of("C1") == []


async def test_an_ephemeral_message_is_seen_by_one_and_cannot_be_edited(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    root = server.say("C1", "hello", person="U1")
    sent = await client.chat_postEphemeral(channel="C1", user="U1", text="only you")
    # Where nobody has answered yet there is no thread to show it in.
    await client.chat_postEphemeral(channel="C1", user="U1", text="lost", thread_ts=root)

    [shown] = server.screen.of("C1")
    assert shown.ephemeral and shown.text == "only you"
    assert await refusal(client.chat_update(channel="C1", ts=sent["message_ts"], text="y")) == "message_not_found"
    assert [one["ts"] for one in (await client.conversations_history(channel="C1"))["messages"]] == [root]
    assert await refusal(client.chat_postEphemeral(channel="C1", user="U404", text="x")) == "user_not_in_channel"


async def test_markdown_text_stands_alone_and_is_limited(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    await client.chat_postMessage(channel="C1", markdown_text="# Title\n**bold** [x](https://a.example)")

    assert server.screen.of("C1")[0].text == "Title\nbold x"
    both = client.chat_postMessage(channel="C1", markdown_text="a", text="b")
    assert await refusal(both) == "markdown_text_conflict"
    assert await refusal(client.chat_postMessage(channel="C1", markdown_text="a" * 12_001)) == "msg_too_long"


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([{"type": "unheard"}], "invalid_blocks"),
        ([{"type": "section"}], "invalid_blocks"),
        ([section("x" * 3_001)], "invalid_blocks"),
        ([section("")], "invalid_blocks"),
        ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "invalid_blocks"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "invalid_blocks"),
        ([{"type": "actions", "elements": []}], "invalid_blocks"),
        ([{"type": "image", "image_url": "https://a.example/p.png"}], "invalid_blocks"),
        ([{"type": "markdown"}], "invalid_blocks"),
        ([{"type": "context_actions", "elements": [{"type": "feedback_buttons"}]}], "invalid_blocks"),
        ([section("a") | {"block_id": "same"}, section("b") | {"block_id": "same"}], "invalid_blocks"),
        ([{"type": "divider"}] * 51, "too_many_blocks"),
        ([{"type": "markdown", "text": "x" * 6_001}] * 2, "msg_blocks_too_long"),
        ([section("x" * 2_900)] * 5, "msg_blocks_too_long"),
        ("{not json", "invalid_blocks_format"),
        ('{"type": "divider"}', "invalid_blocks_format"),
    ],
)
async def test_blocks_the_service_refuses_are_refused(
    client: AsyncWebClient, refusal: Refusal, blocks: RawJson, error: str
) -> None:
    assert await refusal(client.chat_postMessage(channel="C1", text="x", blocks=blocks)) == error


async def test_a_refused_block_is_named(
    client: AsyncWebClient, server: SlackServer, http: aiohttp.ClientSession
) -> None:
    headers = {"Authorization": f"Bearer {server.bot_token}"}
    body = {"channel": "C1", "text": "x", "blocks": [{"type": "divider"}, {"type": "section"}]}
    async with http.post(f"{server.base_url}chat.postMessage", json=body, headers=headers) as response:
        answer = await response.json()

    assert response.status == 200
    assert "json-pointer:/blocks/1" in answer["response_metadata"]["messages"][0]


async def test_metadata_is_kept_and_returned_when_asked_for(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    metadata = {"event_type": "turn", "event_payload": {"id": "7"}}
    sent = await client.chat_postMessage(channel="C1", text="x", metadata=metadata)

    plain = await client.conversations_replies(channel="C1", ts=sent["ts"])
    full = await client.conversations_replies(channel="C1", ts=sent["ts"], include_all_metadata=True)

    assert "metadata" not in plain["messages"][0]
    assert full["messages"][0]["metadata"] == metadata
    await client.chat_update(channel="C1", ts=sent["ts"], text="y")
    kept = await client.conversations_replies(channel="C1", ts=sent["ts"], include_all_metadata=True)
    assert kept["messages"][0]["metadata"] == metadata
    bad = client.chat_postMessage(channel="C1", text="x", metadata={"event_type": "turn"})
    assert await refusal(bad) == "invalid_metadata_schema"


async def test_whom_a_message_notifies_is_recorded_once(server: SlackServer, client: AsyncWebClient) -> None:
    sent = await client.chat_postMessage(channel="C1", text="<@U1> &lt;!here&gt; <@U404>")
    await client.chat_update(channel="C1", ts=sent["ts"], text="<@U1> <!channel>")
    await client.chat_postMessage(channel="C1", text="@channel", link_names=True)

    assert [ping.target for ping in server.pings] == ["U1", "!channel", "!channel"]


async def test_links_are_fetched_for_previews_when_a_message_is_posted_unless_the_post_forbade_it(
    server: SlackServer, client: AsyncWebClient
) -> None:
    silent = await client.chat_postMessage(
        channel="C1", text="https://a.example", unfurl_links=False, unfurl_media=False
    )
    await client.chat_update(channel="C1", ts=silent["ts"], text="https://a.example https://b.example/p.png")
    server.say("C1", "a person's own https://e.example")
    assert server.previews == []

    await client.chat_postMessage(channel="C1", text="https://c.example/x https://c.example/p.png", unfurl_links=False)
    loud = await client.chat_postMessage(channel="C1", text="nothing but <https://d.example|d>")
    await client.chat_update(channel="C1", ts=loud["ts"], text="<https://e.example|e>")

    assert [preview.url for preview in server.previews] == ["https://c.example/p.png", "https://d.example"]


async def test_an_image_block_is_fetched_whatever_the_flags(server: SlackServer, client: AsyncWebClient) -> None:
    image = {"type": "image", "image_url": "https://a.example/leak?x=1", "alt_text": "picture"}
    await client.chat_postMessage(channel="C1", text="x", blocks=[image], unfurl_links=False, unfurl_media=False)

    assert [preview.url for preview in server.previews] == ["https://a.example/leak?x=1"]


async def test_buttons_of_a_message_are_on_the_screen(server: SlackServer, client: AsyncWebClient) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Stop"}, "action_id": "stop"}
    feedback = {
        "type": "feedback_buttons",
        "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "1"},
        "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "0"},
    }
    blocks = [section("x"), {"type": "actions", "elements": [button]}]
    await client.chat_postMessage(
        channel="C1", text="x", blocks=[*blocks, {"type": "context_actions", "elements": [feedback]}]
    )

    assert server.screen.of("C1")[0].buttons == ["Stop", "Good", "Bad"]
