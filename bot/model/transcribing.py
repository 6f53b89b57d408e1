"""Speech to text at a provider: `POST /audio/transcriptions`, timed, tried again, its faults translated as a model's.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from bot.contract import Backoff, Clock, ModelBusy, ModelDropped, ModelSlow, time_limit
from bot.model.failures import NETWORK_ERRORS, failure
from bot.model.wire import Endpoint

_PAUSES: Final = (0.5, 1.0)
"""Seconds after which a busy server is asked again."""
_LONGEST_PAUSE: Final = 5.0
"""A server that asks for a longer wait is not asked again: a person waits."""
_AT_ONCE: Final = 4
"""Recordings on their way at the same time."""
_MOST_CHARS: Final = 20_000
"""Characters of a transcript; twenty minutes of speech have fewer."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said in a recording."""

    text: str
    """Empty where no words were heard."""
    seconds: float
    """The length that the server charges for; 0 where it does not tell."""


class Transcriber(Protocol):
    """One model that transcribes speech: a `ServiceTranscriber`, or one on this machine."""

    @property
    def name(self) -> str:
        """`provider:name`."""
        ...

    async def transcribe(self, recording: BinaryIO, name: str, media_type: str, seconds: float) -> Heard:
        """See `ServiceTranscriber.transcribe`."""
        ...


class ServiceTranscriber:
    """A model at a provider that transcribes speech."""

    def __init__(self, at: Endpoint, clock: Clock, jitter: random.Random) -> None:
        self._at = at
        self._clock = clock
        self._jitter = jitter
        self._places = asyncio.Semaphore(_AT_ONCE)

    @property
    def name(self) -> str:
        """`provider:name`."""
        return str(self._at.name)

    async def transcribe(self, recording: BinaryIO, name: str, media_type: str, seconds: float) -> Heard:
        """Return what is said in a recording.

        Args:
            recording: read from its start, again at each try.
            name: a file name whose ending tells the format: servers go by it.
            seconds: what it may take, with every try.

        Raises:
            ModelBusy, ModelDropped, ModelSlow, ModelRefused: see `bot.contract.errors`.
        """
        backoff = Backoff(self._clock, _PAUSES, endless=False)
        try:
            async with time_limit(self._clock, seconds), self._places:
                while True:
                    try:
                        return await self._ask(recording, name, media_type)
                    except ModelBusy as error:
                        pause = next(backoff, None)
                        wait = error.retry_after or (pause or 0.0) * self._jitter.uniform(0.75, 1.25)
                        if pause is None or wait > _LONGEST_PAUSE:
                            raise
                    await self._clock.sleep(wait)
        except TimeoutError:
            raise ModelSlow(f"{self.name} gave no transcript within {seconds:g} s") from None

    async def _ask(self, recording: BinaryIO, name: str, media_type: str) -> Heard:
        try:
            said = await self._at.client.audio.transcriptions.create(
                file=(name, recording, media_type), model=self._at.name.model, response_format="json"
            )
        except NETWORK_ERRORS as error:
            raise failure(error, self._at.name, {}, place=self._at.server, wall=self._clock.wall()) from None
        text = getattr(said, "text", None)
        if not isinstance(text, str):
            raise ModelDropped(f"{self.name} answered with something else than a transcript")
        seconds = getattr(getattr(said, "usage", None), "seconds", None)
        return Heard(text.strip()[:_MOST_CHARS], seconds if isinstance(seconds, int | float) and seconds > 0 else 0.0)
