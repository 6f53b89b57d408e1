"""Several `parley run` on one PostgreSQL: people meet one bot, whichever process answers and however it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from bot.intake.membership import ENDED
from bot.store.states import UNFINISHED
from playground.model import Reply
from playground.screen import Screen, Shown
from tests.conftest import Nursery, RawJson
from tests.journeys.conftest import Process, World, process_in
from tests.journeys.test_approvals import ALLOW
from tests.journeys.test_controls import STOP
from tests.journeys.test_kill import PLATFORMS, WORDS, Chats, Outside, answer
from tests.journeys.test_stop import NOTE, asked
from tests.patience import PATIENCE, slowed
from tests.web import Web, free_port

NEXT = "And that is the next one."
FROZEN_SECONDS = 6.0
TAKEN_OVER_WITHIN = 5.0
"""Seconds after which another process receives in the place of one that was killed."""


@dataclass
class Fleet:
    """The processes, and what the database knows of them."""

    processes: list[Process]
    url: str

    async def start(self, chats: Chats) -> None:
        """Start all; each platform is received by one of them."""
        for process in self.processes:
            await process.start()
        await chats.until(lambda: all("shares the database" in process.said for process in self.processes))
        await chats.ready()

    def serving(self, place: str) -> Process | None:
        """The process that serves a place now."""
        import psycopg

        with psycopg.connect(self.url) as db:
            found = db.execute(
                "SELECT name FROM workers JOIN places ON owner = id WHERE starts_with(place, %s)", [place]
            ).fetchone()
        pid = int(found[0].rpartition(" ")[2]) if found else None
        return next((process for process in self.processes if process.started and process.child.pid == pid), None)

    def unfinished(self) -> int:
        """How many deliveries nobody has ended yet."""
        import psycopg

        with psycopg.connect(self.url) as db:
            return db.execute(f"SELECT FROM inbox WHERE {UNFINISHED}".encode()).rowcount

    def listening(self, platform: str) -> Process | None:
        """The process that receives from a platform which lets one do so."""
        words = f"this process has listening to {platform}"
        alive = [process for process in self.processes if process.started and process.child.returncode is None]
        return next((process for process in alive if words in process.said), None)


@pytest.fixture
async def fleet(world: World, nursery: Nursery, postgres_url: str) -> AsyncIterator[Fleet]:
    # Processes are held up for as long as it takes: an answer of a minute would end in a new message.
    world.settings |= {"DATABASE_URL": postgres_url, "FRESH_MESSAGE_SECONDS": "0"}
    async with AsyncExitStack() as stack:
        yield Fleet(
            [await stack.enter_async_context(process_in(world, nursery, f"-{number}")) for number in range(3)],
            postgres_url,
        )


async def test_a_process_that_answers_is_killed_and_another_completes_its_message(world: World, fleet: Fleet) -> None:
    """Its words stand there already; they are completed within a second, and nothing comes twice."""
    chats, outside = Chats(world), Outside(world)
    outside.stage = "S6"
    await fleet.start(chats)
    chats.ask()
    await chats.until(lambda: len(outside.held) == 3)
    serving = {name: fleet.serving(name) for name in PLATFORMS}
    killed = serving["telegram"]
    assert killed is not None and all(serving.values())

    await killed.kill()
    outside.let_go.set()
    await chats.until(lambda: all(chats.whole(name) for name in PLATFORMS))

    world.model.script = lambda body: Reply(NEXT)
    world.telegram.say(7, "please go on", person=7)
    world.slack.say(chats.chat["slack"], "please go on", person="U7")
    world.discord.say(chats.chat["discord"], "please go on", person=7)
    await chats.until(lambda: all(NEXT in chats.texts(name)[-1:] for name in PLATFORMS))
    for name in PLATFORMS:
        texts = chats.texts(name)
        assert len(texts) == 2 and texts[0].endswith(answer(name)), f"{name}: {texts}"
    assert len(world.tavily.requests) == 3, "a stored result was not reused"
    for process in fleet.processes:
        if process is not killed:
            assert await process.stop() == 0
            assert "another program" not in process.said


class Scenes:
    """What becomes of three processes, of which the first only receives: every turn runs in another one.

    Ada has a private chat on each platform. Slack posts to a public address, which is the first process's here.
    """

    def __init__(self, world: World, fleet: Fleet) -> None:
        self.world, self.fleet = world, fleet
        self.reception, *self.workers = fleet.processes
        self.chats = Chats(world)
        world.settings |= {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": world.slack.signing_secret}
        world.settings["CONFIRM_TOOLS"] = "calculator"
        self.addresses = []
        for process in fleet.processes:
            web = Web()
            web.port = free_port()
            process.settings["WEB_PORT"] = str(web.port)
            self.addresses.append(f"{web.address}/slack")
        self.reception.options = ("--only", "intake")

    async def start(self) -> None:
        await self.reception.start()
        await self.until(lambda: self.fleet.listening("telegram") and self.fleet.listening("discord"))
        for process in self.workers:
            await process.start()
        await self.until(lambda: all(process.said.count("logged in") == 3 for process in self.fleet.processes))
        self.world.slack.deliver_to(self.addresses[0])

    async def until(self, seen: Callable[[], object]) -> None:
        await self.chats.until(lambda: bool(seen()))

    def shown(self, platform: str) -> list[Shown]:
        screen: Screen = getattr(self.world, platform).screen
        return screen.of(self.chats.chat[platform])

    async def begin(self, stage: str) -> tuple[Outside, Process, dict[str, int]]:
        """Ask on each platform, up to a stage; who answers on Telegram, and how many messages stood there before."""
        before = {name: len(self.shown(name)) for name in PLATFORMS}
        outside = Outside(self.world)
        outside.stage = stage
        if stage == "S4":
            outside.hold(self.world.tavily, "search", after=False, times=3)
        self.chats.ask()
        await self.until(lambda: len(outside.held) == 3 or outside.reached == 3)
        await self.until(lambda: all(len(self.shown(name)) == before[name] + 1 for name in PLATFORMS))
        serving = self.fleet.serving("telegram")
        assert serving in self.workers
        return outside, serving, before

    async def rest(self, shown: dict[str, int]) -> None:
        """Wait until all is shown that a model which is held has written, and no call follows.

        It wrote "word7"; a number that may go on is shown with what follows it.
        """
        await self.until(lambda: all(self.shown(name)[shown[name]].text.endswith("word6 word") for name in PLATFORMS))
        await self.quiet()

    async def quiet(self) -> None:
        """Wait until no call is made: for longer than a process lets one wait that nobody waits for."""
        before = -1
        while (now := sum(len(self.calls(name)) for name in PLATFORMS)) != before:
            before = now
            await asyncio.sleep(slowed(2.0))

    def calls(self, platform: str) -> list[str]:
        """The methods called so far, but for those that ask for news."""
        return [call.method for call in getattr(self.world, platform).calls if call.method != "getUpdates"]

    def completed(self, name: str, before: dict[str, int]) -> bool:
        """Whether the newest answer on a platform is complete."""
        return any(one.text.endswith(answer(name)) for one in self.shown(name)[before[name] :])

    async def start_again(self, process: Process) -> None:
        """Start a process that has ended, and wait until it can answer."""
        starts = process.said.count("shares the database")
        await process.start()
        await self.until(lambda: process.said.count("shares the database") > starts)
        own = len("".join(process.said.rpartition("shares the database")[:2]))
        await self.until(lambda: process.said[own:].count("logged in") == len(PLATFORMS))

    async def whole(self, before: dict[str, int]) -> None:
        """Wait until the answers are complete: once, and without a word about what became of a process."""

        await self.until(lambda: all(self.completed(name, before) for name in PLATFORMS))
        for name in PLATFORMS:
            new = self.shown(name)[before[name] :]
            assert len(new) == 1, f"{name}: {[one.text for one in new]}"
            [one] = new
            assert one.text.endswith(answer(name)) and one.text.count("end-of-") == 1, f"{name}: {one.text}"
            assert not any(NOTE in version.text for version in one.versions), f"{name}: told of the restart"

    async def go_on(self) -> None:
        """Ask for the next answer: whatever else would come, comes before it."""
        before = {name: len(self.shown(name)) for name in PLATFORMS}
        self.world.model.script = lambda body: Reply(NEXT)
        self.world.telegram.say(7, "please go on", person=7)
        self.world.slack.say(self.chats.chat["slack"], "please go on", person="U7")
        self.world.discord.say(self.chats.chat["discord"], "please go on", person=7)
        await self.until(lambda: all(NEXT in self.chats.texts(name)[before[name] :] for name in PLATFORMS))
        assert all(self.chats.texts(name)[before[name] :] == [NEXT] for name in PLATFORMS)
        # Its text stands before its last edit is made, and its process ends the delivery behind that.
        await self.until(lambda: not self.fleet.unfinished())


async def one_turn_for_what_reaches_all(scenes: Scenes) -> None:
    """The same event is posted to three processes in the same instant, in several chats."""
    slack, people = scenes.world.slack, [f"U{number}" for number in range(20, 28)]
    posts = [slack.deliver_to(address) for address in reversed(scenes.addresses)]
    scenes.world.model.script = lambda body: Reply(f"Once: {asked(body)}")
    before = len(scenes.world.model.requests)
    chats = {}
    for person in people:
        slack.person(person, person)
        chats[person] = slack.direct(person)
        slack.say(chats[person], f"hello from {person}", person=person)
        for other in posts[:-1]:
            assert other is not None
            await other.transmit(slack.deliveries[-1], "the same")
    await scenes.until(lambda: all(len(slack.screen.of(chat)) for chat in chats.values()))
    await scenes.go_on()
    texts = {person: [one.text for one in slack.screen.of(chat)] for person, chat in chats.items()}
    assert texts == {person: [f"Once: hello from {person}"] for person in people}
    assert len(scenes.world.model.requests) == before + len(people) + len(PLATFORMS)


async def many_chats_keep_within_a_bots_limits(scenes: Scenes) -> None:
    """Telegram's thirty calls a second are those of all processes together."""
    telegram, people = scenes.world.telegram, range(200, 225)
    scenes.world.model.script = lambda body: Reply(f"Once: {asked(body)}")
    refused = telegram.refusals
    for person in people:
        telegram.person(person, f"P{person}")
        telegram.say(person, f"hello from {person}", person=person)
    texts = {person: [f"Once: hello from {person}"] for person in people}
    await scenes.until(
        lambda: texts == {person: [one.text for one in telegram.screen.of(str(person))] for person in people}
    )
    assert telegram.refusals == refused


