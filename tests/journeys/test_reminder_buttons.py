"""A person looks after reminders with the buttons below their list, on each platform as it is written there."""

from __future__ import annotations

import pytest

from playground.model import Reply
from playground.screen import Shown
from tests.journeys.conftest import Start, World
from tests.journeys.test_controls import ADA, BOB, PLATFORMS, Room

ONCE = ("remind_me", {"text": "Call Mia", "delay": "20 days"})
DAILY = ("remind_me", {"text": "Stretch!", "every": "every weekday at 8"})


class Desk(Room):
    """Where Ada asks for her list: in a group, in Slack in a thread or with its slash command."""

    slash = False

    def ask(self, text: str) -> str:
        if not self.slash:
            return super().ask(text)
        self.world.slack.command("/parley", text, self.chat, f"U{ADA}")
        return ""

    def command(self, words: str) -> None:
        match self.platform:
            case "telegram":
                self.world.telegram.say(-5, f"/{words}", person=ADA)
            case "discord":
                self.world.discord.slash(words, {}, self.chat, ADA)
            case _:
                self.ask(words)

    @property
    def lists(self) -> list[Shown]:
        return [one for one in self.screen.of(self.chat) if "Your reminders here" in one.text]

    async def listed(self) -> Shown:
        """Ada's list, asked for anew."""
        before = len(self.lists)
        self.command("reminders")
        await self.until(lambda: len(self.lists) > before)
        return self.lists[-1]

    async def told(self, text: str) -> None:
        """Wait until who pressed was told something that only they see."""
        await self.until(lambda: any(text in one for one in self.heard()))


@pytest.mark.parametrize("place", [*PLATFORMS, "slack command"])
async def test_reminders_are_paused_resumed_and_deleted_below_their_list(
    world: World, start: Start, place: str
) -> None:
    platform, _, slash = place.partition(" ")
    desk = Desk(world, platform)
    world.model.reply(Reply("Hello."), Reply(calls=(ONCE, DAILY)), Reply("I will."))
    async with start(platform, TOOL_MODE="native") as bot:
        await desk.ready(1)
        if platform == "discord":
            await desk.until(lambda: world.discord.commands.registered.get(""))
        # Only where the bot has written, a slash command of Slack says that it is a member.
        desk.ask("hello")
        await desk.answered("Hello.")
        desk.slash = bool(slash)
        desk.ask("remind me of both")
        await desk.until(lambda: any(one.text.endswith("I will.") for one in desk.shown))
        await bot.dispatcher.wait_idle()

        first = await desk.listed()
        assert sorted(first.buttons) == ["⏸ Pause 2", "🗑 Delete 1", "🗑 Delete 2"]
        desk.press(first, "⏸ Pause 2")
        await desk.told("Reminder 2 is paused until you resume it.")
        await desk.until(lambda: "▶️ Resume 2" in desk.lists[0].buttons)
        assert "paused" in desk.lists[0].text and "⏸ Pause 2" not in desk.lists[0].buttons
        second = await desk.listed()
        desk.press(first, "▶️ Resume 2")
        await desk.told("Reminder 2 continues")
        await desk.until(lambda: "⏸ Pause 2" in desk.lists[0].buttons and "paused" not in desk.lists[0].text)
        desk.press(first, "🗑 Delete 1")
        await desk.told("Reminder 1 is deleted.")
        await desk.until(lambda: desk.lists[0].buttons == ["⏸ Pause 2", "🗑 Delete 2"])
        # One that shows what is there no more, too, shows what is there once somebody presses it.
        desk.press(second, "🗑 Delete 1")
        await desk.told("You have no reminder 1 here")
        await desk.until(lambda: desk.lists[1].buttons == ["⏸ Pause 2", "🗑 Delete 2"])
        desk.press(second, "🗑 Delete 2")
        await desk.until(lambda: len(desk.lists) == 1)
        assert desk.lists[0].buttons == ["⏸ Pause 2", "🗑 Delete 2"]
        await bot.dispatcher.wait_idle()


async def test_somebody_elses_press_changes_nothing_of_mine(world: World, start: Start) -> None:
    desk = Desk(world, "telegram")
    world.model.reply(Reply(calls=(ONCE, DAILY)), Reply("I will."))
    async with start("telegram", TOOL_MODE="native") as bot:
        desk.ask("remind me of both")
        await desk.until(lambda: any(one.text == "I will." for one in desk.shown))
        await bot.dispatcher.wait_idle()
        listed = await desk.listed()
        rows = world.telegram.world.messages[-5, int(listed.id)].keyboard["inline_keyboard"]
        assert [len(row) for row in rows] == [2, 1], "one row for each reminder"

        for button in listed.buttons:
            desk.press(listed, button, BOB)
        await desk.until(lambda: len(desk.heard()) == 3)
        assert {text.split(" here")[0] for text in desk.heard()} == {"You have no reminder 1", "You have no reminder 2"}
        assert (await desk.listed()).buttons == listed.buttons


async def test_without_buttons_the_list_has_none(world: World, start: Start) -> None:
    desk = Desk(world, "telegram")
    world.model.reply(Reply(calls=(DAILY,)), Reply("I will."))
    async with start("telegram", TOOL_MODE="native", REPLY_BUTTONS="false") as bot:
        desk.ask("remind me of it")
        await desk.until(lambda: any(one.text == "I will." for one in desk.shown))
        await bot.dispatcher.wait_idle()
        assert (await desk.listed()).buttons == []
