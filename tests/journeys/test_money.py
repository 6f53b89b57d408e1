"""What a day may cost holds through the whole bot: many at once, tools that are paid, and a kill in between."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

from bot.contract.limits import Limits
from playground.model import Reply
from playground.model.lengths import asked
from playground.model.server import ModelRequest
from playground.model.wire import prompt_tokens
from playground.screen import Screen
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World

DAY = 120_000
LONG = "A leaf and a stone, and what lies between them. " * 800
"""Nearly as long as an answer can be."""


def spent(world: World, key: str = "*") -> tuple[int, float]:
    """Tokens and dollars of today as the database has them."""
    with closing(sqlite3.connect(f"file:{world.data}/parley.db?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT tokens, dollars FROM spending WHERE key = ? AND seconds = 86400", (key,)).fetchall()
    return (sum(row[0] for row in rows), sum(row[1] for row in rows))


def cost(request: ModelRequest, *, answered: bool = True) -> int:
    """The tokens of a request as its provider counts them; of one that was not answered, all that it may have used.

    Of a stream that the program cut, nobody outside knows how much it had read: the rest lay in the connection. What it
    read is in its own sum, which is checked as well.
    """
    _, most = asked(request.body)
    read = 0 if request.closed_early else -(-request.sent // 4)
    return prompt_tokens(request.body) + (read if answered else most)


async def test_two_hundred_people_at_once_spend_no_more_than_the_day_has(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(LONG)
    world.limits = Limits(admin_share=0.0)
    async with start("telegram", TOKENS_PER_DAY=str(DAY), TOOL_MODE="prompt") as bot:
        for number in range(1, 201):
            world.telegram.person(number, f"Person {number}")
            world.telegram.say(number, "please tell me all of it", person=number)
        await world.telegram.screen.until(
            lambda screen: all(screen.of(str(number)) for number in range(1, 201)), seconds=120
        )
        await bot.dispatcher.wait_idle()

    made = [request for request in world.model.requests if request.status == 200]
    assert 5 < len(made) < 200
    assert sum(cost(request) for request in made) <= DAY
    tokens, _ = spent(world)
    assert 0.5 * DAY < tokens <= DAY
    told = [world.telegram.screen.of(str(number))[0].text for number in range(1, 201)]
    assert sum("Today's budget is used up" in text for text in told) == 200 - len(made)


async def test_a_kill_between_setting_aside_and_settling_spends_no_more_either(world: World, process: Process) -> None:
    let_go, day, chars = asyncio.Event(), 130_000, 8_000
    world.model.script = lambda body: Reply(LONG[: chars - 400], hang_before_headers=not let_go.is_set(), until=let_go)
    world.settings |= {"TOKENS_PER_DAY": str(day), "TOOL_MODE": "prompt"}
    world.limits = Limits(admin_share=0.0, answer_chars=chars)

    def ask(*people: int) -> None:
        for number in people:
            world.telegram.person(number, f"Person {number}")
            world.telegram.say(number, "please tell me all of it", person=number)

    ask(*range(1, 6))
    await process.start()
    await world.model.asked(5)
    await process.kill()
    killed = list(world.model.requests)
    aside, _ = spent(world)
    assert sum(cost(request, answered=False) for request in killed) <= aside <= day

    let_go.set()
    ask(*range(6, 41))
    await process.start()
    await world.telegram.screen.until(
        lambda screen: all(screen.of(str(number)) for number in range(1, 41)), seconds=120
    )
    assert await process.stop() == 0

    after = [request for request in world.model.requests[len(killed) :] if request.status == 200]
    tokens, _ = spent(world)
    assert len(after) < 35 and after and aside < tokens <= day
    assert sum(map(cost, killed)) + sum(map(cost, after)) <= day


async def test_a_kill_while_sixty_are_answered_uses_up_nobodys_day(world: World, process: Process) -> None:
    """Of each cut answer the prompt counts, and what was shown; all are whole in the end."""
    let_go, people = asyncio.Event(), range(1, 61)
    text = LONG[:2_000]
    world.settings |= {"TOOL_MODE": "prompt", "TOKENS_PER_DAY": "2000000"}
    await process.start()
    world.model.script = lambda body: Reply(text)
    world.telegram.person(100, "Warm")
    world.telegram.say(100, "please tell me all of it", person=100)
    await world.telegram.screen.until(lambda screen: len("".join(one.text for one in screen.of("100"))) > 1_900)
    world.model.script = lambda body: Reply(text, hang_after=None if let_go.is_set() else 1_000, until=let_go)
    for number in people:
        world.telegram.person(number, f"Person {number}")
        world.telegram.say(number, "please tell me all of it", person=number)
    await world.telegram.screen.until(lambda screen: all(screen.of(str(number)) for number in people), seconds=120)
    await process.kill()
    killed = list(world.model.requests)

    let_go.set()
    await process.start()
    await world.telegram.screen.until(
        lambda screen: all(len("".join(one.text for one in screen.of(str(number)))) > 1_900 for number in people),
        seconds=120,
    )
    assert await process.stop() == 0

    really = sum(map(cost, world.model.requests))
    tokens, _ = spent(world)
    assert len(killed) == 61
    assert 0.7 * really < tokens < 1.15 * really


async def test_tools_that_are_paid_end_with_the_money_and_the_person_sees_what_they_took(
    world: World, start: Start
) -> None:
    calls = iter(range(1_000))

    def script(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] != "tool":
            return Reply(calls=(("search_web", {"query": f"solar power {next(calls)}", "mode": "deep"}),))
        return Reply("Not paid." if "quota" in body["messages"][-1]["content"] else "Found.")

    world.model.script = script
    settings = {"MONEY_PER_DAY_PERSON": "0.04", "TOOL_MODE": "native"}
    async with start("telegram", **settings) as bot:
        world.telegram.person(7, "Ada")
        for number, said in enumerate(("Found.", "Found.", "Not paid."), 1):
            world.telegram.say(7, f"please search for number {number}", person=7)
            await world.telegram.screen.until(_last_is(said, number))
            await bot.dispatcher.wait_idle()
        world.telegram.say(7, "/usage", person=7)
        await world.telegram.screen.until(lambda screen: len(screen.of("7")) == 4)
        world.telegram.say(7, "/why", person=7)
        await world.telegram.screen.until(lambda screen: len(screen.of("7")) == 5)

    assert len(world.tavily.requests) == 2
    _, dollars = spent(world, "person telegram:7")
    assert dollars == 0.032
    usage, why = (message.text for message in world.telegram.screen.of("7")[-2:])
    assert re.search(r"you: 3 questions, [\d,]+ tokens of 200,000 .*, \$0\.0320 of \$0\.0400", usage)
    assert "of this for tools: search_web 2 × $0.0160" in usage
    assert "failed" in why


def _last_is(text: str, count: int) -> Callable[[Screen], bool]:
    """Whether so many messages stand there, and the last one says this."""
    return lambda screen: len(screen.of("7")) == count and screen.of("7")[-1].text == text
