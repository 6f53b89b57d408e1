"""The program that writes down one recording: takes it from standard input, answers with one line of JSON.

A hostile recording can keep decoders busy for ever or make them take all memory. This process has limits, knows no
secret, and can be killed.

In: a line of JSON (`model`, a folder; `seconds`, `memory`, `threads`, `sound`), then the bytes of the recording.
Out: `{"text", "seconds"}`, or `{"problem"}`: `library`, `model`, `format` or `memory`.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from tools.fetch.reader import set_limits

MOST_CHARS = 20_000
"""Characters of a transcript."""


def transcribe(about: dict[str, Any], body: bytes) -> dict[str, str | float]:
    """What is said in a recording, or what is missing."""
    try:
        from faster_whisper import WhisperModel, decode_audio
    except ImportError:
        return {"problem": "library"}
    try:
        sound = decode_audio(io.BytesIO(body))[: int(about["sound"] * 16_000)]
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # the decoder raises what it likes
        return {"problem": "format"}
    try:
        model = WhisperModel(
            about["model"], device="cpu", compute_type="int8", cpu_threads=about["threads"], local_files_only=True
        )
    except (OSError, RuntimeError, ValueError):
        return {"problem": "model"}
    # What is not said is not to be invented: a stretch of silence has the models repeat what they wrote before.
    parts, _ = model.transcribe(sound, beam_size=1, condition_on_previous_text=False, vad_filter=True)
    text = " ".join(part.text.strip() for part in parts)
    return {"text": text[:MOST_CHARS], "seconds": len(sound) / 16_000}


def main() -> int:
    """Transcribe one recording from standard input; the exit code is 0."""
    about: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    set_limits(about["seconds"] * about["threads"], int(about["memory"]), threads=True)
    try:
        answer = transcribe(about, body)
    except MemoryError:
        answer = {"problem": "memory"}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
