"""Nobody is told what another person keeps: a hundred people on three platforms, each with secrets of their own.

Each has one in what the bot remembers of them, in a file, in what a tool found and in the summary of their chat. The
model repeats all that it is told, so that what came to the wrong person is seen in a request and on a screen.

The long form, with 10,000 turns and three processes: `pytest -m soak tests/journeys/test_isolation.py`;
ISOLATION_TURNS is how many each person has (100).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot import app
from bot.intake.membership import ENDED
from bot.settings.configuration import configure, open_adapters
from bot.store import StoredFacts
from playground.model import Reply
from playground.tavily.pages import CannedPage
from tests.conftest import RawJson
from tests.contract.fleets import Board, OnBoard
from tests.journeys.conftest import Start, World, process_in
from tests.patience import PATIENCE
from tools.documents.kinds import Kind
from tools.documents.reading import Document, DocumentReader, Part

PLATFORMS = ("telegram", "slack", "discord")
KINDS = ("fact", "file", "tool", "summary")
QUESTIONS = (
    "Please remember my word.",
    "Here is a file of mine.",
    "Please search the web for leaf{number}.",
    "What do you remember of me, and what does the file notes.txt say?",
    "What was I told?",
)
"""What each person asks, again and again."""
SETTINGS = {
    "MESSAGES_PER_MINUTE": "0",
    "TOKENS_PER_DAY": "0",
    "TOKENS_PER_DAY_PERSON": "0",
    "MONEY_PER_DAY": "0",
    "MONEY_PER_DAY_PERSON": "0",
    "SUMMARY_AT": "180",
}
_OWN = re.compile(r"(?:canary-|I am |leaf)(\d{4})\b")
_CANARY = re.compile(r"canary-\d{4}-\w+")


@dataclass
class Crowd:
    """People with secrets, and a model that keeps none."""

    world: World
    numbers: range
    chats: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Person → platform and chat."""
    mixed: list[str] = field(default_factory=list)
    """Requests in which the words of several people stand."""
    told: dict[int, set[str]] = field(default_factory=dict)
    """Person → the secrets that the model was told with their last question."""
    answered: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        world = self.world
        world.settings |= SETTINGS
        world.telegram.world.flood.limits = None
        world.model.script = self._script
        for number in self.numbers:
            platform = PLATFORMS[number % len(PLATFORMS)]
            match platform:
                case "telegram":
                    world.telegram.person(number, "Ada")
                    chat = str(number)
                case "slack":
                    world.slack.person(f"U{number}", "Ada")
                    chat = world.slack.direct(f"U{number}")
                case _:
                    world.discord.person(number, "Ada")
                    chat = world.discord.direct(number).id
            self.chats[number] = (platform, chat)
            page = CannedPage(f"https://tea.example/{number}", f"leaf{number}", f"canary-{number}-tool")
            world.tavily.pages.append(page)

    def _say(self, number: int, text: str, content: str) -> None:
        platform, chat = self.chats[number]
        files = [("notes.txt", "text/plain", content.encode())] if content else []
        match platform:
            case "telegram":
                self.world.telegram.say(number, text, person=number, files=files)
            case "slack":
                self.world.slack.say(chat, text, person=f"U{number}", files=files)
            case _:
                self.world.discord.say(chat, text, person=number, files=files)

    async def ask(self, turn: int) -> None:
        """Let everybody ask their next question, and wait until all are answered."""
        kind = turn % len(QUESTIONS)
        for number in self.numbers:
            content = f"This stands in it: canary-{number}-file." if kind == 1 else ""
            self._say(number, f"I am {number}. " + QUESTIONS[kind].format(number=number), content)

        def ended() -> bool:
            return all(self.answered.get(number, 0) > turn for number in self.numbers)

        await until(ended)
        for number in self.numbers:
            await until(lambda number=number: self._shown(number, turn))  # type: ignore[misc]  # bound now

    def _shown(self, number: int, turn: int) -> bool:
        texts = self.texts(number)
        return bool(texts) and f"end {turn}." in texts[-1]

    def texts(self, number: int) -> list[str]:
        platform, chat = self.chats[number]
        return [message.text for message in getattr(self.world, platform).screen.of(chat)]

    def _script(self, body: RawJson) -> Reply:
        whole = json.dumps(body["messages"])
        people = set(_OWN.findall(whole))
        if len(people) != 1:
            self.mixed.append(whole)
        asked = str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])
        # What is asked stands last; a request that mixes several is answered to who asked.
        number = int(_OWN.findall(asked)[-1]) if "I am " in asked else int(min(people))
        secrets = sorted(set(_CANARY.findall(whole)))
        if "You keep the memory of a conversation" in whole:
            return Reply(f"I am {number}. Known: canary-{number}-summary {' '.join(secrets)}")
        if body["messages"][-1]["role"] != "tool":
            if "remember my word" in asked:
                return Reply(
                    whole_calls=True, calls=(("remember", {"fact": f"The word of mine is canary-{number}-fact."}),)
                )
            if "search the web" in asked:
                return Reply(whole_calls=True, calls=(("search_web", {"query": f"leaf{number}"}),))
            if "do you remember of me" in asked:
                look = ("read_file", {"file": "notes.txt", "query": "stands"})
                return Reply(whole_calls=True, calls=(("recall", {"query": "word"}), look))
        turn = self.answered.get(number, 0)
        self.answered[number] = turn + 1
        self.told[number] = set(secrets)
        # In one piece: how answers are streamed is tried elsewhere.
        text = f"I was told {' '.join(secrets)} and so on. " + "Tea is made of leaves. " * 6 + f"The end {turn}."
        return Reply(chunks=({"content": text},), usage={})

    def check(self) -> None:
        """Nothing of one person came to another; and each secret came to its own person, where it could be told."""
        assert not self.mixed, self.mixed[0]
        for number in self.numbers:
            seen = {canary for text in self.texts(number) for canary in _CANARY.findall(text)}
            assert seen == {f"canary-{number}-{kind}" for kind in KINDS}, f"{self.chats[number]}: {seen}"


