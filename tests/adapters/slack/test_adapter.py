"""What the real Slack libraries hand to the bot from the emulated service, and when it is told "received"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from adapters import slack as slack_package
from adapters.slack import reading as slack_reading
from adapters.slack import threads as slack_threads
from adapters.slack.about import SHORTCUT
from adapters.slack.adapter import (
    LOST_SECONDS,
    NEEDED_SCOPES,
    STORE_SECONDS,
    WATCH_SECONDS,
    SlackAdapter,
    check,
    open_adapter,
)
from adapters.slack.limits import LOOKUP_WINDOW
from adapters.slack.people import MOST_AT_ONCE, People
from bot.contract.clock import Clock, SystemClock
from bot.contract.errors import Contested, Refused, SettingsError, StoreError, Unreachable
from bot.contract.messages import MOST_QUOTED, ChatId, Incoming, MessageDeleted, MessageEdited, MessageSent, Page
from bot.store import Store
from playground.faults import Fault
from playground.slack import SlackServer
from playground.slack.limits import Limits
from tests.adapters.slack.conftest import settings_of, thread_target
from tests.conftest import FakeClock, RawJson, RawObject
from tests.patience import PATIENCE
from tests.surfaces import show


class Inbox:
    """Keeps what is delivered, each once under its keys; `refuse` makes the next deliveries fail."""

    def __init__(self) -> None:
        self.taken: list[Incoming] = []
        self._keys: set[str] = set()
        self.failures: list[Exception] = []
        self.wait: asyncio.Event | None = None
        self._changed = asyncio.Event()

    async def deliver(self, incoming: Incoming) -> None:
        if self.failures:
            raise self.failures.pop(0)
        if self.wait is not None:
            await self.wait.wait()
        if self._keys.isdisjoint(incoming.also):  # a mention comes as two events
            self.taken.append(incoming)
        self._keys.update(incoming.also)
        self._changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.taken) < count:
                self._changed.clear()
                await self._changed.wait()

    @property
    def sent(self) -> list[MessageSent]:
        return [one for one in self.taken if isinstance(one, MessageSent)]

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.sent]


@asynccontextmanager
async def listening(
    server: SlackServer, deliver: Callable[[Incoming], Awaitable[None]], clock: Clock | None = None
) -> AsyncIterator[SlackAdapter]:
    """The adapter, connected; afterwards cancelled and left."""
    async with open_adapter(settings_of(server), clock) as adapter:
        task = asyncio.create_task(adapter.listen(deliver))
        await server.sockets.until_connected()
        try:
            yield adapter
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
async def adapter(slack: SlackServer, inbox: Inbox, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    async with listening(slack, inbox.deliver, clock) as adapter:
        yield adapter


async def test_a_mention_in_a_channel_begins_a_thread(slack: SlackServer, inbox: Inbox, adapter: SlackAdapter) -> None:
    ts = slack.say("C1", f"<@{slack.bot_user_id}> why is the sky blue?", person="U1")
    await inbox.until(1)

    (message,) = inbox.sent
    assert (message.text, message.group, message.message_id) == ("why is the sky blue?", True, ts)
    assert message.chat == ChatId("slack", slack.team_id, "C1", ts)
    assert message.sender.id == f"slack:{slack.team_id}/U1"
    await slack.until_delivery(lambda deliveries: deliveries[0].acked.is_set())


async def test_a_thread_of_long_messages_is_read_as_far_as_it_can_be_quoted_and_holds_nobody_up(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty thousand characters of a message would be looked at otherwise, two hundred times in one go."""
    root = slack.say("C1", "first", person="U2")
    for _ in range(30):
        slack.say("C1", "<https://a.b|c> " * 2_500, person="U2", thread_ts=root)
    slack.say("C1", f"<@{slack.bot_user_id}> what do they say?", person="U1", thread_ts=root)
    await inbox.until(1)
    thread = adapter.earlier(inbox.sent[0])
    assert thread is not None
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    read: list[tuple[int, int]] = []

    def noted(text: str, *given: Any) -> str:
        read.append((len(text), turns))
        return slack_reading.readable(text, *given)

    monkeypatch.setattr(slack_threads, "readable", noted)
    counting = asyncio.create_task(count_turns())

    page, _ = await thread.page(0.0, "")

    counting.cancel()
    assert max(length for length, _ in read) <= slack_threads.MOST_READ + 1
    assert len({turn for _, turn in read}) == len(read) == 31, "others have their turn between two messages"
    assert [one.text for one in page[:1]] == ["first"]
    assert {len(one.text) for one in page[1:]} == {MOST_QUOTED + 1}


