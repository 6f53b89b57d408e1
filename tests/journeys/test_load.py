"""Many messages at once, and single ones that are enormous: everything is answered or refused, nothing blocks."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bot import app, sentences
from bot.contract.clock import SystemClock
from bot.contract.limits import Limits
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.settings.configuration import configure, open_adapters
from bot.store import Store
from playground.model import Reply
from playground.tavily.pages import CannedPage
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World
from tests.patience import PATIENCE

WAITING = sentences.say("queue_full_person", "en")


def resident(pid: int) -> float:
    """MiB of memory that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


async def until(seen: Callable[[], object], seconds: float = PATIENCE, every: float = 0.02) -> None:
    async with asyncio.timeout(seconds):
        while not seen():
            await asyncio.sleep(every)


def asked(body: RawJson) -> str:
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


def all_ended(world: World, count: int) -> bool:
    """Whether there are so many messages, and all came to an end."""
    found = states(world)
    return found.total() == count and not found["new"] + found["running"]


def states(world: World) -> Counter[str]:
    """How many messages came to which end."""
    with closing(sqlite3.connect(f"file:{world.data}/parley.db?mode=ro", uri=True)) as db:
        return Counter(dict(db.execute("SELECT state, count(*) FROM inbox GROUP BY state")))


def check(world: World, chats: range) -> int:
    """Answers stand in their own chats, in the order of the questions, once each; how many there are."""
    answers = 0
    for chat in chats:
        texts = [message.text for message in world.telegram.screen.of(str(chat))]
        numbers = []
        for text in texts:
            if WAITING in text:
                continue
            found = re.fullmatch(r"Answer (\d+) for chat (\d+): all is well\.", text)
            assert found is not None and int(found[2]) == chat, f"chat {chat}: {text!r}"
            numbers.append(int(found[1]))
        assert numbers == sorted(set(numbers)), f"chat {chat}: {numbers}"
        answers += len(numbers)
    return answers


def answering(world: World) -> None:
    def script(body: RawJson) -> Reply:
        number, chat = re.findall(r"\d+", asked(body))
        return Reply(f"Answer {number} for chat {chat}: all is well.")

    world.model.script = script
    world.telegram.world.flood.limits = None


def say(world: World, chat: int, number: int) -> None:
    world.telegram.person(chat, f"P{chat}")
    world.telegram.say(chat, f"please answer number {number} for chat {chat}", person=chat)


async def test_a_crowd_is_answered_in_order_or_told_to_wait(world: World, process: Process) -> None:
    answering(world)
    chats = range(1000, 1020)
    await process.start()
    await until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
    say(world, 999, 0)
    await until(lambda: world.telegram.screen.of("999"))
    before = resident(process.child.pid)
    for number in range(6):
        for chat in chats:
            say(world, chat, number)

    await until(lambda: sum(states(world).values()) == 121 and not states(world)["new"] + states(world)["running"], 60)
    grown = resident(process.child.pid) - before
    ended = states(world)

    assert check(world, chats) == ended["done"] - 1
    assert ended["done"] - 1 >= 3 * len(chats) and ended["done"] + ended["refused"] == 121

    def told(chat: int) -> tuple[bool, int]:
        """Whether a message of this chat has no answer, and how often it says so."""
        texts = [message.text for message in world.telegram.screen.of(str(chat))]
        refusals = sum(WAITING in text for text in texts)
        return len(texts) - refusals < 6, refusals

    # A message is refused before its chat is told; who writes slowly enough is refused nothing.
    await until(lambda: all(refusals >= short for short, refusals in map(told, chats)))
    assert all(refusals == short for short, refusals in map(told, chats)), "one refusal a chat, however many messages"
    assert grown < 40, f"{grown:.0f} MiB"


