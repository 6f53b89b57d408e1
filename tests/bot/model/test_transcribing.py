"""Speech to text at a server with the real endpoint's rules: sent whole, tried again, faults told in our words."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from aiohttp import web

from bot.contract import SetupRefused
from bot.contract.errors import ModelAway, ModelBusy, ModelDropped, ModelRefused, ModelSlow, SettingsError
from bot.model import ModelOptions, Models, Transcriber
from playground.faults import Fault
from playground.model import ModelServer
from tests.bot.model.conftest import Open, RawServer, RecordingClock

OGG = b"OggS" + b"\0" * 60
WHISPER = "openai:whisper-1"


def heard_by(models: Models) -> Transcriber:
    assert models.transcriber is not None
    return models.transcriber


async def test_a_recording_is_sent_whole_from_its_file_and_its_words_come_back(
    opened: Open, server: ModelServer, tmp_path: Path
) -> None:
    server.key = "sk-secret-key-of-ours"
    content = OGG + bytes(range(256)) * 8_000
    path = tmp_path / "speech"
    path.write_bytes(content)
    server.transcriptions.script = lambda recording: f" Tea, {len(recording)} bytes of it.\n"
    transcriber = heard_by(opened(transcriber="openai:gpt-4o-mini-transcribe"))

    with path.open("rb") as file:
        heard = await transcriber.transcribe(file, "speech.ogg", "audio/ogg", 100.0)

    assert (transcriber.name, heard.text) == ("openai:gpt-4o-mini-transcribe", f"Tea, {len(content)} bytes of it.")
    assert heard.seconds == 0 and server.transcriptions.recordings == [content]
    [asked] = server.requests
    assert (asked["model"], asked["response_format"]) == ("gpt-4o-mini-transcribe", "json")
    assert "Transfer-Encoding" not in asked.headers and int(asked.headers["Content-Length"]) > len(content)


async def test_the_seconds_that_a_server_charges_for_are_told(opened: Open) -> None:
    heard = await heard_by(opened(transcriber=WHISPER)).transcribe(io.BytesIO(OGG), "speech.ogg", "audio/ogg", 100.0)

    assert heard.seconds == 1.0


async def test_a_busy_server_is_sent_the_whole_recording_again(
    opened: Open, server: ModelServer, clock: RecordingClock
) -> None:
    clock.instant = True
    for _ in range(2):
        server.faults.add("transcriptions", Fault(status=503))
    heard = await heard_by(opened(transcriber=WHISPER)).transcribe(io.BytesIO(OGG), "speech.ogg", "audio/ogg", 1e9)

    assert heard.text and len(server.requests) == 3 and server.transcriptions.recordings == [OGG]


@pytest.mark.parametrize(("retry_after", "tries"), [(0.0, 3), (60.0, 1)])
async def test_a_server_that_stays_busy_is_given_up(
    opened: Open, server: ModelServer, clock: RecordingClock, retry_after: float, tries: int
) -> None:
    clock.instant = True
    for _ in range(3):
        server.faults.add("transcriptions", Fault(status=429, retry_after=retry_after))
    with pytest.raises(ModelBusy):
        await heard_by(opened(transcriber=WHISPER)).transcribe(io.BytesIO(OGG), "speech.ogg", "audio/ogg", 1e9)

    assert len(server.requests) == tries


@pytest.mark.parametrize(
    ("name", "content", "file", "error", "said"),
    [
        (WHISPER, b"MZ", "speech.ogg", ModelRefused, "refuses the request"),
        (WHISPER, OGG, "speech.exe", ModelRefused, "refuses the request"),
        ("openai:whisper-9", OGG, "speech.ogg", SetupRefused, "is not known to its server"),
    ],
)
async def test_a_refusal_is_told_without_the_servers_words(
    opened: Open, name: str, content: bytes, file: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        await heard_by(opened(transcriber=name)).transcribe(io.BytesIO(content), file, "audio/ogg", 100.0)


async def test_what_is_no_transcript_and_who_is_not_there_are_faults(
    opened: Open, raw_server: RawServer, clock: RecordingClock
) -> None:
    async def page(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(text="<h1>Welcome</h1>", content_type="text/html")

    clock.instant = True
    for url, error in ((await raw_server(page), ModelDropped), ("http://127.0.0.1:9/v1", ModelAway)):
        models = opened(transcriber=WHISPER, base_urls={"openai": url})
        with pytest.raises(error):
            await heard_by(models).transcribe(io.BytesIO(OGG), "speech.ogg", "audio/ogg", 1e9)


async def test_a_server_that_says_nothing_is_not_waited_for_longer_than_allowed(
    opened: Open, raw_server: RawServer, clock: RecordingClock
) -> None:
    asked = asyncio.Event()

    async def hang(request: web.Request) -> web.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    models = opened(transcriber=WHISPER, base_urls={"openai": await raw_server(hang)})
    waiting = asyncio.create_task(heard_by(models).transcribe(io.BytesIO(OGG), "speech.ogg", "audio/ogg", 100.0))
    await asked.wait()
    await clock.advance(100.0)

    with pytest.raises(ModelSlow, match="no transcript within 100 s"):
        await waiting


def test_a_transcriber_is_checked_when_the_models_are_opened(opened: Open) -> None:
    assert opened().transcriber is None
    for name, said in (("whisper", "TRANSCRIBE_MODEL is 'whisper'"), ("ark:x", "TRANSCRIBE_MODEL names 'ark'")):
        with pytest.raises(SettingsError, match=said):
            opened(transcriber=name)


def test_options_name_no_transcriber_by_themselves() -> None:
    assert ModelOptions(name="openai:scripted", tool_mode="auto", turn_seconds=300.0).transcriber == ""
