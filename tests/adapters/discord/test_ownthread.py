"""Questions in channels that are answered in threads of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.discord.adapter import DiscordAdapter
from bot.contract import File, MessageDeleted, MessageEdited, MessageSent, Page
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage


@pytest.fixture
async def adapter(stage: Stage) -> AsyncIterator[DiscordAdapter]:
    async with DiscordAdapter(stage.settings(threads=True), stage.clock) as adapter:
        await stage.listen(adapter)
        yield adapter
        await stage.stop()


async def asked(stage: Stage, text: str = "what is tea?", place: str = "20") -> MessageSent:
    stage.server.say(place, f"{stage.server.mention()} {text}", person=1)
    sent = await stage.mailbox.next()
    assert isinstance(sent, MessageSent)
    return sent


def opened(stage: Stage) -> int:
    return sum(call.route.endswith("/threads") for call in stage.server.calls)


async def test_a_question_in_a_channel_is_answered_in_a_thread_under_it(stage: Stage, adapter: DiscordAdapter) -> None:
    sent = await asked(stage, "what is  tea?\nreally")
    surface = adapter.surface(sent.target)
    await surface.typing("")
    ref = await surface.show(surface.draw(Page("A lea")), None, "n1")
    await surface.show(surface.draw(Page("A leaf.")), ref, "n1")
    await surface.attach(File("a.txt", "text/plain", b"tea"), ref, "n2")

    assert (sent.chat.chat, sent.chat.thread) == ("20", sent.message_id)
    assert stage.server.state.channels[sent.message_id].name == "what is tea? really"
    assert stage.said(sent.message_id)[0] == "A leaf." and stage.said("20") == []
    assert opened(stage) == 1


async def test_what_is_written_in_the_thread_goes_on_with_it(stage: Stage, adapter: DiscordAdapter) -> None:
    first = await asked(stage)
    surface = adapter.surface(first.target)
    await surface.show(surface.draw(Page("A leaf.")), None, "n1")
    second = await asked(stage, "of which plant?", first.message_id)

    assert second.chat == first.chat and "opens" not in second.target.data


async def test_a_process_that_follows_writes_into_the_thread_that_is_open(
    stage: Stage, adapter: DiscordAdapter
) -> None:
    sent = await asked(stage)
    surface = adapter.surface(sent.target)
    ref = await surface.show(surface.draw(Page("A lea")), None, "n1")
    later = (await stage.enter()).surface(sent.target)
    await later.show(later.draw(Page("A leaf.")), ref, "n1")
    await later.remove(await later.show(later.draw(Page("More.")), None, "n2"))

    assert stage.said(sent.message_id) == ["A leaf."]


@pytest.mark.parametrize("code", [50013, 160006])
async def test_where_no_thread_may_be_opened_the_answer_stands_under_the_question(
    stage: Stage, adapter: DiscordAdapter, code: int
) -> None:
    sent = await asked(stage)
    body = f'{{"code": {code}, "message": "no"}}'
    stage.server.faults.add("POST /channels/{channel}/messages/{message}/threads", Fault(status=403, body=body), 2)
    surface = adapter.surface(sent.target)
    ref = await surface.show(surface.draw(Page("A lea")), None, "n1")
    later = adapter.surface(sent.target)
    await later.show(later.draw(Page("A leaf.")), ref, "n1")

    [shown] = stage.server.screen.of("20")
    assert shown.text == "A leaf."
    assert stage.server.message(shown.id).reference == sent.message_id


async def test_a_command_is_answered_where_it_stands(stage: Stage, adapter: DiscordAdapter) -> None:
    sent = await asked(stage, "new")

    assert (sent.command, sent.chat.chat, "opens" in sent.target.data) == ("new", "20", False)
    assert sent.chat.thread == ""


async def test_a_command_in_a_channel_means_the_answers_in_its_threads(stage: Stage, adapter: DiscordAdapter) -> None:
    written = await asked(stage, "/why")
    stage.server.slash("export", {}, stage.place, 1)
    used = await stage.mailbox.next()
    thread = stage.server.thread(stage.place, "side talk")
    stage.server.slash("why", {}, thread, 1)
    inside = await stage.mailbox.next()

    assert written.whole_channel and used.whole_channel and not inside.whole_channel
    assert written.chat == used.chat == inside.chat.place


async def test_a_sign_that_it_waits_is_put_on_the_question(stage: Stage, adapter: DiscordAdapter) -> None:
    sent = await asked(stage)
    surface = adapter.surface(sent.target)
    await surface.receipt(sent.message_id, True)

    assert stage.server.message(sent.message_id).reactions


async def test_a_change_and_a_deletion_find_the_thread(stage: Stage, adapter: DiscordAdapter) -> None:
    sent = await asked(stage)
    stage.server.edit(sent.message_id, f"{stage.server.mention()} what is coffee?")
    edited = await stage.mailbox.next()
    stage.server.delete(sent.message_id)
    deleted = await stage.mailbox.next()

    assert isinstance(edited, MessageEdited) and isinstance(deleted, MessageDeleted)
    assert edited.chat == deleted.chat == sent.chat


async def test_direct_messages_have_no_threads(stage: Stage, adapter: DiscordAdapter) -> None:
    place = stage.server.direct(1)
    stage.server.say(place, "hello", person=1)
    sent = await stage.mailbox.next()

    assert sent.chat.chat == place.id


async def test_a_long_or_wordless_question_has_a_name_that_fits(stage: Stage, adapter: DiscordAdapter) -> None:
    long = await asked(stage, "why " * 100)
    short = await asked(stage, "")
    for sent in (long, short):
        surface = adapter.surface(sent.target)
        await surface.show(surface.draw(Page("Yes.")), None, "n1")

    assert len(stage.server.state.channels[long.message_id].name) <= 80
    assert stage.server.state.channels[short.message_id].name == "Ada"
