"""The endpoint for transcripts refuses what the real one refuses, through the real client."""

from __future__ import annotations

import io
import wave

import aiohttp
import openai
import pytest

from playground.model import ModelServer
from playground.model.transcriptions import LARGEST

OGG = b"OggS" + b"\0" * 60


def wav(seconds: float) -> bytes:
    """Silence of this length."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(1_000)
        file.writeframes(b"\x80" * int(seconds * 1_000))
    return written.getvalue()


async def test_a_recording_is_answered_by_the_script(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.transcriptions.script = lambda recording: f"{len(recording)} bytes"

    heard = await client.audio.transcriptions.create(file=("a.wav", wav(3)), model="whisper-1", response_format="json")

    assert heard.text == f"{len(wav(3))} bytes" and server.transcriptions.recordings == [wav(3)]
    assert heard.usage is not None and heard.usage.type == "duration" and heard.usage.seconds == 3


@pytest.mark.parametrize(
    ("form", "status", "said"),
    [
        ({"model": "whisper-1"}, 400, "Field required"),
        ({"file": ("a.ogg", OGG)}, 400, "you must provide a model parameter"),
        ({"file": ("a.ogg", OGG), "model": "gpt-9"}, 404, "does not exist"),
        ({"file": ("a.ogg", OGG), "model": "whisper-1", "voice": "x"}, 400, "Unrecognized request argument"),
        ({"file": ("a.amr", OGG), "model": "whisper-1"}, 400, "Unsupported file format amr"),
        ({"file": ("a.ogg", b"MZ"), "model": "whisper-1"}, 400, "corrupted or unsupported"),
        ({"file": ("a.mp3", OGG), "model": "whisper-1"}, 400, "corrupted or unsupported"),
        ({"file": ("a.wav", wav(1_401)), "model": "gpt-4o-transcribe"}, 400, "longer than 1400 seconds"),
        ({"file": ("a.ogg", OGG + b"x" * LARGEST), "model": "whisper-1"}, 413, "Maximum content size limit"),
        ({"file": ("a.ogg", OGG), "model": "gpt-4o-transcribe", "response_format": "srt"}, 400, "is not compatible"),
        ({"file": ("a.ogg", OGG), "model": "whisper-1", "stream": "true"}, 400, "answers in JSON, whole"),
    ],
)
async def test_what_breaks_a_rule_is_refused(
    server: ModelServer, form: dict[str, str | tuple[str, bytes]], status: int, said: str
) -> None:
    data = aiohttp.FormData(default_to_multipart=True)
    for name, value in form.items():
        if isinstance(value, str):
            data.add_field(name, value)
        else:
            data.add_field(name, io.BytesIO(value[1]), filename=value[0])
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{server.base_url}/audio/transcriptions", data=data) as response,
    ):
        assert response.status == status and said in (await response.json())["error"]["message"]


async def test_json_is_no_form(server: ModelServer) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{server.base_url}/audio/transcriptions", json={"model": "whisper-1"}) as response,
    ):
        assert response.status == 400 and "multipart form" in (await response.json())["error"]["message"]
