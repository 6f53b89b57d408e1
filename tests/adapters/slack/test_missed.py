"""What was written while the bot was away: where it is looked for, at which rate, and when it is left to Slack."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.slack.adapter import SlackAdapter, open_adapter
from adapters.slack.limits import MISSED_HISTORY_WINDOW
from adapters.slack.missed import SECONDS, Missed
from adapters.slack.workspace import Workspace
from bot.contract import ChatId, LeftOff, StoreError, Unreachable
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import settings_of
from tests.conftest import FakeClock


class Away:
    """A bot that comes back to a workspace; what it looks up is put on a list."""

    def __init__(self, slack: SlackServer, adapter: SlackAdapter, clock: FakeClock) -> None:
        self.slack, self.clock = slack, clock
        self.found: list[dict[str, Any]] = []
        self.refuses = 0
        self.missed = Missed(self._workspace, self._take_in, clock)
        self._home = adapter.workspace
        self.left = LeftOff(since=clock.wall() - 100)

    def _workspace(self, team: object) -> Workspace:
        if team != self.slack.team_id:
            raise Unreachable("the app is not installed there")
        return self._home

    async def _take_in(self, body: dict[str, Any]) -> bool:
        if self.refuses:
            self.refuses -= 1
            return False
        self.found.append(body)
        return True

    async def find(self) -> LeftOff | None:
        return self.left

    def chat(self, channel: str, thread: str = "", team: str = "") -> ChatId:
        return ChatId("slack", team or self.slack.team_id, channel, thread)

    async def catch_up(self, *, shared: bool = False) -> list[str]:
        """The texts that were found."""
        task = asyncio.create_task(self.missed.catch_up(self.find, lambda: True, [self._home], shared=shared))
        while not task.done():
            await self.clock.advance(1.0)
        await task
        return [body["event"]["text"] for body in self.found]


@pytest.fixture
def away(slack: SlackServer, adapter: SlackAdapter, clock: FakeClock) -> Away:
    return Away(slack, adapter, clock)


async def test_several_processes_leave_to_slack_what_it_sends_again(away: Away) -> None:
    away.slack.say("C1", "meanwhile", person="U1")
    away.left = LeftOff(since=away.clock.wall() - 100, groups=(away.chat("C1"),))
    assert await away.catch_up(shared=True) == []
    away.left = LeftOff(since=away.clock.wall() - 1000, groups=(away.chat("C1"),))
    assert await away.catch_up(shared=True) == ["meanwhile"]


async def test_it_waits_for_the_store_and_for_a_connection(away: Away) -> None:
    away.slack.say("C1", "meanwhile", person="U1")
    left = LeftOff(since=away.clock.wall() - 100, groups=(away.chat("C1"),))
    answers: list[LeftOff | None] = [None, None, left]
    listens = False

    async def find() -> LeftOff | None:
        if (answer := answers.pop(0)) is None:
            raise StoreError("locked")
        return answer

    task = asyncio.create_task(away.missed.catch_up(find, lambda: listens, [], shared=False))
    await away.clock.advance(60.0)
    assert not answers and not away.found
    listens = True
    while not task.done():
        await away.clock.advance(1.0)
    assert len(away.found) == 1


async def test_a_workspace_without_the_app_and_a_channel_without_the_bot_are_left_out(
    away: Away, caplog: pytest.LogCaptureFixture
) -> None:
    away.slack.say("C1", "meanwhile", person="U1")
    chats = (away.chat("C9", team="T9"), away.chat("C2"), away.chat("C1"))
    away.left = LeftOff(since=away.clock.wall() - 100, groups=chats)

    assert await away.catch_up() == ["meanwhile"]
    assert "C9" in caplog.text and "C2" not in caplog.text


async def test_pages_are_read_to_the_end_at_a_rate_that_slack_allows(away: Away) -> None:
    for number in range(250):
        away.slack.say("C1", str(number), person="U1")
    away.slack.faults.add("conversations.history", Fault(status=429, retry_after=30.0))
    many = tuple(away.chat(away.slack.channel(f"C{number}").id) for number in range(100, 130))
    away.left = LeftOff(since=away.clock.wall() - 100, groups=(away.chat("C1"), *many))
    began = away.clock.monotonic()

    assert await away.catch_up() == [str(number) for number in range(250)]
    assert away.clock.monotonic() - began > 60.0 * (len(many) + 2) / MISSED_HISTORY_WINDOW.calls - 61.0


async def test_what_takes_too_long_is_given_up_with_a_line_in_the_log(
    away: Away, caplog: pytest.LogCaptureFixture
) -> None:
    away.slack.faults.add("conversations.history", Fault(status=429, retry_after=SECONDS))
    away.left = LeftOff(since=away.clock.wall() - 100, groups=(away.chat("C1"),))

    assert await away.catch_up() == []
    assert "not everything that was written meanwhile" in caplog.text


async def test_what_cannot_be_stored_at_once_is_stored_later_and_nobody_of_elsewhere_counts_as_ours(
    away: Away,
) -> None:
    away.slack.say("C1", "meanwhile", person="U1")
    away.left, away.refuses = LeftOff(since=away.clock.wall() - 100, groups=(away.chat("C1"),)), 2

    assert await away.catch_up() == ["meanwhile"]
    assert away.found[0]["is_ext_shared_channel"] is True


@pytest.mark.parametrize(
    ("missing", "found"),
    [((), ["alone", "first", "new"]), (("im:read",), ["first", "new"]), (("channels:read", "im:read"), ["first"])],
)
async def test_where_nobody_asked_before_it_is_found_as_far_as_the_token_may_list_conversations(
    slack: SlackServer, clock: FakeClock, missing: tuple[str, ...], found: list[str]
) -> None:
    slack.scopes.difference_update(missing)
    async with open_adapter(settings_of(slack), clock) as adapter:
        away = Away(slack, adapter, clock)
        slack.channel("C3", "new")
        for channel, text in (("C1", "first"), ("C3", "new"), (slack.direct("U2"), "alone")):
            slack.say(channel, text, person="U2")
        away.left = LeftOff(since=clock.wall() - 100, groups=(away.chat("C1"),))

        assert sorted(await away.catch_up()) == found
