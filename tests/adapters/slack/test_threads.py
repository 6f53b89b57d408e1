"""What others wrote in a Slack thread before a question, read through the real library."""

from __future__ import annotations

import pytest

from adapters.slack.adapter import SlackAdapter
from adapters.slack.threads import PAGE, REMEMBERED_SECONDS, SlackThread
from bot.contract import ChatId, DeliveryError, MessageSent, RateLimited, ReplyTarget, Sender
from playground.faults import Fault
from playground.slack import SlackServer
from tests.conftest import FakeClock


def question(slack: SlackServer, thread: str, id: str) -> MessageSent:
    return MessageSent(
        delivery="1",
        chat=ChatId("slack", slack.team_id, "C1", thread),
        sender=Sender(id="slack:T1/U1", name="ann"),
        target=ReplyTarget("slack"),
        sent_at=0.0,
        text="what do they say?",
        message_id=id,
    )


def before(slack: SlackServer, adapter: SlackAdapter, root: str) -> SlackThread:
    """Reads the messages before a question that is asked in the thread now."""
    asked = slack.say("C1", f"<@{slack.bot_user_id}> what do they say?", person="U1", thread_ts=root)
    found = adapter.earlier(question(slack, root, asked))
    assert found is not None
    return found


@pytest.mark.parametrize(("thread", "id"), [("", "5.0"), ("5.0", "5.0"), ("4.0", "")])
async def test_what_begins_its_thread_or_stands_in_none_has_nothing_before_it(
    slack: SlackServer, adapter: SlackAdapter, thread: str, id: str
) -> None:
    assert adapter.earlier(question(slack, thread, id)) is None


async def test_people_are_read_with_their_names_and_notices_and_commands_are_not(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    root = slack.say("C1", "the sky is green", person="U2")
    slack.say("C1", "<@U2> has joined", person="U2", thread_ts=root, subtype="channel_join")
    slack.say("C1", f"<@{slack.bot_user_id}> new", person="U2", thread_ts=root)
    slack.say("C1", "<@U2> it is &lt;blue&gt;", person="U1", thread_ts=root)

    found, following = await before(slack, adapter, root).page(0.0, "")

    assert [(one.author, one.text) for one in found] == [("bob", "the sky is green"), ("ann", "@bob it is <blue>")]
    assert following == ""


async def test_what_was_told_before_is_not_read_again_though_slack_gives_the_root_each_time(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    root = slack.say("C1", "root", person="U2")
    old = slack.say("C1", "old", person="U2", thread_ts=root)
    slack.say("C1", "new", person="U2", thread_ts=root)

    found, _ = await before(slack, adapter, root).page(float(old), "")

    assert [one.text for one in found] == ["new"]


async def test_a_long_thread_is_read_page_by_page(slack: SlackServer, adapter: SlackAdapter) -> None:
    root = slack.say("C1", "0", person="U2")
    for number in range(1, PAGE + 2):
        slack.say("C1", str(number), person="U2", thread_ts=root)
    thread = before(slack, adapter, root)

    first, cursor = await thread.page(0.0, "")
    second, end = await thread.page(0.0, cursor)

    assert [one.text for one in (*first, *second)] == [str(number) for number in range(PAGE + 2)]
    assert (len(first), end) == (PAGE, "")


async def test_the_operator_is_told_which_scope_is_missing(slack: SlackServer, adapter: SlackAdapter) -> None:
    thread = before(slack, adapter, slack.say("C1", "root", person="U2"))
    slack.scopes.difference_update({"channels:history", "groups:history", "im:history", "mpim:history"})

    with pytest.raises(DeliveryError, match=r"the scope .*:history.* is missing; add it under OAuth"):
        await thread.page(0.0, "")


async def test_a_missing_scope_is_remembered_for_a_while_and_in_places_of_its_kind_alone(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    thread = before(slack, adapter, slack.say("C1", "root", person="U2"))
    held = set(slack.scopes)

    def asked() -> int:
        return sum(call.method == "conversations.replies" for call in slack.calls)

    slack.scopes.difference_update({"channels:history", "groups:history", "im:history", "mpim:history"})
    for _ in range(2):
        with pytest.raises(DeliveryError, match="is missing"):
            await thread.page(0.0, "")
    assert asked() == 1
    adapter.workspace._missing.check("D1")

    slack.scopes.update(held)
    await clock.advance(REMEMBERED_SECONDS)
    found, _ = await thread.page(0.0, "")

    assert [one.text for one in found] == ["root"] and asked() == 2


async def test_a_pause_holds_for_reading_threads_alone(slack: SlackServer, adapter: SlackAdapter) -> None:
    thread = before(slack, adapter, slack.say("C1", "root", person="U2"))
    slack.faults.add("conversations.replies", Fault(status=429, retry_after=7))

    with pytest.raises(RateLimited) as caught:
        await thread.page(0.0, "")

    assert (caught.value.retry_after, caught.value.scope) == (7, thread.cost.budgets[0].scope)
