"""What a platform may do to a reply while it is delivered, and what its reader sees all the same."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from playground.faults import Fault
from playground.gate import Gate
from playground.model import Reply

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

    world: Any
    platform: str
    number: int = 7

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
    def messages(self) -> list[Any]:
        return list(self.server.screen.of(self.chat))

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    async def until(self, seen: Callable[[list[str]], object], seconds: float = 20.0) -> None:
        await self.server.screen.until(lambda _: seen(self.texts), seconds)

    async def whole(self, text: str = "end-of-answer", seconds: float = 20.0) -> None:
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


def too_early(place: Place) -> list[str]:
    """Calls that came before a refused call's wait was over."""
    found = []
    calls = place.server.calls
    for index, call in enumerate(calls):
        if not call.retry_after:
            continue
        for later in calls[index + 1 :]:
            same = later.method == call.method if place.platform != "telegram" else later.chat == call.chat
            if place.platform == "discord":
                same = later.name == call.name
            if same and later.at < call.at + call.retry_after:
                found.append(f"{_name(later)} {later.at - call.at:.2f} s after {_name(call)}, {call.retry_after} asked")
    return found


@pytest.fixture(params=PLATFORMS)
def place(request: pytest.FixtureRequest, world: Any) -> Place:
    return Place(world, request.param)


async def storm(place: Place, start: Any, waits: tuple[float, ...], kind: dict[str, str]) -> None:
    place.world.model.reply(Reply(ANSWER, words_per_second=60))
    async with start(place.platform) as bot:
        for wait in waits:
            place.server.faults.add(kind[place.platform], Fault(status=429, retry_after=wait))
        place.say("please tell me")
        await place.whole(seconds=sum(waits) + 15)
        await bot.dispatcher.idle()

    assert too_early(place) == []
    assert place.texts == [ANSWER]
    # What was written while the platform said no went out in the next call together.
    assert len(place.calls()) <= len(waits) + 6


@pytest.mark.parametrize("kind", [POST, EDIT], ids=["posts", "edits"])
async def test_a_refusal_for_a_while_is_waited_out_and_the_edits_merge(
    kind: dict[str, str], place: Place, start: Any
) -> None:
    await storm(place, start, (1.0, 2.0), kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [POST, EDIT], ids=["posts", "edits"])
async def test_refusals_of_up_to_thirty_seconds_are_waited_out(kind: dict[str, str], place: Place, start: Any) -> None:
    await storm(place, start, (3.0, 30.0, 1.0, 7.0), kind)


async def test_a_deleted_reply_is_posted_once_more_when_it_is_whole_and_not_before(place: Place, start: Any) -> None:
    go_on = asyncio.Event()
    place.world.model.reply(Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100))
    async with start(place.platform) as bot:
        place.say("please tell me")
        await place.until(lambda texts: texts)
        place.delete(place.messages[0])
        go_on.set()
        await place.whole()
        await bot.dispatcher.idle()

    assert place.texts == [ANSWER]
    assert len(place.calls(POST)) == 2
    assert len(place.messages[0].versions) <= 2


async def test_a_reply_deleted_twice_is_left_alone_and_the_chat_goes_on(world: Any, start: Any) -> None:
    place = Place(world, "telegram")
    go_on, posted = asyncio.Event(), asyncio.Event()
    world.model.reply(Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100), Reply("The next one."))
    async with start("telegram") as bot:
        place.say("please tell me")
        await place.until(lambda texts: texts)
        place.delete(place.messages[0])
        gone = {
            "ok": False,
            "error_code": 400,
            "description": "Bad Request: message to edit not found",
        }
        go_on.set()
        await place.whole()
        place.server.faults.add(EDIT["telegram"], Fault(status=400, body=json.dumps(gone)))
        posted.set()
        await bot.dispatcher.idle()
        place.say("please go on")
        await place.whole("The next one.")

    assert place.texts[-1] == "The next one."