async def test_a_mention_in_a_thread_goes_on_with_its_history(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    root = slack.say("C1", "shall we?", person="U2")
    slack.say("C1", "not for the bot", person="U2", thread_ts=root)
    slack.say("C1", f"<@{slack.bot_user_id}> what do you think?", person="U1", thread_ts=root)
    await inbox.until(1)

    assert inbox.sent[0].chat.thread == root
    assert inbox.texts == ["what do you think?"]


async def test_a_direct_message_needs_no_mention(slack: SlackServer, inbox: Inbox, adapter: SlackAdapter) -> None:
    slack.say(slack.direct("U1"), "hello", person="U1")
    slack.say(slack.direct("U1"), "new", person="U1")
    await inbox.until(2)

    assert [(one.text, one.command, one.group) for one in inbox.sent] == [("hello", "", False), ("", "new", False)]
    assert {one.chat for one in inbox.sent} == {ChatId("slack", slack.team_id, slack.direct("U1"))}


async def test_a_command_is_acknowledged_without_a_word_after_it_was_stored(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    inbox.wait = asyncio.Event()
    delivery = slack.command("/parley", "why is the sky blue?", "C2", "U1")
    await slack.until_delivery(lambda deliveries: deliveries[0].sent)
    before = delivery.acked.is_set()

    inbox.wait.set()
    await asyncio.wait_for(delivery.acked.wait(), PATIENCE)

    assert (before, delivery.answer) == (False, None)
    (message,) = inbox.sent
    assert (message.text, message.quote_question, message.target.lasts) == ("why is the sky blue?", True, False)
    assert slack.screen.messages == []


async def test_a_long_question_is_heard_to_its_end(slack: SlackServer, inbox: Inbox, adapter: SlackAdapter) -> None:
    slack.say("C1", f"<@{slack.bot_user_id}> {'why? ' * 1_000}because", person="U1")
    await inbox.until(1)

    assert inbox.texts[0].endswith("why? because")
    assert adapter.conflicts == 0


SNIPPET: RawJson = {"mode": "snippet", "filetype": "text", "title": "Untitled"}


async def test_a_text_that_slacks_client_sends_as_a_snippet_is_the_question(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    """As it offers for a long paste."""
    long = "Wärme: " + "why? " * 1_000
    file = ("Untitled", "text/plain", f"{long}\n".encode())
    slack.say(slack.direct("U1"), "", person="U1", files=[file], facts=SNIPPET)
    slack.say("C1", f"<@{slack.bot_user_id}>", person="U1", files=[file], facts=SNIPPET)
    await inbox.until(2)

    assert [(sent.text, sent.enclosed) for sent in inbox.sent] == [(long.strip(), ())] * 2


@pytest.mark.parametrize(
    ("name", "title", "head"),
    [
        ("-.txt", "Untitled", ""),
        ("-.txt", "無題", ""),
        ("Ohne_Titel.txt", "Ohne Titel", ""),
        ("translate_this.txt", "Translate this", "Translate this\n\n"),
        ("-.txt", "翻译一下", "翻译一下\n\n"),
    ],
)
@pytest.mark.parametrize("connected", [False, True])
async def test_it_is_the_question_whatever_its_title_and_wherever_its_writer_works(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, name: str, title: str, head: str, connected: bool
) -> None:
    facts = SNIPPET | {"title": title}
    file = (name, "text/plain", b"Der Tee ist warm.")
    slack.say(slack.direct("U1"), "", person="U1", files=[file], facts=facts, connected=connected)
    await inbox.until(1)

    assert [(sent.text, sent.enclosed) for sent in inbox.sent] == [(f"{head}Der Tee ist warm.", ())]


async def test_another_file_from_another_organisation_stays_a_file(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    slack.say(slack.direct("U1"), "", person="U1", files=[("a.pdf", "application/pdf", b"%PDF")], connected=True)
    await inbox.until(1)

    assert (inbox.texts, len(inbox.sent[0].enclosed)) == ([""], 1)


@pytest.mark.parametrize(
    ("text", "names", "content", "facts"),
    [
        ("read this", ["Untitled"], b"words", {}),
        ("", ["Untitled", "Untitled"], b"words", {}),
        ("", ["notes.txt"], b"words", {"title": "notes.txt"}),
        ("", ["Liste der Tees.txt"], b"words", {"title": "Liste der Tees.txt"}),
        ("", ["Untitled"], b"words", {"filetype": "python"}),
        ("", ["Untitled"], b"words", {"mode": "hosted"}),
        ("", ["Untitled"], b"words", {"user": "U2"}),
        ("", ["Untitled"], b"x" * 64_001, {}),
        ("", ["Untitled"], b"\xff\xfe", {}),
        ("", ["Untitled"], b" ", {}),
    ],
)
async def test_any_other_file_stays_a_file(
    slack: SlackServer,
    inbox: Inbox,
    adapter: SlackAdapter,
    text: str,
    names: list[str],
    content: bytes,
    facts: RawJson,
) -> None:
    files = [(name, "text/plain", content) for name in names]
    slack.say(slack.direct("U1"), text, person="U1", files=files, facts=SNIPPET | facts)
    await inbox.until(1)

    assert (inbox.texts, len(inbox.sent[0].enclosed)) == ([text], len(names))


async def test_of_very_many_channels_the_one_that_was_used_longest_ago_is_forgotten(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    for channel in ("C1", *(f"C1{number}" for number in range(5_000)), "C2"):
        adapter.workspace.joined(channel)
    for channel in ("C1", "C2"):
        slack.command("/parley", "why?", channel, "U1")
    await inbox.until(2)

    assert {one.chat.chat: one.target.lasts for one in inbox.sent} == {"C1": False, "C2": True}


async def test_a_command_in_a_channel_we_are_in_can_be_answered_at_any_later_time(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    slack.say("C1", f"<@{slack.bot_user_id}> hi", person="U1")
    await inbox.until(1)
    slack.command("/parley", "remind me tomorrow", "C1", "U1")
    await inbox.until(2)

    assert inbox.sent[1].target.lasts


async def test_messages_come_in_the_order_they_were_written(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    channel = slack.direct("U1")
    for number in range(30):
        slack.say(channel, f"{number}", person="U1")
    await inbox.until(30)

    assert inbox.texts == [f"{number}" for number in range(30)]


async def test_edits_and_deletions_by_people_are_heard_and_our_own_are_not(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    channel = slack.direct("U1")
    ts = slack.say(channel, "teh sky?", person="U1")
    await inbox.until(1)
    surface = adapter.surface(inbox.taken[0].target)
    at = await show(surface, Page("a"), None)
    await show(surface, Page("ab"), at)
    await surface.remove(at)

    slack.edit(channel, ts, "the sky?")
    slack.delete(channel, ts)
    await inbox.until(3)

    edited, deleted = inbox.taken[1:]
    assert isinstance(edited, MessageEdited)
    assert (edited.message_id, edited.text) == (ts, "the sky?")
    assert isinstance(deleted, MessageDeleted)
    assert deleted.message_id == ts
    await slack.until_delivery(lambda deliveries: all(one.acked.is_set() for one in deliveries))
    assert len(inbox.taken) == 3


async def test_other_bots_and_notices_are_ignored_but_acknowledged(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    slack.subscriptions.update({"message.channels", "app_home_opened"})
    slack.say("C1", f"<@{slack.bot_user_id}> loop?", person="U2", bot_id="B7")
    slack.say("C1", "has joined", person="U2", subtype="channel_join")
    slack.say("C1", "talking among ourselves", person="U2")
    slack.open_messages_tab("U1")
    await slack.until_delivery(lambda deliveries: len(deliveries) == 5 and all(d.acked.is_set() for d in deliveries))

    assert inbox.taken == []


async def test_what_could_not_be_stored_comes_again_and_is_stored_once(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, clock: FakeClock
) -> None:
    inbox.failures = [StoreError("the disk is full")]
    slack.say(slack.direct("U1"), "hello", person="U1")
    await slack.until_delivery(lambda deliveries: deliveries and deliveries[0].sent)
    while inbox.failures:
        await asyncio.sleep(0.001)
    refused = slack.deliveries[0].acked.is_set()

    await clock.advance(3)
    slack.tick()
    await inbox.until(1)
    await slack.until_delivery(lambda deliveries: deliveries[0].acked.is_set())

    assert not refused
    assert inbox.texts == ["hello"]
    assert len(slack.deliveries[0].sent) == 2


async def test_a_database_that_takes_nothing_in_is_one_line_in_the_log(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    inbox.failures = [StoreError("the disk is full") for _ in range(5)]
    for number in range(5):
        slack.say(slack.direct("U1"), f"hello {number}", person="U1")
    while adapter._troubles.recent < 5:  # counts those that are not logged, too
        await asyncio.sleep(0.001)

    assert caplog.text.count("could not be stored and will be sent again: the disk is full") == 1


async def test_storing_that_takes_too_long_is_not_acknowledged_and_not_broken_off(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, clock: FakeClock
) -> None:
    """The store finishes what it began; the second delivery then finds the first."""
    inbox.wait = asyncio.Event()
    slack.say(slack.direct("U1"), "hello", person="U1")
    await slack.until_delivery(lambda deliveries: deliveries and deliveries[0].sent)
    while not adapter._storing:
        await asyncio.sleep(0.001)
    await clock.advance(STORE_SECONDS)
    refused = slack.deliveries[0].acked.is_set()

    inbox.wait.set()
    await inbox.until(1)
    await clock.advance(3)
    slack.tick()
    await slack.until_delivery(lambda deliveries: deliveries[0].acked.is_set())

    assert not refused
    assert {one.delivery for one in inbox.taken} == {slack.deliveries[0].id}


async def test_one_message_that_comes_as_two_events_is_stored_once(slack: SlackServer, tmp_path: Path) -> None:
    """With `message.channels` subscribed a mention comes twice, with two event ids."""
    slack.subscriptions.add("message.channels")
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(f"sqlite:///{tmp_path / 'parley.db'}", clock=SystemClock()))
        stored: list[int] = []

        async def deliver(incoming: Incoming) -> None:
            id = await store.intake.take_in(incoming)
            if id is not None:
                stored.append(id)

        await stack.enter_async_context(listening(slack, deliver))
        slack.say("C1", f"<@{slack.bot_user_id}> once?", person="U1")
        await slack.until_delivery(lambda all_: len(all_) == 2 and all(one.acked.is_set() for one in all_))
        slack.redeliver(slack.deliveries[0].id)
        await slack.until_delivery(lambda all_: len(all_[0].sent) == 2 and all_[0].acked.is_set())

    assert len({delivery.id for delivery in slack.deliveries}) == 2
    assert len(stored) == 1


async def test_the_first_message_of_a_person_names_them_and_whom_it_mentions(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    slack.person("U1").locale = "zh-TW"
    slack.say(slack.direct("U1"), "ask <@U2>", person="U1")
    slack.command("/parley", "and <@U1>", "C1", "U2")
    await inbox.until(2)

    assert [one.sender.name for one in inbox.sent] == ["ann", "bob"]
    assert inbox.sent[0].sender.language == "zh-TW"
    assert inbox.texts == ["ask @bob", "and @ann"]
    assert len([call for call in slack.calls if call.method == "users.info"]) == 2


async def test_a_name_that_does_not_come_delays_its_message_and_those_behind_it_for_a_second(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, clock: FakeClock
) -> None:
    let_go = asyncio.Event()
    fault = slack.faults.add("users.info", Fault(hold=let_go))
    slack.say(slack.direct("U1"), "first", person="U1")
    await fault.reached.wait()
    slack.say(slack.direct("U1"), "second", person="U1")
    slack.say(slack.direct("U2"), "elsewhere", person="U2")
    await inbox.until(1)
    await clock.settle()
    assert inbox.texts == ["elsewhere"]

    await clock.advance(1.0)
    await inbox.until(2)
    let_go.set()
    await inbox.until(3)

    assert inbox.texts == ["elsewhere", "first", "second"]
    assert [one.sender.name for one in inbox.sent] == ["bob", "U1", "ann"]


async def test_without_the_scope_for_names_nobody_is_asked_twice(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    slack.scopes.discard("users:read")
    for person in ("U1", "U2"):
        slack.say(slack.direct(person), "hello", person=person)
        await slack.until_delivery(lambda deliveries: deliveries[-1].acked.is_set())
        await adapter.workspace.people.settled()

    assert [call.method for call in slack.calls].count("users.info") == 1


async def test_of_many_people_at_once_no_more_are_looked_up_than_slack_allows_and_the_others_later(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, clock: FakeClock
) -> None:
    people = [f"U{number}" for number in range(100, 250)]
    for person in people:
        slack.person(person, f"name-{person}")

    async def all_write(times: int) -> None:
        for person in people:
            slack.say(slack.direct(person), "hello", person=person)
        await slack.until_delivery(lambda deliveries: sum(one.acked.is_set() for one in deliveries) == times * 150)
        await adapter.workspace.people.settled()

    def looked_up() -> int:
        return [call.method for call in slack.calls].count("users.info")

    await all_write(1)
    assert looked_up() == LOOKUP_WINDOW.calls
    await all_write(2)
    assert looked_up() == LOOKUP_WINDOW.calls
    await clock.advance(LOOKUP_WINDOW.seconds)
    await all_write(3)
    assert looked_up() == 150
    await all_write(4)

    assert slack.refusals == 0
    assert len(inbox.sent) == 600
    assert {one.sender.name for one in inbox.sent[-150:]} == {f"name-{person}" for person in people}


async def test_a_refused_lookup_ends_lookups_for_as_long_as_slack_says(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, clock: FakeClock
) -> None:
    slack.faults.add("users.info", Fault(status=429, retry_after=30))
    for person in ("U1", "U2"):
        slack.say(slack.direct(person), "hello", person=person)
        await slack.until_delivery(lambda deliveries: deliveries[-1].acked.is_set())
        await adapter.workspace.people.settled()
    refused = [call.method for call in slack.calls].count("users.info")
    await clock.advance(30.0)
    slack.say(slack.direct("U2"), "hello", person="U2")
    await slack.until_delivery(lambda deliveries: deliveries[-1].acked.is_set())
    await adapter.workspace.people.settled()

    assert refused == 1
    assert adapter.workspace.people.name("U2") == "bob"


async def test_without_the_scope_for_names_those_who_wait_their_turn_are_not_asked_for(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    slack.scopes.discard("users:read")

    await adapter.workspace.people.settle({f"U{number}" for number in range(20)}, 20)

    assert [call.method for call in slack.calls].count("users.info") == MOST_AT_ONCE


async def test_of_more_people_than_are_remembered_the_one_who_was_named_longest_ago_is_forgotten(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    slack.person("U3", "cleo")
    people = People(adapter.workspace.web, clock, most=2)

    for id in ("U1", "U2"):
        await people.settle({id}, 1)
    people.name("U1")
    await people.settle({"U3"}, 1)

    assert [people.name(id) for id in ("U1", "U2", "U3")] == ["ann", "U2", "cleo"]


async def test_the_end_waits_for_no_name(slack: SlackServer) -> None:
    fault = slack.faults.add("users.info", Fault(hold=asyncio.Event()))

    async with asyncio.timeout(PATIENCE), open_adapter(settings_of(slack)) as adapter:
        adapter.workspace.people.learn({"U1"})
        await fault.reached.wait()

    assert adapter.workspace.people.name("U1") == "U1"
    assert fault.hold is not None
    fault.hold.set()


async def test_whoever_slack_does_not_know_is_looked_up_once(slack: SlackServer, adapter: SlackAdapter) -> None:
    for _ in range(2):
        await adapter.workspace.people.settle({"U404"}, 1)

    assert [call.method for call in slack.calls].count("users.info") == 1
    assert adapter.workspace.people.name("U404") == "U404"


async def test_a_reply_can_be_shown_after_listening_was_cancelled(slack: SlackServer, inbox: Inbox) -> None:
    async with open_adapter(settings_of(slack)) as adapter:
        task = asyncio.create_task(adapter.listen(inbox.deliver))
        await slack.sockets.until_connected()
        slack.say(slack.direct("U1"), "hello", person="U1")
        await inbox.until(1)
        before = adapter.listening
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        after = adapter.listening

        await show(adapter.surface(inbox.taken[0].target), Page("hello yourself", final=True), None)

    assert [shown.text for shown in slack.screen.of(slack.direct("U1"))] == ["hello yourself"]
    assert (before, after) == (True, False)
    assert slack.sockets.connections == []


async def test_what_was_being_stored_when_listening_ended_is_still_acknowledged(
    slack: SlackServer, inbox: Inbox, clock: FakeClock
) -> None:
    inbox.wait = asyncio.Event()
    async with open_adapter(settings_of(slack), clock) as adapter:
        task = asyncio.create_task(adapter.listen(inbox.deliver))
        await slack.sockets.until_connected()
        slack.say(slack.direct("U1"), "hello", person="U1")
        while not adapter._storing:
            await asyncio.sleep(0.001)
        task.cancel()
        inbox.wait.set()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(slack.deliveries[0].acked.wait(), PATIENCE)

    assert inbox.texts == ["hello"]


async def test_a_connection_that_does_not_come_back_is_told_and_begun_afresh(
    slack: SlackServer, inbox: Inbox, clock: FakeClock
) -> None:
    async with open_adapter(settings_of(slack), clock) as adapter:
        task = asyncio.create_task(adapter.listen(inbox.deliver))
        await slack.sockets.until_connected()
        slack.faults.add("apps.connections.open", Fault(status=500), times=1_000)
        await slack.sockets.drop()
        while adapter.listening:
            await asyncio.sleep(0.001)
        await clock.advance(LOST_SECONDS)
        waiting = not task.done()
        await clock.advance(2 * WATCH_SECONDS)

        with pytest.raises(Unreachable, match="does not come back"):
            await task
    assert waiting


async def test_after_a_sleep_of_the_machine_it_begins_afresh_so_that_what_was_missed_is_looked_up(
    slack: SlackServer, inbox: Inbox, clock: FakeClock
) -> None:
    """By then Slack has given up, and the library would connect anew without a word."""
    async with open_adapter(settings_of(slack), clock) as adapter:
        task = asyncio.create_task(adapter.listen(inbox.deliver))
        await slack.sockets.until_connected()
        await clock.advance(2 * WATCH_SECONDS)
        waiting = not task.done()
        clock.started += 1_800.0
        await clock.advance(2 * WATCH_SECONDS)

        with pytest.raises(Unreachable, match="asleep"):
            await task
    assert waiting


async def test_a_connection_that_slack_wants_back_is_replaced(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter
) -> None:
    await slack.sockets.disconnect("refresh_requested")
    await slack.sockets.until_connected(since=2)
    slack.say(slack.direct("U1"), "still there?", person="U1")
    await inbox.until(1)

    assert inbox.texts == ["still there?"]


@asynccontextmanager
async def rivals(server: SlackServer, count: int) -> AsyncIterator[None]:
    """So many connections of another program with the same app token."""
    async with aiohttp.ClientSession() as http, AsyncExitStack() as stack:
        web = AsyncWebClient(base_url=server.base_url, session=http)
        for _ in range(count):
            url = (await web.apps_connections_open(app_token=server.app_token))["url"]
            await stack.enter_async_context(http.ws_connect(url))
        await server.sockets.until_connected(count)
        yield


async def test_another_program_with_the_app_token_is_named_at_once_and_counted(
    slack: SlackServer, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with rivals(slack, 1), listening(slack, inbox.deliver) as adapter:
        await slack.sockets.until_connected(2)
        while not adapter.conflicts:
            await asyncio.sleep(0.001)
        assert adapter.listening

    async with listening(slack, inbox.deliver) as alone:
        slack.say(slack.direct("U1"), "hello", person="U1")
        await inbox.until(1)
        assert alone.conflicts == 0

    [line] = [record.getMessage() for record in caplog.records if "connections" in record.getMessage()]
    assert "has 2 connections" in line and "SLACK_APP_TOKEN" in line


async def test_a_full_house_is_named_and_tried_again_by_the_caller(
    inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with SlackServer(limits=Limits(connections=2)) as slack, open_adapter(settings_of(slack)) as adapter:
        async with rivals(slack, 2):
            with pytest.raises(Contested):
                async with asyncio.timeout(PATIENCE):
                    await adapter.listen(inbox.deliver)
        asked = sum(call.method == "apps.connections.open" for call in slack.calls)
        conflicts = adapter.conflicts

    [line] = [record.getMessage() for record in caplog.records if "as many connections" in record.getMessage()]
    assert "SLACK_APP_TOKEN" in line
    assert conflicts >= 1 and asked <= 5, "two rivals, one of ours, and what the library asks for until it is ended"


async def test_a_wrong_bot_token_is_named(slack: SlackServer) -> None:
    with pytest.raises(SettingsError, match="SLACK_BOT_TOKEN"):
        async with open_adapter(settings_of(slack, slack_bot_token="xoxb-wrong")):
            pass


async def test_a_token_that_is_refused_at_a_call_is_asked_about(slack: SlackServer, inbox: Inbox) -> None:
    """The app's connection stays open; one odd answer does not mean a bad token."""
    refused = Fault(status=200, body='{"ok": false, "error": "token_revoked"}')
    async with open_adapter(settings_of(slack)) as adapter:
        listening = asyncio.create_task(adapter.listen(inbox.deliver))
        surface = adapter.surface(thread_target(slack))
        for method in ("chat.postMessage", "chat.postMessage", "auth.test"):
            slack.faults.add(method, refused)
        asked = [call.method for call in slack.calls].count("auth.test")
        with pytest.raises(Refused):
            await show(surface, Page("x"), None)
        with pytest.raises(SettingsError, match="SLACK_BOT_TOKEN"):
            async with asyncio.timeout(PATIENCE):
                await listening
        assert [call.method for call in slack.calls].count("auth.test") == asked + 1

        listening = asyncio.create_task(adapter.listen(inbox.deliver))
        await asyncio.sleep(0)
        with pytest.raises(Refused):
            await show(surface, Page("x"), None)
        async with asyncio.timeout(PATIENCE):
            while [call.method for call in slack.calls].count("auth.test") < asked + 2:
                await asyncio.sleep(0.01)
        await show(surface, Page("x"), None)
        assert not listening.done()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_wrong_app_token_is_named(slack: SlackServer, inbox: Inbox) -> None:
    async with open_adapter(settings_of(slack, slack_app_token="xapp-wrong")) as adapter:
        with pytest.raises(SettingsError, match="SLACK_APP_TOKEN"):
            await adapter.listen(inbox.deliver)


async def test_a_service_out_of_reach_or_in_trouble_is_tried_again_by_the_caller(
    slack: SlackServer, inbox: Inbox
) -> None:
    with pytest.raises(Unreachable):
        async with open_adapter(settings_of(slack, slack_api_base_url="http://127.0.0.1:1/api/")):
            pass
    slack.faults.add("auth.test", Fault(status=503))
    adapter = open_adapter(settings_of(slack))
    with pytest.raises(Unreachable):
        await adapter.__aenter__()
    async with adapter:
        slack.faults.add("apps.connections.open", Fault(status=503))
        with pytest.raises(Unreachable):
            await adapter.listen(inbox.deliver)


async def test_the_doctor_finds_all_well(slack: SlackServer) -> None:
    findings = await check(settings_of(slack))

    assert all(finding.ok for finding in findings)
    assert any("Socket Mode is on" in finding.text for finding in findings)


async def test_the_doctor_says_when_slack_does_not_name_the_scopes(slack: SlackServer) -> None:
    body = f'{{"ok": true, "team_id": "{slack.team_id}", "user_id": "{slack.bot_user_id}"}}'
    slack.faults.add("auth.test", Fault(status=200, body=body))

    findings = await check(settings_of(slack))

    assert all(finding.ok for finding in findings)
    assert "did not say which scopes" in findings[1].text


async def test_the_proxy_that_the_environment_names_is_used(
    slack: SlackServer, no_proxy_of_this_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", slack.base_url.removesuffix("/api/"))

    async with open_adapter(settings_of(slack, slack_api_base_url="http://slack.invalid/api/")) as adapter:
        assert adapter.workspace.me.user == slack.bot_user_id


async def test_the_doctor_names_missing_scopes_and_a_wrong_app_token(slack: SlackServer) -> None:
    slack.scopes.difference_update({"im:history", "users:read"})

    findings = await check(settings_of(slack, slack_app_token="xapp-wrong"))

    assert [finding.text.split(":")[0] for finding in findings if not finding.well] == [
        "the scope im",
        "SLACK_APP_TOKEN is refused by Slack (invalid_auth)",
    ]
    assert any(finding.verdict == "note" and "users:read" in finding.text for finding in findings)


def test_the_manifest_asks_for_what_the_adapter_needs() -> None:
    manifest = Path(slack_package.__file__).with_name("manifest.yaml").read_text(encoding="utf-8")
    listed = {line.split("#")[0].strip(" -\n") for line in manifest.splitlines() if line.strip().startswith("- ")}

    assert set(NEEDED_SCOPES) | {"files:write", "users:read", "app_mention", "message.im"} <= listed
    assert "command: /parley" in listed
    assert "socket_mode_enabled: true" in manifest
    assert f"callback_id: {SHORTCUT}" in manifest


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "attachments": ["secret words"]},
        {"type": "message", "channel": "D1", "channel_type": "im", "user": 7, "text": "secret words"},
    ],
    ids=["by us", "by the library"],
)
async def test_an_event_that_cannot_be_read_is_left_out_alone(
    slack: SlackServer, inbox: Inbox, adapter: SlackAdapter, caplog: pytest.LogCaptureFixture, event: RawObject
) -> None:
    """It is acknowledged, or Slack would send it again; the next one is heard."""
    delivery = slack.send_event(event)
    slack.say("C1", f"<@{slack.bot_user_id}> hello", person="U2")
    await inbox.until(1)
    await slack.until_delivery(lambda _: delivery.acked.is_set())

    assert inbox.texts == ["hello"] and len(delivery.sent) == 1
    (line,) = [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]
    assert "cannot be read" in line.getMessage()
    assert "secret words" not in caplog.text