async def what_people_do_reaches_the_turn(scenes: Scenes) -> None:
    """A stop, a press, a changed question, a decision and a second message come to a process that runs no turn."""
    telegram, joined = scenes.world.telegram, asyncio.Event()

    def script(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply("That makes 42.")
        match asked(body):
            case "long":
                return Reply(f"Long: {WORDS}", hang_after=80)
            case "sum":
                return Reply(calls=(("calculator", {"expression": "6*7"}),))
            case "first":
                return Reply("I look.", hang_before_headers=True, until=joined,
                             calls=(("search_web", {"query": "tea"}),))  # fmt: skip
            case other:
                return Reply(f"Answer to: {other}")

    async def ask(text: str) -> tuple[int, Shown]:
        before = len(scenes.shown("telegram"))
        id = telegram.message_id(telegram.say(7, text, person=7))
        await scenes.until(lambda: len(scenes.shown("telegram")) > before)
        assert scenes.fleet.serving("telegram") in scenes.workers
        return id, scenes.shown("telegram")[before]

    scenes.world.model.script = script
    _, reply = await ask("long")
    telegram.say(7, "/stop", person=7)
    await scenes.until(lambda: "Stopped." in reply.text)
    _, reply = await ask("long")
    await scenes.until(lambda: STOP in reply.buttons)
    telegram.press(7, int(reply.id), STOP, person=7)
    await scenes.until(lambda: "Stopped." in reply.text)
    id, reply = await ask("long")
    telegram.edit(7, id, "short")
    await scenes.until(lambda: scenes.shown("telegram")[-1].text == "Answer to: short")
    _, reply = await ask("sum")
    await scenes.until(lambda: ALLOW in reply.buttons)
    telegram.press(7, int(reply.id), ALLOW, person=7)
    await scenes.until(lambda: any("That makes 42." in one.text for one in scenes.shown("telegram")))

    await ask("/busy steer")
    before = len(scenes.shown("telegram"))
    telegram.say(7, "first", person=7)
    await scenes.until(lambda: asked(scenes.world.model.requests[-1].body) == "first")
    second = telegram.message_id(telegram.say(7, "second", person=7))
    await scenes.until(lambda: telegram.world.reactions.get((7, second)))
    joined.set()
    await scenes.until(lambda: any("Answer to: second" in one.text for one in scenes.shown("telegram")))
    assert len(scenes.shown("telegram")) == before + 1
    await ask("/busy queue")


async def an_orderly_end_hands_over(scenes: Scenes) -> None:
    """SIGTERM while a tool runs: another process goes on with its result, and nobody reads of it."""
    searches = len(scenes.world.tavily.requests)
    outside, serving, before = await scenes.begin("S4")
    ending = asyncio.create_task(serving.stop())
    await scenes.until(lambda: "stopping;" in serving.said)
    outside.let_go.set()
    await scenes.whole(before)
    assert await ending == 0
    assert len(scenes.world.tavily.requests) == searches + 3, "a search was made again"
    await scenes.go_on()
    await scenes.start_again(serving)


async def a_frozen_process_is_replaced(scenes: Scenes) -> None:
    """It stands still for six seconds while it answers: another one completes its message, and it only ends."""
    outside, serving, before = await scenes.begin("S6")
    # An edit that is on its way in this instant comes when the process wakes.
    await scenes.rest(before)
    loop = asyncio.get_running_loop()
    since = loop.time()
    serving.child.send_signal(signal.SIGSTOP)
    outside.let_go.set()
    await scenes.whole(before)
    await scenes.go_on()
    await asyncio.sleep(max(0.0, since + FROZEN_SECONDS - loop.time()))
    await scenes.quiet()

    calls, requests = {name: len(scenes.calls(name)) for name in PLATFORMS}, len(scenes.world.model.requests)
    serving.child.send_signal(signal.SIGCONT)
    assert await serving.child.wait() == ENDED
    assert {name: scenes.calls(name)[calls[name] :] for name in PLATFORMS} == {name: [] for name in PLATFORMS}
    assert len(scenes.world.model.requests) == requests
    await scenes.go_on()


async def intake_goes_on_without_its_listener(scenes: Scenes) -> None:
    """Another process receives within seconds what is written after the kill of the one that did."""
    telegram, gateway = scenes.world.telegram, scenes.world.discord.gateway
    [left] = [process for process in scenes.workers if process.child.returncode is None]
    scenes.world.slack.deliver_to(scenes.addresses[scenes.fleet.processes.index(left)])
    polls, sessions = len(telegram.calls_of("getUpdates")), len(gateway.identified)
    assert len(gateway.sessions) == 1
    loop = asyncio.get_running_loop()
    await scenes.reception.kill()
    since = loop.time()
    going_on = asyncio.create_task(scenes.go_on())
    await scenes.until(lambda: len(telegram.calls_of("getUpdates")) > polls and len(gateway.identified) > sessions)
    assert loop.time() - since < slowed(TAKEN_OVER_WITHIN)
    await going_on
    await scenes.until(lambda: len(gateway.sessions) == 1)
    assert len(gateway.identified) == sessions + 1
    # The answer to the poll of the killed process.
    assert sum(call.status == 409 for call in telegram.calls_of("getUpdates")) <= 1


async def told(port: int, path: str) -> str:
    """What a process answers at its port for who watches it; empty while nobody is there."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return ""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def test_one_process_receives_and_another_answers(world: World, fleet: Fleet) -> None:
    """Alone the first says that nobody answers, and keeps what is written for whoever does."""
    chats, [intake, turns, _] = Chats(world), fleet.processes
    world.model.script = lambda body: Reply(NEXT)
    ports = [free_port(), free_port()]
    for process, role, port in zip((intake, turns), ("intake", "turns"), ports, strict=False):
        process.options, process.settings["HTTP_PORT"] = ("--only", role), str(port)
    await intake.start()
    await chats.ready()
    chats.ask()
    lack, ready = "no process answers: what people write is stored", [""]

    async def until_said(port: int, *words: str, no: str = "nothing of this kind") -> None:
        async def look() -> None:
            while no in ready[0] or not all(word in ready[0] for word in words):
                ready[0] = await told(port, "/ready")
                await asyncio.sleep(0.05)

        await asyncio.wait_for(look(), PATIENCE)

    await until_said(ports[0], "200 OK", '"role": "intake"', lack)
    assert lack in intake.said and not world.model.requests

    await turns.start()
    await chats.until(lambda: all(NEXT in chats.texts(name) for name in PLATFORMS))
    await until_said(ports[1], "200 OK", '"role": "turns"', '"telegram": "standing by"', '"slack": "standing by"')
    await until_said(ports[0], '"telegram": "listening"', no='"lack"')
    assert 'parley_role{role="turns"} 1' in await told(ports[1], "/metrics")
    assert len(world.model.requests) == len(PLATFORMS)

    assert await intake.stop() == 0
    await chats.until(lambda: "no process receives what people write" in turns.said)
    assert await turns.stop() == 0


async def test_people_meet_one_bot_whatever_becomes_of_its_processes(world: World, fleet: Fleet) -> None:
    scenes = Scenes(world, fleet)
    await scenes.start()
    await one_turn_for_what_reaches_all(scenes)
    await many_chats_keep_within_a_bots_limits(scenes)
    await what_people_do_reaches_the_turn(scenes)
    await an_orderly_end_hands_over(scenes)
    await a_frozen_process_is_replaced(scenes)
    await intake_goes_on_without_its_listener(scenes)
    for process in fleet.processes:
        if process.child.returncode is None:
            assert await process.stop() == 0
        assert "another program" not in process.said
