"""Transcribe voice messages, video notes and recordings, or say why not."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.contract import AUDIBLE, ContextTooLong, Enclosure, ModelBusy, ModelError, ModelRefused, SetupRefused
from bot.policy import DayPurse, Prices
from tools.contract.base import ToolError
from tools.contract.payments import Payment

if TYPE_CHECKING:
    from bot.model import Transcriber

log = logging.getLogger(__name__)

SPEECH_BYTES: Final = 20_000_000
"""The largest recording: Telegram's limit for bots; OpenAI accepts 25 MiB."""
SPEECH_SECONDS: Final = 1_200.0
"""The longest recording: OpenAI's newer models accept 1,400 seconds."""
LISTEN_SECONDS: Final = 100.0
"""The time for one transcript."""
_LEAST_RATE: Final = 4_000
"""The least bytes a second of speech: a recording of unknown length is paid for as no longer than this implies."""
_HEAD: Final = 12
_SIGNS: Final = (
    (0, b"OggS", "ogg"),
    (0, b"RIFF", "wav"),
    (0, b"fLaC", "flac"),
    (0, b"ID3", "mp3"),
    (4, b"ftyp", "mp4"),
    (0, b"\x1a\x45\xdf\xa3", "webm"),
)


def format_of(head: bytes) -> str:
    """Return the file extension for a recording's format, from its first bytes; empty for an unknown one."""
    for at, sign, ending in _SIGNS:
        if head[at : at + len(sign)] == sign:
            return ending if ending != "wav" or head[8:12] == b"WAVE" else ""
    # The head of an MPEG audio frame: eleven bits, then the layer; 0 is another format.
    return "mp3" if head[:1] == b"\xff" and len(head) > 1 and head[1] & 0xE0 == 0xE0 and head[1] & 0x06 else ""


class Listener:
    """Transcribes recordings on the asker's quotas; one object for the process."""

    def __init__(self, transcriber: Transcriber | None, purse: DayPurse, prices: Prices) -> None:
        """
        Args:
            transcriber: None: nothing is transcribed.
        """
        self._transcriber = transcriber
        self._purse = purse
        self._prices = prices

    def look(self, one: Enclosure) -> Enclosure:
        """Return a recording with the reason why it need not be fetched, if there is one."""
        if one.kind not in AUDIBLE:
            return one
        problem = ""
        if self._transcriber is None:
            problem = "unheard_off"
        elif one.seconds > SPEECH_SECONDS:
            problem = "unheard_long"
        elif one.size > SPEECH_BYTES:
            problem = "unheard_large"
        elif not one.source:
            problem = "unheard_now"
        return replace(one, problem=problem)

    async def listen(self, path: Path, one: Enclosure, where: str) -> Enclosure:
        """Return a fetched recording with its transcript, or with the reason why there is none.

        Args:
            where: the chat, for the log.
        """
        assert self._transcriber is not None
        with path.open("rb") as file:
            ending = format_of(file.read(_HEAD))
        if not ending:
            log.info("%s: a %s is not transcribed: its format is not accepted", where, one.kind)
            return replace(one, problem="unheard_form")
        try:
            text = await self._transcribe(self._transcriber, path, ending, one.seconds)
        except ToolError:
            return replace(one, problem="unheard_spent")
        except ModelError as error:
            log.warning("%s: a %s was not transcribed: %s", where, one.kind, error)
            refused = isinstance(error, ModelRefused | ContextTooLong)
            problem = "unheard_off" if isinstance(error, SetupRefused) else "unheard_form" if refused else "unheard_now"
            return replace(one, problem=problem)
        return replace(one, text=text, problem="" if text else "unheard_silent")

    async def _transcribe(self, transcriber: Transcriber, path: Path, ending: str, seconds: float) -> str:
        """Transcribe a recording and pay for it.

        Raises:
            ToolError: no quota has enough left.
            ModelError: the transcription failed.
        """
        seconds = seconds or await asyncio.to_thread(os.path.getsize, path) / _LEAST_RATE
        price = self._prices.dollars_of_speech(transcriber.name, seconds)
        with path.open("rb") as file:
            async with self._purse.pay("transcripts", price) if price else nullcontext(Payment(0.0)) as payment:
                with payment.nothing_for(ModelBusy, ModelRefused, ContextTooLong):
                    heard = await transcriber.transcribe(file, f"speech.{ending}", f"audio/{ending}", LISTEN_SECONDS)
                if heard.seconds:
                    payment.dollars = self._prices.dollars_of_speech(transcriber.name, heard.seconds) or 0.0
        return heard.text
