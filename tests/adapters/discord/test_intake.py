"""What people write in Discord, as the bot is told of it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import discord
import pytest

from adapters.discord.events import _sender
from bot.contract import (
    ChatId,
    Enclosure,
    EnclosureKind,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    Page,
    Quoted,
    ReplyTarget,
    Sender,
)
from bot.contract.words import COMMANDS
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage, Wait
from tests.conftest import RawJson
from tests.patience import PATIENCE
from tests.surfaces import show


async def test_a_mention_in_a_channel_is_a_question_without_the_mention(stage: Stage) -> None:
    server = stage.server
    await stage.listen()

    id = server.say(stage.place, f"hey {server.mention()} what is <@2> doing in <#20>?", person=1)

    sent = await stage.mailbox.next()
    assert sent == MessageSent(
        delivery=id,
        chat=ChatId("discord", server.application_id, "20"),
        sender=Sender(id="discord:1", name="Ada", groups=("discord:guild/10",)),
        target=ReplyTarget("discord", {"channel": 20, "group": True, "reply_to": int(id)}),
        sent_at=sent.sent_at,
        text="hey what is @Bob doing in #general?",
        message_id=id,
        group=True,
    )
    assert sent.sent_at == pytest.approx(stage.clock.wall(), abs=1)


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ("{bot} hi", "hi"),
        ("hi {bot}", "hi"),
        ("{bot}hi", "hi"),
        ("a{bot}b", "ab"),
        ("one {bot}\ntwo", "one \ntwo"),
        ("{nick} hi {bot}", "hi"),
        ("{bot} <:wave:77> <a:dance:78>", ":wave: :dance:"),
        ("{bot} <@999>", "<@999>"),
        ("{bot} <@&30>", "@Readers"),
        ("{bot} 1 < 2 @everyone", "1 < 2 @everyone"),
        ("{bot}", ""),
    ],
)
async def test_only_the_mention_of_the_bot_is_taken_away(stage: Stage, written: str, understood: str) -> None:
    server = stage.server
    server.role(30, 10, "Readers")
    await stage.listen()

    server.say(stage.place, written.format(bot=server.mention(), nick=f"<@!{server.bot.id}>"), person=1)

    assert (await stage.mailbox.next()).text == understood


async def test_a_direct_message_needs_no_mention(stage: Stage) -> None:
    await stage.listen()

    id = stage.server.say(stage.server.direct(1), "psst")

    sent = await stage.mailbox.next()
    assert (sent.text, sent.message_id, sent.group) == ("psst", id, False)
    assert sent.target.data["reply_to"] is None
    assert sent.chat.chat == stage.server.direct(1).id


async def test_a_thread_is_a_chat_of_its_channel_for_messages_commands_changes_and_deletions(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    thread = server.thread(stage.place, "side talk")
    expected = ChatId("discord", server.application_id, "20", thread.id)

    asked = server.say(thread, f"{server.mention()} here", person=1)
    sent = await stage.mailbox.next()
    server.slash("ask", {"question": "there?"}, thread, 1)
    command = await stage.mailbox.next()
    server.edit(asked, f"{server.mention()} now")
    edited = await stage.mailbox.next()
    server.delete(asked)
    deleted = await stage.mailbox.next()

    assert [one.chat for one in (sent, command, edited, deleted)] == [expected] * 4
    assert sent.target.data["channel"] == command.target.data["channel"] == int(thread.id)


async def test_the_title_of_a_forums_post_is_a_part_of_its_question_also_when_it_is_changed(stage: Stage) -> None:
    """People write the question into the title."""
    server = stage.server
    forum = server.forum(30, 10, "help")
    await stage.listen()

    post = server.open_post(forum, "How is tea made?", f"{server.mention()} in short, please", 1)
    asked = await stage.mailbox.next()
    server.edit(post, f"{server.mention()} at length, please")
    edited = await stage.mailbox.next()
    server.say(post, f"{server.mention()} and coffee?", person=1, reply_to=post)
    later = await stage.mailbox.next()
    server.open_post(forum, "Tea?", server.mention(), 1)
    bare = await stage.mailbox.next()
    server.open_post(forum, "A fresh start", f"{server.mention()} /new", 1)
    command = await stage.mailbox.next()

    assert asked.text == "How is tea made?\n\nin short, please"
    assert edited.text == "How is tea made?\n\nat length, please"
    assert (later.text, bare.text, command.command) == ("and coffee?", "Tea?", "new")
    assert later.quoted.text == edited.text
    assert asked.chat == later.chat == ChatId("discord", server.application_id, "30", post)


async def test_of_a_thread_that_discord_has_not_told_the_channel_is_asked_for(
    stage: Stage, wait: Wait, caplog: pytest.LogCaptureFixture
) -> None:
    server = stage.server
    thread = server.thread(stage.place, "old talk")
    server.archive(thread)
    await stage.listen()
    server.faults.add("GET /channels/{channel}", Fault(status=403, body='{"code": 50001, "message": "no"}'))

    server.say(thread, f"{server.mention()} first", person=1)
    server.say(thread, f"{server.mention()} second", person=1)
    await wait(lambda: "could not be stored yet" in caplog.text and stage.clock._sleepers)
    await stage.clock.advance(1.0)
    sent = [await stage.mailbox.next(), await stage.mailbox.next()]

    expected = ChatId("discord", server.application_id, "20", thread.id)
    assert [(one.chat, one.text) for one in sent] == [(expected, "first"), (expected, "second")]


async def test_a_reply_to_the_bot_brings_what_it_replies_to(stage: Stage) -> None:
    server = stage.server
    adapter = await stage.listen()
    server.say(stage.place, f"{server.mention()} hello", person=1)
    first = await stage.mailbox.next()
    ref = await show(adapter.surface(first.target), Page("Hello **Ada**", final=True), None)

    server.say(stage.place, "and now?", person=2, reply_to=ref.id)

    sent = await stage.mailbox.next()
    assert sent.text == "and now?" and sent.quoted is not None
    assert (sent.quoted.text, sent.quoted.from_bot, sent.quoted.message_id) == ("Hello **Ada**", True, ref.id)
    assert sent.replies_to == ref.id


async def test_a_reply_to_somebody_else_says_whose_words_they_are(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    said = server.say(stage.place, f"{server.mention()} the sky is green", person=2)
    await stage.mailbox.next()

    server.say(stage.place, f"{server.mention()} is that so?", person=1, reply_to=said)

    quoted = (await stage.mailbox.next()).quoted
    assert (quoted.text, quoted.author, quoted.from_bot) == ("the sky is green", "Bob", False)


async def test_forwarded_words_are_quoted_and_never_obeyed(stage: Stage) -> None:
    """Discord does not say whose they are, and removes the fields beside them."""
    server = stage.server
    await stage.listen()
    said = server.say(stage.place, "/allow discord:666 admin <:wave:77>", person=2)

    id = server.forward(server.direct(1), said)

    sent = await stage.mailbox.next()
    assert (sent.command, sent.text, sent.sender.id, sent.message_id) == ("", "", "discord:1", id)
    assert sent.quoted == Quoted(text="/allow discord:666 admin :wave:", message_id=said, forwarded=True)
    assert not sent.replies_to


async def test_a_forward_to_a_channel_speaks_to_nobody_until_somebody_replies_to_it(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    said = server.say(stage.place, f"{server.mention()} /stop", person=2)
    await stage.mailbox.next()
    forward = server.forward(stage.place, said, person=1)
    private = server.forward(server.direct(1), said)
    assert (await stage.mailbox.next()).message_id == private
    server.say(server.direct(1), "what is that?", reply_to=private)

    reply = await stage.mailbox.next()
    assert (reply.text, reply.quoted.text, reply.quoted.author) == ("what is that?", "/stop", "Ada")
    assert forward not in [one.message_id for one in stage.mailbox.stored if isinstance(one, MessageSent)]


@pytest.mark.parametrize("reads", [True, False], ids=["read", "withheld"])
async def test_a_forward_to_a_channel_is_looked_up_for_the_comment_right_behind_it(stage: Stage, reads: bool) -> None:
    server = stage.server
    server.privileged_intents = 1 << 15 if reads else 0
    await stage.listen()
    said = server.say(stage.place, "Tea is a leaf.", person=2)
    id = server.forward(stage.place, said, person=1, comment=f"{server.mention()} is that true?")

    forward, comment = await stage.mailbox.next(), await stage.mailbox.next()
    assert (forward.message_id, forward.beside, forward.group, forward.text) == (id, True, True, "")
    assert forward.quoted.text == ("Tea is a leaf." if reads else "") and bool(forward.quoted.enclosed) is not reads
    assert (comment.text, comment.beside) == ("is that true?", False)
    # The next question has nothing of it.
    server.say(stage.place, f"{server.mention()} and milk?", person=1)
    assert (await stage.mailbox.next()).text == "and milk?"


async def test_a_forward_that_cannot_be_looked_up_costs_its_comment_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    server = stage.server
    await stage.listen()
    said = server.say(stage.place, "Tea is a leaf.", person=2)
    forward = server.forward(stage.place, said, person=1)
    server.delete(forward)
    server.say(stage.place, f"{server.mention()} is that true?", person=1)

    _deleted, unread, comment = [await stage.mailbox.next() for _ in range(3)]
    assert (unread.message_id, unread.beside, comment.beside) == (forward, True, False)
    assert "a forward could not be looked up: NotFound" in caplog.text


@pytest.mark.parametrize("reads", [True, False], ids=["read", "withheld"])
async def test_the_role_with_the_bots_name_is_the_bot(stage: Stage, reads: bool) -> None:
    """People choose it from the list; Discord says nothing of what they write unless the intent is switched on."""
    server = stage.server
    server.privileged_intents = 1 << 15 if reads else 0
    role, other = server.role(900_000_000_000_000_001, 10, "Parley", own=True), server.role(77, 10, "Parley")
    await stage.listen()
    server.say(stage.place, f"<@&{other}> hello", person=1)
    server.say(stage.place, f"<@&{role}> what is tea?", person=1)
    server.say(stage.place, f"{server.mention()} or <@&{role}> coffee?", person=1)
    server.say(stage.place, f"<@&{role}> new", person=1)
    server.delete(server.say(stage.place, f"<@&{role}> gone", person=1))

    asked, both, command, gone = [await stage.mailbox.next() for _ in range(4)]
    unread = (Enclosure(kind=EnclosureKind.MESSAGE),)
    assert (asked.text, asked.enclosed) == (("what is tea?", ()) if reads else ("", unread))
    assert both.text == "or coffee?"
    assert (command.command, command.enclosed) == (("new", ()) if reads else ("", unread))
    assert gone.enclosed == unread


async def test_a_reply_to_the_bot_without_a_mention_is_read_where_discord_gives_it(stage: Stage) -> None:
    server = stage.server
    server.privileged_intents = 1 << 15
    adapter = await stage.listen()
    own = ReplyTarget("discord", {"channel": 20, "group": True, "reply_to": None})
    ref = await show(adapter.surface(own), Page("Tea is a leaf.", final=True), None)
    server.say(stage.place, "of which plant?", person=1, reply_to=ref.id, ping=False)

    sent = await stage.mailbox.next()
    assert (sent.text, sent.replies_to, sent.quoted.text) == ("of which plant?", ref.id, "Tea is a leaf.")


PASTE = ("message.txt", "text/plain; charset=utf-8")


async def test_a_text_that_discords_client_puts_into_a_file_is_the_question(stage: Stage) -> None:
    """As it does with everything that is longer than a message may be."""
    server = stage.server
    await stage.listen()
    long = "Wärme: " + "why? " * 1_000
    server.say(server.direct(1), "", person=1, files=[(*PASTE, long.encode())])
    alone = await stage.mailbox.next()
    server.say(stage.place, server.mention(), person=1, files=[(*PASTE, long.encode())])
    mentioned = await stage.mailbox.next()

    for sent in (alone, mentioned):
        assert (sent.text, sent.enclosed) == (long.strip(), ())


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("read this", [(*PASTE, b"words")]),
        ("", [("notes.txt", "text/plain", b"words")]),
        ("", [(*PASTE, b"words"), (*PASTE, b"more")]),
        ("", [(*PASTE, b"x" * 64_001)]),
        ("", [(*PASTE, b"\xff\xfe")]),
        ("", [(*PASTE, b" ")]),
        ("", [("message.txt", "image/png", b"words")]),
    ],
)
async def test_any_other_file_stays_a_file(stage: Stage, text: str, files: list[tuple[str, str, bytes]]) -> None:
    await stage.listen()
    stage.server.say(stage.server.direct(1), text, person=1, files=files)

    sent = await stage.mailbox.next()
    assert sent.text == text and len(sent.enclosed) == len(files)


async def test_times_and_commands_are_told_as_they_are_shown(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    server.say(
        stage.place, f"{server.mention()} is <t:1700000000:R> or <t:-86400> in </tea cup:77>? <t:x> </:7>", person=1
    )

    asked = "is 2023-11-14 22:13 UTC or 1969-12-31 00:00 UTC in /tea cup? <t:x> </:7>"
    assert (await stage.mailbox.next()).text == asked


async def test_what_does_not_speak_to_the_bot_is_not_taken_in(stage: Stage) -> None:
    """Other bots, webhooks, its own messages, talk among people, and what Discord does not let it read."""
    server = stage.server
    adapter = await stage.listen()
    server.person(3, "OtherBot", bot=True)
    own = ReplyTarget("discord", {"channel": 20, "group": True, "reply_to": None})
    ref = await show(adapter.surface(own), Page(f"I am {server.mention()}", final=True), None)
    server.say(stage.place, f"{server.mention()} hi", person=3)
    server.say(stage.place, f"{server.mention()} hi", webhook="News")
    server.say(stage.place, "nice weather", person=1)
    server.say(stage.place, "not readable", person=1, reply_to=ref.id, ping=False)
    server.say(stage.place, f"{server.mention()} you", person=1)

    await stage.mailbox.next()

    assert stage.mailbox.texts == ["you"]


@pytest.mark.parametrize(
    ("written", "command", "text"),
    [
        ("/new", "new", ""),
        ("/model openai:gpt-5-mini", "model", "openai:gpt-5-mini"),
        ("/etc/hosts is what?", "", "/etc/hosts is what?"),
        ("/nonsense", "nonsense", ""),
        ("new", "", "new"),
    ],
)
async def test_a_typed_command_works_in_direct_messages(stage: Stage, written: str, command: str, text: str) -> None:
    await stage.listen()

    stage.server.say(stage.server.direct(1), written)

    sent = await stage.mailbox.next()
    assert (sent.command, sent.text) == (command, text)


@pytest.mark.parametrize(
    ("written", "command", "text"),
    [
        ("new", "new", ""),
        ("/new", "new", ""),
        ("pair 1234-56", "pair", "1234-56"),
        ("new ideas please", "", "new ideas please"),
    ],
)
async def test_a_command_is_a_bare_word_after_the_mention(stage: Stage, written: str, command: str, text: str) -> None:
    await stage.listen()

    stage.server.say(stage.place, f"{stage.server.mention()} {written}", person=1)

    sent = await stage.mailbox.next()
    assert (sent.command, sent.text) == (command, text)


async def test_a_question_with_a_file_and_no_words_is_taken_in(stage: Stage) -> None:
    await stage.listen()

    stage.server.say(stage.server.direct(1), "", files=[("a.txt", "text/plain", b"x")])

    assert (await stage.mailbox.next()).text == ""


@pytest.mark.parametrize("name", ["отчёт за май.txt", "测试 文件.pdf", "Test测试.v2.csv", "заметки", "plain.txt"])
async def test_a_file_has_the_name_that_its_owner_gave_it(stage: Stage, name: str) -> None:
    """Discord makes another of it for its address."""
    await stage.listen()

    stage.server.say(stage.server.direct(1), "what is this?", files=[(name, "text/plain", b"x")])

    assert [one.name for one in (await stage.mailbox.next()).enclosed] == [name]


async def test_a_slash_question_is_stored_then_acknowledged_for_all_to_see(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    stage.mailbox.held["why?"] = stored = asyncio.Event()

    made = server.slash("ask", {"question": "why?"}, stage.place, 1)
    await stage.clock.settle()
    before = made.answered
    stored.set()
    sent = await stage.mailbox.next()
    await server.screen.until(lambda screen: screen.of("20"))

    assert before == 0
    assert server.screen.of("20")[0].live and not server.screen.of("20")[0].ephemeral
    assert (sent.delivery, sent.text, sent.command) == (made.id, "why?", "")
    assert sent.quote_question and sent.group
    assert sent.sender == Sender(id="discord:1", name="Ada", language="en-US", groups=("discord:guild/10",))
    assert sent.awaited
    data = sent.target.data
    assert (data["interaction"], data["token"]) == (int(made.id), made.token)
    assert data["until"] == pytest.approx(stage.clock.wall() + 900, abs=1)
    assert ReplyTarget.from_json(sent.target.to_json()) == sent.target
    assert sent.target.lasts


@pytest.mark.parametrize("one", COMMANDS, ids=lambda one: one.word)
async def test_every_command_is_there_behind_the_slash(stage: Stage, one: Any) -> None:
    await stage.listen()
    names = re.findall("[a-z]+", one.argument.lower())
    first = names[0] if one.word == "tool" else names[-1] if names else ""
    option = {"how" if " | " in one.argument else first: "1234-56"} if names else {}

    stage.server.slash(one.word, option, stage.server.direct(1), 1)

    sent = await stage.mailbox.next()
    assert (sent.command, sent.text) == (one.word, "".join(option.values()))
    assert not sent.quote_question and not sent.group
    await stage.server.screen.until(lambda screen: screen.of(stage.server.direct(1).id))


async def test_the_order_of_arrival_is_kept_and_no_channel_waits_for_another(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    other = server.channel(21, 10, "other")
    stage.mailbox.held["first"] = stored = asyncio.Event()

    server.say(stage.place, f"{server.mention()} first", person=1)
    server.slash("ask", {"question": "second"}, stage.place, 1)
    server.say(stage.place, f"{server.mention()} third", person=2)
    server.say(other, f"{server.mention()} elsewhere", person=2)
    assert (await stage.mailbox.next()).text == "elsewhere"
    stored.set()

    assert [(await stage.mailbox.next()).text for _ in range(3)] == ["first", "second", "third"]


async def test_a_slow_database_does_not_cost_the_three_seconds(stage: Stage, wait: Wait) -> None:
    server = stage.server
    await stage.listen()
    stage.mailbox.held["why?"] = stored = asyncio.Event()

    made = server.slash("ask", {"question": "why?"}, stage.place, 1)
    await wait(lambda: stage.clock._sleepers)
    await stage.clock.advance(1.0)
    await wait(lambda: made.answered)

    assert stage.mailbox.stored == []
    stored.set()
    assert (await stage.mailbox.next()).text == "why?"


async def test_what_could_not_be_stored_is_not_acknowledged(stage: Stage, wait: Wait) -> None:
    await stage.listen()
    stage.mailbox.broken = True

    made = stage.server.slash("ask", {"question": "why?"}, stage.place, 1)
    await wait(lambda: stage.mailbox.refused)
    await stage.clock.settle()

    assert made.answered == 0 and stage.said() == []


async def test_an_acknowledgement_is_withdrawn_when_the_database_fails_after_it(stage: Stage, wait: Wait) -> None:
    server = stage.server
    await stage.listen()
    stage.mailbox.held["why?"] = failing = asyncio.Event()
    stage.mailbox.broken = True

    made = server.slash("ask", {"question": "why?"}, stage.place, 1)
    await wait(lambda: stage.clock._sleepers)
    await stage.clock.advance(1.0)
    await wait(lambda: made.answered)
    failing.set()

    await server.screen.until(lambda screen: screen.messages and screen.messages[0].deleted)
    # Discord tells of this deletion, too, and the next try to store that works.
    await wait(lambda: stage.clock._sleepers)
    stage.mailbox.broken = False
    await stage.clock.advance(1.0)
    assert isinstance(await stage.mailbox.next(), MessageDeleted)


async def test_a_message_that_could_not_be_stored_is_tried_again(stage: Stage, wait: Wait) -> None:
    """Discord does not deliver it a second time."""
    await stage.listen()
    stage.mailbox.broken = True
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)
    await wait(lambda: stage.mailbox.refused)
    stage.mailbox.broken = False

    await wait(lambda: stage.clock._sleepers)
    await stage.clock.advance(1.0)

    assert (await stage.mailbox.next()).text == "hi"


async def test_a_second_delivery_has_the_same_name_and_changes_nothing_on_screen(stage: Stage, wait: Wait) -> None:
    server = stage.server
    adapter = await stage.listen()
    id = server.say(stage.place, f"{server.mention()} hi", person=1)
    made = server.slash("ask", {"question": "why?"}, stage.place, 1)
    first = [await stage.mailbox.next(), await stage.mailbox.next()]
    await wait(lambda: made.answered)

    server.redeliver(id)
    server.redeliver(made.id)
    again = [await stage.mailbox.next(), await stage.mailbox.next()]
    await wait(lambda: sum(call.route.endswith("/callback") for call in server.calls) == 2)
    await wait(lambda: not any(task.get_name().startswith("acknowledge") for task in asyncio.all_tasks()))

    assert again == first
    assert adapter.conflicts == 0, "it was acknowledged by this very process"
    assert len(server.screen.of("20")) == 1


async def test_what_is_written_while_the_connection_is_broken_arrives(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    server.say(stage.place, f"{server.mention()} one", person=1)
    await stage.mailbox.next()

    await server.gateway.drop()
    server.say(stage.place, f"{server.mention()} two", person=1)

    assert (await stage.mailbox.next()).text == "two"
    assert server.gateway.resumed == 1


async def test_a_changed_and_a_deleted_question_are_told(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    id = server.say(stage.place, f"{server.mention()} one", person=1)
    sent = await stage.mailbox.next()

    server.edit(id, f"{server.mention()} two")
    server.delete(id)
    edited, deleted = await stage.mailbox.next(), await stage.mailbox.next()

    assert isinstance(edited, MessageEdited) and (edited.message_id, edited.text) == (id, "two")
    assert isinstance(deleted, MessageDeleted) and deleted.message_id == id
    assert (deleted.chat, deleted.sender.id) == (sent.chat, ""), "Discord does not tell who deleted it"
    assert len({sent.delivery, edited.delivery, deleted.delivery}) == 3


async def test_messages_that_a_moderator_deletes_at_once_are_told_each(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    ids = [server.say(stage.place, f"{server.mention()} {number}", person=1) for number in range(2)]
    for _ in ids:
        await stage.mailbox.next()

    server.delete(*ids)
    deleted = [await stage.mailbox.next(), await stage.mailbox.next()]

    assert [one.message_id for one in deleted if isinstance(one, MessageDeleted)] == sorted(ids)


async def test_what_is_not_stored_in_time_at_the_end_is_dropped_and_the_end_goes_on(stage: Stage, wait: Wait) -> None:
    await stage.listen()
    stage.mailbox.held["hi"] = asyncio.Event()
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)
    await wait(lambda: any(task.get_name().startswith("store") for task in asyncio.all_tasks()))

    stopping = asyncio.create_task(stage.stop())
    await stage.server.gateway.until_left()
    await wait(lambda: stage.clock._sleepers)
    await stage.clock.advance(2.0)
    await stopping

    assert stage.mailbox.stored == []


async def test_a_commands_answer_slot_is_forgotten_when_its_token_has_ended(stage: Stage, wait: Wait) -> None:
    adapter = await stage.listen()
    await stage.answer_to(adapter)
    await stage.clock.advance(901)

    _, later = await stage.answer_to(adapter, question="and now?")

    assert list(adapter._slots) == [later.data["interaction"]]


async def test_a_command_from_a_menu_is_no_question(stage: Stage) -> None:
    """Discord keeps such commands of an earlier program with the same token."""
    server = stage.server
    await stage.listen()
    made = server.slash("ask", {"question": "why?"}, stage.place, 1)
    await stage.mailbox.next()
    menu = server.interactions.told(made) | {"id": "999"}
    menu["data"] = {"id": "77", "name": "translate", "type": 3, "target_id": "1"}

    server.gateway.publish("INTERACTION_CREATE", lambda _: menu)
    server.say(stage.place, f"{server.mention()} end", person=1)

    assert (await stage.mailbox.next()).text == "end"


async def test_a_poll_without_an_end_and_a_voice_message_are_told_as_what_they_are(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    direct = server.direct(1)
    server.say(direct, "", poll="Tea?", poll_ends=False)
    server.say(direct, "", files=[("voice-message.ogg", "audio/ogg", b"ogg"), ("song.mp3", "audio/mpeg", b"ID3!")])

    poll, voice = await stage.mailbox.next(), await stage.mailbox.next()

    assert (poll.text, poll.enclosed) == ("[poll] Tea?\n• yes\n• no", ())
    assert voice.enclosed == (
        Enclosure(kind=EnclosureKind.VOICE, media_type="audio/ogg", size=3),
        Enclosure(kind=EnclosureKind.AUDIO, name="song.mp3", media_type="audio/mpeg", size=4),
    )
    assert [one.seconds for one in voice.enclosed] == [3.2, 0.0]


async def test_a_deletion_is_told_by_its_message_alone_whoever_was_meant(stage: Stage) -> None:
    """Discord tells no more of it; the core drops what it does not know."""
    server = stage.server
    await stage.listen()
    other = server.say(stage.place, "nothing", person=1)
    server.delete(other)

    deleted = await stage.mailbox.next()

    assert isinstance(deleted, MessageDeleted) and (deleted.message_id, deleted.sender.id) == (other, "")


async def test_a_command_where_the_bot_is_no_member_leaves_a_target_that_ends(stage: Stage, wait: Wait) -> None:
    server = stage.server
    await stage.listen()
    server.guild(11, "Elsewhere", member=False)

    made = server.slash("ask", {"question": "why?"}, server.channel(22, 11), 1)

    sent = await stage.mailbox.next()
    assert sent.target.data["member"] is False and not sent.target.lasts
    await wait(lambda: made.answered)


async def test_other_interactions_are_no_questions(stage: Stage, wait: Wait) -> None:
    """The press of a button that is not ours is not taken for a question."""
    server = stage.server
    adapter = await stage.listen()
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Stop", custom_id="stop"))
    sent = await adapter._client.get_partial_messageable(20).send("working", view=view)
    view.stop()

    server.press(str(sent.id), "Stop", 1)
    server.say(stage.place, f"{server.mention()} end", person=1)
    await stage.mailbox.next()

    assert stage.mailbox.texts == ["end"]


async def test_a_persons_roles_are_told_by_id_and_everyone_is_none(stage: Stage) -> None:
    server = stage.server
    server.role(30, 10, "Readers")
    adapter = await stage.listen()
    async with asyncio.timeout(PATIENCE):
        while (guild := adapter._client.get_guild(10)) is None:  # told of after READY
            await asyncio.sleep(0.01)
    user = {"id": "1", "username": "Ada", "discriminator": "0", "avatar": None}
    data: RawJson = {"user": user, "roles": ["30"], "joined_at": None, "deaf": False, "mute": False, "flags": 0}
    member = discord.Member(data=data, guild=guild, state=adapter._client._connection)

    assert _sender(member).groups == ("discord:guild/10", "discord:role/30")


async def test_in_private_a_person_belongs_to_no_server(stage: Stage) -> None:
    await stage.listen()
    stage.server.say(stage.server.direct(1), "hi", person=1)

    assert (await stage.mailbox.next()).sender.groups == ()
