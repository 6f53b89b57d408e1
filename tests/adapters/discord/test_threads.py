"""What others wrote on Discord before a question: in its thread, or in the messages that it replies to."""

from __future__ import annotations

import pytest

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.threads import PAGE, DiscordReplies, DiscordThread
from bot.contract import DeliveryError, MessageSent, Page, ReplyTarget
from playground.discord.world import Channel
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage
from tests.surfaces import show


async def asked(
    stage: Stage, place: Channel, reply_to: str = ""
) -> tuple[DiscordAdapter, MessageSent, DiscordThread | DiscordReplies | None]:
    """Somebody asks now: the adapter, the question, and what reads before it."""
    adapter = await stage.listen()
    stage.server.say(place, f"{stage.server.mention()} is that so?", person=1, reply_to=reply_to)
    sent = await stage.mailbox.next()
    return adapter, sent, adapter.earlier(sent)


async def test_a_thread_is_read_from_the_message_that_it_was_opened_under(stage: Stage) -> None:
    server = stage.server
    server.state.reads_all = True
    thread = server.thread(stage.place, "side talk", under=server.say(stage.place, "the sky is green", person=2))
    server.say(thread, "it is blue", person=1)
    server.say(thread, "/new", person=1)

    _, _, reader = await asked(stage, thread)

    assert isinstance(reader, DiscordThread)
    found, following = await reader.page(0.0, "")
    assert [(one.author, one.text) for one in found] == [("Ada", "it is blue"), ("Bob", "the sky is green")]
    assert following == ""


async def test_a_forums_post_is_read_with_its_title(stage: Stage) -> None:
    server = stage.server
    server.state.reads_all = True
    post = server.open_post(server.forum(30, 10), "The sky", "It is green.", 2)
    server.say(post, "No, blue.", person=1)

    _, _, reader = await asked(stage, server.state.channels[post])

    assert isinstance(reader, DiscordThread)
    found, _ = await reader.page(0.0, "")
    assert [one.text for one in found] == ["No, blue.", "The sky\n\nIt is green."]


async def test_a_long_thread_is_read_page_by_page_back_to_what_was_told_before(stage: Stage) -> None:
    server = stage.server
    server.state.reads_all = True
    thread = server.thread(stage.place, "side talk")
    for number in range(PAGE + 2):
        server.say(thread, str(number), person=2)
    _, _, reader = await asked(stage, thread)
    assert reader is not None

    first, cursor = await reader.page(0.0, "")
    second, end = await reader.page(0.0, cursor)
    later, _ = await reader.page(second[-1].sent_at + 86_400, "")

    assert [one.text for one in (*first, *second)] == [str(number) for number in reversed(range(PAGE + 2))]
    assert (len(first), end, later) == (PAGE, "", [])


async def test_the_operator_is_told_what_to_switch_on_where_discord_withholds_the_words(stage: Stage) -> None:
    thread = stage.server.thread(stage.place, "side talk")
    stage.server.say(thread, "the sky is green", person=2)
    _, _, reader = await asked(stage, thread)
    assert reader is not None

    with pytest.raises(DeliveryError, match="Message Content Intent"):
        await reader.page(0.0, "")


async def test_a_chain_of_replies_is_read_message_by_message(stage: Stage) -> None:
    server = stage.server
    server.state.reads_all = True
    root = server.say(stage.place, "the sky is green", person=2)
    middle = server.say(stage.place, "no", person=1, reply_to=root)
    last = server.say(stage.place, "yes", person=2, reply_to=middle)
    _, _, reader = await asked(stage, stage.place, reply_to=last)

    assert isinstance(reader, DiscordReplies)
    first, cursor = await reader.page(0.0, "")
    second, end = await reader.page(0.0, cursor)

    assert [[one.text for one in page] for page in (first, second)] == [["yes", "no"], ["the sky is green"]]
    assert (cursor, end) == (middle, "")


async def test_a_chain_of_replies_ends_where_the_bot_has_answered(stage: Stage) -> None:
    server = stage.server
    server.state.reads_all = True
    adapter = await stage.enter()
    own = await show(adapter.surface(ReplyTarget("discord", {"channel": 20})), Page("I said", final=True), None)
    last = server.say(stage.place, "and they said", person=2, reply_to=own.id)
    _, _, reader = await asked(stage, stage.place, reply_to=last)
    assert reader is not None

    found, following = await reader.page(0.0, "")

    assert ([one.text for one in found], following) == (["and they said"], "")


async def test_where_nothing_stands_before_a_question_nothing_is_read(stage: Stage) -> None:
    """In a channel, behind the bot's own words, and where the chain is one message that came with the question."""
    server = stage.server
    server.state.reads_all = True
    adapter, first, reader = await asked(stage, stage.place)
    server.say(stage.place, f"{server.mention()} and this?", person=1, reply_to=first.message_id)
    behind = adapter.earlier(await stage.mailbox.next())
    own = await show(adapter.surface(first.target), Page("I said", final=True), None)
    server.say(stage.place, "are you sure?", person=1, reply_to=own.id)
    behind_own = adapter.earlier(await stage.mailbox.next())

    assert [reader, behind, behind_own] == [None, None, None]


async def test_what_discord_refuses_to_show_is_an_error_of_delivery(stage: Stage) -> None:
    server = stage.server
    server.state.reads_all = True
    thread = server.thread(stage.place, "side talk")
    _, _, reader = await asked(stage, thread)
    assert reader is not None
    server.faults.add("GET /channels/{channel}/messages", Fault(status=500))

    with pytest.raises(DeliveryError):
        await reader.page(0.0, "")
