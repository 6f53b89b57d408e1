"""Listen to what people say in voice messages, video notes and recordings: what was said, or why nothing was heard."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot.contract import AUDIBLE, ContextTooLong, Enclosure, ModelBusy, ModelError, ModelRefused, SetupRefused
from bot.model import Transcriber
from bot.policy import DayPurse, Prices
from tools.contract.base import ToolError
from tools.contract.payments import Payment

log = logging.getLogger(__name__)

SPEECH_BYTES: Final = 20_000_000
"""The largest recording: what Telegram lets bots read; OpenAI takes 25 MiB."""
SPEECH_SECONDS: Final = 1_200.0
"""The longest one: OpenAI's newer models take 1,400 seconds."""
LISTEN_SECONDS: Final = 100.0
"""What one transcript may take."""
_LEAST_RATE: Final = 4_000
"""Bytes a second of speech: where nobody tells how long a recording plays, it is paid for as no longer than so."""
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
    """Return the ending of a file name that tells a recording's format by its first bytes; empty for an unknown one."""
    for at, sign, ending in _SIGNS:
        if head[at : at + len(sign)] == sign:
            return ending if ending != "wav" or head[8:12] == b"WAVE" else ""
    # The head of an MPEG audio frame: eleven bits, then which layer; 0 is another format.
    return "mp3" if head[:1] == b"\xff" and len(head) > 1 and head[1] & 0xE0 == 0xE0 and head[1] & 0x06 else ""


class Listener:
    """Transcribes recordings on the quotas of who asks; one object for the process."""

    def __init__(self, transcriber: Transcriber | None, purse: DayPurse, prices: Prices) -> None:
        """
        Args:
            transcriber: None: nothing is listened to.
        """
        self._transcriber = transcriber
        self._purse = purse
        self._prices = prices

    def look(self, one: Enclosure) -> Enclosure:
        """Return a recording with the reason why it need not be fetched, where there is one."""
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
        """Return a recording that was fetched with what is said in it, or with the reason why that is not known.

        Args:
            where: the chat, for the log.
        """
        assert self._transcriber is not None
        with path.open("rb") as file:
            ending = format_of(file.read(_HEAD))
        if not ending:
            log.info("%s: a %s is not listened to: its format is none that is taken", where, one.kind)
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
            ToolError: no quota has so much left.
            ModelError: nobody transcribed it.
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