@pytest.mark.soak
async def test_ten_thousand_messages_over_a_thousand_chats(world: World, process: Process) -> None:
    answering(world)
    world.settings |= {"LOG_LEVEL": "WARNING", "TOKENS_PER_DAY": "0", "TOKENS_PER_DAY_PERSON": "0"}
    chats = range(1000, 2000)
    await process.start()
    await until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
    say(world, 999, 0)
    await until(lambda: world.telegram.screen.of("999"))
    before, since = resident(process.child.pid), time.monotonic()
    rounds = int(os.environ.get("LOAD_ROUNDS") or 10)
    for number in range(rounds):
        for chat in chats:
            say(world, chat, number)
        count = 1 + len(chats) * (number + 1)
        await until(partial(all_ended, world, count), 300, 0.5)
        print(f"round {number}: {resident(process.child.pid) - before:.0f} MiB more")
    grown, seconds = resident(process.child.pid) - before, time.monotonic() - since
    ended = states(world)
    print(f"{rounds * 1000:,} messages over 1,000 chats: {seconds:.0f} s, {grown:.0f} MiB more, {dict(ended)}")

    assert check(world, chats) == ended["done"] - 1
    assert ended["done"] + ended["refused"] == rounds * 1000 + 1
    assert grown < 150


@pytest.mark.soak
async def test_a_message_is_safe_within_fifty_milliseconds_while_fifty_arrive_at_once(tmp_path: Path) -> None:
    waits: list[float] = []

    async def arrive(number: int) -> None:
        chat = ChatId("telegram", "1", str(number % 100))
        since = time.perf_counter()
        taken = await store.intake.take_in(
            MessageSent(
                delivery=str(number),
                chat=chat,
                sender=Sender(id=f"telegram:{number % 100}"),
                target=ReplyTarget("telegram", {"chat": number % 100}),
                text=f"please answer number {number}",
            )
        )
        waits.append(time.perf_counter() - since)
        assert taken is not None

    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=SystemClock()) as store:
        for begin in range(0, 4000, 50):
            await asyncio.gather(*(arrive(number) for number in range(begin, begin + 50)))

    percentiles = statistics.quantiles(waits, n=100)
    print(f"intake: p50 {percentiles[49] * 1000:.1f} ms, p99 {percentiles[98] * 1000:.1f} ms")
    assert percentiles[98] < 0.05


class BotInThread:
    """The bot with an event loop of its own, so that what the emulators compute is not taken for the bot's work."""

    def __init__(self, limits: Limits, *platforms: str) -> None:
        self._limits, self._platforms = limits, platforms
        self._listening = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="bot")

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        configuration = replace(configure(), limits=self._limits)
        async with app.App(configuration, open_adapters(configuration, self._platforms)) as self.bot:
            serving = asyncio.create_task(self.bot.serve(self._stop))
            while not serving.done() and any(state != "listening" for state in self.bot.platforms.state.values()):
                await asyncio.sleep(0.005)
            self._listening.set()
            await serving

    async def __aenter__(self) -> BotInThread:
        self._thread.start()
        assert await asyncio.to_thread(self._listening.wait, 15)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        await asyncio.to_thread(self._thread.join)

    async def idle(self) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.bot.dispatcher.wait_idle(), self._loop))

    async def unblocked(self, doing: Callable[[int], Callable[[], object]], within: float = 0.1) -> None:
        """Do something enormous, and hold the bot to `within` seconds of computing at once.

        Twice, if need be: what else runs in this process and on this machine is no fault of the bot's.

        Args:
            doing: begins it for the time of this number, and returns how to see that it is over.
        """
        watch = self.bot.watch
        for attempt in range(2):
            await self.idle()
            watch.reset()
            await until(doing(attempt))
            await asyncio.sleep(0.1)
            if watch.longest_computing < within:
                return
        raise AssertionError(f"{watch.longest_computing:.3f} s: {watch.where}")


