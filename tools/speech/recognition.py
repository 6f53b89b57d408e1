"""Have a speech model on this machine write down what is said, in a process of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tools.fetch.readers import Program, start_plain, talk
from tools.json_values import read_json
from tools.nearness import find_path_fault

_PROGRAM: Final = Program(
    Path(__file__).with_name("worker.py"),
    ("faster-whisper",),
    {"tools/speech/worker.py": Path(__file__).with_name("worker.py")},
    reads="recordings",
)
_FILES: Final = ("model.bin", "config.json", "tokenizer.json")
"""What a model's folder must hold; a missing tokenizer would be looked for on the network."""
_THREADS: Final = 2
_MEMORY: Final = 4 << 30
"""Bytes of address space; a tiny model takes a quarter of a gigabyte of memory."""
_SOUND: Final = 1_200.0
"""Seconds of a recording that are listened to; what follows is left out."""


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
    """What is not there of a model in a folder and of the library that runs it, as a half sentence; empty: nothing."""
    if fault := find_path_fault(model, "folder"):
        return fault
    if find_spec("faster_whisper") is None:
        return "the library is missing (pip install faster-whisper)"
    gone = [name for name in _FILES if find_path_fault(model / name, "file")]
    return f"{model} holds no {' and no '.join(gone)} (a Whisper model in CTranslate2's form has them)" if gone else ""


async def recognise(model: Path, recording: bytes, seconds: float) -> Spoken:
    """What is said in `recording`, whatever of ogg, m4a, mp3, wav, webm or flac it is.

    The process that listens is killed when this is cancelled.

    Args:
        model: a folder with a Whisper model in CTranslate2's form.

    Raises:
        Unrecognised: it was not written down; says why.
        TimeoutError: it takes longer than `seconds`.
        OSError: no process can be started now.
    """
    about = {"model": str(model), "seconds": seconds, "memory": _MEMORY, "threads": _THREADS, "sound": _SOUND}
    process = await start_plain(_PROGRAM)
    answer, _ = await talk(process, json.dumps(about).encode() + b"\n", recording, seconds)
    try:
        match read_json(answer or b"{}"):
            case {"text": str(text), "seconds": int() | float() as length}:
                return Spoken(text, float(length))
            case {"problem": problem} if problem in list(Trouble):
                raise Unrecognised(Trouble(problem))
    except ValueError:
        pass
    raise Unrecognised(Trouble.BROKEN)
