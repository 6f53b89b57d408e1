"""What the app is told by Socket Mode, through Bolt as it runs in production."""

from __future__ import annotations

import asyncio

import pytest
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond
from slack_bolt.context.say.async_say import AsyncSay
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from tests.conftest import RawObject
from tests.patience import PATIENCE


def told(server: SlackServer) -> list[tuple[str, str]]:
    """(type, subtype) of every event that was to be delivered."""
    events = [delivery.payload["event"] for delivery in server.deliveries if "event" in delivery.payload]
    return [(event["type"], event.get("subtype", "")) for event in events]


async def test_a_mention_reaches_bolt_and_its_answer_the_screen(server: SlackServer, bolt: AsyncApp) -> None:
    @bolt.event("app_mention")
    async def answer(event: RawObject, say: AsyncSay) -> None:
        await say(text=f"to <@{event['user']}>: {event['text']}", thread_ts=event["ts"])

    ts = server.say("C1", f"<@{server.bot_user_id}> hi", person="U1")

    await server.screen.until(lambda screen: screen.of("C1"))
    (shown,) = server.screen.of("C1", thread=ts)
    assert shown.text == "to @ann: @parley hi"
    assert server.screen.get("C1", ts).author == "U1"  # type: ignore[union-attr]
    await asyncio.wait_for(server.deliveries[0].acked.wait(), PATIENCE)


async def test_a_mention_arrives_twice_when_both_are_subscribed(server: SlackServer) -> None:
    server.subscriptions.add("message.channels")

    ts = server.say("C1", f"<@{server.bot_user_id}> hi")

    assert told(server) == [("app_mention", ""), ("message", "")]
    first, second = (delivery.payload for delivery in server.deliveries)
    assert first["event_id"] != second["event_id"]
    assert first["event"]["ts"] == second["event"]["ts"] == ts


async def test_only_what_is_subscribed_is_told(server: SlackServer) -> None:
    server.say("C1", "no mention")
    assert told(server) == []

    server.subscriptions.add("message.channels")
    server.say("C1", "no mention")
    server.say("C2", f"<@{server.bot_user_id}> where the bot is not")

    assert told(server) == [("message", "")]


async def test_a_direct_message_is_a_message_and_never_a_mention(server: SlackServer) -> None:
    server.say(server.direct("U1"), f"<@{server.bot_user_id}> hi", person="U1")

    assert told(server) == [("message", "")]
    payload = server.deliveries[0].payload
    assert payload["event"]["channel_type"] == "im"
    assert payload["event"]["channel"].startswith("D")
    assert payload["authorizations"][0]["user_id"] == server.bot_user_id


async def test_the_app_hears_its_own_messages_marked_with_its_bot_id(
    server: SlackServer, client: AsyncWebClient
) -> None:
    channel = server.direct("U1")
    sent = await client.chat_postMessage(channel=channel, text="x")
    await client.chat_update(channel=channel, ts=sent["ts"], text="y")
    await client.chat_delete(channel=channel, ts=sent["ts"])

    assert told(server) == [("message", ""), ("message", "message_changed"), ("message", "message_deleted")]
    assert server.deliveries[0].payload["event"]["bot_id"] == server.bot_id


async def test_an_edit_tells_both_texts_and_a_new_mention_is_a_mention(server: SlackServer) -> None:
    server.subscriptions.add("message.channels")
    ts = server.say("C1", "hi", person="U1")

    server.edit("C1", ts, f"<@{server.bot_user_id}> hi")
    server.edit("C1", ts, f"<@{server.bot_user_id}> hi there")

    assert told(server) == [
        ("message", ""),
        ("app_mention", ""),
        ("message", "message_changed"),
        ("message", "message_changed"),
    ]
    event = server.deliveries[-1].payload["event"]
    assert event["message"]["text"].endswith("hi there")
    assert event["message"]["edited"]["user"] == "U1"
    assert event["previous_message"]["text"].endswith("> hi")


async def test_a_deleted_message_is_told_and_a_root_with_replies_leaves_a_tombstone(server: SlackServer) -> None:
    server.subscriptions.add("message.channels")
    alone, root = server.say("C1", "alone"), server.say("C1", "root")
    server.say("C1", "reply", thread_ts=root)

    server.delete("C1", alone)
    server.delete("C1", root)

    gone, tomb = (delivery.payload["event"] for delivery in server.deliveries[-2:])
    assert (gone["subtype"], gone["deleted_ts"]) == ("message_deleted", alone)
    assert (tomb["subtype"], tomb["message"]["subtype"]) == ("message_changed", "tombstone")


async def test_subtypes_other_bots_and_files_look_as_they_do(server: SlackServer) -> None:
    server.subscriptions.add("message.channels")
    server.person("UBOT", "other", is_bot=True)
    server.say("C1", "joined", subtype="channel_join")
    server.say("C1", "beep", person="UBOT", bot_id="B9")
    root = server.say("C1", "look", files=[("a.txt", "text/plain", b"abc")])
    server.say("C1", "me too", thread_ts=root, broadcast=True)

    join, bot, file, reply = (delivery.payload["event"] for delivery in server.deliveries)
    assert join["subtype"] == "channel_join"
    assert bot["bot_id"] == "B9"
    assert (file["subtype"], file["files"][0]["size"]) == ("file_share", 3)
    assert (reply["subtype"], reply["thread_ts"]) == ("thread_broadcast", root)
    assert server.screen.get("C1", root).files == [("a.txt", "text/plain", b"abc")]  # type: ignore[union-attr]


