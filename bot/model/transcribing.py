"""Speech to text at a provider: `POST /audio/transcriptions`, timed, retried, with its faults translated like a
model's.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

import httpx2

from bot.contract import Clock, ModelDropped
from bot.model.api import read_value
from bot.model.assembly import table_in
from bot.model.failures import NETWORK_ERRORS
from bot.model.service import Service
from bot.model.wire import Endpoint

_MOST_CHARS: Final = 20_000
"""Characters of a transcript; twenty minutes of speech have fewer."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The transcript of a recording."""

    text: str
    """Empty if there were no words."""
    seconds: float
    """The length that the server charges for; 0 if it does not say."""


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
        self._service = Service(at, clock, jitter)
        self.name = self._service.name
        """`provider:name`."""

    async def transcribe(self, recording: BinaryIO, name: str, media_type: str, seconds: float) -> Heard:
        """Return the transcript of a recording.

        Args:
            recording: read from its start at each try.
            name: a file name whose extension gives the format, which servers rely on.
            seconds: the time for all tries together.

        Raises:
            ModelBusy, ModelDropped, ModelSlow, ModelRefused: see `bot.contract.errors`.
        """
        return await self._service.ask(lambda: self._ask(recording, name, media_type), seconds, "transcript")

    async def _ask(self, recording: BinaryIO, name: str, media_type: str) -> Heard:
        at = self._service.at
        try:
            asked = {"model": at.name.model, "response_format": "json"}
            async with at.api.post("/audio/transcriptions", asked, (name, recording, media_type)) as response:
                said = await _read(response)
        except NETWORK_ERRORS as error:
            raise self._service.failure(error) from None
        text = said.get("text")
        if not isinstance(text, str):
            raise ModelDropped(f"{self.name} answered with something else than a transcript")
        seconds = table_in(said.get("usage")).get("seconds")
        return Heard(text.strip()[:_MOST_CHARS], seconds if isinstance(seconds, int | float) and seconds > 0 else 0.0)


async def _read(response: httpx2.Response) -> Mapping[str, Any]:
    """Return the object in an answer, an empty one if it is something else."""
    try:
        return table_in(await read_value(response))
    except ValueError:
        return {}
