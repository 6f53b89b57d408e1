from __future__ import annotations

import asyncio

import pytest
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from playground.faults import Fault
from playground.slack import SlackServer
from playground.slack.blocks import draw_blocks
from tests.conftest import RawObject
from tests.patience import PATIENCE
from tests.playground.slack.conftest import Refusal


def plain(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}


def in_attachment(*elements: RawObject) -> list[RawObject]:
    return [{"blocks": [{"type": "actions", "elements": list(elements)}]}]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "section", "fields": [{"type": "mrkdwn", "text": "*a*"}, plain("*b*")]}, "a\n*b*"),
        ({"type": "header", "text": plain("Title")}, "Title"),
        ({"type": "markdown", "text": "# **Title**"}, "Title"),
        ({"type": "divider"}, ""),
        (
            {
                "type": "context",
                "elements": [plain("a"), {"type": "image", "image_url": "https://x.example/i.png", "alt_text": "i"}],
            },
            "a\ni",
        ),
        ({"type": "image", "image_url": "https://x.example/i.png", "alt_text": "picture"}, "picture"),
        ({"type": "task_card", "task_id": "1", "title": "Search", "status": "complete"}, "Search"),
        (
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "hi "},
                            {"type": "user", "user_id": "U1"},
                            {"type": "text", "text": " "},
                            {"type": "link", "url": "https://x.example", "text": "x"},
                            {"type": "emoji", "name": "eyes"},
                            {"type": "broadcast", "range": "here"},
                        ],
                    }
                ],
            },
            "hi @ann x:eyes:@here",
        ),
    ],
)
def test_each_kind_of_block_shows_its_text(block: RawObject, text: str) -> None:
    assert draw_blocks([block], {"U1": "ann"}).text == text


def test_rich_text_notifies_and_links_like_any_other() -> None:
    elements = [
        {"type": "user", "user_id": "U1"},
        {"type": "broadcast", "range": "channel"},
        {"type": "link", "url": "https://x.example"},
    ]
    drawn = draw_blocks([{"type": "rich_text", "elements": elements}], {})

    assert (drawn.mentions, drawn.links) == (["U1", "!channel"], ["https://x.example"])


async def test_a_button_beside_a_text_can_be_pressed(server: SlackServer, client: AsyncWebClient) -> None:
    button = {"type": "button", "text": plain("Again"), "action_id": "again", "value": "7"}
    section = {"type": "section", "text": plain("x"), "accessory": button}
    sent = await client.chat_postMessage(channel="C1", text="x", blocks=[section])

    action = server.press("C1", sent["ts"], "Again").payload["actions"][0]

    assert server.screen.of("C1")[0].buttons == ["Again"]
    assert (action["value"], action["block_id"]) == ("7", "b0")


async def test_a_button_in_an_attachment_stands_below_the_text_until_an_update_names_none(
    server: SlackServer, client: AsyncWebClient
) -> None:
    attached = in_attachment({"type": "button", "action_id": "again", "text": plain("Again")})
    sent = await client.chat_postMessage(channel="C1", text="*So* it is", attachments=attached)
    shown = server.screen.of("C1")[0]
    assert (shown.text, shown.buttons) == ("So it is", ["Again"])

    pressed = server.press("C1", sent["ts"], "Again").payload
    assert pressed["container"]["type"] == "message_attachment" and pressed["actions"][0]["action_id"] == "again"
    await client.chat_update(channel="C1", ts=sent["ts"], text="more")
    assert shown.buttons == ["Again"]
    await client.chat_update(channel="C1", ts=sent["ts"], text="most", attachments=[])
    assert (shown.text, shown.buttons) == ("most", [])


@pytest.mark.parametrize(
    ("attachments", "error"),
    [
        ([{"text": "a"}] * 101, "too_many_attachments"),
        ([{"color": "#fff"}], "no_text"),
        ([{"blocks": "text"}], "invalid_attachments"),
        (
            [{"blocks": [{"type": "actions", "elements": [{"type": "button", "text": plain("x" * 76)}]}]}],
            "invalid_blocks",
        ),
        (
            [
                {
                    "blocks": [
                        {"type": "actions", "elements": [{"type": "button", "action_id": "a", "text": plain("a")}] * 2}
                    ]
                }
            ],
            "invalid_blocks",
        ),
    ],
)
async def test_attachments_beyond_their_limits_are_refused(
    client: AsyncWebClient, refusal: Refusal, attachments: list[RawObject], error: str
) -> None:
    assert await refusal(client.chat_postMessage(channel="C1", text="a", attachments=attachments)) == error


