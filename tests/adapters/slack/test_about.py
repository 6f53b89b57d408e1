"""Asking about a message: the shortcut in its menu, the form, and what the bot is asked then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from adapters.slack import about
from adapters.slack.adapter import SlackAdapter
from bot.contract import EnclosureKind, Incoming, MessageSent, StoreError
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import until
from tests.conftest import FakeClock, RawJson
from tests.patience import PATIENCE
from tools.contract.newest import Newest


class Inbox:
    """Where deliveries arrive."""

    def __init__(self) -> None:
        self.said: list[MessageSent] = []
        self.broken = False

    async def __call__(self, said: Incoming) -> None:
        if self.broken:
            raise StoreError("the disk is full")
        assert isinstance(said, MessageSent)
        self.said.append(said)


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
async def heard(slack: SlackServer, adapter: SlackAdapter, inbox: Inbox) -> AsyncIterator[SlackAdapter]:
    """Somebody listens."""
    task = asyncio.create_task(adapter.listen(inbox))
    await slack.sockets.until_connected()
    yield adapter
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(autouse=True)
def nothing_fails(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    if "cannot_be_shown" not in request.node.name:
        assert "could not be shown" not in caplog.text


async def opened(slack: SlackServer, channel: str, ts: str, person: str = "U2") -> str:
    """The id of the form for a question about a message, as it stands before a person."""
    before = set(slack.views.open)
    slack.choose(channel, ts, about.SHORTCUT, person)
    await until(lambda: set(slack.views.open) - before)
    [id] = set(slack.views.open) - before
    return id


async def test_what_is_written_in_the_form_is_asked_about_the_message_in_its_thread(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox
) -> None:
    ts = slack.say("C1", "tea is <@U2>'s favourite &amp; mine", person="U1")
    sent = slack.fill_in(await opened(slack, "C1", ts), {"question": " is that &lt; true? "})
    await until(lambda: inbox.said and sent.acked.is_set())

    [asked] = inbox.said
    quoted = asked.quoted
    assert quoted is not None and not quoted.from_bot
    assert (quoted.text.endswith("'s favourite & mine"), quoted.message_id) == (True, ts)
    assert (asked.text, asked.sender.id, asked.group) == ("is that < true?", f"slack:{slack.team_id}/U2", True)
    assert (asked.chat.chat, asked.chat.thread, asked.target.data["thread"]) == ("C1", ts, ts)
    assert asked.quote_question and not asked.command


async def test_an_empty_form_asks_to_explain_the_message(slack: SlackServer, heard: SlackAdapter, inbox: Inbox) -> None:
    slack.fill_in(await opened(slack, "C1", slack.say("C1", "why?", person="U1")), {})
    await until(lambda: inbox.said)

    assert inbox.said[0].text == "Explain this message."


async def test_where_the_bot_is_no_member_the_answer_goes_to_the_address_of_the_shortcut(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox
) -> None:
    slack.fill_in(await opened(slack, "C2", slack.say("C2", "why?", person="U1")), {"question": "what?"})
    await until(lambda: inbox.said)

    target = inbox.said[0].target
    assert str(target.data["response_url"]).startswith("http") and target.data["lasts"] is False


async def test_a_message_in_a_thread_is_answered_there(slack: SlackServer, heard: SlackAdapter, inbox: Inbox) -> None:
    root = slack.say("C1", "tea?", person="U1")
    ts = slack.say("C1", "yes", person="U1", thread_ts=root)
    slack.fill_in(await opened(slack, "C1", ts), {"question": "why?"})
    await until(lambda: inbox.said)

    assert inbox.said[0].chat.thread == root


@pytest.mark.parametrize("text", ["short", "long " * 1_500, "\x01" * 4_000, '"' * 4_000, "茶" * 4_000])
async def test_a_form_of_another_process_keeps_the_beginning_of_the_message(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox, text: str
) -> None:
    form = await opened(slack, "C1", slack.say("C1", text, person="U1"))
    heard.workspace._about._messages.clear()
    slack.fill_in(form, {"question": "why?"})
    await until(lambda: inbox.said)

    quoted = inbox.said[0].quoted
    assert quoted is not None and text.strip().startswith(quoted.text.strip())
    assert len(quoted.text) >= min(len(text), 250)


async def test_only_the_newest_messages_are_kept_whole(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heard.workspace._about, "_messages", Newest(1))
    forms = [await opened(slack, "C1", slack.say("C1", text * 3_900, person="U1")) for text in ("a", "b")]
    for form in forms:
        slack.fill_in(form, {"question": "why?"})
    await until(lambda: len(inbox.said) == 2)

    lengths = [len(said.quoted.text) if said.quoted is not None else 0 for said in inbox.said]
    assert lengths[0] < 3_000 and lengths[1] == 3_900


async def test_files_of_the_message_come_along(slack: SlackServer, heard: SlackAdapter, inbox: Inbox) -> None:
    ts = slack.say("C1", "look", person="U1", files=[("a.png", "image/png", b"\x89PNG")])
    slack.fill_in(await opened(slack, "C1", ts), {"question": "what is it?"})
    await until(lambda: inbox.said)

    quoted = inbox.said[0].quoted
    assert quoted is not None and [one.kind for one in quoted.enclosed] == [EnclosureKind.PICTURE]


async def test_a_form_that_cannot_be_shown_disturbs_nothing(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    slack.faults.add("views.open", Fault(answer='{"ok": false, "error": "expired_trigger_id"}'))
    ts = slack.say("C1", "secret words", person="U1")
    chosen = slack.choose("C1", ts, about.SHORTCUT, "U2")
    await until(lambda: "expired_trigger_id" in caplog.text and chosen.acked.is_set())
    slack.choose("C1", ts, "another_apps", "U2")
    slack.say("C1", f"<@{slack.bot_user_id}> hello", person="U1")
    await until(lambda: inbox.said)

    assert inbox.said[0].text == "hello" and "secret words" not in caplog.text


async def test_a_question_that_cannot_be_stored_is_not_confirmed(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox, clock: FakeClock
) -> None:
    form = await opened(slack, "C1", slack.say("C1", "why?", person="U1"))
    inbox.broken = True
    sent = slack.fill_in(form, {"question": "what?"})
    async with asyncio.timeout(PATIENCE):
        while not sent.given_up:
            await clock.advance(1)
            await asyncio.sleep(0.001)

    assert inbox.said == [] and not sent.acked.is_set()


@pytest.mark.parametrize("change", [{"callback_id": "other"}, {"private_metadata": "{"}, {"state": {}}])
async def test_other_forms_and_broken_ones_ask_nothing(
    slack: SlackServer, heard: SlackAdapter, inbox: Inbox, change: dict[str, RawJson]
) -> None:
    form = await opened(slack, "C1", slack.say("C1", "why?", person="U1"))
    person, view = slack.views.submitted(form, {"question": "what?"})
    sent = slack.events.submit(view | change, person, slack.views.trigger(person))
    await until(sent.acked.is_set)

    assert inbox.said == []
