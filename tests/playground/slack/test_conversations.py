from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from tests.playground.slack.conftest import Clock, Refusal


async def test_the_bot_learns_who_it_is(server: SlackServer, client: AsyncWebClient) -> None:
    me = await client.auth_test()

    assert (me["user_id"], me["bot_id"], me["team_id"]) == (server.bot_user_id, server.bot_id, server.team_id)


async def test_people_are_described(server: SlackServer, client: AsyncWebClient, refusal: Refusal) -> None:
    assert (await client.users_info(user="U1"))["user"]["name"] == "ann"
    assert "locale" not in (await client.users_info(user="U1"))["user"]
    assert (await client.users_info(user="U1", include_locale=True))["user"]["locale"] == "en-US"
    assert await refusal(client.users_info(user="U404")) == "user_not_found"


async def test_a_thread_is_read_in_pages_oldest_first(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    root = server.say("C1", "0")
    for index in range(1, 5):
        server.say("C1", f"{index}", thread_ts=root)

    pages = []
    async for page in await client.conversations_replies(channel="C1", ts=root, limit=2):
        pages.append([message["text"] for message in page["messages"]])

    assert pages == [["0", "1"], ["2", "3"], ["4"]]
    assert await refusal(client.conversations_replies(channel="C1", ts="1.000001")) == "thread_not_found"
    assert await refusal(client.conversations_replies(channel="C2", ts=root)) == "not_in_channel"
    assert await refusal(client.conversations_replies(channel="C1", ts=root, cursor="odd")) == "invalid_cursor"


async def test_history_is_newest_first_without_replies_and_can_be_bounded(
    server: SlackServer, client: AsyncWebClient
) -> None:
    one, two, three = (server.say("C1", f"{index}") for index in range(3))
    server.say("C1", "reply", thread_ts=two)

    everything = (await client.conversations_history(channel="C1"))["messages"]
    between = (await client.conversations_history(channel="C1", oldest=one, latest=three))["messages"]
    inclusive = (await client.conversations_history(channel="C1", oldest=two, inclusive=True))["messages"]

    assert [message["ts"] for message in everything] == [three, two, one]
    assert everything[1]["reply_count"] == 1
    assert [message["ts"] for message in between] == [two]
    assert [message["ts"] for message in inclusive] == [three, two]


async def test_reactions_come_and_go(server: SlackServer, client: AsyncWebClient, refusal: Refusal) -> None:
    said = server.say("C1", "x")
    await client.reactions_add(name="eyes", channel="C1", timestamp=said)

    assert await refusal(client.reactions_add(name="eyes", channel="C1", timestamp=said)) == "already_reacted"
    history = await client.conversations_history(channel="C1")
    assert history["messages"][0]["reactions"][0]["users"] == [server.bot_user_id]
    await client.reactions_remove(name="eyes", channel="C1", timestamp=said)
    assert await refusal(client.reactions_remove(name="eyes", channel="C1", timestamp=said)) == "no_reaction"
    assert await refusal(client.reactions_add(name="no such", channel="C1", timestamp=said)) == "invalid_name"
    assert await refusal(client.reactions_add(name="eyes", channel="C1", timestamp="1.0")) == "message_not_found"
    assert [what for _, _, what in server.screen.notices] == ["reaction::eyes:", "reaction removed::eyes:"]


async def test_a_status_lasts_two_minutes_or_until_the_next_message(
    server: SlackServer, client: AsyncWebClient, clock: Clock, refusal: Refusal
) -> None:
    root = server.say("C1", "x")
    await client.assistant_threads_setStatus(status="is thinking…", channel_id="C1", thread_ts=root)
    assert server.status("C1", root) == "is thinking…"
    clock.pass_(120)
    assert server.status("C1", root) == ""

    await client.assistant_threads_setStatus(status="is searching…", channel_id="C1", thread_ts=root)
    await client.chat_postMessage(channel="C1", thread_ts=root, text="found")
    assert server.status("C1", root) == ""

    await client.assistant_threads_setStatus(status="is thinking…", channel_id="C1", thread_ts=root)
    await client.assistant_threads_setStatus(status="", channel_id="C1", thread_ts=root)
    assert server.status("C1", root) == ""
    bad = client.assistant_threads_setStatus(channel_id="C1", thread_ts="1.0", status="x")
    assert await refusal(bad) == "invalid_thread_ts"
    many = client.assistant_threads_setStatus(status="x", loading_messages=["m"] * 11, channel_id="C1", thread_ts=root)
    assert await refusal(many) == "invalid_arguments"


async def test_prompts_sessions_and_their_titles_are_kept(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal
) -> None:
    channel = server.direct("U1")
    root = server.say(channel, "x", person="U1")
    prompt = {"title": "Try", "message": "Try this"}

    await client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=[prompt])
    await client.agents_sessions_setStatus(channel_id=channel, thread_ts=root, status="processing", title="About x")

    assert server.workspace.titles[channel, root] == "About x"
    assert server.workspace.prompts[channel, ""] == [prompt]
    assert server.workspace.sessions[channel, root] == "processing"
    too_many = client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=[prompt] * 5)
    assert await refusal(too_many) == "invalid_arguments"
    odd = client.agents_sessions_setStatus(channel_id=channel, thread_ts=root, status="odd")
    assert await refusal(odd) == "invalid_arguments"