async def test_a_slash_command_reaches_bolt_and_its_acknowledgement_is_shown(
    server: SlackServer, bolt: AsyncApp
) -> None:
    @bolt.command("/parley")
    async def on_command(ack: AsyncAck, command: RawObject, respond: AsyncRespond) -> None:
        await ack(f"{command['text']} from {command['user_name']} in {command['channel_name']}")
        await respond(text="for all", response_type="in_channel")

    server.command("/parley", "new", "C2", "U1")

    await server.screen.until(lambda screen: len(screen.of("C2")) == 2)
    assert {(m.text, m.ephemeral) for m in server.screen.of("C2")} == {
        ("new from ann in elsewhere", True),
        ("for all", False),
    }


async def test_a_press_reaches_bolt_with_the_message_and_who_pressed(
    server: SlackServer, client: AsyncWebClient, bolt: AsyncApp
) -> None:
    @bolt.action("stop")
    async def on_press(ack: AsyncAck, body: RawObject, respond: AsyncRespond) -> None:
        await ack()
        await respond(text=f"{body['user']['name']} pressed {body['actions'][0]['value']}", replace_original=True)

    button = {"type": "button", "text": {"type": "plain_text", "text": "Stop"}, "action_id": "stop", "value": "7"}
    sent = await client.chat_postMessage(channel="C1", text="x", blocks=[{"type": "actions", "elements": [button]}])

    delivery = server.press("C1", sent["ts"], "Stop", "U2")

    await server.screen.until(lambda screen: screen.of("C1")[0].text == "bob pressed 7")
    assert delivery.payload["container"] == {
        "type": "message",
        "message_ts": sent["ts"],
        "channel_id": "C1",
        "is_ephemeral": False,
    }
    with pytest.raises(KeyError):
        server.press("C1", sent["ts"], "Nothing")


async def test_opening_the_messages_tab_is_told(server: SlackServer) -> None:
    server.open_messages_tab("U1")

    assert server.deliveries[0].payload["event"]["tab"] == "messages"


async def test_a_forwarded_message_hangs_on_the_words_of_who_forwards_it(server: SlackServer) -> None:
    ts = server.say("C1", "the release is <@U1>'s", person="U2")
    server.forward(server.direct("U1"), ("C1", ts), "new", person="U1")

    [delivery] = server.deliveries
    event = delivery.payload["event"]
    [share] = event["attachments"]
    assert (event["user"], event["text"], event.get("subtype")) == ("U1", "new", None)
    assert (share["is_share"], share["author_id"], share["channel_id"], share["ts"]) == (True, "U2", "C1", ts)
    assert share["text"] == "the release is <@U1>'s"
    assert "the release is @ann's" in server.screen.of("D1", author="U1")[0].text


async def test_only_a_guest_of_another_organisation_names_a_team_of_its_own(server: SlackServer) -> None:
    server.channel("C3", "with-others", shared=True)
    server.person("U9", "zoe", team="T0OTHER")
    for person in ("U1", "U9"):
        server.say("C3", f"<@{server.bot_user_id}> hi", person=person)

    ours, theirs = (delivery.payload for delivery in server.deliveries)
    assert ours["is_ext_shared_channel"] and theirs["is_ext_shared_channel"]
    assert ours["team_id"] == theirs["team_id"] == ours["event"]["team"] == "T0PARLEY"
    assert "user_team" not in ours["event"]
    assert theirs["event"]["user_team"] == theirs["event"]["user_profile"]["team"] == "T0OTHER"
    with pytest.raises(AssertionError):
        server.say("C1", "not shared", person="U9")


async def test_the_direct_messages_of_several_are_a_channel_of_their_own_kind(server: SlackServer) -> None:
    server.direct_of_several("C4", "U1", "U2")
    client = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
    server.say("C4", f"<@{server.bot_user_id}> hi", person="U1")
    assert told(server) == [("app_mention", "")]

    server.subscriptions.add("message.mpim")
    server.say("C4", "hi all", person="U2")

    assert server.deliveries[-1].payload["event"]["channel_type"] == "mpim"
    assert len((await client.conversations_history(channel="C4"))["messages"]) == 2
    server.scopes.discard("mpim:history")
    with pytest.raises(SlackApiError, match="missing_scope"):
        await client.conversations_history(channel="C4")


async def test_an_agent_of_the_older_kind_hears_of_a_conversation_that_begins(server: SlackServer) -> None:
    server.start_assistant_thread("U1")
    assert [one.payload["event"]["subtype"] for one in server.deliveries] == ["assistant_app_thread"], "no subscriber"
    server.subscriptions.add("assistant_thread_started")

    thread = server.start_assistant_thread("U1")

    place = server.deliveries[-1].payload["event"]["assistant_thread"]
    assert (place["channel_id"], place["thread_ts"], place["user_id"]) == (server.direct("U1"), thread, "U1")
