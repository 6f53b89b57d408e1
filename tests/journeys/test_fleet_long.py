"""Several processes for longer, with figures: `pytest -m soak -n 0 -s tests/journeys/test_fleet_long.py`."""

from __future__ import annotations

import asyncio
import signal
import statistics
from contextlib import AsyncExitStack, suppress

import pytest

from bench.delivery import HEAD, Model, measure
from bench.loads import bursts
from bench.setups import SETUPS
from playground.model import Reply
from tests.conftest import Nursery
from tests.journeys.conftest import World, process_in
from tests.journeys.test_fleet import Fleet, Scenes, fleet  # noqa: F401 - a fixture
from tests.journeys.test_kill import PLATFORMS, WORDS, Outside
from tests.journeys.test_stop import asked
from tests.patience import PATIENCE, slowed
from tests.postgres import empty, own_server

KILLS = 20
PEOPLE = {"telegram": 10, "discord": 6, "slack": 4}
MANY = {"telegram": 60, "discord": 36, "slack": 4}
"""Slack's limits of a workspace carry no more that keep asking."""
UNDISTURBED = 5
"""As many answers first show how long one takes without a kill."""
BETWEEN_KILLS = 6.0
MOST_HELD = 36
"""Of the fifty edits that Slack allows a workspace in a minute, so many may be taken at the next kill: what a dead
process made, and may have made unheard, counts for a minute. Where one dies each ten seconds, nothing is left."""
THINKING = 0.15
"""Seconds for each of the people until one who has read an answer asks again: about six ask in a second, so that
neither a platform's limits nor this machine make them wait."""
UNLIMITED = {"TOKENS_PER_DAY_PERSON": "0", "TOKENS_PER_DAY": "0"}
pytestmark = pytest.mark.soak


def figures(what: str, seconds: list[float]) -> str:
    """What is printed of a measurement."""
    p95 = statistics.quantiles(seconds, n=20)[-1]
    p50 = statistics.median(seconds)
    return f"{what}: {len(seconds)} times, p50 {p50:.2f} s, p95 {p95:.2f} s, max {max(seconds):.2f} s"


def held(url: str) -> int:
    """How many of the calls of a minute that Slack counts for a workspace are taken, of that which most are of."""
    import psycopg

    query = (
        "SELECT sum(calls) FROM allowances WHERE starts_with(scope, 'slack') AND seconds >= 60 AND demand = 0 "
        "GROUP BY scope, seconds"
    )
    with psycopg.connect(url) as db:
        return max((int(calls) for (calls,) in db.execute(query)), default=0)


