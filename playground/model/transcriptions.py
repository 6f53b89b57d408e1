"""Transcriptions: text for any recording, with the real endpoint's rules and refusals.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from playground.model.reply import Body
from playground.model.strictness import Refused

LARGEST = 26_214_400
ENDINGS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
FIELDS = frozenset(
    (
        "file",
        "model",
        "language",
        "prompt",
        "response_format",
        "temperature",
        "stream",
        "include[]",
        "chunking_strategy",
    )
)
FORMATS = {"whisper-1": frozenset(("json", "text", "srt", "verbose_json", "vtt"))}
"""Of each model; the others answer in JSON alone."""
_SIGNS = (
    (b"OggS", 0, ("ogg", "oga")),
    (b"RIFF", 0, ("wav",)),
    (b"fLaC", 0, ("flac",)),
    (b"ID3", 0, ("mp3", "mpga", "mpeg")),
    (b"\xff\xfb", 0, ("mp3", "mpga", "mpeg")),
    (b"ftyp", 4, ("mp4", "m4a")),
    (b"\x1a\x45\xdf\xa3", 0, ("webm",)),
)


@dataclass
class Transcriptions:
    """What `POST /v1/audio/transcriptions` does, and what it was sent."""

    models: list[str] = field(default_factory=lambda: ["gpt-4o-mini-transcribe", "gpt-4o-transcribe", "whisper-1"])
    script: Callable[[bytes], str] = lambda recording: "What does green tea cost in Kyoto?"
    """What is heard in a recording."""
    recordings: list[bytes] = field(default_factory=list)

    def answer(self, sent: Body) -> web.Response:
        """Transcribe what a form holds.

        Raises:
            Refused: it breaks a rule of the endpoint.
        """
        for name in sent:
            if name not in FIELDS | {"file.name"}:
                raise Refused(f"Unrecognized request argument supplied: {name}", name, code="unknown_parameter")
        model, content, ending = sent.get("model"), sent.get("file"), str(sent.get("file.name", ""))
        if not isinstance(content, bytes):
            raise Refused("[{'type': 'missing', 'loc': ('body', 'file'), 'msg': 'Field required'}]", "file")
        if not isinstance(model, str) or not model:
            raise Refused("you must provide a model parameter", "model")
        if model not in self.models:
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise Refused(message, "model", status=404, code="model_not_found")
        if len(content) > LARGEST:
            told = f"413: Maximum content size limit ({LARGEST}) exceeded ({len(content)} bytes read)"
            raise Refused(told, status=413)
        asked = sent.get("response_format", "json")
        if asked not in FORMATS.get(model, {"json"}):
            raise Refused(f"response_format '{asked}' is not compatible with model '{model}'.", "response_format")
        if asked != "json" or sent.get("stream") not in (None, "false"):
            raise Refused("This server answers in JSON, whole.", "response_format")
        _check_format(content, ending)
        if seconds_of(content) > 1400:
            message = f"audio duration {seconds_of(content):g} seconds is longer than 1400 seconds which is the maximum"
            raise Refused(f"{message} for this model", "file")
        self.recordings.append(content)
        usage: Body = {"type": "duration", "seconds": max(1, round(seconds_of(content)))}
        if model != "whisper-1":
            usage = {"type": "tokens", "input_tokens": 14, "output_tokens": 45, "total_tokens": 59}
        return web.json_response({"text": self.script(content), "usage": usage})


def _check_format(content: bytes, name: str) -> None:
    """The name's ending says what a file is, and the file must be that."""
    ending = name.rpartition(".")[2].lower()
    if ending not in ENDINGS:
        told = ", ".join(f"'{one}'" for one in ENDINGS)
        raise Refused(f"Unsupported file format {ending}. Supported formats: [{told}]", "file")
    if not any(content[at : at + len(sign)] == sign and ending in endings for sign, at, endings in _SIGNS):
        raise Refused("Audio file might be corrupted or unsupported", "file", code="invalid_value")


def seconds_of(content: bytes) -> float:
    """How long a WAV plays; 1 for anything else."""
    try:
        with wave.open(io.BytesIO(content)) as read:
            return float(read.getnframes() / read.getframerate())
    except (wave.Error, EOFError, ZeroDivisionError):
        return 1.0


async def read_form(request: web.Request) -> Body | None:
    """The fields of a form, the file's name beside it; None where it is no form."""
    if request.content_type != "multipart/form-data":
        return None
    try:
        form = await request.post()
    except ValueError:
        return None
    sent: Body = {}
    for key, value in form.items():
        if isinstance(value, web.FileField):
            sent |= {key: value.file.read(), "file.name": value.filename or ""}
        else:
            sent[key] = value
    return sent
