"""Transcribe speech with a model on this machine, in processes of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from tools.contract.json_values import read_json
from tools.contract.nearness import find_path_fault
from tools.fetch.readers import Program, as_modules, start_plain, talk
from tools.programs import subprocesses

_PROGRAM: Final = Program(
    Path(__file__).with_name("worker.py"),
    ("faster-whisper",),
    as_modules(Path(__file__).resolve().with_name("worker.py")),
    reads="recordings",
)
_FILES: Final = ("model.bin", "config.json", "tokenizer.json")
"""What a model's folder must hold; a missing tokenizer would be looked for on the network."""
RATE: Final = 16_000
"""Samples a second that models listen to."""
MOST_CHARS: Final = 20_000
"""Characters of a transcript."""
_THREADS: Final = 2
_MEMORY: Final = 4 << 30
"""Bytes of address space; a tiny model takes a quarter of a gigabyte of memory."""
_SOUND: Final = 1_200.0
"""Seconds of a recording that are listened to; what follows is left out."""
_MOST_SOUND: Final = int(_SOUND) * RATE * 2 + 4_096
"""Bytes of what a recording sounds like."""
_MOST_LINE: Final = 12 * MOST_CHARS + 4_096
"""Bytes of a transcript: a character is written in at most twelve."""
IDLE_SECONDS: Final = 600.0
"""How long the model stays in memory for a next recording."""
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""


class Trouble(StrEnum):
    """Why a recording was not written down."""

    LIBRARY = "library"
    MODEL = "model"
    FORMAT = "format"
    MEMORY = "memory"
    BROKEN = "broken"
    """The process ended without an answer."""


class Unrecognised(Exception):
    """A recording was not written down; `trouble` says why."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.value)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said in a recording."""

    text: str
    """Empty where no words were heard."""
    seconds: float
    """How long the recording plays."""


def missing(model: Path) -> str:
    """Return what is missing of a model in a folder and of the library that runs it, as half a sentence; empty if
    nothing is."""
    if fault := find_path_fault(model, "folder"):
        return fault
    if find_spec("faster_whisper") is None:
        return "the library is missing (pip install faster-whisper)"
    gone = [name for name in _FILES if find_path_fault(model / name, "file")]
    return f"{model} holds no {' and no '.join(gone)} (a Whisper model in CTranslate2's form has them)" if gone else ""


class Recogniser:
    """Writes down recordings with one model, which is loaded at the first of them and let go when none comes for a
    while."""

    def __init__(self, model: Path, sleep: Sleep = asyncio.sleep) -> None:
        """
        Args:
            model: a folder with a Whisper model in CTranslate2's form.
        """
        self._about = {
            "model": str(model),
            "memory": _MEMORY,
            "threads": _THREADS,
            "rate": RATE,
            "samples": int(_SOUND) * RATE,
            "chars": MOST_CHARS,
        }
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._listener: asyncio.subprocess.Process | None = None
        self._rest: asyncio.Task[None] | None = None

    async def recognise(self, recording: bytes, seconds: float) -> Spoken:
        """Return the words spoken in `recording`, which may be ogg, m4a, mp3, wav, webm or flac.

        One recording is listened to at a time. The process that listens is killed when this is cancelled, or takes
        longer than `seconds` once its turn has come.

        Raises:
            Unrecognised: it was not written down; says why.
            TimeoutError: it takes too long.
            OSError: no process can be started now.
        """
        async with self._turn:
            self._stay()
            try:
                async with asyncio.timeout(seconds):
                    samples = await self._decode(recording, seconds)
                    text = await self._listen(samples)
            except BaseException as error:
                # Whatever it does now, it is not what the next recording is asked of.
                if not isinstance(error, Unrecognised) or error.trouble is not Trouble.FORMAT:
                    await self._end()
                raise
            finally:
                self._rest = asyncio.create_task(self._let_go(), name="speech model at rest")
        return Spoken(text, len(samples) / 2 / RATE)

    async def close(self) -> None:
        """End the process that listens."""
        self._stay()
        await self._end()

    async def _decode(self, recording: bytes, seconds: float) -> bytes:
        """Return the sound of a recording, read in a process of its own."""
        process = await start_plain(_PROGRAM)
        about = json.dumps({**self._about, "task": "decode", "seconds": seconds}).encode() + b"\n"
        answer, _ = await talk(process, about, recording, seconds, most=_MOST_SOUND)
        line, _, samples = answer.partition(b"\n")
        if _read(line).get("samples") != len(samples) / 2:
            raise Unrecognised(Trouble.BROKEN)
        return samples

    async def _listen(self, samples: bytes) -> str:
        """Return the words spoken, from the process that keeps the model."""
        listener = self._listener
        if listener is None or listener.returncode is not None:
            await self._end()
            about = json.dumps({**self._about, "task": "listen"}).encode() + b"\n"
            listener = self._listener = await start_plain(_PROGRAM, limit=_MOST_LINE)
            await _ask(listener, about)
        told = await _ask(listener, json.dumps({"samples": len(samples) // 2}).encode() + b"\n", samples)
        if not isinstance(text := told.get("text"), str):
            raise Unrecognised(Trouble.BROKEN)
        return text

    async def _let_go(self) -> None:
        await self._sleep(IDLE_SECONDS)
        await self._end()

    def _stay(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    async def _end(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            await subprocesses.end(listener)


async def _ask(listener: asyncio.subprocess.Process, *parts: bytes) -> dict[str, object]:
    """Return the line that a listening process answers.

    Raises:
        Unrecognised: it tells a problem, or nothing.
    """
    assert listener.stdin is not None and listener.stdout is not None
    try:
        for part in parts:
            listener.stdin.write(part)
            await listener.stdin.drain()
        return _read(await listener.stdout.readline())
    except (OSError, ValueError):
        raise Unrecognised(Trouble.BROKEN) from None


def _read(line: bytes) -> dict[str, object]:
    """Read a line of an answer.

    Raises:
        Unrecognised: it tells a problem, or is no answer.
    """
    try:
        told = read_json(line)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Unrecognised(Trouble.BROKEN)
    if "problem" in told:
        problem = told["problem"]
        raise Unrecognised(Trouble(problem) if problem in list(Trouble) else Trouble.BROKEN)
    return told
