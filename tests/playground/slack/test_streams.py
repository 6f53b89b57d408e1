from __future__ import annotations

from collections.abc import Awaitable

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from playground.facts import of_slack
from playground.slack import SlackServer
from tests.playground.slack.conftest import Clock, Refusal


@pytest.fixture
def reader(server: SlackServer) -> dict[str, str]:
    """What a stream in a channel must name."""
    root = server.say("C1", "question", person="U1")
    return {"channel": "C1", "thread_ts": root, "recipient_team_id": server.team_id, "recipient_user_id": "U1"}


async def test_the_library_streams_a_message_that_grows_in_place(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str]
) -> None:
    stream = await client.chat_stream(buffer_size=1, **reader)
    await stream.append(markdown_text="**Hel")
    (shown,) = server.screen.of("C1")
    assert shown.live
    await stream.append(markdown_text="lo**")

    await stream.stop(markdown_text="!")

    assert [version.text for version in shown.versions] == ["**Hel", "Hello", "Hello!"]
    assert not shown.live
    assert [call.method for call in server.calls] == ["chat.startStream", "chat.appendStream", "chat.stopStream"]


async def test_outside_a_direct_message_the_reader_must_be_named(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    def start(**changes: str) -> Awaitable[object]:
        return client.chat_startStream(**{k: v for k, v in (reader | changes).items() if v})

    assert await refusal(start(recipient_team_id="")) == "missing_recipient_team_id"
    assert await refusal(start(recipient_user_id="")) == "missing_recipient_user_id"
    assert await refusal(start(recipient_team_id="T404")) == "team_not_found"
    assert await refusal(start(recipient_user_id="U404")) == "user_not_found"
    assert await refusal(start(thread_ts="1.000001")) == "thread_not_found"
    assert await refusal(start(channel="C2")) == "not_in_channel"


async def test_a_direct_message_needs_no_reader(server: SlackServer, client: AsyncWebClient) -> None:
    channel = server.direct("U1")
    root = server.say(channel, "question", person="U1")

    await client.chat_startStream(channel=channel, thread_ts=root, markdown_text="hi")

    assert server.screen.of(channel)[0].text == "hi"


async def test_a_stream_closes_five_minutes_after_it_began_even_while_it_grows(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], clock: Clock, refusal: Refusal
) -> None:
    ts = (await client.chat_startStream(markdown_text="a", **reader))["ts"]
    for _ in range(4):
        clock.pass_(70)
        await client.chat_appendStream(channel="C1", ts=ts, markdown_text="a")
    clock.pass_(20)
    server.tick()

    assert not server.screen.of("C1")[0].live
    more = client.chat_appendStream(channel="C1", ts=ts, markdown_text="a")
    assert await refusal(more) == "message_not_in_streaming_state"
    assert await refusal(client.chat_stopStream(channel="C1", ts=ts)) == "message_not_in_streaming_state"
    await client.chat_update(channel="C1", ts=ts, text="whole")
    assert server.screen.of("C1")[0].text == "whole"


async def test_a_stream_nobody_feeds_closes_sooner(
    client: AsyncWebClient, reader: dict[str, str], clock: Clock, refusal: Refusal
) -> None:
    ts = (await client.chat_startStream(markdown_text="a", **reader))["ts"]
    clock.pass_(120)

    more = client.chat_appendStream(channel="C1", ts=ts, markdown_text="b")

    assert await refusal(more) == "message_not_in_streaming_state"


