"""Hostile inputs through the whole bot, each on one platform: no ping, no preview, no secret, no markup that acts.

Every version that any person could have seen is looked at, not only the last one.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from bot.app import App
from bot.contract.surface import Pace, Window
from bot.pacing import Pacer
from playground.discord import DiscordServer
from playground.model import Reply
from playground.screen import Shown
from playground.slack import SlackServer
from playground.tavily.pages import CannedPage
from playground.telegram import TelegramServer
from playground.telegram.world import Person
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World, more_than
from tests.journeys.hostile import CASES, Case
from tests.patience import PATIENCE

PLATFORMS = ("telegram", "slack", "discord")
AT_ONCE = 12
"""Cases asked together; more of them cost more than they prove."""

DB_PASSWORD = "Zebra-Crossing%21-canary"
MCP_KEY = "mcp-canary-key-31415926"
SETTINGS = {
    "OPENAI_API_KEY": "sk-canary-openai_0123456789abcdef",
    "TAVILY_API_KEY": "tvly-canary-2718281828",
    "ARK_API_KEY": "ark-canary-1414213562",
    "DATABASES": f"crm=postgresql://reader:{DB_PASSWORD}@127.0.0.1:9/crm",
}
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2060-\u2064\ufeff\u180e\ud800-\udfff]"
    "|(?<![\U000e0020-\U000e007e\U0001f3f4])[\U000e0000-\U000e007f]"
)
ALLOWED_HOSTS = {"known.example", "mine.example"}
BASE64_KEY = base64.b64encode(SETTINGS["OPENAI_API_KEY"].encode()).decode()
PERCENT_KEY = "".join(f"%{ord(sign):02X}" for sign in SETTINGS["OPENAI_API_KEY"])
HREF = re.compile(r'href="([^"]*)"')


def secrets_of(world: World) -> dict[str, str]:
    """Every value that must be seen nowhere, by the name under which the inputs speak of it."""
    environment = world.environment()
    found = {name: value for name, value in environment.items() if name.endswith(("_KEY", "_TOKEN"))}
    return found | {
        "DATABASES": SETTINGS["DATABASES"],
        "DB_PASSWORD": DB_PASSWORD,
        "MCP_KEY": MCP_KEY,
        "BASE64_KEY": BASE64_KEY,
        "PERCENT_KEY": PERCENT_KEY,
    }


def filled(text: str, secrets: dict[str, str]) -> str:
    """The text with its secrets in place."""
    key = secrets["OPENAI_API_KEY"]
    disguised = {
        "ZW_KEY": "\u200b".join(key[start : start + 7] for start in range(0, len(key), 7)),
        "ESC_KEY": key.replace("-", "\\-").replace("_", "\\_"),
        "BOLD_KEY": f"{key[:9]}**{key[9:20]}**{key[20:]}",
        "REF_KEY": "".join(f"&#{ord(sign)};" for sign in key),
        "PERCENT_KEY": PERCENT_KEY,
        "BASE64_KEY": BASE64_KEY,
    }
    return re.sub(r"\$([A-Z_]+)", lambda found: (secrets | disguised).get(found[1], found[0]), text)


@pytest.fixture
async def open_world(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A world without rate limits: two hundred chats answered in seconds."""
    for name in (
        "slack.surface.UPDATE_WINDOW",
        "slack.surface.POST_WINDOW",
        "telegram.surface.BOT_WINDOW",
        "discord.surface.CHANNEL_WINDOW",
        "discord.surface.HOOK_WINDOW",
        "discord.surface.BOT_WINDOW",
    ):
        monkeypatch.setattr(f"adapters.{name}", Window(10_000, 1.0))
    monkeypatch.setattr("adapters.slack.surface.CHANNEL_RATE", 100.0)
    monkeypatch.setattr("adapters.telegram.surface.CHAT_RATE", 100.0)
    enter, often = Pacer.enter, Pace(apart=0.1, fresh=0.1)
    monkeypatch.setattr(Pacer, "enter", lambda self, budgets, pace, **how: enter(self, budgets, often, **how))
    config = world.data / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"x": {"url": "http://127.0.0.1:9/mcp",
                      "headers": {"Authorization": f"Bearer {MCP_KEY}"}}}}))  # fmt: skip
    now = asyncio.get_running_loop().time
    async with (
        TelegramServer(limits=False, now=now) as telegram,
        SlackServer(limits=False, now=now) as slack,
        DiscordServer(limits=False, now=now) as discord,
    ):
        world.telegram, world.slack, world.discord = telegram, slack, discord
        world.settings.update(SETTINGS, MCP_CONFIG=str(config))
        yield world


