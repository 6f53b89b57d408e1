"""Text to speech at a server with the real endpoint's rules: sound of the format asked for, faults in our words."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from bot.contract import ModelAway, ModelBusy, ModelDropped, ModelRefused, ModelSlow, SettingsError, SetupRefused
from bot.model import Models, Speaker
from playground.faults import Fault
from playground.model import ModelServer
from playground.model.speech import sound_of
from tests.bot.model.conftest import Open, RawServer, RecordingClock

SPEAKS = {"speaker": "openai:gpt-4o-mini-tts", "voice": "nova"}


def speaker_of(models: Models) -> Speaker:
    assert models.speaker is not None
    return models.speaker


async def test_a_text_is_spoken_in_the_voice_and_the_format_that_are_wanted(opened: Open, server: ModelServer) -> None:
    server.key = "sk-secret-key-of-ours"
    speaker = speaker_of(opened(**SPEAKS))

    opus, mp3 = await speaker.speak("Tea for two.", "opus", 9.0), await speaker.speak("茶", "mp3", 9.0)

    assert (speaker.name, opus.content, opus.seconds) == (SPEAKS["speaker"], sound_of("Tea for two.", "opus"), 1.0)
    assert (mp3.content, mp3.seconds) == (sound_of("茶", "mp3"), 0.0)
    assert server.requests[0].body == {
        "model": "gpt-4o-mini-tts",
        "input": "Tea for two.",
        "voice": "nova",
        "response_format": "opus",
    }


async def test_a_speaker_is_another_server_where_it_is_named(opened: Open, server: ModelServer) -> None:
    server.speech.models.append("kokoro")

    assert (await speaker_of(opened(speaker="vllm:kokoro", voice="alloy")).speak("Tea.", "mp3", 9.0)).content
    assert opened().speaker is None
    with pytest.raises(SettingsError, match="SPEECH_MODEL"):
        opened(speaker="nobody:kokoro")


async def test_a_busy_server_is_asked_again(opened: Open, server: ModelServer, clock: RecordingClock) -> None:
    clock.instant = True
    server.faults.add("speech", Fault(status=503), times=2)

    await speaker_of(opened(**SPEAKS)).speak("Tea.", "opus", 1e9)

    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(status=401), SetupRefused),
        (Fault(status=404), SetupRefused),
        (Fault(status=400), ModelRefused),
        (Fault(status=500), ModelBusy),
        (Fault(drop="before"), ModelAway),
    ],
)
async def test_a_refusal_says_what_to_do(
    opened: Open, server: ModelServer, clock: RecordingClock, fault: Fault, error: type[Exception]
) -> None:
    clock.instant = True
    server.faults.add("speech", fault, times=9)

    with pytest.raises(error) as failed:
        await speaker_of(opened(**SPEAKS)).speak("Tea for two.", "opus", 1e9)

    assert "openai:gpt-4o-mini-tts" in str(failed.value) and "Tea" not in str(failed.value)


@pytest.mark.parametrize("sound", [b"", b"<!doctype html><h1>502</h1>", b'{"error": 1}', b"\xff\xff\xff", b"ID3" * 9])
async def test_what_is_no_sound_of_the_format_is_not_sent_to_anybody(
    opened: Open, server: ModelServer, sound: bytes
) -> None:
    server.speech.sound = sound

    with pytest.raises(ModelDropped, match="something else than sound"):
        await speaker_of(opened(**SPEAKS)).speak("Tea.", "opus", 9.0)


@pytest.mark.parametrize("sound", [b"ID3\x04", b"\xff\xfb\x90", b"\xff\xf3\x90"])
async def test_every_head_of_an_mp3_is_known(opened: Open, server: ModelServer, sound: bytes) -> None:
    server.speech.sound = sound

    assert (await speaker_of(opened(**SPEAKS)).speak("Tea.", "mp3", 9.0)).content == sound


async def test_a_length_that_nobody_can_believe_is_not_charged(opened: Open, server: ModelServer) -> None:
    for granule in (b"\xff" * 8, (48_000 * 9_999).to_bytes(8, "little"), b""):
        server.speech.sound = b"OggS\0\4" + granule + bytes(20 if granule else 0)
        assert (await speaker_of(opened(**SPEAKS)).speak("Tea.", "opus", 9.0)).seconds == 0


async def test_a_server_that_takes_too_long_or_sends_without_end_is_left(
    opened: Open, server: ModelServer, clock: RecordingClock, raw_server: RawServer
) -> None:
    server.faults.add("speech", Fault(hold=asyncio.Event()))
    speaking = asyncio.create_task(speaker_of(opened(**SPEAKS)).speak("Tea.", "opus", 30.0))
    await server.asked(1)
    await clock.settle()
    await clock.advance(31.0)
    with pytest.raises(ModelSlow, match="no speech within 30 s"):
        await speaking

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with pytest.raises(OSError):
            while True:
                await response.write(b"OggS" + bytes(1 << 20))
        return response

    models = opened(**SPEAKS, base_urls={"openai": await raw_server(endless)})
    with pytest.raises(ModelDropped, match="more sound than 4 characters"):
        await speaker_of(models).speak("Tea.", "opus", 1e9)