async def test_feedback_buttons_send_the_value_of_their_side(server: SlackServer, client: AsyncWebClient) -> None:
    sides = {f"{side}_button": {"text": plain(side), "value": side[0]} for side in ("positive", "negative")}
    element = {"type": "feedback_buttons", "action_id": "feedback"} | sides
    blocks = [{"type": "context_actions", "elements": [element]}]
    sent = await client.chat_postMessage(channel="C1", text="x", blocks=blocks)

    action = server.press("C1", sent["ts"], "negative").payload["actions"][0]

    assert (action["action_id"], action["value"]) == ("feedback", "n")


@pytest.mark.parametrize(
    "block",
    [
        {"type": "section", "fields": []},
        {"type": "section", "text": {"type": "mrkdwn", "text": "x"}, "fields": [plain("x" * 2_001)]},
        {"type": "section", "text": plain("x"), "accessory": {"type": "button", "text": plain("x" * 76)}},
        {"type": "actions", "elements": [{"type": "button", "text": plain("x"), "action_id": "x" * 256}]},
        {"type": "actions", "elements": [{"type": "button", "text": plain("x"), "value": "x" * 2_001}]},
        {"type": "context", "elements": [plain("x")] * 11},
        {"type": "image", "image_url": "https://x.example/" + "x" * 3_000, "alt_text": "x"},
        {"type": "divider", "block_id": "x" * 256},
    ],
)
async def test_blocks_beyond_their_own_limits_are_refused(
    client: AsyncWebClient, refusal: Refusal, block: RawObject
) -> None:
    assert await refusal(client.chat_postMessage(channel="C1", text="x", blocks=[block])) == "invalid_blocks"


async def test_metadata_and_numbers_that_are_none_are_refused(client: AsyncWebClient, refusal: Refusal) -> None:
    odd = client.api_call("chat.postMessage", json={"channel": "C1", "text": "x", "metadata": "{"})
    assert await refusal(odd) == "invalid_metadata_format"
    odd = client.api_call("chat.postMessage", json={"channel": "C1", "text": "x", "metadata": [1]})
    assert await refusal(odd) == "invalid_metadata_format"
    assert await refusal(client.api_call("conversations.history", params={"channel": "C1", "limit": "many"})) == (
        "invalid_arguments"
    )
    assert await refusal(client.conversations_history(channel="C1", limit=0)) == "invalid_limit"
    assert await refusal(client.conversations_history(channel="C1", oldest="odd")) == "invalid_ts_oldest"
    assert await refusal(client.api_call("conversations.replies", params={"channel": "C1"})) == "invalid_arguments"


async def test_a_delayed_call_is_done_in_the_end(server: SlackServer, client: AsyncWebClient) -> None:
    fault = server.faults.add("auth.test", Fault(delay=0.001))

    answer = await client.auth_test()

    assert answer["ok"]
    assert fault.reached.is_set()


async def test_a_stream_takes_blocks_between_its_text(server: SlackServer, client: AsyncWebClient) -> None:
    channel = server.direct("U1")
    root = server.say(channel, "x", person="U1")
    text = {"type": "markdown_text", "text": "text"}
    ts = (await client.chat_startStream(channel=channel, thread_ts=root, chunks=[text]))["ts"]
    chunk = {"type": "blocks", "blocks": [{"type": "section", "text": plain("below")}]}

    await client.chat_appendStream(channel=channel, ts=ts, chunks=[chunk])

    assert server.screen.of(channel)[0].text == "text\nbelow"


async def test_a_dropped_connection_is_not_used_for_the_next_event(server: SlackServer, bolt: AsyncApp) -> None:
    await server.sockets.drop()

    server.say(server.direct(), "anybody?")

    await asyncio.wait_for(server.until_delivery(lambda all: all[0].reason == "connection_failed"), PATIENCE)
    assert server.sockets.connections == []
