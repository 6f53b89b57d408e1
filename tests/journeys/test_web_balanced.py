"""Two whole processes on one PostgreSQL behind a load balancer: requests reach now the one, now the other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import openai
import pytest

from playground.model import Reply
from tests.agui import verified
from tests.conftest import Nursery, RawObject
from tests.journeys.conftest import World, process_in
from tests.journeys.test_fleet import Fleet
from tests.journeys.test_web_fleet import OFF, TEXT
from tests.journeys.test_web_programs import TOKEN, Page, ask, entry_of, events_of, sent, text_of, until_open
from tests.patience import PATIENCE
from tests.web import free_port

TEA = {"X-Thread-Id": "tea"}


class Balancer:
    """Hands each connection to the next backend that takes one."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._next = 0
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with await asyncio.start_server(self._pass_on, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in self._ports:
            port = self._ports[self._next % len(self._ports)]
            self._next += 1
            with contextlib.suppress(ConnectionError):
                behind = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(_copy(reader, behind[1]), _copy(behind[0], writer))
                return
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    writer.close()


class Balanced(Fleet):
    """Two processes that do everything, a page for each, and the balancer's."""

    pages: list[Page]
    port: int

    def taken_in(self) -> int:
        """How many deliveries are stored."""
        import psycopg

        with psycopg.connect(self.url) as db:
            return db.execute("SELECT FROM inbox").rowcount

    def page_of(self, place: str) -> tuple[Page, Page]:
        """The page at the process that serves a place, and the one at the other."""
        one, other = self.pages
        return (one, other) if self.serving(place) is self.processes[0] else (other, one)


def client_at(port: int, retries: int = 0) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=TOKEN, base_url=f"http://127.0.0.1:{port}/v1", max_retries=retries)


@pytest.fixture
async def two(world: World, nursery: Nursery, postgres_url: str) -> AsyncIterator[Balanced]:
    world.settings |= {"DATABASE_URL": postgres_url, "WEB_TOKEN": TOKEN, "TOOL_MODE": "native", **OFF}
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(process_in(world, nursery, f"-{number}")) for number in range(2)]
        ports = [free_port() for _ in processes]
        two = Balanced(processes, postgres_url)
        for process, port in zip(processes, ports, strict=True):
            process.settings["WEB_PORT"] = str(port)
            await process.start()
        two.pages = [Page(await stack.enter_async_context(client_at(port))) for port in ports]
        balancer = Balancer(ports)
        await stack.enter_async_context(balancer.serving())
        two.port = balancer.port
        for page in two.pages:
            await until_open(page)
        yield two


