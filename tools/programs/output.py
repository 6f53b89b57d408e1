"""Escape control characters in output, and filter every line of a text stream through a function."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TextIO

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal obeys, that reverse the direction of text, and halves of characters, which cannot be
written."""


def inert(text: str) -> str:
    """Escape every control character except tabs and line ends.

    Escapes are those of JSON (`\\u001b`), so that JSON stays valid.
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text.replace("\r\n", "\n"))


class MaskedStream(io.TextIOBase):
    """A text stream that filters every line through a function; an open line waits for its end or a flush."""

    def __init__(self, stream: TextIO, through: Callable[[str], str]) -> None:
        self.raw = stream
        self._through = through
        self._open: list[str] = []

    def write(self, text: str) -> int:
        whole, end, rest = text.rpartition("\n")
        if end:
            self.raw.write(self._through("".join([*self._open, whole, end])))
            self._open.clear()
        if rest:
            self._open.append(rest)
        return len(text)

    def flush(self) -> None:
        """Write the open line; nothing where the stream behind it is closed, as when a program ends."""
        if self.raw.closed:
            return
        if self._open:
            self.raw.write(self._through("".join(self._open)))
            self._open.clear()
        self.raw.flush()

    def isatty(self) -> bool:
        return self.raw.isatty()

    def fileno(self) -> int:
        return self.raw.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        return self.raw.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]  # a plain attribute there
        return self.raw.errors