class Journey:
    """All cases, each in a chat of its own on one platform."""

    def __init__(self, world: World, cases: list[tuple[int, Case]], turn: int) -> None:
        """In three turns each case is asked on all three platforms."""
        self.world = world
        self.cases = cases
        self.turn = turn
        self.secrets = secrets_of(world)
        self.chats: dict[tuple[int, str], str] = {}
        world.model.script = self.script
        world.slack.channel("C1", "general")
        world.discord.guild(1, "Guild")
        world.discord.permit(1, "MENTION_EVERYONE")  # more than the invitation asks for: what is named would be woken
        for number, case in cases:
            if case.page:
                page = CannedPage(f"https://known.example/{number}", self.filled(case.title), self.filled(case.page))
                world.tavily.pages.append(page)

    def filled(self, text: str) -> str:
        return filled(text, self.secrets)

    def script(self, body: RawJson) -> Reply:
        """What the model of a case says: its calls first, then its answer in pieces."""
        asked = " ".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        case = CASES[int(re.findall(r"case-(\d+)", asked)[-1])]
        results = any(message["role"] == "tool" for message in body["messages"])
        if case.calls and not results:
            calls = tuple(
                (name, {key: self.filled(str(value)) for key, value in given.items()}) for name, given in case.calls
            )
            return Reply(calls=calls)
        text = self.filled(case.answer)
        step = -(-len(text) // case.pieces)
        pieces = [text[at : at + step] for at in range(0, len(text), step)]
        return Reply(chunks=tuple({"content": piece} for piece in pieces), words_per_second=max(400.0, len(pieces)))

    def ask(self, cases: list[tuple[int, Case]]) -> None:
        for number, case in cases:
            question = self.filled(f"please answer case-{number} {case.question}")
            platform = self.platform(number)
            say = {"telegram": self._telegram, "slack": self._slack, "discord": self._discord}[platform]
            self.chats[number, platform] = say(number, case, question)

    def platform(self, number: int) -> str:
        return PLATFORMS[(number + self.turn) % len(PLATFORMS)]

    def _telegram(self, number: int, case: Case, question: str) -> str:
        telegram, id = self.world.telegram, 7000 + number
        telegram.person(id, case.person)
        if case.place != "group" and not case.quoted:
            telegram.say(id, question, person=id)
            return str(id)
        telegram.group(-id, case.chat)
        before = 0
        if case.quoted:
            telegram.say(-id, case.quoted, person=Person(8000, case.person))
            before = max(message for chat, message in telegram.world.messages if chat == -id)
        telegram.say(-id, f"@{telegram.bot['username']} {question}", person=id, reply_to=before)
        return str(-id)

    def _slack(self, number: int, case: Case, question: str) -> str:
        slack, id = self.world.slack, f"U{7000 + number}"
        slack.person(id, case.person)
        if case.place == "direct" and not case.quoted:
            place = slack.direct(id)
            slack.say(place, question, person=id)
            return str(place)
        place = f"C{7000 + number}"
        slack.channel(place, case.chat)
        if case.place == "command":
            slack.command("/parley", question, place, id)
        else:
            slack.say(place, f"<@{slack.bot_user_id}> {question}", person=id)
        return place

    def _discord(self, number: int, case: Case, question: str) -> str:
        discord, id = self.world.discord, 7000 + number
        discord.person(id, case.person)
        if case.place == "direct" and not case.quoted:
            direct = discord.direct(id)
            discord.say(direct, question[:1900], person=id)
            return direct.id
        discord.channel(70_000 + number, 1, case.chat)
        place = str(70_000 + number)
        if case.place == "command":
            discord.slash("ask", {"question": question}, place, id)
            return place
        before = discord.say(place, case.quoted, person=id) if case.quoted else ""
        discord.say(place, f"{discord.mention()} {question}"[:1900], person=id, reply_to=before)
        return place

    def messages(self, number: int, platform: str) -> list[Shown]:
        chat = self.chats[number, platform]
        return [message for message in getattr(self.world, platform).screen.messages
                if message.chat == chat and message.author == "bot"]  # fmt: skip

    async def answered(self, bot: App) -> None:
        """Everything asked is answered and stands."""
        async with asyncio.timeout(PATIENCE):
            while not all(self.messages(*key) for key in self.chats):
                await asyncio.sleep(0.02)
        await bot.dispatcher.wait_idle()

    def problems(self) -> list[str]:
        """Everything that no person and no service may have seen."""
        found: list[str] = []
        for number, case in self.cases:
            where = f"{self.platform(number)}, {case.name}"
            messages = self.messages(number, self.platform(number))
            last = "\n".join(message.text for message in messages if not message.deleted)
            for words in case.shown:
                if words not in last:
                    found.append(f"{where}: {words!r} is not shown: {last!r}")
            for message in messages:
                for version in message.versions:
                    found += [f"{where}: {what}" for what in self._wrong(version, case)]
        return found

    def told(self) -> list[tuple[str, str, str]]:
        """(case, words it must not be told, what the model was told) of every case with such words."""
        found = []
        for request in self.world.model.requests:
            texts = {role: [str(message["content"]) for message in request.messages if message["role"] == role]
                     for role in ("user", "tool")}  # fmt: skip
            case = CASES[int(re.findall(r"case-(\d+)", " ".join(texts["user"]))[-1])]
            found += [(case.name, words, "\n".join(texts["user"] + texts["tool"])) for words in case.told]
        return found

    def _wrong(self, version: Any, case: Case) -> list[str]:
        found = []
        for name, secret in self.secrets.items():
            if secret in version.text or secret in version.markup:
                found.append(f"{name} is shown: {version.text[:300]!r}")
        for sign in FORBIDDEN.findall(version.text):
            found.append(f"{sign!r} is shown: {version.text[:300]!r}")
        for words in case.absent:
            words = self.filled(words)
            if words in version.text:
                found.append(f"{words!r} is shown: {version.text[:300]!r}")
        for address in HREF.findall(version.html):
            if not address.startswith("mailto:") and urlsplit(address).hostname not in {*ALLOWED_HOSTS, *case.hosts}:
                found.append(f"a link leads to {address}: {version.markup[:300]!r}")
        return found


def pings(world: World) -> list[Any]:
    return [*world.telegram.screen.pings, *world.slack.pings, *world.discord.pings]


def previews(world: World) -> list[Any]:
    return [*world.telegram.screen.previews, *world.slack.previews, *world.discord.previews]


def refused(world: World) -> list[Any]:
    """Calls that a platform did not take: our markup was wrong, or too long, or too often."""
    calls: list[Any] = [*world.telegram.calls, *world.slack.api.calls, *world.discord.rest.calls]
    return [call for call in calls if call.status >= 400 or getattr(call, "error", "")]


@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.soak) for turn in (1, 2))])
async def test_hostile_inputs_do_nothing_but_show_their_text(turn: int, open_world: World, start: Start) -> None:
    world = open_world
    journey = Journey(world, list(enumerate(CASES)), turn)
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for first in range(0, len(journey.cases), AT_ONCE):
            journey.ask(journey.cases[first : first + AT_ONCE])
            await journey.answered(bot)

    found = [f"pinged: {one}" for one in pings(world)]
    found += [f"fetched for a preview: {one}" for one in previews(world)]
    found += [f"refused: {one}" for one in refused(world)]
    found += journey.problems()
    with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
        stored = "\n".join(db.iterdump())
    asked = "\n".join(json.dumps(request.body, ensure_ascii=False) for request in world.model.requests)
    for name, secret in journey.secrets.items():
        found += [
            f"{name} is {what}" for what, text in (("stored", stored), ("told to the model", asked)) if secret in text
        ]
    for name, words, text in journey.told():
        found += [f"{name}: the model is told {words!r}"] * (words in text)
    assert not found, "\n".join(found)


