"""Twenty spoken clips, in the formats that programs record, in every kind of chat: each is heard, once, as its own."""

from __future__ import annotations

import asyncio
from itertools import cycle
from typing import Final

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_enclosures import Place
from tests.journeys.test_voice import TRANSCRIPTIONS

SAID: Final = (
    "When does the ferry to Moss leave?",
    "How much is a ticket for two?",
    "Remind me to buy milk tomorrow.",
    "What is seven times eight?",
    "Read me the last mail again, please.",
    "Wie spät ist es in Tokio?",
    "Quel temps fera-t-il demain ?",
    "¿Dónde está la estación?",
    "渡轮几点开？",
    "两张票多少钱？",
    "明天提醒我买牛奶。",
    "七乘以八是多少？",
    "渡輪幾點開？",
    "兩張票多少錢？",
    "明天提醒我買牛奶。",
    "フェリーは何時に出ますか。",
    "표 두 장에 얼마예요?",
    "Когда отходит паром?",
    "متى تغادر العبارة؟",
    "No, I meant the other one: from Horten.",
)
FORMS: Final = (
    (".ogg", "audio/ogg", b"OggS\0\2"),
    (".m4a", "audio/mp4", b"\0\0\0\x18ftypM4A "),
    (".mp3", "audio/mpeg", b"ID3\4\0"),
    (".wav", "audio/wav", b"RIFF\0\0\0\0WAVE"),
    (".webm", "audio/webm", b"\x1a\x45\xdf\xa3"),
    (".flac", "audio/flac", b"fLaC"),
)
"""As their files begin."""
NAMES: Final = {"telegram": "voice", "slack": "audio_message", "discord": "voice-message"}
USUAL: Final = {"telegram": FORMS[:1], "slack": FORMS[1:5:3], "discord": FORMS[:1]}
"""What each platform's own programs record."""


def clip(platform: str, said: str, form: tuple[str, str, bytes]) -> tuple[str, str, bytes]:
    ending, media_type, head = form
    return f"{NAMES[platform]}{ending}", media_type, head + b"\n" + said.encode()


def answer(body: RawJson) -> Reply:
    """Repeat the question; before it the model reads what it replies to."""
    told = str(body["messages"][-1]["content"])
    return Reply(f"You asked: {max(SAID, key=told.rfind)}")


@pytest.mark.parametrize("group", [False, True], ids=["private", "group"])
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_twenty_clips_are_each_heard_once_and_answered(
    world: World, start: Start, platform: str, group: bool
) -> None:
    world.model.transcriptions.script = lambda recording: recording.rpartition(b"\n")[2].decode()
    world.model.script = answer
    forms = cycle(USUAL[platform])
    async with start(platform, MESSAGES_PER_MINUTE="0") as bot:
        place = Place(world, platform, group=group)
        for said in SAID:
            sent = clip(platform, said, next(forms))
            if group and platform == "discord":
                # Nobody can write a mention beside a voice message there: it is a reply, or an uploaded recording.
                name, media_type, recording = sent
                if place.texts:
                    world.discord.say("11", "", person=7, files=[sent], reply_to=place.newest)
                else:
                    place.send("", (name.removeprefix("voice-"), media_type, recording))
            else:
                place.send("", sent)
            await place.until(f"You asked: {said}")
            await bot.dispatcher.wait_idle()

    assert place.texts == [f"🎤 {said}\n\nYou asked: {said}" for said in SAID]
    assert sum(one.path == TRANSCRIPTIONS for one in world.model.requests) == len(SAID)


async def test_people_in_many_chats_speak_at_once_and_each_is_heard(world: World, start: Start) -> None:
    world.model.transcriptions.script = lambda recording: recording.rpartition(b"\n")[2].decode()
    world.model.script = answer
    async with start("telegram") as bot:
        for number, said in enumerate(SAID, 100):
            world.telegram.person(number, f"Ada {number}")
            world.telegram.say(number, "", person=number, files=[clip("telegram", said, FORMS[0])])
        await world.telegram.screen.until(
            lambda screen: all(len(screen.of(str(number))) == 1 for number in range(100, 100 + len(SAID)))
        )
        await asyncio.wait_for(bot.dispatcher.wait_idle(), 120)

    shown = [world.telegram.screen.of(str(number))[0].text for number in range(100, 100 + len(SAID))]
    assert shown == [f"🎤 {said}\n\nYou asked: {said}" for said in SAID]