def shut_out(place: Place, out: bool = True) -> None:
    """The person blocks the bot (or the workspace archives the chat), or takes it back."""
    match place.platform:
        case "telegram":
            (place.server.block if out else place.server.unblock)(place.number)
        case "slack":
            refusal = Fault(status=200, body='{"ok":false,"error":"channel_not_found"}')
            place.server.faults.clear()
            if out:
                place.server.faults.add("chat.update", refusal, 1000)
        case _:
            place.server.block(place.number, out)


async def test_who_blocks_the_bot_is_left_alone_and_remembered(place: Place, start: Any, caplog: Any) -> None:
    go_on = asyncio.Event()
    place.world.model.reply(Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100), Reply("Welcome back."))
    async with start(place.platform) as bot:
        place.say("please tell me about kettles")
        await place.until(lambda texts: texts)
        if place.platform == "discord":  # Discord lets a bot edit what it wrote to somebody who blocked it
            forbidden = json.dumps({"message": "Cannot send messages to this user", "code": 50007})
            place.server.faults.add(EDIT["discord"], Fault(status=403, body=forbidden))
        shut_out(place)
        go_on.set()
        await bot.dispatcher.idle()
        calls = len(place.calls())
        shut_out(place, False)
        await asyncio.sleep(0.1)
        assert len(place.calls()) == calls
        place.say("please say hello")
        await place.whole("Welcome back.")

    told = [str(message["content"]) for message in place.world.model.requests[-1].messages]
    assert any("about kettles" in one for one in told)
    assert not [record for record in caplog.records if record.levelname == "ERROR" and record.name.startswith("bot")]


REFUSED = {
    "telegram": (400, {"ok": False, "error_code": 400, "description": "Bad Request: can't parse entities: no end"}),
    "slack": (200, {"ok": False, "error": "invalid_blocks"}),
    "discord": (400, {"message": "Invalid Form Body", "code": 50035, "errors": {"content": {"_errors": []}}}),
}