async def until(seen: Callable[[], bool], seconds: float = PATIENCE * 10) -> None:
    async with asyncio.timeout(seconds):
        while not seen():
            await asyncio.sleep(0.25)


@asynccontextmanager
async def three_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Three whole bots in this process, on one database, each with the places that it is given."""
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    board, stop = Board(), asyncio.Event()
    async with AsyncExitStack() as stack:
        serving = []
        for number in range(3):
            configuration, owner = configure(), OnBoard(board)
            adapters = open_adapters(configuration, PLATFORMS)
            bot = app.App(configuration, adapters, ownership=owner, locks=owner, worker=f"part {number}")
            await stack.enter_async_context(bot)
            owner.release_by(bot.store.writer.run)
            serving.append(asyncio.create_task(bot.serve(stop)))
            await until(lambda bot=bot: bot.platforms.ready)  # type: ignore[misc]  # bound now
        try:
            yield
            assert len({id(owner) for owner in board.places.values()}) == 3, "one of them serves nobody"
        finally:
            stop.set()
            await asyncio.gather(*serving)


async def read_here(self: DocumentReader, path: Path, name: str = "", media_type: str = "") -> Document:
    """Read a text as the program does, without a process for each: a hundred would be half of the test's work."""
    return Document(Kind.TEXT, "", (Part("", await asyncio.to_thread(path.read_text)),))


async def test_a_hundred_people_are_told_nothing_of_each_other(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DocumentReader, "read", read_here)
    crowd = Crowd(world, range(1000, 1100))
    async with start(*PLATFORMS) as bot:
        for turn in range(5):
            await crowd.ask(turn)
            await bot.dispatcher.wait_idle()
            await bot.summaries.wait_idle()
    crowd.check()
    assert sum(crowd.answered.values()) == 500


async def test_people_are_told_nothing_of_each_other_whoever_serves_them(
    world: World, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd(world, range(1000, 1009))
    world.settings["DATABASE_URL"] = postgres_url
    async with three_parts(world, monkeypatch):
        for turn in range(5):
            await crowd.ask(turn)
    crowd.check()


async def test_what_is_mixed_up_anywhere_is_found(world: World, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store returns other people's facts as well, the same questions find it."""
    listed = StoredFacts.list_newest

    async def list_newest(self: StoredFacts, owners: tuple[str, ...], limit: int, *, without: str = "") -> RawJson:
        others = [str(owner) for (owner,) in await self._readers.fetch_rows("SELECT DISTINCT owner FROM facts")]
        return await listed(self, (*owners, *others), limit, without=without)

    monkeypatch.setattr(StoredFacts, "list_newest", list_newest)
    crowd = Crowd(world, range(1000, 1006))
    async with start(*PLATFORMS):
        for turn in range(5):
            await crowd.ask(turn)

    assert crowd.mixed
    with pytest.raises(AssertionError, match="canary-100"):
        crowd.check()


@pytest.mark.soak
async def test_ten_thousand_turns_in_three_processes_tell_nobody_of_another(world: World, postgres_url: str) -> None:
    crowd = Crowd(world, range(1000, 1100))
    world.settings["DATABASE_URL"] = postgres_url
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(process_in(world, None, f"-{number}")) for number in range(3)]
        for process in processes:
            await process.start()
        await until(lambda: all(process.said.count("logged in") == 3 for process in processes))
        turns = int(os.environ.get("ISOLATION_TURNS") or 100)
        for turn in range(turns):
            await crowd.ask(turn)
            for process in processes:
                if process.child.returncode is not None:
                    # A machine with much else to do lets it be taken for frozen. What has started it starts it again.
                    assert process.child.returncode == ENDED, process.said[-2000:]
                    await process.start()
        crowd.check()
        assert sum(crowd.answered.values()) == 100 * turns
        for process in processes:
            assert await process.stop() == 0
