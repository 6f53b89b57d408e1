"""Text to speech at a provider: `POST /audio/speech`, timed, retried, with its faults translated like a model's.

https://platform.openai.com/docs/api-reference/audio/createSpeech
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from bot.contract import Clock, ModelDropped, SoundForm
from bot.model.failures import NETWORK_ERRORS
from bot.model.service import Service
from bot.model.wire import Endpoint

_MOST_BYTES: Final = 8_000_000
"""Bytes of sound; five minutes of MP3 at its highest rate have no more."""
_OPUS_RATE: Final = 48_000
"""An Ogg file counts Opus samples at this rate, whatever its source. RFC 7845, section 4."""
_HEADER: Final = 27
"""Bytes before the segments of an Ogg page."""
_LONGEST: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Sound:
    """The speech of a text."""

    content: bytes
    seconds: float
    """The playing time; 0 if its format does not say."""


class Speaker:
    """A speech model at a provider."""

    def __init__(self, at: Endpoint, voice: str, clock: Clock, jitter: random.Random) -> None:
        self._service = Service(at, clock, jitter)
        self.name = self._service.name
        """`provider:name`."""
        self._voice = voice

    async def speak(self, text: str, form: SoundForm, seconds: float) -> Sound:
        """Return `text` as speech, in the language of the text.

        Args:
            text: at most 4,096 characters.
            seconds: the time for all tries together.

        Raises:
            ModelBusy, ModelDropped, ModelSlow, ModelRefused: see `bot.contract.errors`.
        """
        content = await self._service.ask(lambda: self._ask(text, form), seconds, "speech")
        return Sound(content, _length_of(content) if form == "opus" else 0.0)

    async def _ask(self, text: str, form: SoundForm) -> bytes:
        at, content = self._service.at, bytearray()
        try:
            asked = {"input": text, "model": at.name.model, "voice": self._voice, "response_format": form}
            async with at.api.post("/audio/speech", asked) as response:
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > _MOST_BYTES:
                        raise ModelDropped(f"{self.name} sends more sound than {len(text)} characters have")
        except NETWORK_ERRORS as error:
            raise self._service.failure(error) from None
        if not _is_sound(content, form):
            raise ModelDropped(f"{self.name} answered with something else than sound in the format {form}")
        return bytes(content)


def _is_sound(content: bytearray, form: SoundForm) -> bool:
    if form == "opus":
        return content.startswith(b"OggS")
    return content.startswith(b"ID3") or (len(content) > 1 and content[0] == 0xFF and content[1] & 0xE6 > 0xE0)


def _length_of(ogg: bytes) -> float:
    """Return the playing time of an Ogg file with Opus, from its last page; 0 if that is implausible."""
    last = ogg.rfind(b"OggS")
    if len(ogg) - last < _HEADER:
        return 0.0
    seconds = int.from_bytes(ogg[last + 6 : last + 14], "little", signed=True) / _OPUS_RATE
    return seconds if 0 < seconds < _LONGEST else 0.0
