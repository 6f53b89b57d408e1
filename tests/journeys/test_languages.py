"""A person is spoken to in their own language and script, whatever platform they write on."""

from __future__ import annotations

import asyncio

import pytest

from bot.app import App
from playground.faults import Fault
from playground.model import Reply
from playground.screen import Shown
from tests.journeys.conftest import Start, World

ADA = 7
ASKED = {"zh-Hant": "幫我上網查一下綠茶現在的價格", "zh-Hans": "帮我上网查一下绿茶现在的价格"}
DEVICES = {"zh-Hant": ("zh-hant", "zh-TW"), "zh-Hans": ("zh-hans", "zh-CN")}
SEARCHING = {"zh-Hant": "🔎 正在搜尋網路：green tea", "zh-Hans": "🔎 正在搜索网页：green tea"}
LABELS = {"zh-Hant": "「green tea」的搜尋結果：", "zh-Hans": "“green tea”的搜索结果："}
TOOLS = {"zh-Hant": ("查資料", "搜尋網路 · search_web"), "zh-Hans": ("查资料", "搜索网页 · search_web")}
HELP = {"zh-Hant": "開始新的對話", "zh-Hans": "开始新的对话"}
MISSING = {"zh-Hant": "沒有執行 calculator：缺少 expression。", "zh-Hans": "没有运行 calculator：缺少 expression。"}


class Desk:
    """Ada's direct messages with the bot; in Slack a thread of a channel, where a status can stand."""

    def __init__(self, world: World, platform: str, script: str) -> None:
        self.world, self.platform = world, platform
        self.screen = getattr(world, platform).screen
        match platform:
            case "telegram":
                world.telegram.person(ADA, "Ada", language_code=DEVICES[script][0])
                self.place = str(ADA)
            case "slack":
                world.slack.person("U7", "Ada")
                world.slack.channel("C1", "general")
                self.place = "C1"
            case _:
                world.discord.person(ADA, "Ada").locale = DEVICES[script][1]
                self.direct = world.discord.direct(ADA)
                self.place = self.direct.id

    def ask(self, text: str) -> None:
        match self.platform:
            case "telegram":
                self.world.telegram.say(ADA, text, person=ADA)
            case "slack":
                self.world.slack.say("C1", f"<@{self.world.slack.bot_user_id}> {text}", person="U7")
            case _:
                self.world.discord.say(self.direct, text, person=ADA)

    def command(self, word: str, argument: str = "") -> None:
        match self.platform:
            case "telegram":
                self.world.telegram.say(ADA, f"/{word} {argument}".rstrip(), person=ADA)
            case "slack":
                self.world.slack.command("/parley", f"{word} {argument}".rstrip(), "C1", "U7")
            case _:
                options = dict(zip(("name", "arguments"), argument.split(maxsplit=1), strict=False))
                self.world.discord.slash(word, options, self.direct, ADA)

    def messages(self) -> list[Shown]:
        return [one for one in self.screen.of(self.place) if not one.live]

    async def told(self, bot: App, word: str, argument: str = "") -> str:
        """The answer to a command."""
        before = len(self.messages())
        self.command(word, argument)
        await self.screen.until(lambda _: len(self.messages()) > before and self.messages()[-1].text)
        await bot.dispatcher.wait_idle()
        return str(self.messages()[-1].text)


@pytest.mark.parametrize("script", ASKED)
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_person_reads_their_own_script_everywhere(
    world: World, start: Start, platform: str, script: str
) -> None:
    searched, thought = asyncio.Event(), asyncio.Event()
    world.tavily.faults.add("search", Fault(hold=searched))
    world.model.reply(Reply(calls=(("search_web", {"query": "green tea"}),)), Reply("Tea."))
    async with start(platform, TOOL_MODE="native") as bot:
        desk = Desk(world, platform, script)
        if platform == "discord":
            await desk.screen.until(lambda _: world.discord.commands.registered.get(""))
        if platform == "slack":
            world.model.faults.add("*", Fault(hold=thought))
        else:
            # Nothing was written yet: the device tells.
            assert HELP[script] in await desk.told(bot, "help")

        desk.ask(ASKED[script])
        if platform == "slack":
            await desk.screen.until(lambda screen: any(what == "status:正在思考…" for _, _, what in screen.notices))
            thought.set()
        await desk.screen.until(
            lambda _: any(SEARCHING[script] in version.text for one in desk.messages() for version in one.versions)
        )
        searched.set()
        await bot.dispatcher.wait_idle()
        tools = await desk.told(bot, "tools")
        wrong = await desk.told(bot, "tool", "calculator")
        helped = await desk.told(bot, "help")

    assert LABELS[script] in str(world.model.requests[-1].messages[-1]["content"])
    assert all(words in tools.replace("`", "") for words in TOOLS[script])
    assert MISSING[script] in wrong
    assert f"{'/parley tool' if platform == 'slack' else '/tool'} calculator expression=…" in wrong
    assert HELP[script] in helped