async def test_a_streamed_message_is_measured_in_bytes_and_a_refused_part_changes_nothing(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    ts = (await client.chat_startStream(markdown_text="汉" * 3_500, **reader))["ts"]

    too_much = client.chat_appendStream(channel="C1", ts=ts, markdown_text="汉" * 34)

    assert await refusal(too_much) == "msg_too_long"
    assert len(server.screen.of("C1")[0].text) == 3_500
    await client.chat_appendStream(channel="C1", ts=ts, markdown_text="汉" * 33)


async def test_one_call_carries_at_most_twelve_thousand_characters(
    client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    assert await refusal(client.chat_startStream(markdown_text="a" * 12_001, **reader)) == "msg_too_long"


async def test_task_details_count_twice(client: AsyncWebClient, reader: dict[str, str], refusal: Refusal) -> None:
    ts = (await client.chat_startStream(**reader))["ts"]
    task = {"type": "task_update", "id": "1", "title": "t", "status": "complete"}

    fits = client.chat_appendStream(channel="C1", ts=ts, chunks=[task | {"details": "x" * 5_000}])
    await fits
    over = client.chat_appendStream(channel="C1", ts=ts, chunks=[task | {"details": "x" * 300}])

    assert await refusal(over) == "msg_too_long"


async def test_chunks_show_text_tasks_and_plan(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    ts = (await client.chat_startStream(**reader))["ts"]
    task = {"type": "task_update", "id": "1", "title": "Search", "status": "in_progress"}
    await client.chat_appendStream(channel="C1", ts=ts, chunks=[{"type": "plan_update", "title": "Plan"}, task])
    await client.chat_appendStream(
        channel="C1", ts=ts, chunks=[task | {"status": "complete"}, {"type": "markdown_text", "text": "**done**"}]
    )

    [shown] = server.screen.of("C1")
    assert [version.text for version in shown.versions] == ["", "", "done"]
    assert shown.cards == ["Plan", "✓ Search"] and "Search" not in shown.versions[1].html, "cards are no text"
    odd = client.chat_appendStream(channel="C1", ts=ts, chunks=[task | {"status": "odd"}])
    assert await refusal(odd) == "invalid_chunks"
    assert await refusal(client.chat_appendStream(channel="C1", ts=ts)) == "no_text"


async def test_blocks_of_the_stop_stand_below_the_text(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str]
) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Again"}, "action_id": "again"}
    ts = (await client.chat_startStream(markdown_text="text", **reader))["ts"]
    metadata = {"event_type": "turn", "event_payload": {}}
    stopped = await client.chat_stopStream(
        channel="C1", ts=ts, blocks=[{"type": "actions", "elements": [button]}], metadata=metadata
    )

    (shown,) = server.screen.of("C1")
    assert (shown.text, shown.buttons) == ("text", ["Again"])
    assert stopped["message"]["metadata"] == metadata


async def test_an_open_stream_can_neither_be_edited_the_other_way_nor_deleted(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    ts = (await client.chat_startStream(markdown_text="a", **reader))["ts"]
    plain = (await client.chat_postMessage(channel="C1", text="x"))["ts"]
    theirs = server.say("C1", "y")

    assert await refusal(client.chat_update(channel="C1", ts=ts, text="b")) == "streaming_state_conflict"
    assert await refusal(client.chat_delete(channel="C1", ts=ts)) == "cant_delete_message"
    append = client.chat_appendStream
    assert await refusal(append(channel="C1", ts=plain, markdown_text="b")) == "message_not_in_streaming_state"
    assert await refusal(append(channel="C1", ts=theirs, markdown_text="b")) == "message_not_owned_by_app"
    assert await refusal(append(channel="C1", ts="1.000001", markdown_text="b")) == "message_not_found"


async def test_the_stop_button_of_a_session_ends_its_stream_and_tells_the_app(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    ts = (await client.chat_startStream(markdown_text="a", **reader))["ts"]

    server.stop_session("C1", reader["thread_ts"], "U1")

    more = client.chat_appendStream(channel="C1", ts=ts, markdown_text="b")
    assert await refusal(more) == "stopped_by_user"
    event = server.deliveries[-1].payload["event"]
    assert (event["type"], event["streaming_message_ts"]) == ("agent_session_stopped", [ts])


async def test_links_in_a_stream_are_fetched_for_previews(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str]
) -> None:
    await client.chat_startStream(markdown_text="![x](https://a.example/leak.png)", **reader)

    assert [preview.url for preview in server.previews] == ["https://a.example/leak.png"]


async def test_code_in_a_stream_calls_whom_it_names(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str]
) -> None:
    await client.chat_startStream(markdown_text="`<!here>` &lt;!channel&gt;\n```\n<@U1>\n```", **reader)

    assert [ping.target for ping in server.pings] == ["!here", "U1"]


async def test_the_edit_of_a_stopped_stream_fetches_nothing(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str]
) -> None:
    ts = (await client.chat_startStream(markdown_text="a", **reader))["ts"]
    await client.chat_stopStream(channel="C1", ts=ts)

    await client.chat_update(channel="C1", ts=ts, text="<https://a.example|a>")

    assert server.previews == []


async def test_a_stream_takes_its_text_in_one_form_alone(
    client: AsyncWebClient, reader: dict[str, str], refusal: Refusal
) -> None:
    chunks = [{"type": "markdown_text", "text": "b"}]
    both = client.chat_startStream(markdown_text="a", chunks=chunks, **reader)
    assert await refusal(both) == "cannot_provide_both_markdown_text_and_chunks"

    ts = (await client.chat_startStream(markdown_text="a", **reader))["ts"]
    other = client.chat_appendStream(channel="C1", ts=ts, chunks=chunks)
    assert await refusal(other) == "streaming_mode_mismatch"
    await client.chat_appendStream(channel="C1", ts=ts, markdown_text="b")
    ts = (await client.chat_startStream(chunks=chunks, **reader))["ts"]
    other = client.chat_stopStream(channel="C1", ts=ts, markdown_text="c")
    assert await refusal(other) == "streaming_mode_mismatch"


async def test_a_task_is_timed_from_when_it_began_until_it_ended(
    server: SlackServer, client: AsyncWebClient, reader: dict[str, str], clock: Clock
) -> None:
    task = {"type": "task_update", "id": "1", "title": "Searching", "status": "in_progress"}
    started = await client.chat_startStream(chunks=[task], **reader)
    clock.pass_(1.5)
    await client.chat_appendStream(channel="C1", ts=started["ts"], chunks=[task | {"status": "complete"}])
    clock.pass_(1)
    await client.chat_appendStream(
        channel="C1", ts=started["ts"], chunks=[task | {"status": "complete", "output": "5"}]
    )

    (card,) = of_slack(server, server.screen.of("C1")[0])["cards"]
    assert (card["state"], card["output"], card["seconds"]) == ("complete", "5", 1.5)