@pytest.mark.parametrize("kind", [POST, EDIT], ids=["post", "edit"])
async def test_refused_formatting_arrives_as_plain_text(
    kind: dict[str, str], place: Place, start: Any, caplog: Any
) -> None:
    place.world.model.reply(Reply(f"This is **bold**: {WORDS} end-of-answer", words_per_second=80))
    async with start(place.platform) as bot:
        status, body = REFUSED[place.platform]
        place.server.faults.add(kind[place.platform], Fault(status=status, body=json.dumps(body)))
        place.say("please tell me")
        await place.whole()
        await bot.dispatcher.idle()

    [text] = place.texts
    assert re.sub(r"\*", "", text) == f"This is bold: {WORDS} end-of-answer"
    assert any("notation" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_post_whose_answer_is_lost_is_not_repeated_blindly(when: str, place: Place, start: Any) -> None:
    place.world.model.reply(Reply(ANSWER, words_per_second=60))
    async with start(place.platform) as bot:
        place.server.faults.add(POST[place.platform], Fault(drop=when))
        place.say("please tell me")
        await place.whole()
        await bot.dispatcher.idle()

    assert sum("end-of-answer" in text for text in place.texts) == 1
    assert place.texts[-1] == ANSWER
    # Telegram offers no way to ask whether a post arrived: its beginning may stay, and nothing else does.
    assert len(place.texts) <= (2 if (place.platform, when) == ("telegram", "after") else 1)


async def test_an_edit_whose_answer_is_lost_is_made_again(place: Place, start: Any) -> None:
    place.world.model.reply(Reply(ANSWER, words_per_second=60))
    async with start(place.platform) as bot:
        for when in ("after", "before"):
            place.server.faults.add(EDIT[place.platform], Fault(drop=when))
        place.say("please tell me")
        await place.whole()
        await bot.dispatcher.idle()

    assert place.texts == [ANSWER]


async def through_an_outage(place: Place, start: Any, status: int, seconds: float) -> None:
    place.world.model.reply(Reply(ANSWER, words_per_second=60), Reply("Second answer."))
    async with start(place.platform) as bot:
        for kind in (POST, EDIT):
            place.server.faults.add(kind[place.platform], Fault(status=status), 10_000)
        place.say("please tell me")
        await place.world.model.asked(1)
        async with asyncio.timeout(10):
            while not place.calls():
                await asyncio.sleep(0.01)
        await asyncio.sleep(seconds)
        place.server.faults.clear()
        await place.whole(seconds=seconds * 2 + 20)
        await bot.dispatcher.idle()
        place.say("and then, please")
        await place.whole("Second answer.")

    assert place.texts == [ANSWER, "Second answer."]
    assert len(place.calls()) <= 12 + seconds


@pytest.mark.parametrize("status", [500, 502])
async def test_an_answer_lands_when_the_platform_works_again(status: int, place: Place, start: Any) -> None:
    await through_an_outage(place, start, status, 1.5)


@pytest.mark.soak
@pytest.mark.parametrize("status", [500, 502])
async def test_an_answer_lands_after_a_minute_of_server_errors(status: int, place: Place, start: Any) -> None:
    await through_an_outage(place, start, status, 60.0)


async def test_an_answer_lands_when_connections_were_refused_for_a_while(place: Place, start: Any) -> None:
    go_on = asyncio.Event()
    place.world.model.reply(Reply(ANSWER, hang_after=60, until=go_on, words_per_second=100))
    async with Gate(place.server.base_url) as gate:
        place.world.settings[f"{place.platform.upper()}_API_BASE_URL"] = gate.url
        async with start(place.platform) as bot:
            place.say("please tell me")
            await place.until(lambda texts: texts)
            await gate.shut()
            go_on.set()
            await place.world.model.requests[0].ended.wait()
            await asyncio.sleep(1.0)
            assert "end-of-answer" not in place.texts[0]
            await gate.open()
            await place.whole()
            await bot.dispatcher.idle()

    assert place.texts == [ANSWER]


def again(place: Place, delivery: Any, times: int) -> None:
    for _ in range(times):
        place.server.redeliver(delivery)


async def test_the_same_message_ten_times_at_once_and_over_a_restart_is_one_turn(place: Place, start: Any) -> None:
    go_on = asyncio.Event()
    place.world.model.reply(Reply(ANSWER, hang_after=60, until=go_on, words_per_second=200))
    async with start(place.platform) as bot:
        delivery = place.say("please answer once")
        again(place, delivery, 4)
        await place.until(lambda texts: texts)
        again(place, delivery, 5)
        go_on.set()
        await place.whole()
        await bot.dispatcher.idle()
    async with start(place.platform) as bot:
        again(place, delivery, 10)
        place.world.model.reply(Reply("And the next."))
        place.say("please go on")
        await place.whole("And the next.")
        await bot.dispatcher.idle()

    assert place.texts == [ANSWER, "And the next."]
    assert len(place.world.model.requests) == 2


async def test_one_flooded_chat_does_not_slow_another_chats_first_words(world: Any, start: Any) -> None:
    world.model.script = lambda body: Reply(f"I read it: {WORDS}", words_per_second=100)
    quiet = [Place(world, "telegram", 100 + number) for number in range(10)]
    flooded = Place(world, "telegram", 7)

    async def first_words(places: list[Place]) -> float:
        loop, waits = asyncio.get_running_loop(), []
        for one in places:
            before, since = len(one.messages), loop.time()
            one.say("please tell me")
            await one.until(lambda texts, one=one, before=before: len(texts) > before)
            waits.append(loop.time() - since)
        return statistics.median(waits)

    async with start("telegram", TOOL_MODE="prompt") as bot:
        alone = await first_words(quiet)
        await bot.dispatcher.idle()
        stop = asyncio.Event()

        async def flood() -> None:
            while not stop.is_set():
                flooded.say("please answer this one too")
                await asyncio.sleep(0.01)

        flooding = asyncio.create_task(flood())
        beside = await first_words(quiet)
        stop.set()
        await flooding

    assert beside <= alone * 1.2 + 0.05, f"{alone:.3f} s alone, {beside:.3f} s beside a flood"
    assert world.telegram.refusals == 0
