"""Answers that are spoken beside their text: first sentences first, once, and never at the text's expense."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from playground.faults import Fault
from playground.model import Reply
from playground.model.speech import sound_of
from playground.screen import Shown
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_enclosures import PLATFORMS, Place
from tests.journeys.test_files import ready
from tests.patience import PATIENCE

FIRST = "The ferry to **Moss** leaves at six. "
REST = "It takes [half an hour](https://ruter.no). 🚢\n\n```\nprint(1)\n```\n\nHave a good trip!"
ANSWER = FIRST + REST
HEARD = ["The ferry to Moss leaves at six. ", "It takes half an hour.\nHave a good trip!"]
SPEECH = "/v1/audio/speech"


@pytest.fixture(autouse=True)
def _speaks(world: World) -> None:
    world.settings["SPEECH_MODEL"] = "openai:gpt-4o-mini-tts"


def voices(place: Place) -> list[Shown]:
    """The voice messages in a place."""
    shown = getattr(place.world, place.platform).screen.of(place.id)
    return [one for one in shown if one.files and one.files[0][0].startswith("answer.")]


def sounds(place: Place) -> list[bytes]:
    return [one.files[0][2] for one in voices(place)]


def texts(place: Place) -> list[str]:
    return [text for text in place.texts if text]


def played(heard: list[str], platform: str) -> list[bytes]:
    """What these texts sound like on a platform."""
    return [sound_of(text.strip(), "opus" if platform == "telegram" else "mp3") for text in heard]


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)


def command(place: Place, words: str) -> None:
    """Write a command, in a group to the bot."""
    if place.platform == "telegram" and place.group:
        word, _, rest = words.partition(" ")
        place.world.telegram.say(-50, f"/{word}@{place.world.telegram.bot['username']} {rest}".strip(), person=7)
    elif place.platform == "slack" and place.group:
        place.world.slack.command("/parley", words, place.id, "U7")
    else:
        place.send(words if place.platform == "slack" else f"/{words}")


async def switch(place: Place, how: str = "on") -> None:
    """Have answers spoken in a place."""
    command(place, f"voice {how}")
    await place.until("I also speak my answers" if how == "on" else "I only write my answers")


@pytest.mark.parametrize(
    ("platform", "group"),
    [("telegram", False), ("slack", False), ("discord", False), ("telegram", True), ("slack", True), ("discord", True)],
)
async def test_the_first_sentence_is_heard_within_a_second_and_a_half_while_the_rest_is_written(
    world: World, start: Start, platform: str, group: bool
) -> None:
    goes_on = asyncio.Event()
    world.model.speech.before = lambda text: asyncio.sleep(1.0)
    now = asyncio.get_running_loop().time
    world.model.script = lambda body: Reply(ANSWER, hang_after=len(FIRST) + 4, until=goes_on)
    async with start(platform, ADMINS="telegram:7,slack:T0PARLEY/U7,discord:7") as bot:
        place = Place(world, platform, group=group)
        await switch(place)
        await asyncio.sleep(2.0)  # nothing was written there just now
        place.send("When does it leave?")
        await until(lambda: voices(place))
        [asked] = [one for one in world.model.requests if one.path != SPEECH]
        assert asked.last_at < now() < asked.last_at + 1.5 and "good trip" not in texts(place)[-1]
        goes_on.set()
        await until(lambda: len(voices(place)) == 2)
        await bot.dispatcher.wait_idle()

    assert sounds(place) == played(HEARD, platform)
    assert texts(place)[-1].startswith("The ferry to Moss leaves at six.") and "print(1)" in texts(place)[-1]
    assert [request.body["voice"] for request in world.model.requests if request.path == SPEECH] == ["alloy", "alloy"]


async def test_what_a_chat_wants_to_hear_is_kept_and_ends_when_it_says_so(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    async with start(*PLATFORMS):
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            await switch(place)
    async with start(*PLATFORMS) as bot:
        for place in places:
            place.send("When does it leave?")
        await until(lambda: all(len(voices(place)) == 2 for place in places))
        await bot.dispatcher.wait_idle()
        for place in places:
            await switch(place, "off")
            place.send("And back?")
        await until(lambda: all("trip" in texts(place)[-1] for place in places))
        await bot.dispatcher.wait_idle()

    assert all(sounds(place) == played(HEARD, place.platform) for place in places)


async def test_only_admins_choose_it_in_a_group_and_without_a_speaker_one_sentence_says_so(
    world: World, start: Start
) -> None:
    async with start(*PLATFORMS):
        for platform in PLATFORMS:
            place = Place(world, platform, group=True)
            command(place, "voice on")
            await place.until("admin")
    async with start(*PLATFORMS, SPEECH_MODEL=""):
        for platform in PLATFORMS:
            place = Place(world, platform)
            command(place, "voice on")
            await place.until("I cannot speak here: the operator of this bot has not set that up.")


@pytest.mark.parametrize(
    ("fault", "sound"),
    [
        (Fault(status=401), None),
        (Fault(status=500), None),
        (Fault(status=404), None),
        (Fault(drop="before"), None),
        (None, b""),
        (None, b"<!doctype html><title>502 Bad Gateway</title>"),
    ],
)
async def test_a_text_stays_as_it_is_where_nothing_speaks_it_and_that_is_said_once(
    world: World, start: Start, caplog: pytest.LogCaptureFixture, fault: Fault | None, sound: bytes | None
) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    world.model.speech.sound = sound
    if fault is not None:
        world.model.faults.add("speech", fault, times=100)
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        await switch(place)
        for _ in range(2):
            place.send("When does it leave?")
            await bot.dispatcher.wait_idle()
        await place.until("I could not speak this answer")
        await until(lambda: sum("good trip" in text for text in texts(place)) == 2)
        await bot.dispatcher.wait_idle()

    assert not voices(place)
    assert sum("could not speak" in text for text in texts(place)) == 1
    assert "the answer is not spoken: openai:gpt-4o-mini-tts" in caplog.text and "Moss" not in caplog.text


async def test_who_takes_no_voice_messages_gets_a_file(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    world.telegram.world.no_voices.add(7)
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        await switch(place)
        place.send("When does it leave?")
        await until(lambda: len(voices(place)) == 2)
        await bot.dispatcher.wait_idle()

    assert sounds(place) == played(HEARD, "telegram")
    sent = [call.method for call in world.telegram.calls if call.method in ("sendVoice", "sendDocument")]
    assert sent == ["sendVoice", "sendDocument"] * 2


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_what_the_platform_refuses_is_said_once(world: World, start: Start, platform: str) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    refused = {
        "telegram": ("sendVoice", Fault(status=403)),
        "slack": ("files.getUploadURLExternal", Fault(status=200, body='{"ok": false, "error": "restricted_action"}')),
    }
    async with start(platform) as bot:
        place = Place(world, platform)
        await switch(place)
        if platform == "discord":  # which has one call for all messages: what comes after the text is refused, once
            world.model.speech.before = lambda text: no_more_messages(world)
        else:
            # Once may be odd, and is tried again.
            getattr(world, platform).faults.add(*refused[platform], times=2)
        place.send("When does it leave?")
        await place.until("The voice message to this answer could not be sent here.", "good trip")
        await bot.dispatcher.wait_idle()

    assert not voices(place)


async def no_more_messages(world: World) -> None:
    world.model.speech.before = None
    world.discord.faults.add("POST /channels/{channel}/messages", Fault(status=403, body='{"code": 50013}'))


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_stop_ends_the_voice_and_leaves_the_text(world: World, start: Start, platform: str) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    slow = asyncio.Event()

    async def before(text: str) -> None:
        if text.startswith("It takes"):
            await slow.wait()

    world.model.speech.before = before
    async with start(platform) as bot:
        place = Place(world, platform)
        await switch(place)
        place.send("When does it leave?")
        await until(lambda: voices(place) and "good trip" in texts(place)[-1])
        command(place, "stop")
        await bot.dispatcher.wait_idle()
        slow.set()
        command(place, "stop")
        await place.until("Nothing is being answered right now.")

    assert sounds(place) == played(HEARD[:1], platform)
    assert sum("good trip" in text for text in texts(place)) == 1 and not any(
        "Stopped" in text for text in texts(place)
    )


async def test_speech_is_paid_and_counted_and_who_has_spent_the_day_reads(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    async with start("telegram", MONEY_PER_DAY_PERSON="0.0") as bot:
        place = Place(world, "telegram")
        await switch(place)
        place.send("When does it leave?")
        await until(lambda: len(voices(place)) == 2)
        await bot.dispatcher.wait_idle()
        place.send("/usage")
        await place.until("speech 2 × $0.0008")
    async with start("telegram", MONEY_PER_DAY_PERSON="0.0016") as bot:
        place.send("And back?")
        await place.until("The quota for today is used up, so this answer is not spoken.")
        await bot.dispatcher.wait_idle()

    assert len(voices(place)) == 2 and sum("good trip" in text for text in texts(place)) == 2


async def test_a_long_answer_is_spoken_in_part_and_says_so(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("The first is short. " + "And this one is a sentence. " * 300)
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        await switch(place)
        place.send("Tell me all.")
        await until(lambda: len(voices(place)) == 2)
        await bot.dispatcher.wait_idle()

    assert world.model.speech.said[1].endswith("this one is a sentence. The rest is in the text.")
    assert 2_000 < len(world.model.speech.said[1]) < 2_600


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_the_next_question_does_not_wait_for_a_voice_and_voices_come_in_their_order(
    world: World, start: Start, platform: str
) -> None:
    world.model.script = lambda body: Reply("At seven. Bye." if "back" in str(body["messages"][-1]) else ANSWER)
    slow = asyncio.Event()

    async def before(text: str) -> None:
        if text.startswith("It takes"):
            await slow.wait()

    world.model.speech.before = before
    async with start(platform) as bot:
        place = Place(world, platform)
        await switch(place)
        place.send("When does it leave?")
        await until(lambda: voices(place) and "good trip" in texts(place)[-1])
        place.send("And back?")
        await until(lambda: "At seven." in texts(place)[-1])
        await until(lambda: "At seven. Bye." in "".join(world.model.speech.said))
        assert len(voices(place)) == 1
        slow.set()
        await until(lambda: len(voices(place)) == 3)
        await bot.dispatcher.wait_idle()

    assert sounds(place) == played([*HEARD, "At seven. Bye."], platform)
    # What is asked next knows the answer that was still spoken.
    assert "half an hour" in str([one for one in world.model.requests if one.path != SPEECH][-1].body)


@pytest.mark.parametrize("mentions", [True, False], ids=["mention", "slash"])
async def test_a_choice_at_the_root_of_a_slack_channel_is_the_channels(
    world: World, start: Start, mentions: bool
) -> None:
    """Also where a thread with an answer stands there, which a command about an answer would mean."""
    world.model.script = lambda body: Reply("At six.")
    async with start("slack", ADMINS="slack:T0PARLEY/U7") as bot:
        place = Place(world, "slack", group=True)
        place.send("When does it leave?")
        await place.until("At six.")
        for chosen, told in (
            ("voice on", "I also speak my answers"),
            ("persona be a pirate", "I follow these instructions"),
        ):
            place.send(chosen) if mentions else command(place, chosen)
            await place.until(told)
        await bot.dispatcher.wait_idle()
        place.send("And back?")
        await until(lambda: voices(place))
        await bot.dispatcher.wait_idle()

    assert "be a pirate" in str([one for one in world.model.requests if one.path != SPEECH][-1].body)


async def test_a_command_ends_what_is_spoken_and_a_stop_beside_a_running_answer_ends_that_first(
    world: World, start: Start
) -> None:
    goes_on = asyncio.Event()
    world.model.script = lambda body: (
        Reply("At seven. Bye.", hang_after=4, until=goes_on) if "back" in str(body["messages"][-1]) else Reply(ANSWER)
    )

    async def before(text: str) -> None:
        await goes_on.wait()

    world.model.speech.before = before
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        await switch(place)
        place.send("When does it leave?")
        await until(lambda: "good trip" in texts(place)[-1])
        place.send("And back?")
        await until(lambda: len(bot.dispatcher.queue._beside) and bot.dispatcher.queue.length == 0)
        await until(lambda: "At" in texts(place)[-1][:2])
        command(place, "stop")
        await place.until("Stopped")
        assert bot.dispatcher.queue.find_beside(next(iter(bot.dispatcher.queue._beside))) is not None
        command(place, "stop")
        await bot.dispatcher.wait_idle()
        assert not voices(place)

        place.send("When does it leave?")
        await until(lambda: "good trip" in texts(place)[-1])
        command(place, "new")
        await bot.dispatcher.wait_idle()
        goes_on.set()

    assert not voices(place)


async def test_a_voice_message_goes_with_the_answer_that_is_made_anew(world: World, start: Start) -> None:
    world.model.reply(Reply("The ferry leaves at six."), Reply("The ferry leaves at seven."))
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        await switch(place)
        update = world.telegram.say(7, "When does it leave?", person=7)
        await until(lambda: voices(place))
        await bot.dispatcher.wait_idle()
        world.telegram.people.edit(7, world.telegram.people.message_id(update), "When does it leave today?")
        await until(lambda: world.model.speech.said[1:])
        await bot.dispatcher.wait_idle()

    assert sounds(place) == played(["The ferry leaves at seven."], "telegram")
    assert texts(place)[-1] == "The ferry leaves at seven."


@pytest.mark.parametrize("sent", [0, 1])
async def test_what_is_spoken_comes_once_over_a_kill(world: World, process: Process, sent: int) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    speaks = asyncio.Event()

    async def before(text: str) -> None:
        if not sent or text.startswith("It takes"):
            await speaks.wait()

    world.model.speech.before = before
    places = [Place(world, platform) for platform in PLATFORMS]
    await process.start()
    await ready(world)
    for place in places:
        await switch(place)
        place.send("When does it leave?")
    # The answers stand; what speaks them is still at work.
    await until(lambda: all("good trip" in "".join(texts(place)) and len(voices(place)) == sent for place in places))
    # Where an answer was whole at once, its parts are asked for one after the other.
    await until(lambda: sum(one.path == SPEECH for one in world.model.requests) >= 3 * (sent + 1))
    await process.kill()
    speaks.set()
    await process.start()
    await until(lambda: all(len(voices(place)) == 2 for place in places))
    # Its files may be there before its gateways are: what is written until then is told to nobody.
    await ready(world, starts=2)
    for place in places:
        await switch(place, "off")
    assert await process.stop() == 0

    for place in places:
        assert sounds(place) == played(HEARD, place.platform)
        assert sum("good trip" in text for text in texts(place)) == 1
    assert len([one for one in world.model.requests if one.path != SPEECH]) == 3


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_an_answer_is_spoken_on_request_the_newest_or_the_one_replied_to(
    world: World, start: Start, platform: str
) -> None:
    world.model.reply(Reply("The ferry leaves at six."), Reply("It comes back at **nine**."))
    async with start(platform) as bot:
        place = Place(world, platform)
        command(place, "voice")
        await place.until("There is no answer here that I could speak.")
        for question in ("When does it leave?", "And back?"):
            place.send(question)
            await bot.dispatcher.wait_idle()
        await place.until("It comes back at nine.")
        command(place, "voice")
        await until(lambda: voices(place))
        await bot.dispatcher.wait_idle()
        if platform == "telegram":
            first = next(one for one in world.telegram.screen.of("7") if "at six" in one.text)
            world.telegram.say(7, "/voice", person=7, reply_to=int(first.id))
            await until(lambda: voices(place)[1:])
        await bot.dispatcher.wait_idle()
        world.model.script = lambda body: Reply("Once more.")
        command(place, "retry")
        await place.until("Once more.")
        await bot.dispatcher.wait_idle()

    heard = ["It comes back at nine.", "The ferry leaves at six."][: 2 if platform == "telegram" else 1]
    assert sounds(place) == played(heard, platform)
    # What is spoken again is no question: nothing tells a model of it, and it is not what is asked again.
    assert "And back?" in str(world.model.requests[-1].body["messages"][-1]["content"])


async def test_what_is_forgotten_is_not_spoken_any_more(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(ANSWER)
    never = asyncio.Event()

    async def before(text: str) -> None:
        if text.startswith("It takes"):
            await never.wait()

    world.model.speech.before = before
    now = asyncio.get_running_loop().time
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        await switch(place)
        place.send("When does it leave?")
        await until(lambda: voices(place) and "good trip" in "".join(texts(place)))
        asked = now()
        place.send("/forget yes")
        await place.until("is deleted")
        assert now() - asked < 20.0  # a text may take 30 s to be spoken
        never.set()
        await bot.dispatcher.wait_idle()

    assert sounds(place) == played(HEARD[:1], "telegram")


async def test_without_a_speaker_nothing_is_read_aloud(world: World, start: Start) -> None:
    async with start("telegram", SPEECH_MODEL="") as bot:
        place = Place(world, "telegram")
        command(place, "voice")
        await place.until("I cannot speak here: the operator of this bot has not set that up.")
        await bot.dispatcher.wait_idle()


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("answer", [ANSWER, "```\nprint(1)\nprint(2)\n```"], ids=["heard", "code"])
async def test_a_long_answer_ends_as_a_fresh_message_unless_its_end_is_heard(
    world: World, start: Start, platform: str, answer: str
) -> None:
    goes_on = asyncio.Event()
    world.model.script = lambda body: Reply(answer, hang_after=18, until=goes_on)
    world.settings["FRESH_MESSAGE_SECONDS"] = "0.2"
    async with start(platform) as bot:
        place, shown = Place(world, platform), getattr(world, platform).screen
        await switch(place)
        before = {one.id for one in shown.of(place.id)}

        def answers() -> list[str]:
            return [one.id for one in shown.of(place.id) if one.text and one.id not in before]

        place.send("When does it leave?")
        await until(answers)
        [first] = answers()
        await asyncio.sleep(0.3)
        goes_on.set()
        await bot.dispatcher.wait_idle()

    [last] = answers()
    assert (last == first) == (answer is ANSWER) == bool(voices(place))
