"""What a platform may do to a reply while it is delivered, and what its reader sees all the same."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sqlite3
import statistics
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from bot.app import App
from bot.contract.limits import Limits
from playground.faults import Fault
from playground.gate import Gate
from playground.model import Reply
from playground.screen import Shown
from tests.conftest import RawJson, RawObject
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE

PLATFORMS = ("telegram", "slack", "discord")
POST = {
    "telegram": "sendMessage",
    "slack": "chat.postMessage",
    "discord": "POST /channels/{channel}/messages",
}
EDIT = {
    "telegram": "editMessageText",
    "slack": "chat.update",
    "discord": "PATCH /channels/{channel}/messages/{message}",
}
WORDS = " ".join(f"word{number}" for number in range(40))
ANSWER = f"Here it is: {WORDS} end-of-answer"


@dataclass
class Place:
    """One private chat of one platform, as its person sees it."""

    world: World
    platform: str
    number: int = 7
    replies: list[Reply] = field(default_factory=list)
    """What the model says to this person next."""

    def __post_init__(self) -> None:
        world, number = self.world, self.number
        world.telegram.person(number, "Ada")
        world.slack.person(f"U{number}", "Ada")
        world.discord.person(number, "Ada")
        self.chat = {
            "telegram": str(number),
            "slack": world.slack.direct(f"U{number}"),
            "discord": world.discord.direct(number).id,
        }[self.platform]

    @property
    def server(self) -> Any:
        return getattr(self.world, self.platform)

    def say(self, text: str) -> Any:
        """Write; what comes back names the delivery for `redeliver`."""
        text = f"{text} {self.platform}"
        match self.platform:
            case "telegram":
                return self.server.say(self.number, text, person=self.number)
            case "slack":
                before = len(self.server.deliveries)
                self.server.say(self.chat, text, person=f"U{self.number}")
                return self.server.deliveries[before].payload["event_id"]
            case _:
                return self.server.say(self.chat, text, person=self.number)

    @property
    def messages(self) -> list[Shown]:
        return list(self.server.screen.of(self.chat))

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    async def until(self, seen: Callable[[list[str]], object], seconds: float = PATIENCE) -> None:
        await self.server.screen.until(lambda _: seen(self.texts), seconds)

    async def whole(self, text: str = "end-of-answer", seconds: float = PATIENCE) -> None:
        await self.until(lambda texts: any(text in one for one in texts), seconds)

    def calls(self, *kinds: dict[str, str]) -> list[Any]:
        """The posts and edits, as the platform noted them."""
        names = {kind[self.platform] for kind in kinds or (POST, EDIT)}
        return [call for call in self.server.calls if _name(call) in names]

    def delete(self, message: Any) -> None:
        match self.platform:
            case "telegram":
                self.server.delete(int(self.chat), int(message.id))
            case "slack":
                self.server.delete(self.chat, message.id)
            case _:
                self.server.delete(message.id)


def _name(call: Any) -> str:
    return str(getattr(call, "name", "") or call.method)


ON_THE_WAY = 0.2
"""Seconds in which a call may arrive that left before the refusal of another one was read."""


def too_early(place: Place) -> list[str]:
    """Calls that came before a refused call's wait was over, but for those that were on their way by then."""
    found = []
    calls = place.server.calls
    for index, call in enumerate(calls):
        if not call.retry_after:
            continue
        for later in calls[index + 1 :]:
            same = later.method == call.method if place.platform != "telegram" else later.chat == call.chat
            if place.platform == "discord":
                same = later.name == call.name
            if same and call.at + ON_THE_WAY < later.at < call.at + call.retry_after:
                found.append(f"{_name(later)} {later.at - call.at:.2f} s after {_name(call)}, {call.retry_after} asked")
    return found


def answering(*places: Place) -> None:
    """Let the model answer each place with its own next reply: the question's last word names the place."""
    by_name = {place.platform: place for place in places}

    def script(body: RawJson) -> Reply:
        return by_name[str(body["messages"][-1]["content"]).split()[-1]].replies.pop(0)

    places[0].world.model.script = script


async def everywhere(places: Sequence[Place], one: Callable[[Place], Coroutine[None, None, None]]) -> None:
    """Let it happen on all platforms side by side."""
    async with asyncio.TaskGroup() as group:
        for place in places:
            group.create_task(one(place), name=place.platform)