class Once:
    """A model that holds back its first answer, and says when it was asked for it."""

    def __init__(self, world: World, *texts: str) -> None:
        self._texts = list(texts)
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()
        world.model.script = self._answer

    def _answer(self, body: object) -> Reply:
        text, held = self._texts.pop(0), not self.reached.is_set()
        self.reached.set()
        return Reply(text, hang_after=1, until=self.go_on) if held else Reply(text)

    async def is_asked(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.reached.wait()


async def begin(page: Page, run: str, text: str) -> asyncio.Task[list[RawObject]]:
    """Begin a run, and return the task that reads it to its end, once it is stored."""
    begun = asyncio.Event()

    async def read() -> list[RawObject]:
        told = list[RawObject]()
        async with page.begin(run, text) as response:
            async for event in events_of(response):
                told.append(event)
                begun.set()
        return list(verified(told))

    reading = asyncio.create_task(read())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
    return reading


async def test_two_questions_of_one_thread_at_two_processes_are_answered_in_order_each_once(
    world: World, two: Balanced
) -> None:
    model, (one, other) = Once(world, TEXT, "It is white."), two.pages
    first = await begin(one, "r1", "what is tea")
    await model.is_asked()
    again, second = await begin(other, "r1", "what is tea"), await begin(other, "r2", "what is milk")
    model.go_on.set()

    assert text_of(await first) == text_of(await again) == TEXT and text_of(await second) == "It is white."
    assert len(world.model.requests) == 2 and "word299" in sent(world)[1] and "what is tea" in sent(world)[1]
    assert two.unfinished() == 0


async def test_the_same_request_at_two_processes_at_once_is_one_question(world: World, two: Balanced) -> None:
    world.model.script = lambda body: Reply("A leaf.")
    one, other = two.pages
    runs = await asyncio.gather(*(page.run("r1", "what is tea") for page in (one, other) * 3))
    keyed = {"X-Thread-Id": "milk", "Idempotency-Key": "k1"}
    async with client_at(two.port) as client:
        answers = await asyncio.gather(*(ask(client, "what is milk", **keyed) for _ in range(6)))

    assert {text_of(run) for run in runs} == set(answers) == {"A leaf."} and len(world.model.requests) == 2


async def test_who_is_cut_off_in_mid_answer_gets_it_whole_at_the_other_process(world: World, two: Balanced) -> None:
    model, (one, other) = Once(world, TEXT), two.pages
    async with one.begin("r1", "what is tea") as response:
        await anext(events_of(response))
    await model.is_asked()
    here, there = await begin(one, "r1", "what is tea"), await begin(other, "r1", "what is tea")
    model.go_on.set()

    assert text_of(await here) == text_of(await there) == TEXT and len(world.model.requests) == 1


async def test_after_a_kill_in_mid_answer_the_other_process_has_it_once_and_what_waited_behind_it(
    world: World, two: Balanced
) -> None:
    model = Once(world, TEXT, TEXT, "It is white.")
    first = await begin(two.pages[0], "r1", "what is tea")
    await model.is_asked()
    at, beside = two.page_of("web:client/tea")
    second = [await begin(page, "r2", "what is milk") for page in (at, beside)]
    serving = two.serving("web:client/tea")
    assert serving is not None
    await serving.kill()
    model.go_on.set()
    ends = await asyncio.gather(first, *second, return_exceptions=True)
    again = [await beside.run(run, text) for run, text in (("r1", "what is tea"), ("r2", "what is milk"))]

    assert [text_of(one) for one in again] == [TEXT, "It is white."] == [text_of(again[0]), text_of(again[1])]
    assert isinstance(ends[1], aiohttp.ClientError) and not isinstance(ends[2], BaseException)
    assert text_of(ends[2]) == "It is white."
    assert len(world.model.requests) == 3 and TEXT in sent(world)[2] and two.unfinished() == 0


async def test_commands_and_refusals_are_said_at_whichever_process_they_are_sent_to(
    world: World, two: Balanced
) -> None:
    world.model.script = lambda body: Reply("A leaf.")
    for page in two.pages:
        assert text_of(await page.run("r1", "what is tea")) == "A leaf."
    told = list[list[str]]()
    for text in ("/help", "   "):
        told.append([text_of(await page.run(f"{text}{number}", text)) for number, page in enumerate(two.pages)])

    for here, there in told:
        assert here == there and "no answer to show" not in here
    assert [text_of(await page.run("/help0", "/help")) for page in two.pages] == told[0][:1] * 2, "asked again"


async def test_a_call_is_decided_at_the_other_process(world: World, two: Balanced) -> None:
    world.settings["CONFIRM_TOOLS"] = "search_web"
    for process in two.processes:
        await process.stop()
        await process.start()
    for page in two.pages:
        await until_open(page)
    world.model.reply(
        Reply("I look.", calls=(("search_web", {"query": "green tea"}),)), Reply("It is green."),
        Reply("I look.", calls=(("search_web", {"query": "black tea"}),)), Reply("It is green."),
    )  # fmt: skip
    one, other = two.pages
    asked = await one.run("r1", "look for green tea")
    both = await asyncio.gather(*(page.run("r2", resume=[entry_of(asked)]) for page in (one, other)))
    async with client_at(two.port) as client:
        await ask(client, "look for black tea", **TEA)
        words = await asyncio.gather(*(ask(client, "yes", **TEA, **{"X-Run-Id": "w1"}) for _ in range(4)))

    assert {text_of(run) for run in both} == set(words) == {"It is green."}
    assert len(world.tavily.requests) == 2 and len(world.model.requests) == 4


@pytest.mark.parametrize("thread", [TEA, {}], ids=["thread", "alone"])
async def test_a_client_that_repeats_a_request_by_itself_asks_once(
    world: World, two: Balanced, thread: dict[str, str]
) -> None:
    """The `openai` package sends a request again when the connection breaks, and names no run."""
    model = Once(world, *["A leaf."] * 3)
    async with client_at(two.port, retries=2) as client:
        asking = asyncio.create_task(ask(client, "what is tea", **thread))
        await model.is_asked()
        # The balancer begins with the first one.
        await two.processes[0].kill()
        model.go_on.set()
        first = await asking
        again = await ask(client, "what is tea", **thread)

    assert first == again == "A leaf." and two.unfinished() == 0
    assert two.taken_in() == 2, "the next question is one of its own, with the same words"