@pytest.fixture
def in_thread(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[..., BotInThread]:
    def make(*platforms: str, **settings: str) -> BotInThread:
        for name, value in {**world.environment(), **settings}.items():
            monkeypatch.setenv(name, value)
        return BotInThread(world.limits, *platforms)

    return make


@pytest.fixture
def ada(world: World) -> str:
    """A person in Slack, where a message may be this long."""
    world.slack.person("U7", "Ada")
    return world.slack.direct("U7")


@pytest.mark.soak
async def test_a_message_of_a_megabyte_is_refused_in_a_sentence_and_blocks_nobody(
    world: World, in_thread: Callable[..., BotInThread], ada: str
) -> None:
    def write(text: str, attempt: int) -> Callable[[], object]:
        before = len(world.slack.screen.of(ada))
        world.slack.say(ada, text + "!" * attempt, person="U7")
        return lambda: len(world.slack.screen.of(ada)) > before

    world.model.reply(Reply("Of course."))
    async with in_thread("slack") as bot:
        await until(write("please warm up", 0))
        for text in ("x" * 1_000_000, "**`[" * 250_001):
            await bot.unblocked(partial(write, text))
            assert "too long for me" in world.slack.screen.of(ada)[-1].text


@pytest.mark.soak
async def test_a_message_of_a_megabyte_that_is_allowed_is_answered_and_blocks_nobody(
    world: World, in_thread: Callable[..., BotInThread], ada: str
) -> None:
    def write(text: str, attempt: int) -> Callable[[], object]:
        before = len(world.slack.screen.of(ada))
        world.slack.say(ada, text + "!" * attempt, person="U7")
        return lambda: len(world.slack.screen.of(ada)) > before

    world.model.script = lambda body: Reply("Of course.")
    world.model.context_tokens = 10_000_000
    world.limits = Limits(question_chars=2_000_000)
    async with in_thread("slack", TOKENS_PER_DAY_PERSON="0") as bot:
        await until(write("please warm up", 0))
        await bot.unblocked(partial(write, "please read: " + "word " * 200_000))
    assert world.slack.screen.of(ada)[-1].text == "Of course."


@pytest.mark.soak
async def test_a_tool_result_of_a_megabyte_is_cut_and_blocks_nobody(
    world: World, in_thread: Callable[..., BotInThread]
) -> None:
    world.telegram.person(7, "Ada")
    world.tavily.pages = [CannedPage(f"https://tea{number}.example/", "Tea", "tea " * 60_000) for number in range(5)]

    def script(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply("Tea is a drink.")
        return Reply(calls=(("search_web", {"query": "tea"}),))

    def look(attempt: int) -> Callable[[], object]:
        before = len(world.telegram.screen.of("7"))
        world.telegram.say(7, "please look up tea on the web", person=7)
        return lambda: any("Tea is a drink." in one.text for one in world.telegram.screen.of("7")[before:])

    world.model.script = script
    async with in_thread("telegram", TOOL_MODE="native") as bot:
        await until(look(0))  # the first search loads its library
        await bot.unblocked(look)
    result = world.model.requests[-1].messages[-1]["content"]
    assert len(result) <= 8000


@pytest.mark.soak
async def test_lines_of_a_megabyte_are_shown_as_far_as_allowed_and_block_nobody(
    world: World, in_thread: Callable[..., BotInThread]
) -> None:
    # Pages that are too long once they are rendered are cut again, with all that follow: here five times the text
    # that is allowed without a setting, there a megabyte.
    hostile, plain = ("**a `b [c](" * 18_000, "| a " * 50_000), ("x" * 1_000_000, "中文字" * 330_000)

    def write(line: str, first: int, attempt: int) -> Callable[[], object]:
        chat = first + attempt
        world.telegram.person(chat, "Ada")
        world.model.reply(Reply(chunks=({"content": line},)))
        world.telegram.say(chat, "please write a very long line", person=chat)
        return lambda: len(world.telegram.screen.of(str(chat))) >= min(2, len(line) // 1000 + 1) and blocked(chat)

    def blocked(chat: int) -> bool:
        """Hundreds of pages follow at one a second: nobody waits for them here."""
        world.telegram.block(chat)
        return True

    world.limits = Limits(answer_chars=2_000_000)
    async with in_thread("telegram", TOOL_MODE="prompt", TOKENS_PER_DAY="0") as bot:
        await until(write("Of course.", 99, 0))
        for number, line in enumerate((*hostile, *plain)):
            await bot.unblocked(partial(write, line, 2 * number + 7))
