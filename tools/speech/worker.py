"""The programs that write down recordings: one reads the sound of a recording, another keeps the model and listens.

A hostile recording can keep decoders busy for ever, make them take all memory, or take them over. So each is read by a
process of its own (`decode`), which has limits, knows no secret, and can be killed; what the listening process gets,
and with it what it could tell of other recordings, is plain sound.

In: a line of JSON (`task`, `model`, `seconds`, `memory`, `threads`, `rate`, `samples`, `chars`), then

- `decode`: the bytes of the recording. Out: a line `{"samples"}` and these as 16-bit numbers, `rate` a second.
- `listen`: for each recording a line `{"samples"}` and these. Out: a line `{}` when the model is there, then for each
  recording a line `{"text"}`.

In place of a line out comes `{"problem"}`: `library`, `model`, `format` or `memory`, and the process ends.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any, BinaryIO

from tools.fetch.reader import set_limits


def decode(about: dict[str, Any], body: bytes) -> bytes | str:
    """Return the sound of a recording as 16-bit samples, or the problem."""
    try:
        from faster_whisper import decode_audio
    except ImportError:
        return "library"
    try:
        sound = decode_audio(io.BytesIO(body), sampling_rate=about["rate"])[: about["samples"]]
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # the decoder raises what it likes
        return "format"
    samples: bytes = (sound * 32768.0).astype("<i2").tobytes()
    return samples


def load(about: dict[str, Any]) -> Any:
    """Return the model, or the problem."""
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        return "library"
    try:
        return WhisperModel(
            about["model"], device="cpu", compute_type="int8", cpu_threads=about["threads"], local_files_only=True
        )
    except (OSError, RuntimeError, ValueError):
        return "model"


def transcribe(about: dict[str, Any], model: Any, samples: bytes) -> str:
    """Return the words spoken."""
    import numpy

    sound = numpy.frombuffer(samples, "<i2").astype(numpy.float32) / 32768.0
    # The models invent words in silence: they repeat what they wrote before.
    parts, _ = model.transcribe(sound, beam_size=1, condition_on_previous_text=False, vad_filter=True)
    return " ".join(part.text.strip() for part in parts)[: about["chars"]]


def listen(about: dict[str, Any], come: BinaryIO, go: BinaryIO) -> None:
    """Load the model once, and write down one recording after the other, until no more come."""
    model = load(about)
    _write(go, {"problem": model} if isinstance(model, str) else {})
    if isinstance(model, str):
        return
    while line := come.readline():
        _write(go, {"text": transcribe(about, model, come.read(2 * json.loads(line)["samples"]))})


def _write(go: BinaryIO, line: dict[str, object], more: bytes = b"") -> None:
    go.write(json.dumps(line).encode() + b"\n" + more)
    go.flush()


def run(come: BinaryIO, go: BinaryIO) -> None:
    """Do what the first line asks for."""
    about: dict[str, Any] = json.loads(come.readline())
    listens = about["task"] == "listen"
    # Who listens is ended by who waits for it; that one process works for many recordings.
    seconds = None if listens else about["seconds"] * about["threads"]
    set_limits(seconds, int(about["memory"]), threads=True)
    try:
        if listens:
            listen(about, come, go)
            return
        samples = decode(about, come.read())
        if isinstance(samples, str):
            _write(go, {"problem": samples})
        else:
            _write(go, {"samples": len(samples) // 2}, samples)
    except MemoryError:
        _write(go, {"problem": "memory"})


def main() -> int:
    """Read from standard input and answer on standard output, where no library's words get in between."""
    go = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(nothing, output)
    run(sys.stdin.buffer, go)
    return 0


if __name__ == "__main__":
    sys.exit(main())
