"""Speech: sound for any text, with the real endpoint's rules and refusals.

https://platform.openai.com/docs/api-reference/audio/createSpeech
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from playground.model.reply import Body
from playground.model.strictness import Refused

LONGEST = 4_096
FIELDS = frozenset(("model", "input", "voice", "response_format", "speed", "instructions", "stream_format"))
VOICES = (
    "alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse".split()  # noqa: SIM905 - as it is listed
)
TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
_RATE = 48_000
_SECOND = 12
"""Characters that are spoken in one."""


@dataclass
class Speech:
    """What `POST /v1/audio/speech` does, and what it was asked to say."""

    models: list[str] = field(default_factory=lambda: ["gpt-4o-mini-tts", "tts-1", "tts-1-hd"])
    said: list[str] = field(default_factory=list)
    """Every text that was spoken."""
    before: Callable[[str], Awaitable[None]] | None = None
    """Awaited before a text is spoken: how long that takes."""
    sound: bytes | None = None
    """Sent in the place of every sound."""

    async def answer(self, sent: Body) -> web.Response:
        """Speak what a request holds.

        Raises:
            Refused: it breaks a rule of the endpoint.
        """
        for name in sent:
            if name not in FIELDS:
                raise Refused(f"Unrecognized request argument supplied: {name}", name, code="unknown_parameter")
        model, text, voice = (sent.get(name) for name in ("model", "input", "voice"))
        for name, value in (("model", model), ("input", text), ("voice", voice)):
            if not isinstance(value, str) or not value:
                raise Refused(f"[{{'type': 'missing', 'loc': ('body', '{name}'), 'msg': 'Field required'}}]", name)
        if model not in self.models:
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise Refused(message, "model", status=404, code="model_not_found")
        text = str(text)
        if len(text) > LONGEST:
            told = f"[{{'type': 'string_too_long', 'loc': ('body', 'input'), 'ctx': {{'max_length': {LONGEST}}}}}]"
            raise Refused(told, "input")
        if voice not in VOICES:
            raise Refused(f"Input should be {', '.join(map(repr, VOICES))}", "voice")
        form = sent.get("response_format", "mp3")
        if form not in TYPES:
            raise Refused(f"Input should be {', '.join(map(repr, TYPES))}", "response_format")
        if self.before is not None:
            await self.before(text)
        self.said.append(text)
        sound = sound_of(text, form) if self.sound is None else self.sound
        return web.Response(body=sound, content_type=TYPES[form])


def sound_of(text: str, form: str) -> bytes:
    """A sound as long as `text` takes to say; it holds the text, so that a test sees what a player would hear."""
    if form != "opus":
        return b"ID3\x04\0\0\0\0\0\0" + text.encode()
    samples = len(text) * _RATE // _SECOND
    return _page(b"OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0", 0, first=True) + _page(text.encode(), samples)


def _page(content: bytes, granule: int, *, first: bool = False) -> bytes:
    """One page of an Ogg file, as long as may be; its checksum is left out."""
    flags = b"\x02" if first else b"\x04"
    head = b"OggS\0" + flags + granule.to_bytes(8, "little") + b"\x01\0\0\0" + b"\0\0\0\0" + b"\0\0\0\0"
    return head + b"\x01" + bytes((min(255, len(content)),)) + content