HOSTILE = "@everyone <!channel> <@U7001> @durov **b** https\\\\://evil.example/x [x](https&#58;//evil.example/y)"


async def test_sentences_of_our_own_do_nothing_with_hostile_words(open_world: World, start: Start) -> None:
    """What a person wrote comes back in refusals, in lists of facts and in notes about tools."""
    world = open_world
    secret = SETTINGS["ARK_API_KEY"]
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "Ada")
    world.slack.person("U7001", "Bob")
    place = world.slack.direct("U7")
    world.model.script = lambda body: (
        Reply("Noted.")
        if body["messages"][-1]["role"] == "tool"
        else Reply(calls=(("remember", {"fact": f"{HOSTILE} {secret}"}),))
    )
    words = [
        f"/model {HOSTILE} {secret}",
        f"/tool {HOSTILE}",
        f"/tool calculator({HOSTILE}",
        "please note it",
        "/memory",
    ]
    async with start("telegram", "slack", TOOL_MODE="native") as bot:
        for number, text in enumerate(words, 1):
            world.telegram.say(7, text, person=7)
            world.slack.say(place, text.removeprefix("/"), person="U7")
            await world.telegram.screen.until(more_than(number - 1, 7))
            await world.slack.screen.until(more_than(number - 1, place))
            await bot.dispatcher.wait_idle()

    assert pings(world) == [] and previews(world) == [] and refused(world) == []
    messages = [*world.telegram.screen.of("7"), *world.slack.screen.of(place)]
    assert "@everyone" in messages[0].text and "@everyone" in messages[4].text
    for message in messages:
        for version in message.versions:
            assert secret not in version.text
            assert not HREF.findall(version.html), version.markup


def test_there_are_enough_hostile_inputs() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 120
