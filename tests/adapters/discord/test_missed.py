"""What was written while no session listened: where it is looked for, how far back, and in which order."""

from __future__ import annotations

import pytest

from bot.contract import LeftOff, MessageSent, StoreError
from tests.adapters.discord.conftest import Stage, Wait
from tests.conftest import FakeClock


async def test_of_a_long_channel_the_newest_are_found_in_their_order_before_what_comes_now(
    stage: Stage, wait: Wait, clock: FakeClock
) -> None:
    mention = stage.server.mention()
    for number in range(620):
        stage.server.say(stage.place, f"{mention} {number}", person=1)
    adapter, left = await stage.enter(), LeftOff(since=clock.wall() - 60)

    async def find() -> LeftOff:
        return left

    adapter.find_left_off = find
    await stage.listen(adapter)
    stage.server.say(stage.place, f"{mention} now", person=1)
    await wait(lambda: len(stage.mailbox.stored) == 501)

    # What comes while they are looked up may be among them, too; the store knows it by its id.
    texts = list(dict.fromkeys(one.text for one in stage.mailbox.stored if isinstance(one, MessageSent)))
    assert texts in ([*map(str, range(first, 620)), "now"] for first in (120, 121))
    await wait(lambda: adapter.heard)


async def test_where_the_store_does_not_say_since_when_nothing_counts_as_heard(
    stage: Stage, wait: Wait, caplog: pytest.LogCaptureFixture
) -> None:
    stage.server.say(stage.place, f"{stage.server.mention()} before", person=1)
    adapter = await stage.enter()

    async def find() -> LeftOff:
        raise StoreError("locked")

    adapter.find_left_off = find
    await stage.listen(adapter)
    stage.server.say(stage.place, f"{stage.server.mention()} now", person=1)
    await wait(lambda: stage.mailbox.stored)

    await wait(lambda: adapter.listening)
    assert not adapter.heard
    assert "looked up later: locked" in caplog.text and len(stage.mailbox.stored) == 1


async def test_channels_that_the_bot_may_not_read_are_not_asked_for(stage: Stage, wait: Wait, clock: FakeClock) -> None:
    hidden = stage.server.channel(21, 10, "staff")
    thread = stage.server.thread(hidden, "aside")
    for place in (stage.place, hidden, thread):
        stage.server.say(place, f"{stage.server.mention()} before", person=1)
    stage.server.deny(hidden, "READ_MESSAGE_HISTORY")
    adapter, left = await stage.enter(), LeftOff(since=clock.wall() - 60)

    async def find() -> LeftOff:
        return left

    adapter.find_left_off = find
    await stage.listen(adapter)
    await wait(lambda: adapter.heard)

    assert len(stage.mailbox.stored) == 1
    read = [call.parameters.get("channel") for call in stage.server.calls if call.method == "GET"]
    assert hidden.id not in read and thread.id not in read
