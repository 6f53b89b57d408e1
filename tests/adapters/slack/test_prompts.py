"""What an agent suggests before anything was asked, and the titles of its conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.slack.adapter import SlackAdapter, open_adapter
from adapters.slack.events import Me, incoming
from adapters.slack.prompts import REMEMBERED_SECONDS, Prompts
from bot.contract import ChatId, MessageSent, ReplyTarget, Sender
from bot.sentences import say
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import settings_of, until
from tests.conftest import FakeClock

METHOD = "assistant.threads.setSuggestedPrompts"
REFUSED = '{"ok": false, "error": "%s"}'


@pytest.fixture
async def agent(slack: SlackServer, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    """The app is declared an agent, and hears of everything that agents hear of."""
    slack.scopes.add("assistant:write")
    slack.subscriptions.update({"agent_session_stopped", "assistant_thread_started", "app_home_opened"})
    async with open_adapter(settings_of(slack), clock) as adapter:
        yield adapter


def asked(slack: SlackServer) -> int:
    return sum(call.method == METHOD for call in slack.calls)


async def delivered(adapter: SlackAdapter, slack: SlackServer) -> bool:
    """Hand the newest event to the adapter, as its socket does; False leaves it unacknowledged."""

    async def deliver(told: object) -> None:
        raise AssertionError(f"nobody asked anything: {told}")

    return await adapter._take_in(slack.deliveries[-1].payload, deliver)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
async def test_a_new_thread_of_an_agent_gets_suggestions_in_its_persons_language(
    agent: SlackAdapter, slack: SlackServer, locale: str
) -> None:
    slack.person("U1").locale = locale
    thread = slack.start_assistant_thread("U1")

    assert await delivered(agent, slack)

    prompts = slack.workspace.prompts[slack.direct("U1"), thread]
    assert prompts[0]["message"] == say("prompt_help", locale)
    assert len(prompts) == 3 and all(one["title"] == one["message"] for one in prompts)


async def test_the_newer_kind_of_agent_gets_them_where_its_messages_are_opened_once(
    agent: SlackAdapter, slack: SlackServer, clock: FakeClock
) -> None:
    slack.open_messages_tab("U1")
    assert await delivered(agent, slack) and await delivered(agent, slack)
    assert asked(slack) == 1

    async with open_adapter(settings_of(slack), clock) as later:
        assert await delivered(later, slack)

    assert list(slack.workspace.prompts) == [(slack.direct("U1"), "")], "those of the next process replace the first"


async def test_a_refusal_is_remembered_for_a_while_and_costs_nothing_else(
    agent: SlackAdapter, slack: SlackServer, clock: FakeClock
) -> None:
    slack.faults.add(METHOD, Fault(status=200, body=REFUSED % "missing_scope"))
    for _ in range(3):
        slack.open_messages_tab("U1")
        assert await delivered(agent, slack)
    assert asked(slack) == 1 and not slack.workspace.prompts

    await clock.advance(REMEMBERED_SECONDS)
    slack.open_messages_tab("U1")
    assert await delivered(agent, slack) and slack.workspace.prompts


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=200, body=REFUSED % "invalid_thread_ts"),
        Fault(status=200, body=REFUSED % "internal_error"),
        Fault(drop="before"),
    ],
    ids=["place", "away", "lost"],
)
async def test_what_says_nothing_about_the_next_place_is_not_remembered(
    agent: SlackAdapter, slack: SlackServer, fault: Fault
) -> None:
    slack.faults.add(METHOD, fault)
    for _ in range(2):
        slack.start_assistant_thread("U1")
        assert await delivered(agent, slack)
    assert asked(slack) == 2 and len(slack.workspace.prompts) == 1


async def test_an_opening_that_names_nobody_is_left_alone(agent: SlackAdapter, slack: SlackServer) -> None:
    slack.send_event({"type": "app_home_opened", "tab": "messages"})
    assert await delivered(agent, slack) and not asked(slack)


async def test_an_app_that_is_no_agent_suggests_nothing(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    slack.subscriptions.add("app_home_opened")
    slack.open_messages_tab("U1")
    assert await delivered(adapter, slack) and not asked(slack)


def test_only_openings_of_conversations_are_taken_for_them() -> None:
    assert not Prompts.is_opened({"type": "block_actions"})
    assert not Prompts.is_opened({"type": "event_callback"})
    assert not Prompts.is_opened({"type": "event_callback", "event": {"type": "app_home_opened", "tab": "home"}})


def test_a_direct_message_to_an_agent_is_a_conversation_of_its_own() -> None:
    event = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": "why?", "ts": "5.1"}
    payload = {"type": "event_callback", "event_id": "E1", "event": event}

    def thread(me: Me) -> str:
        told = incoming(payload, me, str, now=0.0)
        assert told is not None
        return told.chat.thread

    assert (thread(Me("T1", "UB")), thread(Me("T1", "UB", agent=True))) == ("", "5.1")


async def test_the_title_of_a_session_is_its_first_question(agent: SlackAdapter, slack: SlackServer) -> None:
    """Also after a restart: Slack takes one for a new session alone."""
    channel = slack.direct("U1")
    root = slack.say(channel, "why?", person="U1")
    data = {"team": slack.team_id, "channel": channel, "thread": root, "user": "U1", "asked": root}
    chat, sender = ChatId("slack", slack.team_id, channel, root), Sender(id="slack:T1/U1")
    first = MessageSent(delivery="1", chat=chat, sender=sender, target=ReplyTarget("slack", data), text="Why so blue?")
    for question in (first, replace(first, text="And red?")):
        surface = agent.surface(question.titled)
        await surface.typing("is thinking…")
        await until(lambda: slack.workspace.sessions.get((channel, root)) == "processing")
        await surface.typing("")
        await until(lambda: slack.workspace.sessions.get((channel, root)) == "active")

    assert slack.workspace.titles == {(channel, root): "Why so blue?"}