@pytest.fixture
def places(world: World) -> list[Place]:
    places = [Place(world, platform) for platform in PLATFORMS]
    answering(*places)
    return places


async def storm(places: Sequence[Place], start: Start, waits: tuple[float, ...], kind: dict[str, str]) -> None:
    async def one(place: Place) -> None:
        place.replies.append(Reply(ANSWER, words_per_second=60))
        for wait in waits:
            place.server.faults.add(kind[place.platform], Fault(status=429, retry_after=wait))
        place.say("please tell me")
        await place.whole(seconds=sum(waits) + 15)

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()

    for place in places:
        assert too_early(place) == [], place.platform
        assert place.texts == [ANSWER], place.platform
        # What was written while the platform said no went out in the next call together.
        assert len(place.calls()) <= len(waits) + 6, place.platform


@pytest.mark.parametrize("kind", [POST, EDIT], ids=["posts", "edits"])
async def test_a_refusal_for_a_while_is_waited_out_and_the_edits_merge(
    kind: dict[str, str], places: list[Place], start: Start
) -> None:
    await storm(places, start, (1.0, 2.0), kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [POST, EDIT], ids=["posts", "edits"])
async def test_refusals_of_up_to_thirty_seconds_are_waited_out(
    kind: dict[str, str], places: list[Place], start: Start
) -> None:
    await storm(places, start, (3.0, 30.0, 1.0, 7.0), kind)


async def test_a_reply_that_somebody_deletes_while_it_is_written_ends_and_is_not_posted_again(
    places: list[Place], start: Start, world: World
) -> None:
    """Whoever deleted it has stopped it: the model would write for ten minutes."""
    began: RawObject = {}

    async def one(place: Place) -> None:
        place.replies += [Reply("word " * 12_000, words_per_second=20), Reply("The next one.")]
        place.say("please tell me")
        await place.until(lambda texts: texts)
        [began[place.platform]] = [one for one in world.model.requests if place.platform in str(one.messages[-1])]
        place.delete(place.messages[0])
        async with asyncio.timeout(PATIENCE):
            await began[place.platform].ended.wait()
        place.say("please go on")
        await place.whole("The next one.", 30)

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()

    for place in places:
        assert began[place.platform].closed_early, place.platform
        assert place.texts == ["The next one."], place.platform


LASTING: dict[str, tuple[tuple[int, RawObject, int], ...]] = {
    "telegram": (
        (400, {"ok": False, "error_code": 400, "description": "Bad Request: TOPIC_CLOSED"}, 1),
        (400, {"ok": False, "error_code": 400, "description": "Bad Request: CHAT_OF_NEXT_YEAR"}, 3),
        (401, {"ok": False, "error_code": 401, "description": "Unauthorized"}, 2),
    ),
    "slack": (
        (200, {"ok": False, "error": "restricted_action_thread_locked"}, 1),
        (200, {"ok": False, "error": "a_word_of_next_year"}, 3),
        (200, {"ok": False, "error": "token_revoked"}, 2),
    ),
    "discord": (
        (403, {"message": "Missing Permissions", "code": 50013}, 1),
        (409, {"message": "A word of next year", "code": 999_001}, 3),
        (401, {"message": "401: Unauthorized", "code": 0}, 2),
    ),
}
"""Refusals of every post: status, body, and how often they are asked for at most."""


