"""Speech to text by a model on this machine: no recording leaves it, and it costs nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import BinaryIO

from bot.contract import Clock, ModelAway, ModelDropped, ModelRefused, ModelSlow, SetupRefused, time_limit
from bot.model.options import LOCAL
from bot.model.transcribing import Heard
from tools.speech.recognition import Recogniser, Trouble, Unrecognised, missing


class LocalTranscriber:
    """A speech model in a folder of this machine."""

    def __init__(self, folder: str, clock: Clock) -> None:
        self._folder = Path(folder).expanduser()
        self._clock = clock
        self._recogniser = Recogniser(self._folder, clock.sleep)

    @property
    def name(self) -> str:
        """`local:` and the folder."""
        return f"{LOCAL}{self._folder}"

    @property
    def missing(self) -> str:
        """A clause about what the model or its library lacks; empty if nothing."""
        return missing(self._folder)

    async def transcribe(self, recording: BinaryIO, name: str, media_type: str, seconds: float) -> Heard:
        """Return the transcript of a recording; see `Transcriber.transcribe`.

        Raises:
            SetupRefused: the extra or the model is missing; says what.
            ModelAway, ModelDropped, ModelSlow, ModelRefused: see `bot.contract.errors`.
        """
        if gone := await asyncio.to_thread(missing, self._folder):
            raise SetupRefused(f"{self.name} cannot listen: {gone}")
        recording.seek(0)
        body = await asyncio.to_thread(recording.read)
        try:
            async with time_limit(self._clock, seconds):
                spoken = await self._recogniser.recognise(body, seconds)
        except TimeoutError:
            raise ModelSlow(f"{self.name} gave no transcript within {seconds:g} s") from None
        except OSError as error:
            raise ModelAway(f"{self.name} cannot be started: {error}") from None
        except Unrecognised as error:
            raise self._failure(error.trouble) from None
        return Heard(spoken.text.strip(), spoken.seconds)

    async def close(self) -> None:
        """Unload the model."""
        await self._recogniser.close()

    def _failure(self, trouble: Trouble) -> ModelRefused | ModelDropped:
        if trouble in (Trouble.MODEL, Trouble.LIBRARY):
            return SetupRefused(f"{self.name} cannot listen: its {trouble} cannot be loaded")
        if trouble is Trouble.FORMAT:
            return ModelRefused(f"{self.name} cannot read the recording's format")
        return ModelDropped(f"{self.name} ended without a transcript ({trouble})")
