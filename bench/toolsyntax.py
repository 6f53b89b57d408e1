"""Does finding calls in text stay linear? Doubles the input and halves the chunks, within one run.

    python bench/toolsyntax.py [characters]

Each row is one kind of reply. The columns are the seconds for the text in pieces of 1,000 characters, of 16 and of
1, and how many times longer it takes when the text is twice as long (about 2 is linear; the promise is about
2 at most, and under one second for a megabyte).
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bot.toolsyntax import Detector

TOOLS = {"run_code": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}}
APOSTROPHES = "it's "
LINE = 'for each in "items": print(f"{each} <b>")\n'


def _code(size: int) -> str:
    return (LINE * (size // len(LINE) + 1))[:size]


def _json(size: int) -> str:
    return json.dumps({"name": "run_code", "arguments": {"code": _code(size)}})


REPLIES: dict[str, Callable[[int], str]] = {
    "tag, plain text argument": lambda size: (
        f'<tool_call>{{"name": "run_code", "arguments": {{"code": "{"x" * size}"}}}}</tool_call>'
    ),
    "tag, code argument": lambda size: f"<tool_call>{_json(size)}</tool_call>",
    "bare JSON": _json,
    "XML": lambda size: f"<function=run_code><parameter=code>{_code(size)}</parameter></function>",
    "key and value pairs": lambda size: (
        f"<tool_call>run_code<arg_key>code</arg_key><arg_value>{_code(size)}</arg_value></tool_call>"
    ),
    "Python": lambda size: f"run_code(code={json.dumps(_code(size))})",
    "list of numbers": lambda size: f'<tool_call>{{"tool": "run_code", "code": [{"1, " * (size // 3)}1]}}</tool_call>',
    "single quotes": lambda size: (
        f"<tool_call>{{'tool': 'run_code', 'code': '{APOSTROPHES * (size // 5)}'}}</tool_call>"
    ),
    "never closed": lambda size: f'<tool_call>{{"tool": "run_code", "code": "{"x" * size}',
    "prose": lambda size: ("Plain words, for the most part of it.\n\n" * (size // 39 + 1))[:size],
    "data, no call": lambda size: json.dumps([{"name": "Ada", "born": 1815}] * (size // 32)),
    "openers only": lambda size: "<tool_call>" * (size // 11),
    "openers with words": lambda size: '<tool_call>so: {"a": "' * (size // 22),
    "open braces": lambda size: '{"a":\n' * (size // 6),
    "open brackets": lambda size: "[run_code(\n" * (size // 11),
    "open elements": lambda size: "<function=run_code><parameter=code>1</function> and " * (size // 51),
    "unclosed reasoning": lambda size: "a <think> b " * (size // 12),
    "backticks": lambda size: "` `` ``` " * (size // 9),
}


def measure(reply: str, chunk: int) -> float:
    """Seconds to read a reply in pieces of `chunk` characters."""
    pieces = [reply[start : start + chunk] for start in range(0, len(reply), chunk)]
    best = float("inf")
    for _ in range(3):  # the best of three: others use this machine too
        detector = Detector(TOOLS)
        gc.collect()
        started = time.perf_counter()
        for piece in pieces:
            detector.feed(piece)
        detector.finish()
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Print one row per kind of reply."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(
        f"{'reply of ' + format(size, ',') + ' characters':32}" + "".join(f"{chunk:>9} ×2" for chunk in (1000, 16, 1))
    )
    for name, write in REPLIES.items():
        row = f"{name:32}"
        for chunk in (1000, 16, 1):
            half, whole = measure(write(size // 2), chunk), measure(write(size), chunk)
            row += f"{whole:7.2f} {whole / half:4.1f}"
        print(row)


if __name__ == "__main__":
    main()