@pytest.mark.parametrize("kind", range(3), ids=["known", "unknown", "token"])
async def test_a_refusal_that_lasts_is_not_repeated_and_one_that_passes_is_not_final(
    kind: int, places: list[Place], start: Start, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def one(place: Place) -> None:
        status, body, calls = LASTING[place.platform][kind]
        # One at once is an odd answer; all that come then are meant.
        for often in (1, 1000) if calls > 1 else (1000,):
            place.server.faults.add(POST[place.platform], Fault(status=status, body=json.dumps(body)), often)
            before = len(place.calls(POST))
            place.replies.append(Reply(ANSWER if often == 1 else "word " * 12_000, words_per_second=100))
            place.say("please tell me")
            if often == 1:
                await place.whole()
                continue
            async with asyncio.timeout(PATIENCE):
                while len(place.calls(POST)) < before + calls:
                    await asyncio.sleep(0.01)
                await bot.dispatcher.wait_idle()
            assert len(place.calls(POST)) == before + calls, place.platform
            place.server.faults.clear()
        place.replies.append(Reply("The next one."))
        place.say("please go on")
        await place.whole("The next one.", 30)

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)

    assert not any("shown again" in text for text in caplog.messages)
    named = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    expected = (("lacks a right",), (), ("TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "DISCORD_BOT_TOKEN"))
    for name in expected[kind]:
        assert any(name in line for line in named), name


def shut_out(place: Place, out: bool = True) -> None:
    """The person blocks the bot (in Slack, an admin takes it out of the conversation), or takes it back."""
    place.server.faults.clear()
    match place.platform:
        case "telegram":
            (place.server.block if out else place.server.unblock)(place.number)
        case "slack":
            if out:
                refusal = Fault(status=200, body='{"ok":false,"error":"channel_not_found"}')
                place.server.faults.add(EDIT["slack"], refusal, 1000)
        case _:
            place.server.block(place.number, out)
            if out:  # Discord lets a bot edit what it wrote before it was blocked
                forbidden = json.dumps({"message": "Cannot send messages to this user", "code": 50007})
                place.server.faults.add(EDIT["discord"], Fault(status=403, body=forbidden), 1000)


async def test_who_blocks_the_bot_is_left_alone_and_remembered(
    places: list[Place], start: Start, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    calls: dict[str, int] = {}

    async def blocks(place: Place) -> None:
        go_on = asyncio.Event()
        place.replies += [
            Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100),
            Reply(f"Welcome back to {place.platform}."),
        ]
        place.say("please tell me about kettles")
        await place.until(lambda texts: texts)
        shut_out(place)
        go_on.set()

    async def comes_back(place: Place) -> None:
        shut_out(place, False)
        assert len(place.calls()) == calls[place.platform], place.platform
        place.say("please say hello")
        await place.whole("Welcome back")

    async with start(*PLATFORMS) as bot:
        await everywhere(places, blocks)
        await bot.dispatcher.wait_idle()
        calls |= {place.platform: len(place.calls()) for place in places}
        await everywhere(places, comes_back)
        await bot.dispatcher.wait_idle()

    for request in world.model.requests[-3:]:
        assert any("about kettles" in str(message["content"]) for message in request.messages[:-1])
    assert not [record for record in caplog.records if record.levelname == "ERROR" and record.name.startswith("bot")]


def refused_for_good(place: Place) -> list[Any]:
    """Calls that the platform refused because nothing can be written there any more."""
    return [call for call in place.calls() if call.status == 403 or getattr(call, "error", "")]


async def test_what_nobody_can_read_is_not_written_to_its_end(places: list[Place], start: Start, world: World) -> None:
    """The model would write for ten minutes; its connection closes as soon as a call says that the person is gone."""
    began: RawObject = {}

    async def one(place: Place) -> None:
        place.replies += [
            Reply("word " * 12_000, words_per_second=20),
            Reply(f"Welcome back to {place.platform}."),
        ]
        place.say("please tell me about kettles")
        await place.until(lambda texts: texts)
        [began[place.platform]] = [one for one in world.model.requests if place.platform in str(one.messages[-1])]
        shut_out(place)
        async with asyncio.timeout(PATIENCE):
            await began[place.platform].ended.wait()

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()
        refused = {place.platform: refused_for_good(place) for place in places}
        kept = [await bot.store.turns.find_last(row.chat) for row in await bot.store.history.list_chats()]

    for place in places:
        assert began[place.platform].closed_early, place.platform
        assert len(refused[place.platform]) == 1, place.platform
    assert len(kept) == 3
    for turn in kept:
        assert turn is not None and turn.state == "stopped" and turn.visible.startswith("word word") and turn.error


async def test_the_tools_of_an_answer_that_nobody_can_read_end_too(world: World, start: Start) -> None:
    """Four searches run side by side; when the first ends the fifth begins, and its status is refused. Three hang."""
    place, wares = Place(world, "telegram"), ("cups", "jugs", "lids", "pots", "tins")
    answering(place)
    place.replies.append(
        Reply("Let me see.", calls=tuple(("search_web", {"query": f"{what} sold online"}) for what in wares))
    )
    found = asyncio.Event()
    held = [world.tavily.faults.add("search", Fault(hold=until)) for until in (found, *[asyncio.Event()] * 3)]
    world.limits = Limits(tool_seconds=600.0)
    async with start("telegram", TOOL_MODE="native", TURN_SECONDS="600") as bot:
        place.say("please look up telegram")
        async with asyncio.timeout(PATIENCE):
            for search in held:
                await search.reached.wait()
            await place.until(lambda texts: any("pots" in text for text in texts))
            shut_out(place)
            found.set()
            await bot.dispatcher.wait_idle()
            for request in world.tavily.requests:
                await request.ended.wait()

    assert sum(request.status == 0 for request in world.tavily.requests) == 3
    assert len(world.model.requests) == 1
    assert len(refused_for_good(place)) == 1


REFUSED = {
    "telegram": (400, {"ok": False, "error_code": 400, "description": "Bad Request: can't parse entities: no end"}),
    "slack": (200, {"ok": False, "error": "invalid_blocks"}),
    "discord": (400, {"message": "Invalid Form Body", "code": 50035, "errors": {"content": {"_errors": []}}}),
}


@pytest.mark.parametrize("kind", [POST, EDIT], ids=["post", "edit"])
async def test_refused_formatting_arrives_as_plain_text(
    kind: dict[str, str], places: list[Place], start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    async def one(place: Place) -> None:
        place.replies.append(Reply(f"This is **bold**: {WORDS} end-of-answer", words_per_second=80))
        status, body = REFUSED[place.platform]
        place.server.faults.add(kind[place.platform], Fault(status=status, body=json.dumps(body)))
        place.say("please tell me")
        await place.whole()

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()

    for place in places:
        [text] = place.texts
        assert re.sub(r"\*", "", text) == f"This is bold: {WORDS} end-of-answer", place.platform
    assert sum("refused our markup" in record.getMessage() for record in caplog.records) == 3


LOST = {"before": Fault(drop="before"), "after": Fault(drop="after"), "unreadable": Fault(answer="[7]")}
"""Answers that never come, or that no library can read."""


@pytest.mark.parametrize("when", LOST)
async def test_a_post_whose_answer_is_lost_is_not_repeated_blindly(
    when: str, places: list[Place], start: Start
) -> None:
    async def one(place: Place) -> None:
        place.replies.append(Reply(ANSWER, words_per_second=60))
        place.server.faults.add(POST[place.platform], replace(LOST[when]))
        place.say("please tell me")
        await place.whole()

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()

    for place in places:
        assert sum("end-of-answer" in text for text in place.texts) == 1, place.platform
        assert place.texts[-1] == ANSWER, place.platform
        # Telegram offers no way to ask whether a post arrived: its beginning may stay, and nothing else does.
        left_over = place.platform == "telegram" and when != "before"
        assert len(place.texts) <= (2 if left_over else 1), place.platform


async def test_an_edit_whose_answer_is_lost_is_made_again(places: list[Place], start: Start) -> None:
    async def one(place: Place) -> None:
        place.replies.append(Reply(ANSWER, words_per_second=60))
        for fault in LOST.values():
            place.server.faults.add(EDIT[place.platform], replace(fault))
        place.say("please tell me")
        await place.whole()

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()

    assert [place.texts for place in places] == [[ANSWER]] * 3


async def late(places: Sequence[Place], start: Start, seconds: float) -> None:
    """An edit in mid-answer breaks, and the platform makes it `seconds` after the answer was whole."""

    async def one(place: Place) -> None:
        applied = asyncio.Event()
        fault = place.server.faults.add(EDIT[place.platform], Fault(drop="late", hold=applied))
        # The model waits for the edit, which on a busy machine could be the last one otherwise.
        first = Reply(ANSWER, words_per_second=60, hang_after=20, until=fault.reached)
        place.replies += [first, Reply("Second answer.")]
        place.say("please tell me")
        await place.whole()
        await asyncio.sleep(seconds)
        applied.set()
        await fault.done.wait()
        assert "end-of-answer" not in place.texts[0], place.platform
        await place.whole(seconds=30)

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        for place in places:
            place.say("and then, please")
            await place.whole("Second answer.")
        await bot.dispatcher.wait_idle()

    assert [place.texts for place in places] == [[ANSWER, "Second answer."]] * 3
    assert not any(place.server.refusals for place in places)


@pytest.mark.parametrize("seconds", [0.0, 2.5], ids=["at once", "after the first look"])
async def test_an_edit_that_is_made_after_the_answer_was_whole_does_not_stay(
    seconds: float, places: list[Place], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.reply.settling.SOON", (2.0, 4.0))
    await late(places, start, seconds)


def unsettled(world: World) -> int:
    """How many ended answers the bot is going to show again."""
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM turns WHERE again_at IS NOT NULL").fetchone()[0])


async def test_a_kill_does_not_let_an_older_edit_stand_last(
    places: list[Place], process: Process, world: World
) -> None:
    """Killed after the answer was whole, and before anybody could know that it stays so."""
    held = asyncio.Event()
    faults = {}
    await process.start()
    for place in places:
        fault = place.server.faults.add(EDIT[place.platform], Fault(drop="late", hold=held))
        faults[place.platform] = fault
        place.replies.append(Reply(ANSWER, words_per_second=60, hang_after=20, until=fault.reached))
    await world.slack.sockets.until_connected(1)
    await world.discord.gateway.until_ready(1)
    await everywhere(places, _asked_and_whole)
    async with asyncio.timeout(PATIENCE):
        while unsettled(world) < 3:
            await asyncio.sleep(0.01)
    await process.kill()
    held.set()
    for place in places:
        await faults[place.platform].done.wait()
        assert "end-of-answer" not in place.texts[0], place.platform

    await process.start()
    await everywhere(places, Place.whole)
    assert await process.stop() == 0

    assert [place.texts for place in places] == [[ANSWER]] * 3
    assert unsettled(world) == 3, "two and a half minutes are not over"


async def test_a_kill_in_mid_answer_does_not_let_an_older_edit_stand_last(
    places: list[Place], process: Process, world: World
) -> None:
    """The next process completes the answer; only then the former one's edit is made."""
    held, go_on = asyncio.Event(), asyncio.Event()
    faults = {}
    await process.start()
    for place in places:
        place.replies += [Reply(ANSWER, hang_after=80, until=go_on, words_per_second=60), Reply(ANSWER)]
        late_edit = Fault(drop="late", hold=held)
        faults[place.platform] = place.server.faults.add(EDIT[place.platform], late_edit)
    await world.slack.sockets.until_connected(1)
    await world.discord.gateway.until_ready(1)
    for place in places:
        place.say("please tell me")
    for place in places:
        await asyncio.wait_for(faults[place.platform].reached.wait(), PATIENCE)
    await process.kill()
    await process.start()
    await everywhere(places, Place.whole)

    held.set()
    for place in places:
        await faults[place.platform].done.wait()
        assert "end-of-answer" not in place.texts[0], place.platform
    await everywhere(places, Place.whole)
    go_on.set()
    assert await process.stop() == 0

    assert [place.texts for place in places] == [[ANSWER]] * 3


async def _asked_and_whole(place: Place) -> None:
    place.say("please tell me")
    await place.whole()


async def test_a_platform_that_lets_nothing_through_for_a_day_holds_neither_its_chat_nor_the_others(
    places: list[Place], start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """In mid-answer edits are refused until tomorrow; on Telegram that holds for the whole chat."""

    async def one(place: Place) -> None:
        go_on = asyncio.Event()
        place.replies += [Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100), Reply("Second answer.")]
        place.say("please tell me")
        await place.until(lambda texts: texts)
        place.server.faults.add(EDIT[place.platform], Fault(status=429, retry_after=86_400), 1000)
        go_on.set()
        async with asyncio.timeout(PATIENCE):
            while not any(call.retry_after for call in place.calls()):
                await asyncio.sleep(0.01)
        place.say("and then, please")

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        async with asyncio.timeout(PATIENCE):
            await bot.dispatcher.wait_idle()
        closed = [await bot.store.turns.find_last(row.chat) for row in await bot.store.history.list_chats()]
        waiting = bot.settling.waiting

    for place in places:
        assert sum(bool(call.retry_after) for call in place.calls()) == 1, place.platform
        assert [call for call in too_early(place) if place.platform == "telegram"] == []
        whole = [] if place.platform == "telegram" else [ANSWER, "Second answer."]
        assert place.texts[1:] == whole, place.platform
    assert [turn and turn.visible for turn in closed] == ["Second answer."] * 3
    assert waiting == 2, "both answers that Telegram did not let through"
    told = [record.getMessage() for record in caplog.records if "is refused until" in record.getMessage()]
    assert len(told) == 3 and all(re.search(r"until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", line) for line in told)


async def test_what_a_platform_refused_for_long_is_shown_when_it_lets_it_through(
    places: list[Place], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Posts and edits alike; five seconds are long here."""
    monkeypatch.setattr("bot.pacing.pacer.PATIENCE", 3.0)

    async def one(place: Place) -> None:
        place.replies += [Reply(ANSWER, words_per_second=100), Reply("Second answer.")]
        for kind in (POST, EDIT):
            place.server.faults.add(kind[place.platform], Fault(status=429, retry_after=5))
        place.say("please tell me")
        async with asyncio.timeout(PATIENCE):
            while not any(call.retry_after for call in place.calls()):
                await asyncio.sleep(0.01)
        place.say("and then, please")

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()
        early = [list(place.texts) for place in places]
        for place in places:
            await place.whole()
            await place.whole("Second answer.")

    assert early == [[], [], []]
    for place in places:
        assert place.texts == [ANSWER, "Second answer."], place.platform
        assert too_early(place) == [], place.platform


async def through_an_outage(places: Sequence[Place], start: Start, seconds: float) -> None:
    async def one(place: Place) -> None:
        place.replies += [Reply(ANSWER, words_per_second=60), Reply("Second answer.")]
        for kind in (POST, EDIT):
            place.server.faults.add(kind[place.platform], Fault(status=500))
            place.server.faults.add(kind[place.platform], Fault(status=502), 10_000)
        place.say("please tell me")
        async with asyncio.timeout(PATIENCE):
            while not place.calls():
                await asyncio.sleep(0.01)
        await asyncio.sleep(seconds)
        place.server.faults.clear()
        await place.whole(seconds=seconds * 2 + 20)
        place.say("and then, please")
        await place.whole("Second answer.")

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        await bot.dispatcher.wait_idle()

    for place in places:
        assert place.texts == [ANSWER, "Second answer."], place.platform
        assert len(place.calls()) <= 12 + seconds, place.platform


async def test_an_answer_lands_when_the_platform_works_again(places: list[Place], start: Start) -> None:
    await through_an_outage(places, start, 1.5)


@pytest.mark.soak
async def test_an_answer_lands_after_a_minute_of_server_errors(places: list[Place], start: Start) -> None:
    await through_an_outage(places, start, 60.0)


async def test_an_answer_lands_when_connections_were_refused_for_a_while(
    world: World, places: list[Place], start: Start
) -> None:
    async def one(place: Place) -> None:
        go_on, gate = asyncio.Event(), gates[place.platform]
        place.replies.append(Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100))
        place.say("please tell me")
        await place.until(lambda texts: texts)
        await gate.shut()
        go_on.set()
        await asyncio.sleep(1.0)
        assert "end-of-answer" not in place.texts[0], place.platform
        await gate.open()
        await place.whole()

    async with AsyncExitStack() as stack:
        gates = {place.platform: await stack.enter_async_context(Gate(place.server.base_url)) for place in places}
        world.settings |= {f"{name.upper()}_API_BASE_URL": gate.url for name, gate in gates.items()}
        async with start(*PLATFORMS) as bot:
            await everywhere(places, one)
            await bot.dispatcher.wait_idle()

    assert [place.texts for place in places] == [[ANSWER]] * 3


def again(place: Place, delivery: Any, times: int) -> None:
    for _ in range(times):
        place.server.redeliver(delivery)


async def test_the_same_message_ten_times_at_once_and_over_a_restart_is_one_turn(
    world: World, places: list[Place], start: Start
) -> None:
    deliveries: RawObject = {}

    async def first(place: Place) -> None:
        go_on = asyncio.Event()
        place.replies += [Reply(ANSWER, hang_after=60, until=go_on, words_per_second=200), Reply("And the next.")]
        deliveries[place.platform] = place.say("please answer once")
        again(place, deliveries[place.platform], 4)
        await place.until(lambda texts: texts)
        again(place, deliveries[place.platform], 5)
        go_on.set()
        await place.whole()

    async def second(place: Place) -> None:
        again(place, deliveries[place.platform], 10)
        place.say("please go on")
        await place.whole("And the next.")

    for one in (first, second):
        async with start(*PLATFORMS) as bot:
            await everywhere(places, one)
            await bot.dispatcher.wait_idle()

    assert [place.texts for place in places] == [[ANSWER, "And the next."]] * 3
    assert len(world.model.requests) == 6


@pytest.mark.soak
async def test_one_flooded_chat_does_not_slow_another_chats_first_words(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(f"I read it: {WORDS}", words_per_second=100)
    quiet = [Place(world, "telegram", 100 + number) for number in range(10)]
    flooded = Place(world, "telegram", 7)

    async def wait_of(one: Place) -> float:
        before, since = len(one.messages), time.monotonic()
        one.say("please tell me")
        await one.until(lambda texts: len(texts) > before)
        return time.monotonic() - since

    async def first_words(places: list[Place]) -> float:
        return statistics.median([await wait_of(one) for one in places])

    async with start("telegram", TOOL_MODE="prompt") as bot:
        alone = await first_words(quiet)
        await bot.dispatcher.wait_idle()
        stop = asyncio.Event()

        async def flood() -> None:
            while not stop.is_set():
                flooded.say("please answer this one too")
                await asyncio.sleep(0.01)

        flooding = asyncio.create_task(flood())
        beside = await first_words(quiet)
        stop.set()
        await flooding

    # Whoever waited behind the flood would wait for seconds; the quarter allows for a busy machine.
    assert beside <= alone * 1.2 + 0.25, f"{alone:.3f} s alone, {beside:.3f} s beside a flood"
    assert world.telegram.refusals == 0


CROWDS = [pytest.param(20), pytest.param(100, marks=pytest.mark.soak)]


def crowd(world: World, size: int) -> list[int]:
    """So many people, each answered with what names them."""
    for number in range(1000, 1000 + size):
        world.telegram.person(number, f"P{number}")

    def script(body: RawJson) -> Reply:
        number = str(body["messages"][-1]["content"]).split()[-1]
        return Reply(f"{number}: {WORDS} end-of-{number}", words_per_second=6)

    world.model.script = script
    return list(range(1000, 1000 + size))


def shown_to(world: World, number: int) -> list[str]:
    return [message.text for message in world.telegram.screen.of(str(number))]


async def ask_all(world: World, bot: App, people: Sequence[int]) -> None:
    """Everybody asks, and the bot has nothing to do any more."""
    before = len(world.model.requests)
    for number in people:
        world.telegram.say(number, f"please tell {number}", person=number)
    async with asyncio.timeout(180):
        while len(world.model.requests) < before + len(people):
            await asyncio.sleep(0.05)
        await bot.dispatcher.wait_idle()


@pytest.mark.parametrize("size", CROWDS)
async def test_a_storm_of_refusals_over_many_chats_costs_none_its_answer(
    size: int, world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """Every tenth chat is closed until tomorrow; of all other calls every sixth is refused for a second or two."""
    people, chance = crowd(world, size), random.Random(11)
    closed, others = people[::10], [number for number in people if number % 10]
    for number in closed:
        world.telegram.world.flood.close(number, 86_400)

    def storm(method: str) -> Fault | None:
        refused = method in (POST["telegram"], EDIT["telegram"]) and chance.random() < 1 / 6
        return Fault(status=429, retry_after=chance.choice((1, 2))) if refused else None

    async with start("telegram") as bot:
        world.telegram.faults.source = storm
        await ask_all(world, bot, people)
        waiting = bot.settling.waiting
        busy = [task.get_name() for task in asyncio.all_tasks() if task.get_name().split()[0] in ("turn", "reply")]
        world.telegram.faults.source = None
        await ask_all(world, bot, closed)

    assert [number for number in others if shown_to(world, number) != [f"{number}: {WORDS} end-of-{number}"]] == []
    assert [shown_to(world, number) for number in closed] == [[]] * len(closed)
    assert waiting == len(closed) and busy == []
    for number in closed:
        calls = [call for call in world.telegram.calls if call.chat == str(number)]
        # Asked twice, answered twice; a sign and a page may have been on their way together.
        assert 1 <= sum(call.retry_after > 80_000 for call in calls) <= 2 and calls[-1].retry_after > 80_000
    told = [record for record in caplog.records if "is refused until" in record.getMessage()]
    assert len(told) == len(closed)
    early = [
        later
        for index, call in enumerate(world.telegram.calls)
        if call.retry_after and call.method != "sendChatAction"
        for later in world.telegram.calls[index + 1 :]
        if later.chat == call.chat and later.method == call.method and later.at < call.at + call.retry_after
    ]
    assert early == []


def became_older(message: Shown) -> bool:
    """Whether it was whole, and then was not; it may have been put right since."""
    whole = ["end-of" in version.text for version in message.versions]
    return any(was and not now for was, now in pairwise(whole))


@pytest.mark.parametrize("size", CROWDS)
async def test_edits_that_are_made_late_in_many_chats_stay_in_none(
    size: int, world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, after everything was whole; putting it right keeps to the platform's limits."""
    monkeypatch.setattr("bot.reply.settling.SOON", (1.0, 8.0))
    monkeypatch.setattr("bot.reply.settling.SETTLED", 12.0)
    people, held = crowd(world, size), asyncio.Event()
    edits = [world.telegram.faults.add(EDIT["telegram"], Fault(drop="late", hold=held)) for _ in people]
    async with start("telegram") as bot:
        await ask_all(world, bot, people)
        held.set()
        for edit in edits:
            await edit.done.wait()
        assert any(became_older(message) for number in people for message in world.telegram.screen.of(str(number)))
        async with asyncio.timeout(120):
            while bot.settling.waiting:
                await asyncio.sleep(0.05)

    assert [number for number in people if shown_to(world, number) != [f"{number}: {WORDS} end-of-{number}"]] == []
    assert world.telegram.refusals == 0


NO_RIGHT: dict[str, tuple[int, RawObject, str]] = {
    "telegram": (
        400,
        {"ok": False, "error_code": 400, "description": "Bad Request: not enough rights to send text messages"},
        "the bot lacks the right to write in this chat",
    ),
    "slack": (200, {"ok": False, "error": "missing_scope"}, "SLACK_BOT_TOKEN is refused by Slack (missing_scope)"),
    "discord": (403, {"message": "Missing Permissions", "code": 50013}, "the bot lacks a right there"),
}


UNKNOWN_RIGHT: dict[str, tuple[int, RawObject, str]] = {
    "telegram": (
        403,
        {"ok": False, "error_code": 403, "description": "Forbidden: a word of next year"},
        "the bot lacks a right in this chat (Telegram: Forbidden: a word of next year)",
    ),
    "slack": (200, {"ok": False, "error": "token_revoked"}, "SLACK_BOT_TOKEN is refused by Slack (token_revoked)"),
    "discord": (
        403,
        {"message": "A word of next year", "code": 999_001},
        "the bot lacks a right there: Discord: A word",
    ),
}


@pytest.mark.parametrize("refusals", [NO_RIGHT, UNKNOWN_RIGHT], ids=["known", "unknown"])
async def test_a_right_that_is_missing_is_told_until_a_call_succeeds(
    refusals: dict[str, tuple[int, RawObject, str]],
    places: list[Place],
    start: Start,
    world: World,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def one(place: Place) -> None:
        status, body, _ = refusals[place.platform]
        place.server.faults.add(POST[place.platform], Fault(status=status, body=json.dumps(body)), 1000)
        place.replies.append(Reply(ANSWER))
        place.say("please tell me")

    async with start(*PLATFORMS) as bot:
        await everywhere(places, one)
        async with asyncio.timeout(PATIENCE):
            while len(bot.platforms.rights.told) < len(places):
                await asyncio.sleep(0.01)
        await bot.dispatcher.wait_idle()
        state, told = await bot.state(), bot.platforms.rights.told
        assert state["rights"] == told
        errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        for platform, (_, _, words) in refusals.items():
            assert any(words in line for line in errors), (platform, errors)
            assert any(line.startswith(f"{platform} ") and words in line for line in told), (platform, told)
        assert state["ready"], "whoever adds the bot to a chat can withhold a right there"
        for place in places:
            place.server.faults.clear()
            place.replies.append(Reply("The next one."))
            place.say("please go on")
            await place.whole("The next one.", 30)
        await bot.dispatcher.wait_idle()
        assert (await bot.state())["rights"] == []