class Crowd:
    """People in chats of their own, whose questions are numbered."""

    def __init__(self, scenes: Scenes, people: dict[str, int] = PEOPLE) -> None:
        self.scenes, self.world = scenes, scenes.world
        self.chats: list[tuple[str, str, int]] = []
        """(platform, chat, person)."""
        self.told: dict[tuple[str, str], list[str]] = {}
        self.count = 0
        for platform, many in people.items():
            for person in range(100, 100 + many):
                getattr(self.world, platform).person(f"U{person}" if platform == "slack" else person, f"P{person}")
                match platform:
                    case "slack":
                        chat = self.world.slack.direct(f"U{person}")
                    case "discord":
                        chat = self.world.discord.direct(person).id
                    case _:
                        chat = str(person)
                self.chats.append((platform, chat, person))

    def reply(self, text: str) -> str:
        return f"Answer to {text}: {WORDS}"

    def ask(self, platform: str, chat: str, person: int) -> str:
        """Ask the next question; what its answer reads."""
        self.count += 1
        text = f"question {self.count}"
        match platform:
            case "telegram":
                self.world.telegram.say(person, text, person=person)
            case "slack":
                self.world.slack.say(chat, text, person=f"U{person}")
            case _:
                self.world.discord.say(chat, text, person=person)
        self.told.setdefault((platform, chat), []).append(self.reply(text))
        return self.reply(text)

    def text(self, platform: str, chat: str) -> str:
        """What the bot has written: on Slack an answer may stand in several messages, where calls are few."""
        return " ".join(" ".join(one.text for one in getattr(self.world, platform).screen.of(chat)).split())

    def differences(self) -> list[str]:
        """Where a chat shows anything but the answer to each of its questions, once, in order."""
        return [
            f"{platform} {chat}: {self.text(platform, chat)} for {told}"
            for (platform, chat), told in self.told.items()
            if self.text(platform, chat) != " ".join(told)
        ]

    async def keep_asking(self, one: tuple[str, str, int], end: asyncio.Event, took: list[float]) -> None:
        """Ask again and again until `end`, each time after the answer; note how long each took."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(THINKING * self.chats.index(one))
        while not end.is_set():
            since, told = loop.time(), self.ask(*one)
            try:
                async with asyncio.timeout(PATIENCE):
                    while told not in self.text(*one[:2]):
                        await asyncio.sleep(0.02)
            except TimeoutError:
                raise AssertionError(f"{told!r} is not in {one}: {self.text(*one[:2])}") from None
            took.append(loop.time() - since)
            with suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), THINKING * len(self.chats))


async def test_twenty_kills_of_the_process_that_answers(world: World, fleet: Fleet) -> None:  # noqa: F811
    """What a person feels of a kill: how much later than without one the whole answer is there.

    That is of those whose answer the killed process was writing; who is answered by another one feels nothing.
    """
    world.settings |= UNLIMITED
    scenes = Scenes(world, fleet)
    await scenes.start()
    usual: dict[str, list[float]] = {name: [] for name in PLATFORMS}
    later: dict[str, list[float]] = {name: [] for name in PLATFORMS}

    async def go_on_with(outside: Outside, before: dict[str, int], took: dict[str, list[float]], hit: set[str]) -> None:
        """Let the model go on, and note how long the answers take that count."""
        since = asyncio.get_running_loop().time()
        outside.let_go.set()
        left = set(PLATFORMS)
        while left:
            done = {name for name in left if scenes.completed(name, before)}
            for name in done & hit:
                took[name].append(asyncio.get_running_loop().time() - since)
            left -= done
            await asyncio.sleep(0.01)
        await scenes.whole(before)
        await scenes.go_on()

    for kill in [*[False] * UNDISTURBED, *[True] * KILLS]:
        await asyncio.sleep(BETWEEN_KILLS)
        await scenes.until(lambda: held(fleet.url) <= MOST_HELD)
        outside, serving, before = await scenes.begin("S6")
        if not kill:
            await go_on_with(outside, before, usual, set(PLATFORMS))
            continue
        hit = {name for name in PLATFORMS if fleet.serving(name) is serving}
        serving.child.send_signal(signal.SIGKILL)
        await go_on_with(outside, before, later, hit)
        await serving.child.wait()
        await scenes.start_again(serving)
    for name in PLATFORMS:
        print(figures(f"{name}, the whole answer without a kill", usual[name]))
    felt = {name: [took - statistics.median(usual[name]) for took in later[name]] for name in PLATFORMS}
    for name in PLATFORMS:
        print(figures(f"{name}, later with a kill", felt[name]))
    assert all(statistics.quantiles(took, n=20)[-1] < slowed(1.0) for took in felt.values())


async def test_a_hundred_chats_on_telegrams_limits_read_of_three_processes_as_of_one(postgres_url: str) -> None:
    """Each has a part of the thirty calls a second, and what readers wait grows by little."""
    [load] = bursts([100])
    found = {}
    for processes in (1, 3):
        empty(postgres_url)
        found[processes] = await measure(SETUPS["telegram"](), load, Model(), PATIENCE, processes, postgres_url)
        print(f"\n{HEAD}\n{found[processes].rows()}")
    one, three = found[1], found[3]
    assert three.whole == one.whole == 100
    assert three.refused == one.refused == 0
    for mine, others in ((three.waits, one.waits), (three.lag, one.lag)):
        assert statistics.mean(mine) < slowed(1.15) * statistics.mean(others)


@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_the_database_restarts_under_twenty_chats(world: World, nursery: Nursery, how: str) -> None:
    with own_server() as server:
        world.settings["DATABASE_URL"] = server.make_database("fleet")
        async with AsyncExitStack() as stack:
            processes = [await stack.enter_async_context(process_in(world, nursery, f"-{n}")) for n in range(3)]
            crowd = Crowd(Scenes(world, Fleet(processes, world.settings["DATABASE_URL"])))
            await crowd.scenes.start()
            world.model.script = lambda body: Reply(crowd.reply(asked(body)), words_per_second=10)
            for one in crowd.chats:
                crowd.ask(*one)
            await crowd.scenes.until(lambda: len(world.model.requests) >= len(crowd.chats))
            await asyncio.to_thread(server.control, "restart", "-m", how)
            loop = asyncio.get_running_loop()
            since = loop.time()
            await crowd.scenes.until(lambda: not crowd.differences())
            print(f"restarted ({how}); all answers complete after {loop.time() - since:.1f} s")
            for one in crowd.chats:
                crowd.ask(*one)
            await crowd.scenes.until(lambda: not crowd.differences())
            for process in processes:
                assert await process.stop() == 0, process.said


@pytest.mark.parametrize("people", [PEOPLE, MANY], ids=lambda people: f"{sum(people.values())} chats")
async def test_all_processes_are_replaced_under_chats_that_keep_asking(
    world: World,
    fleet: Fleet,  # noqa: F811
    people: dict[str, int],
) -> None:
    """One after the other is asked to end and started again, two answer meanwhile."""
    world.settings |= UNLIMITED
    scenes = Scenes(world, fleet)
    scenes.reception.options = ()
    await scenes.start()
    crowd = Crowd(scenes, people)
    world.model.script = lambda body: Reply(crowd.reply(asked(body)), words_per_second=60)
    quiet: list[float] = []
    during: list[float] = []

    async def asking(took: list[float], end: asyncio.Event) -> None:
        await asyncio.gather(*(crowd.keep_asking(one, end, took) for one in crowd.chats))

    end = asyncio.Event()
    asks = asyncio.create_task(asking(quiet, end))
    await asyncio.sleep(15.0)
    end.set()
    await asks

    end = asyncio.Event()
    asks = asyncio.create_task(asking(during, end))
    for number, process in enumerate(fleet.processes):
        await asyncio.sleep(2.0)
        # By web: what an address posts to is replaced as well.
        world.slack.deliver_to(scenes.addresses[(number + 1) % 3])
        code = await process.stop()
        await scenes.start_again(process)
        assert code == 0, process.said
    end.set()
    await asks
    print(figures("\nbefore", quiet))
    print(figures("while all are replaced", during))
    await scenes.until(lambda: not crowd.differences())
    assert statistics.quantiles(during, n=20)[-1] - statistics.median(quiet) < slowed(1.0)
