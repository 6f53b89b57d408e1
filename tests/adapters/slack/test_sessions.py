"""An agent's session: Slack shows that it works, with a Stop button of its own, until the app says that it does not."""

from __future__ import annotations

import logging

import pytest

from adapters.slack.adapter import SlackAdapter, open_adapter
from adapters.slack.surface import SlackSurface
from bot.contract import Page
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import settings_of, thread_target, until
from tests.conftest import FakeClock
from tests.surfaces import show

METHOD = "agents.sessions.setStatus"


@pytest.fixture
async def agent(slack: SlackServer, clock: FakeClock) -> SlackAdapter:
    """The app is declared an agent, and hears of Stop."""
    slack.scopes.add("assistant:write")
    slack.subscriptions.add("agent_session_stopped")
    return open_adapter(settings_of(slack), clock)


def status(slack: SlackServer, surface: SlackSurface) -> str:
    return slack.workspace.sessions.get(("C1", surface._thread), "")


async def settled(slack: SlackServer, calls: int) -> None:
    """Wait until so many calls are answered."""
    await until(lambda: asked(slack) >= calls and all(call.status for call in slack.calls))


def asked(slack: SlackServer) -> int:
    return sum(call.method == METHOD for call in slack.calls)


async def opened(agent: SlackAdapter, slack: SlackServer) -> SlackSurface:
    surface = agent.surface(thread_target(slack))
    assert isinstance(surface, SlackSurface)
    return surface


async def test_a_session_works_until_the_sign_is_taken_away(
    agent: SlackAdapter, slack: SlackServer, clock: FakeClock
) -> None:
    async with agent:
        surface = await opened(agent, slack)
        assert surface.limits.typing_stays and METHOD in surface.cost(None, None).budgets[0].scope
        await surface.typing("is thinking…")
        await settled(slack, 1)
        await show(surface, Page("Words."), None, "t1-0")
        assert status(slack, surface) == "processing"

        await surface.typing("")
        await settled(slack, 2)

        assert status(slack, surface) == "active"
        assert "assistant.threads.setStatus" not in {call.method for call in slack.calls}


async def test_what_is_left_to_take_away_is_taken_away_when_the_adapter_closes(
    agent: SlackAdapter, slack: SlackServer
) -> None:
    async with agent:
        surface = await opened(agent, slack)
        await surface.typing("is thinking…")
        await surface.typing("")

    assert status(slack, surface) in ("active", "")


async def test_the_end_of_a_session_is_tried_until_slack_takes_it(
    agent: SlackAdapter, slack: SlackServer, clock: FakeClock
) -> None:
    async with agent:
        surface = await opened(agent, slack)
        await surface.typing("is thinking…")
        await settled(slack, 1)
        slack.faults.add(METHOD, Fault(status=429, retry_after=7))
        slack.faults.add(METHOD, Fault(drop="before"))
        await surface.typing("")
        await settled(slack, 2)
        await clock.sleeper()
        await clock.advance(7.0)
        await until(lambda: asked(slack) >= 3)
        await clock.sleeper()
        await clock.advance(1.0)
        await until(lambda: status(slack, surface) == "active")

        assert asked(slack) == 4


async def test_an_app_that_is_no_agent_says_so_once_and_shows_a_status(
    agent: SlackAdapter, slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with agent:
        slack.scopes.discard("assistant:write")
        surface = await opened(agent, slack)
        with caplog.at_level(logging.INFO, "adapters.slack"):
            await surface.typing("is thinking…")
            await settled(slack, 1)
            await until(lambda: not agent.workspace._sessions.possible)
        await surface.typing("is thinking…")

        assert asked(slack) == 1 and "the app is not an agent (not_authorized)" in caplog.text
        assert slack.status("C1", surface._thread) == "is thinking…"


async def test_without_the_event_of_stop_no_session_is_shown(
    agent: SlackAdapter, slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.subscriptions.discard("agent_session_stopped")
    async with agent:
        surface = await opened(agent, slack)
        await surface.typing("is thinking…")
        await until(lambda: status(slack, surface) == "active")

        assert "subscribe to the bot event agent_session_stopped" in caplog.text
        assert not agent.workspace._sessions.possible


async def test_a_stop_where_nothing_is_at_work_takes_the_button_away(agent: SlackAdapter, slack: SlackServer) -> None:
    async with agent:
        surface = await opened(agent, slack)
        slack.workspace.sessions["C1", surface._thread] = "processing"
        agent.workspace._sessions.stopped("C1", surface._thread)
        await until(lambda: status(slack, surface) == "active")

        await surface.typing("is thinking…")
        await settled(slack, 2)
        agent.workspace._sessions.stopped("C1", surface._thread)
        await settled(slack, 2)
        assert status(slack, surface) == "processing"


async def test_only_who_sees_the_button_can_press_it(agent: SlackAdapter, slack: SlackServer) -> None:
    async with agent:
        surface = await opened(agent, slack)
        with pytest.raises(KeyError):
            slack.stop_session("C1", surface._thread, "U1")
